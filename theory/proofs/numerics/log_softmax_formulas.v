(** * The right-hand side of B6d from a log-softmax, as formulas.

    Main results
    - [coefficient_log_is], [coefficient_loss_is]      what [element_of_logarithms] says of a coefficient, but for the slope
    - [logarithms_rounding_is], [logarithms_lost_is]   the two parts of the right-hand side of [b6d_of_computed_softmax]

    Source: b6d_computed_softmax.v; entropy_of_log_softmax_error in numerics/rounding/rounding_entropy.cpp. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import constants formula row tilted_row reduction b1_sum b2_element b6d_coefficients b6d_log_softmax
  b6d_computed_softmax.
Local Open Scope string_scope.

Inductive quantity :=
| unit | numerator_log | sigma_0 | sum_loss | total_unit | divisions | slope | numerator_loss | lost_quotients | cutoff
| logarithm_constant | logarithm_slope | height_log | shift | first_excess | mean_deviation | log_sum | entropy | product_floor
| sum_floor | visible.
Definition name (q : quantity) : string :=
  match q with
  | unit => "unit" | numerator_log => "numerator_log" | sigma_0 => "sigma_0" | sum_loss => "sum_loss" | total_unit => "total_unit"
  | divisions => "divisions" | slope => "slope" | numerator_loss => "numerator_loss" | lost_quotients => "lost_quotients"
  | cutoff => "cutoff" | logarithm_constant => "logarithm_constant" | logarithm_slope => "logarithm_slope"
  | height_log => "height_log" | shift => "shift" | first_excess => "first_excess" | mean_deviation => "mean_deviation"
  | log_sum => "log_sum" | entropy => "entropy" | product_floor => "product_floor" | sum_floor => "sum_floor" | visible => "visible"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.
  Let two : formula quantity := Number 2.

  (** A coefficient beside the logarithms: what these err by, once for the exponential and once for the sum. *)
  Definition logarithm_log_f :=
    Named "logarithm_log" (Of logarithm_constant + two * Of slope * Of logarithm_constant).
  Definition moved_sigma_0_f := Named "moved_sigma_0" (Of sigma_0 + logarithm_log_f).
  Definition moved_sigma_f :=
    Named "moved_sigma" (moved_sigma_0_f + MinusLog1m (Of sum_loss * Exp (two * moved_sigma_0_f)) + Of total_unit).
  Definition coefficient_log_f :=
    Named "coefficient_log" (Of numerator_log + logarithm_log_f + moved_sigma_f + Of divisions * Of unit).
  Definition coefficient_loss_f :=
    Named "coefficient_loss" ((Of numerator_loss + Of lost_quotients * Of product_floor) * Exp coefficient_log_f).
  (** Of a term p ln p: its coefficient, the product and the additions. *)
  Definition total_log_f := Named "total_log" (coefficient_log_f + Of height_log + Of unit).
  Definition logarithms_rounding_f :=
    Named "logarithms_rounding"
      (Expm1 total_log_f * Of entropy
       + Exp total_log_f * (Of first_excess + Of log_sum * Expm1 (Of shift) + Of logarithm_constant * Exp (Of shift)
                            + Of logarithm_slope * (Of mean_deviation + Of first_excess))).
  (** What a coefficient loses, times its logarithm. *)
  Definition logarithm_loss_f :=
    Named "logarithm_loss"
      (coefficient_loss_f * (Of cutoff * (one + Of logarithm_slope) + Of log_sum + Of logarithm_constant) * Exp (Of unit)
       + Of product_floor).
  Definition logarithms_lost_f :=
    Named "logarithms_lost" (Exp (Of height_log) * (Of visible * (logarithm_loss_f + Of sum_floor))).
  Definition logarithm_formulas : list (formula quantity) :=
    [logarithm_log_f; moved_sigma_0_f; moved_sigma_f; coefficient_log_f; coefficient_loss_f; total_log_f; logarithms_rounding_f;
     logarithm_loss_f; logarithms_lost_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (row : list (R * R)) (m b s tau kappa K : R) (h j height : nat).
  Notation logits := (map fst row).
  Notation C := (moved_log M row m b tau kappa h j).
  Notation f := (moved_floor M row m b tau kappa h j).

  Definition is (q : quantity) : R :=
    match q with
    | unit => standard_model.unit M
    | numerator_log => b2_element.numerator_log M kappa j
    | sigma_0 => direct_log M kappa h j + tilted_row.shift m logits tau
    | sum_loss => size row * lost M j
    | total_unit => 0
    | divisions => IZR division_roundings
    | slope => standard_model.slope M
    | numerator_loss => b2_element.numerator_loss M j
    | lost_quotients => IZR division_losses
    | cutoff => K
    | logarithm_constant => b
    | logarithm_slope => s
    | height_log => INR height * standard_model.unit M
    | shift => tilted_row.shift m logits tau
    | first_excess => tilted_row.first_excess m logits tau
    | mean_deviation => row.mean_deviation m logits
    | log_sum => ln (weight_sum m logits)
    | entropy => softmax.entropy logits
    | product_floor => standard_model.product_floor M
    | sum_floor => standard_model.sum_floor M
    | visible => size logits
    end.
  Notation value := (value is false).

  Theorem coefficient_log_is : value coefficient_log_f = C.
  Proof.
    assert (same : value moved_sigma_0_f = b6d_computed_softmax.moved_sigma_0 M row m b tau kappa h j)
      by (cbn; unfold b6d_computed_softmax.moved_sigma_0, logarithm_log; ring).
    change (value coefficient_log_f) with
      (b2_element.numerator_log M kappa j + logarithm_log M b
       + (value moved_sigma_0_f + - ln (1 - size row * lost M j * exp (2 * value moved_sigma_0_f)) + 0)
       + IZR division_roundings * standard_model.unit M).
    rewrite same. unfold moved_log, moved_sigma, moved_lost, ratio_log. cbn [output_unit kept_format]. ring.
  Qed.

  Theorem coefficient_loss_is : value coefficient_loss_f = f.
  Proof. unfold moved_floor. now rewrite <- coefficient_log_is. Qed.

  (** The right-hand side of [b6d_of_computed_softmax]. *)
  Theorem logarithms_rounding_is : value logarithms_rounding_f = logarithms_rounding M m logits C tau b s height.
  Proof. unfold logarithms_rounding, logarithms_total. rewrite <- coefficient_log_is. reflexivity. Qed.

  Theorem logarithms_lost_is : value logarithms_lost_f = logarithms_lost M m logits f K b s height.
  Proof. unfold logarithms_lost, logarithm_loss. rewrite <- coefficient_loss_is. reflexivity. Qed.
End Values.
