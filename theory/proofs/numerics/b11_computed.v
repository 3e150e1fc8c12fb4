(** * B11: the paper's 1e-9, of a computed entropy.

    Main results, for any eps >= 0 and a row of n items
    - [epsilon_gap_by_jensen]   0 <= H - H_eps <= ln (1 + eps n), as epsilon_entropy_gap of numerics/ has it; [epsilon_gap] has 1e-9 n
    - [b11_computed]            -sum p_hat ln (p_hat + eps) as computed, with what underflows, against H itself: the right-hand side of
                                [b6d_of_lost_coefficients] and that gap

    Source: docs/tolerances.md, B11; epsilon_entropy_gap in numerics/rounding/rounding_temperature.cpp. *)

From softcheck Require Import softmax adaptive_temperature.
From softcheck.numerics Require Import row tilted_row reduction b1_sum b2_element added_terms b6d_coefficients b6d_underflow.
Local Open Scope R_scope.

(** p ln (1 + eps / p), each below the tangent of ln at 1 + eps n: Jensen's inequality. *)
Theorem epsilon_gap_by_jensen m logits eps :
  is_maximum m logits -> 0 <= eps -> 0 <= entropy logits - entropy_with eps logits <= ln (1 + eps * size logits).
Proof.
  intros max small. pose proof (coefficient_positive m logits max) as positive. set (p := coefficient logits) in *.
  assert (n1 : 1 <= size logits) by (apply size_at_least_one, in_not_nil with m, max). set (n := size logits) in *.
  assert (en : 0 <= eps * n) by (apply Rmult_le_pos; lra). set (c := 1 + eps * n). assert (c1 : 1 <= c) by (unfold c; lra).
  assert (gap : entropy logits - entropy_with eps logits = sum (map (fun x => p x * (ln (p x + eps) - ln (p x))) logits)).
  { unfold entropy, entropy_with, softmax. rewrite !map_map. fold p.
    rewrite (sum_map_ext (fun x => p x * (ln (p x + eps) - ln (p x))) (fun x => p x * ln (p x + eps) - p x * ln (p x))) by (intros; ring).
    rewrite sum_map_minus. ring. }
  assert (one : sum (map p logits) = 1).
  { pose proof (S_at_least_one m logits max) as S1. pose proof (sum_of_coefficients m logits max (fun _ => 1)) as total. fold p in total.
    rewrite (sum_map_ext (fun x => p x * 1) p) in total by (intros; ring). rewrite total. unfold weight_sum in *. field. lra. }
  rewrite gap. split.
  - apply sum_map_nonneg. intros x _. pose proof (positive x) as pos. apply Rmult_le_pos; [lra|].
    pose proof (ln_le (p x) (p x + eps) pos ltac:(lra)). lra.
  - apply Rle_trans with (sum (map (fun x => (ln c - 1 + / c) * p x + eps * / c) logits)).
    + apply sum_map_le. intros x _. pose proof (positive x) as pos.
      pose proof (ln_below_tangent ((p x + eps) / (p x * c)) ltac:(apply Rdiv_lt_0_compat; [lra|apply Rmult_lt_0_compat; lra])) as tangent.
      assert (parts : ln ((p x + eps) / (p x * c)) = ln (p x + eps) - (ln (p x) + ln c)).
      { assert (pc : 0 < p x * c) by (apply Rmult_lt_0_compat; lra). pose proof (Rinv_0_lt_compat _ pc) as ipc.
        unfold Rdiv. rewrite (ln_mult (p x + eps) (/ (p x * c)) ltac:(lra) ipc), (ln_Rinv (p x * c) pc), (ln_mult (p x) c pos ltac:(lra)). ring. }
      rewrite parts in tangent.
      apply Rle_trans with (p x * (ln c + ((p x + eps) / (p x * c) - 1))); [apply Rmult_le_compat_l; lra|right; field; lra].
    + rewrite sum_map_plus, sum_map_mult_l, one, sum_map_const. fold n. right. unfold c. field. fold c. lra.
Qed.

Section Computed.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Context (kappa m : R) (logits : list R) (s : R) (h j : nat) (X eps : R).
  Hypothesis hs : sum_of_row M kappa m logits s h j.
  Hypothesis some : lost_sum M kappa m logits h j < 1.
  Hypothesis sizes : 0 <= X.
  Hypothesis smallest : product_floor M = 0 /\ exp_floor M = 0 \/ exp (- X) <= product_floor M + exp_floor M.
  Hypothesis small : 0 <= eps.
  Notation C := (element_log M kept_format kappa m logits h j).
  Notation f := (element_floor M kept_format kappa m logits h j).

  Theorem b11_computed zs y height :
    Forall2 (lost_element_term M kappa m s j X eps) logits zs -> added M 0 0 zs y height ->
    Rabs (- y - entropy logits)
    <= coefficients_rounding M m logits C eps height + coefficients_lost M logits C f X eps height + ln (1 + eps * size logits).
  Proof using good hs some sizes smallest small.
    intros terms tree. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max.
    pose proof (b6d_of_lost_coefficients M good kappa m logits s h j X eps hs some sizes smallest small zs y height terms tree) as own.
    pose proof (epsilon_gap_by_jensen m logits eps max small) as gap.
    replace (- y - entropy logits) with ((- y - entropy_with eps logits) + (entropy_with eps logits - entropy logits)) by ring.
    eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [exact own|]. apply Rabs_le. lra.
  Qed.
End Computed.
