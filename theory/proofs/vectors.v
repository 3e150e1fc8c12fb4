(** * Vectors and matrices, Cauchy-Schwarz, operator norms: what Proposition 3.1 and Theorem 2.2 stand on.

    Main results
    - [cauchy_schwarz]                  |x . y| <= ||x|| ||y||
    - [norm_add]                        the triangle inequality
    - [dot_multiply]                    (A x) . y = x . (A^T y)
    - [frobenius_bounds]                the Frobenius norm is a bound of the operator norm
    - [sigma_bounds], [sigma_least]     the largest singular value, sup of ||A x|| over the unit ball, is the least one

    A vector is a function of its index; its width n is an argument of what reads it, and entries from n on are never
    read. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax.
Local Open Scope R_scope.

Definition vector : Set := nat -> R.
Definition matrix : Set := nat -> nat -> R.  (* row, column *)

Definition dot (n : nat) (x y : vector) : R := sum (map (fun i => x i * y i) (seq 0 n)).
Definition norm (n : nat) (x : vector) : R := sqrt (dot n x x).

Definition add (x y : vector) : vector := fun i => x i + y i.
Definition subtract (x y : vector) : vector := fun i => x i - y i.
Definition scale (c : R) (x : vector) : vector := fun i => c * x i.
Definition zero : vector := fun _ => 0.

Definition multiply (columns : nat) (A : matrix) (x : vector) : vector := fun i => dot columns (A i) x.
Definition transpose (A : matrix) : matrix := fun i j => A j i.
Definition product (inner : nat) (A B : matrix) : matrix := fun i j => dot inner (A i) (fun k => B k j).

(** ** The scalar product *)

Lemma dot_ext n x y x' y' :
  (forall i, (i < n)%nat -> x i = x' i) -> (forall i, (i < n)%nat -> y i = y' i) -> dot n x y = dot n x' y'.
Proof. intros samex samey. apply sum_map_ext. intros i ini. apply in_seq in ini. rewrite samex, samey by lia. easy. Qed.

Lemma dot_comm n x y : dot n x y = dot n y x.
Proof. apply sum_map_ext. intros. ring. Qed.

Lemma dot_add_l n x y z : dot n (add x y) z = dot n x z + dot n y z.
Proof. unfold dot, add. rewrite <- sum_map_plus. apply sum_map_ext. intros. ring. Qed.

Lemma dot_subtract_l n x y z : dot n (subtract x y) z = dot n x z - dot n y z.
Proof. unfold dot, subtract. rewrite <- sum_map_minus. apply sum_map_ext. intros. ring. Qed.

Lemma dot_scale_l n c x y : dot n (scale c x) y = c * dot n x y.
Proof. unfold dot, scale. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. ring. Qed.

Lemma dot_add_r n x y z : dot n z (add x y) = dot n z x + dot n z y.
Proof. rewrite dot_comm, dot_add_l. now rewrite !(dot_comm n z). Qed.

Lemma dot_subtract_r n x y z : dot n z (subtract x y) = dot n z x - dot n z y.
Proof. rewrite dot_comm, dot_subtract_l. now rewrite !(dot_comm n z). Qed.

Lemma dot_scale_r n c x y : dot n x (scale c y) = c * dot n x y.
Proof. now rewrite dot_comm, dot_scale_l, dot_comm. Qed.

Lemma dot_square_nonneg n x : 0 <= dot n x x.
Proof. apply sum_map_nonneg. intros. apply Rle_0_sqr. Qed.

(** A sum of squares is 0 only where every entry is. *)
Lemma dot_zero n x y : dot n x x = 0 -> dot n x y = 0.
Proof.
  intros zero. unfold dot. rewrite (sum_map_ext _ (fun _ => 0)).
  - rewrite sum_map_const. ring.
  - intros i ini. apply sum_map_zero with (x := i) in zero; [|intros; apply Rle_0_sqr|easy].
    apply Rsqr_0_uniq in zero. rewrite zero. ring.
Qed.

(** ** Norms *)

Lemma norm_nonneg n x : 0 <= norm n x.
Proof. apply sqrt_pos. Qed.

Lemma norm_square n x : norm n x * norm n x = dot n x x.
Proof. apply sqrt_sqrt, dot_square_nonneg. Qed.

(** The square of C x - B y, C = y . y and B = x . y, is not negative. *)
Lemma cauchy_schwarz_square n x y : dot n x y * dot n x y <= dot n x x * dot n y y.
Proof.
  pose proof (dot_square_nonneg n (subtract (scale (dot n y y) x) (scale (dot n x y) y))) as square.
  rewrite dot_subtract_l, !dot_subtract_r, !dot_scale_l, !dot_scale_r, (dot_comm n y x) in square.
  destruct (dot_square_nonneg n y) as [pos | zero].
  - apply Rmult_le_reg_l with (dot n y y); [easy|]. lra.
  - rewrite (dot_comm n x y), (dot_zero n y x) by easy. rewrite <- zero. lra.
Qed.

(** The root of the squared inequality. *)
Theorem cauchy_schwarz n x y : Rabs (dot n x y) <= norm n x * norm n y.
Proof.
  apply Rsqr_incr_0_var; [|apply Rmult_le_pos; apply norm_nonneg]. rewrite <- Rsqr_abs. unfold Rsqr.
  replace (norm n x * norm n y * (norm n x * norm n y)) with ((norm n x * norm n x) * (norm n y * norm n y)) by ring.
  rewrite !norm_square. apply cauchy_schwarz_square.
Qed.

(** ||x + y||^2 = ||x||^2 + 2 x . y + ||y||^2. *)
Theorem norm_add n x y : norm n (add x y) <= norm n x + norm n y.
Proof.
  pose proof (norm_nonneg n x). pose proof (norm_nonneg n y). apply Rsqr_incr_0_var; [|lra]. unfold Rsqr.
  rewrite norm_square. rewrite dot_add_l, !dot_add_r, (dot_comm n y x). pose proof (cauchy_schwarz n x y).
  pose proof (Rle_abs (dot n x y)). pose proof (norm_square n x). pose proof (norm_square n y). nra.
Qed.

Lemma norm_scale n c x : norm n (scale c x) = Rabs c * norm n x.
Proof.
  unfold norm. rewrite dot_scale_l, dot_scale_r, <- Rmult_assoc.
  rewrite sqrt_mult; [|apply Rle_0_sqr | apply dot_square_nonneg]. f_equal. apply sqrt_Rsqr_abs.
Qed.

Lemma norm_subtract n x y : norm n (subtract x y) <= norm n x + norm n y.
Proof.
  replace (norm n (subtract x y)) with (norm n (add x (scale (-1) y))).
  - eapply Rle_trans; [apply norm_add|]. rewrite norm_scale, (Rabs_left (-1)) by lra. lra.
  - unfold norm. f_equal. apply dot_ext; intros; unfold add, subtract, scale; ring.
Qed.

Lemma norm_zero_dot n x y : norm n x = 0 -> dot n x y = 0.
Proof. intros zero. apply dot_zero. rewrite <- norm_square, zero. ring. Qed.

(** ** Matrices *)

(** Row by row. *)
Lemma sum_map_swap {A B} (f : A -> B -> R) xs ys :
  sum (map (fun x => sum (map (fun y => f x y) ys)) xs) = sum (map (fun y => sum (map (fun x => f x y) xs)) ys).
Proof.
  induction xs as [|x xs IH].
  - transitivity (sum (map (fun _ : B => 0) ys)); [|now apply sum_map_ext].
    rewrite sum_map_const. unfold sum. simpl. ring.
  - cbn [map]. unfold sum at 1. cbn [fold_right]. fold (sum (map (fun x => sum (map (fun y => f x y) ys)) xs)).
    rewrite IH, <- sum_map_plus. now apply sum_map_ext.
Qed.

(** Both are the double sum of A_ij x_j y_i. *)
Theorem dot_multiply rows columns A x y :
  dot rows (multiply columns A x) y = dot columns x (multiply rows (transpose A) y).
Proof.
  unfold dot, multiply, dot, transpose.
  transitivity (sum (map (fun i => sum (map (fun j => A i j * x j * y i) (seq 0 columns))) (seq 0 rows))).
  - apply sum_map_ext. intros. now rewrite <- sum_map_mult_r.
  - rewrite sum_map_swap. apply sum_map_ext. intros. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. ring.
Qed.

Lemma multiply_subtract columns A x y i :
  multiply columns A (subtract x y) i = subtract (multiply columns A x) (multiply columns A y) i.
Proof. apply dot_subtract_r. Qed.

Lemma multiply_add columns A x y i :
  multiply columns A (add x y) i = add (multiply columns A x) (multiply columns A y) i.
Proof. apply dot_add_r. Qed.

Lemma multiply_scale columns A c x i : multiply columns A (scale c x) i = scale c (multiply columns A x) i.
Proof. apply dot_scale_r. Qed.

(** (A B) x = A (B x). *)
Lemma multiply_product inner columns A B x i :
  multiply columns (product inner A B) x i = multiply inner A (multiply columns B x) i.
Proof.
  unfold multiply, product, dot.
  transitivity (sum (map (fun j => sum (map (fun k => A i k * B k j * x j) (seq 0 inner))) (seq 0 columns))).
  - apply sum_map_ext. intros. now rewrite <- sum_map_mult_r.
  - rewrite sum_map_swap. apply sum_map_ext. intros. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. ring.
Qed.

Lemma norm_ext n x y : (forall i, (i < n)%nat -> x i = y i) -> norm n x = norm n y.
Proof. intros same. unfold norm. f_equal. now apply dot_ext. Qed.

(** ** Operator norms *)

(** s is an upper bound of ||A x|| / ||x||: of the largest singular value. *)
Definition operator_bound (rows columns : nat) (A : matrix) (s : R) : Prop :=
  0 <= s /\ forall x, norm rows (multiply columns A x) <= s * norm columns x.

Definition frobenius (rows columns : nat) (A : matrix) : R :=
  sqrt (sum (map (fun i => dot columns (A i) (A i)) (seq 0 rows))).

(** Cauchy-Schwarz, row by row. *)
Theorem frobenius_bounds rows columns A : operator_bound rows columns A (frobenius rows columns A).
Proof.
  split; [apply sqrt_pos|]. intros x. unfold frobenius, norm.
  rewrite <- sqrt_mult by (try apply dot_square_nonneg; apply sum_map_nonneg; intros; apply dot_square_nonneg).
  apply sqrt_le_1_alt. unfold dot at 1. rewrite <- sum_map_mult_r. apply sum_map_le. intros.
  apply cauchy_schwarz_square.
Qed.

(** ||A^T z||^2 = z . A A^T z <= ||z|| s ||A^T z||. *)
Lemma operator_bound_transpose rows columns A s :
  operator_bound rows columns A s -> operator_bound columns rows (transpose A) s.
Proof.
  intros [nonneg bound]. split; [easy|]. intros z. set (w := multiply rows (transpose A) z).
  destruct (norm_nonneg columns w) as [pos | zero].
  - apply Rmult_le_reg_l with (norm columns w); [easy|]. rewrite norm_square. unfold w at 2. rewrite <- dot_multiply.
    eapply Rle_trans; [apply Rle_abs|]. eapply Rle_trans; [apply cauchy_schwarz|]. specialize (bound w).
    pose proof (norm_nonneg rows z).
    apply Rle_trans with (s * norm columns w * norm rows z); [now apply Rmult_le_compat_r | lra].
  - rewrite <- zero. apply Rmult_le_pos; [easy | apply norm_nonneg].
Qed.

Lemma operator_bound_product rows inner columns A B s t :
  operator_bound rows inner A s -> operator_bound inner columns B t ->
  operator_bound rows columns (product inner A B) (s * t).
Proof.
  intros [nonneg bound] [nonneg' bound']. split; [now apply Rmult_le_pos|]. intros x.
  rewrite (norm_ext rows _ (multiply inner A (multiply columns B x))) by (intros; apply multiply_product).
  eapply Rle_trans; [apply bound|]. rewrite Rmult_assoc. now apply Rmult_le_compat_l.
Qed.

(** *** The largest singular value *)

Definition image_of_unit_ball (rows columns : nat) (A : matrix) (r : R) : Prop :=
  exists x, norm columns x <= 1 /\ r = norm rows (multiply columns A x).

Definition sigma (rows columns : nat) (A : matrix) : R := real (Lub_Rbar (image_of_unit_ball rows columns A)).

Lemma norm_zero n : norm n zero = 0.
Proof.
  unfold norm, dot, zero. rewrite (sum_map_ext _ (fun _ => 0)) by (intros; ring).
  rewrite sum_map_const, Rmult_0_r. apply sqrt_0.
Qed.

(** The set is not empty and bounded by the Frobenius norm, so that its supremum is a real number. *)
Lemma sigma_is_lub rows columns A :
  (forall r, image_of_unit_ball rows columns A r -> r <= sigma rows columns A) /\
  (forall s, (forall r, image_of_unit_ball rows columns A r -> r <= s) -> sigma rows columns A <= s).
Proof.
  unfold sigma. destruct (Lub_Rbar_correct (image_of_unit_ball rows columns A)) as [upper least].
  assert (inhabited : image_of_unit_ball rows columns A (norm rows (multiply columns A zero))).
  { exists zero. split; [rewrite norm_zero; lra | easy]. }
  assert (bounded : is_ub_Rbar (image_of_unit_ball rows columns A) (frobenius rows columns A)).
  { intros r [x [inside ->]]. cbn. destruct (frobenius_bounds rows columns A) as [nonneg bound].
    eapply Rle_trans; [apply bound|]. rewrite <- (Rmult_1_r (frobenius rows columns A)) at 2.
    now apply Rmult_le_compat_l. }
  specialize (least (frobenius rows columns A) bounded) as below. specialize (upper _ inhabited) as above.
  destruct (Lub_Rbar (image_of_unit_ball rows columns A)) as [l | |]; try easy. cbn. split.
  - intros r image. apply (upper r image).
  - intros s bound. apply (least s). intros r image. now apply bound.
Qed.

(** ||A x|| = ||x|| ||A (x / ||x||)||. *)
Theorem sigma_bounds rows columns A : operator_bound rows columns A (sigma rows columns A).
Proof.
  destruct (sigma_is_lub rows columns A) as [upper _]. split.
  - apply Rle_trans with (norm rows (multiply columns A zero)); [apply norm_nonneg|]. apply upper. exists zero.
    split; [rewrite norm_zero; lra | easy].
  - intros x. destruct (norm_nonneg columns x) as [pos | zero].
    + assert (unit : norm rows (multiply columns A (scale (/ norm columns x) x)) <= sigma rows columns A).
      { apply upper. eexists. split; [|reflexivity].
        rewrite norm_scale, Rabs_right by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat; easy). rewrite Rinv_l; lra. }
      rewrite (norm_ext rows _ (scale (/ norm columns x) (multiply columns A x))) in unit
        by (intros; apply multiply_scale).
      rewrite norm_scale, Rabs_right in unit by (apply Rle_ge, Rlt_le, Rinv_0_lt_compat; easy).
      apply Rmult_le_reg_l with (/ norm columns x); [now apply Rinv_0_lt_compat|]. apply Rle_trans with (1 := unit).
      apply Req_le. field. lra.
    + rewrite <- zero, Rmult_0_r. apply Req_le. unfold norm. rewrite <- sqrt_0. f_equal. unfold dot.
      rewrite (sum_map_ext _ (fun _ => 0)).
      * rewrite sum_map_const. ring.
      * intros i _. unfold multiply. rewrite (dot_comm _ (A i)), norm_zero_dot by easy. ring.
