(** * The premises of B20 hold of something, and its bound is reached.

    Examples
    - [b20_is_reached]             one logit: a sum, a quotient by a k that is rounded, a difference, all upwards
    - [b20_supports_is_inhabited]  deviations 0, 1/2 and 2: the first two are kept, from surely kept and surely ended ones
    - [b21_supports_is_inhabited]   the row of one item
    - [b21_inside_is_inhabited]     an item at the edge of the support that is left out
    - [b21_is_inhabited]   one logit, whose difference, square and output err upwards

    As in reached_bounds.v: the kernel [single] errs as far as it may.

    Source: b20_supports.v, b20_sparsemax.v. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms projected_row b20_supports b20_sparsemax
  reached_bounds b21_means b21_root b21_entmax.
Local Open Scope R_scope.

Notation l := (unit single).

(** Logits that the accumulator holds. *)
Definition held : logit_reading := {| read_roundoff := 0; read_loss := 0 |}.

Lemma held_sound : sound_reading held.
Proof. repeat split; cbn; lra. Qed.

Lemma read_as_it_is x : read_logit held x x.
Proof. unfold read_logit; cbn. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra. Qed.

Lemma no_deviation m v : -1 <= v <= 1 -> computed_deviation single held m m 0.
Proof.
  intros range. exists m, m. split; [apply read_as_it_is|]. split; [apply read_as_it_is|].
  rewrite Rminus_diag_eq by easy. pose proof (sum_off 0 0 ltac:(lra)) as none. now rewrite Rmult_0_l in none.
Qed.

Lemma held_log : deviation_log single held = l.
Proof. unfold deviation_log; cbn -[unit]. rewrite log_unit_0. ring. Qed.

Lemma held_loss m : deviation_loss single held m = 0.
Proof. unfold deviation_loss, read_error; cbn -[unit]. ring. Qed.

Lemma term_itself rho x : 0 <= rho -> approximates rho 0 x x.
Proof. intros. exists 0, 0. rewrite Rabs_R0, exp_0. repeat split; lra. Qed.

Example b20_is_reached :
  exists t d q p, sound single /\ sound_reading held /\ (forall x, In x [0] -> x <= 0) /\ is_sparsemax_threshold (-1) [0] /\
    Permutation (map (fun x => 0 - x) [0]) ([0] ++ []) /\ prefix_quotient [0] <= 0 - -1 + 0 /\ prefix_mean [0] <= 0 /\
    computed_top single (deviation_log single held) (deviation_loss single held 0) 0 [0] t /\
    computed_deviation single held 0 0 d /\ computed_item single t d q /\ stored (/ 2048) 0 q p /\
    Rabs (p - Rmax (0 - -1) 0) = stored_element single held 0 0 (-1) 0 0 (/ 2048) 0 (0 - 0) (Rmax (0 - -1) 0) - Rmax (-1 - 0) 0.
Proof.
  pose proof units as [_ l0]. pose proof (exp_at_least_one l l0) as L1.
  exists (exp (3 * l)), 0, (exp (4 * l)), (exp (4 * l) * (1 + / 2048) + 0).
  split; [apply single_sound|]. split; [apply held_sound|]. split; [intros x [<-|[]]; lra|].
  assert (one : Rmax (0 - -1) 0 = 1) by (rewrite Rmax_left; lra).
  split; [unfold is_sparsemax_threshold, sum; cbn [map fold_right]; rewrite one; ring|].
  split; [cbn; rewrite Rminus_0_r; apply Permutation_refl|].
  split; [unfold prefix_quotient, sum, size; cbn; lra|]. split; [unfold prefix_mean, sum, size; cbn; lra|].
  rewrite held_log, held_loss. split.
  { exists 0, 0%nat, ((1 + 0) * exp (1 * l)), (1 * l). split; [apply added_term, term_itself; lra|]. split; [lia|].
    split; [apply sum_off; lra|]. split; [apply within; lra|].
    replace (exp (3 * l)) with ((1 + 0) * exp (1 * l) / size [0] * exp (1 * l) * exp (1 * l)); [apply product_off; lra|].
    replace (3 * l) with (1 * l + 1 * l + 1 * l) by ring. rewrite !exp_plus. unfold size; cbn -[unit]. field. }
  split; [now apply no_deviation with 0; lra|]. split.
  { exists (exp (4 * l)). split; [|split].
    - replace (exp (4 * l)) with ((exp (3 * l) - 0) * exp (1 * l)); [apply sum_off; lra|].
      replace (4 * l) with (3 * l + 1 * l) by ring. rewrite exp_plus. ring.
    - pose proof (exp_pos (3 * l)). lra.
    - rewrite Rmax_left; [easy|left; apply exp_pos]. }
  pose proof (exp_pos (4 * l)) as pos. pose proof (exp_at_least_one (4 * l) ltac:(lra)). split.
  { split; [|lra]. exists (/ 2048), 0. rewrite Rabs_R0, Rabs_right by lra. repeat split; lra. }
  rewrite one. replace (Rmax (-1 - 0) 0) with 0 by (rewrite Rmax_right; lra). rewrite Rabs_right by lra.
  unfold stored_element, element, quotient_error. rewrite held_log, held_loss. cbn -[unit].
  replace (exp (4 * l)) with (exp l * exp (3 * l)) by (rewrite <- exp_plus; f_equal; ring). ring.
Qed.

(** ** Supports *)

Definition three : list R := [0; / 2; 2].

Lemma small_growth k : (k <= 4)%nat -> exp (INR k * l) - 1 <= / 1000.
Proof.
  intros hk. pose proof units as [_ l0].
  assert (up : exp (INR 4 * l) - 1 <= gamma (/ 16777216) 4) by (apply expm1_lambda_gamma; [lra|cbn; lra]).
  assert (exp (INR k * l) <= exp (INR 4 * l)) by (apply exp_le, Rmult_le_compat_r; [easy|now apply le_INR]).
  unfold gamma in up. cbn -[unit] in *. lra.
Qed.

Lemma three_top : is_sparsemax_top (3 / 4) three.
Proof.
  unfold is_sparsemax_top, three, sum. cbn [map fold_right].
  rewrite (Rmax_left (3 / 4 - 0)), (Rmax_left (3 / 4 - / 2)), (Rmax_right (3 / 4 - 2)) by lra. lra.
Qed.

Lemma exact_sum z : computed_sum single z z.
Proof. pose proof (sum_off 0 z ltac:(lra)) as s. now rewrite Rmult_0_l, exp_0, Rmult_1_r in s. Qed.

Lemma exact_product z : computed_product single z z.
Proof. pose proof (product_off 0 z ltac:(lra)) as s. now rewrite Rmult_0_l, exp_0, Rmult_1_r in s. Qed.

(** Without an error: k D and 1 + sum D. *)
Lemma tested_exactly before D s h :
  added single l 0 (before ++ [D]) s h -> (h <= 2)%nat -> tested single l 0 (fun _ => 2%nat) before D (size (before ++ [D]) * D) (1 + s).
Proof.
  intros tree low. pose proof units as [_ l0]. apply tested_with with D s h; [now apply term_itself|easy|easy|].
  apply compared_product with 0; [rewrite Rabs_R0; lra| |apply exact_sum]. rewrite exp_0, Rmult_1_r. apply exact_product.
Qed.

Lemma added_two : added single l 0 [0; / 2] (0 + / 2) 1.
Proof.
  pose proof units as [_ l0].
  apply (added_addition single l 0 [0] [/ 2] 0 (/ 2) _ 0 0); [now apply added_term, term_itself..|apply exact_sum].
Qed.

Lemma added_three : added single l 0 ([0; / 2] ++ [2]) (0 + / 2 + 2) 2.
Proof.
  pose proof units as [_ l0].
  apply (added_addition single l 0 [0; / 2] [2] (0 + / 2) 2 _ 1 0); [apply added_two|now apply added_term, term_itself|apply exact_sum].
Qed.

Lemma last_of_two before d others : [0; / 2] = before ++ d :: others -> before <> [] -> before = [0] /\ d = / 2.
Proof.
  intros eq some. destruct before as [|x [|y before]]; [easy| |]; cbn in eq.
  - now inversion eq.
  - inversion eq as [[e1 e2 e3]]. now destruct before.
Qed.

Example b20_supports_is_inhabited :
  sound single /\ 0 <= l /\ Forall (fun x => 0 <= x) three /\ ascending three /\ is_sparsemax_top (3 / 4) three /\
  three = [0; / 2] ++ [2] /\ kept_support single l 0 (fun _ => 2%nat) [0; / 2] [2] /\ [0; / 2] <> [] /\
  surely_kept single l 0 (fun _ => 2%nat) (length three) (3 / 4) [0; / 2] /\ surely_ended single l 0 (fun _ => 2%nat) [0; / 2] [2] /\
  prefix_quotient [0; / 2] = 3 / 4.
Proof.
  pose proof units as [_ l0]. split; [apply single_sound|]. split; [easy|].
  split; [repeat constructor; lra|]. split; [repeat constructor; lra|]. split; [apply three_top|]. split; [easy|].
  pose proof (small_growth 3 ltac:(lia)) as g3. pose proof (small_growth 4 ltac:(lia)) as g4. cbn -[unit] in g3, g4.
  assert (loss : item_loss single 0 2 = 0) by (unfold item_loss; cbn -[unit]; ring).
  assert (c1 : exp (compared_log single l) - 1 <= / 1000).
  { unfold compared_log. replace (l + 2 * l) with ((1 + 1 + 1) * l) by ring. easy. }
  assert (c2 : exp (summed_log single l 2) - 1 <= / 1000).
  { unfold summed_log. replace (l + (INR 2 + 1) * l) with ((1 + 1 + 1 + 1) * l) by (cbn -[unit]; ring). easy. }
  split; [|split; [easy|split; [|split]]].
  - split; [easy|]. split.
    + intros before d others eq some. destruct (last_of_two before d others eq some) as [-> ->].
      exists (size ([0] ++ [/ 2]) * / 2), (1 + (0 + / 2)). split; [apply tested_exactly with 1%nat; [apply added_two|lia]|].
      unfold size; cbn. lra.
    + exists (size ([0; / 2] ++ [2]) * 2), (1 + (0 + / 2 + 2)). split; [apply tested_exactly with 2%nat; [apply added_three|lia]|].
      unfold size; cbn. lra.
  - intros before d others eq some. destruct (last_of_two before d others eq some) as [_ ->]. left. cbv beta. unfold inside. rewrite loss. lra.
  - cbn [surely_ended app]. split; [easy|]. cbv beta. unfold condition. rewrite loss. unfold sum, size; cbn -[unit compared_log summed_log]. lra.
  - unfold prefix_quotient, sum, size; cbn. lra.
Qed.

(** ** The premises of B21 hold of something.

    Source: b21_means.v, b21_root.v, b21_entmax.v. *)

Lemma one_item : prefix_mean [0] = 0 /\ prefix_square [0] = 0 /\ variance_of [0] = 0 /\ spread [0] = 1 /\ root [0] = 1.
Proof.
  assert (m : prefix_mean [0] = 0) by (unfold prefix_mean, sum, size; cbn; field).
  assert (q : prefix_square [0] = 0) by (unfold prefix_square, squares, sum, size; cbn; field).
  assert (v : variance_of [0] = 0) by (unfold variance_of; rewrite m, q; ring). assert (s : spread [0] = 1).
  { unfold spread, radicand. rewrite v. unfold size; cbn. rewrite Rinv_1, Rminus_0_r, Rmax_left, sqrt_1 by lra. easy. }
  repeat split; try easy. unfold root. rewrite m, s. ring.
Qed.

Lemma held_half m : half_loss single held m = 0.
Proof. unfold half_loss, read_error; cbn -[unit]. field. Qed.

Lemma exact_quotient k s : computed_quotient single k s (s / k).
Proof. pose proof units as [_ l0]. exists 0. rewrite Rabs_R0, exp_0, Rmult_1_r. split; [lra|apply exact_product]. Qed.

Lemma nothing_per_item : 0 / size [0] = 0.
Proof. unfold size; cbn; field. Qed.

Lemma mean_of_one : computed_mean single l 0 0 [0] 0.
Proof.
  pose proof units as [_ l0]. exists 0, 0%nat. split; [now apply added_term, term_itself|]. split; [lia|].
  pose proof (exact_quotient (size [0]) 0) as all. now rewrite nothing_per_item in all.
Qed.

Lemma square_of_one : computed_square single l 0 0 [0] 0.
Proof.
  pose proof units as [_ l0]. exists [0], (0 ^ 2), 0%nat. split; [constructor; [now apply term_itself|constructor]|].
  split; [now apply added_term, term_itself|]. split; [lia|]. pose proof (exact_quotient (size [0]) (0 ^ 2)) as all.
  replace (0 ^ 2) with 0 in all by ring. rewrite nothing_per_item in all. replace (0 ^ 2) with 0 by ring. exact all.
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
  exists d q w p, sound single /\ sound_reading held /\ (forall x, In x [0] -> x <= 0) /\ is_root_threshold (-1) [0] /\
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
  split; [unfold is_root_threshold, sum; cbn [map fold_right]; rewrite Rmax_left by lra; field|].
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
  is_root_top 1 [0] /\ In 0 [0] /\ rooted_support single l 0 (fun _ => 0%nat) [0] [] /\ (forall x, In x [0] -> x <= 1) /\
  surely_rooted (1 - within_of single l 0 (fun _ => 0%nat) 1 [0] 1) [0] /\ surely_beyond single l 0 (fun _ => 0%nat) [0] [].
Proof.
  pose proof units as [_ l0]. split; [apply single_sound|]. split; [easy|]. split; [easy|].
  split; [repeat constructor; lra|]. split; [repeat constructor|].
  split; [unfold is_root_top, sum; cbn [map fold_right]; rewrite Rmax_left by lra; ring|].
  assert (alone : forall before d others, [0] = before ++ d :: others -> before = []).
  { intros before d others eq. destruct before as [|x [|y before]]; [easy| |]; now inversion eq. }
  split; [now left|]. split; [split; [easy|split; [|easy]]|split; [intros x [<-|[]]; lra|split; [|easy]]].
  - intros before d others eq some. now rewrite (alone before d others eq) in some.
  - intros before d others eq some. now rewrite (alone before d others eq) in some.
Qed.

(** d of 1, at the edge of the support: the kernel finds it no smaller than the root of the first item. *)
Example b21_inside_is_inhabited :
  exists d' t, sound single /\ 0 <= l /\ (forall i, ((fun _ : nat => 0) i <= (fun _ : nat => 0) 2)%nat) /\ In 0 [0] /\
    Forall (fun x => 0 <= x) [0; 1] /\ ascending [0; 1] /\ (forall x, In x [0; 1] -> x <= 1) /\ is_root_top 1 ([0; 1] ++ []) /\
    root_tested single l 0 (fun _ => 0%nat) [0] 1 d' t /\ t <= d'.
Proof.
  pose proof units as [_ l0]. exists 1, 1. split; [apply single_sound|]. split; [easy|]. split; [easy|]. split; [now left|].
  split; [repeat constructor; lra|]. split; [repeat constructor; lra|]. split; [intros x [<-|[<-|[]]]; lra|].
  split; [unfold is_root_top, sum; cbn [map fold_right app]; rewrite Rmax_left, Rmax_right by lra; ring|].
  split; [|lra]. apply root_tested_without; [now apply term_itself|apply root_of_one].
Qed.
