(** * The right-hand sides of B21 as formulas that grow: each has the value that its theorem speaks of, and the text that
    numerics/rounding/rounding_projections.cpp evaluates on upper bounds.

    Main results
    - [own_error_is]             what d errs by
    - [radicand_error_is], [root_error_is]   the root of a prefix; between the two is a square root, [sqrt_error]
    - [difference_error_is]      what max(top - d, 0) errs by
    - [stored_coefficient_is]    B21's right-hand side

    Source: b21_means.v, b21_root.v, b21_entmax.v; printed by proptests/tests/proofs/formulas.sh. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import formula projected_row b21_means b21_root b21_entmax.
Local Open Scope string_scope.

Inductive quantity :=
| roundoff | sum_floor | product_floor | read_roundoff | read_loss | output_roundoff | output_floor
| maximum_magnitude | height | half_deviation | mean | mean_square | width | spread | shift | root | difference
| top_error | error.

Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | sum_floor => "sum_floor" | product_floor => "product_floor" | read_roundoff => "read_roundoff"
  | read_loss => "read_loss" | output_roundoff => "output_roundoff" | output_floor => "output_floor"
  | maximum_magnitude => "maximum_magnitude" | height => "height" | half_deviation => "half_deviation" | mean => "mean"
  | mean_square => "mean_square" | width => "width" | spread => "spread" | shift => "shift" | root => "root"
  | difference => "difference" | top_error => "top_error" | error => "error"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Let one : formula quantity := Number 1.
  Let two : formula quantity := Number 2.

  Definition unit_f := Named "unit" (MinusLog1m (Of roundoff)).
  Definition deviation_log_f := Named "deviation_log" (unit_f + MinusLog1m (Of read_roundoff)).
  Definition half_loss_f :=
    Named "half_loss"
      (Exp unit_f * (Halved (two * Of read_roundoff * Of maximum_magnitude + two * Of read_loss) + two * Of product_floor)
       + Of sum_floor).
  Definition own_error_f := Named "own_error" (Expm1 deviation_log_f * Of half_deviation + half_loss_f).

  Definition mean_error_f :=
    Named "mean_error"
      (Expm1 (deviation_log_f + (Of height + Number 3) * unit_f) * Of mean
       + Exp ((Of height + Number 3) * unit_f) * (half_loss_f + Of sum_floor) + Of product_floor).
  Definition square_error_f :=
    Named "square_error"
      (Expm1 (two * deviation_log_f + (Of height + Number 4) * unit_f) * Of mean_square
       + Exp ((Of height + Number 4) * unit_f)
         * (two * (Exp deviation_log_f * (half_loss_f * Of mean)) + Squared half_loss_f + Of sum_floor + Of product_floor)
       + Of product_floor).
  Definition radicand_error_f :=
    Named "radicand_error"
      (Expm1 (Number 6 * unit_f) * (Of width + Of mean_square)
       + Exp (Number 6 * unit_f)
         * (square_error_f + mean_error_f * (two * Of mean + mean_error_f) + two * Of sum_floor + Number 3 * Of product_floor)).
  Definition root_error_f :=
    Named "root_error"
      (Expm1 unit_f * Of root
       + Exp unit_f * (mean_error_f + Expm1 (two * unit_f) * Of spread + Exp (two * unit_f) * Of shift + Of product_floor)
       + Of sum_floor).

  Definition difference_error_f :=
    Named "difference_error"
      (Expm1 unit_f * Of difference + Exp unit_f * (own_error_f + Of top_error) + Of sum_floor).
  Definition square_coefficient_f :=
    Named "square_coefficient"
      (Expm1 unit_f * (Of difference * Of difference) + Exp unit_f * (Of error * (two * Of difference + Of error))
       + Of product_floor).
  Definition stored_coefficient_f :=
    Named "stored_coefficient"
      (square_coefficient_f + Of output_roundoff * (Of difference * Of difference + square_coefficient_f) + Of output_floor).

  Definition half_deviation_formulas : list (formula quantity) := [unit_f; deviation_log_f; half_loss_f].
  Definition own_formulas : list (formula quantity) := [own_error_f].
  Definition radicand_formulas : list (formula quantity) := [mean_error_f; square_error_f; radicand_error_f].
  Definition root_formulas : list (formula quantity) := [mean_error_f; root_error_f].
  Definition difference_formulas : list (formula quantity) := [own_error_f; difference_error_f].
  Definition coefficient_formulas : list (formula quantity) := [square_coefficient_f; stored_coefficient_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (P : logit_reading) (H : nat) (m : R).

  Definition is (d mean_d mean_d2 w s x t r e_top e u_out floor_out : R) (q : quantity) : R :=
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
    | half_deviation => d
    | mean => mean_d
    | mean_square => mean_d2
    | width => w
    | spread => s
    | shift => x
    | root => t
    | difference => r
    | top_error => e_top
    | error => e
    end.

  Context (d mean_d mean_d2 w s x t r e_top e u_out floor_out : R).
  Notation value := (formula.value (is d mean_d mean_d2 w s x t r e_top e u_out floor_out) false).
  Notation rho := (deviation_log M P).
  Notation a := (half_loss M P m).

  Theorem own_error_is : value own_error_f = own_error rho a d.
  Proof. reflexivity. Qed.

  Theorem radicand_error_is : value radicand_error_f = radicand_error M rho a H mean_d mean_d2 w.
  Proof. reflexivity. Qed.

  Theorem root_error_is : value root_error_f = root_error M rho a H mean_d s x t.
  Proof. reflexivity. Qed.

  Theorem difference_error_is : value difference_error_f = difference_error M P m e_top d r.
  Proof. reflexivity. Qed.

  Theorem stored_coefficient_is : value stored_coefficient_f = stored_coefficient_error M u_out floor_out r e.
  Proof. reflexivity. Qed.
End Values.
