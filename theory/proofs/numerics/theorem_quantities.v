(** * What the formulas of theorem_formulas.v are of, by the names that the C++ has.

    Source: theorem_formulas.v. *)

From Coq Require Import String.
Local Open Scope string_scope.

(** What the bounds need to know of the arithmetic, of the reduction, of the row and of the output. Five quantities have a
    value in the theorems and a wider one in some contracts: an exponential's log error and loss as it is added
    (weights=), the sum's own rounding (total=, here 0), and the roundings and losses of a quotient. *)
Inductive quantity :=
| roundoff | exp_error | log_error | argument_unit | argument_step | sum_floor | product_floor | exp_floor
| height | rescalings
| visible | conversion | mean_deviation | log_sum | maximum_magnitude | logsumexp_magnitude | deviation
| output_unit | output_roundoff | output_floor | quantum | scaling
| mean_square_deviation | entropy_magnitude | exp_cutoff | reciprocal_error
| dimension | readings | scale_magnitude | dot_magnitude
| item_unit | item_floor | total_unit | divisions | lost_quotients
| chord_log | chord_rate | quantum_log | twenty_fourth.

Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | exp_error => "exp_error" | log_error => "log_error" | argument_unit => "argument_unit"
  | argument_step => "argument_step" | sum_floor => "sum_floor" | product_floor => "product_floor"
  | exp_floor => "exp_floor" | height => "height" | rescalings => "rescalings" | visible => "visible"
  | conversion => "conversion" | mean_deviation => "mean_deviation" | log_sum => "log_sum"
  | maximum_magnitude => "maximum_magnitude" | logsumexp_magnitude => "logsumexp_magnitude" | deviation => "deviation"
  | output_unit => "output_unit" | output_roundoff => "output_roundoff" | output_floor => "output_floor"
  | quantum => "quantum" | scaling => "scaling"
  | mean_square_deviation => "mean_square_deviation" | entropy_magnitude => "entropy_magnitude"
  | exp_cutoff => "exp_cutoff" | reciprocal_error => "reciprocal_error"
  | dimension => "dimension" | readings => "readings" | scale_magnitude => "scale_magnitude"
  | dot_magnitude => "dot_magnitude"
  | item_unit => "item_unit" | item_floor => "item_floor" | total_unit => "total_unit" | divisions => "divisions"
  | lost_quotients => "lost_quotients" | chord_log => "chord_log" | chord_rate => "chord_rate"
  | quantum_log => "quantum_log" | twenty_fourth => "twenty_fourth"
  end.
