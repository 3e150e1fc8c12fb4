(** * The right-hand side of B10 as a formula: the value that its theorems speak of, and the text that numerics/ evaluates.

    Main results
    - [beta_error_is]    the right-hand side of [b10_beta]
    - [wider_mean_is]    Dbar' of [b10_coefficient]
    - [moved_mean_is]    the right-hand side of [b10_moved_mean]
    - [adaptive_is]      constant and rate of [b10_temperature]'s threshold

    Source: b10_temperature.v; temperature_error and adaptive_temperature_error in numerics/rounding/rounding_temperature.cpp. *)

From Coq Require Import ZArith String.
From softcheck Require Import softmax adaptive_temperature quartic.
From softcheck.numerics Require Import constants formula row tilted_row b2_element b10_temperature.
Local Open Scope string_scope.

(** The entropy as it was computed at most, and its error; beta's Lipschitz constant and the sizes of the polynomial's
    coefficients, where numerics/ has the next doubles; tau, the mean deviation at the exact beta, and Dbar'; of the row at the
    computed beta, B2's log error and the argument's slope. *)
Inductive quantity :=
| roundoff | sum_floor | product_floor | entropy | entropy_error | lipschitz
| coefficient_0 | coefficient_1 | coefficient_2 | coefficient_3 | coefficient_4 | visible | tau | mean_deviation | wider
| element_log | argument_slope.

Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | sum_floor => "sum_floor" | product_floor => "product_floor" | entropy => "entropy"
  | entropy_error => "entropy_error" | lipschitz => "lipschitz" | coefficient_0 => "coefficient_0"
  | coefficient_1 => "coefficient_1" | coefficient_2 => "coefficient_2" | coefficient_3 => "coefficient_3"
  | coefficient_4 => "coefficient_4" | visible => "visible" | tau => "tau" | mean_deviation => "mean_deviation"
  | wider => "wider" | element_log => "element_log" | argument_slope => "argument_slope"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.

  Definition horner_log_f := Named "horner_log" (Number horner_roundings * MinusLog1m (Of roundoff)).
  Definition magnitude_f :=
    Named "magnitude"
      (Of coefficient_0 + Of entropy * (Of coefficient_1 + Of entropy * (Of coefficient_2
       + Of entropy * (Of coefficient_3 + Of entropy * Of coefficient_4)))).
  Definition powers_f :=
    Named "powers" (one + Of entropy * (one + Of entropy * (one + Of entropy * (one + Of entropy)))).
  Definition polynomial_floor_f :=
    Named "polynomial_floor" (Number horner_losses * (Of sum_floor + Of product_floor) * powers_f).
  Definition beta_error_f :=
    Named "beta_error"
      (Of lipschitz * Of entropy_error + Expm1 horner_log_f * magnitude_f + Exp horner_log_f * polynomial_floor_f).
  Definition wider_mean_f :=
    Named "wider_mean" (Of mean_deviation + Of tau * Squared (Log (Of visible + Exp one) * OverOneMinus (Of tau))).
  Definition moved_mean_f := Named "moved_mean" ((one + Of tau) * wider_mean_f).
  Definition coefficient_log_f := Named "coefficient_log" (Of element_log + Of tau * Of wider).
  Definition rate_f := Named "rate" (Of argument_slope * (one + Of tau) + Of tau).

  Definition beta_formulas : list (formula quantity) :=
    [horner_log_f; magnitude_f; powers_f; polynomial_floor_f; beta_error_f].
  Definition mean_formulas : list (formula quantity) := [wider_mean_f; moved_mean_f].
  Definition coefficient_formulas : list (formula quantity) := [coefficient_log_f; rate_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (H error t m : R) (logits : list R) (out : output_format) (kappa s : R) (h j : nat).

  Definition is (q : quantity) : R :=
    match q with
    | roundoff => standard_model.roundoff M
    | sum_floor => standard_model.sum_floor M
    | product_floor => standard_model.product_floor M
    | entropy => H + error
    | entropy_error => error
    | lipschitz => lipschitz_constant
    | coefficient_0 => 1791 / 1000
    | coefficient_1 => 4917 / 1000
    | coefficient_2 => 2300 / 1000
    | coefficient_3 => 481 / 1000
    | coefficient_4 => 37 / 1000
    | visible => size logits
    | tau => t
    | mean_deviation => row.mean_deviation m logits
    | wider => b10_temperature.wider_mean m logits t
    | element_log => b2_element.element_log M out kappa (s * m) (scaled s logits) h j
    | argument_slope => slope M
    end.

  Theorem beta_error_is :
    value is false beta_error_f
    = lipschitz_constant * error + (exp (IZR horner_roundings * unit M) - 1) * magnitude (H + error)
      + exp (IZR horner_roundings * unit M) * polynomial_floor M (H + error).
  Proof. reflexivity. Qed.

  Theorem wider_mean_is : value is false wider_mean_f = wider_mean m logits t.
  Proof. reflexivity. Qed.

  Theorem moved_mean_is : value is false moved_mean_f = (1 + t) * wider_mean m logits t.
  Proof. reflexivity. Qed.

  (** Their chord is [chord_is] of theorem_formulas.v; what underflows is B2's of the row at the computed beta. *)
  Theorem adaptive_is :
    value is false coefficient_log_f
    = b2_element.element_log M out kappa (s * m) (scaled s logits) h j + t * wider_mean m logits t /\
    value is false rate_f = slope M * (1 + t) + t.
  Proof. split; reflexivity. Qed.
End Values.
