#!/bin/sh
# formulas.sh PROOFS BUILD [--write|HEADER]: the C++ headers of the theorems' formulas and constants, and the table of what
# contracts' words stand for, are what Coq prints; HEADER alone is compared, in the place of theorem_constants.hpp.
set -eu
proofs=$1 build=$2
headers=$(dirname "$0")/../numerics
command -v coqc >/dev/null 2>&1 || { echo "Skipped: no coqc"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/print.v" <<'TEXT'
From Coq Require Import String List ZArith.
From softcheck Require Import adaptive_temperature.
From softcheck.numerics Require Import formula theorem_formulas.
From softcheck.numerics Require output_formulas uncentred_formulas.
Import ListNotations.
Local Open Scope string_scope.
Definition quantities := [roundoff; exp_error; log_error; argument_unit; argument_step; sum_floor; product_floor;
  exp_floor; height; rescalings; visible; conversion; mean_deviation; log_sum; maximum_magnitude;
  logsumexp_magnitude; deviation; output_unit; output_roundoff; output_floor; quantum; scaling;
  mean_square_deviation; entropy_magnitude; exp_cutoff; reciprocal_error;
  dimension; readings; scale_magnitude; dot_magnitude;
  item_unit; item_floor; total_unit; divisions; lost_quotients;
  chord_log; chord_rate; quantum_log; twenty_fourth].
Definition every_quantity_is_there : forall q, In q quantities.
Proof. destruct q; cbn; tauto. Qed.
Definition line (text : string) := text ++ newline.
Definition joined (texts : list string) := fold_right append "" texts.
Definition constant (name : string) (z : Z) :=
  line ("inline constexpr long long " ++ name ++ " = " ++ decimal z ++ ";").
Definition header := joined [
  line "// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the numbers of adaptive temperature, as Coq";
  line "// prints them. Not to be edited.";
  line "// clang-format off"; line "#pragma once"; line "";
  line "#include <array>"; line "";
  line "namespace softcheck::theorems {"; line "";
  line "/// In thousandths, from H^0 on.";
  line ("inline constexpr std::array<long long, " ++ decimal (Z.of_nat (List.length quartic_thousandths)) ++
        "> quartic_thousandths{" ++ String.concat ", " (map decimal quartic_thousandths) ++ "};");
  line "/// Digits behind the decimal point: 5, 5, 5, 18, 18, 14, 14.";
  constant "largest_beta_digits" largest_beta_hundred_thousandths;
  constant "inactive_from_digits" inactive_from_hundred_thousandths;
  constant "lipschitz_digits" lipschitz_hundred_thousandths;
  constant "first_root_digits" first_root_digits;
  constant "last_root_digits" last_root_digits;
  constant "top_digits" top_digits;
  constant "maximum_digits" maximum_digits;
  line ""; "}  // namespace softcheck::theorems"].
Eval vm_compute in header.
TEXT
# The same quantities, and the formulas that numerics/ itself evaluates: of functions that grow, for UpperBound.
sed '/^Definition constant/,$d' "$work/print.v" >"$work/print_bounds.v"
cat >>"$work/print_bounds.v" <<'TEXT'
Module Out := output_formulas.
Definition of_thresholds := [Out.constant; Out.slope; Out.floor; Out.items; Out.average].
Definition every_quantity_of_thresholds_is_there : forall q, In q of_thresholds.
Proof. destruct q; cbn; tauto. Qed.
(* upper_bounds_give_an_upper_bound speaks of these. *)
Definition every_formula_grows :
  forallb grows (sum_formulas ++ element_formulas ++ chord_formulas ++ logarithm_formulas ++ moment_formulas
                 ++ Out.logsumexp_formulas ++ Out.entropy_formulas ++ Out.centred_formulas ++ Out.uncentred_formulas
                 ++ Out.row_sum_formulas ++ uncentred_formulas.uncentred_entropy_formulas) = true := eq_refl.
Definition b3_grows : grows Out.total_variation_f = true := eq_refl.
From softcheck.numerics Require temperature_formulas.
Module Beta := temperature_formulas.
Definition of_beta := [Beta.roundoff; Beta.sum_floor; Beta.product_floor; Beta.entropy; Beta.entropy_error; Beta.lipschitz;
  Beta.coefficient_0; Beta.coefficient_1; Beta.coefficient_2; Beta.coefficient_3; Beta.coefficient_4; Beta.visible;
  Beta.tau; Beta.mean_deviation; Beta.wider; Beta.element_log; Beta.argument_slope].
Definition every_quantity_of_beta_is_there : forall q, In q of_beta.
Proof. destruct q; cbn; tauto. Qed.
Definition every_formula_of_beta_grows : forallb grows (Beta.beta_formulas ++ Beta.mean_formulas ++ Beta.coefficient_formulas) = true := eq_refl.
From softcheck.numerics Require coefficient_formulas.
Module Direct := coefficient_formulas.
Definition of_coefficients := [Direct.unit; Direct.numerator_log; Direct.sum_log; Direct.divisions; Direct.height_log;
  Direct.slope; Direct.shift; Direct.first_excess; Direct.mean_deviation; Direct.log_sum; Direct.log_error; Direct.entropy;
  Direct.epsilon; Direct.numerator_loss; Direct.lost_quotients; Direct.product_floor; Direct.sum_floor; Direct.visible;
  Direct.smallest_log].
Definition every_quantity_of_coefficients_is_there : forall q, In q of_coefficients.
Proof. destruct q; cbn; tauto. Qed.
Definition every_formula_of_coefficients_grows : forallb grows Direct.coefficient_formulas = true := eq_refl.
From softcheck.numerics Require log_softmax_formulas.
Module Logs := log_softmax_formulas.
Definition of_logarithms := [Logs.unit; Logs.numerator_log; Logs.sigma_0; Logs.sum_loss; Logs.total_unit; Logs.divisions;
  Logs.slope; Logs.numerator_loss; Logs.lost_quotients; Logs.cutoff; Logs.logarithm_constant; Logs.logarithm_slope;
  Logs.height_log; Logs.shift; Logs.first_excess; Logs.mean_deviation; Logs.log_sum; Logs.entropy; Logs.product_floor;
  Logs.sum_floor; Logs.visible].
Definition every_quantity_of_logarithms_is_there : forall q, In q of_logarithms.
Proof. destruct q; cbn; tauto. Qed.
Definition every_formula_of_logarithms_grows : forallb grows Logs.logarithm_formulas = true := eq_refl.
Definition header := joined [
  line "// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: right-hand sides of the rounding theorems, as Coq";
  line "// prints them. Not to be edited.";
  line "// clang-format off"; line "#pragma once"; line "";
  line "namespace softcheck::numerics::formulas {"; line "";
  line "/// What the formulas speak of: theory/proofs/numerics/theorem_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ name q ++ "{};")) quantities);
  line "  bool rescaled = false;"; line "};"; line "";
  line "template <class T>"; line "T square(const T& x) {"; line "  return x * x;"; line "}"; line "";
  line "template <class T>"; line "T cube(const T& x) {"; line "  return x * x * x;"; line "}"; line "";
  line "/// B1, and what the bounds have in common.";
  line (structure name "SumBounds" "" [] sum_formulas);
  line "/// B2 and B4.";
  line (structure name "ElementBounds" "SumBounds" sum_formulas (element_formulas ++ Out.row_sum_formulas));
  line "/// B5: a log-sum-exp; x - max - ln S and x - L, linear in the deviation.";
  line (structure name "LogarithmBounds" "SumBounds" sum_formulas
          (logarithm_formulas ++ Out.logsumexp_formulas ++ Out.centred_formulas ++ Out.uncentred_formulas));
  line "/// B6.";
  line (structure name "MomentBounds" "SumBounds" sum_formulas (log_sum_error_f :: moment_formulas ++ Out.entropy_formulas));
  line "/// B7.";
  line (structure name "UncentredMomentBounds" "SumBounds" sum_formulas
          (log_sum_error_f :: reciprocal_unit_f :: uncentred_formulas.uncentred_entropy_formulas));
  line "/// The chord of an element's threshold: of quantities of its own.";
  line (structure name "ChordBounds" "" [] chord_formulas);
  line "namespace variation {"; line "";
  line "/// A threshold of elements, and the row: theory/proofs/numerics/output_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ Out.threshold_name q ++ "{};")) of_thresholds);
  line "};"; line "";
  line "/// B3.";
  line (structure Out.threshold_name "TotalVariationBounds" "" [] [Out.total_variation_f]);
  line "}  // namespace variation"; line "";
  line "namespace coefficients {"; line "";
  line "/// What the formulas of B6d speak of: theory/proofs/numerics/coefficient_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ Direct.name q ++ "{};")) of_coefficients);
  line "};"; line "";
  line "/// B6d: an entropy from coefficients.";
  line (structure Direct.name "DirectBounds" "" [] Direct.coefficient_formulas);
  line "}  // namespace coefficients"; line "";
  line "namespace logarithms {"; line "";
  line "/// What the formulas of B6d from a log-softmax speak of: theory/proofs/numerics/log_softmax_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ Logs.name q ++ "{};")) of_logarithms);
  line "};"; line "";
  line "/// B6d: an entropy from the logarithms of a log-softmax.";
  line (structure Logs.name "EntropyBounds" "" [] Logs.logarithm_formulas);
  line "}  // namespace logarithms"; line "";
  line "namespace temperature {"; line "";
  line "/// What the formulas of B10 speak of: theory/proofs/numerics/temperature_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ Beta.name q ++ "{};")) of_beta);
  line "};"; line "";
  line "/// B10: the error of beta.";
  line (structure Beta.name "BetaBounds" "" [] Beta.beta_formulas);
  line "/// B10: the mean deviation at a beta that errs.";
  line (structure Beta.name "MeanBounds" "" [] Beta.mean_formulas);
  line "/// B10: log error of a coefficient, and its rate in the deviation.";
  line (structure Beta.name "CoefficientBounds" "" [] Beta.coefficient_formulas);
  line "}  // namespace temperature"; line "";
  "}  // namespace softcheck::numerics::formulas"].
Eval vm_compute in header.
TEXT
cat >"$work/print_gradient.v" <<'TEXT'
From Coq Require Import String List ZArith.
From softcheck.numerics Require Import formula gradient_formulas.
Import ListNotations.
Local Open Scope string_scope.
Definition quantities := [roundoff; exp_error; sum_floor; product_floor; exp_floor; reading_unit; reading_loss;
  product_unit; product_loss; output_roundoff; output_floor; height; terms; magnitude; mean_magnitude;
  largest_coefficient; largest_upstream; coefficient; upstream; gradient_magnitude; argument_log; power; argument].
Definition every_quantity_is_there : forall q, In q quantities.
Proof. destruct q; cbn; tauto. Qed.
Definition line (text : string) := text ++ newline.
Definition joined (texts : list string) := fold_right append "" texts.
Definition header := joined [
  line "// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the right-hand sides of the theorems about";
  line "// gradients, as Coq prints them. Not to be edited.";
  line "// clang-format off"; line "#pragma once"; line "";
  line "namespace softcheck::theorems::gradients {"; line "";
  line "/// What the formulas speak of: theory/proofs/numerics/gradient_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ name q ++ "{};")) quantities);
  line "};"; line "";
  line "/// B12 and B13.";
  line (structure name "GradientBounds" "" [] all_formulas);
  line "}  // namespace softcheck::theorems::gradients"].
Eval vm_compute in header.
TEXT
cat >"$work/print_projection.v" <<'TEXT'
From Coq Require Import String List ZArith.
From softcheck.numerics Require Import formula projection_formulas.
Import ListNotations.
Local Open Scope string_scope.
Definition quantities := [roundoff; sum_floor; product_floor; read_roundoff; read_loss; output_roundoff; output_floor;
  maximum_magnitude; height; count; deviation; total; value; top; moved; mean_deviation].
Definition every_quantity_is_there : forall q, In q quantities.
Proof. destruct q; cbn; tauto. Qed.
Definition every_formula_grows : forallb grows (deviation_formulas ++ support_formulas ++ element_formulas) = true := eq_refl.
From softcheck.numerics Require entmax_formulas.
Module Root := entmax_formulas.
Definition of_roots := [Root.roundoff; Root.sum_floor; Root.product_floor; Root.read_roundoff; Root.read_loss;
  Root.output_roundoff; Root.output_floor; Root.maximum_magnitude; Root.height; Root.half_deviation; Root.mean;
  Root.mean_square; Root.width; Root.spread; Root.shift; Root.root; Root.difference; Root.top_error; Root.error].
Definition every_quantity_of_roots_is_there : forall q, In q of_roots.
Proof. destruct q; cbn; tauto. Qed.
Definition every_formula_of_roots_grows :
  forallb grows (Root.half_deviation_formulas ++ Root.own_formulas ++ Root.radicand_formulas ++ Root.root_formulas
                 ++ Root.difference_formulas ++ Root.coefficient_formulas) = true := eq_refl.
Definition line (text : string) := text ++ newline.
Definition joined (texts : list string) := fold_right append "" texts.
Definition header := joined [
  line "// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the right-hand sides of the theorems about";
  line "// projections, as Coq prints them. Not to be edited.";
  line "// clang-format off"; line "#pragma once"; line "";
  line "namespace softcheck::numerics::formulas::projection {"; line "";
  line "/// What the formulas speak of: theory/proofs/numerics/projection_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ name q ++ "{};")) quantities);
  line "};"; line "";
  line "/// A deviation, as it is read and subtracted.";
  line (structure name "DeviationBounds" "" [] deviation_formulas);
  line "/// B20: which items belong to the support.";
  line (structure name "SupportBounds" "DeviationBounds" deviation_formulas support_formulas);
  line "/// B20: a coefficient.";
  line (structure name "ElementBounds" "DeviationBounds" deviation_formulas element_formulas);
  line "namespace roots {"; line "";
  line "/// What the formulas of B21 speak of: theory/proofs/numerics/entmax_formulas.v.";
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ Root.name q ++ "{};")) of_roots);
  line "};"; line "";
  line "template <class T>"; line "T square(const T& x) {"; line "  return x * x;"; line "}"; line "";
  line "/// Half of a deviation.";
  line (structure Root.name "HalfDeviationBounds" "" [] Root.half_deviation_formulas);
  line (structure Root.name "OwnBounds" "HalfDeviationBounds" Root.half_deviation_formulas Root.own_formulas);
  line "/// B21: the radicand of a prefix, and its root; between the two is a square root.";
  line (structure Root.name "RadicandBounds" "HalfDeviationBounds" Root.half_deviation_formulas Root.radicand_formulas);
  line (structure Root.name "RootBounds" "HalfDeviationBounds" Root.half_deviation_formulas Root.root_formulas);
  line "/// B21: the root of a coefficient, and its square.";
  line (structure Root.name "DifferenceBounds" "HalfDeviationBounds" Root.half_deviation_formulas Root.difference_formulas);
  line (structure Root.name "CoefficientBounds" "HalfDeviationBounds" Root.half_deviation_formulas Root.coefficient_formulas);
  line "}  // namespace roots"; line "";
  "}  // namespace softcheck::numerics::formulas::projection"].
