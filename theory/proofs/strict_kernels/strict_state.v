(** * A thread's state of the strict kernels holds the statistics of its items.

    Main results
    - [sums_rescaled]   the two sums about a larger reference: the rise times the weights joins T
    - [maximum_raised]  a state about a larger maximum
    - [states_merged]   the state of two threads
    - [scaled_tree]   a tree over items is one over the items times e^t, where t counts as roundings of the argument
    - [held_sums]     1 and value and rest of a state's weights, with the error of half a rounding, are the sum S of a tree
                      of the model that is one roundoff higher, and no higher than its items less one; value and rest of the
                      deviations its T

    [holds s l H J]: s is the state of a thread whose items are l, in units of the exponent: its maximum is theirs, its sums
    S - 1 and T are those of the others by one tree of the model, of a height of 2 + H/12 roundoffs and J rescalings on a path.

    Source: kernels/block/row_statistics.hpp. *)

From Coq Require Import ZArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tree_heights moments reduction b1_sum b6_entropy.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row strict_operations strict_exponential
  strict_weights strict_sums strict_deviations strict_compensated strict_carried.
Local Open Scope R_scope.

Section State.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).
  Notation carried := (carried A step).
  Notation argued := (argued A step).

  Notation after_rise z w d term := (if less zero (value (exponential_parts z))
    then (times_parts w (exponential_parts z), times_parts (plus_item d term) (exponential_parts z)) else (no_sum, no_sum)).

  (** A factor of 0 leaves nothing: the state starts anew. *)
  Lemma sums_forgotten l r r' b v x H J K h j k :
    h <= carried_height H -> (j <= J)%nat -> (k <= K)%nat -> l <> [] -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b 0 ->
    streamed_at M l r v x h j k -> carried no_sum no_sum l r' H (S J) (S K).
  Proof using few small_step.
    intros hh hj hk some le arg exps tree. exists 0, 0, 0, 0. repeat (split; [easy|]).
    assert (nothing : small_rest 0 0 (H + S J) (S K)).
    { unfold small_rest. rewrite Rabs_R0, Rmult_0_r, Rplus_0_l. unfold rest_floor. pose proof (pos_INR (S K)).
      pose proof (pos_INR (H + S J)). pose proof half_quantum_positive. change u32 with (/ 16777216).
      apply Rmult_le_pos; [apply Rmult_le_pos; lra|lra]. }
    assert (exact : forall z, Rabs (z - z) <= u32 * Rabs z + 32 * half_quantum).
    { intros z. rewrite Rminus_diag_eq, Rabs_R0 by easy. pose proof half_quantum_positive. pose proof u32_range.
      assert (0 <= u32 * Rabs z) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra. }
    pose proof (pos_INR (length l)) as n. constructor; try easy.
    - unfold counted_items. lra.
    - unfold most_moment, counted_items. pose proof (pos_INR (H + S J)). split; [lra|]. repeat apply Rmult_le_pos; lra.
    - right. exists h, (S j), (S k). split; [easy|]. repeat (split; [lia|]). rewrite Rplus_0_r.
      assert (zero_product : forall z, computed_product M (z * 0) 0).
      { intros z. rewrite Rmult_0_r. apply (product_within A step few small_step), exact. }
      apply streamed_at_rescaled with r v x b 0 (b * v) (x + b * v); try easy;
        [apply (product_within A step few small_step), exact|apply (near_is_summed A step few small_step), exact].
  Qed.

  Lemma rise_within l r N x v x' :
    short (l ++ [r]) -> (Z.of_nat N <= 2 ^ 15)%Z -> 0 <= x <= most_moment l N -> 1 <= v <= counted_items (l ++ [r]) ->
    0 <= x' <= (x + 128 * v) * (1 + u32) -> 0 <= x' <= most_moment (l ++ [r]) (S N).
  Proof.
    intros few_items few_steps m_range v_range range. split; [lra|]. eapply Rle_trans; [apply range|].
    destruct (most_moment_within (l ++ [r]) N few_items few_steps) as [_ room]. pose proof u32_range as u0.
    assert (below : most_moment l N <= most_moment (l ++ [r]) N).
    { unfold most_moment. rewrite counted_app. pose proof (pos_INR N). pose proof (pos_INR (length [r])).
      unfold counted_items at 2. apply Rmult_le_compat_r; [lra|]. unfold counted_items. lra. }
    assert (next : most_moment (l ++ [r]) (S N) = most_moment (l ++ [r]) N + 256 * counted_items (l ++ [r]))
      by (unfold most_moment; rewrite S_INR; ring).
    assert (x * u32 <= most_moment (l ++ [r]) N * u32) by (apply Rmult_le_compat_r; lra).
    assert (v * u32 <= v * / 1000) by (apply Rmult_le_compat_l; lra). lra.
  Qed.

  (** What a raised maximum leaves of the weights, the old reference now among them, and of T. *)
  Theorem sums_rescaled w d z l r r' H J K :
    limited (l ++ [r]) (S H) (S J) (S K) -> r <= r' -> argued z (r' - r) -> carried w d l r H J K ->
    let all := plus_item w one in
    let sums := after_rise z all d (mul (neg z) (total all)) in carried (fst sums) (snd sums) (l ++ [r]) r' (S H) (S J) (S K).
  Proof using few small_step.
    intros [few_items [few_steps few_scalings]] le arg [v0 [e0 [x [t [hv0 [he0 [hx [ht held]]]]]]]] all sums.
    destruct (argued_factor A step few small_step z _ arg) as [b [f [ha [hf [h_value [f_range parts]]]]]].
    assert (few_below : (Z.of_nat (H + J) <= 2 ^ 15)%Z) by lia. assert (few_next : (Z.of_nat (S (H + J)) <= 2 ^ 15)%Z) by lia.
    assert (K_few : (Z.of_nat K <= 2 ^ 22)%Z) by lia.
    destruct (carried_kept A step few small_step w d l [r] r v0 e0 x t H J K (H + J) few_items few_below (le_n _) hv0 he0 hx ht held) as [_ [kd _]].
    destruct (maximum_added A step few small_step w d l r v0 e0 x t H J K ltac:(now split) hv0 he0 hx ht held)
      as [v [e [hv [he [v_range [small tree]]]]]]. fold all in hv, he.
    destruct held as [_ _ m_range _ _ _]. destruct (counted_number _ few_items) as [_ bound].
    assert (room : 4194304 <= two_to 48) by (apply Rle_trans with (two_to 22); [cbn; lra|apply bpow_le; lia]).
    assert (kw : kept all v e (S (H + J)) K) by (constructor; easy || lra).
    destruct tree as [[nothing _]|[h [j [k [hh [hj [hk tree]]]]]]]; [now apply app_eq_nil in nothing as [_ nothing]|].
    unfold sums. clear sums. destruct (less zero (value (exponential_parts z))) eqn:counts; cbn [fst snd].
    2: { assert (f = 0) as ->; [|apply (sums_forgotten (l ++ [r]) r r' b (v + e) (x + t) (S H) J K h j k); try easy; now destruct l].
         destruct (Req_dec f 0) as [yes|no]; [easy|].
         rewrite (proj2 (less_value _ _ _ _ zero_value h_value)) in counts; [easy|lra]. }
    apply (less_value _ _ _ _ zero_value h_value) in counts.
    destruct (parts counts) as [hz [b_range [g [h_rest [exps g_small]]]]]. set (factor := exponential_parts z) in *.
    destruct (term_kept A step few small_step (H + J) K (S (H + J)) K d x t all v e z b few_below K_few few_next K_few
                kd kw ltac:(lra) hz b_range) as [x' [t' [p [hx' [ht' [product [sum [small' x'_range]]]]]]]].
    pose proof (rise_within l r (H + J) x v x' few_items few_below m_range v_range x'_range) as grown.
    destruct (most_moment_within (l ++ [r]) (S (H + J)) few_items few_next) as [m_within _].
    destruct (product_kept A step few small_step (S (H + J)) K few_next K_few all factor v e f g kw h_value h_rest f_range g_small)
      as [e1 [hv1 [he1 [v1_range [s_product small1]]]]].
    assert (kd' : kept (plus_item d (mul (neg z) (total all))) x' t' (S (H + J)) K) by (constructor; easy || lra).
    destruct (product_kept A step few small_step (S (H + J)) K few_next K_few _ factor x' t' f g kd' h_value h_rest f_range g_small)
      as [t1 [hx1 [ht1 [x1_range [y_product m_small1]]]]].
    exists (fl32 (v * f)), e1, (fl32 (x' * f)), t1. repeat (split; [assumption|]).
    pose proof (most_moment_grows (l ++ [r]) _ _ (Nat.le_succ_diag_r (S (H + J)))).
    constructor; replace (S H + S J)%nat with (S (S (H + J))) by lia; try easy; try lra.
    - intros nothing. now apply app_eq_nil in nothing as [_ nothing].
    - right. exists h, (S j), (S k). split; [easy|]. repeat (split; [lia|]).
      now apply streamed_at_rescaled with r (v + e) (x + t) b (f + g) p (x' + t').
  Qed.

  (** ** The scale, and what is visible *)

  Context (scale : f32) (unit : R) (scale_value : is_value scale unit) (unit_positive : 0 < unit).
  (** The argument of an item at a maximum, whether or not it overflows. *)
  Hypothesis argument : forall x y a b,
    is_value x a -> is_value y b -> a <= b -> argued (mul (sub x y) scale) (b * unit - a * unit).

  Definition admissible (x : f32) : Prop := is_finite x = true \/ x = minus_infinity.
  Definition visible (x : f32) : list R := if is_finite x then [val x * unit] else [].

  Inductive holds (s : state) (l : list R) (H J : nat) : Prop :=
  | holds_nothing : l = [] -> maximum s = minus_infinity -> weights s = no_sum /\ deviations s = no_sum -> holds s l H J
  | holds_items m l' K :
      is_value (maximum s) m -> Permutation l (m * unit :: l') -> above_all (m * unit) l' -> (K <= length l')%nat ->
      carried (weights s) (deviations s) l' (m * unit) H J K -> holds s l H J.

  Lemma holds_reordered s l l' H J : Permutation l l' -> holds s l H J -> holds s l' H J.
  Proof.
    intros same [-> hm hw|m l0 K hm perm above hK sums].
    - apply Permutation_nil in same as ->. now apply holds_nothing.
    - apply holds_items with m l0 K; try easy. now apply Permutation_trans with l; [apply Permutation_sym|].
  Qed.

  Lemma holds_wider s l H J H' J' : (H <= H')%nat -> (J <= J')%nat -> holds s l H J -> holds s l H' J'.
  Proof.
    intros hH hJ [-> hm hw|m l0 K hm perm above hK sums]; [now apply holds_nothing|].
    apply holds_items with m l0 K; try easy. now apply (carried_wider A step) with H J K.
  Qed.

  Lemma finite_not_empty s m : is_value (maximum s) m -> empty s = false /\ defined s = true.
  Proof. intros [finite _]. unfold empty, defined. destruct (maximum s); try discriminate; split; reflexivity. Qed.

  Lemma ordered x y : x * unit <= y * unit -> x <= y.
  Proof using unit_positive. intros le. now apply Rmult_le_reg_r with unit. Qed.

  Theorem maximum_raised s l H J m' top :
    limited l (S H) (S J) (length l) -> is_value m' top -> above_all (top * unit) l -> holds s l H J ->
    exists K, (K <= length l)%nat /\
      carried (weights (raise_maximum s m' scale)) (deviations (raise_maximum s m' scale)) l (top * unit) (S H) (S J) K.
  Proof using few small_step unit_positive argument.
    intros lim hm' above [-> hm [hw hd]|m l' K hm perm above' hK sums].
    - exists 0%nat. split; [lia|]. unfold raise_maximum, empty. rewrite hm. cbn [weights deviations]. rewrite hw, hd.
      now apply carried_nothing.
    - pose proof (Permutation_length perm) as count. cbn in count.
      exists (S K). split; [lia|]. destruct (finite_not_empty s m hm) as [visible_one _].
      unfold raise_maximum. rewrite visible_one. cbv zeta.
      set (z := mul (sub (maximum s) m') scale).
      assert (le : m * unit <= top * unit).
      { apply above. apply Permutation_in with (m * unit :: l'); [now apply Permutation_sym|now left]. }
      assert (arg : argued z (top * unit - m * unit)) by (apply argument; [easy|easy|now apply ordered]).
      assert (same : Permutation (l' ++ [m * unit]) l).
      { apply Permutation_trans with (m * unit :: l'); [apply Permutation_app_comm with (l' := [m * unit])|now apply Permutation_sym]. }
      apply (carried_reordered A step) with (l' ++ [m * unit]); [exact same|].
      pose proof (sums_rescaled (weights s) (deviations s) z l' (m * unit) (top * unit) H J K) as result. cbv zeta in result.
      destruct (less zero (value (exponential_parts z))); cbn [fst snd weights deviations] in *;
        (apply result; try easy; apply limited_less with l (S H) (S J) (length l); try easy;
           rewrite ?app_length; cbn; lia).
  Qed.

  Theorem states_merged s1 s2 l1 l2 H J :
    limited (l1 ++ l2) (S (S H)) (S J) (length (l1 ++ l2)) -> holds s1 l1 H J -> holds s2 l2 H J ->
    holds (merged scale s1 s2) (l1 ++ l2) (S (S H)) (S J).
  Proof using few small_step unit_positive argument.
    intros lim held1 held2. pose proof held1 as case1. pose proof held2 as case2.
    unfold merged. destruct case1 as [-> hm1 hw1|m1 l1' K1 hm1 perm1 above1 hK1 sums1].
    - assert (d1 : defined s1 = true) by (unfold defined; now rewrite hm1).
      destruct case2 as [-> hm2 hw2|m2 l2' K2 hm2 perm2 above2 hK2 sums2].
      + assert (d2 : defined s2 = true) by (unfold defined; now rewrite hm2).
        assert (e2 : empty s2 = true) by (unfold empty; now rewrite hm2).
        rewrite d1, d2, e2. cbn [negb orb]. now apply holds_nothing.
      + destruct (finite_not_empty s2 m2 hm2) as [e2 d2].
        assert (e1 : empty s1 = true) by (unfold empty; now rewrite hm1).
        assert (lower : less (maximum s1) (maximum s2) = true).
        { rewrite hm1. destruct hm2 as [finite _]. destruct (maximum s2) as [| | |[]]; easy. }
        rewrite d1, d2, e2, lower. cbn [negb orb]. rewrite e1. cbn [app]. now apply holds_wider with H J; [lia|lia|].
    - destruct (finite_not_empty s1 m1 hm1) as [e1 d1].
      destruct case2 as [-> hm2 hw2|m2 l2' K2 hm2 perm2 above2 hK2 sums2].
      + assert (d2 : defined s2 = true) by (unfold defined; now rewrite hm2).
        assert (e2 : empty s2 = true) by (unfold empty; now rewrite hm2).
        rewrite d1, d2, e2. cbn [negb orb]. rewrite app_nil_r. now apply holds_wider with H J; [lia|lia|].
      + destruct (finite_not_empty s2 m2 hm2) as [e2 d2]. rewrite d1, d2, e2. cbn [negb orb].
        pose proof (Permutation_length perm1) as n1. pose proof (Permutation_length perm2) as n2. cbn in n1, n2.
        assert (general : forall high low mh lh Kh ll,
          holds low ll H J -> is_value (maximum high) mh -> above_all (mh * unit) lh -> above_all (mh * unit) ll ->
          (Kh <= length lh)%nat -> carried (weights high) (deviations high) lh (mh * unit) H J Kh -> empty low = false ->
          Permutation (l1 ++ l2) (mh * unit :: lh ++ ll) ->
          holds (if empty low then high
                 else {| maximum := maximum high;
                         weights := plus_sum (weights high) (weights (raise_maximum low (maximum high) scale));
                         deviations := plus_sum (deviations high) (deviations (raise_maximum low (maximum high) scale)) |})
            (l1 ++ l2) (S (S H)) (S J)).
        { intros high low mh lh Kh ll held hmh above_h above_l hKh sums_h not_empty perm. rewrite not_empty.
          pose proof (Permutation_length perm) as count. cbn in count. rewrite !app_length in count.
          destruct (maximum_raised low ll H J (maximum high) mh) as [Kl [hKl raised]]; try easy.
          { apply limited_less with (l1 ++ l2) (S (S H)) (S J) (length (l1 ++ l2)); try easy; rewrite ?app_length; lia. }
          apply holds_items with mh (lh ++ ll) (Kh + Kl)%nat; try easy.
          - now apply app_above_all.
          - rewrite app_length. lia.
          - cbn [weights deviations]. replace (S (S H)) with (S (max H (S H))) by lia. replace (S J) with (max J (S J)) by lia.
            apply (sums_added A step few small_step); try easy.
            apply limited_less with (l1 ++ l2) (S (S H)) (S J) (length (l1 ++ l2)); try easy; rewrite ?app_length in *; cbn; lia. }
        destruct (less (maximum s1) (maximum s2)) eqn:lower.
        * apply (less_value _ _ _ _ hm1 hm2) in lower.
          assert (le : m1 * unit <= m2 * unit) by (apply Rmult_le_compat_r; lra).
          apply (general s2 s1 m2 l2' K2 l1); try easy.
          { intros x inx. apply (Permutation_in x perm1) in inx as [<-|inx]; [easy|]. specialize (above1 x inx). lra. }
          apply Permutation_trans with (l1 ++ (m2 * unit :: l2')); [now apply Permutation_app_head|].
          apply Permutation_trans with ((m2 * unit :: l2') ++ l1); [apply Permutation_app_comm|easy].
        * assert (le : m2 * unit <= m1 * unit).
          { apply Rmult_le_compat_r; [lra|]. apply Rnot_lt_le. intros lt.
            rewrite (proj2 (less_value _ _ _ _ hm1 hm2)) in lower; [easy|lra]. }
          apply (general s1 s2 m1 l1' K1 l2); try easy.
          { intros x inx. apply (Permutation_in x perm2) in inx as [<-|inx]; [easy|]. specialize (above2 x inx). lra. }
          apply Permutation_trans with ((m1 * unit :: l1') ++ l2); [now apply Permutation_app_tail|easy].
  Qed.
End State.

(** ** What the strict kernels' log-sum-exp and entropy start from: 1 and the compensated sum, before they are rounded to
    one number.

    Source: kernels/block/entropy.hpp, in_double. *)

(** No path has more rescalings than the tree. *)
Lemma rescalings_of_path M l r s g j K : summed_at M l r s g j K -> (j <= K)%nat.
Proof. induction 1; lia. Qed.

Section Scaled.
  Context (A B : nat) (step t : R) (within : Rabs t <= INR B * log_unit u32).

  Lemma scaled_argument d b :
    computed_argument (strict_arithmetic A step) d b -> computed_argument (strict_arithmetic (A + B) step) (exp t * d) b.
  Proof using within.
    intros [ta [c [bta [bc ->]]]]. cbn [argument_unit argument_step strict_arithmetic] in bta, bc.
    exists (ta - t), c. split; [|split; [exact bc|]].
    - cbn [argument_unit strict_arithmetic]. rewrite plus_INR. apply abs_between in bta.
      pose proof (abs_between _ _ within). apply Rabs_le. lra.
    - unfold Rminus. rewrite exp_plus, exp_Ropp. field. apply Rgt_not_eq, exp_pos.
  Qed.

  Theorem scaled_tree l r s y h j K :
    streamed_at (strict_arithmetic A step) l r s y h j K ->
    streamed_at (strict_arithmetic (A + B) step) (map (Rmult (exp t)) l) (exp t * r) s y h j K.
  Proof using within.
    pose proof (exp_pos t) as pos.
    induction 1 as [x r b s y le arg ex prod|l1 l2 r s1 s2 s y1 y2 y k h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 part sums moments
                   |l r r' s y b f p q s' y' h j K _ IH le arg ex prod term sum product|l l' r s y h j K _ IH same].
    - cbn [map]. apply streamed_at_item with b; [apply Rmult_le_compat_l; lra| |exact ex|exact prod].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - rewrite map_app. now apply streamed_at_addition with s1 s2 y1 y2.
    - apply streamed_at_rescaled with (exp t * r) s y b f p q; try easy; [apply Rmult_le_compat_l; lra|].
      rewrite <- Rmult_minus_distr_l. now apply scaled_argument.
    - apply streamed_at_reordered with (map (Rmult (exp t)) l); [exact IH|now apply Permutation_map].
  Qed.
End Scaled.

Section Held.
  Context (A B : nat) (step t : R) (few : (A <= 12)%nat) (few_all : (A + B <= 12)%nat) (small_step : 0 <= step <= / 2)
    (within : Rabs t <= INR B * log_unit u32) (unit : R).
  Notation M := (strict_arithmetic (A + B) step).

  Lemma floor_small N K : (Z.of_nat N <= 2 ^ 15)%Z -> (Z.of_nat K <= 2 ^ 22)%Z -> 0 <= rest_floor N K <= two_to (-120).
  Proof.
    intros few_steps few_scalings. destruct (limits N K few_steps few_scalings) as [_ [_ [floor0 [tiny _]]]].
    split; [exact floor0|]. assert (back : two_to 24 * u32 = 1) by (rewrite <- bpow_plus; reflexivity).
    apply (Rmult_le_compat_l (two_to 24)) in tiny; [|apply bpow_ge_0].
    rewrite <- Rmult_assoc, back, Rmult_1_l in tiny. eapply Rle_trans; [exact tiny|].
    replace (two_to 24 * (21 / 10 * half_quantum)) with (21 / 10 * (two_to 24 * half_quantum)) by ring.
    unfold half_quantum. rewrite <- bpow_plus. change (24 + -150)%Z with (-126)%Z.
    replace (two_to (-120)) with (two_to 6 * two_to (-126)) by (rewrite <- bpow_plus; reflexivity).
    apply Rmult_le_compat_r; [apply bpow_ge_0|]. cbn. lra.
  Qed.

  Theorem held_sums st logits H J :
    holds A step unit st logits H J -> logits <> [] -> (Z.of_nat (length logits) <= 2 ^ 22)%Z ->
    (Z.of_nat (H + J) <= 2 ^ 15)%Z ->
    exists m v e x d,
      is_value (maximum st) m /\ is_value (sum_value (weights st)) v /\ is_value (sum_rest (weights st)) e /\
      is_value (sum_value (deviations st)) x /\ is_value (sum_rest (deviations st)) d /\
      0 <= v <= 4194304 /\ Rabs e <= v / 40 + two_to (-120) /\ 0 <= x <= two_to 48 /\ Rabs d <= x / 40 + two_to (-120) /\
      In (m * unit) logits /\
      forall s, Rabs (s - (1 + (v + e))) <= / 2 * u32 * (1 + v) -> (v + e = 0 -> s = 1) ->
        exists j, (j <= Nat.min J (length logits - 1))%nat /\ forall h, 1 + carried_height H <= INR h \/ size logits - 1 <= INR h ->
          moments_of_row M 0 (exp t * (m * unit)) (map (Rmult (exp t)) logits) s (x + d) h j.
  Proof using few few_all small_step within.
    intros held some few_items few_steps.
    destruct held as [nothing _ _|m l' K hm perm above hK [v [e [x [d [hv [he [hx [hd [range small m_range m_small none tree]]]]]]]]]]; [easy|].
    pose proof (Permutation_length perm) as count. cbn in count.
    destruct (limits (H + J) K few_steps ltac:(lia)) as [slope_range _].
    destruct (floor_small (H + J) K few_steps ltac:(lia)) as [floor0 floor].
    assert (few_l : short l') by (unfold short; lia). destruct (counted_number l' few_l) as [_ l_range].
    destruct (most_moment_within l' (H + J) few_l few_steps) as [m_within _].
    assert (rest_at : forall a b, 0 <= a -> small_rest a b (H + J) K -> Rabs b <= a / 40 + two_to (-120)).
    { intros a b pos. unfold small_rest. assert (rest_slope (H + J) * a <= / 40 * a) by (apply Rmult_le_compat_r; lra). lra. }
    pose proof (rest_at v e ltac:(lra) small) as e_small.
    exists m, v, e, x, d. repeat (split; [assumption|]). split; [lra|]. split; [exact e_small|]. split; [lra|].
    split; [apply rest_at; [lra|exact m_small]|].
    assert (inm : In (m * unit) logits) by (apply (Permutation_in _ (Permutation_sym perm)); now left).
    split; [easy|]. intros s close exactly. pose proof (exp_pos t) as pos.
    set (top := exp t * (m * unit)). set (scaled := map (Rmult (exp t)) logits).
    assert (is_max : is_maximum top scaled).
    { split; [now apply in_map|]. intros a ina. apply in_map_iff in ina as [a0 [<- ina]].
      apply Rmult_le_compat_l; [lra|]. apply (Permutation_in _ perm) in ina as [<-|ina]; [lra|now apply above]. }
    assert (perm' : Permutation (top :: map (Rmult (exp t)) l') scaled).
    { apply Permutation_sym. exact (Permutation_map (Rmult (exp t)) perm). }
    pose proof (reference_streamed (A + B) step few_all small_step top) as itself.
    assert (sized : size scaled = INR (S (length l'))) by (unfold size, scaled; now rewrite map_length, count).
    destruct tree as [[-> [zero_sum zero_moment]]|[h [j [k [hh [hj [hk tree]]]]]]].
    - exists 0%nat. split; [lia|]. intros h high. rewrite (exactly zero_sum), zero_moment. constructor; [easy|].
      exists top, scaled, 0, 0%nat. split; [easy|]. split; [apply converted_same|].
      split; [now apply streamed_at_reordered with [top]|]. split; [apply pos_INR|]. split; [|easy]. rewrite sized. cbn. lra.
    - apply (scaled_tree A B step t within) in tree. exists (max 0 j).
      pose proof (rescalings_of_path _ _ _ _ _ _ _ (sum_of_streamed _ _ _ _ _ _ _ _ tree)) as path. split; [lia|]. intros h' high.
      pose proof half_quantum_positive as h0. pose proof u32_range as u0.
      assert (whole : streamed_at M scaled top s (x + d) (1 + Rmax 0 h) (max 0 j) (0 + k)).
      { apply streamed_at_reordered with ([top] ++ map (Rmult (exp t)) l'); [|exact perm'].
        apply streamed_at_addition with 1 (v + e) 0 (x + d); [exact itself|exact tree|lra| |].
        * apply whole_sum, (near_is_summed (A + B) step few_all small_step). eapply Rle_trans; [exact close|].
          pose proof (Rle_abs (1 + (v + e))) as size_low. apply Rabs_le_inv in e_small.
          assert (two_to (-120) <= / 1000) by (apply Rle_trans with (two_to (-10)); [apply bpow_le; lia|cbn; lra]).
          assert (u32 * (/ 2 * (1 + v)) <= u32 * Rabs (1 + (v + e))) by (apply Rmult_le_compat_l; lra). lra.
        * rewrite Rplus_0_l. apply whole_sum, (near_is_summed (A + B) step few_all small_step). rewrite Rminus_diag_eq, Rabs_R0 by easy.
          assert (0 <= u32 * Rabs (x + d)) by (apply Rmult_le_pos; [lra|apply Rabs_pos]). lra. }
      pose proof (sum_of_streamed _ _ _ _ _ _ _ _ whole) as alone. destruct (height_below_size _ _ _ _ _ _ _ alone) as [[_ below] _].
      constructor; [easy|]. exists top, scaled, (1 + Rmax 0 h), (0 + k)%nat. split; [easy|]. split; [apply converted_same|].
      split; [exact whole|]. split; [|split].
      + destruct high as [high|high].
        * assert (Rmax 0 h <= carried_height H); [|lra]. apply Rmax_lub; [rewrite carried_height_is; pose proof (pos_INR H); lra|exact hh].
        * assert (size scaled = size logits) as same by (rewrite sized; unfold size; now rewrite count). lra.
      + rewrite sized. apply le_INR. lia.
      + intros no. now apply (no_rescaling_at _ _ _ _ _ _ _ alone).
  Qed.
End Held.
