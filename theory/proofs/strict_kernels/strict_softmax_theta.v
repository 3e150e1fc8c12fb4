(** * The strict kernels' softmax at a temperature: B2 and Lemma 2.1's bracket of x / theta, of the double theta itself.

    strict_softmax.v has the logits times the scale as the kernel has it. The scale is 1 / theta, rounded to double and to
    binary32: two more roundings of every argument. A row of finite or masked items, at most 2^22 of them, some of them finite,
    and a temperature from 2^-126 to 2^119.

    Main results, with the height that sum=lanes:512 grants and the rescalings of strict_softmax.v
    - [scaled_sum]                     a sum over a row is one over the row times e^t, where t counts as roundings of arguments
    - [scaled_moments]                 so are both sums of an entropy
    - [scaled_element]                 so is a coefficient as computed
    - [strict_softmax_theta_computes]  the results are coefficients of x / theta that the model of arithmetic computes
    - [strict_softmax_theta_b2]        each errs by at most B2
    - [strict_softmax_theta_bracket]   each lies in Lemma 2.1's bracket, up to its rounding

    Source: kernels/block/softmax.hpp; numerics/b2_element.v, bracket.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tree_heights reduction b1_sum b6_entropy element_threshold b2_element bracket.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
From softcheck.strict_kernels Require Import strict_state strict_row strict_argument strict_softmax.
From softcheck.strict_kernels Require Import double_operations strict_theta strict_logsumexp strict_entropy.
Local Open Scope R_scope.

Section Scaled.
  Context (A B : nat) (step t : R) (within : Rabs t <= INR B * log_unit u32).
  Notation M := (strict_arithmetic A step).
  Notation N := (strict_arithmetic (A + B) step).
  Notation times := (map (Rmult (exp t))).

  Let argument d b : computed_argument M d b -> computed_argument N (exp t * d) b := scaled_argument A B step t within d b.

  Lemma scaled_summed l r s h j K : summed_at M l r s h j K -> summed_at N (times l) (exp t * r) s h j K.
  Proof using argument.
    pose proof (exp_pos t) as pos.
    induction 1 as [x r b s le arg ex|l1 l2 r s1 s2 s k h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 part added
                   |l r r' s b f s' h j K _ IH le arg ex prod|l l' r s h j K _ IH same].
    - cbn [map]. apply summed_at_item with b; [apply Rmult_le_compat_l; lra| |exact ex].
      rewrite <- Rmult_minus_distr_l. now apply argument.
    - rewrite map_app. now apply summed_at_addition with s1 s2.
    - apply summed_at_rescaled with (exp t * r) s b f; [exact IH|apply Rmult_le_compat_l; lra| |exact ex|exact prod].
      rewrite <- Rmult_minus_distr_l. now apply argument.
    - apply summed_at_reordered with (times l); [exact IH|now apply Permutation_map].
  Qed.

  Lemma scaled_maximum_of m l : is_maximum m l -> is_maximum (exp t * m) (times l).
  Proof.
    pose proof (exp_pos t) as pos. intros [inm above]. split; [now apply in_map|].
    intros x inx. apply in_map_iff in inx as [x0 [<- inx]]. apply Rmult_le_compat_l; [lra|now apply above].
  Qed.

  Lemma scaled_conversion m m' l l' : converted 0 m l m' l' -> converted 0 (exp t * m) (times l) (exp t * m') (times l').
  Proof.
    intros conv. pose proof (exp_pos t) as pos. unfold converted in *. induction conv as [|x x' l l' close _ IH]; [constructor|].
    cbn [map]. constructor; [|exact IH].
    replace (exp t * m' - exp t * x' - (exp t * m - exp t * x)) with (exp t * (m' - x' - (m - x))) by ring.
    rewrite Rabs_mult, <- (Rmult_0_r (Rabs (exp t))). apply Rmult_le_compat_l; [apply Rabs_pos|exact close].
  Qed.

  Theorem scaled_sum m logits s h j : sum_of_row M 0 m logits s h j -> sum_of_row N 0 (exp t * m) (times logits) s h j.
  Proof using argument.
    intros [max [m' [l' [g [K [max' [conv [tree [high [few none]]]]]]]]]]. constructor; [now apply scaled_maximum_of|].
    exists (exp t * m'), (times l'), g, K. split; [now apply scaled_maximum_of|].
    split; [now apply scaled_conversion|]. split; [now apply scaled_summed|]. split; [exact high|]. split; [|easy].
    unfold size in *. now rewrite map_length.
  Qed.

  Theorem scaled_moments m logits s y h j :
    moments_of_row M 0 m logits s y h j -> moments_of_row N 0 (exp t * m) (times logits) s y h j.
  Proof using within.
    intros [max [m' [l' [g [K [max' [conv [tree [high [few none]]]]]]]]]]. constructor; [now apply scaled_maximum_of|].
    exists (exp t * m'), (times l'), g, K. split; [now apply scaled_maximum_of|]. split; [now apply scaled_conversion|].
    split; [now apply (scaled_tree A B step t within)|]. split; [exact high|]. split; [|easy]. unfold size in *. now rewrite map_length.
  Qed.

  Theorem scaled_element out m j s x p :
    computed_element M out 0 m j s x p -> computed_element N out 0 (exp t * m) j s (exp t * x) p.
  Proof using argument.
    pose proof (exp_pos t) as pos. intros [D [v [q [close [num [rat rest]]]]]]. exists (exp t * D), v, q.
    split; [|split; [|split; [|exact rest]]].
    - replace (exp t * D - (exp t * m - exp t * x)) with (exp t * (D - (m - x))) by ring.
      rewrite Rabs_mult, <- (Rmult_0_r (Rabs (exp t))). apply Rmult_le_compat_l; [apply Rabs_pos|exact close].
    - destruct num as [b v hD arg ex|D0 D1 b0 v0 b1 f v late h0 h1 both arg0 ex0 arg1 ex1 product].
      + apply numerator_direct with b; [apply Rmult_le_pos; lra|now apply argument|exact ex].
      + apply numerator_late with (exp t * D0) (exp t * D1) b0 v0 b1 f; try easy;
          [apply Rmult_le_pos; lra|apply Rmult_le_pos; lra|rewrite <- both; ring|now apply argument|now apply argument].
    - destruct rat as [q product|i q inverse product]; [now apply ratio_division|now apply ratio_reciprocal with i].
  Qed.
End Scaled.

Section Theta.
  Context (theta : f64) (T : R) (row : list f32) (theta_value : is_double theta T)
    (theta_range : two_to (-126) <= T <= two_to 119) (items : Forall admissible row)
    (few_items : (Z.of_nat (length row) <= 2 ^ 22)%Z) (some : exists x, In x row /\ is_finite x = true).
  Notation M := logsumexp_model.
  Notation logits := (row_of (/ T) row).

  Theorem strict_softmax_theta_computes :
    exists m s h j,
      sum_of_row M 0 m logits s h j /\ lost_sum M 0 m logits h j < 1 /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= S (most_rescalings (length row) (length logits)))%nat /\
      exists result, strict_softmax (scale_of theta) row = map result row /\
        forall x, In x row -> exists p, is_value (result x) p /\
          (is_finite x = true -> computed_element M strict_output 0 m j s (val x * / T) p) /\
          (x = minus_infinity -> p = 0).
  Proof using theta_value theta_range items few_items some.
    destruct (scale_computed theta T theta_value theta_range) as [unit [t [scale_value [large [within same]]]]].
    destruct (strict_softmax_computes (scale_of theta) unit row scale_value large items few_items some)
      as [m [s [h [j [sum [_ [hh [hj [result [is_result each]]]]]]]]]].
    replace (length (row_of unit row)) with (length logits) in hh, hj by (rewrite <- same, <- scaled_logits; apply map_length).
    apply (scaled_sum 2 2 step_32 t within) in sum. rewrite scaled_logits, same in sum.
    pose proof (rounds_few row few_items) as rounds_range. pose proof (visible_length (/ T) row) as visible_few.
    exists (exp t * m), s, h, j. split; [exact sum|].
    split; [apply (lost_less_than_sum 4 (le_n 4)); [apply (row_maximum _ _ _ _ _ _ _ sum)|lia|unfold granted_height in hh; lia|unfold most_rescalings in hj; lia]|].
    split; [exact hh|]. split; [exact hj|]. exists result. split; [exact is_result|].
    intros x inx. destruct (each x inx) as [p [hp [element hidden]]]. exists p. split; [exact hp|]. split; [|exact hidden].
    intros finite. specialize (element finite). apply (scaled_element 2 2 step_32 t within) in element.
    replace (exp t * (val x * unit)) with (val x * / T) in element by (rewrite <- same; ring). exact element.
  Qed.

  Theorem strict_softmax_theta_b2 :
    exists m h j, is_maximum m logits /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= S (most_rescalings (length row) (length logits)))%nat /\
      exists result, strict_softmax (scale_of theta) row = map result row /\
        forall x quantum, In x row -> is_finite x = true -> 0 < quantum <= 1 ->
          is_finite (result x) = true /\
          let C := element_log M strict_output 0 m logits h j in
          let value := coefficient logits (val x * / T) in
          Rabs (val (result x) - value)
          <= (threshold_constant C + threshold_slope quantum C (slope M) * (m - val x * / T)) * value
             + (element_floor M strict_output 0 m logits h j + threshold_floor quantum).
  Proof using theta_value theta_range items few_items some.
    destruct strict_softmax_theta_computes as [m [s [h [j [sum [lost_some [hh [hj [result [same each]]]]]]]]]].
    exists m, h, j. split; [apply (row_maximum _ _ _ _ _ _ _ sum)|]. split; [easy|]. split; [easy|].
    exists result. split; [easy|]. intros x quantum inx finite hq.
    destruct (each x inx) as [p [[fp vp] [computed _]]]. split; [easy|]. cbv zeta. rewrite vp.
    apply (b2_element M strict_output logsumexp_model_sound strict_output_sound 0 m logits s h j sum lost_some quantum _ p hq);
      [now apply visible_in|now apply computed].
  Qed.

  Theorem strict_softmax_theta_bracket delta :
    spread_at_most delta logits ->
    exists m h j, is_maximum m logits /\
      (h <= granted_height (length row) (length logits))%nat /\ (j <= S (most_rescalings (length row) (length logits)))%nat /\
      exists result, strict_softmax (scale_of theta) row = map result row /\
        forall x, In x row -> is_finite x = true ->
          let C := element_log M strict_output 0 m logits h j in let f := element_floor M strict_output 0 m logits h j in
          exp (- (C + slope M * delta)) * (exp (- delta) / size logits) - f <= val (result x)
          <= exp (C + slope M * delta) * (exp delta / size logits) + f.
  Proof using theta_value theta_range items few_items some.
    intros near. destruct strict_softmax_theta_computes as [m [s [h [j [sum [lost_some [hh [hj [result [same each]]]]]]]]]].
    exists m, h, j. split; [apply (row_maximum _ _ _ _ _ _ _ sum)|]. split; [easy|]. split; [easy|].
    exists result. split; [easy|]. intros x inx finite.
    destruct (each x inx) as [p [[fp vp] [computed _]]]. cbv zeta. rewrite vp. specialize (computed finite).
    pose proof (visible_in (/ T) row x inx finite) as inl. split.
    - now apply (bracket_lower M strict_output logsumexp_model_sound strict_output_sound 0 m logits s h j delta sum lost_some near (val x * / T)).
    - now apply (bracket_upper M strict_output logsumexp_model_sound strict_output_sound 0 m logits s h j delta sum lost_some near (val x * / T)).
  Qed.
End Theta.
