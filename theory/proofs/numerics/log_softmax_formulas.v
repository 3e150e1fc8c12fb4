(** * The right-hand side of B6d from a log-softmax, as formulas.

    Main results
    - [logarithms_rounding_is], [logarithms_lost_is]   the two parts of the right-hand side of [b6d_log_softmax]

    Source: b6d_log_softmax.v; entropy_of_log_softmax_error in numerics/rounding/rounding_entropy.cpp. *)

From Coq Require Import Reals ZArith String List Lra.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model.
From softcheck.numerics Require Import formula row tilted_row b6d_log_softmax.
Import ListNotations.
Local Open Scope string_scope.

Inductive quantity :=
| unit | coefficient_log | coefficient_loss | cutoff | logarithm_constant | logarithm_slope | height_log | shift | first_excess
| mean_deviation | log_sum | entropy | product_floor | sum_floor | visible.
Definition name (q : quantity) : string :=
  match q with
  | unit => "unit" | coefficient_log => "coefficient_log" | coefficient_loss => "coefficient_loss" | cutoff => "cutoff"
  | logarithm_constant => "logarithm_constant" | logarithm_slope => "logarithm_slope" | height_log => "height_log"
  | shift => "shift" | first_excess => "first_excess" | mean_deviation => "mean_deviation" | log_sum => "log_sum"
  | entropy => "entropy" | product_floor => "product_floor" | sum_floor => "sum_floor" | visible => "visible"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.

  (** Of a term p ln p: its coefficient, the product and the additions. *)
  Definition total_log_f := Named "total_log" (Of coefficient_log + Of height_log + Of unit).
  Definition logarithms_rounding_f :=
    Named "logarithms_rounding"
      (Expm1 total_log_f * Of entropy
       + Exp total_log_f * (Of first_excess + Of log_sum * Expm1 (Of shift) + Of logarithm_constant * Exp (Of shift)
                            + Of logarithm_slope * (Of mean_deviation + Of first_excess))).
  (** What a coefficient loses, times its logarithm. *)
  Definition logarithm_loss_f :=
    Named "logarithm_loss"
      (Of coefficient_loss * (Of cutoff * (one + Of logarithm_slope) + Of log_sum + Of logarithm_constant) * Exp (Of unit)
       + Of product_floor).
  Definition logarithms_lost_f :=
    Named "logarithms_lost" (Exp (Of height_log) * (Of visible * (logarithm_loss_f + Of sum_floor))).
  Definition logarithm_formulas : list (formula quantity) :=
    [total_log_f; logarithms_rounding_f; logarithm_loss_f; logarithms_lost_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (m : R) (logits : list R) (C t f K b s : R) (height : nat).

  Definition is (q : quantity) : R :=
    match q with
    | unit => standard_model.unit M
    | coefficient_log => C
    | coefficient_loss => f
    | cutoff => K
    | logarithm_constant => b
    | logarithm_slope => s
    | height_log => INR height * standard_model.unit M
    | shift => tilted_row.shift m logits t
    | first_excess => tilted_row.first_excess m logits t
    | mean_deviation => row.mean_deviation m logits
    | log_sum => ln (weight_sum m logits)
    | entropy => softmax.entropy logits
    | product_floor => standard_model.product_floor M
    | sum_floor => standard_model.sum_floor M
    | visible => size logits
    end.

  (** The right-hand side of [b6d_log_softmax]. *)
  Theorem logarithms_rounding_is : value is false logarithms_rounding_f = logarithms_rounding M m logits C t b s height.
  Proof. reflexivity. Qed.

  Theorem logarithms_lost_is : value is false logarithms_lost_f = logarithms_lost M m logits f K b s height.
  Proof. reflexivity. Qed.
End Values.
