(** * The premises of B9's bounds behind softcap, ALiBi and bias hold of something, and these are reached.

    As in reached_bounds.v: the kernel [single] errs as far as it may.

    Examples
    - [terms_are_reached]         a term that is stored, a slope, two terms and their addition
    - [biased_is_reached]         a score and a bias, one addition and another base
    - [attributed_is_inhabited]   all premises behind a softcap, ALiBi and a bias, each operation with its largest error;
                                  tanh passes on less than its argument's error, so that the bound is not reached

    Source: b9_softcap.v, b9_score_terms.v. *)

From softcheck Require Import softmax attention_variants.
From softcheck.numerics Require Import added_terms b9_softcap b9_score_terms reached_bounds reached_losses.
Local Open Scope R_scope.

Notation l := (unit single).

Example terms_are_reached :
  exists y z w v, sound single /\ 0 <= l /\ Rabs 1 <= 1 /\ Rabs (y - 1) <= / 2 /\ approximates l 0 y z /\
    Rabs (z - 1) = / 2 + (exp l - 1) * (1 + / 2) + 0 /\
    Rabs (2 * 3) <= 6 /\ approximates l (exp l * 0) (2 * 3) w /\ Rabs (w - 2 * 3) = (exp l - 1) * 6 + exp l * 0 /\
    0 <= 2 /\ combined single 2 [(1, / 2); (1, / 4)] v /\
    Rabs (v - totals [(1, / 2); (1, / 4)]) = after_additions single 2 (2 - 1) (errors [(1, / 2); (1, / 4)]).
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1.
  exists (3 / 2), (3 / 2 * exp l), (2 * 3 * exp l), ((3 / 2 + 5 / 4) * exp l).
  split; [apply single_sound|]. split; [easy|]. split; [rewrite Rabs_right; lra|]. split; [rewrite Rabs_right; lra|].
  split; [now apply approximately|]. split; [rewrite Rabs_right; lra|]. split; [rewrite Rabs_right; lra|].
  split; [rewrite Rmult_0_r; now apply approximately|]. split; [rewrite Rabs_right; lra|]. split; [lra|].
  unfold totals, errors, sum; cbn [map fst snd fold_right]. split.
  - apply (combined_addition single 2 [(1, / 2)] [(1, / 4)] (3 / 2) (5 / 4)).
    + apply combined_term. rewrite Rabs_right; lra.
    + apply combined_term. rewrite Rabs_right; lra.
    + unfold totals, sum; cbn. rewrite Rabs_right; lra.
    + apply sum_up_by.
  - simpl after_additions. unfold after_addition; cbn -[unit]. rewrite Rabs_right; lra.
Qed.

Example biased_is_reached :
  exists y z x, sound single /\ (0 <= l /\ 0 <= l /\ 0 <= l) /\ Rabs (3 / 2 - 1) <= / 2 /\ approximates l 0 1 y /\
    computed_sum single (3 / 2 + y) z /\ approximates l 0 z x /\
    Rabs (x - (1 + 1)) = in_base l 0 (Rabs (1 + 1)) (after_addition single (Rabs (1 + 1)) (/ 2 + bias_error l 0 1)).
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1. set (y := 1 * exp l). set (z := (3 / 2 + y) * exp l).
  exists y, z, (z * exp l). split; [apply single_sound|]. split; [easy|]. split; [rewrite Rabs_right; lra|].
  split; [now apply approximately|]. split; [apply sum_up_by|]. split; [now apply approximately|].
  unfold in_base, after_addition, bias_error; cbn -[unit]. rewrite (Rabs_right (1 + 1)), (Rabs_right 1) by lra.
  assert (z2 : 2 <= z) by (unfold z, y; nra). assert (z <= z * exp l) by (apply grown; lra).
  unfold z, y in *. rewrite Rabs_right; lra.
Qed.

Example attributed_is_inhabited :
  exists y1 y2 y3 z x, sound single /\ 0 < 1 /\ (0 <= 2 * l /\ 0 <= l /\ 0 <= l /\ 0 <= l /\ 0 <= 0) /\
    (0 <= l /\ 0 <= l /\ 0 <= l) /\ Rabs (3 / 2 - 1) <= / 2 /\ computed_softcap 1 (2 * l) l l l 0 (3 / 2) y1 /\
    Rabs (2 * 3) <= 6 /\ approximates l (exp l * 0) (2 * 3) y2 /\ approximates l 0 1 y3 /\
    combined single (Rabs (softcap 1 1) + 6 + Rabs 1)
      [(softcap 1 1, Rabs (y1 - softcap 1 1)); (2 * 3, Rabs (y2 - 2 * 3)); (1, Rabs (y3 - 1))] z /\
    approximates l 0 z x /\ x = (((tanh (3 / 2 / (1 * exp l) * exp (2 * l) + 0) * exp l * (1 * exp l) * exp l) + 2 * 3 * exp l) * exp l
                                 + 1 * exp l) * exp l * exp l.
Proof.
  pose proof units as [_ hl].
  set (y1 := tanh (3 / 2 / (1 * exp l) * exp (2 * l) + 0) * exp l * (1 * exp l) * exp l).
  set (y2 := 2 * 3 * exp l). set (y3 := 1 * exp l). set (z := ((y1 + y2) * exp l + y3) * exp l).
  exists y1, y2, y3, z, (z * exp l). split; [apply single_sound|]. split; [lra|]. split; [lra|]. split; [easy|].
  split; [rewrite Rabs_right; lra|]. split.
  { apply softcap_computed with l (2 * l) 0 (3 / 2 / (1 * exp l) * exp (2 * l) + 0)
      (tanh (3 / 2 / (1 * exp l) * exp (2 * l) + 0) * exp l);
      try (rewrite Rabs_right; lra); [easy|now apply approximately|now apply approximately]. }
  split; [rewrite Rabs_right; lra|]. split; [rewrite Rmult_0_r; now apply approximately|]. split; [now apply approximately|].
  split; [|split; [now apply approximately|easy]].
  pose proof (Rabs_pos (softcap 1 1)). rewrite (Rabs_right 1) by lra.
  apply (combined_addition single _ [(softcap 1 1, Rabs (y1 - softcap 1 1)); (2 * 3, Rabs (y2 - 2 * 3))] [(1, Rabs (y3 - 1))]
           ((y1 + y2) * exp l) y3); [|apply combined_term, Rle_refl| |apply sum_up_by].
  - apply (combined_addition single _ [(softcap 1 1, Rabs (y1 - softcap 1 1))] [(2 * 3, Rabs (y2 - 2 * 3))] y1 y2);
      [apply combined_term, Rle_refl|apply combined_term, Rle_refl| |apply sum_up_by].
    unfold totals, sum; cbn [map fst fold_right app]. eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_right (2 * 3 + 0)); lra.
  - unfold totals, sum; cbn [map fst fold_right app]. eapply Rle_trans; [apply Rabs_triang|].
    rewrite (Rabs_right (2 * 3 + (1 + 0))); lra.
Qed.
