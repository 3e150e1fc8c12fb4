(** * The right-hand side of B6d, the entropy from coefficients, as formulas.

    The formulas are of quantities of their own, those of B1 and B2 among them, and made of growing functions alone.

    Main results
    - [kept_log_is]                 the log error of a coefficient of B2 that has not left the accumulator
    - [coefficients_rounding_is]    the right-hand side of [b6d_of_coefficients]
    - [kept_floor_is]               what such a coefficient loses
    - [coefficients_lost_is]        what [b6d_of_lost_coefficients] adds to it where something underflows

    Source: b6d_coefficients.v and b6d_underflow.v; entropy_of_coefficients_error in numerics/rounding/rounding_entropy.cpp. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import constants formula row tilted_row b1_sum b2_element b6d_coefficients
  b6d_underflow.
Local Open Scope string_scope.

Inductive quantity :=
| unit | numerator_log | sum_log | divisions | height_log | slope | shift | first_excess | mean_deviation | log_sum | log_error
| entropy | epsilon | numerator_loss | lost_quotients | product_floor | sum_floor | visible | smallest_log.
Definition name (q : quantity) : string :=
  match q with
  | unit => "unit" | numerator_log => "numerator_log" | sum_log => "sum_log" | divisions => "divisions"
  | height_log => "height_log" | slope => "slope" | shift => "shift" | first_excess => "first_excess"
  | mean_deviation => "mean_deviation" | log_sum => "log_sum" | log_error => "log_error" | entropy => "entropy"
  | epsilon => "epsilon" | numerator_loss => "numerator_loss" | lost_quotients => "lost_quotients"
  | product_floor => "product_floor" | sum_floor => "sum_floor" | visible => "visible" | smallest_log => "smallest_log"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.

  Definition kept_log_f := Named "kept_log" (Of numerator_log + Of sum_log + Of divisions * Of unit).
  (** Of a term p ln p: its coefficient, the product and the additions. *)
  Definition total_log_f := Named "total_log" (kept_log_f + Of height_log + Of unit).
  Definition moment_excess_f := Named "moment_excess" (Of first_excess + Of log_sum * Expm1 (Of shift)).
  (** ln (p + eps) as computed: the error of p, the addition of eps and its own representation, the logarithm's. *)
  Definition log_part_f :=
    Named "log_part"
      (((kept_log_f + Number 2 * Of unit) * Exp (Of shift) + Of slope * (Of mean_deviation + Of first_excess))
       * (one + Of log_error)
       + Of log_error * (Of entropy + moment_excess_f + Of epsilon * Exp (Of shift))).
  Definition coefficients_rounding_f :=
    Named "coefficients_rounding"
      (Expm1 total_log_f * (Of entropy + Of epsilon)
       + Exp total_log_f * (moment_excess_f + Of epsilon * Expm1 (Of shift) + log_part_f)).
  (** What a coefficient loses, and what that takes from its term; the smallest number is e^-smallest_log. *)
  Definition kept_floor_f :=
    Named "kept_floor" ((Of numerator_loss + Of lost_quotients * Of product_floor) * Exp kept_log_f).
  Definition logarithm_size_f :=
    Named "logarithm_size" (Of smallest_log + (kept_log_f + Of unit + Of epsilon) + Of unit + one).
  Definition term_loss_f :=
    Named "term_loss"
      ((kept_floor_f * logarithm_size_f * (one + Of log_error) + (Exp kept_log_f + kept_floor_f) * Of product_floor)
         * Exp (Of unit) + Of product_floor).
  Definition coefficients_lost_f :=
    Named "coefficients_lost" (Exp (Of height_log) * (Of visible * (term_loss_f + Of sum_floor))).
  Definition coefficient_formulas : list (formula quantity) :=
    [kept_log_f; total_log_f; moment_excess_f; log_part_f; coefficients_rounding_f; kept_floor_f; logarithm_size_f; term_loss_f;
     coefficients_lost_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (kappa m : R) (logits : list R) (h j : nat) (eps X : R) (height : nat).
  Notation C := (element_log M kept_format kappa m logits h j).
  Notation f := (element_floor M kept_format kappa m logits h j).

  Definition is (q : quantity) : R :=
    match q with
    | unit => standard_model.unit M
    | numerator_log => b2_element.numerator_log M kappa j
    | sum_log => sigma M kappa m logits h j
    | divisions => IZR division_roundings
    | height_log => INR height * standard_model.unit M
    | slope => standard_model.slope M
    | shift => tilted_row.shift m logits (standard_model.slope M)
    | first_excess => tilted_row.first_excess m logits (standard_model.slope M)
    | mean_deviation => row.mean_deviation m logits
    | log_sum => ln (weight_sum m logits)
    | log_error => standard_model.log_error M
    | entropy => softmax.entropy logits
    | epsilon => eps
    | numerator_loss => b2_element.numerator_loss M j
    | lost_quotients => IZR division_losses
    | product_floor => standard_model.product_floor M
    | sum_floor => standard_model.sum_floor M
    | visible => size logits
    | smallest_log => X
    end.

  Theorem kept_log_is : value is false kept_log_f = C.
  Proof.
    change (value is false kept_log_f) with
      (b2_element.numerator_log M kappa j + sigma M kappa m logits h j + IZR division_roundings * standard_model.unit M).
    unfold element_log, ratio_log. cbn [output_unit kept_format]. ring.
  Qed.

  (** The right-hand side of [b6d_of_coefficients]. *)
  Theorem coefficients_rounding_is :
    value is false coefficients_rounding_f = coefficients_rounding M m logits C eps height.
  Proof. unfold coefficients_rounding, total_log, log_part. rewrite <- kept_log_is. reflexivity. Qed.

  Theorem kept_floor_is : value is false kept_floor_f = f.
  Proof.
    change (value is false kept_floor_f) with
      ((b2_element.numerator_loss M j + IZR division_losses * standard_model.product_floor M) * exp (value is false kept_log_f)).
    rewrite kept_log_is. unfold element_floor. cbn [output_floor kept_format]. ring.
  Qed.

  (** What underflow adds in [b6d_of_lost_coefficients]. *)
  Theorem coefficients_lost_is : value is false coefficients_lost_f = coefficients_lost M logits C f X eps height.
  Proof. unfold coefficients_lost, term_loss, logarithm_size. rewrite <- kept_log_is, <- kept_floor_is. reflexivity. Qed.
End Values.
