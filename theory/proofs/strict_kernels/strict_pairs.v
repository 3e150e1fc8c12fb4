(** * w and w D of the strict kernels' items as numbers of one tree: what a group of four adds in halves.

    [plain_pair w d l r H]: w and d are numbers that a tree of at most H additions on a path makes of the weights of l about
    r, and of these times their deviations.

    Main results
    - [pair_of_item]   an item's weight and its product by the deviation
    - [pair_added]     the sums of two such pairs

    For at most 2^22 items. Source: kernels/block/row_statistics.hpp, add_items; numerics/moments.v. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import moments.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_exponential.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums strict_carried strict_deviations.
Import ListNotations.
Local Open Scope R_scope.

Section Pairs.
  Context (A : nat) (step : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Notation M := (strict_arithmetic A step).

  (** Numbers that are together what a tree makes of w and w D of some items. *)
  Definition paired (l : list R) (r x y : R) (H : nat) : Prop :=
    (l = [] /\ x = 0 /\ y = 0) \/ exists h, (h <= H)%nat /\ streamed M l r x y h 0 0.

  Definition plain_pair (w d : f32) (l : list R) (r : R) (H : nat) : Prop :=
    exists x y, is_value w x /\ is_value d y /\ 0 <= x <= counted_items l /\ 0 <= y <= 128 * counted_items l /\ paired l r x y H.

  Lemma counted_128 l : short l -> number binary32 (128 * counted_items l) /\ 128 * counted_items l <= 536870912.
  Proof using few.
    intros few_items. destruct (counted_number A few l few_items) as [_ [_ high]]. split; [|lra].
    replace (128 * counted_items l) with (IZR (Z.of_nat (length l)) * two_to 7).
    - apply number_of_integer; [|cbn; lia]. unfold short in few_items. cbn [prec binary32]. lia.
    - unfold counted_items. rewrite <- INR_IZR_INZ. change (two_to 7) with 128. ring.
  Qed.

  Theorem pair_added w1 w2 d1 d2 l1 l2 r H1 H2 :
    short (l1 ++ l2) -> plain_pair w1 d1 l1 r H1 -> plain_pair w2 d2 l2 r H2 ->
    plain_pair (add w1 w2) (add d1 d2) (l1 ++ l2) r (S (max H1 H2)).
  Proof using few small_step.
    intros few_items [x1 [y1 [hx1 [hy1 [rx1 [ry1 p1]]]]]] [x2 [y2 [hx2 [hy2 [rx2 [ry2 p2]]]]]].
    destruct (counted_number A few (l1 ++ l2) few_items) as [n_number [_ n_high]].
    destruct (counted_128 (l1 ++ l2) few_items) as [m_number m_high].
    assert (both : counted_items (l1 ++ l2) = counted_items l1 + counted_items l2) by (unfold counted_items; now rewrite app_length, plus_INR).
    rewrite both in *. assert (0 <= counted_items l1 /\ 0 <= counted_items l2) as [c1 c2] by (split; apply pos_INR).
    assert (wide : forall x, 0 <= x <= 536870912 -> Rabs x <= two_to 60).
    { intros x range. apply Rle_trans with (two_to 29); [rewrite Rabs_right; cbn; lra|apply bpow_le; lia]. }
    pose proof half_quantum_positive as h0.
    exists (fl32 (x1 + x2)), (fl32 (y1 + y2)). rewrite both.
    split; [apply near_add; try easy; apply wide; lra|]. split; [apply near_add; try easy; apply wide; lra|]. split; [|split].
    - split; [apply fl_nonneg; lra|]. rewrite <- (fl_number binary32 _ n_number). apply fl_monotone; [easy|lra].
    - split; [apply fl_nonneg; lra|]. rewrite <- (fl_number binary32 _ m_number). apply fl_monotone; [easy|lra].
    - destruct p1 as [[-> [-> ->]]|[h1 [b1 tree1]]].
      + rewrite !Rplus_0_l. cbn [app].
        rewrite (fl_number binary32 x2) by now apply (value_number w2). rewrite (fl_number binary32 y2) by now apply (value_number d2).
        destruct p2 as [none|[h2 [b2 tree2]]]; [now left|right]. exists h2. split; [lia|easy].
      + destruct p2 as [[-> [-> ->]]|[h2 [b2 tree2]]].
        * rewrite !Rplus_0_r, app_nil_r.
          rewrite (fl_number binary32 x1) by now apply (value_number w1). rewrite (fl_number binary32 y1) by now apply (value_number d1).
          right. exists h1. split; [lia|easy].
        * right. exists (S (max h1 h2)). split; [lia|].
          change (streamed M (l1 ++ l2) r (fl32 (x1 + x2)) (fl32 (y1 + y2)) (S (max h1 h2)) (max 0 0) (0 + 0)).
          apply streamed_addition with x1 x2 y1 y2; try easy; apply (sum_within A step few small_step).
          -- pose proof (fl_sum_error x1 x2 (value_number _ _ hx1) (value_number _ _ hx2)). lra.
          -- pose proof (fl_sum_error y1 y2 (value_number _ _ hy1) (value_number _ _ hy2)). lra.
  Qed.
  Theorem pair_of_item z x r D H :
    argued A step z D -> x <= r -> r - x = D -> plain_pair (exponential z) (deviation_of z) [x] r H.
  Proof using few small_step.
    intros arg le same. destruct (item_streamed A step few small_step z D arg) as [b [w [y [ha [he [hp [hw [hy [w_range y_range]]]]]]]]].
    exists w, y. split; [easy|]. split; [easy|]. split; [cbn; lra|]. split; [cbn; lra|]. right. exists 0%nat. split; [lia|].
    apply streamed_item with b; [easy|now rewrite same|easy|easy].
  Qed.
End Pairs.

(** 0 at a maximum of 0: its weight is 1, its deviation 0. *)
Example pair_of_the_maximum : plain_pair 2 0 (exponential zero) (deviation_of zero) [0] 0 0.
Proof.
  apply pair_of_item with 0; [lia|lra| |lra|ring]. left. exists 0. split; [apply zero_value|]. split; [lra|].
  exists 0, 0. cbn [argument_unit argument_step strict_arithmetic INR]. rewrite Rabs_R0, Ropp_0. pose proof u32_range.
  assert (0 <= log_unit u32) by (apply log_unit_nonneg; lra). split; [lra|]. split; [lra|]. ring.
Qed.
