(** The formulas that numerics/ itself evaluates: of functions that grow, for UpperBound. *)

From printed Require Import printing.
From softcheck.numerics Require Import theorem_formulas.
From softcheck.numerics Require output_formulas uncentred_formulas temperature_formulas coefficient_formulas log_softmax_formulas.
Module Out := output_formulas.
Module Beta := temperature_formulas.
Module Direct := coefficient_formulas.
Module Logs := log_softmax_formulas.

Definition quantities := [roundoff; exp_error; log_error; argument_unit; argument_step; sum_floor; product_floor;
  exp_floor; height; rescalings; visible; conversion; mean_deviation; log_sum; maximum_magnitude;
  logsumexp_magnitude; deviation; output_unit; output_roundoff; output_floor; quantum; scaling;
  mean_square_deviation; entropy_magnitude; exp_cutoff; reciprocal_error;
  dimension; readings; scale_magnitude; dot_magnitude;
  item_unit; item_floor; total_unit; divisions; lost_quotients;
  chord_log; chord_rate; quantum_log; twenty_fourth].
Definition of_thresholds := [Out.constant; Out.slope; Out.floor; Out.items; Out.average].
Definition of_beta := [Beta.roundoff; Beta.sum_floor; Beta.product_floor; Beta.entropy; Beta.entropy_error; Beta.lipschitz;
  Beta.coefficient_0; Beta.coefficient_1; Beta.coefficient_2; Beta.coefficient_3; Beta.coefficient_4; Beta.visible;
  Beta.tau; Beta.mean_deviation; Beta.wider; Beta.element_log; Beta.argument_slope].
Definition of_coefficients := [Direct.unit; Direct.numerator_log; Direct.sum_log; Direct.divisions; Direct.height_log;
  Direct.slope; Direct.shift; Direct.first_excess; Direct.mean_deviation; Direct.log_sum; Direct.log_error; Direct.entropy;
  Direct.epsilon; Direct.numerator_loss; Direct.lost_quotients; Direct.product_floor; Direct.sum_floor; Direct.visible;
  Direct.smallest_log].
Definition of_logarithms := [Logs.unit; Logs.numerator_log; Logs.sigma_0; Logs.sum_loss; Logs.total_unit; Logs.divisions;
  Logs.slope; Logs.numerator_loss; Logs.lost_quotients; Logs.cutoff; Logs.logarithm_constant; Logs.logarithm_slope;
  Logs.height_log; Logs.shift; Logs.first_excess; Logs.mean_deviation; Logs.log_sum; Logs.entropy; Logs.product_floor;
  Logs.sum_floor; Logs.visible].
Definition every_quantity_is_there :
  (forall q, In q quantities) /\ (forall q, In q of_thresholds) /\ (forall q, In q of_beta) /\
  (forall q, In q of_coefficients) /\ (forall q, In q of_logarithms).
Proof. repeat split; destruct q; cbn; tauto. Qed.

(* upper_bounds_give_an_upper_bound speaks of these. *)
Definition every_formula_grows :
  (forallb grows (sum_formulas ++ element_formulas ++ chord_formulas ++ logarithm_formulas ++ moment_formulas
                  ++ Out.logsumexp_formulas ++ Out.entropy_formulas ++ Out.centred_formulas ++ Out.uncentred_formulas
                  ++ Out.row_sum_formulas ++ uncentred_formulas.uncentred_entropy_formulas)
   && grows Out.total_variation_f && forallb grows (Beta.beta_formulas ++ Beta.mean_formulas ++ Beta.coefficient_formulas)
   && forallb grows Direct.coefficient_formulas && forallb grows Logs.logarithm_formulas)%bool = true := eq_refl.

Definition after_the_sum := class_after name "SumBounds" sum_formulas.

Definition header := joined [
  preamble "right-hand sides of the rounding theorems, as Coq" ""; opened "softcheck::numerics::formulas";
  numbers name "What the formulas speak of: theory/proofs/numerics/theorem_formulas.v." quantities ["  bool rescaled = false;"];
  square; cube;
  class name "B1, and what the bounds have in common." "SumBounds" sum_formulas;
  after_the_sum "B2 and B4." "ElementBounds" (element_formulas ++ Out.row_sum_formulas);
  after_the_sum "B5: a log-sum-exp; x - max - ln S and x - L, linear in the deviation." "LogarithmBounds"
    (logarithm_formulas ++ Out.logsumexp_formulas ++ Out.centred_formulas ++ Out.uncentred_formulas);
  after_the_sum "B6." "MomentBounds" (log_sum_error_f :: moment_formulas ++ Out.entropy_formulas);
  after_the_sum "B7." "UncentredMomentBounds"
    (log_sum_error_f :: reciprocal_unit_f :: uncentred_formulas.uncentred_entropy_formulas);
  class name "The chord of an element's threshold: of quantities of its own." "ChordBounds" chord_formulas;
  room "variation" [
    numbers Out.threshold_name "A threshold of elements, and the row: theory/proofs/numerics/output_formulas.v." of_thresholds [];
    class Out.threshold_name "B3." "TotalVariationBounds" [Out.total_variation_f]];
  room "coefficients" [
    numbers Direct.name "What the formulas of B6d speak of: theory/proofs/numerics/coefficient_formulas.v." of_coefficients [];
    class Direct.name "B6d: an entropy from coefficients." "DirectBounds" Direct.coefficient_formulas];
  room "logarithms" [
    numbers Logs.name "What the formulas of B6d from a log-softmax speak of: theory/proofs/numerics/log_softmax_formulas.v."
      of_logarithms [];
    class Logs.name "B6d: an entropy from the logarithms of a log-softmax." "EntropyBounds" Logs.logarithm_formulas];
  room "temperature" [
    numbers Beta.name "What the formulas of B10 speak of: theory/proofs/numerics/temperature_formulas.v." of_beta [];
    class Beta.name "B10: the error of beta." "BetaBounds" Beta.beta_formulas;
    class Beta.name "B10: the mean deviation at a beta that errs." "MeanBounds" Beta.mean_formulas;
    class Beta.name "B10: log error of a coefficient, and its rate in the deviation." "CoefficientBounds" Beta.coefficient_formulas];
  closed "softcheck::numerics::formulas"].
Eval vm_compute in header.
