(** * The premises of b17_query hold of something.

    Example
    - [b17_query_is_inhabited]   one key of p = 1, each operation of the kernel [single] with its largest error; delta each
                                 way. g - delta is 0 exactly: dS is nothing but its error, and dq is not 0

    Source: b17_query.v. *)

From Coq Require Import Reals List Lra Lia.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model.
From softcheck.numerics Require Import b5_logsumexp added_terms b17_sums b17_delta b17_query reached_bounds reached_losses
  reached_attention_gradient.
Import ListNotations.
Local Open Scope R_scope.

Notation l := (unit single).
Notation ones := (fun _ : Datatypes.unit => one_unit).

Example b17_query_is_inhabited :
  exists p_met g_hat delta_hat from_products from_output difference product dS z dq,
    sound single /\ [tt] <> [] /\ (0 <= l /\ 0 <= 0 /\ 0 <= 0 /\ 0 <= l /\ 0 <= 0 /\ 0 <= l /\ 0 <= l /\ 0 <= 0) /\
    (forall a, In a [tt] -> 0 <= one_unit a /\ 0 <= l /\ approximates l (exp l * 0) (one_unit a) (exp l) /\
       approximates l 0 (exp l) p_met) /\
    (forall a : Datatypes.unit, In a [tt] -> exists h', (h' <= 0)%nat /\
       added single (2 * l + l) 0 (map (fun c => one_unit c * 1) [tt]) g_hat h') /\
    (let delta_by := computed_delta single [tt] [tt] one_unit ones one_unit (fun _ => p_met) l 0 l 0 0 (fun _ => g_hat) in
     delta_by delta_hat /\ delta_by from_products /\ delta_by from_output) /\
    (computed_sum single (g_hat - delta_hat) difference /\ computed_product single (exp l * difference) product /\
     approximates l 0 product dS) /\
    scaled_sum single [tt] l 0 0 (fun _ => dS) one_unit 2 z /\ rounded_output (/ 2048) 0 z dq /\
    2 * sum (map (fun a => one_unit a * (value_product [tt] one_unit ones a - delta [tt] [tt] one_unit ones one_unit) * 1) [tt]) = 0 /\
    dq <= 0.
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1.
  set (p_met := exp l * exp l). set (g_hat := 1 * 1 * exp (2 * l + l)). set (delta_hat := 1 * (1 * 1 + 0) * exp (2 * l + l + l)).
  set (O_hat := p_met * 1 * exp (l + l)). set (d := (g_hat - delta_hat) * exp l). set (q := exp l * d * exp l).
  set (y0 := q * exp l * 1 * exp (l + l)). set (z := y0 * (2 * exp l) * exp l).
  exists p_met, g_hat, delta_hat, (p_met * g_hat * exp l), (1 * O_hat * exp (l + l)), d, q, (q * exp l), z, (z * (1 + / 2048)).
  split; [apply single_sound|]. split; [easy|]. split; [lra|].
  split.
  { intros a _. split; [lra|]. split; [easy|]. split; [|now apply approximately].
    rewrite Rmult_0_r, <- (Rmult_1_l (exp l)). now apply approximately. }
  split.
  { intros a _. exists 0%nat. split; [lia|]. exact (one_added (2 * l + l) (1 * 1) _ ltac:(lra) eq_refl). }
  split.
  { cbv zeta. split; [|split].
    - apply delta_saved with 0%nat; [lia|]. exact (one_added (2 * l + l + l) (1 * (1 * 1 + 0)) _ ltac:(lra) eq_refl).
    - apply delta_of_products. exact (one_added l (p_met * g_hat) _ hl eq_refl).
    - apply delta_of_output with (fun _ => O_hat) 0%nat; [|lia|exact (one_added (l + l) (1 * O_hat) _ ltac:(lra) eq_refl)].
      intros c _. exact (one_added (l + l) (p_met * 1) _ ltac:(lra) eq_refl). }
  split; [split; [apply sum_up_by|split; [apply product_up|now apply approximately]]|].
  split.
  { apply scaled_total with y0 l; [exact (one_added (l + l) (q * exp l * 1) _ ltac:(lra) eq_refl)|rewrite Rabs_right; lra|apply product_up]. }
  split; [apply output_up|]. split.
  { unfold value_product, delta, value_product. rewrite !one_of. ring. }
  assert (less : d <= 0).
  { unfold d, g_hat, delta_hat. rewrite (exp_plus (2 * l + l)). pose proof (exp_pos (2 * l + l)).
    assert (exp (2 * l + l) <= exp (2 * l + l) * exp l) by (apply grown; lra). nra. }
  assert (z <= 0); [|lra]. unfold z, y0, q. pose proof (exp_pos (l + l)). rewrite Rmult_1_r.
  replace (exp l * d * exp l * exp l * exp (l + l) * (2 * exp l) * exp l)
    with (2 * (exp l * exp l * exp l * exp l * exp l * exp (l + l)) * d) by ring.
  assert (0 <= 2 * (exp l * exp l * exp l * exp l * exp l * exp (l + l))) by (repeat apply Rmult_le_pos; lra). nra.
Qed.
