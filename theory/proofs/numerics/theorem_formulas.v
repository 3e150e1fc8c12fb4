(** * The right-hand sides of the rounding theorems as formulas: each has the value that its theorem speaks of, and the
    text that the C++ bounds are compared with.

    Main results
    - [sum_log_is]          sigma of B1
    - [element_log_is], [element_floor_is]   the coefficient's log error and what underflows in it, B2
    - [threshold_constant_is], [threshold_slope_is], [threshold_floor_is]   B2 as a threshold linear in D
    - [chord_is]            the threshold linear in D of any log error C + rate D
    - [row_sum_is]          B4
    - [logsumexp_is]        B5 behind the output's rounding
    - [log_softmax_uncentred_is]   B5 of x - L at deviation D
    - [score_is]            B9, one score
    - [log_softmax_is]      B5 of x - max - ln S at deviation D
    - [entropy_is]          B6 behind the output's rounding

    Source: b1_sum ... b6_entropy; TheoremFormulas.* and StatedBounds.* compare them with numerics/rounding/rounding.hpp. *)

From Coq Require Import ZArith String.
From softcheck Require Import softmax adaptive_temperature quartic.
From softcheck.numerics Require Import row score_error constants formula tilted_row reduction b1_sum b2_element
  element_threshold b3_total_variation b5_logsumexp moments b6_entropy.
Local Open Scope string_scope.

