(** * The right-hand side of B7 as formulas: the value that its theorem speaks of, and the text that numerics/ evaluates.

    The formulas are of the quantities of theorem_formulas.v, and made of growing functions alone. Of a logit as a factor the
    theorem has a log error and an absolute one; here the first is that of a relative error g, the maximum's, and the
    second is c, which a product's underflow and a conversion's half do not exceed.

    Main results
    - [uncentred_mean_is]     the right-hand side of [b7_mean], the quotient's own underflow apart
    - [uncentred_entropy_is]  the two parts of the right-hand side of [b7_entropy]: what is rounded, and what underflows

    Source: b7_uncentred.v; entropy_uncentred_error in numerics/rounding/rounding_entropy.cpp. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import formula row tilted_row reduction b1_sum b2_element b5_logsumexp b6_entropy b9_attention
  b7_far_items b7_uncentred theorem_formulas.
Local Open Scope string_scope.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.
  Let two : formula quantity := Number 2.
  Let then_rounded (error size roundoff : formula quantity) : formula quantity := error + roundoff * (size + error).

  (** -ln(1 - g) is no less than ln(1 + g). *)
  Definition factor_unit_f := Named "factor_unit" (MinusLog1m (Of scaling)).
  Definition factor_log_f :=
    Named "factor_log" (height_log_f + Of item_unit + rescale_unit_f + unit_f + argument_floor_f + factor_unit_f).
  Definition uncentred_mean_log_f := Named "uncentred_mean_log" (factor_log_f + (sum_log_f + (unit_f + reciprocal_unit_f))).
  Definition mean_size_f := Named "mean_size" (Of maximum_magnitude + Of mean_deviation).
  Definition mean_excess_f :=
    Named "mean_excess"
      (slope_f * (Of maximum_magnitude * Of mean_deviation + Of mean_square_deviation)
       + Halved (Squared slope_f) * Exp shift_f * (Of maximum_magnitude * second_f + third_f)).
  Definition lost_logit_f :=
    Named "lost_logit"
      (Of maximum_magnitude + Of conversion + ((one + slope_f) * (Of exp_cutoff + Of argument_step) + one)).
  Definition lost_logits_f :=
    Named "lost_logits"
      (Of visible * (Of item_floor * lost_logit_f + Of product_floor + Of sum_floor
                     + WhenRescaled (two * Of exp_floor * lost_logit_f + two * Of product_floor))).
  Definition uncentred_mean_error_f :=
    Named "uncentred_mean_error"
      (Expm1 uncentred_mean_log_f * mean_size_f
       + Exp uncentred_mean_log_f * (mean_excess_f + argument_floor_f * (Exp shift_f + sum_loss_f) + lost_logits_f)).

  Definition entropy_uncentred_parts_f :=
    Named "entropy_uncentred_parts"
      (log_sum_error_f + Of scaling * Of maximum_magnitude + argument_floor_f + uncentred_mean_error_f).
  (** Two additions: the first of a size of at most |m| + ln S + E|x|, the second of the result's. *)
  Definition entropy_uncentred_first_f :=
    Named "entropy_uncentred_first"
      (then_rounded entropy_uncentred_parts_f (Of maximum_magnitude + Of log_sum + mean_size_f) (Of roundoff)).
  Definition entropy_uncentred_rounding_f :=
    Named "entropy_uncentred_rounding" (then_rounded entropy_uncentred_first_f (Of entropy_magnitude) (Of roundoff)).
  Definition entropy_uncentred_output_f :=
    Named "entropy_uncentred_output" (then_rounded entropy_uncentred_rounding_f (Of entropy_magnitude) (Of output_roundoff)).
  Definition entropy_uncentred_lost_f :=
    Named "entropy_uncentred_lost"
      (((Number 3 * Of product_floor * (one + Of roundoff) + Of sum_floor) * (one + Of roundoff) + Of sum_floor)
       * (one + Of output_roundoff) + Of output_floor).

  Definition uncentred_entropy_formulas : list (formula quantity) :=
    [factor_unit_f; factor_log_f; uncentred_mean_log_f; mean_size_f; mean_excess_f; lost_logit_f; lost_logits_f;
     uncentred_mean_error_f; entropy_uncentred_parts_f; entropy_uncentred_first_f; entropy_uncentred_rounding_f;
     entropy_uncentred_output_f; entropy_uncentred_lost_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (out : output_format) (kappa m : R) (row : list logit_item) (h j : nat).
  Context (u_out g smallest d r : R) (products : list R) (reads : nat) (scale : R) (C rate : R).
  Notation logits := (map logit row).
  Notation valued := (valued M out kappa m logits h j u_out g smallest d r products reads scale C rate).
  Notation f := (argument_floor M kappa j).

  Lemma lost_logits_is : valued lost_logits_f = lost_logits M kappa m row j.
  Proof.
    pose (F := Rabs m + kappa + ((1 + slope M) * (standard_model.exp_cutoff M + standard_model.argument_step M) + 1)).
    change (lost_logits M kappa m row j) with
      (size logits * (standard_model.exp_floor M * F + standard_model.product_floor M + standard_model.sum_floor M
         + match j with 0%nat => 0
           | Datatypes.S _ => 2 * standard_model.exp_floor M * F + 2 * standard_model.product_floor M end)).
    destruct j; reflexivity.
  Qed.

  Lemma mean_log_is : valued uncentred_mean_log_f = mean_log M kappa m (log_unit g) row h j h j r.
  Proof.
    unfold mean_log, factor_log, term_log, quotient_unit.
    rewrite <- (sum_log_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    change (valued uncentred_mean_log_f) with
      (INR h * standard_model.unit M + standard_model.exp_unit M + INR j * (standard_model.exp_unit M + standard_model.unit M)
       + standard_model.unit M + ((INR j + 1) * standard_model.argument_step M + (1 + slope M) * kappa) + log_unit g
       + (valued sum_log_f + (standard_model.unit M + reciprocal_unit M r))).
    cbn [weight_unit no_format]. ring.
  Qed.

  (** The right-hand side of [b7_mean]. *)
  Theorem uncentred_mean_is :
    valued uncentred_mean_error_f = uncentred_mean_error M kappa m (log_unit g) f row h j h j r.
  Proof.
    unfold uncentred_mean_error. rewrite <- mean_log_is, <- lost_logits_is.
    rewrite <- (lost_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    rewrite <- (argument_floor_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    reflexivity.
  Qed.

  (** The right-hand side of [b7_entropy]. *)
  Theorem uncentred_entropy_is :
    valued entropy_uncentred_output_f
    = uncentred_rounding M kappa m (log_unit g) f row h j h j r g
      + u_out * (entropy logits + uncentred_rounding M kappa m (log_unit g) f row h j h j r g) /\
    valued entropy_uncentred_lost_f = uncentred_loss M * (1 + u_out) + b2_element.output_floor out.
  Proof.
    split; [|reflexivity]. unfold uncentred_rounding, uncentred_first_sum, uncentred_parts. rewrite <- uncentred_mean_is.
    rewrite <- (log_sum_error_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    rewrite <- (argument_floor_is M out kappa m logits h j u_out g smallest d r products reads scale C rate). reflexivity.
  Qed.
End Values.
