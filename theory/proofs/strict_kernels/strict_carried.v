(** * The strict kernels' sums S - 1 and T over items, as one tree of the model of arithmetic.

    [carried w d l r H J K]: value and rest of the compensated sum w, and those of d, are together what a tree of a height of
    2 + H/12 roundoffs and J rescalings on a path, K rescalings in all, may make of the exponentials of l about r, and of these
    times their deviations; the rests are small. A group of four has two additions, each later one is compensated.

    Main results
    - [item_added]       two numbers added to the sums
    - [maximum_added]    the reference itself joins the weights: the sum of w D stays as it is
    - [sums_added]       two pairs of sums added

    For at most 2^22 items and 2^15 operations on a path. Source: kernels/block/row_statistics.hpp, compensated_sum.hpp. *)

From Coq Require Import Reals List ZArith Permutation Lra Lia.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import tree_heights moments.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
From softcheck.strict_kernels Require Import strict_deviations strict_compensated.
Import ListNotations.
Local Open Scope R_scope.

(** Two additions, and compensated ones. *)
Definition carried_height (H : nat) : R := 2 + INR H / 12.

Lemma carried_height_grows H H' : (H <= H')%nat -> carried_height H <= carried_height H'.
Proof. intros le. apply le_INR in le. unfold carried_height. lra. Qed.

Lemma carried_height_next H : / 12 + carried_height H = carried_height (S H).
Proof. unfold carried_height. rewrite S_INR. field. Qed.

Lemma carried_height_is H : carried_height H = 2 + INR H / 12.
Proof. easy. Qed.

(** Heights are compared by the lemmas above alone: Coq would unfold them in every failing match. *)
Global Opaque carried_height.

(** The most that rounding and N operations leave of a sum of w D. *)
Definition most_moment (l : list R) (N : nat) : R := 256 * counted_items l * (1 + INR N).

Lemma most_moment_within l N :
  short l -> (Z.of_nat N <= 2 ^ 15)%Z -> 0 <= most_moment l N <= two_to 48 /\ most_moment l N * u32 <= counted_items l.
Proof.
  intros few_items few_steps. destruct (counted_number l few_items) as [_ range]. unfold most_moment.
  assert (N_range : 0 <= INR N <= 32768) by (split; [apply pos_INR|rewrite INR_IZR_INZ; now apply (IZR_le _ 32768)]).
  set (n := counted_items l) in *. change u32 with (/ 16777216). change (two_to 48) with 281474976710656.
  assert (0 <= n * (1 + INR N) <= n * 32769) by (split; [apply Rmult_le_pos|apply Rmult_le_compat_l]; lra). repeat split; lra.
Qed.

Lemma most_moment_grows l N N' : (N <= N')%nat -> most_moment l N <= most_moment l N'.
Proof.
  intros le. apply le_INR in le. unfold most_moment, counted_items. pose proof (pos_INR (length l)).
  apply Rmult_le_compat_l; lra.
Qed.

