(** * The tree kernels' softmax keeps its contract, sum=tree: every result is as near to softmax as B2 says.

    Of the executable function of tree_row.v, whose bits a test compares with the kernel's, for a row of finite or masked items, at most
    2^22 of them, some of them finite, and a scale from 2^-119 on. Nothing is rescaled.

    Main results
    - [tree_softmax_computes]    the results are coefficients that the model of arithmetic computes; masked items get 0
    - [tree_softmax_b2]          each errs by at most B2 of sum=tree, stored in any format
    - [tree_softmax_theta_b2]    so it does at a temperature from 2^-126 to 2^119
    - [tree_softmax_bracket]     each lies in Lemma 2.1's bracket, up to its rounding
    - [tree_of_nothing], [tree_of_undefined]   a masked row's results are NaN, and so are those of a row with NaN or +inf

    Source: kernels/block/tree_order.hpp, tree_rows.hpp; numerics/b2_element.v. *)

From Coq Require Import ZArith NArith.
From Flocq Require Import Core BinarySingleNaN Relative.
From softcheck Require Import standard_interval softmax.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row reduction b1_sum element_threshold b2_element bracket masked_row.
From softcheck.certified Require Import rounded_operations.
From softcheck.contract Require Import summation.
From softcheck.strict_kernels Require Import machine_numbers strict_operations strict_exponential strict_weights strict_argument
  tree_row tree_order tree_weights tree_sums double_operations scaled_rows.
Import ListNotations.
Local Open Scope R_scope.

