(** * Rotary positions: what bounds the logits of a head that turns its queries and keys by their positions.

    Main results (planes of two coordinates, turned by an angle each; further coordinates stay; W = diag(w))
    - [layouts]           interleaved planes (2p, 2p + 1) and half-split planes (p, p + P) are such layouts
    - [relative]          R_i q . R_j k = q . R_(j-i) k
    - [isometry]          one weight a plane: W R u = R W u and |W R u| = |W u|
    - [every_rotation]    |u . k|^2 <= u^T G u <= |W u|^2 for all u: then |u . R k| <= |W u| for every rotation R
    - [logit]             with G that of the keys B z' + b of norm_ellipsoid.v, and
                          (1 + 1/t) r_q W A A^T W + (1 + t) W a a^T W <= lambda: |s R_i q . R_j k| <= s sqrt lambda
    - [spread]            two logits of one query, at whatever positions, differ by at most 2 s sqrt lambda
    - [qk_norm]           q = w_q x, k = w_k y, |x|^2 <= r_q, |y|^2 <= r_k: |s R_i q . R_j k| <= s sqrt(r_q r_k)
                          times the largest (max |w_q| in the plane) (max |w_k| in the plane)

    Source: Su et al., "RoFormer", arXiv 2104.09864, eq. (34), for the rotation; the bounds are this project's. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors proposition_3_1 normalised_vectors norm_ellipsoid.
Local Open Scope R_scope.

(** ** Layouts and rotations *)

Record layout : Set := { planes : list (nat * nat); still : list nat }.

Definition in_planes (ps : list (nat * nat)) : list nat := flat_map (fun p => [fst p; snd p]) ps.

(** Every coordinate below n stands once, in a plane or among those that stay. *)
Definition covers (n : nat) (l : layout) : Prop := Permutation (in_planes (planes l) ++ still l) (seq 0 n).

Fixpoint turn (ps : list (nat * nat)) (angle : nat * nat -> R) (u : vector) : vector :=
  match ps with
  | [] => u
  | p :: rest => fun i =>
      if Nat.eqb i (fst p) then cos (angle p) * u (fst p) - sin (angle p) * u (snd p)
      else if Nat.eqb i (snd p) then sin (angle p) * u (fst p) + cos (angle p) * u (snd p)
      else turn rest angle u i
  end.

Definition rotate (l : layout) (angle : nat * nat -> R) : vector -> vector := turn (planes l) angle.

(** R_m: the angle of a plane is the position times the plane's frequency. *)
Definition rotate_to (l : layout) (frequency : nat * nat -> R) (m : R) : vector -> vector :=
  rotate l (fun p => m * frequency p).

Definition interleaved (count n : nat) : layout :=
  {| planes := map (fun p => (2 * p, 2 * p + 1)%nat) (seq 0 count); still := seq (2 * count) (n - 2 * count) |}.
Definition half_split (count n : nat) : layout :=
  {| planes := map (fun p => (p, p + count)%nat) (seq 0 count); still := seq (2 * count) (n - 2 * count) |}.

Lemma in_planes_shuffled ps : Permutation (in_planes ps) (map fst ps ++ map snd ps).
Proof.
  induction ps as [|p ps IH]; [easy|]. cbn. apply perm_skip. rewrite <- Permutation_middle. now apply perm_skip.
Qed.

Lemma in_interleaved count : in_planes (map (fun p => (2 * p, 2 * p + 1)%nat) (seq 0 count)) = seq 0 (2 * count).
Proof.
  induction count as [|c IH]; [easy|]. rewrite seq_S. replace (2 * S c)%nat with (2 * c + 2)%nat by lia.
  rewrite seq_app, <- IH, map_app. unfold in_planes. rewrite flat_map_app. f_equal. cbn. repeat f_equal; lia.
Qed.

Lemma shifted count start k : map (fun p => p + count)%nat (seq start k) = seq (start + count) k.
Proof. revert start. induction k as [|k IH]; intros start; [easy|]. cbn. now rewrite IH. Qed.

(** Interleaved planes are in order; half-split planes are two runs, one of first and one of second coordinates. *)
Theorem layouts count n : (2 * count <= n)%nat -> covers n (interleaved count n) /\ covers n (half_split count n).
Proof.
  intros fits. assert (whole : seq 0 n = seq 0 (2 * count) ++ seq (2 * count) (n - 2 * count)).
  { rewrite <- (Nat.add_0_l (2 * count)) at 2. rewrite <- seq_app. f_equal. lia. }
  unfold covers. rewrite whole. split; apply Permutation_app_tail.
  - apply Permutation_refl', in_interleaved.
  - unfold half_split, planes. rewrite in_planes_shuffled, !map_map. cbn [fst snd].
    rewrite map_id, shifted. replace (2 * count)%nat with (count + count)%nat by lia. now rewrite seq_app.
Qed.

Lemma turn_outside ps angle u i : ~ In i (in_planes ps) -> turn ps angle u i = u i.
Proof.
  induction ps as [|p ps IH]; [easy|]. cbn. intros outside.
  destruct (Nat.eqb_spec i (fst p)) as [-> |]; [tauto|]. destruct (Nat.eqb_spec i (snd p)) as [-> |]; [tauto|]. tauto.
Qed.

(** A plane's coordinates belong to no other plane. *)
Lemma turn_inside ps angle u p :
  NoDup (in_planes ps) -> In p ps ->
  turn ps angle u (fst p) = cos (angle p) * u (fst p) - sin (angle p) * u (snd p) /\
  turn ps angle u (snd p) = sin (angle p) * u (fst p) + cos (angle p) * u (snd p).
Proof.
  induction ps as [|p' ps IH]; [easy|]. cbn. intros once inp. inversion once as [|x l first once']; subst.
  inversion once' as [|x l second rest]; subst. destruct inp as [<- | inp].
  - rewrite !Nat.eqb_refl. split; [easy|]. destruct (Nat.eqb_spec (snd p') (fst p')) as [same |]; [|easy]. exfalso.
    apply first. left. exact same.
  - assert (inside : In (fst p) (in_planes ps) /\ In (snd p) (in_planes ps)).
    { split; apply in_flat_map; exists p; (split; [easy|]); cbn; tauto. } destruct inside as [inf ins]. cbn in first.
    fold (in_planes ps) in first, second, rest.
    assert (apart : forall i, In i (in_planes ps) -> Nat.eqb i (fst p') = false /\ Nat.eqb i (snd p') = false).
    { intros i ini. split; apply Nat.eqb_neq; intros ->; tauto. }
    destruct (apart _ inf) as [-> ->], (apart _ ins) as [-> ->]. now apply IH.
Qed.

(** The square of sqrt(a d) - sqrt(b c) is not negative. *)
Lemma two_roots a b c d :
  0 <= a -> 0 <= b -> 0 <= c -> 0 <= d -> sqrt a * sqrt b + sqrt c * sqrt d <= sqrt (a + c) * sqrt (b + d).
Proof.
  intros. rewrite <- (sqrt_mult (a + c)) by lra. set (x := sqrt a * sqrt b + sqrt c * sqrt d).
  assert (0 <= x) by (apply Rplus_le_le_0_compat; apply Rmult_le_pos; apply sqrt_pos).
  rewrite <- (sqrt_square x) by easy. apply sqrt_le_1_alt. unfold x.
  pose proof (Rle_0_sqr (sqrt a * sqrt d - sqrt b * sqrt c)) as apart. unfold Rsqr in apart.
  replace ((a + c) * (b + d)) with ((sqrt a * sqrt a + sqrt c * sqrt c) * (sqrt b * sqrt b + sqrt d * sqrt d)) by
    (rewrite !sqrt_sqrt by easy; ring). lra.
Qed.

(** Cauchy-Schwarz over a list. *)
Lemma roots_of_sums {A} (f g : A -> R) xs :
  (forall x, 0 <= f x) -> (forall x, 0 <= g x) ->
  sum (map (fun x => sqrt (f x) * sqrt (g x)) xs) <= sqrt (sum (map f xs)) * sqrt (sum (map g xs)).
Proof.
  intros nonneg nonneg'. induction xs as [|x xs IH]; [unfold sum; cbn; rewrite sqrt_0; lra|].
  pose proof (sum_map_nonneg f xs ltac:(easy)). pose proof (sum_map_nonneg g xs ltac:(easy)).
  apply Rle_trans with (sqrt (f x) * sqrt (g x) + sqrt (sum (map f xs)) * sqrt (sum (map g xs))).
  - unfold sum in *. cbn [map fold_right]. lra.
  - now apply two_roots.
Qed.

Section Layout.
  Context (n : nat) (l : layout) (whole : covers n l).

  Let once : NoDup (in_planes (planes l)) /\ forall i, In i (still l) -> ~ In i (in_planes (planes l)).
  Proof.
    assert (all : NoDup (in_planes (planes l) ++ still l)).
    { eapply Permutation_NoDup; [apply Permutation_sym, whole | apply seq_NoDup]. } revert all.
    generalize (in_planes (planes l)) as xs. induction xs as [|x xs IH]; cbn; intros all; [now split; [constructor|]|].
    inversion all as [|y ys out rest]; subst. destruct (IH rest) as [apart other]. rewrite in_app_iff in out. split.
    - constructor; tauto.
    - intros i ini [<- | inx]; [tauto | now apply (other i)].
  Qed.

  (** The scalar product, plane by plane. *)
  Definition plane_product (x y : vector) (p : nat * nat) : R := x (fst p) * y (fst p) + x (snd p) * y (snd p).

  Lemma dot_by_plane x y :
    dot n x y = sum (map (plane_product x y) (planes l)) + sum (map (fun i => x i * y i) (still l)).
  Proof.
    unfold dot. rewrite <- (sum_map_permutation (fun i => x i * y i) _ _ whole), map_app, sum_app.
    apply Rplus_eq_compat_r. unfold in_planes. clear once. induction (planes l) as [|p ps IH]; [easy|].
    cbn [flat_map app map]. unfold sum in *. cbn [fold_right]. rewrite IH. unfold plane_product. ring.
  Qed.

  Lemma rotate_in_plane angle u p :
    In p (planes l) ->
    rotate l angle u (fst p) = cos (angle p) * u (fst p) - sin (angle p) * u (snd p) /\
    rotate l angle u (snd p) = sin (angle p) * u (fst p) + cos (angle p) * u (snd p).
  Proof. apply turn_inside, once. Qed.

  Lemma rotate_still angle u i : In i (still l) -> rotate l angle u i = u i.
  Proof. intros ini. now apply turn_outside, once. Qed.

  (** cos and sin of a difference. *)
  Theorem relative frequency i j q k :
    dot n (rotate_to l frequency i q) (rotate_to l frequency j k) = dot n q (rotate_to l frequency (j - i) k).
  Proof.
    rewrite !dot_by_plane. unfold rotate_to. f_equal; apply sum_map_ext.
    - intros p inp. unfold plane_product.
      destruct (rotate_in_plane (fun p => i * frequency p) q p inp) as [-> ->].
      destruct (rotate_in_plane (fun p => j * frequency p) k p inp) as [-> ->].
      destruct (rotate_in_plane (fun p => (j - i) * frequency p) k p inp) as [-> ->].
      replace ((j - i) * frequency p) with (j * frequency p - i * frequency p) by ring. rewrite cos_minus, sin_minus. ring.
    - intros c inc. now rewrite !rotate_still.
  Qed.

  (** The same seen from the key: the query turned back. *)
  Lemma turned_back angle u k : dot n u (rotate l angle k) = dot n (rotate l (fun p => - angle p) u) k.
  Proof.
    rewrite !dot_by_plane. f_equal; apply sum_map_ext.
    - intros p inp. unfold plane_product. destruct (rotate_in_plane angle k p inp) as [-> ->].
      destruct (rotate_in_plane (fun p => - angle p) u p inp) as [-> ->]. rewrite cos_neg, sin_neg. ring.
    - intros c inc. now rewrite !rotate_still.
  Qed.

  (** *** Weights *)

  Definition weighted (w u : vector) : vector := fun i => w i * u i.

  Definition plane_max (w : vector) (p : nat * nat) : R := Rmax (Rabs (w (fst p))) (Rabs (w (snd p))).

  (** The largest (max |w_q|) (max |w_k|) of a plane, or of a coordinate that stays. *)
  Definition largest_gains (w_q w_k : vector) : R :=
    Rmax (largest_of (fun p => plane_max w_q p * plane_max w_k p) (planes l))
         (largest_of (fun i => Rabs (w_q i) * Rabs (w_k i)) (still l)).

  Definition qk_logit (frequency : nat * nat -> R) (s i j : R) (w_q w_k x y : vector) : R :=
    s * dot n (rotate_to l frequency i (weighted w_q x)) (rotate_to l frequency j (weighted w_k y)).

  (** Cauchy-Schwarz in the plane, where the rotation keeps lengths. *)
  Lemma qk_plane angle w_q w_k x y p :
    In p (planes l) ->
    Rabs (plane_product (weighted w_q x) (rotate l angle (weighted w_k y)) p)
    <= plane_max w_q p * plane_max w_k p * (sqrt (plane_product x x p) * sqrt (plane_product y y p)).
  Proof.
    intros inp.
    assert (gains : forall w u,
              plane_product (weighted w u) (weighted w u) p <= plane_max w p ^ 2 * plane_product u u p).
    { intros w u. unfold plane_product, weighted, plane_max. rewrite Rmult_plus_distr_l.
      pose proof (Rmax_l (Rabs (w (fst p))) (Rabs (w (snd p)))) as one.
      pose proof (Rmax_r (Rabs (w (fst p))) (Rabs (w (snd p)))) as two.
      apply (fun h => pow_incr _ _ 2 (conj (Rabs_pos _) h)) in one, two. rewrite pow2_abs in one, two.
      pose proof (Rmult_le_compat_r _ _ _ (Rle_0_sqr (u (fst p))) one).
      pose proof (Rmult_le_compat_r _ _ _ (Rle_0_sqr (u (snd p))) two). unfold Rsqr in *. lra. }
    assert (square : forall u, 0 <= plane_product u u p) by (intros; apply Rplus_le_le_0_compat; apply Rle_0_sqr).
    assert (0 <= plane_max w_q p /\ 0 <= plane_max w_k p) as [nonneg_q nonneg_k].
    { split; (eapply Rle_trans; [apply Rabs_pos | apply Rmax_l]). }
    set (q := weighted w_q x). set (k := weighted w_k y).
    assert (turned : plane_product (rotate l angle k) (rotate l angle k) p = plane_product k k p).
    { unfold plane_product. destruct (rotate_in_plane angle k p inp) as [-> ->].
      pose proof (sin2_cos2 (angle p)) as unit. unfold Rsqr in unit.
      transitivity ((sin (angle p) * sin (angle p) + cos (angle p) * cos (angle p))
                    * (k (fst p) * k (fst p) + k (snd p) * k (snd p))); [ring|]. rewrite unit. ring. }
    set (k' := rotate l angle k) in *.
    apply Rle_trans with (sqrt (plane_product q q p * plane_product k' k' p)).
    - rewrite <- sqrt_Rsqr_abs. apply sqrt_le_1_alt. unfold Rsqr, plane_product.
      pose proof (Rle_0_sqr (q (fst p) * k' (snd p) - q (snd p) * k' (fst p))) as apart. unfold Rsqr in apart. lra.
    - rewrite turned. apply Rle_trans with
        (sqrt ((plane_max w_q p ^ 2 * plane_product x x p) * (plane_max w_k p ^ 2 * plane_product y y p))).
      + apply sqrt_le_1_alt. apply Rmult_le_compat; [apply square | apply square | apply gains | apply gains].
      + replace (plane_max w_q p ^ 2 * plane_product x x p * (plane_max w_k p ^ 2 * plane_product y y p))
          with ((plane_max w_q p * plane_max w_k p) ^ 2 * (plane_product x x p * plane_product y y p)) by ring.
        rewrite sqrt_mult_alt by apply pow2_ge_0. rewrite sqrt_pow2 by now apply Rmult_le_pos.
        rewrite sqrt_mult_alt by apply square. lra.
  Qed.

  (** Plane by plane, then Cauchy-Schwarz over the planes. *)
  Theorem qk_norm frequency s i j w_q w_k x y r_q r_k :
    0 <= s -> in_ball n r_q x -> in_ball n r_k y ->
    Rabs (qk_logit frequency s i j w_q w_k x y) <= s * sqrt (r_q * r_k) * largest_gains w_q w_k.
  Proof.
    intros scaled_up inx iny. unfold qk_logit. rewrite Rabs_mult, (Rabs_pos_eq s), relative, Rmult_assoc by easy.
    apply Rmult_le_compat_l; [easy|]. unfold rotate_to. set (C := largest_gains w_q w_k).
    assert (nonneg : 0 <= C) by (eapply Rle_trans; [|apply Rmax_l]; apply largest_of_nonneg).
    set (planar := fun u => sum (map (plane_product u u) (planes l))).
    set (fixed := fun u : vector => sum (map (fun c => u c * u c) (still l))).
    assert (square : forall u p, 0 <= plane_product u u p) by (intros; apply Rplus_le_le_0_compat; apply Rle_0_sqr).
    rewrite dot_by_plane. triangle.
    apply Rle_trans with (C * (sqrt (planar x) * sqrt (planar y)) + C * (sqrt (fixed x) * sqrt (fixed y))).
    - apply Rplus_le_compat; (eapply Rle_trans; [apply sum_map_abs|]).
      + eapply Rle_trans; [|apply Rmult_le_compat_l; [exact nonneg | now apply roots_of_sums]].
        rewrite <- sum_map_mult_l. apply sum_map_le. intros p inp. eapply Rle_trans; [now apply qk_plane|].
        apply Rmult_le_compat_r; [apply Rmult_le_pos; apply sqrt_pos|].
        eapply Rle_trans; [apply (largest_of_ge (fun p => plane_max w_q p * plane_max w_k p)), inp | apply Rmax_l].
      + eapply Rle_trans; [|apply Rmult_le_compat_l; [exact nonneg | apply roots_of_sums; intros; apply Rle_0_sqr]].
        rewrite <- sum_map_mult_l. apply sum_map_le. intros c inc. rewrite rotate_still by easy.
        fold (Rsqr (x c)) (Rsqr (y c)). rewrite !sqrt_Rsqr_abs. unfold weighted. rewrite !Rabs_mult.
        replace (Rabs (w_q c) * Rabs (x c) * (Rabs (w_k c) * Rabs (y c)))
          with (Rabs (w_q c) * Rabs (w_k c) * (Rabs (x c) * Rabs (y c))) by ring.
        apply Rmult_le_compat_r; [apply Rmult_le_pos; apply Rabs_pos|].
        eapply Rle_trans; [apply (largest_of_ge (fun i => Rabs (w_q i) * Rabs (w_k i))), inc | apply Rmax_r].
    - rewrite <- Rmult_plus_distr_l, Rmult_comm. apply Rmult_le_compat_r; [easy|].
      eapply Rle_trans; [apply two_roots; apply sum_map_nonneg; intros; try apply square; apply Rle_0_sqr|].
      unfold planar, fixed. rewrite <- !dot_by_plane. pose proof (radius_nonneg _ _ _ inx).
      rewrite sqrt_mult_alt by easy. apply Rmult_le_compat; try apply sqrt_pos; now apply norm_in_ball.
  Qed.

  Context (w : vector) (one_weight_a_plane : forall p, In p (planes l) -> w (fst p) = w (snd p)).

  (** cos^2 + sin^2 = 1. *)
  Theorem isometry angle u :
    (forall i, (i < n)%nat -> weighted w (rotate l angle u) i = rotate l angle (weighted w u) i) /\
    norm n (weighted w (rotate l angle u)) = norm n (weighted w u).
  Proof.
    split.
    - intros i less. assert (place : In i (in_planes (planes l) ++ still l)).
      { eapply Permutation_in; [apply Permutation_sym, whole|]. apply in_seq. lia. }
      apply in_app_iff in place as [inp | ini]; unfold weighted at 1.
      + apply in_flat_map in inp as [p [inp isi]]. specialize (one_weight_a_plane p inp).
        destruct (rotate_in_plane angle u p inp) as [first second].
        destruct (rotate_in_plane angle (weighted w u) p inp) as [first' second']. destruct isi as [<- | [<- | []]].
        * rewrite first, first'. unfold weighted. rewrite <- one_weight_a_plane. ring.
        * rewrite second, second'. unfold weighted. rewrite one_weight_a_plane. ring.
      + now rewrite !rotate_still.
    - unfold norm. f_equal. rewrite !dot_by_plane. f_equal; apply sum_map_ext.
      + intros p inp. unfold plane_product, weighted. destruct (rotate_in_plane angle u p inp) as [-> ->].
        rewrite <- (one_weight_a_plane p inp). pose proof (sin2_cos2 (angle p)) as unit. unfold Rsqr in unit.
        transitivity (w (fst p) ^ 2 * ((sin (angle p) * sin (angle p) + cos (angle p) * cos (angle p))
                                       * (u (fst p) ^ 2 + u (snd p) ^ 2))); [ring|]. rewrite unit. ring.
      + intros i ini. unfold weighted. now rewrite !rotate_still.
  Qed.

  (** Turned back, u has the same |W u|. *)
  Theorem every_rotation (form : vector -> R) k :
    (forall u, Rabs (dot n u k) <= sqrt (form u)) -> (forall u, form u <= norm n (weighted w u) ^ 2) ->
    forall angle u, Rabs (dot n u (rotate l angle k)) <= norm n (weighted w u).
  Proof.
    intros meets above angle u. rewrite turned_back, <- (proj2 (isometry (fun p => - angle p) u)).
    eapply Rle_trans; [apply meets|]. rewrite <- (sqrt_pow2 (norm n (weighted w (rotate l (fun p => - angle p) u))))
      by apply norm_nonneg. apply sqrt_le_1_alt, above.
  Qed.

  (** *** A head *)

  Variables (d_q d_k : nat) (A B : matrix) (a b : vector) (s r_q r_k t t' lambda : R) (frequency : nat * nat -> R).

  Definition rotary_logit (i j : R) (z z' : vector) : R :=
    s * dot n (rotate_to l frequency i (affine d_q A a z)) (rotate_to l frequency j (affine d_k B b z')).

  (** W A: each row times its weight. *)
  Definition weighted_matrix : matrix := fun i => scale (w i) (A i).

  Hypotheses (scaled_up : 0 <= s) (positive : 0 < t) (positive' : 0 < t').
  Hypothesis above : forall u, key_form n d_k B b r_k t' u <= norm n (weighted w u) ^ 2.
  Hypothesis bound : admissible n d_q weighted_matrix (weighted w a) r_q t lambda.

  (** W (A z + a) lies in the ellipsoid. *)
  Theorem logit i j z z' : in_ball d_q r_q z -> in_ball d_k r_k z' -> Rabs (rotary_logit i j z z') <= s * sqrt lambda.
  Proof.
    intros inz inz'. unfold rotary_logit. rewrite Rabs_mult, (Rabs_pos_eq s), relative by easy.
    apply Rmult_le_compat_l; [easy|].
    eapply Rle_trans; [apply (every_rotation (key_form n d_k B b r_k t'))|]; [|exact above|].
    - intros u. now apply meets_key.
    - eapply Rle_trans; [|now apply (ellipsoid n d_q weighted_matrix (weighted w a) r_q t lambda z)].
      apply Req_le, norm_ext. intros c _. unfold weighted, weighted_matrix, affine, add, multiply.
      rewrite dot_scale_l. ring.
  Qed.

  (** Keys are pairs of a position and a vector. *)
  Theorem spread i z keys :
    in_ball d_q r_q z -> (forall key, In key keys -> in_ball d_k r_k (snd key)) ->
    spread_at_most (2 * (s * sqrt lambda)) (map (fun key => rotary_logit i (fst key) z (snd key)) keys).
  Proof.
    intros inz inside e e' ine ine'. apply in_map_iff in ine as [key [<- ink]].
    apply in_map_iff in ine' as [key' [<- ink']]. pose proof (logit i (fst key) z (snd key) inz (inside _ ink)) as one.
    pose proof (logit i (fst key') z (snd key') inz (inside _ ink')) as two. apply Rabs_le_between in one, two. lra.
  Qed.
End Layout.

(** ** One plane that a step turns by a right angle: every bound is reached *)

Definition plane : layout := interleaved 1 2.
Definition right_angle : nat * nat -> R := fun _ => PI / 2.
Definition pair (x y : R) : vector := fun i => match i with O => x | _ => y end.
Definition pairs (x y : R) : matrix := fun i _ => pair x y i.

Lemma plane_whole : covers 2 plane.
Proof. now apply layouts. Qed.

(** A quarter turn takes (x, y) to (y, -x), or to (-y, x). *)
Lemma quarter j q k :
  (j = 0 \/ j = 2) ->
  dot 2 (rotate_to plane right_angle 1 q) (rotate_to plane right_angle j k)
  = (1 - j) * (q 0%nat * k 1%nat - q 1%nat * k 0%nat).
Proof.
  intros side. rewrite (relative 2 plane plane_whole). unfold dot, rotate_to, rotate, right_angle, sum. cbn.
  destruct side as [-> | ->].
  - replace ((0 - 1) * (PI / 2)) with (- (PI / 2)) by ring. rewrite cos_neg, sin_neg, cos_PI2, sin_PI2. ring.
  - replace ((2 - 1) * (PI / 2)) with (PI / 2) by ring. rewrite cos_PI2, sin_PI2. ring.
Qed.

Example qk_norm_is_reached :
  in_ball 2 1 (pair 1 0) /\ in_ball 2 1 (pair 0 1) /\
  qk_logit 2 plane right_angle 1 1 0 (pair 2 1) (pair 1 3) (pair 1 0) (pair 0 1)
  = 1 * sqrt (1 * 1) * largest_gains plane (pair 2 1) (pair 1 3).
Proof.
  split; [|split]; [unfold in_ball, dot, sum; cbn; lra.. |]. unfold qk_logit. rewrite quarter by now left.
  unfold largest_gains, plane_max, largest_of, weighted. cbn. rewrite !Rmult_1_r, sqrt_1, !Rabs_pos_eq by lra.
  rewrite (Rmax_left 2 1), (Rmax_right 1 3), (Rmax_left (2 * 3) 0), (Rmax_left (2 * 3) 0) by lra. ring.
Qed.

Ltac by_coordinates :=
  unfold admissible, key_form; intros; rewrite <- ?Rsqr_pow2; unfold Rsqr; rewrite ?norm_square;
  unfold dot, multiply, transpose, weighted_matrix, weighted, scale, pairs, pair, dot, sum; cbn; nra.

(** q = (z + 1, 0) and k = (0, z' + 1): at z = z' = 1 the logits a step behind and ahead are 4 and -4. *)
Example logit_and_spread_are_reached :
  (forall u, key_form 2 1 (pairs 0 1) (pair 0 1) 1 1 u <= norm 2 (weighted (pair 2 2) u) ^ 2) /\
  admissible 2 1 (weighted_matrix (pair 2 2) (pairs 1 0)) (weighted (pair 2 2) (pair 1 0)) 1 1 16 /\
  let logit_at j := rotary_logit 2 plane 1 1 (pairs 1 0) (pairs 0 1) (pair 1 0) (pair 0 1) 1 right_angle 1 j one one in
  logit_at 0 = 1 * sqrt 16 /\ logit_at 0 - logit_at 2 = 2 * (1 * sqrt 16).
Proof.
  split; [by_coordinates|]. split; [by_coordinates|]. intros logit_at. unfold logit_at, rotary_logit.
  rewrite !quarter by tauto. replace 16 with (4 * 4) by ring. rewrite sqrt_square by lra.
  unfold affine, add, multiply, dot, pairs, pair, one, sum. cbn. lra.
Qed.

(** With the weights 0 and 2 in the plane all else holds at lambda = 0, where [logit] would say that 4 is 0. *)
Example one_weight_is_needed :
  (forall u, key_form 2 1 (pairs 0 1) (pair 0 1) 1 1 u <= norm 2 (weighted (pair 0 2) u) ^ 2) /\
  admissible 2 1 (weighted_matrix (pair 0 2) (pairs 1 0)) (weighted (pair 0 2) (pair 1 0)) 1 1 0.
Proof. split; by_coordinates. Qed.