Section Carried.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).
  Notation partial := (partial A step).
  Notation plain_pair := (plain_pair A step).

  Record carries (l : list R) (r v e x t : R) (H J K : nat) : Prop := {
    value_range : 0 <= v <= counted_items l;
    rest_small : small_rest v e (H + J) K;
    moment_range : 0 <= x <= most_moment l (H + J);
    moment_rest_small : small_rest x t (H + J) K;
    rests_of_nothing : l = [] -> e = 0 /\ t = 0;
    tree_of_items : partial l r (v + e) (x + t) (carried_height H) J K
  }.

  Definition carried (w d : compensated) (l : list R) (r : R) (H J K : nat) : Prop :=
    exists v e x t, is_value (sum_value w) v /\ is_value (sum_rest w) e /\ is_value (sum_value d) x /\
      is_value (sum_rest d) t /\ carries l r v e x t H J K.

  Lemma carried_wider w d l r H J K H' J' K' :
    (H <= H')%nat -> (J <= J')%nat -> (K <= K')%nat -> carried w d l r H J K -> carried w d l r H' J' K'.
  Proof using.
    clear few small_step. intros hH hJ hK [v [e [x [t [hv [he [hx [ht [range small m_range m_small none tree]]]]]]]]].
    exists v, e, x, t. repeat (split; [easy|]). assert (more : (H + J <= H' + J')%nat) by lia.
    pose proof (most_moment_grows l _ _ more).
    constructor; [exact range|now apply small_rest_wider with (H + J)%nat K|lra|apply small_rest_wider with (H + J)%nat K; easy || lra|exact none|].
    apply (partial_wider A step) with (carried_height H) J K; [now apply carried_height_grows|exact hJ|exact hK|exact tree].
  Qed.

  Lemma carried_reordered w d l l' r H J K : Permutation l l' -> carried w d l r H J K -> carried w d l' r H J K.
  Proof using.
    clear few small_step. intros same [v [e [x [t [hv [he [hx [ht [range small m_range m_small none tree]]]]]]]]].
    assert (sized : counted_items l' = counted_items l) by (unfold counted_items; now rewrite (Permutation_length same)).
    exists v, e, x, t. split; [exact hv|]. split; [exact he|]. split; [exact hx|]. split; [exact ht|].
    constructor; [rewrite sized; exact range|exact small|unfold most_moment in *; rewrite sized; exact m_range|exact m_small| |].
    - intros ->. apply none. now apply Permutation_nil, Permutation_sym.
    - now apply (partial_reordered A step l).
  Qed.

  Lemma carried_nothing r H J K : carried no_sum no_sum [] r H J K.
  Proof using.
    clear few small_step. exists 0, 0, 0, 0. repeat (split; [easy|]). assert (none : small_rest 0 0 (H + J) K).
    { unfold small_rest. rewrite Rabs_R0, Rmult_0_r, Rplus_0_l. unfold rest_floor. pose proof (pos_INR K).
      pose proof (pos_INR (H + J)). pose proof half_quantum_positive. change u32 with (/ 16777216).
      apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]. }
    constructor; try easy; [cbn; lra|unfold most_moment; cbn; lra|]. left. repeat split; ring.
  Qed.

  (** The two sums, as [kept] has them. *)
  Lemma carried_kept w d l l2 r v e x t H J K N :
    short (l ++ l2) -> (Z.of_nat N <= 2 ^ 15)%Z -> (H + J <= N)%nat -> is_value (sum_value w) v -> is_value (sum_rest w) e ->
    is_value (sum_value d) x -> is_value (sum_rest d) t -> carries l r v e x t H J K ->
    kept w v e N K /\ kept d x t N K /\ (l = [] -> v = 0 /\ e = 0 /\ x = 0 /\ t = 0).
  Proof.
    intros few_items few_steps more hv he hx ht [range small m_range m_small none _].
    destruct (counted_number _ few_items) as [_ bound]. rewrite counted_app in bound. pose proof (pos_INR (length l2)) as n2.
    fold (counted_items l2) in n2.
    assert (few_l : short l) by (unfold short in *; rewrite app_length in few_items; lia).
    destruct (most_moment_within l (H + J) few_l ltac:(lia)) as [m_bound _].
    split; [|split].
    - constructor; try easy; [|now apply small_rest_wider with (H + J)%nat K]. split; [lra|].
      apply Rle_trans with (two_to 22); [cbn; lra|apply bpow_le; lia].
    - constructor; try easy; [lra|now apply small_rest_wider with (H + J)%nat K].
    - intros ->. destruct (none eq_refl) as [-> ->]. unfold most_moment in m_range. cbn in range, m_range. repeat split; lra.
  Qed.

  (** Sums of w D stay below their limit. *)
  Lemma moments_added l1 l2 N x1 x2 :
    short (l1 ++ l2) -> (Z.of_nat N <= 2 ^ 15)%Z -> number binary32 x1 -> number binary32 x2 ->
    0 <= x1 <= most_moment l1 N -> 0 <= x2 <= most_moment l2 N -> 0 <= fl32 (x1 + x2) <= most_moment (l1 ++ l2) (S N).
  Proof.
    intros few_items few_steps n1 n2 range1 range2. destruct (most_moment_within _ N few_items few_steps) as [_ room].
    pose proof (fl_sum_error x1 x2 n1 n2) as err. rewrite (Rabs_right (x1 + x2)) in err by lra. apply Rabs_le_inv in err.
    change (two_to (-24)) with u32 in err. pose proof u32_range as u0.
    split; [apply fl_nonneg; lra|]. pose proof (pos_INR (length (l1 ++ l2))) as n. fold (counted_items (l1 ++ l2)) in n.
    assert (both : most_moment (l1 ++ l2) N = most_moment l1 N + most_moment l2 N) by (unfold most_moment; rewrite counted_app; ring).
    assert (next : most_moment (l1 ++ l2) (S N) = most_moment (l1 ++ l2) N + 256 * counted_items (l1 ++ l2))
      by (unfold most_moment; rewrite S_INR; ring).
    assert (u32 * (x1 + x2) <= u32 * most_moment (l1 ++ l2) N) by (apply Rmult_le_compat_l; lra). lra.
  Qed.

  Theorem item_added w d a b l l2 r H H2 J K :
    limited (l ++ l2) H J K -> carried w d l r H J K -> plain_pair a b l2 r H2 -> (H2 <= 2)%nat ->
    carried (plus_item w a) (plus_item d b) (l ++ l2) r (S (max H H2)) J K.
  Proof using few small_step.
    intros [few_items [few_steps few_scalings]] [v [e [x [t [hv [he [hx [ht held]]]]]]]] [a0 [b0 [ha [hb [ra [rb pair]]]]]] two.
    destruct (carried_kept w d l l2 r v e x t H J K (H + J) few_items few_steps (le_n _) hv he hx ht held) as [kw [kd none]].
    destruct held as [range small m_range m_small _ tree].
    destruct (counted_number _ few_items) as [_ bound]. rewrite counted_app in bound. pose proof (pos_INR (length l)) as n.
    fold (counted_items l) in n.
    assert (b_low : b0 <= most_moment l2 (H + J)).
    { unfold most_moment. pose proof (pos_INR (H + J)). assert (0 <= counted_items l2 * INR (H + J)) by (apply Rmult_le_pos; lra). lra. }
    assert (room : 536870912 <= two_to 48) by (apply Rle_trans with (two_to 29); [cbn; lra|apply bpow_le; lia]).
    destruct (item_kept A step few small_step (H + J) K few_steps few_scalings w a v e a0 kw ha ltac:(lra))
      as [_ [e' [hv' [he' [_ [_ [_ [_ [sum [small' [first second]]]]]]]]]]].
    destruct (item_kept A step few small_step (H + J) K few_steps few_scalings d b x t b0 kd hb ltac:(lra))
      as [_ [t' [hx' [ht' [_ [_ [_ [_ [m_sum [m_small' [m_first m_second]]]]]]]]]]].
    exists (fl32 (v + a0)), e', (fl32 (x + b0)), t'. repeat (split; [assumption|]).
    assert (a_none : l2 = [] -> a0 = 0 /\ b0 = 0) by (intros ->; cbn in ra, rb; lra).
    pose proof (moments_added l l2 (H + J) x b0 few_items few_steps (value_number _ _ hx) (value_number _ _ hb) m_range ltac:(lra)) as m_range'.
    assert (more : (S (H + J) <= S (max H H2) + J)%nat) by lia. pose proof (most_moment_grows (l ++ l2) _ _ more).
    pose proof (sum_counted l l2 v a0 few_items range ra) as range'.
    constructor; try easy; try lra; try (now apply small_rest_wider with (S (H + J)) K).
    - intros nothing. apply app_eq_nil in nothing as [-> ->]. destruct (none eq_refl) as [-> [-> [-> ->]]].
      split; [now apply first|now apply m_first].
    - replace J with (max J 0) at 1 by lia. replace K with (K + 0)%nat at 1 by lia.
      rewrite <- carried_height_next. apply (partial_added A step few (/ 12) l l2 r (v + e) a0 _ (x + t) b0 _ _ J 0 K 0); [lra| | |easy|easy| |].
      + apply partial_wider with (carried_height H) J K; [apply carried_height_grows; lia|lia|lia|exact tree].
      + apply partial_wider with (INR H2) 0%nat 0%nat; [|lia|lia|exact pair]. apply le_INR in two. rewrite carried_height_is.
        pose proof (pos_INR (max H H2)). change (INR 2) with 2 in two. lra.
      + intros ->. destruct (none eq_refl) as [-> [-> [-> ->]]].
        destruct (first eq_refl eq_refl) as [-> ->], (m_first eq_refl eq_refl) as [-> ->]. split; ring.
      + intros nothing. destruct (a_none nothing) as [-> ->].
        destruct (second eq_refl) as [-> ->], (m_second eq_refl) as [-> ->]. now split.
  Qed.

  (** The reference itself: its weight is 1, its deviation 0. *)
  Lemma reference_streamed r : streamed_at M [r] r 1 0 0 0 0.
  Proof using few small_step.
    pose proof (strict_arithmetic_sound A step few small_step) as good.
    assert (arg : 0 <= argument_unit M /\ 0 <= argument_step M /\ 0 <= exp_floor M /\ 0 <= exp_cutoff M /\ 0 <= product_floor M)
      by (unfold sound in good; lra).
    apply streamed_at_item with 0; [lra| | |].
    - exists 0, 0. rewrite !Rabs_R0. repeat split; try apply arg. ring.
    - exists 0, 0. rewrite !Rabs_R0, !Ropp_0, !Rplus_0_r, exp_0, Rmult_0_r. pose proof (exp_unit_nonneg M good).
      repeat split; try easy; try apply arg; try lra. apply Rmult_le_pos; apply arg.
    - rewrite Rmult_0_r. apply computed_product_exact; [easy|apply arg].
  Qed.

  Theorem maximum_added w d l r v e x t H J K :
    limited (l ++ [r]) H J K -> is_value (sum_value w) v -> is_value (sum_rest w) e -> is_value (sum_value d) x ->
    is_value (sum_rest d) t -> carries l r v e x t H J K ->
    exists v' e', is_value (sum_value (plus_item w one)) v' /\ is_value (sum_rest (plus_item w one)) e' /\
      1 <= v' <= counted_items (l ++ [r]) /\ small_rest v' e' (S (H + J)) K /\
      partial (l ++ [r]) r (v' + e') (x + t) (carried_height (S H)) J K.
  Proof using few small_step.
    intros [few_items [few_steps few_scalings]] hv he hx ht held.
    destruct (carried_kept w d l [r] r v e x t H J K (H + J) few_items few_steps (le_n _) hv he hx ht held) as [kw [kd none]].
    destruct held as [range small m_range m_small _ tree].
    assert (one_range : 0 <= 1 <= two_to 48) by (split; [lra|apply (bpow_le radix2 0 48); lia]).
    destruct (item_kept A step few small_step (H + J) K few_steps few_scalings w one v e 1 kw one_value one_range)
      as [_ [e' [hv' [he' [_ [_ [_ [_ [sum [small' [first _]]]]]]]]]]].
    assert (single : counted_items [r] = 1) by easy.
    destruct (sum_counted l [r] v 1 few_items range ltac:(rewrite single; lra)) as [_ high].
    exists (fl32 (v + 1)), e'. split; [exact hv'|]. split; [exact he'|]. split; [|split; [exact small'|]].
    - split; [|exact high]. rewrite <- (fl_number binary32 1) at 1 by apply (value_number one), one_value.
      apply fl_monotone; [easy|lra].
    - replace J with (max J 0) at 1 by lia. replace K with (K + 0)%nat at 1 by lia. rewrite <- carried_height_next.
      apply (partial_added A step few (/ 12) l [r] r (v + e) 1 _ (x + t) 0 _ _ J 0 K 0); [lra|exact tree| |exact sum| | |easy].
      + right. exists 0, 0%nat, 0%nat. split; [rewrite carried_height_is; pose proof (pos_INR H); lra|].
        repeat (split; [lia|]). apply reference_streamed.
      + rewrite Rplus_0_r. apply (exactly_summed A step).
      + intros ->. destruct (none eq_refl) as [-> [-> [-> ->]]]. destruct (first eq_refl eq_refl) as [-> ->]. split; ring.
  Qed.

  Theorem sums_added w1 d1 w2 d2 l1 l2 r H1 H2 J1 J2 K1 K2 :
    limited (l1 ++ l2) (max H1 H2) (max J1 J2) (K1 + K2) ->
    carried w1 d1 l1 r H1 J1 K1 -> carried w2 d2 l2 r H2 J2 K2 ->
    carried (plus_sum w1 w2) (plus_sum d1 d2) (l1 ++ l2) r (S (max H1 H2)) (max J1 J2) (K1 + K2).
  Proof using few small_step.
    intros [few_items [few_steps few_scalings]] [v1 [e1 [x1 [t1 [hv1 [he1 [hx1 [ht1 held1]]]]]]]]
      [v2 [e2 [x2 [t2 [hv2 [he2 [hx2 [ht2 held2]]]]]]]]. set (N := (max H1 H2 + max J1 J2)%nat) in *.
    assert (few_swapped : short (l2 ++ l1)) by (unfold short in *; rewrite app_length in *; lia).
    destruct (carried_kept w1 d1 l1 l2 r v1 e1 x1 t1 H1 J1 K1 N few_items few_steps ltac:(unfold N; lia) hv1 he1 hx1 ht1 held1) as [kw1 [kd1 none1]].
    destruct (carried_kept w2 d2 l2 l1 r v2 e2 x2 t2 H2 J2 K2 N few_swapped few_steps ltac:(unfold N; lia) hv2 he2 hx2 ht2 held2) as [kw2 [kd2 none2]].
    destruct held1 as [range1 _ m_range1 _ _ tree1], held2 as [range2 _ m_range2 _ _ tree2].
    destruct (sums_kept A step few small_step N K1 K2 w1 w2 v1 e1 v2 e2 few_steps few_scalings kw1 kw2)
      as [e [hv [he [sum [small [first second]]]]]].
    destruct (sums_kept A step few small_step N K1 K2 d1 d2 x1 t1 x2 t2 few_steps few_scalings kd1 kd2)
      as [t [hx [ht [m_sum [m_small [m_first m_second]]]]]].
    exists (fl32 (v1 + v2)), e, (fl32 (x1 + x2)), t. repeat (split; [assumption|]).
    pose proof (most_moment_grows l1 (H1 + J1) N ltac:(unfold N; lia)). pose proof (most_moment_grows l2 (H2 + J2) N ltac:(unfold N; lia)).
    pose proof (moments_added l1 l2 N x1 x2 few_items few_steps (value_number _ _ hx1) (value_number _ _ hx2) ltac:(lra) ltac:(lra)) as m_range.
    pose proof (sum_counted l1 l2 v1 v2 few_items range1 range2) as range.
    change (S (max H1 H2) + max J1 J2)%nat with (S N) in *.
    constructor; try easy; change (S (max H1 H2) + max J1 J2)%nat with (S N); try easy.
    - intros nothing. apply app_eq_nil in nothing as [-> ->].
      destruct (none1 eq_refl) as [-> [-> [-> ->]]], (none2 eq_refl) as [-> [-> [-> ->]]].
      split; [now apply first|now apply m_first].
    - rewrite <- carried_height_next.
      apply (partial_added A step few (/ 12) l1 l2 r (v1 + e1) (v2 + e2) _ (x1 + t1) (x2 + t2)); [lra| | |easy|easy| |].
      + apply partial_wider with (carried_height H1) J1 K1; [apply carried_height_grows; lia|lia|lia|exact tree1].
      + apply partial_wider with (carried_height H2) J2 K2; [apply carried_height_grows; lia|lia|lia|exact tree2].
      + intros ->. destruct (none1 eq_refl) as [-> [-> [-> ->]]].
        destruct (first eq_refl eq_refl) as [-> ->], (m_first eq_refl eq_refl) as [-> ->]. now split.
      + intros ->. destruct (none2 eq_refl) as [-> [-> [-> ->]]].
        destruct (second eq_refl eq_refl) as [-> ->], (m_second eq_refl eq_refl) as [-> ->]. now split.
  Qed.
End Carried.
