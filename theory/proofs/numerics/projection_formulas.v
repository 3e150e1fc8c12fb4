(** * The right-hand sides of B20 as formulas that grow: each has the value that its theorem speaks of, and the text that
    numerics/rounding/rounding_projections.cpp evaluates on upper bounds.

    Main results
    - [condition_is], [inside_is]   what B20 says of supports
    - [stored_element_is]           B20's right-hand side

    Source: b20_supports.v, b20_sparsemax.v; printed by proptests/tests/proofs/formulas.sh. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import formula projected_row b20_supports b20_sparsemax.
Local Open Scope string_scope.

Inductive quantity :=
| roundoff | sum_floor | product_floor | read_roundoff | read_loss | output_roundoff | output_floor
| maximum_magnitude | height | count | deviation | total | value | top | moved | mean_deviation.

Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | sum_floor => "sum_floor" | product_floor => "product_floor" | read_roundoff => "read_roundoff"
  | read_loss => "read_loss" | output_roundoff => "output_roundoff" | output_floor => "output_floor"
  | maximum_magnitude => "maximum_magnitude" | height => "height" | count => "count" | deviation => "deviation"
  | total => "total" | value => "value" | top => "top" | moved => "moved" | mean_deviation => "mean_deviation"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.
  Let two : formula quantity := Number 2.

  (** A deviation. *)
  Definition unit_f := Named "unit" (MinusLog1m (Of roundoff)).
  Definition deviation_log_f := Named "deviation_log" (unit_f + MinusLog1m (Of read_roundoff)).
  Definition deviation_loss_f :=
    Named "deviation_loss"
      (Exp unit_f * (two * Of read_roundoff * Of maximum_magnitude + two * Of read_loss) + Of sum_floor).

  (** Which items belong to the support. *)
  Definition compared_log_f := Named "compared_log" (deviation_log_f + two * unit_f).
  Definition summed_log_f := Named "summed_log" (deviation_log_f + (Of height + one) * unit_f).
  Definition item_loss_f :=
    Named "item_loss" (Exp ((Of height + two) * unit_f) * (two * deviation_loss_f + Of sum_floor + Of product_floor)).
  Definition condition_f :=
    Named "condition"
      (Expm1 compared_log_f * (one + Of count * Of deviation + Of total) + Expm1 summed_log_f * Of total
       + Of count * item_loss_f).
  Definition inside_f :=
    Named "inside" ((two * Expm1 compared_log_f + Expm1 summed_log_f) * Of top + item_loss_f).

  (** A coefficient. *)
  Definition quotient_error_f :=
    Named "quotient_error"
      (Expm1 (Number 3 * unit_f) * (Of top + Of moved)
       + Exp (Number 3 * unit_f) * (Expm1 (deviation_log_f + Of height * unit_f) * Of mean_deviation)
       + Exp ((Of height + Number 3) * unit_f) * (deviation_loss_f + Of sum_floor) + Of product_floor).
  Definition element_f :=
    Named "element"
      (Expm1 unit_f * Of value
       + Exp unit_f * (Expm1 deviation_log_f * Of deviation + deviation_loss_f + quotient_error_f + Of moved) + Of sum_floor).
  Definition stored_element_f :=
    Named "stored_element" (element_f + Of output_roundoff * (Of value + element_f) + Of output_floor).

  Definition deviation_formulas : list (formula quantity) := [unit_f; deviation_log_f; deviation_loss_f].
  Definition support_formulas : list (formula quantity) := [compared_log_f; summed_log_f; item_loss_f; condition_f; inside_f].
  Definition element_formulas : list (formula quantity) := [quotient_error_f; element_f; stored_element_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (P : logit_reading) (H : nat) (m : R).

  Definition is (k D s v t d mean u_out floor_out : R) (q : quantity) : R :=
    match q with
    | roundoff => standard_model.roundoff M
    | sum_floor => standard_model.sum_floor M
    | product_floor => standard_model.product_floor M
    | read_roundoff => projected_row.read_roundoff P
    | read_loss => projected_row.read_loss P
    | output_roundoff => u_out
    | output_floor => floor_out
    | maximum_magnitude => Rabs m
    | height => INR H
    | count => k
    | deviation => D
    | total => s
    | value => v
    | top => t
    | moved => d
    | mean_deviation => mean
    end.

  Theorem condition_is k D s v t d mean u_out floor_out :
    formula.value (is k D s v t d mean u_out floor_out) false condition_f
    = condition M (deviation_log M P) (deviation_loss M P m) H k D s.
  Proof. reflexivity. Qed.

  Theorem inside_is k D s v t d mean u_out floor_out :
    formula.value (is k D s v t d mean u_out floor_out) false inside_f
    = inside M (deviation_log M P) (deviation_loss M P m) H t.
  Proof. reflexivity. Qed.

  Theorem stored_element_is k D s v tau d mean u_out floor_out :
    formula.value (is k D s v (m - tau) d mean u_out floor_out) false stored_element_f
    = stored_element M P H m tau d mean u_out floor_out D v.
  Proof. reflexivity. Qed.
End Values.
