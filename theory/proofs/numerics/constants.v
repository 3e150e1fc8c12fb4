(** * The integer coefficients of the rounding bounds.

    Each is used in the statement of the theorem named beside it; numerics/rounding*.cpp carries the same numbers. *)

From Coq Require Import ZArith.
Local Open Scope Z_scope.

(** B1: what a sum's log error counts.
    sigma_0 = h lambda + lambda_E + R (lambda_E + lambda) + c + mu; see [sum_log], [rescale_unit]. *)
Definition rescaling_exponentials : Z := 1.
Definition rescaling_products : Z := 1.
(** Differences on a path, beside R. *)
Definition differences_beside_rescalings : Z := 1.
(** a: underflow an item, in [lost]: its exponential and its addition, and with rescalings two more of each. *)
Definition sum_losses_exponential : Z := 1.
Definition sum_losses_addition : Z := 1.
Definition sum_losses_rescaled_exponential : Z := 2.
Definition sum_losses_rescaled_product : Z := 2.

(** B2: a reciprocal and its product; each may underflow. *)
Definition division_roundings : Z := 2.
Definition division_losses : Z := 2.

(** B10: Horner's rule at degree 4, two roundings a step, and one of the first coefficient as it is stored. *)
Definition horner_roundings : Z := 9.
