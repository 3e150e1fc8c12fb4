(** * w and w D of the strict kernels' items as numbers of one tree: what a group of four adds in halves.

    [partial l r s y H J K]: s and y are what a tree of a height of H roundoffs and J rescalings on a path, K in all, makes of the
    weights of l about r, and of these times their deviations; 0 where l is empty.
    [plain_pair w d l r H]: so are the numbers w and d, without rescalings.

    Main results
    - [pair_of_item]   an item's weight and its product by the deviation
    - [pair_added]     the sums of two such pairs

    For at most 2^22 items. Source: kernels/block/row_statistics.hpp, add_items; numerics/moments.v. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import tree_heights moments.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_exponential.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums strict_counted strict_deviations.
Import ListNotations.
Local Open Scope R_scope.

Section Pairs.
  Context (A : nat) (step : R).
  Hypothesis few : (A <= 12)%nat.
  Hypothesis small_step : 0 <= step <= / 2.
  Notation M := (strict_arithmetic A step).

  (** ** What two numbers may be of some items *)

  Definition partial (l : list R) (r s y H : R) (J K : nat) : Prop :=
    (l = [] /\ s = 0 /\ y = 0) \/ exists h j k, h <= H /\ (j <= J)%nat /\ (k <= K)%nat /\ streamed_at M l r s y h j k.

  Lemma partial_wider l r s y H J K H' J' K' :
    H <= H' -> (J <= J')%nat -> (K <= K')%nat -> partial l r s y H J K -> partial l r s y H' J' K'.
  Proof using.
    clear few small_step. intros hH hJ hK [nothing|[h [j [k [a [b [c tree]]]]]]]; [now left|]. right. exists h, j, k.
    split; [lra|]. split; [lia|]. split; [lia|exact tree].
  Qed.

  Lemma partial_reordered l l' r s y H J K : Permutation l l' -> partial l r s y H J K -> partial l' r s y H J K.
  Proof using.
    clear few small_step. intros same [[-> none]|[h [j [k [a [b [c tree]]]]]]].
    - apply Permutation_nil in same. now left.
    - right. exists h, j, k. repeat (split; [easy|]). now apply streamed_at_reordered with l.
  Qed.

  Lemma partial_added part l1 l2 r s1 s2 s y1 y2 y H J1 J2 K1 K2 :
    0 <= part <= 1 -> partial l1 r s1 y1 H J1 K1 -> partial l2 r s2 y2 H J2 K2 ->
    sum_within M part (s1 + s2) s -> sum_within M part (y1 + y2) y ->
    (l1 = [] -> s = s2 /\ y = y2) -> (l2 = [] -> s = s1 /\ y = y1) ->
    partial (l1 ++ l2) r s y (part + H) (max J1 J2) (K1 + K2).
  Proof using few.
    clear small_step. intros range p1 p2 sums moments first second. destruct p1 as [[-> _]|[h1 [j1 [k1 [a1 [b1 [c1 tree1]]]]]]].
    - destruct (first eq_refl) as [-> ->]. cbn [app]. eapply partial_wider; [| | |apply p2]; lra || lia.
    - destruct p2 as [[-> _]|[h2 [j2 [k2 [a2 [b2 [c2 tree2]]]]]]].
      + destruct (second eq_refl) as [-> ->]. rewrite app_nil_r. right. exists h1, j1, k1.
        split; [lra|]. split; [lia|]. split; [lia|exact tree1].
      + right. exists (part + Rmax h1 h2), (max j1 j2), (k1 + k2)%nat.
        split; [apply Rplus_le_compat_l; now apply Rmax_lub|]. split; [lia|]. split; [lia|].
        now apply streamed_at_addition with s1 s2 y1 y2.
  Qed.

  (** ** Plain numbers *)

  Definition plain_pair (w d : f32) (l : list R) (r : R) (H : nat) : Prop :=
    exists x y, is_value w x /\ is_value d y /\ 0 <= x <= counted_items l /\ 0 <= y <= 128 * counted_items l /\
      partial l r x y (INR H) 0 0.

  Lemma plain_nothing w d r H : is_value w 0 -> is_value d 0 -> plain_pair w d [] r H.
  Proof using.
    clear few small_step. intros hw hd. exists 0, 0. split; [easy|]. split; [easy|]. cbn. repeat split; try lra. now left.
  Qed.

  Lemma counted_128 l : short l -> number binary32 (128 * counted_items l) /\ 128 * counted_items l <= 536870912.
  Proof.
    intros few_items. destruct (counted_number l few_items) as [_ [_ high]]. split; [|lra].
    replace (128 * counted_items l) with (IZR (Z.of_nat (length l)) * two_to 7).
    - apply number_of_integer; [|cbn; lia]. unfold short in few_items. cbn [prec binary32]. lia.
    - unfold counted_items. rewrite <- INR_IZR_INZ. change (two_to 7) with 128. ring.
  Qed.

  Theorem pair_added w1 w2 d1 d2 l1 l2 r H1 H2 :
    short (l1 ++ l2) -> plain_pair w1 d1 l1 r H1 -> plain_pair w2 d2 l2 r H2 ->
    plain_pair (add w1 w2) (add d1 d2) (l1 ++ l2) r (S (max H1 H2)).
  Proof using few small_step.
    intros few_items [x1 [y1 [hx1 [hy1 [rx1 [ry1 p1]]]]]] [x2 [y2 [hx2 [hy2 [rx2 [ry2 p2]]]]]].
    destruct (counted_number (l1 ++ l2) few_items) as [n_number [_ n_high]].
    destruct (counted_128 (l1 ++ l2) few_items) as [m_number m_high].
    rewrite counted_app in *. assert (0 <= counted_items l1 /\ 0 <= counted_items l2) as [c1 c2] by (split; apply pos_INR).
    assert (wide : forall x, 0 <= x <= 536870912 -> Rabs x <= two_to 60).
    { intros x range. apply Rle_trans with (two_to 29); [rewrite Rabs_right; cbn; lra|apply bpow_le; lia]. }
    pose proof half_quantum_positive as h0. pose proof (value_number _ _ hx1) as nx1. pose proof (value_number _ _ hx2) as nx2.
    pose proof (value_number _ _ hy1) as ny1. pose proof (value_number _ _ hy2) as ny2.
    exists (fl32 (x1 + x2)), (fl32 (y1 + y2)). rewrite counted_app.
    split; [apply near_add; try easy; apply wide; lra|]. split; [apply near_add; try easy; apply wide; lra|]. split; [|split].
    - split; [apply fl_nonneg; lra|]. rewrite <- (fl_number binary32 _ n_number). apply fl_monotone; [easy|lra].
    - split; [apply fl_nonneg; lra|]. rewrite <- (fl_number binary32 _ m_number). apply fl_monotone; [easy|lra].
    - rewrite height_of_both. apply (partial_added 1 l1 l2 r x1 x2 _ y1 y2 _ _ 0 0 0 0); [lra| | | | | |].
      + apply partial_wider with (INR H1) 0%nat 0%nat; [apply Rmax_l|easy|easy|exact p1].
      + apply partial_wider with (INR H2) 0%nat 0%nat; [apply Rmax_r|easy|easy|exact p2].
      + apply whole_sum, (near_is_summed A step few small_step). pose proof (fl_sum_error x1 x2 nx1 nx2). lra.
      + apply whole_sum, (near_is_summed A step few small_step). pose proof (fl_sum_error y1 y2 ny1 ny2). lra.
      + intros ->. assert (x1 = 0) as -> by (cbn in rx1; lra). assert (y1 = 0) as -> by (cbn in ry1; lra).
        rewrite !Rplus_0_l. split; now apply fl_number.
      + intros ->. assert (x2 = 0) as -> by (cbn in rx2; lra). assert (y2 = 0) as -> by (cbn in ry2; lra).
        rewrite !Rplus_0_r. split; now apply fl_number.
  Qed.

  Theorem pair_of_item z x r D H :
    argued A step z D -> x <= r -> r - x = D -> plain_pair (exponential z) (deviation_of z) [x] r H.
  Proof using few small_step.
    intros arg le same. destruct (item_streamed A step few small_step z D arg) as [b [w [y [ha [he [hp [hw [hy [w_range y_range]]]]]]]]].
    exists w, y. split; [easy|]. split; [easy|]. split; [cbn; lra|]. split; [cbn; lra|]. right. exists 0, 0%nat, 0%nat.
    split; [apply pos_INR|]. repeat (split; [lia|]). apply streamed_at_item with b; [easy|now rewrite same|easy|easy].
  Qed.
End Pairs.

(** 0 at a maximum of 0: its weight is 1, its deviation 0. *)
Example pair_of_the_maximum : plain_pair 2 0 (exponential zero) (deviation_of zero) [0] 0 0.
Proof.
  apply pair_of_item with 0; [lia|lra| |lra|ring]. left. exists 0. split; [apply zero_value|]. split; [lra|].
  exists 0, 0. cbn [argument_unit argument_step strict_arithmetic INR]. rewrite Rabs_R0, Ropp_0. pose proof u32_range.
  assert (0 <= log_unit u32) by (apply log_unit_nonneg; lra). split; [lra|]. split; [lra|]. ring.
Qed.
