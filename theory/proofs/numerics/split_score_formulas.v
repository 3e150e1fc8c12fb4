(** * A score whose scale is split, and a score that is stored, as formulas.

    Main results
    - [split_score_is]    the right-hand side of [score_split]
    - [stored_score_is]   that of [stored_score]

    Source: b9_split_scale.v; score_error and stored_score_error in numerics/rounding/rounding_attention.cpp. *)

From Coq Require Import ZArith String.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model.
From softcheck.numerics Require Import formula b9_split_scale.
Local Open Scope string_scope.

(** [readings] are those of both factors, [narrowed_unit] is the root's in double, [factor_unit] and [stored_floor] of a factor that is
    stored, [score_unit] and [score_floor] of a score that is. *)
Inductive quantity :=
| roundoff | dimension | readings | narrowed_unit | factor_unit | stored_floor | root | scale_magnitude | dot_magnitude | factor_sum
| product_floor | sum_floor | score_magnitude | score_error | score_unit | score_floor.
Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | dimension => "dimension" | readings => "readings" | narrowed_unit => "narrowed_unit"
  | factor_unit => "factor_unit" | stored_floor => "stored_floor" | root => "root" | scale_magnitude => "scale_magnitude"
  | dot_magnitude => "dot_magnitude" | factor_sum => "factor_sum" | product_floor => "product_floor" | sum_floor => "sum_floor"
  | score_magnitude => "score_magnitude" | score_error => "score_error" | score_unit => "score_unit" | score_floor => "score_floor"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Definition split_log_f :=
    Named "split_log"
      ((Of dimension + Number 4 + Of readings) * MinusLog1m (Of roundoff) + Number 2 * Of narrowed_unit + Number 2 * Of factor_unit).
  Definition factor_floor_f := Named "factor_floor" (Of product_floor + Of stored_floor).
  Definition lost_factors_f :=
    Named "lost_factors" (factor_floor_f * (Of root * Of factor_sum + Of dimension * factor_floor_f)).
  Definition split_score_f :=
    Named "split_score"
      (Expm1 split_log_f * (Of scale_magnitude * Of dot_magnitude)
       + Exp split_log_f * (lost_factors_f + Of dimension * (Of product_floor + Of sum_floor))).
  Definition split_formulas : list (formula quantity) := [split_log_f; factor_floor_f; lost_factors_f; split_score_f].
  Definition stored_score_f :=
    Named "stored_score" (Of score_error + Expm1 (Of score_unit) * (Of score_magnitude + Of score_error) + Of score_floor).
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (root_of lambda_64 lambda_in floor_in r : R) {A : Type} (components : list A) (first second : A -> R).
  Context (lambda_v floor_v score error : R).

  Definition is (q : quantity) : R :=
    match q with
    | roundoff => standard_model.roundoff M
    | dimension => size components
    | readings => 2 * r
    | narrowed_unit => lambda_64
    | factor_unit => lambda_in
    | stored_floor => floor_in
    | root => Rabs root_of
    | scale_magnitude => root_of ^ 2
    | dot_magnitude => sum (map (fun a => Rabs (first a * second a)) components)
    | factor_sum => sum (map (fun a => Rabs (first a) + Rabs (second a)) components)
    | product_floor => standard_model.product_floor M
    | sum_floor => standard_model.sum_floor M
    | score_magnitude => Rabs score
    | score_error => error
    | score_unit => lambda_v
    | score_floor => floor_v
    end.

  (** The right-hand side of [score_split]. *)
  Theorem split_score_is :
    value is false split_score_f = split_score_error M root_of lambda_64 lambda_in floor_in r components first second.
  Proof. reflexivity. Qed.

  (** The right-hand side of [stored_score]. *)
  Theorem stored_score_is : value is false stored_score_f = error + (exp lambda_v - 1) * (Rabs score + error) + floor_v.
  Proof. reflexivity. Qed.
End Values.