Qed.

Theorem sigma_least rows columns A s : operator_bound rows columns A s -> sigma rows columns A <= s.
Proof.
  intros [nonneg bound]. apply sigma_is_lub. intros r [x [inside ->]].
  eapply Rle_trans; [apply bound|]. rewrite <- (Rmult_1_r s) at 2. now apply Rmult_le_compat_l.
Qed.

(** ** Continuous maps *)

(** f takes vectors of width n to vectors of width m, and is continuous at every x. In particular it reads no entry
    from n on. *)
Definition continuous (n m : nat) (f : vector -> vector) : Prop :=
  forall x eps, 0 < eps -> exists delta, 0 < delta /\
    forall y, (forall i, (i < n)%nat -> Rabs (y i - x i) < delta) ->
    forall c, (c < m)%nat -> Rabs (f y c - f x c) < eps.

Lemma continuous_compose n m k f g : continuous n m f -> continuous m k g -> continuous n k (fun x => g (f x)).
Proof.
  intros contf contg x eps pos. destruct (contg (f x) eps pos) as [delta [pos' near]].
  destruct (contf x delta pos') as [delta' [pos'' near']]. exists delta'. split; [easy|].
  intros y close. apply near. now apply near'.
Qed.

Lemma continuous_identity n : continuous n n (fun x => x).
Proof. intros x eps pos. exists eps. now split. Qed.

(** Half of eps for each. *)
Lemma continuous_add n m f g : continuous n m f -> continuous n m g -> continuous n m (fun x => add (f x) (g x)).
Proof.
  intros contf contg x eps pos. destruct (contf x (eps / 2)) as [delta [pos' near]]; [lra|].
  destruct (contg x (eps / 2)) as [delta' [pos'' near']]; [lra|].
  exists (Rmin delta delta'). split; [now apply Rmin_glb_lt|]. intros y close c less.
  specialize (near y (fun i lessi => Rlt_le_trans _ _ _ (close i lessi) (Rmin_l _ _)) c less).
  specialize (near' y (fun i lessi => Rlt_le_trans _ _ _ (close i lessi) (Rmin_r _ _)) c less).
  unfold add. replace (f y c + g y c - (f x c + g x c)) with ((f y c - f x c) + (g y c - g x c)) by ring.
  eapply Rle_lt_trans; [apply Rabs_triang|]. lra.
Qed.

Lemma continuous_const n m b : continuous n m (fun _ => b).
Proof. intros x eps pos. exists 1. split; [lra|]. intros. now rewrite Rminus_diag_eq, Rabs_R0. Qed.

(** sum_j |A_ij|: |A x - A y| is at most that times the largest |x_j - y_j|. *)
Definition row_sum (columns : nat) (A : matrix) (i : nat) : R := sum (map (fun j => Rabs (A i j)) (seq 0 columns)).

Lemma row_sum_nonneg columns A i : 0 <= row_sum columns A i.
Proof. apply sum_map_nonneg. intros. apply Rabs_pos. Qed.

(** The triangle inequality, term by term. *)
Lemma multiply_difference columns A x y i r :
  (forall j, (j < columns)%nat -> Rabs (x j - y j) <= r) ->
  Rabs (multiply columns A x i - multiply columns A y i) <= row_sum columns A i * r.
Proof.
  intros close. unfold multiply, dot. rewrite <- sum_map_minus. eapply Rle_trans; [apply sum_map_abs|]. unfold row_sum.
  rewrite <- sum_map_mult_r. apply sum_map_le. intros j inj. apply in_seq in inj.
  rewrite <- Rmult_minus_distr_l, Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|]. apply close. lia.
Qed.

(** The largest of finitely many bounds. *)
Lemma bound_over_indices (f : nat -> R) n : exists M, 0 <= M /\ forall i, (i < n)%nat -> f i <= M.
Proof.
  induction n as [|n [M [nonneg below]]]; [exists 0; split; [lra | lia]|]. exists (Rmax M (f n)).
  split; [eapply Rle_trans; [exact nonneg | apply Rmax_l]|]. intros i less.
  destruct (Nat.eq_dec i n) as [-> |]; [apply Rmax_r|]. eapply Rle_trans; [apply below; lia | apply Rmax_l].
Qed.

(** Row sums are a Lipschitz constant. *)
Lemma continuous_multiply rows columns A : continuous columns rows (multiply columns A).
Proof.
  intros x eps pos. destruct (bound_over_indices (row_sum columns A) rows) as [M [nonneg below]].
  exists (eps / (M + 1) / 2). assert (0 < eps / (M + 1)) by (apply Rdiv_lt_0_compat; lra). split; [lra|].
  intros y close i less. eapply Rle_lt_trans; [apply multiply_difference; intros; now apply Rlt_le, close|].
  specialize (below i less). pose proof (row_sum_nonneg columns A i).
  apply Rle_lt_trans with (M * (eps / (M + 1) / 2)); [apply Rmult_le_compat_r; lra|].
  apply Rlt_le_trans with ((M + 1) * (eps / (M + 1))); [|apply Req_le; field; lra]. nra.
Qed.

(** A real function of every entry. *)
Lemma continuous_pointwise n (activation : R -> R) :
  continuity activation -> continuous n n (fun x i => activation (x i)).
Proof.
  intros cont x eps pos.
  assert (each : forall i, exists delta, 0 < delta /\
    forall z, Rabs (z - x i) < delta -> Rabs (activation z - activation (x i)) < eps).
  { intros i. destruct (cont (x i) eps pos) as [delta [pos' near]]. exists delta. split; [easy|].
    intros z close. destruct (Req_dec z (x i)) as [-> | other]; [now rewrite Rminus_diag_eq, Rabs_R0|].
    apply near. repeat split; [|easy]. congruence. }
  assert (least : exists delta, 0 < delta /\ forall i, (i < n)%nat ->
            forall z, Rabs (z - x i) < delta -> Rabs (activation z - activation (x i)) < eps).
  { induction n as [|m [delta [pos' near]]]; [exists 1; split; [lra | lia]|].
    destruct (each m) as [delta' [pos'' near']]. exists (Rmin delta delta'). split; [now apply Rmin_glb_lt|].
    intros i less z close. destruct (Nat.eq_dec i m) as [-> |].
    - apply near'. eapply Rlt_le_trans; [exact close | apply Rmin_r].
    - apply near; [lia|]. eapply Rlt_le_trans; [exact close | apply Rmin_l]. }
  destruct least as [delta [pos' near]]. exists delta. split; [easy|]. intros y close c less. now apply near, close.
Qed.
