(** * The right-hand side of B9 as formulas: the values that its theorems speak of, and the text that numerics/ evaluates.

    A query, a key and a column of values have quantities of their own, so that what they share is computed once. All is made
    of growing functions. A quantity that a contract may widen, and the theorem sets to 0: a weight divided before it meets its value
    ([quotient_floor]).

    Main results
    - [moved_scores_are]   the bounds of [perturbed_statistics], and what moves L and H
    - [query_is_of_b9]     of a query: the common factor's log error, an own term's, and what underflows
    - [key_is_of_b9]       a key's threshold
    - [column_is_of_b9]    the two parts of the right-hand side of [b9_stored_values]: what is rounded, and what underflows

    Source: b9_stored_values.v, perturbed_scores.v; AttentionThreshold in numerics/rounding/rounding_attention.cpp. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import formula row tilted_row element_threshold b1_sum b6_entropy b9_attention b10_temperature
  b9_sharpened b9_threshold b9_stored_values perturbed_scores.
Local Open Scope string_scope.

(** ** The scores as computed *)

Inductive score_quantity :=
| log_sum | mean_deviation | mean_square_deviation | maximum_magnitude | logsumexp_magnitude
| largest_error | mean_error | mean_error_deviation.
Definition score_name (q : score_quantity) : string :=
  match q with
  | log_sum => "log_sum" | mean_deviation => "mean_deviation" | mean_square_deviation => "mean_square_deviation"
  | maximum_magnitude => "maximum_magnitude" | logsumexp_magnitude => "logsumexp_magnitude"
  | largest_error => "largest_error" | mean_error => "mean_error" | mean_error_deviation => "mean_error_deviation"
  end.

Section Scores.
  Local Open Scope formula_scope.
  Let e : formula score_quantity := Of largest_error.
  Let two : formula score_quantity := Number 2.
  Let four : formula score_quantity := Number 4.

  Definition moved_growth_f := Named "moved_growth" (Exp (two * e)).
  Definition moved_log_sum_f := Named "moved_log_sum" (Of log_sum + two * e).
  Definition moved_mean_f := Named "moved_mean" (moved_growth_f * (Of mean_deviation + two * e)).
  Definition moved_square_f :=
    Named "moved_square" (moved_growth_f * (Of mean_square_deviation + four * e * Of mean_deviation + four * Squared e)).
  Definition moved_maximum_f := Named "moved_maximum" (Of maximum_magnitude + e).
  Definition moved_logsumexp_f := Named "moved_logsumexp" (Of logsumexp_magnitude + e).
  (** By how much L and H of the scores as computed differ from the exact ones. *)
  Definition logsumexp_move_f := Named "logsumexp_move" (Of mean_error * Exp e).
  Definition entropy_move_f :=
    Named "entropy_move" (moved_growth_f * (Of mean_error_deviation + Of mean_error * (two * e + moved_mean_f))).

  Definition score_formulas : list (formula score_quantity) :=
    [moved_growth_f; moved_log_sum_f; moved_mean_f; moved_square_f; moved_maximum_f; moved_logsumexp_f; logsumexp_move_f;
     entropy_move_f].
End Scores.

(** ** A query *)

Inductive query_quantity :=
| sum_log | exp_unit | unit | rescale_unit | argument_floor | slope | quotient
| tilt | wider_mean | mean_score_error | largest_score_error
| values_height | rescalings | weight_unit | reading_unit | sums_unit
| exp_floor | weight_floor | quotient_floor | product_floor | sum_floor | sums_floor | quantum_share.
Definition query_name (q : query_quantity) : string :=
  match q with
  | sum_log => "sum_log" | exp_unit => "exp_unit" | unit => "unit" | rescale_unit => "rescale_unit"
  | argument_floor => "argument_floor" | slope => "slope" | quotient => "quotient" | tilt => "tilt" | wider_mean => "wider_mean"
  | mean_score_error => "mean_score_error" | largest_score_error => "largest_score_error" | values_height => "values_height"
  | rescalings => "rescalings" | weight_unit => "weight_unit" | reading_unit => "reading_unit" | sums_unit => "sums_unit"
  | exp_floor => "exp_floor" | weight_floor => "weight_floor" | quotient_floor => "quotient_floor"
  | product_floor => "product_floor" | sum_floor => "sum_floor" | sums_floor => "sums_floor" | quantum_share => "quantum_share"
  end.

Section Query.
  Local Open Scope formula_scope.
  Let one : formula query_quantity := Number 1.
  Let two : formula query_quantity := Number 2.

  Definition rate_f := Named "rate" (Of slope * (one + Of tilt) + Of tilt).
  (** All terms share the denominator, its own rounding and its scores'. *)
  Definition denominator_f :=
    Named "denominator" (Of mean_score_error * Exp (Of largest_score_error) + Of tilt * Of wider_mean).
  Definition common_log_f := Named "common_log" (Of sum_log + denominator_f).
  Definition common_excess_f := Named "common_excess" (Expm1 common_log_f).
  Definition common_growth_f := Named "common_growth" (Exp common_log_f).
  Definition own_log_f :=
    Named "own_log"
      (Of exp_unit + Of rescale_unit + Of argument_floor + two * rate_f * Of largest_score_error
       + (Of values_height + one) * Of unit + Of quotient + Of weight_unit + Of reading_unit
       + (Of values_height + Of rescalings + Number 3) * Of sums_unit).
  Definition widest_log_f := Named "widest_log" (own_log_f + Of largest_score_error).
  Definition widest_growth_f := Named "widest_growth" (Exp widest_log_f).
  Definition lost_weight_f :=
    Named "lost_weight"
      (widest_growth_f * (Of exp_floor + Of weight_floor + WhenRescaled (two * Of exp_floor) + Of quotient_floor)
       + Of quantum_share).
  Definition lost_addend_f :=
    Named "lost_addend"
      (widest_growth_f * (Of product_floor + Of sum_floor + WhenRescaled (two * Of product_floor)
                          + (Number 4 + Of rescalings) * Of sums_floor)).
  (** Behind the sum; nothing is stored where the unit is 0. *)
  Definition quotient_loss_f := Named "quotient_loss" (Of product_floor * Exp (Of sums_unit) + Of sums_floor).

  Definition query_formulas : list (formula query_quantity) :=
    [rate_f; denominator_f; common_log_f; common_excess_f; common_growth_f; own_log_f; widest_log_f; widest_growth_f;
     lost_weight_f; lost_addend_f; quotient_loss_f].
End Query.

(** ** A key, and a column of values *)

Inductive key_quantity := own_log | score_error | chord_slope | deviation | coefficient.
Definition key_name (q : key_quantity) : string :=
  match q with
  | own_log => "own_log" | score_error => "score_error" | chord_slope => "chord_slope" | deviation => "deviation"
  | coefficient => "coefficient"
  end.
Definition key_error_f : formula key_quantity :=
  Named "key_error" ((Expm1 (Of own_log + Of score_error) + Of chord_slope * Of deviation) * Of coefficient)%formula.

Inductive column_quantity :=
| common_excess | common_growth | lost_weight | lost_addend | addends | output | terms | magnitude | quotient_loss
| output_roundoff | output_floor.
Definition column_name (q : column_quantity) : string :=
  match q with
  | common_excess => "common_excess" | common_growth => "common_growth" | lost_weight => "lost_weight"
  | lost_addend => "lost_addend" | addends => "addends" | output => "output" | terms => "terms" | magnitude => "magnitude"
  | quotient_loss => "quotient_loss" | output_roundoff => "output_roundoff" | output_floor => "output_floor"
  end.

Section Column.
  Local Open Scope formula_scope.
  Definition column_rounding_f :=
    Named "column_rounding" (Of common_excess * Of output + Of common_growth * Of terms).
  Definition column_output_f :=
    Named "column_output" (column_rounding_f + Of output_roundoff * (Of output + column_rounding_f)).
  Definition column_lost_f :=
    Named "column_lost"
      ((Of common_growth * (Of magnitude * Of lost_weight + Of addends * Of lost_addend) + Of quotient_loss)
       * (Number 1 + Of output_roundoff) + Of output_floor).
  Definition column_formulas : list (formula column_quantity) := [column_rounding_f; column_output_f; column_lost_f].
End Column.

(** ** Their values are the theorems' right-hand sides *)

Local Open Scope R_scope.

Section Scored.
  Context (keys : list key) (m : R) (error : key -> R) (largest : R).
  Notation scores := (map score keys).

  Definition score_is (q : score_quantity) : R :=
    match q with
    | log_sum => ln (weight_sum m scores)
    | mean_deviation => row.mean_deviation m scores
    | mean_square_deviation => row.mean_square_deviation m scores
    | maximum_magnitude => Rabs m
    | logsumexp_magnitude => Rabs (ln (partition_function scores))
    | largest_error => largest
    | mean_error => b9_attention.mean_score_error keys m error
    | mean_error_deviation => perturbed_scores.mean_error_deviation keys m error
    end.

  (** The right-hand sides of [perturbed_statistics], [perturbed_logsumexp] and [perturbed_entropy]. *)
  Theorem moved_scores_are :
    formula.value score_is false moved_log_sum_f = wider_log_sum keys m largest /\
    formula.value score_is false moved_mean_f = perturbed_scores.wider_mean keys m largest /\
    formula.value score_is false moved_square_f = wider_square keys m largest /\
    formula.value score_is false moved_maximum_f = Rabs m + largest /\
    formula.value score_is false moved_logsumexp_f = Rabs (ln (partition_function scores)) + largest /\
    formula.value score_is false logsumexp_move_f = normaliser_log keys m error largest /\
    formula.value score_is false entropy_move_f = entropy_moved keys m error largest.
  Proof. repeat split; reflexivity. Qed.

End Scored.

Section Values.
  Context (M : arithmetic) (P : weight_format) (lambda_v floor_v reading : R) (row : list (key * R)) (m m' : R) (error : key -> R).
  Context (largest tau s : R) (h j h' j' : nat) (r quantum u_out floor_out : R).
  Notation keys := (map fst row).
  Notation computed_scores := (map computed_score keys).

  Definition query_is (q : query_quantity) : R :=
    match q with
    | sum_log => sigma M 0 (s * m') (scaled s computed_scores) h' j'
    | exp_unit => standard_model.exp_unit M
    | unit => standard_model.unit M
    | rescale_unit => b1_sum.rescale_unit M j
    | argument_floor => b1_sum.argument_floor M 0 j
    | slope => standard_model.slope M
    | quotient => quotient_unit M r
    | tilt => tau
    | wider_mean => b10_temperature.wider_mean m' computed_scores tau
    | mean_score_error => b9_attention.mean_score_error keys m error
    | largest_score_error => largest
    | values_height => INR h
    | rescalings => INR j
    | weight_unit => accumulated_values.weight_unit P
    | exp_floor => standard_model.exp_floor M
    | weight_floor => accumulated_values.weight_floor P
    | product_floor => standard_model.product_floor M
    | sum_floor => standard_model.sum_floor M
    | quantum_share => quantum / 2048
    | reading_unit => reading
    | sums_unit => lambda_v
    | sums_floor => floor_v
    | quotient_floor => 0
    end.
  Definition query_value (f : formula query_quantity) : R :=
    formula.value query_is (match j with 0%nat => false | Datatypes.S _ => true end) f.
  Notation common := (b9_threshold.common M keys m m' error largest tau s h' j').
  Notation own := (stored_own_log M P lambda_v reading largest tau h j r).
  Notation widest := (stored_widest_log M P lambda_v reading largest tau h j r).

  Lemma own_is : query_value own_log_f = own.
  Proof.
    change (query_value own_log_f) with
      (standard_model.exp_unit M + b1_sum.rescale_unit M j + b1_sum.argument_floor M 0 j + 2 * b9_threshold.rate M tau * largest
       + (INR h + 1) * standard_model.unit M + quotient_unit M r + accumulated_values.weight_unit P + reading + (INR h + INR j + 3) * lambda_v).
    unfold stored_own_log, term_log, b1_sum.rescale_unit, b1_sum.argument_floor. ring.
  Qed.

  Theorem query_is_of_b9 :
    query_value rate_f = b9_threshold.rate M tau /\ query_value common_excess_f = exp common - 1 /\
    query_value common_growth_f = exp common /\ query_value own_log_f = own /\ query_value widest_log_f = widest /\
    query_value lost_weight_f = exp widest * b9_threshold.lost_weight M P j + quantum / 2048 /\
    query_value lost_addend_f = exp widest * stored_lost_addend M floor_v j /\
    query_value quotient_loss_f = stored_quotient_loss M lambda_v floor_v.
  Proof.
    assert (wide : query_value widest_log_f = widest) by (unfold stored_widest_log; now rewrite <- own_is).
    repeat split; try easy; try apply own_is.
    - rewrite <- wide. unfold query_value, b9_threshold.lost_weight. destruct j; simpl; ring.
    - change (query_value lost_addend_f) with
        (exp (query_value widest_log_f)
         * (standard_model.product_floor M + standard_model.sum_floor M
            + (if match j with 0%nat => false | Datatypes.S _ => true end then 2 * standard_model.product_floor M else 0)
            + (4 + INR j) * floor_v)).
      rewrite wide. unfold stored_lost_addend, b9_threshold.lost_addend. destruct j; ring.
  Qed.

  Definition key_is (a : key) (q : key_quantity) : R :=
    match q with
    | own_log => query_value own_log_f
    | score_error => error a
    | chord_slope => threshold_slope quantum (query_value widest_log_f) (query_value rate_f)
    | deviation => m - score a
    | coefficient => weight keys m a
    end.

  Theorem key_is_of_b9 a :
    formula.value (key_is a) false key_error_f = stored_threshold M P lambda_v reading row m error largest tau h j r quantum a.
  Proof.
    destruct query_is_of_b9 as [rate_is [_ [_ [own_log_is [widest_is _]]]]]. unfold stored_threshold.
    rewrite <- rate_is, <- own_log_is, <- widest_is. reflexivity.
  Qed.

  Notation output_value := (exact_output row m).
  Definition column_is (q : column_quantity) : R :=
    match q with
    | common_excess => query_value common_excess_f
    | common_growth => query_value common_growth_f
    | lost_weight => query_value lost_weight_f
    | lost_addend => query_value lost_addend_f
    | addends => size row
    | output => Rabs output_value
    | terms => sum (map (fun q => Rabs (snd q) * formula.value (key_is (fst q)) false key_error_f) row)
    | magnitude => exact_magnitude row
    | quotient_loss => query_value quotient_loss_f
    | output_roundoff => u_out
    | output_floor => floor_out
    end.

  (** The right-hand side of [b9_stored_values]. *)
  Theorem column_is_of_b9 :
    let rounding := stored_rounding M P lambda_v reading row m m' error largest tau s h j h' j' r quantum in
    formula.value column_is false column_output_f = rounding + u_out * (Rabs output_value + rounding) /\
    formula.value column_is false column_lost_f
    = stored_lost M P lambda_v floor_v reading row m m' error largest tau s h j h' j' r quantum * (1 + u_out) + floor_out.
  Proof.
    destruct query_is_of_b9 as [_ [excess_is [growth_is [_ [_ [weight_is [addend_is quotient_is]]]]]]].
    assert (terms_are : sum (map (fun q => Rabs (snd q) * formula.value (key_is (fst q)) false key_error_f) row)
      = sum (map (fun q => Rabs (snd q) * stored_threshold M P lambda_v reading row m error largest tau h j r quantum (fst q)) row))
      by (apply sum_map_ext; intros; now rewrite key_is_of_b9).
    cbv zeta. unfold stored_rounding, stored_lost. rewrite <- excess_is, <- growth_is, <- terms_are. split; [reflexivity|].
    change (formula.value column_is false column_lost_f) with
      ((query_value common_growth_f * (exact_magnitude row * query_value lost_weight_f + size row * query_value lost_addend_f)
        + query_value quotient_loss_f) * (1 + u_out) + floor_out).
    rewrite weight_is, addend_is, quotient_is. ring.
  Qed.
End Values.
