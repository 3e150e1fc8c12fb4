(** * LayerNorm and RMSNorm: their definitions, the vectors they return, and what an affine map makes of these.

    Main results (eps > 0; gain and bias of the norm are left to the matrix behind it)
    - [rms_norm_onto]     RMSNorm returns every z with |z|^2 < d: no smaller set holds all that it returns
    - [layer_norm_onto]   LayerNorm returns every z that adds up to 0 and has |z|^2 < d
    - [layer_norm_folds]  W (g z + beta) + b_W = A z + a, with A = W diag(g) less the mean of each row, a = W beta + b_W

    - [ellipsoid]         (1 + 1/t) r M M^T + (1 + t) c c^T <= lambda: |M z + c| <= sqrt lambda, |z|^2 <= r

    That they return no other vectors is [layer_norm] and [rms_norm] of norm_ellipsoid.v. *)

From softcheck Require Import softmax vectors.
Local Open Scope R_scope.

Definition total (d : nat) (h : vector) : R := sum (map h (seq 0 d)).
Definition average (d : nat) (h : vector) : R := total d h / INR d.
Definition centred (d : nat) (h : vector) : vector := fun i => h i - average d h.
Definition mean_square (d : nat) (h : vector) : R := dot d h h / INR d.

(** Without gain and bias: these are part of A, a, B and b. *)
Definition rms_normalised (d : nat) (eps : R) (h : vector) : vector := scale (/ sqrt (mean_square d h + eps)) h.
Definition layer_normalised (d : nat) (eps : R) (h : vector) : vector := rms_normalised d eps (centred d h).

Lemma mean_square_nonneg d h : (0 < d)%nat -> 0 <= mean_square d h.
Proof. intros some. apply Rmult_le_pos; [apply dot_square_nonneg|]. now apply Rlt_le, Rinv_0_lt_compat, lt_0_INR. Qed.

Lemma total_scale d c h : total d (scale c h) = c * total d h.
Proof. apply sum_map_mult_l. Qed.

Lemma total_centred d h : (0 < d)%nat -> total d (centred d h) = 0.
Proof.
  intros some. unfold total, centred. rewrite sum_map_minus, sum_map_const. unfold size. rewrite seq_length.
  fold (total d h). unfold average. field. now apply Rgt_not_eq, lt_0_INR.
Qed.

(** h = c z with c^2 = eps / (1 - |z|^2 / d) has the mean square c^2 - eps. *)
Theorem rms_norm_onto d eps z :
  (0 < d)%nat -> 0 < eps -> dot d z z < INR d -> exists h, forall i, rms_normalised d eps h i = z i.
Proof.
  intros some pos inside. assert (0 < INR d) as pos' by now apply lt_0_INR. set (m := mean_square d z).
  assert (small : m < 1).
  { unfold m, mean_square. apply Rmult_lt_reg_r with (INR d); [easy|]. unfold Rdiv.
    rewrite Rmult_assoc, Rinv_l by lra. lra. }
  assert (0 < eps / (1 - m)) as ratio by (apply Rdiv_lt_0_compat; lra). set (c := sqrt (eps / (1 - m))).
  assert (0 < c) by now apply sqrt_lt_R0. assert (square : c * c = eps / (1 - m)) by (apply sqrt_sqrt; lra).
  exists (scale c z). intros i. unfold rms_normalised. replace (mean_square d (scale c z) + eps) with (c * c).
  - rewrite sqrt_square by lra. unfold scale. field. lra.
  - unfold mean_square. rewrite dot_scale_l, dot_scale_r.
    replace (c * (c * dot d z z) / INR d) with (c * c * m) by (unfold m, mean_square; field; lra). rewrite square.
    field. lra.
Qed.

(** The h of RMSNorm has the mean 0 of z. *)
Theorem layer_norm_onto d eps z :
  (0 < d)%nat -> 0 < eps -> total d z = 0 -> dot d z z < INR d ->
  exists h, forall i, layer_normalised d eps h i = z i.
Proof.
  intros some pos zero inside. destruct (rms_norm_onto d eps z some pos inside) as [h same]. exists h. intros i.
  rewrite <- same. unfold layer_normalised. assert (root : sqrt (mean_square d h + eps) <> 0).
  { apply Rgt_not_eq, sqrt_lt_R0. pose proof (mean_square_nonneg d h some). lra. }
  assert (plain : forall j, centred d h j = h j).
  { intros j. unfold centred, average. enough (total d h = 0) as -> by (unfold Rdiv; ring).
    apply Rmult_eq_reg_l with (/ sqrt (mean_square d h + eps)); [|now apply Rinv_neq_0_compat].
    rewrite <- total_scale, Rmult_0_r, <- zero. apply sum_map_ext. intros. apply same. }
  assert (equal : mean_square d (centred d h) = mean_square d h). { unfold mean_square. f_equal. now apply dot_ext. }
  unfold rms_normalised. rewrite equal. unfold scale. now rewrite plain.
