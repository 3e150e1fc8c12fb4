(** * The premises of B21 hold of something.

    As in reached_bounds.v: the kernel [single] errs as far as it may.

    Examples
    - [b21_supports_is_inhabited]   the row of one item
    - [b21_inside_is_inhabited]     an item at the edge of the support that is left out
    - [b21_is_inhabited]   one logit, whose difference, square and output err upwards

    Source: b21_means.v, b21_root.v, b21_entmax.v. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms projected_row entmax_roots b21_means b21_root b21_entmax reached_bounds
  reached_sparsemax.
Local Open Scope R_scope.

Notation l := (unit single).

Lemma one_item : prefix_mean [0] = 0 /\ prefix_square [0] = 0 /\ variance_of [0] = 0 /\ spread [0] = 1 /\ root [0] = 1.
Proof.
  assert (m : prefix_mean [0] = 0) by (unfold prefix_mean, sum, size; cbn; field).
  assert (q : prefix_square [0] = 0) by (unfold prefix_square, squares, sum, size; cbn; field).
  assert (v : variance_of [0] = 0) by (unfold variance_of; rewrite m, q; ring).
  assert (s : spread [0] = 1).
  { unfold spread, radicand. rewrite v. unfold size; cbn. rewrite Rinv_1, Rminus_0_r, Rmax_left, sqrt_1 by lra. easy. }
  repeat split; try easy. unfold root. rewrite m, s. ring.
Qed.

Lemma held_half m : half_loss single held m = 0.
Proof. unfold half_loss, read_error; cbn -[unit]. field. Qed.

Lemma exact_quotient k s : computed_quotient single k s (s / k).
Proof.
  pose proof units as [_ l0]. exists 0. rewrite Rabs_R0, exp_0, Rmult_1_r. split; [lra|apply exact_product].
Qed.

Lemma nothing_per_item : 0 / size [0] = 0.
Proof. unfold size; cbn; field. Qed.

Lemma mean_of_one : computed_mean single l 0 0 [0] 0.
Proof.
  pose proof units as [_ l0]. exists 0, 0%nat. split; [now apply added_term, term_itself|]. split; [lia|].
  pose proof (exact_quotient (size [0]) 0) as all. now rewrite nothing_per_item in all.
Qed.

Lemma square_of_one : computed_square single l 0 0 [0] 0.
Proof.
  pose proof units as [_ l0]. exists [0], (0 ^ 2), 0%nat.
  split; [constructor; [now apply term_itself|constructor]|]. split; [now apply added_term, term_itself|]. split; [lia|].
  pose proof (exact_quotient (size [0]) (0 ^ 2)) as all. replace (0 ^ 2) with 0 in all by ring. rewrite nothing_per_item in all.
  replace (0 ^ 2) with 0 by ring. exact all.
Qed.

(** The radicand 1 of one item is off by v roundings, as are its square root and the sum behind it. *)
Lemma radicand_of_one v : -1 <= v <= 1 -> computed_radicand single (size [0]) 0 0 (exp (v * (2 * l))).
Proof.
  intros range. pose proof units as [_ l0].
  apply radicand_of_variance with 0 (0 ^ 2) 0 (1 / (size [0] * exp 0) * exp (v * l)).
  - rewrite Rabs_R0. lra.
  - apply exact_product.
  - pose proof (exact_sum (0 - 0 ^ 2)) as all. replace (0 - 0 ^ 2) with 0 in all |- * by ring. exact all.
  - now apply product_off.
  - replace (exp (v * (2 * l))) with ((1 / (size [0] * exp 0) * exp (v * l) - 0) * exp (v * l)); [now apply sum_off|].
    replace (v * (2 * l)) with (v * l + v * l) by ring. rewrite exp_plus, exp_0. unfold size; cbn -[unit]. field.
Qed.

(** Without an error. *)
Lemma root_of_one : computed_root single l 0 0 [0] 1.
Proof.
  pose proof units as [_ l0]. exists 0, 0, 0, (exp (0 * (2 * l))), 0, 0.
  split; [apply mean_of_one|]. split; [apply mean_of_one|]. split; [apply square_of_one|]. split; [apply radicand_of_one; lra|].
  rewrite Rabs_R0. split; [lra|]. split; [cbn; lra|]. rewrite Rmult_0_l, exp_0, Rmax_left, sqrt_1 by lra.
  pose proof (exact_sum (0 + (1 * 1 + 0))) as all. replace (0 + (1 * 1 + 0)) with 1 in all |- * by ring. exact all.
Qed.

(** All that its root may err by, as the kernel's root does not: what is behind it reaches the bound with this. *)
Definition top_error_of_one : R := prefix_root_error single l 0 0 [0].

Example b21_is_inhabited :
  exists d q w p, sound single /\ sound_reading held /\ (forall x, In x [0] -> x <= 0) /\ is_entmax_threshold (-1) [0] /\
    Permutation (map (fun x => (0 - x) / 2) [0]) ([0] ++ []) /\
    Rabs (root [0] - (0 / 2 - -1)) + prefix_root_error single (deviation_log single held) (half_loss single held 0) 0 [0]
    <= top_error_of_one /\
    computed_root single (deviation_log single held) (half_loss single held 0) 0 [0] 1 /\
    computed_half_deviation single held 0 0 d /\ computed_item single 1 d q /\ computed_product single (q * q) w /\
    (q = 0 -> w = 0) /\ stored (/ 2048) 0 w p /\ p = exp (3 * l) * (1 + / 2048).
Proof.
  pose proof units as [_ l0]. destruct one_item as [_ [_ [_ [_ t]]]].
  exists 0, (exp l), (exp (3 * l)), (exp (3 * l) * (1 + / 2048) + 0).
  split; [apply single_sound|]. split; [apply held_sound|]. split; [intros x [<-|[]]; lra|].
  split; [unfold is_entmax_threshold, sum; cbn [map fold_right]; rewrite Rmax_left by lra; field|].
  split; [cbn; replace ((0 - 0) / 2) with 0 by field; apply Permutation_refl|].
  rewrite held_log, held_half, t. split.
  { replace (1 - (0 / 2 - -1)) with 0 by field. rewrite Rabs_R0. unfold top_error_of_one. lra. }
  split; [apply root_of_one|]. split.
  { apply halved_deviation with 0; [apply no_deviation with 0; lra|]. replace (0 - 0 / 2) with 0 by field. rewrite Rabs_R0. cbn. lra. }
  split.
  { exists (exp l). split; [|split; [lra|rewrite Rmax_left; [easy|left; apply exp_pos]]].
    replace (exp l) with ((1 - 0) * exp (1 * l)) by (rewrite Rmult_1_l; ring). apply sum_off. lra. }
  split.
  { replace (exp (3 * l)) with (exp l * exp l * exp (1 * l)); [apply product_off; lra|].
    replace (3 * l) with (l + l + 1 * l) by ring. rewrite !exp_plus. ring. }
  pose proof (exp_pos l). pose proof (exp_pos (3 * l)). split; [lra|]. split; [|ring].
  split; [|lra]. exists (/ 2048), 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; lra.
Qed.

Example b21_supports_is_inhabited :
  sound single /\ 0 <= l /\ (forall i, ((fun _ : nat => 0) i <= (fun _ : nat => 0) 1)%nat) /\ Forall (fun x => 0 <= x) [0] /\ ascending [0] /\
  is_entmax_top 1 [0] /\ In 0 [0] /\ rooted_support single l 0 (fun _ => 0%nat) [0] [] /\ (forall x, In x [0] -> x <= 1) /\
  surely_rooted (1 - within_of single l 0 (fun _ => 0%nat) 1 [0] 1) [0] /\ surely_beyond single l 0 (fun _ => 0%nat) [0] [].
Proof.
  pose proof units as [_ l0]. split; [apply single_sound|]. split; [easy|]. split; [easy|].
  split; [repeat constructor; lra|]. split; [repeat constructor|].
  split; [unfold is_entmax_top, sum; cbn [map fold_right]; rewrite Rmax_left by lra; ring|].
  assert (alone : forall before d others, [0] = before ++ d :: others -> before = []).
  { intros before d others eq. destruct before as [|x [|y before]]; [easy| |]; now inversion eq. }
  split; [now left|]. split; [split; [easy|split; [|easy]]|split; [intros x [<-|[]]; lra|split; [|easy]]].
  - intros before d others eq some. now rewrite (alone before d others eq) in some.
  - intros before d others eq some. now rewrite (alone before d others eq) in some.
Qed.

(** d of 1, at the edge of the support: the kernel finds it no smaller than the root of the first item. *)
Example b21_inside_is_inhabited :
  exists d' t, sound single /\ 0 <= l /\ (forall i, ((fun _ : nat => 0) i <= (fun _ : nat => 0) 2)%nat) /\ In 0 [0] /\
    Forall (fun x => 0 <= x) [0; 1] /\ ascending [0; 1] /\ (forall x, In x [0; 1] -> x <= 1) /\ is_entmax_top 1 ([0; 1] ++ []) /\
    root_tested single l 0 (fun _ => 0%nat) [0] 1 d' t /\ t <= d'.
Proof.
  pose proof units as [_ l0]. exists 1, 1. split; [apply single_sound|]. split; [easy|]. split; [easy|]. split; [now left|].
  split; [repeat constructor; lra|]. split; [repeat constructor; lra|]. split; [intros x [<-|[<-|[]]]; lra|].
  split; [unfold is_entmax_top, sum; cbn [map fold_right app]; rewrite Rmax_left, Rmax_right by lra; ring|].
  split; [|lra]. apply root_tested_without; [now apply term_itself|apply root_of_one].
Qed.