(** What the bounds need to know, by the names that the C++ has: of the arithmetic, of the reduction, of the row and of
    the output. Five quantities have a value in the theorems and a wider one in some contracts: an exponential's log error and loss as it is added
    (weights=), the sum's own rounding (total=, here 0), and the roundings and losses of a quotient. *)
Inductive quantity :=
| roundoff | exp_error | log_error | argument_unit | argument_step | sum_floor | product_floor | exp_floor
| height | rescalings
| visible | conversion | mean_deviation | log_sum | maximum_magnitude | logsumexp_magnitude | deviation
| output_unit | output_roundoff | output_floor | quantum | scaling
| mean_square_deviation | entropy_magnitude | exp_cutoff | reciprocal_error
| dimension | readings | scale_magnitude | dot_magnitude
| item_unit | item_floor | total_unit | divisions | lost_quotients
| chord_log | chord_rate | quantum_log | twenty_fourth.

Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | exp_error => "exp_error" | log_error => "log_error" | argument_unit => "argument_unit"
  | argument_step => "argument_step" | sum_floor => "sum_floor" | product_floor => "product_floor"
  | exp_floor => "exp_floor" | height => "height" | rescalings => "rescalings" | visible => "visible"
  | conversion => "conversion" | mean_deviation => "mean_deviation" | log_sum => "log_sum"
  | maximum_magnitude => "maximum_magnitude" | logsumexp_magnitude => "logsumexp_magnitude" | deviation => "deviation"
  | output_unit => "output_unit" | output_roundoff => "output_roundoff" | output_floor => "output_floor"
  | quantum => "quantum" | scaling => "scaling"
  | mean_square_deviation => "mean_square_deviation" | entropy_magnitude => "entropy_magnitude"
  | exp_cutoff => "exp_cutoff" | reciprocal_error => "reciprocal_error"
  | dimension => "dimension" | readings => "readings" | scale_magnitude => "scale_magnitude"
  | dot_magnitude => "dot_magnitude"
  | item_unit => "item_unit" | item_floor => "item_floor" | total_unit => "total_unit" | divisions => "divisions"
  | lost_quotients => "lost_quotients" | chord_log => "chord_log" | chord_rate => "chord_rate"
  | quantum_log => "quantum_log" | twenty_fourth => "twenty_fourth"
  end.

(** ** The formulas *)

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.
  Let two : formula quantity := Number 2.

  Definition unit_f := Named "unit" (MinusLog1m (Of roundoff)).
  Definition exp_unit_f := Named "exp_unit" (MinusLog1m (Of exp_error)).
  Definition slope_f := Named "slope" (Expm1 (Of argument_unit)).

  Definition second_f := Named "second" (Squared (Log (Of visible + Exp one) * OverOneMinus slope_f)).
  Definition third_f := Named "third" (Cubed (Log (Of visible + Exp two) * OverOneMinus slope_f)).
  Definition shift_f := Named "shift" (slope_f * Of mean_deviation + Halved (Squared slope_f) * second_f).
  Definition first_excess_f :=
    Named "first_excess"
      (slope_f * Of mean_square_deviation + Halved (Squared slope_f) * Exp shift_f * third_f).
  Definition argument_floor_f :=
    Named "argument_floor" ((Of rescalings + one) * Of argument_step + (one + slope_f) * Of conversion).
  Definition height_log_f := Named "height_log" (Of height * unit_f).
  Definition rescale_unit_f := Named "rescale_unit" (Of rescalings * (exp_unit_f + unit_f)).
  Definition direct_log_f :=
    Named "direct_log" (height_log_f + Of item_unit + rescale_unit_f + argument_floor_f).
  Definition sigma_0_f := Named "sigma_0" (direct_log_f + shift_f).
  Definition lost_f :=
    Named "lost" (Of item_floor + Of sum_floor + WhenRescaled (two * Of exp_floor + two * Of product_floor)).
  Definition sum_loss_f := Named "sum_loss" (Of visible * lost_f).
  Definition sum_log_f :=
    Named "sum_log" (sigma_0_f + MinusLog1m (sum_loss_f * Exp (two * sigma_0_f)) + Of total_unit).

  Definition numerator_log_f :=
    Named "numerator_log" (Of item_unit + argument_floor_f + WhenRescaled (exp_unit_f + unit_f)).
  Definition numerator_loss_f :=
    Named "numerator_loss" (Of item_floor + WhenRescaled (Of exp_floor + Of product_floor)).
  Definition ratio_log_f := Named "ratio_log" (Of divisions * unit_f + Of output_unit).
  Definition element_log_f := Named "element_log" (numerator_log_f + sum_log_f + ratio_log_f).
  Definition element_floor_f :=
    Named "element_floor"
      ((numerator_loss_f + Of lost_quotients * Of product_floor) * Exp element_log_f + Of output_floor).

  Definition last_deviation_f :=
    Named "last_deviation" ((element_log_f + Log (Number 2048 / Of quantum)) / (one - slope_f)).
  Definition threshold_constant_f := Named "threshold_constant" (Exp element_log_f - one).
  Definition threshold_slope_f :=
    Named "threshold_slope"
      (slope_f * Exp (element_log_f + slope_f * last_deviation_f / two + Squared (slope_f * last_deviation_f) / Number 24)).
  Definition threshold_floor_f := Named "threshold_floor" (Of quantum / Number 2048).

  (** The same chord of any log error C + rate D: [chord_log] and [chord_rate]. [quantum_log] is ln (2^11 / quantum). *)
  Definition chord_end_f := Named "chord_end" ((Of chord_log + Of quantum_log) * OverOneMinus (Of chord_rate)).
  Definition chord_step_f := Named "chord_step" (Of chord_rate * chord_end_f).
  Definition chord_constant_f := Named "chord_constant" (Expm1 (Of chord_log)).
  Definition chord_slope_f :=
    Named "chord_slope"
      (Of chord_rate * Exp (Of chord_log + Halved chord_step_f + Squared chord_step_f * Of twenty_fourth)).

  Definition row_sum_rounding_f :=
    Named "row_sum_rounding" (Expm1 (numerator_log_f + shift_f + sum_log_f + ratio_log_f)).
  Definition row_sum_f :=
    Named "row_sum" (row_sum_rounding_f + Of visible * element_floor_f).

  Definition log_sum_error_f := Named "log_sum_error" (sum_log_f + Of log_error * (Of log_sum + sum_log_f)).
  Definition logsumexp_parts_f :=
    Named "logsumexp_parts" (log_sum_error_f + Of scaling * Of maximum_magnitude + argument_floor_f).
  Definition logsumexp_rounding_f :=
    Named "logsumexp_rounding" (logsumexp_parts_f + Of roundoff * (Of logsumexp_magnitude + logsumexp_parts_f)).
  Definition logsumexp_floor_f :=
    Named "logsumexp_floor" (two * Of product_floor * (one + Of roundoff) + Of sum_floor).
  Definition logsumexp_f :=
    Named "logsumexp" (logsumexp_rounding_f + Of output_roundoff * (Of logsumexp_magnitude + logsumexp_rounding_f)
                       + (logsumexp_floor_f * (one + Of output_roundoff) + Of output_floor)).

  Definition log_softmax_first_f :=
    Named "log_softmax_first" (log_sum_error_f + argument_floor_f + slope_f * Of deviation).
  Definition log_softmax_second_f :=
    Named "log_softmax_second"
      (log_softmax_first_f + Of roundoff * (Of deviation + Of log_sum + log_softmax_first_f)).
  Definition log_softmax_f :=
    Named "log_softmax"
      (log_softmax_second_f + Of output_roundoff * (Of deviation + Of log_sum + log_softmax_second_f)
       + ((Of product_floor * (one + Of roundoff) + Of sum_floor) * (one + Of output_roundoff) + Of output_floor)).

  Definition uncentred_first_f :=
    Named "uncentred_first"
      (logsumexp_rounding_f + Of scaling * (Of maximum_magnitude + Of deviation) + argument_floor_f).
  Definition uncentred_second_f :=
    Named "uncentred_second"
      (uncentred_first_f + Of roundoff * (Of deviation + Of log_sum + uncentred_first_f)).
  Definition log_softmax_uncentred_f :=
    Named "log_softmax_uncentred"
      (uncentred_second_f + Of output_roundoff * (Of deviation + Of log_sum + uncentred_second_f)
       + (((logsumexp_floor_f + Of product_floor) * (one + Of roundoff) + Of sum_floor) * (one + Of output_roundoff)
          + Of output_floor)).

  Definition moment_log_f :=
    Named "moment_log"
      (height_log_f + Of item_unit + Of rescalings * (exp_unit_f + two * unit_f) + unit_f + Of argument_unit
       + (Of rescalings + one) * Of argument_step).
  Definition reciprocal_unit_f :=
    Named "reciprocal_unit" (MinusLog1m (Of reciprocal_error)).
  Definition quotient_log_f :=
    Named "quotient_log"
      (moment_log_f + (one + slope_f) * Of conversion + sum_log_f + (unit_f + reciprocal_unit_f)).
  Definition lost_moment_f :=
    Named "lost_moment"
      (Of item_floor * Of exp_cutoff + Of product_floor + Of sum_floor
       + WhenRescaled (Number 4 * Of exp_floor * Of exp_cutoff + Number 3 * Of product_floor + Of sum_floor)).
  Definition beside_mean_f :=
    Named "beside_mean" (argument_floor_f * (Exp shift_f + sum_loss_f) + Of visible * lost_moment_f).
  Definition mean_error_f :=
    Named "mean_error"
      (Expm1 quotient_log_f * Of mean_deviation + Exp quotient_log_f * (first_excess_f + beside_mean_f)).
  Definition entropy_parts_f := Named "entropy_parts" (log_sum_error_f + mean_error_f).
  Definition entropy_rounding_f :=
    Named "entropy_rounding" (entropy_parts_f + Of roundoff * (Of entropy_magnitude + entropy_parts_f)).
  Definition entropy_floor_f :=
    Named "entropy_floor" (two * Of product_floor * (one + Of roundoff) + Of sum_floor).
  Definition entropy_f :=
    Named "entropy" (entropy_rounding_f + Of output_roundoff * (Of entropy_magnitude + entropy_rounding_f)
                     + (entropy_floor_f * (one + Of output_roundoff) + Of output_floor)).

  Definition score_log_f := Named "score_log" ((Of dimension + two + Of readings) * unit_f).
  Definition score_f :=
    Named "score"
      (Of scale_magnitude * ((Exp score_log_f - one) * Of dot_magnitude
                             + Exp score_log_f * (Of dimension * (Of product_floor + Of sum_floor)))
       + Of product_floor).

  (** B1, and what the other bounds have in common; computed once for a row by numerics/. *)
  Definition sum_formulas : list (formula quantity) :=
    [unit_f; exp_unit_f; slope_f; second_f; third_f; shift_f; first_excess_f; argument_floor_f; height_log_f; rescale_unit_f;
     direct_log_f; sigma_0_f; lost_f; sum_loss_f; sum_log_f].
  (** B2 and B4. *)
  Definition element_formulas : list (formula quantity) :=
    [numerator_log_f; numerator_loss_f; ratio_log_f; element_log_f; element_floor_f; row_sum_rounding_f].
  Definition chord_formulas : list (formula quantity) := [chord_end_f; chord_step_f; chord_constant_f; chord_slope_f].
  (** B5 and B6 before the output. *)
  Definition logarithm_formulas : list (formula quantity) := [log_sum_error_f; logsumexp_parts_f; logsumexp_rounding_f].
  Definition moment_formulas : list (formula quantity) :=
    [moment_log_f; reciprocal_unit_f; quotient_log_f; lost_moment_f; beside_mean_f; mean_error_f; entropy_parts_f;
     entropy_rounding_f].
End Formulas.

(** ** Their values are the theorems' right-hand sides *)

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (out : output_format) (kappa m : R) (logits : list R) (h j : nat).
  Context (u_out g smallest d r : R) (products : list R) (reads : nat) (scale : R) (C rate : R).

  Definition is (q : quantity) : R :=
    match q with
    | roundoff => standard_model.roundoff M
    | exp_error => standard_model.exp_error M
    | log_error => standard_model.log_error M
    | argument_unit => standard_model.argument_unit M
    | argument_step => standard_model.argument_step M
    | sum_floor => standard_model.sum_floor M
    | product_floor => standard_model.product_floor M
    | exp_floor => standard_model.exp_floor M
    | height => INR h
    | rescalings => INR j
    | visible => size logits
    | conversion => kappa
    | mean_deviation => row.mean_deviation m logits
    | log_sum => ln (weight_sum m logits)
    | maximum_magnitude => Rabs m
    | logsumexp_magnitude => Rabs (ln (partition_function logits))
    | deviation => d
    | output_unit => b2_element.output_unit out
    | output_roundoff => u_out
    | output_floor => b2_element.output_floor out
    | quantum => smallest
    | scaling => g
    | mean_square_deviation => row.mean_square_deviation m logits
    | entropy_magnitude => softmax.entropy logits
    | exp_cutoff => standard_model.exp_cutoff M
    | reciprocal_error => standard_model.roundoff M + r
    | dimension => size products
    | readings => INR reads
    | scale_magnitude => Rabs scale
    | dot_magnitude => magnitude products
    | item_unit => standard_model.exp_unit M
    | item_floor => standard_model.exp_floor M
    | total_unit => 0
    | divisions => IZR division_roundings
    | lost_quotients => IZR division_losses
    | chord_log => C
    | chord_rate => rate
    | quantum_log => ln (2048 / smallest)
    | twenty_fourth => / 24
    end.

  Definition valued (f : formula quantity) : R :=
    value is (match j with 0%nat => false | Datatypes.S _ => true end) f.


  Notation t := (standard_model.slope M).
  Notation sig := (sigma M kappa m logits h j).

  Lemma unit_is : valued unit_f = standard_model.unit M.
  Proof. reflexivity. Qed.

  Lemma exp_unit_is : valued exp_unit_f = standard_model.exp_unit M.
  Proof. reflexivity. Qed.

  Lemma slope_is : valued slope_f = t.
  Proof. reflexivity. Qed.

  Lemma lost_is : valued lost_f = lost M j.
  Proof. unfold valued, lost. destruct j; simpl; ring. Qed.

  Lemma argument_floor_is : valued argument_floor_f = argument_floor M kappa j.
  Proof. reflexivity. Qed.

  Lemma shift_is : valued shift_f = shift m logits t.
  Proof. reflexivity. Qed.

  Lemma sigma_0_is : valued sigma_0_f = sigma_0 M kappa m logits h j.
  Proof. reflexivity. Qed.

  Theorem sum_log_is : valued sum_log_f = sig.
  Proof.
    change (valued sum_log_f) with
      (valued sigma_0_f + - ln (1 - size logits * valued lost_f * exp (2 * valued sigma_0_f)) + 0).
    rewrite Rplus_0_r, sigma_0_is, lost_is. reflexivity.
  Qed.

  Lemma numerator_log_is : valued numerator_log_f = numerator_log M kappa j.
  Proof.
    unfold numerator_log, when_rescaled. rewrite <- unit_is, <- exp_unit_is, <- argument_floor_is.
    unfold valued. destruct j; reflexivity.
  Qed.

  Lemma ratio_log_is : valued ratio_log_f = ratio_log M out.
  Proof. unfold ratio_log. rewrite <- unit_is. reflexivity. Qed.

  Theorem element_log_is : valued element_log_f = element_log M out kappa m logits h j.
  Proof. unfold element_log. rewrite <- numerator_log_is, <- sum_log_is, <- ratio_log_is. reflexivity. Qed.

  Theorem element_floor_is : valued element_floor_f = element_floor M out kappa m logits h j.
  Proof.
    unfold element_floor, numerator_loss, when_rescaled. rewrite <- element_log_is.
    unfold valued. destruct j; reflexivity.
  Qed.

  Theorem threshold_constant_is : valued threshold_constant_f = threshold_constant (element_log M out kappa m logits h j).
  Proof. unfold threshold_constant. rewrite <- element_log_is. reflexivity. Qed.

  Theorem threshold_slope_is : valued threshold_slope_f = threshold_slope smallest (element_log M out kappa m logits h j) t.
  Proof. unfold threshold_slope, last_deviation. rewrite <- element_log_is, <- slope_is. reflexivity. Qed.

  (** The two of [element_threshold], for any log error; B2 has its own C and t, B9 and B10 have others. *)
  Theorem chord_is :
    valued chord_constant_f = threshold_constant C /\ valued chord_slope_f = threshold_slope smallest C rate.
  Proof. split; reflexivity. Qed.

  Theorem threshold_floor_is : valued threshold_floor_f = threshold_floor smallest.
  Proof. reflexivity. Qed.

  (** The right-hand side of [b4_row_sum]. *)
  Theorem row_sum_is :
    valued row_sum_f = exp (numerator_log M kappa j + shift m logits t + sig + ratio_log M out) - 1
                       + size logits * element_floor M out kappa m logits h j.
  Proof.
    rewrite <- numerator_log_is, <- shift_is, <- sum_log_is, <- ratio_log_is, <- element_floor_is. reflexivity.
  Qed.

  Lemma log_sum_error_is : valued log_sum_error_f = log_sum_error M kappa m logits h j.
  Proof. unfold log_sum_error. rewrite <- sum_log_is. reflexivity. Qed.

  Lemma logsumexp_rounding_is : valued logsumexp_rounding_f = logsumexp_rounding M kappa m logits h j g.
  Proof. unfold logsumexp_rounding, logsumexp_parts. rewrite <- log_sum_error_is, <- argument_floor_is. reflexivity. Qed.

  (** The right-hand side of [b5_logsumexp]. *)
  Theorem logsumexp_is :
    valued logsumexp_f
    = logsumexp_rounding M kappa m logits h j g
      + u_out * (Rabs (ln (partition_function logits)) + logsumexp_rounding M kappa m logits h j g)
      + (logsumexp_floor M * (1 + u_out) + b2_element.output_floor out).
  Proof. rewrite <- logsumexp_rounding_is. reflexivity. Qed.

  (** The right-hand side of [b5_log_softmax], d in the place of m - x. *)
  Theorem log_softmax_is :
    let first := log_softmax_constant M kappa m logits h j + t * d in
    let second := first + standard_model.roundoff M * (d + ln (weight_sum m logits) + first) in
    valued log_softmax_f
    = second + u_out * (d + ln (weight_sum m logits) + second)
      + ((standard_model.product_floor M * (1 + standard_model.roundoff M) + standard_model.sum_floor M) * (1 + u_out)
         + b2_element.output_floor out).
  Proof. unfold log_softmax_constant. rewrite <- log_sum_error_is, <- argument_floor_is, <- slope_is. reflexivity. Qed.

  (** The right-hand side of [b5_log_softmax_uncentred], d in the place of m - x. *)
  Theorem log_softmax_uncentred_is :
    valued log_softmax_uncentred_f
    = uncentred_second M kappa m logits h j g d + u_out * (d + ln (weight_sum m logits) + uncentred_second M kappa m logits h j g d)
      + (uncentred_floor M * (1 + u_out) + b2_element.output_floor out).
  Proof.
    unfold uncentred_second, uncentred_first. rewrite <- logsumexp_rounding_is, <- argument_floor_is. reflexivity.
  Qed.

  Lemma lost_moment_is : valued lost_moment_f = lost_moment M j.
  Proof. unfold valued, lost_moment. destruct j; simpl; ring. Qed.

  Lemma moment_log_is : valued moment_log_f = moment_log M (INR h) j.
  Proof. unfold moment_log, valued. simpl. unfold standard_model.unit, standard_model.exp_unit, log_unit. ring. Qed.

  Lemma quotient_log_is : valued quotient_log_f = quotient_log M kappa m logits h j r.
  Proof.
    unfold quotient_log, quotient_unit, moment_total. rewrite <- moment_log_is, <- sum_log_is, <- unit_is, <- slope_is.
    change (valued quotient_log_f) with
      (valued moment_log_f + (1 + valued slope_f) * kappa + valued sum_log_f + (valued unit_f + reciprocal_unit M r)).
    ring.
  Qed.

  Lemma mean_error_is : valued mean_error_f = mean_error M kappa m logits h j r.
  Proof.
    unfold mean_error, beside_mean.
    rewrite <- quotient_log_is, <- lost_moment_is, <- lost_is, <- argument_floor_is, <- shift_is, <- slope_is. reflexivity.
  Qed.

  Lemma entropy_rounding_is : valued entropy_rounding_f = entropy_rounding M kappa m logits h j r.
  Proof. unfold entropy_rounding, entropy_parts. rewrite <- log_sum_error_is, <- mean_error_is. reflexivity. Qed.

  (** The right-hand side of [b6_entropy]. *)
  Theorem entropy_is :
    valued entropy_f
    = entropy_rounding M kappa m logits h j r + u_out * (softmax.entropy logits + entropy_rounding M kappa m logits h j r)
      + (entropy_floor M * (1 + u_out) + b2_element.output_floor out).
  Proof. rewrite <- entropy_rounding_is. reflexivity. Qed.

  (** The right-hand side of [score_error]. *)
  Theorem score_is :
    let k := (size products + 2 + INR reads) * standard_model.unit M in
    valued score_f
    = Rabs scale * ((exp k - 1) * magnitude products
                    + exp k * (size products * (standard_model.product_floor M + standard_model.sum_floor M)))
      + standard_model.product_floor M.
  Proof. rewrite <- unit_is. reflexivity. Qed.
End Values.
