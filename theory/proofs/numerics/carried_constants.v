(** * The right-hand sides of B1 to B10, with their integer coefficients by name.

    Main result: each definition that a bound's theorem uses equals the expression in numerics/rounding*.cpp with the
    coefficients of constants.v. A coefficient changed there makes this file fail. *)

From Coq Require Import ZArith.
From softcheck.numerics Require Import constants row reduction moments element_threshold b1_sum b2_element b9_attention
  b10_temperature.
Local Open Scope R_scope.

Section Carried.
  Context (M : arithmetic) (kappa : R) (h j : nat).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).

  Theorem carried_direct_log :
    direct_log M kappa h j
    = INR h * lambda + lambdaE
      + INR j * (IZR rescaling_exponentials * lambdaE + IZR rescaling_products * lambda)
      + ((INR j + IZR differences_beside_rescalings) * argument_step M + (1 + slope M) * kappa).
  Proof. unfold direct_log, rescale_unit, argument_floor, rescaling_exponentials, rescaling_products, differences_beside_rescalings. ring. Qed.

  Theorem carried_lost :
    lost M j = IZR sum_lost_exponentials * exp_floor M + IZR sum_lost_additions * sum_floor M
               + match j with
                 | 0%nat => 0
                 | S _ => IZR sum_lost_rescaled_exponentials * exp_floor M + IZR sum_lost_rescaled_products * product_floor M
                 end.
  Proof.
    unfold lost, sum_lost_exponentials, sum_lost_additions, sum_lost_rescaled_exponentials, sum_lost_rescaled_products.
    destruct j; ring.
  Qed.

  Theorem carried_numerator_log :
    numerator_log M kappa j
    = lambdaE + argument_floor M kappa j + when_rescaled j (IZR late_exponentials * lambdaE + IZR late_products * lambda).
  Proof. unfold numerator_log, when_rescaled, late_exponentials, late_products. destruct j; ring. Qed.

  Theorem carried_moment_log :
    moment_log M (INR h) j
    = INR h * lambda + lambdaE
      + INR j * (IZR rescaling_exponentials * lambdaE + IZR moment_rescaling_roundings * lambda)
      + IZR moment_products * lambda + argument_unit M
      + (INR j + IZR differences_beside_rescalings) * argument_step M.
  Proof.
    unfold moment_log, rescaling_exponentials, moment_rescaling_roundings, moment_products, differences_beside_rescalings.
    ring.
  Qed.

  Theorem carried_lost_moment :
    lost_moment M j
    = IZR moment_lost_exponentials * exp_floor M * exp_cutoff M + IZR moment_lost_products * product_floor M
      + IZR moment_lost_additions * sum_floor M
      + match j with
        | 0%nat => 0
        | S _ => IZR moment_lost_rescaled_exponentials * exp_floor M * exp_cutoff M
                 + IZR moment_lost_rescaled_products * product_floor M + IZR moment_lost_rescaled_additions * sum_floor M
        end.
  Proof.
    unfold lost_moment, moment_lost_exponentials, moment_lost_products, moment_lost_additions,
      moment_lost_rescaled_exponentials, moment_lost_rescaled_products, moment_lost_rescaled_additions.
    destruct j; ring.
  Qed.

  Theorem carried_term_log (P : weight_format) :
    term_log M P h j
    = (INR h + IZR value_products) * lambda + lambdaE
      + INR j * (IZR rescaling_exponentials * lambdaE + IZR rescaling_products * lambda) + weight_unit P
      + (INR j + IZR differences_beside_rescalings) * argument_step M.
  Proof.
    unfold term_log, value_products, rescaling_exponentials, rescaling_products, differences_beside_rescalings. ring.
  Qed.

  Theorem carried_key_log (P : weight_format) m error largest a :
    key_log M P m error largest h j a
    = error a + term_log M P h j + slope M * ((m - score a) + IZR moved_score_errors * largest).
  Proof. unfold key_log, moved_score_errors. ring. Qed.

  Theorem carried_lost_values (P : weight_format) l K :
    lost_values M P l j K
    = values_size l * (exp_floor M + weight_floor P
                       + match j with 0%nat => 0 | S _ => IZR values_lost_rescaled_exponentials * exp_floor M end)
      + size l * product_floor M + (size l - 1) * sum_floor M + INR K * product_floor M.
  Proof. unfold lost_values, values_lost_rescaled_exponentials. destruct j; ring. Qed.

  Theorem carried_polynomial_floor x :
    polynomial_floor M x = IZR horner_losses * (sum_floor M + product_floor M) * powers x.
  Proof. unfold polynomial_floor, horner_losses. ring. Qed.

  Theorem carried_threshold_floor quantum : threshold_floor quantum = quantum / IZR (2 ^ threshold_spare_bits).
  Proof. reflexivity. Qed.
End Carried.
