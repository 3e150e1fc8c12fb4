(** * The integer coefficients of the rounding bounds.

    numerics/rounding*.cpp carries the same numbers. [carried_constants.v] proves that the theorems' right-hand sides are
    the bounds with these coefficients; those that a statement names itself say so. *)

From Coq Require Import ZArith.
Local Open Scope Z_scope.

(** B1, RoundingModel::set_row: a rescaling's exponentials and products; differences on a path beside R. *)
Definition rescaling_exponentials : Z := 1.
Definition rescaling_products : Z := 1.
Definition differences_beside_rescalings : Z := 1.
(** What underflow takes an item: its exponential and its addition; with rescalings, besides, exponentials and products. *)
Definition sum_lost_exponentials : Z := 1.
Definition sum_lost_additions : Z := 1.
Definition sum_lost_rescaled_exponentials : Z := 2.
Definition sum_lost_rescaled_products : Z := 2.

(** B2, ratio_log and element_floor: a reciprocal and its product; each may underflow. In [ratio_log] and
    [element_floor]. *)
Definition division_roundings : Z := 2.
Definition division_losses : Z := 2.
(** numerator_log: of a numerator rescaled once, late. *)
Definition late_exponentials : Z := 1.
Definition late_products : Z := 1.

(** B6, moment_log and lost_moment: a rescaling's products and additions (T <- a (T + d S)); a term's own product. *)
Definition moment_rescaling_roundings : Z := 2.
Definition moment_products : Z := 1.
Definition moment_lost_exponentials : Z := 1.
Definition moment_lost_products : Z := 1.
Definition moment_lost_additions : Z := 1.
Definition moment_lost_rescaled_exponentials : Z := 4.
Definition moment_lost_rescaled_products : Z := 3.
Definition moment_lost_rescaled_additions : Z := 1.

(** B9, AttentionThreshold: the product with a value beside the height of P V; by how many largest score errors a
    deviation moves. *)
Definition value_products : Z := 1.
Definition moved_score_errors : Z := 2.
Definition values_lost_rescaled_exponentials : Z := 2.

(** B10, polynomial_error: Horner's rule at degree 4, two roundings a step, and one of the first coefficient as it is
    stored; operations a step that may underflow. In [horner_error] and [b10_beta]. *)
Definition horner_roundings : Z := 9.
Definition horner_losses : Z := 2.

(** RoundingModel::element: from the last deviation on, both values are below 2^-this of the smallest number. *)
Definition threshold_spare_bits : Z := 11.
