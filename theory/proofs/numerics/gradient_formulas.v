(** * The right-hand sides of B12 and B13 as formulas: each has the value that its theorem speaks of, and the text that the
    C++ bounds are compared with.

    Main results
    - [softmax_gradient_is]       the right-hand side of [b12_softmax_gradient]
    - [log_softmax_gradient_is]   the right-hand side of [b13_log_softmax_gradient]

    Source: b12_softmax_gradient.v, b12_softmax_gradient.v; compared with numerics/rounding/rounding_gradient.hpp by
    proptests/tests/numerics/gradient_formulas_test.cpp. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import formula score_error added_terms b12_softmax_gradient.
Local Open Scope string_scope.

Inductive quantity :=
| roundoff | exp_error | sum_floor | product_floor | exp_floor
| reading_unit | reading_loss | product_unit | product_loss | output_roundoff | output_floor
| height | terms | magnitude | mean_magnitude | largest_coefficient | largest_upstream
| coefficient | upstream | gradient_magnitude | argument_log | power | argument.

Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | exp_error => "exp_error" | sum_floor => "sum_floor" | product_floor => "product_floor"
  | exp_floor => "exp_floor" | reading_unit => "reading_unit" | reading_loss => "reading_loss"
  | product_unit => "product_unit" | product_loss => "product_loss" | output_roundoff => "output_roundoff"
  | output_floor => "output_floor" | height => "height" | terms => "terms" | magnitude => "magnitude"
  | mean_magnitude => "mean_magnitude" | largest_coefficient => "largest_coefficient"
  | largest_upstream => "largest_upstream" | coefficient => "coefficient" | upstream => "upstream"
  | gradient_magnitude => "gradient_magnitude" | argument_log => "argument_log" | power => "power"
  | argument => "argument"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.
  Let two : formula quantity := Number 2.

  Definition unit_f := Named "unit" (Number 0 - Log (one - Of roundoff)).
  Definition exp_unit_f := Named "exp_unit" (Number 0 - Log (one - Of exp_error)).

  (** B12. *)
  Definition term_log_f := Named "term_log" (two * Of reading_unit + unit_f + Of product_unit).
  Definition term_loss_f :=
    Named "term_loss"
      (Exp term_log_f * (Of reading_loss * (Of largest_coefficient + Of largest_upstream + Of reading_loss) + Of product_floor)
       + Of product_loss).
  Definition mean_rounding_f :=
    Named "mean_rounding" ((Exp (term_log_f + Of height * unit_f) - one) * Of magnitude).
  Definition mean_loss_f :=
    Named "mean_loss" (Exp (Of height * unit_f) * (Of terms * term_loss_f + (Of terms - one) * Of sum_floor)).
  Definition difference_log_f := Named "difference_log" (two * unit_f + Of reading_unit).
  Definition gradient_rounding_f :=
    Named "gradient_rounding"
      (Of coefficient * ((Exp (term_log_f + unit_f) - one) * Of upstream
                         + (Exp difference_log_f - one) * Of mean_magnitude + Exp difference_log_f * mean_rounding_f)).
  Definition gradient_loss_f :=
    Named "gradient_loss"
      (Of coefficient * (Exp difference_log_f * mean_loss_f)
       + Exp (difference_log_f + Of reading_unit)
         * ((Of coefficient + Of reading_loss) * (Of reading_loss + Of sum_floor)
            + Of reading_loss * (Of upstream + Of mean_magnitude + mean_rounding_f + mean_loss_f) + Of product_floor)
       + Exp unit_f * term_loss_f + Of sum_floor).
  Definition softmax_gradient_f :=
    Named "softmax_gradient"
      (gradient_rounding_f + Of output_roundoff * (Of gradient_magnitude + gradient_rounding_f)
       + (gradient_loss_f * (one + Of output_roundoff) + Of output_floor)).

  (** B13: here magnitude is sum |g|, mean_magnitude |T|. *)
  Definition total_rounding_f :=
    Named "total_rounding" ((Exp (Of reading_unit + Of height * unit_f) - one) * Of magnitude).
  Definition total_loss_f :=
    Named "total_loss" (Exp (Of height * unit_f) * (Of terms * Of reading_loss + (Of terms - one) * Of sum_floor)).
  Definition power_log_f :=
    Named "power_log" ((Exp (Of argument_log) - one) * Of argument + Of reading_loss + exp_unit_f + unit_f).
  Definition product_rounding_f :=
    Named "product_rounding"
      (Of power * (Exp power_log_f * (Of mean_magnitude + total_rounding_f) - Of mean_magnitude)).
  Definition product_lost_f :=
    Named "product_lost"
      (Of power * Exp power_log_f * total_loss_f
       + Of exp_floor * Exp unit_f * (Of mean_magnitude + total_rounding_f + total_loss_f) + Of product_floor).
  Definition log_gradient_first_f :=
    Named "log_gradient_first" ((Exp (Of reading_unit) - one) * Of upstream + product_rounding_f).
  Definition log_gradient_second_f :=
    Named "log_gradient_second"
      (log_gradient_first_f + Of roundoff * (Of gradient_magnitude + log_gradient_first_f)).
  Definition log_gradient_loss_f :=
    Named "log_gradient_loss" ((Of reading_loss + product_lost_f) * (one + Of roundoff) + Of sum_floor).
  Definition log_softmax_gradient_f :=
    Named "log_softmax_gradient"
      (log_gradient_second_f + Of output_roundoff * (Of gradient_magnitude + log_gradient_second_f)
       + (log_gradient_loss_f * (one + Of output_roundoff) + Of output_floor)).

  Definition all_formulas : list (formula quantity) :=
    [unit_f; exp_unit_f; term_log_f; term_loss_f; mean_rounding_f; mean_loss_f; difference_log_f; gradient_rounding_f;
     gradient_loss_f; softmax_gradient_f; total_rounding_f; total_loss_f; power_log_f; product_rounding_f; product_lost_f;
     log_gradient_first_f; log_gradient_second_f; log_gradient_loss_f; log_softmax_gradient_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (P : storage) (h : nat) (u_out floor_out : R).

  (** What both have: of the arithmetic, of a sum over xs, of an element. *)
  Definition is (xs : list R) (Y G y g dx argument_unit : R) (q : quantity) : R :=
    match q with
    | roundoff => standard_model.roundoff M
    | exp_error => standard_model.exp_error M
    | sum_floor => standard_model.sum_floor M
    | product_floor => standard_model.product_floor M
    | exp_floor => standard_model.exp_floor M
    | reading_unit => b12_softmax_gradient.reading_unit P
    | reading_loss => b12_softmax_gradient.reading_loss P
    | product_unit => b12_softmax_gradient.product_unit P
    | product_loss => b12_softmax_gradient.product_loss P
    | output_roundoff => u_out
    | output_floor => floor_out
    | height => INR h
    | terms => size xs
    | magnitude => score_error.magnitude xs
    | mean_magnitude => Rabs (sum xs)
    | largest_coefficient => Y
    | largest_upstream => G
    | coefficient | argument => Rabs y
    | upstream => Rabs g
    | gradient_magnitude => Rabs dx
    | argument_log => argument_unit
    | power => exp y
    end.

  Theorem softmax_gradient_is Y G row y g argument_unit :
    let dx := y * (g - sum (products row)) in
    let rounding := gradient_rounding M P row h y g in
    value (is (products row) Y G y g dx argument_unit) false softmax_gradient_f
    = rounding + u_out * (Rabs dx + rounding) + (gradient_loss M P Y G row h y g * (1 + u_out) + floor_out).
  Proof.
    intros dx rounding. unfold rounding, gradient_loss, gradient_rounding, mean_rounding, mean_loss, added_rounding, added_loss,
      term_loss, difference_log, term_log, unit, log_unit.
    simpl. rewrite !Rminus_0_l. reflexivity.
  Qed.

  Theorem log_softmax_gradient_is argument_unit upstream y g :
    let dx := g - exp y * sum upstream in
    let second := log_gradient_second M P argument_unit upstream h y g in
    value (is upstream 0 0 y g dx argument_unit) false log_softmax_gradient_f
    = second + u_out * (Rabs dx + second) + (log_gradient_loss M P argument_unit upstream h y * (1 + u_out) + floor_out).
  Proof.
    intros dx second. unfold second, log_gradient_loss, log_gradient_second, log_gradient_first, product_rounding, product_lost,
      power_log, total_rounding, total_loss, added_rounding, added_loss, unit, exp_unit, log_unit.
    simpl. rewrite !Rminus_0_l. reflexivity.
  Qed.
End Values.
