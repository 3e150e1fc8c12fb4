(** * Trees of additions some of which err by less than a roundoff, as those of compensated sums do.

    [summed_at M l r s g j K], [streamed_at M l r s y g j K]: trees as in reduction.v and moments.v, whose height g is a real
    number: an addition that errs by the part k of a roundoff counts k. The height of reduction.v counts each as 1.

    Main result
    - [height_below_size]   a tree is no higher than its items less one

    Source: docs/tolerances.md, B1; kernels/block/compensated_sum.hpp for additions that err by less. *)

From softcheck.numerics Require Import row.
Local Open Scope R_scope.

(** An addition that errs by the part k of a roundoff: a compensated one does. *)
Definition sum_within (M : arithmetic) (k z s : R) : Prop :=
  exists t e, Rabs t <= k * unit M /\ Rabs e <= sum_floor M /\ s = z * exp t + e.

(** [summed], with the height g of a path in roundoffs. *)
Inductive summed_at (M : arithmetic) : list R -> R -> R -> R -> nat -> nat -> Prop :=
| summed_at_item x r b s :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> summed_at M [x] r s 0 0 0
| summed_at_addition l1 l2 r s1 s2 s k g1 g2 j1 j2 K1 K2 :
    summed_at M l1 r s1 g1 j1 K1 -> summed_at M l2 r s2 g2 j2 K2 -> 0 <= k <= 1 -> sum_within M k (s1 + s2) s ->
    summed_at M (l1 ++ l2) r s (k + Rmax g1 g2) (max j1 j2) (K1 + K2)
| summed_at_rescaled l r r' s b f s' g j K :
    summed_at M l r s g j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' -> summed_at M l r' s' g (S j) (S K)
| summed_at_reordered l l' r s g j K :
    summed_at M l r s g j K -> Permutation l l' -> summed_at M l' r s g j K.

(** [streamed], likewise: both sums err by the same part. *)
Inductive streamed_at (M : arithmetic) : list R -> R -> R -> R -> R -> nat -> nat -> Prop :=
| streamed_at_item x r b s y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> computed_product M (s * b) y ->
    streamed_at M [x] r s y 0 0 0
| streamed_at_addition l1 l2 r s1 s2 s y1 y2 y k g1 g2 j1 j2 K1 K2 :
    streamed_at M l1 r s1 y1 g1 j1 K1 -> streamed_at M l2 r s2 y2 g2 j2 K2 -> 0 <= k <= 1 ->
    sum_within M k (s1 + s2) s -> sum_within M k (y1 + y2) y ->
    streamed_at M (l1 ++ l2) r s y (k + Rmax g1 g2) (max j1 j2) (K1 + K2)
| streamed_at_rescaled l r r' s y b f p q s' y' g j K :
    streamed_at M l r s y g j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' ->
    computed_product M (b * s) p -> computed_sum M (y + p) q -> computed_product M (q * f) y' ->
    streamed_at M l r' s' y' g (S j) (S K)
| streamed_at_reordered l l' r s y g j K :
    streamed_at M l r s y g j K -> Permutation l l' -> streamed_at M l' r s y g j K.

Lemma sum_of_streamed M l r s y g j K : streamed_at M l r s y g j K -> summed_at M l r s g j K.
Proof.
  induction 1; [eapply summed_at_item|eapply summed_at_addition|eapply summed_at_rescaled|eapply summed_at_reordered]; eassumption.
Qed.

Lemma whole_sum M z s : computed_sum M z s -> sum_within M 1 z s.
Proof. intros [t [e [bt rest]]]. exists t, e. now rewrite Rmult_1_l. Qed.

Lemma height_of_both h1 h2 : INR (S (max h1 h2)) = 1 + Rmax (INR h1) (INR h2).
Proof.
  rewrite S_INR, Rplus_comm. f_equal. destruct (Nat.max_spec h1 h2) as [[lt ->]|[le ->]]; apply Nat.lt_le_incl in lt || idtac;
    [rewrite Rmax_right|rewrite Rmax_left]; try easy; now apply le_INR.
Qed.

(** A tree adds at most once for each item but one. *)
Theorem height_below_size M l r s g j K : summed_at M l r s g j K -> 0 <= g <= size l - 1 /\ l <> [].
Proof.
  induction 1 as [x r b s le arg ex|l1 l2 r s1 s2 s k g1 g2 j1 j2 K1 K2 _ [IH1 n1] _ [IH2 n2] part add
                 |l r r' s b f s' g j K _ IH le arg ex prod|l l' r s g j K _ [IH n] same].
  - split; [|easy]. change (size [x]) with 1. lra.
  - pose proof (size_at_least_one l1 n1). pose proof (size_at_least_one l2 n2).
    replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR).
    split; [|now destruct l1]. destruct (Rmax_Rle g1 g2 (Rmax g1 g2)) as [[below|below] _]; try lra; unfold Rmax in *; destruct (Rle_dec g1 g2); lra.
  - exact IH.
  - split; [|intros ->; now apply Permutation_sym, Permutation_nil in same].
    unfold size in *. now rewrite <- (Permutation_length same).
Qed.

Lemma no_rescaling_at M l r s g j K : summed_at M l r s g j K -> j = 0%nat -> K = 0%nat.
Proof. induction 1; intros none; try easy; [|auto]. lia. Qed.
