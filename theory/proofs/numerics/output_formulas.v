(** * B3 to B6 as a judge has them: behind the output's rounding, what is rounded and what underflows apart.

    The formulas are of the quantities of theorem_formulas.v, and made of growing functions alone.

    Main results
    - [logsumexp_output_is], [entropy_output_is]   the two parts of B5's and B6's right-hand sides
    - [log_softmax_threshold_is], [uncentred_threshold_is]   B5 of x - max - ln S, and of x - L: a constant, a slope in the
                            deviation, and what underflows
    - [shared_row_sum_is]   B4 of shared exponentials
    - [total_variation_is]  B3, of the threshold of an element

    Source: theorem_formulas.v; logsumexp_error, log_softmax_error, entropy_error, row_sum_error and total_variation_error in
    numerics/rounding/rounding.hpp. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import formula row tilted_row reduction b1_sum b2_element element_threshold
  b3_total_variation b5_logsumexp moments b6_entropy theorem_formulas.
Local Open Scope string_scope.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.
  Let then_rounded (error size roundoff : formula quantity) : formula quantity := error + roundoff * (size + error).
  Let then_lost (lost : formula quantity) : formula quantity := lost * (one + Of output_roundoff) + Of output_floor.

  (** B5 and B6: beside the formulas up to the accumulator. *)
  Definition logsumexp_output_f :=
    Named "logsumexp_output" (then_rounded logsumexp_rounding_f (Of logsumexp_magnitude) (Of output_roundoff)).
  Definition logsumexp_lost_f := Named "logsumexp_lost" (then_lost logsumexp_floor_f).
  Definition entropy_output_f :=
    Named "entropy_output" (then_rounded entropy_rounding_f (Of entropy_magnitude) (Of output_roundoff)).
  Definition entropy_lost_f := Named "entropy_lost" (then_lost entropy_floor_f).

  (** x - max - ln S: constant and slope, rounded as they are subtracted and written. *)
  Definition centred_parts_f := Named "centred_parts" (log_sum_error_f + argument_floor_f).
  Definition centred_rounded_f := Named "centred_rounded" (then_rounded centred_parts_f (Of log_sum) (Of roundoff)).
  Definition centred_constant_f :=
    Named "centred_constant" (then_rounded centred_rounded_f (Of log_sum) (Of output_roundoff)).
  Definition centred_steeper_f := Named "centred_steeper" (then_rounded slope_f one (Of roundoff)).
  Definition centred_slope_f := Named "centred_slope" (then_rounded centred_steeper_f one (Of output_roundoff)).
  Definition centred_lost_f :=
    Named "centred_lost" (then_lost (Of product_floor * (one + Of roundoff) + Of sum_floor)).

  (** x - L. *)
  Definition uncentred_parts_f :=
    Named "uncentred_parts" (logsumexp_rounding_f + Of scaling * Of maximum_magnitude + argument_floor_f).
  Definition uncentred_rounded_f := Named "uncentred_rounded" (then_rounded uncentred_parts_f (Of log_sum) (Of roundoff)).
  Definition uncentred_constant_f :=
    Named "uncentred_constant" (then_rounded uncentred_rounded_f (Of log_sum) (Of output_roundoff)).
  Definition uncentred_steeper_f := Named "uncentred_steeper" (then_rounded (Of scaling) one (Of roundoff)).
  Definition uncentred_slope_f := Named "uncentred_slope" (then_rounded uncentred_steeper_f one (Of output_roundoff)).
  Definition uncentred_lost_f :=
    Named "uncentred_lost" (then_lost ((logsumexp_floor_f + Of product_floor) * (one + Of roundoff) + Of sum_floor)).

  (** B4: what underflows in the outputs, and the rounding where numerators and sum share their exponentials. *)
  Definition row_sum_lost_f := Named "row_sum_lost" (Of visible * element_floor_f).
  Definition shared_lost_f := Named "shared_lost" (Of visible * Of sum_floor * Exp (height_log_f + sum_log_f)).
  Definition shared_rounding_f :=
    Named "shared_rounding" (Expm1 (height_log_f + MinusLog1m shared_lost_f + Of total_unit + ratio_log_f)).

  Definition logsumexp_formulas : list (formula quantity) := [logsumexp_floor_f; logsumexp_output_f; logsumexp_lost_f].
  Definition entropy_formulas : list (formula quantity) := [entropy_floor_f; entropy_output_f; entropy_lost_f].
  Definition centred_formulas : list (formula quantity) :=
    [centred_parts_f; centred_rounded_f; centred_constant_f; centred_steeper_f; centred_slope_f; centred_lost_f].
  Definition uncentred_formulas : list (formula quantity) :=
    [uncentred_parts_f; uncentred_rounded_f; uncentred_constant_f; uncentred_steeper_f; uncentred_slope_f; uncentred_lost_f].
  Definition row_sum_formulas : list (formula quantity) := [row_sum_lost_f; shared_lost_f; shared_rounding_f].
End Formulas.

(** B3 adds thresholds: the quantities are those of one threshold, and of the row. *)
Inductive threshold_quantity := constant | slope | floor | items | average.
Definition threshold_name (q : threshold_quantity) : string :=
  match q with
  | constant => "constant" | slope => "slope" | floor => "floor" | items => "visible" | average => "mean_deviation"
  end.
Definition total_variation_f : formula threshold_quantity :=
  Named "total_variation" (Of constant + Of slope * Of average + Of items * Of floor)%formula.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (out : output_format) (kappa m : R) (logits : list R) (h j : nat).
  Context (u_out g smallest d r : R) (products : list R) (reads : nat) (scale : R) (C rate : R).
  Notation valued := (valued M out kappa m logits h j u_out g smallest d r products reads scale C rate).

  (** The right-hand side of [b5_logsumexp]. *)
  Theorem logsumexp_output_is :
    valued logsumexp_output_f
    = logsumexp_rounding M kappa m logits h j g
      + u_out * (Rabs (ln (partition_function logits)) + logsumexp_rounding M kappa m logits h j g) /\
    valued logsumexp_lost_f = logsumexp_floor M * (1 + u_out) + b2_element.output_floor out.
  Proof.
    rewrite <- (logsumexp_rounding_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    split; reflexivity.
  Qed.

  (** The right-hand side of [b6_entropy]. *)
  Theorem entropy_output_is :
    valued entropy_output_f
    = entropy_rounding M kappa m logits h j r + u_out * (entropy logits + entropy_rounding M kappa m logits h j r) /\
    valued entropy_lost_f = entropy_floor M * (1 + u_out) + b2_element.output_floor out.
  Proof.
    rewrite <- (entropy_rounding_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    split; reflexivity.
  Qed.

  Notation u := (standard_model.roundoff M).
  Notation lnS := (ln (weight_sum m logits)).

  (** Two roundings, one after the other, of a size a + d and an error c + s d. *)
  Lemma rounded_twice a c s :
    let first := c + s * d in
    let second := first + u * (d + a + first) in
    let c2 := c + u * (a + c) in let s2 := s + u * (1 + s) in
    second + u_out * (d + a + second) = c2 + u_out * (a + c2) + (s2 + u_out * (1 + s2)) * d.
  Proof. cbv zeta. ring. Qed.

  (** The right-hand side of [b5_log_softmax], d in the place of m - x. *)
  Theorem log_softmax_threshold_is :
    let first := log_softmax_constant M kappa m logits h j + standard_model.slope M * d in
    let second := first + u * (d + lnS + first) in
    second + u_out * (d + lnS + second)
    = valued centred_constant_f + valued centred_slope_f * d /\
    (standard_model.product_floor M * (1 + u) + standard_model.sum_floor M) * (1 + u_out) + b2_element.output_floor out
    = valued centred_lost_f.
  Proof.
    split; [|reflexivity]. rewrite rounded_twice. unfold log_softmax_constant.
    rewrite <- (log_sum_error_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    rewrite <- (argument_floor_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    rewrite <- (slope_is M out kappa m logits h j u_out g smallest d r products reads scale C rate). reflexivity.
  Qed.

  (** The right-hand side of [b5_log_softmax_uncentred], likewise. *)
  Theorem uncentred_threshold_is :
    uncentred_second M kappa m logits h j g d + u_out * (d + lnS + uncentred_second M kappa m logits h j g d)
    = valued uncentred_constant_f + valued uncentred_slope_f * d /\
    uncentred_floor M * (1 + u_out) + b2_element.output_floor out = valued uncentred_lost_f.
  Proof.
    split; [|reflexivity]. unfold uncentred_second, uncentred_first.
    rewrite <- (logsumexp_rounding_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    rewrite <- (argument_floor_is M out kappa m logits h j u_out g smallest d r products reads scale C rate).
    set (rounding := theorem_formulas.valued _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ logsumexp_rounding_f).
    set (lost := theorem_formulas.valued _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ argument_floor_f).
    replace (rounding + g * (Rabs m + d) + lost) with (rounding + g * Rabs m + lost + g * d) by ring.
    rewrite rounded_twice. reflexivity.
  Qed.
End Values.

Section Shared.
  Context (M : arithmetic) (out : output_format) (kappa m : R) (logits : list R) (h : nat).
  Context (u_out g smallest d r : R) (products : list R) (reads : nat) (scale : R) (C rate : R).
  Notation valued := (valued M out kappa m logits h 0 u_out g smallest d r products reads scale C rate).

  (** The right-hand side of [b4_shared_row]; nothing is rescaled. *)
  Theorem shared_row_sum_is :
    exp (INR h * standard_model.unit M - ln (1 - shared_row_lost M kappa m logits h) + ratio_log M out) - 1
    + size logits * element_floor M out kappa m logits h 0
    = valued shared_rounding_f + valued row_sum_lost_f.
  Proof.
    unfold shared_row_lost.
    rewrite <- (sum_log_is M out kappa m logits h 0 u_out g smallest d r products reads scale C rate).
    rewrite <- (element_floor_is M out kappa m logits h 0 u_out g smallest d r products reads scale C rate).
    rewrite <- (ratio_log_is M out kappa m logits h 0 u_out g smallest d r products reads scale C rate).
    rewrite <- (unit_is M out kappa m logits h 0 u_out g smallest d r products reads scale C rate).
    change (valued shared_rounding_f) with
      (exp (INR h * valued unit_f
            + - ln (1 - size logits * standard_model.sum_floor M * exp (INR h * valued unit_f + valued sum_log_f))
            + 0 + valued ratio_log_f) - 1).
    change (valued row_sum_lost_f) with (size logits * valued element_floor_f).
    f_equal. f_equal. f_equal. unfold Rminus. ring.
  Qed.
End Shared.

(** The right-hand side of [b3_total_variation]. *)
Theorem total_variation_is (m smallest C t lost : R) (logits : list R) :
  value (fun q => match q with
                  | constant => threshold_constant C | slope => threshold_slope smallest C t
                  | floor => lost + threshold_floor smallest | items => size logits
                  | average => row.mean_deviation m logits
                  end) false total_variation_f
  = threshold_constant C + threshold_slope smallest C t * row.mean_deviation m logits
    + size logits * (lost + threshold_floor smallest).
Proof. reflexivity. Qed.