Qed.

(** W diag(g), less the mean of each row. *)
Definition folded_matrix (d : nat) (W : matrix) (g : vector) : matrix := fun i => centred d (fun j => W i j * g j).

(** What the mean takes off a row meets the sum of z, which is 0. *)
Theorem layer_norm_folds d W g beta bias z i :
  total d z = 0 ->
  add (multiply d W (fun j => g j * z j + beta j)) bias i
  = add (multiply d (folded_matrix d W g) z) (add (multiply d W beta) bias) i.
Proof.
  intros zero. unfold add at 1 2 3. rewrite <- Rplus_assoc. f_equal.
  transitivity (multiply d W (fun j => g j * z j) i + multiply d W beta i).
  - unfold multiply. rewrite <- dot_add_r. now apply dot_ext.
  - f_equal. unfold multiply, folded_matrix, centred, dot at 2.
    rewrite (sum_map_ext _ (fun j => W i j * g j * z j - average d (fun k => W i k * g k) * z j)) by (intros; ring).
    rewrite sum_map_minus, sum_map_mult_l. fold (total d z). rewrite zero, Rmult_0_r, Rminus_0_r.
    apply sum_map_ext. intros. ring.
Qed.

(** ** Balls and their affine images *)

Definition in_ball (n : nat) (r : R) (x : vector) : Prop := dot n x x <= r.

Lemma norm_in_ball n r x : in_ball n r x -> norm n x <= sqrt r.
Proof. apply sqrt_le_1_alt. Qed.

Lemma radius_nonneg n r x : in_ball n r x -> 0 <= r.
Proof. intros inside. eapply Rle_trans; [apply (dot_square_nonneg n x) | exact inside]. Qed.

Definition affine (columns : nat) (A : matrix) (a z : vector) : vector := add (multiply columns A z) a.

(** (1 + 1/t) r M M^T + (1 + t) c c^T <= lambda, M with [rows] rows and [columns] columns. *)
Definition admissible (rows columns : nat) (M : matrix) (c : vector) (r t lambda : R) : Prop :=
  forall v, (1 + / t) * r * dot columns (multiply rows (transpose M) v) (multiply rows (transpose M) v)
            + (1 + t) * dot rows c v ^ 2 <= lambda * dot rows v v.

(** The difference is (x - t y)^2 / t. *)
Lemma young t x y : 0 < t -> (x + y) ^ 2 <= (1 + / t) * x ^ 2 + (1 + t) * y ^ 2.
Proof.
  intros pos. assert (0 <= (x - t * y) ^ 2 * / t).
  { apply Rmult_le_pos; [apply pow2_ge_0 | now apply Rlt_le, Rinv_0_lt_compat]. }
  enough ((1 + / t) * x ^ 2 + (1 + t) * y ^ 2 - (x + y) ^ 2 = (x - t * y) ^ 2 * / t) by lra. field. lra.
Qed.

(** With w = M z + c, |w|^2 = z . M^T w + c . w, whose square is at most lambda |w|^2. *)
Theorem ellipsoid rows columns M c r t lambda z :
  0 < t -> admissible rows columns M c r t lambda -> in_ball columns r z ->
  norm rows (affine columns M c z) <= sqrt lambda.
Proof.
  intros pos bound inside. set (w := affine columns M c z). specialize (bound w).
  set (x := dot columns z (multiply rows (transpose M) w)). set (y := dot rows c w).
  assert (split : dot rows w w = x + y).
  { unfold x, y. rewrite <- dot_multiply. unfold w at 1, affine. apply dot_add_l. }
  assert (part : x ^ 2 <= r * dot columns (multiply rows (transpose M) w) (multiply rows (transpose M) w)).
  { pose proof (cauchy_schwarz_square columns z (multiply rows (transpose M) w)) as square. fold x in square.
    simpl. rewrite Rmult_1_r. apply Rle_trans with (1 := square).
    apply Rmult_le_compat_r; [apply dot_square_nonneg | exact inside]. }
  pose proof (young t x y pos) as total. pose proof (Rinv_0_lt_compat t pos).
  apply Rmult_le_compat_l with (r := 1 + / t) in part; [|lra].
  fold y in bound. destruct (dot_square_nonneg rows w) as [some | none].
  - apply sqrt_le_1_alt. apply Rmult_le_reg_r with (dot rows w w); [easy|]. rewrite split at 1 2. simpl in total. lra.
  - unfold norm. rewrite <- none, sqrt_0. apply sqrt_pos.
Qed.
