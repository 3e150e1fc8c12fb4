From printed Require Import printing.
From softcheck.numerics Require Import attention_formulas.
From softcheck.numerics Require score_formulas split_score_formulas.
Module Score := score_formulas.
Module Split := split_score_formulas.

Definition of_scores := [log_sum; mean_deviation; mean_square_deviation; maximum_magnitude; logsumexp_magnitude;
  largest_error; mean_error; mean_error_deviation].
Definition of_queries := [sum_log; exp_unit; unit; rescale_unit; argument_floor; slope; quotient; tilt; wider_mean;
  mean_score_error; largest_score_error; values_height; rescalings; weight_unit; reading_unit; sums_unit; exp_floor;
  weight_floor; quotient_floor; product_floor; sum_floor; sums_floor; quantum_share].
Definition of_keys := [own_log; score_error; chord_slope; deviation; coefficient].
Definition of_columns := [common_excess; common_growth; lost_weight; lost_addend; addends; output; terms; magnitude;
  quotient_loss; output_roundoff; output_floor].
Definition of_one_score := [Score.roundoff; Score.dimension; Score.readings; Score.scale_magnitude; Score.products_scale;
  Score.dot_magnitude; Score.factor_sum; Score.product_floor; Score.sum_floor].
Definition of_split_scores := [Split.roundoff; Split.dimension; Split.readings; Split.narrowed_unit; Split.factor_unit;
  Split.stored_floor; Split.root; Split.scale_magnitude; Split.dot_magnitude; Split.factor_sum; Split.product_floor;
  Split.sum_floor; Split.score_magnitude; Split.score_error; Split.score_unit; Split.score_floor].
Definition every_quantity_is_there : (forall q, In q of_scores) /\ (forall q, In q of_queries) /\
  (forall q, In q of_keys) /\ (forall q, In q of_columns) /\ (forall q, In q of_one_score) /\ (forall q, In q of_split_scores).
Proof. repeat split; destruct q; cbn; tauto. Qed.
Definition every_formula_grows :
  (forallb grows Score.score_formulas && forallb grows Split.split_formulas && grows Split.stored_score_f
   && forallb grows score_formulas && forallb grows query_formulas && grows key_error_f
   && forallb grows column_formulas)%bool = true := eq_refl.

Definition part {quantity : Type} (space comment : string) (name : quantity -> string) (quantities : list quantity)
    (more : list string) (formulas : list (formula quantity)) (title : string) : string :=
  room space [numbers name comment quantities more; class name "" title formulas].

Definition header := joined [
  preamble "the right-hand sides of the theorems about" "attention, as Coq ";
  line "/// B9. What the formulas speak of: theory/proofs/numerics/attention_formulas.v.";
  opened "softcheck::numerics::formulas::attention"; square;
  part "whole" "One score, whose scale is one factor: theory/proofs/numerics/score_formulas.v." Score.name of_one_score []
    Score.score_formulas "WholeScoreBounds";
  part "split" "A score whose scale is split, and one that is stored: theory/proofs/numerics/split_score_formulas.v." Split.name
    of_split_scores [] Split.split_formulas "SplitScoreBounds";
  room "split" [class Split.name "" "StoredScoreBounds" [Split.stored_score_f]];
  part "scores" "The exact scores and their errors: the row as computed." score_name of_scores [] score_formulas "ScoreBounds";
  part "queries" "What all keys of a query share." query_name of_queries ["  bool rescaled = false;"] query_formulas "QueryBounds";
  part "keys" "One key." key_name of_keys [] [key_error_f] "KeyBounds";
  part "columns" "One column of values." column_name of_columns [] column_formulas "ColumnBounds";
  closed "softcheck::numerics::formulas::attention"].
Eval vm_compute in header.