Eval vm_compute in header.
TEXT
cat >"$work/print_attention.v" <<'TEXT'
From Coq Require Import String List ZArith.
From softcheck.numerics Require Import formula attention_formulas.
From softcheck.numerics Require score_formulas.
Module Score := score_formulas.
From softcheck.numerics Require split_score_formulas.
Module Split := split_score_formulas.
Import ListNotations.
Local Open Scope string_scope.
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
Definition line (text : string) := text ++ newline.
Definition joined (texts : list string) := fold_right append "" texts.
Definition room {q : Type} (title what : string) (name : q -> string) (quantities : list q) (more : list string)
    (formulas : list (formula q)) (class : string) := joined [
  line ("namespace " ++ title ++ " {"); line "";
  line ("/// " ++ what);
  line "template <class T>"; line "struct Quantities {";
  joined (map (fun q => line ("  T " ++ name q ++ "{};")) quantities); joined (map line more);
  line "};"; line "";
  line (structure name class "" [] formulas);
  line ("}  // namespace " ++ title); line ""].
Definition header := joined [
  line "// Generated from theory/proofs by proptests/tests/proofs/formulas.sh: the right-hand sides of the theorems about";
  line "// attention, as Coq prints them. Not to be edited.";
  line "// clang-format off"; line "#pragma once"; line "";
  line "/// B9. What the formulas speak of: theory/proofs/numerics/attention_formulas.v.";
  line "namespace softcheck::numerics::formulas::attention {"; line "";
  line "template <class T>"; line "T square(const T& x) {"; line "  return x * x;"; line "}"; line "";
  room "whole" "One score, whose scale is one factor: theory/proofs/numerics/score_formulas.v." Score.name of_one_score []
    Score.score_formulas "WholeScoreBounds";
  room "split" "A score whose scale is split, and one that is stored: theory/proofs/numerics/split_score_formulas.v." Split.name
    of_split_scores [] Split.split_formulas "SplitScoreBounds";
  line "namespace split {"; line "";
  line (structure Split.name "StoredScoreBounds" "" [] [Split.stored_score_f]);
  line "}  // namespace split"; line "";
  room "scores" "The exact scores and their errors: the row as computed." score_name of_scores [] score_formulas "ScoreBounds";
  room "queries" "What all keys of a query share." query_name of_queries ["  bool rescaled = false;"] query_formulas "QueryBounds";
  room "keys" "One key." key_name of_keys [] [key_error_f] "KeyBounds";
  room "columns" "One column of values." column_name of_columns [] column_formulas "ColumnBounds";
  "}  // namespace softcheck::numerics::formulas::attention"].