Section Softmax.
  Context (scale : f32) (unit : R) (row : list f32) (scale_value : is_value scale unit) (large : two_to (-119) <= unit)
    (items : Forall admissible row) (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z)
    (some : exists x, In x row /\ is_finite x = true) (vector : nat) (pairs : (1 <= vector <= 3)%nat).
  Notation M := (strict_arithmetic 2 step_32).
  Notation logits := (logits_of unit row).

  Theorem tree_softmax_computes :
    exists m s h,
      sum_of_row M 0 m logits s h 0 /\ lost_sum M 0 m logits h 0 < 1 /\
      (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
      exists result, tree_softmax vector scale row = map result row /\
        forall x, In x row -> exists p, is_value (result x) p /\
          (is_finite x = true -> forall out y, computed_output out p y -> computed_element M out 0 m 0 s (val x * unit) y) /\
          (x = minus_infinity -> p = 0).
  Proof using scale_value large items few_items some pairs.
    destruct (tree_sums_compute scale unit row scale_value large items few_items some vector pairs)
      as [m [s [_ [h [hm [hs [_ [s_range [sum [_ [lost low]]]]]]]]]]]. exists (m * unit), s, h.
    repeat (split; [assumption|]). pose proof u32_range as u0. pose proof half_quantum_range as h0.
    assert (p64 : 0 < two_to 64) by apply bpow_gt_0. assert (p_64 : 0 < two_to (-64)) by apply bpow_gt_0.
    assert (back : two_to 64 * two_to (-64) = 1) by (rewrite <- bpow_plus; reflexivity). change (two_to 27) with 134217728 in s_range.
    assert (inverse : / 134217728 <= / s <= 20).
    { split; [apply Rinv_le_contravar; lra|]. rewrite <- (Rinv_inv 20). apply Rinv_le_contravar; lra. }
    assert (same : 1 / (s * two_to 64) = / s * two_to (-64)).
    { unfold Rdiv. now rewrite Rmult_1_l, Rinv_mult. }
    assert (hf : is_value (quotient one (tree_sum vector scale (tree_maximum row) row)) (fl32 (/ s * two_to (-64)))).
    { rewrite <- same. apply quotient_value; [apply one_value|exact hs|apply Rgt_not_eq, Rmult_lt_0_compat; lra|].
      rewrite same, Rabs_right by (apply Rle_ge, Rmult_le_pos; lra).
      apply Rle_trans with (20 * 1); [apply Rmult_le_compat; try lra; apply (bpow_le radix2 (-64) 0); lia|].
      rewrite Rmult_1_r. apply Rle_trans with (two_to 5); [cbn; lra|apply bpow_le; lia]. }
    set (factor := quotient one _) in *. set (f := fl32 (/ s * two_to (-64))) in *.
    assert (f_err : Rabs (f - / s * two_to (-64)) <= u32 * Rabs (/ s * two_to (-64))).
    { destruct (relative_error_N_FLT_ex radix2 (-149) 24 eq_refl (fun n => negb (Z.even n)) (/ s * two_to (-64))) as [e [small eq]].
      - rewrite Rabs_right by (apply Rle_ge, Rmult_le_pos; lra). apply Rle_trans with (/ 134217728 * two_to (-64)).
        + change (/ 134217728) with (two_to (-27)). rewrite <- bpow_plus. apply bpow_le. lia.
        + apply Rmult_le_compat_r; lra.
      - change (round radix2 _ _ _) with f in eq. rewrite eq. replace (/ s * two_to (-64) * (1 + e) - / s * two_to (-64)) with
          (e * (/ s * two_to (-64))) by ring. rewrite Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
        eapply Rle_trans; [exact small|]. right. cbn. lra. }
    rewrite (Rabs_right (/ s * _)) in f_err by (apply Rle_ge, Rmult_le_pos; lra).
    set (i := f * two_to 64). assert (whole : i * two_to (-64) = f) by (unfold i; rewrite Rmult_assoc, back; ring).
    assert (i_err : Rabs (i - / s) <= u32 * / s).
    { replace (i - / s) with ((f - / s * two_to (-64)) * two_to 64)
        by (unfold i; rewrite Rmult_minus_distr_r, Rmult_assoc, (Rmult_comm (two_to (-64))), back; ring).
      rewrite Rabs_mult, (Rabs_right (two_to 64)) by lra. apply (Rmult_le_compat_r (two_to 64)) in f_err; [|lra].
      rewrite !Rmult_assoc, (Rmult_comm (two_to (-64))), back in f_err. lra. }
    assert (i_range : 0 <= i <= 40) by (apply Rabs_le_inv in i_err; nra).
    exists (fun x => mul (tree_weight (tree_argument scale (tree_maximum row) x)) factor). split.
    { unfold tree_softmax. destruct hm as [fm _]. rewrite (proj1 (less_infinite _ fm)). reflexivity. }
    intros x inx. destruct (weight_of_item scale unit row scale_value large items x m (or_introl inx) hm (row_maximum _ _ _ _ _ _ _ sum)) as
      [v [a [rv [_ [hv [_ kind]]]]]].
    assert (both : v * two_to 64 * f = v * i) by (unfold i; ring). assert (0 <= v * i <= 80) by nra.
    assert (hp : is_value (mul (tree_weight (tree_argument scale (tree_maximum row) x)) factor) (fl32 (v * i))).
    { rewrite <- both. apply mul_value; [exact hv|exact hf|]. rewrite both, Rabs_right by lra.
      apply Rle_trans with (two_to 7); [cbn; lra|apply bpow_le; lia]. }
    exists (fl32 (v * i)). split; [exact hp|]. split.
    - intros finite out y stored. unfold logit_of in kind. rewrite finite in kind. destruct kind as [le [b [arg [exps _]]]].
      exists (m * unit - val x * unit), v, (fl32 (v * i)). split; [rewrite Rminus_diag_eq, Rabs_R0 by easy; lra|].
      split; [apply numerator_direct with b; [lra|easy|easy]|]. split; [|exact stored]. apply ratio_reciprocal with i.
      + apply (product_within 2 step_32 ltac:(lia) step_32_range). unfold Rdiv. rewrite Rmult_1_l, (Rabs_right (/ s)) by lra. lra.
      + apply (product_within 2 step_32 ltac:(lia) step_32_range). pose proof (fl_error (v * i)). lra.
    - intros hidden. unfold logit_of in kind. rewrite hidden in kind. cbn in kind. rewrite kind, Rmult_0_l. apply fl_0.
  Qed.

  Theorem tree_softmax_b2 out :
    sound_output out ->
    exists m h, is_maximum m logits /\ (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
      exists result, tree_softmax vector scale row = map result row /\
        forall x quantum y, In x row -> is_finite x = true -> 0 < quantum <= 1 -> computed_output out (val (result x)) y ->
          is_finite (result x) = true /\
          let C := element_log M out 0 m logits h 0 in
          let value := coefficient logits (val x * unit) in
          Rabs (y - value)
          <= (threshold_constant C + threshold_slope quantum C (slope M) * (m - val x * unit)) * value
             + (element_floor M out 0 m logits h 0 + threshold_floor quantum).
  Proof using scale_value large items few_items some pairs.
    intros good. destruct tree_softmax_computes as [m [s [h [sum [lost [hh [result [same each]]]]]]]].
    exists m, h. split; [apply (row_maximum _ _ _ _ _ _ _ sum)|]. split; [easy|]. exists result. split; [easy|].
    intros x quantum y inx finite hq stored. destruct (each x inx) as [p [[fp vp] [computed _]]]. split; [easy|]. cbv zeta.
    rewrite vp in stored.
    apply (b2_element M out (small_model_sound 2 ltac:(lia)) good 0 m logits s h 0 sum lost quantum _ y hq);
      [now apply visible_in|now apply computed].
  Qed.
End Softmax.

(** ** x / theta, of the double theta itself: the rounded scale is two more roundings of an argument *)

Lemma times_logits t unit row : map (Rmult (exp t)) (logits_of unit row) = logits_of (exp t * unit) row.
Proof.
  unfold logits_of. induction row as [|x rest IH]; [easy|]. cbn [map visible_items flat_map]. rewrite map_app.
  unfold visible_items in IH. rewrite IH. f_equal. unfold logit_of. destruct (is_finite x); [|easy]. cbn [map]. f_equal. ring.
Qed.

Theorem tree_softmax_theta_computes theta T row vector :
  is_double theta T -> two_to (-126) <= T <= two_to 119 -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (exists x, In x row /\ is_finite x = true) -> (1 <= vector <= 3)%nat ->
  let M := strict_arithmetic 4 step_32 in
  let logits := logits_of (/ T) row in
  exists m s h, sum_of_row M 0 m logits s h 0 /\ lost_sum M 0 m logits h 0 < 1 /\
    (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
    exists result, tree_softmax vector (scale_of theta) row = map result row /\
      forall x, In x row -> is_finite x = true -> is_finite (result x) = true /\
        forall out y, computed_output out (val (result x)) y -> computed_element M out 0 m 0 s (val x * / T) y.
Proof.
  intros theta_value theta_range items few_items some pairs. cbv zeta.
  destruct (scale_computed theta T theta_value theta_range) as [unit [t [scale_value [large [within same]]]]].
  destruct (tree_softmax_computes (scale_of theta) unit row scale_value large items few_items some vector pairs)
    as [m [s [h [sum [_ [hh [result [is_result each]]]]]]]].
  apply (scaled_sum 2 2 step_32 t within) in sum. rewrite times_logits, same in sum.
  pose proof (row_maximum _ _ _ _ _ _ _ sum) as max. exists (exp t * m), s, h. split; [exact sum|].
  pose proof (visible_length (/ T) row). pose proof (few_additions row h few_items hh).
  split; [now apply (lost_less_than_sum 4 (le_n 4)); [exact max|lia|lia|]|]. split; [exact hh|].
  exists result. split; [exact is_result|]. intros x inx finite. destruct (each x inx) as [p [[fp vp] [computed _]]]. split; [easy|].
  intros out y stored. rewrite vp in stored.
  pose proof (scaled_element 2 2 step_32 t within _ _ _ _ _ _ (computed finite out y stored)) as element.
  now replace (exp t * (val x * unit)) with (val x * / T) in element by (rewrite <- same; ring).
Qed.

Theorem tree_softmax_theta_b2 theta T row vector out :
  is_double theta T -> two_to (-126) <= T <= two_to 119 -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (exists x, In x row /\ is_finite x = true) -> (1 <= vector <= 3)%nat -> sound_output out ->
  let M := strict_arithmetic 4 step_32 in
  let logits := logits_of (/ T) row in
  exists m h, is_maximum m logits /\ (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
    exists result, tree_softmax vector (scale_of theta) row = map result row /\
      forall x quantum y, In x row -> is_finite x = true -> 0 < quantum <= 1 -> computed_output out (val (result x)) y ->
        is_finite (result x) = true /\
        let C := element_log M out 0 m logits h 0 in
        let value := coefficient logits (val x * / T) in
        Rabs (y - value)
        <= (threshold_constant C + threshold_slope quantum C (slope M) * (m - val x * / T)) * value
           + (element_floor M out 0 m logits h 0 + threshold_floor quantum).
Proof.
  intros theta_value theta_range items few_items some pairs good. cbv zeta.
  destruct (tree_softmax_theta_computes theta T row vector theta_value theta_range items few_items some pairs)
    as [m [s [h [sum [lost [hh [result [is_result each]]]]]]]].
  exists m, h. split; [exact (row_maximum _ _ _ _ _ _ _ sum)|]. split; [exact hh|]. exists result. split; [exact is_result|].
  intros x quantum y inx finite hq stored. destruct (each x inx finite) as [computes element]. split; [exact computes|].
  exact (b2_element _ out (small_model_sound 4 ltac:(lia)) good 0 _ _ s h 0 sum lost quantum _ y hq (visible_in _ _ _ inx finite)
           (element out y stored)).
Qed.

Theorem tree_softmax_bracket theta T row vector out delta :
  is_double theta T -> two_to (-126) <= T <= two_to 119 -> Forall admissible row -> (Z.of_nat (length row) <= 2 ^ 22)%Z ->
  (exists x, In x row /\ is_finite x = true) -> (1 <= vector <= 3)%nat -> sound_output out -> spread_at_most delta (logits_of (/ T) row) ->
  let M := strict_arithmetic 4 step_32 in
  let logits := logits_of (/ T) row in
  exists m h, is_maximum m logits /\ (N.of_nat h <= summation_height tree_of_pairs (N.of_nat (length row)))%N /\
    exists result, tree_softmax vector (scale_of theta) row = map result row /\
      forall x y, In x row -> is_finite x = true -> computed_output out (val (result x)) y ->
        is_finite (result x) = true /\
        let C := element_log M out 0 m logits h 0 in let f := element_floor M out 0 m logits h 0 in
        exp (- (C + slope M * delta)) * (exp (- delta) / size logits) - f <= y <= exp (C + slope M * delta) * (exp delta / size logits) + f.
Proof.
  intros theta_value theta_range items few_items some pairs good near. cbv zeta.
  destruct (tree_softmax_theta_computes theta T row vector theta_value theta_range items few_items some pairs)
    as [m [s [h [sum [lost [hh [result [is_result each]]]]]]]].
  exists m, h. split; [exact (row_maximum _ _ _ _ _ _ _ sum)|]. split; [exact hh|]. exists result. split; [exact is_result|].
  intros x y inx finite stored. destruct (each x inx finite) as [computes element]. specialize (element out y stored).
  pose proof (visible_in (/ T) row x inx finite) as inl. split; [exact computes|]. split.
  - now apply (bracket_lower _ out (small_model_sound 4 ltac:(lia)) good 0 m _ s h 0 delta sum lost near (val x * / T)).
  - now apply (bracket_upper _ out (small_model_sound 4 ltac:(lia)) good 0 m _ s h 0 delta sum lost near (val x * / T)).
Qed.

(** ** Rows without a softmax, and a row of 0, -1 and a masked item: the premises hold, and the words are the kernel's *)

Theorem tree_of_nothing vector scale row : (forall x, In x row -> x = minus_infinity) -> tree_softmax vector scale row = map (fun _ => B754_nan) row.
Proof.
  intros masked. assert (fold_left tree_larger row minus_infinity = minus_infinity) as hidden.
  { induction row as [|x l IH]; [easy|]. cbn [fold_left]. rewrite (masked x (or_introl eq_refl)). apply IH. intros y iny. apply masked. now right. }
  unfold tree_softmax, tree_maximum. now rewrite hidden.
Qed.

Theorem tree_of_undefined vector scale row :
  (exists x, In x row /\ less x plus_infinity = false) -> tree_softmax vector scale row = map (fun _ => B754_nan) row.
Proof.
  intros some. assert (bad : less (fold_left tree_larger row minus_infinity) plus_infinity = false).
  { assert (keeps : forall l so_far, less so_far plus_infinity = false -> less (fold_left tree_larger l so_far) plus_infinity = false).
    { induction l as [|x l IH]; intros so_far bad; [exact bad|]. cbn [fold_left]. apply IH. unfold tree_larger.
      destruct (is_nan so_far) eqn:nan; [exact bad|]. cbn [orb]. destruct (less x so_far) eqn:below; [exact bad|].
      destruct so_far as [| [] | |[]]; try discriminate. destruct x as [|[]| |[]]; easy. }
    revert some. generalize minus_infinity. induction row as [|x l IH]; intros so_far [y [iny undef]]; [easy|].
    cbn [fold_left]. destruct iny as [<-|iny]; [|apply IH; now exists y]. apply keeps. unfold tree_larger.
    destruct (is_nan so_far) eqn:nan; [now destruct so_far|]. cbn [orb]. destruct (less x so_far) eqn:below; [|exact undef].
    destruct x as [|[]| |[]]; try discriminate. now destruct so_far as [|[]| |[]]. }
  unfold tree_softmax, tree_maximum. rewrite bad. reflexivity.
Qed.

Definition tree_row : list f32 := map f32_of_word [0x00000000; 0xbf800000; 0xff800000]%Z.

Example tree_row_is_admissible :
  is_value one 1 /\ two_to (-119) <= 1 /\ is_double (dyadic_64 1 0) 1 /\ two_to (-126) <= 1 <= two_to 119 /\
  Forall admissible tree_row /\ (Z.of_nat (length tree_row) <= 2 ^ 22)%Z /\ (exists x, In x tree_row /\ is_finite x = true) /\
  (1 <= 2 <= 3)%nat /\ sound_output {| output_unit := 0; output_floor := 0 |} /\
  map word_of_f32 (tree_softmax 2 one tree_row) = [0x3f3b26a8; 0x3e89b2b1; 0]%Z /\
  map word_of_f32 (tree_softmax 2 (scale_of (dyadic_64 1 0)) tree_row) = [0x3f3b26a8; 0x3e89b2b1; 0]%Z /\
  (forall x, In x [minus_infinity] -> x = minus_infinity) /\ less B754_nan plus_infinity = false /\
  spread_at_most 1 (logits_of (/ 1) tree_row).
Proof.
  split; [apply one_value|]. split; [apply (bpow_le radix2 (-119) 0); lia|].
  split; [apply integer_double; lia|]. split; [split; [apply (bpow_le radix2 (-126) 0)|apply (bpow_le radix2 0 119)]; lia|].
  split; [|split; [cbn; lia|split]].
  - apply Forall_forall. intros x [<-|[<-|[<-|[]]]]; [now left|now left|now right].
  - exists (f32_of_word 0). split; [now left|reflexivity].
  - split; [lia|]. split; [split; cbn; lra|]. split; [vm_compute; reflexivity|]. split; [vm_compute; reflexivity|].
    split; [now intros x [<-|[]]|]. split; [reflexivity|].
    intros x y inx iny. apply in_visible in inx as [a [ina [fa ->]]]. apply in_visible in iny as [b [inb [fb ->]]]. rewrite Rinv_1, !Rmult_1_r.
    destruct ina as [<-|[<-|[<-|[]]]], inb as [<-|[<-|[<-|[]]]]; try discriminate; cbn; unfold F2R; cbn; lra.
Qed.
