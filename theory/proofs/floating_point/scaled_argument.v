(** * The argument (m - x) / theta as kernels compute it.

    Main results
    - [plain_argument]    theta = 1: one rounding, A' = 1, absolute error omega_a
    - [scaled_argument]   a difference, times a reciprocal of theta that is off by r roundings: A' = r + 2, absolute error
                          (1 + t) omega_a / theta + omega_m

    Source: docs/tolerances.md, "Argument"; RoundingModel::set_argument, where r = 1 for a representable theta, else 2. *)

From Coq Require Import Reals Lra.
From softcheck.floating_point Require Import relative_error standard_model.
Local Open Scope R_scope.

Section Argument.
  Context (M : arithmetic).
  Hypothesis good : sound M.

  Theorem plain_argument D b :
    argument_unit M = unit M -> argument_step M = sum_floor M -> computed_sum M D b -> computed_argument M D b.
  Proof. intros au st [t [e [bt [be ->]]]]. exists t, e. rewrite au, st. auto. Qed.

  (** The difference's own loss is multiplied by the reciprocal as computed. *)
  Theorem scaled_argument D theta (r : nat) difference inverse b :
    0 < theta ->
    argument_unit M = (INR r + 2) * unit M ->
    argument_step M = (1 + slope M) * sum_floor M / theta + product_floor M ->
    computed_sum M (D * theta) difference -> rel (INR r * unit M) inverse (/ theta) ->
    computed_product M (difference * inverse) b -> computed_argument M D b.
  Proof.
    intros pos au st [t1 [e1 [bt1 [be1 ->]]]] [ti [bti ->]] [t2 [e2 [bt2 [be2 ->]]]].
    pose proof (unit_nonneg M good) as hl. pose proof (pos_INR r) as hr.
    exists (t1 + ti + t2), (e1 * / theta * exp (ti + t2) + e2).
    apply abs_between in bt1. apply abs_between in bti. apply abs_between in bt2. repeat split.
    - rewrite au. apply Rabs_le. lra.
    - rewrite st. eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy].
      assert (inv : 0 < / theta) by now apply Rinv_0_lt_compat.
      rewrite !Rabs_mult, (Rabs_right (/ theta)), (Rabs_right (exp (ti + t2))) by (lra || (left; apply exp_pos)).
      unfold slope. rewrite au.
      assert (exp (ti + t2) <= exp ((INR r + 2) * unit M)) by (apply exp_le; lra).
      replace ((1 + (exp ((INR r + 2) * unit M) - 1)) * sum_floor M / theta)
        with (sum_floor M * / theta * exp ((INR r + 2) * unit M)) by (field; lra).
      apply Rmult_le_compat; [|left; apply exp_pos| |easy].
      + apply Rmult_le_pos; [apply Rabs_pos|lra].
      + apply Rmult_le_compat_r; [lra|easy].
    - rewrite !exp_plus. field. lra.
  Qed.
End Argument.