Eval vm_compute in header.
TEXT
cat >"$work/print_words.v" <<'TEXT'
From Coq Require Import String List.
From softcheck.contract Require Import contract_table.
Local Open Scope string_scope.
Set Printing Depth 1000000.
Eval vm_compute in table.
TEXT
printed() { # VERNACULAR: the string it evaluates to, as lines
  coqc -q -Q "$build" softcheck -w none "$1" >"$work/printed"
  sed -e '1s/^ *= "//' -e '/^ *: string$/d' -e 's/"%string$//' -e '$s/"$//' "$work/printed" | sed -e 's/" *$//'
}
printed "$work/print.v" >"$work/theorem_constants.hpp"
case ${3:-} in
  '' | --write) ;;
  *)
    diff "$3" "$work/theorem_constants.hpp" || { echo "$3 is not what Coq prints"; exit 1; }
    exit 0
    ;;
esac
printed "$work/print_bounds.v" >"$work/theorem_bounds.hpp"
printed "$work/print_gradient.v" >"$work/theorem_gradient_formulas.hpp"
printed "$work/print_projection.v" >"$work/theorem_projection_bounds.hpp"
printed "$work/print_attention.v" >"$work/theorem_attention_bounds.hpp"
# A list of lines, each a string.
coqc -q -Q "$build" softcheck -w none "$work/print_words.v" | grep -oE '"[^"]*"' | tr -d '"' >"$work/contract_words.tsv"
if [ "${3:-}" = --write ]; then
  cp "$work/contract_words.tsv" "$headers/contract_words.tsv.new" && mv "$headers/contract_words.tsv.new" "$headers/contract_words.tsv"
else
  diff "$headers/contract_words.tsv" "$work/contract_words.tsv" ||
    { echo "contract_words.tsv is not what Coq prints: sh $0 $proofs $build --write"; exit 1; }
  echo "contract_words.tsv: $(wc -l <"$headers/contract_words.tsv") lines agree"
fi
for name in theorem_constants theorem_bounds theorem_gradient_formulas theorem_projection_bounds theorem_attention_bounds; do
  case $name in
    *_bounds) header=$headers/../../../numerics/rounding/$name.hpp ;;
    *) header=$headers/$name.hpp ;;
  esac
  if [ "${3:-}" = --write ]; then
    cp "$work/$name.hpp" "$header.new" && mv "$header.new" "$header"
    continue
  fi
  diff "$header" "$work/$name.hpp" || { echo "$name.hpp is not what Coq prints: sh $0 $proofs $build --write"; exit 1; }
  echo "$name.hpp: $(grep -c '^template' "$header") templates agree"
done
