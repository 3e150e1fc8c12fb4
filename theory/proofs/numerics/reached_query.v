(** * The premises of b17_query, b17_key, b17_split_scale and b17_sink hold of something.

    Examples
    - [b17_query_is_inhabited]   one key of p = 1, each operation of the kernel [single] with its largest error; delta each
                                 way. g - delta is 0 exactly: dS is nothing but its error, and dq is not 0
    - [b17_key_is_inhabited]     two such queries, of two heads, that see one key: dk, whole and with a split scale; dv, which
                                 reaches its bound
    - [b17_split_scale_is_reached]   a scale of 4 as 2 times 2, each 2 as large as it may be, a factor that is stored
    - [b17_sink_is_inhabited]   a key and a sink of the same score: p is half, by a recomputed sum that errs, dq is not 0

    Source: b17_query.v, b17_query.v, b17_sums.v, b17_coefficient.v. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy b9_attention added_terms
  carried_exponential b17_recomputed_sum b17_coefficient b17_sums b17_delta b17_query reached_bounds reached_losses
  reached_attention_gradient.
Local Open Scope R_scope.

Notation l := (unit single).
Notation ones := (fun _ : Datatypes.unit => one_unit).

(** ** A query that sees one key: its coefficient, g, delta, dS and a sum over one term *)

Definition one_met : R := exp l * exp l.
Definition one_product : R := 1 * 1 * exp (2 * l + l).
Definition one_delta : R := 1 * (1 * 1 + 0) * exp (2 * l + l + l).
Definition one_difference : R := (one_product - one_delta) * exp l.
Definition one_score_gradient : R := exp l * one_difference * exp l.
Definition one_stored : R := one_score_gradient * exp l.

Lemma one_coefficient : 0 <= l /\ approximates l (exp l * 0) 1 (exp l) /\ approximates l 0 (exp l) one_met.
Proof.
  pose proof units as [_ hl]. split; [easy|]. split; [|now apply approximately].
  rewrite Rmult_0_r, <- (Rmult_1_l (exp l)). now apply approximately.
Qed.

Lemma one_product_tree (a : Datatypes.unit) :
  exists h', (h' <= 0)%nat /\ added single (2 * l + l) 0 (map (fun c => one_unit c * 1) [tt]) one_product h'.
Proof. pose proof units as [_ hl]. exists 0%nat. split; [lia|]. exact (one_added (2 * l + l) (1 * 1) _ ltac:(lra) eq_refl). Qed.

Notation delta_by := (computed_delta single [tt] [tt] one_unit ones one_unit (fun _ => one_met) l 0 l 0 0 (fun _ => one_product)).

Lemma one_delta_saved : delta_by one_delta.
Proof.
  pose proof units as [_ hl]. apply delta_saved with 0%nat; [lia|].
  exact (one_added (2 * l + l + l) (1 * (1 * 1 + 0)) _ ltac:(lra) eq_refl).
Qed.

Lemma one_pair : computed_pair single (fun _ => exp l) l 0 (fun _ => one_product) one_delta tt one_stored.
Proof.
  pose proof units as [_ hl].
  apply pair_computed with one_difference one_score_gradient; [apply sum_up_by|apply product_up|now apply approximately].
Qed.

Lemma one_difference_below : one_difference <= 0.
Proof.
  pose proof units as [_ hl]. unfold one_difference, one_product, one_delta. rewrite (exp_plus (2 * l + l)).
  pose proof (exp_pos (2 * l + l)). pose proof (exp_pos l).
  assert (exp (2 * l + l) <= exp (2 * l + l) * exp l) by (apply grown; [lra|now apply exp_at_least_one]). nra.
Qed.

Lemma one_stored_below : one_stored <= 0.
Proof.
  unfold one_stored, one_score_gradient. pose proof one_difference_below. pose proof (exp_pos l).
  replace (exp l * one_difference * exp l * exp l) with ((exp l * exp l * exp l) * one_difference) by ring.
  assert (0 <= exp l * exp l * exp l) by (repeat apply Rmult_le_pos; lra). nra.
Qed.

Example b17_query_is_inhabited :
  exists from_products from_output z dq,
    sound single /\ [tt] <> [] /\ (0 <= l /\ 0 <= 0 /\ 0 <= 0 /\ 0 <= l /\ 0 <= 0 /\ 0 <= l /\ 0 <= l /\ 0 <= 0) /\
    (forall a, In a [tt] -> 0 <= one_unit a /\ 0 <= l /\ approximates l (exp l * 0) (one_unit a) (exp l) /\
       approximates l 0 (exp l) one_met) /\
    (forall a : Datatypes.unit, In a [tt] -> exists h', (h' <= 0)%nat /\
       added single (2 * l + l) 0 (map (fun c => one_unit c * 1) [tt]) one_product h') /\
    delta_by one_delta /\ delta_by from_products /\ delta_by from_output /\
    computed_pair single (fun _ => exp l) l 0 (fun _ => one_product) one_delta tt one_stored /\
    scaled_sum single [tt] l 0 0 (fun _ => one_stored) one_unit 2 z /\ rounded_output (/ 2048) 0 z dq /\
    2 * sum (map (fun a => pair_gradient [tt] [tt] one_unit ones one_unit a * 1) [tt]) = 0 /\ dq <= 0.
Proof.
  pose proof units as [_ hl]. set (O_hat := one_met * 1 * exp (l + l)).
  set (y0 := one_stored * 1 * exp (l + l)). set (z := y0 * (2 * exp l) * exp l).
  exists (one_met * one_product * exp l), (1 * O_hat * exp (l + l + l)), z, (z * (1 + / 2048)).
  split; [apply single_sound|]. split; [easy|]. split; [lra|].
  split; [intros a _; split; [lra|apply one_coefficient]|]. split; [intros a _; apply (one_product_tree a)|].
  split; [apply one_delta_saved|]. split; [|split].
  { apply delta_of_products. exact (one_added l (one_met * one_product) _ hl eq_refl). }
  { apply delta_of_output with (fun _ => O_hat) 0%nat; [|lia|exact (one_added (l + l + l) (1 * O_hat) _ ltac:(lra) eq_refl)].
    intros c _. exact (one_added (l + l) (one_met * 1) _ ltac:(lra) eq_refl). }
  split; [apply one_pair|].
  split.
  { apply scaled_total with y0 l; [exact (one_added (l + l) (one_stored * 1) _ ltac:(lra) eq_refl)|rewrite Rabs_right; lra|apply product_up]. }
  split; [apply output_up|]. split.
  { unfold pair_gradient, value_product, delta, value_product. rewrite !one_of. ring. }
  pose proof one_stored_below. unfold z, y0. pose proof (exp_pos (l + l)). pose proof (exp_pos l).
  replace (one_stored * 1 * exp (l + l) * (2 * exp l) * exp l) with (2 * (exp (l + l) * exp l * exp l) * one_stored) by ring.
  assert (0 <= exp (l + l) * exp l * exp l) by (repeat apply Rmult_le_pos; lra). nra.
Qed.

(** ** Two queries *)

Definition two_queries : list bool := [true; false].
Notation one_bool := (fun _ : bool => 1).

(** Two equal terms within e^a, and a rounded addition. *)
Lemma two_added a x y : 0 <= a -> y = x * exp a -> added single a 0 [x; x] ((y + y) * exp l) 1.
Proof.
  intros ha eq. pose proof (one_added a x y ha eq) as one. exact (added_addition single a 0 [x] [x] y y _ 0 0 one one (sum_up_by _)).
Qed.

Example b17_key_is_inhabited :
  exists y dv z dk zs dks,
    sound single /\ [tt] <> [] /\ (forall i, In i two_queries -> In tt [tt]) /\
    (0 <= l /\ 0 <= 0 /\ 0 <= l /\ 0 <= 0 /\ 0 <= l /\ 0 <= l /\ 0 <= 0) /\
    (forall i : bool, In i two_queries -> 0 <= 0 /\ forall a, In a [tt] -> 0 <= one_unit a /\ 0 <= l /\
       approximates l (exp l * 0) (one_unit a) (exp l) /\ approximates l 0 (exp l) one_met) /\
    added single (l + l) 0 (map (fun _ => one_met * 1) two_queries) y 1 /\ rounded_output (/ 2048) 0 y dv /\
    (let weight := key_weight tt (fun _ : bool => one_unit) in
     let rounding := value_rounding single two_queries tt (fun _ => one_unit) (fun _ => one_unit) (fun _ _ => l) l l 1 tt in
     let loss := value_loss single two_queries tt (fun _ => one_unit) (fun _ _ => l) (fun _ => 0) l 0 l 0 1 tt in
     let exact := sum (map (fun i => weight i * 1) two_queries) in
     exact = 2 /\ Rabs (dv - exact) = rounding + / 2048 * (Rabs exact + rounding) + (loss * (1 + / 2048) + 0)) /\
    (forall i : bool, In i two_queries -> forall a : Datatypes.unit, In a [tt] -> exists h', (h' <= 0)%nat /\
       added single (2 * l + l) 0 (map (fun c => one_unit c * 1) [tt]) one_product h') /\
    (forall i : bool, In i two_queries -> delta_by one_delta) /\
    (forall i : bool, In i two_queries -> computed_pair single (fun _ => exp l) l 0 (fun _ => one_product) one_delta tt one_stored) /\
    scaled_sum single two_queries l 0 1 (fun _ => one_stored) one_bool 2 z /\ rounded_output (/ 2048) 0 z dk /\
    (0 <= l /\ 0 <= l) /\ split_sum single two_queries l 0 1 (fun _ => one_stored) one_bool 2 2 l l zs /\
    rounded_output (/ 2048) 0 zs dks /\
    sum (map (fun i => key_gradient [tt] tt (fun _ : bool => [tt]) (fun _ => one_unit) ones (fun _ => one_unit) i * 1) two_queries) = 0 /\
    dk <= 0 /\ dks <= 0.
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1.
  set (y1 := one_met * 1 * exp (l + l)). set (y := (y1 + y1) * exp l).
  set (t1 := one_stored * 1 * exp (l + l)). set (t := (t1 + t1) * exp l). set (z := t * (2 * exp l) * exp l).
  set (u1 := 2 * (one_stored * 1) * exp (l + l)). set (u := (u1 + u1) * exp l). set (zs := u * (2 * exp l) * exp l).
  exists y, (y * (1 + / 2048)), z, (z * (1 + / 2048)), zs, (zs * (1 + / 2048)).
  split; [apply single_sound|]. split; [easy|]. split; [intros i _; now left|]. split; [lra|].
  split; [intros i _; split; [lra|]; intros a _; split; [lra|apply one_coefficient]|].
  split; [now apply two_added; [lra|]|]. split; [apply output_up|]. cbv zeta. split.
  { unfold value_rounding, value_loss, weighted_rounding, weighted_loss, key_weight, key_log, key_loss, met_log, met_loss, added_loss, size.
    unfold two_queries, sum, y, y1, one_met. cbn [map fold_right length INR]. simpl sum_floor.
    replace (l + l + (l + (1 + 1) * l)) with (l + l + (l + l) + l) by ring. rewrite (Rabs_right 1), !exp_plus by lra.
    set (x := exp l) in *. assert (1 <= x * x) by nra. assert (1 <= x * x * (x * x)) by nra.
    assert (1 <= x * x * (x * x) * x) by nra. split; [ring|]. rewrite !Rabs_right by lra. ring. }
  split; [intros i _ a _; apply (one_product_tree a)|]. split; [intros i _; apply one_delta_saved|].
  split; [intros i _; apply one_pair|].
  split.
  { apply scaled_total with t l; [now apply two_added; [lra|]|rewrite Rabs_right; lra|apply product_up]. }
  split; [apply output_up|]. split; [lra|]. split.
  { apply split_total with u l; [now apply two_added; [lra|]|rewrite Rabs_right; lra|apply product_up]. }
  split; [apply output_up|]. split.
  { unfold key_gradient, pair_gradient, value_product, delta, value_product, two_queries, sum. cbn. ring. }
  pose proof one_stored_below. pose proof (exp_pos (l + l)).
  assert (0 <= exp (l + l) * exp l * exp l * exp l) by (repeat apply Rmult_le_pos; lra).
  unfold z, t, t1, zs, u, u1. split.
  - replace ((one_stored * 1 * exp (l + l) + one_stored * 1 * exp (l + l)) * exp l * (2 * exp l) * exp l)
      with (4 * (exp (l + l) * exp l * exp l * exp l) * one_stored) by ring. nra.
  - replace ((2 * (one_stored * 1) * exp (l + l) + 2 * (one_stored * 1) * exp (l + l)) * exp l * (2 * exp l) * exp l)
      with (8 * (exp (l + l) * exp l * exp l * exp l) * one_stored) by ring. nra.
Qed.

Example b17_split_scale_is_reached :
  exists term y0 y, sound single /\ (0 <= l /\ 0 <= l /\ 0 <= 0 /\ 0 <= l /\ 0 <= 0) /\
    (forall a, In a [tt] -> Rabs (3 / 2 - one_unit a) <= / 2 /\ Rabs (3 / 2) <= 3 / 2) /\ 0 <= 3 / 2 /\
    (forall a : Datatypes.unit, In a [tt] -> rooted_term single 2 l l 0 l 0 (3 / 2) 1 term) /\
    approximates 0 0 term y0 /\ added single 0 0 (map (fun _ : Datatypes.unit => term) [tt]) y0 0 /\
    Forall2 (approximates (l + term_log single l l) 0) [2 * (3 / 2 * 1)] [term] /\
    Rabs (root_log single l) <= root_log single l /\ computed_product single (y0 * (2 * exp (root_log single l))) y /\
    Rabs (y - 2 * 2 * sum (map (fun a => one_unit a * one_unit a) [tt]))
    = root_sum_rounding single 2 l l l [tt] one_unit (fun _ => / 2) one_unit 0
      + root_sum_loss single 2 l l 0 0 [tt] one_unit (3 / 2) 0.
Proof.
  pose proof units as [_ hl]. pose proof (exp_at_least_one l hl) as x1.
  set (x0 := 1 * exp l). set (q1 := x0 * (2 * exp (root_log single l)) * exp l). set (q2 := q1 * exp l).
  set (term := 3 / 2 * q2 * exp l).
  exists term, term, (term * (2 * exp (root_log single l)) * exp l).
  assert (root : 0 <= root_log single l) by (unfold root_log; lra).
  split; [apply single_sound|]. split; [lra|]. split; [intros a _; rewrite !Rabs_right; lra|]. split; [lra|]. split.
  { intros a _. apply rooted_term_computed with x0 (root_log single l) q1 q2; try apply product_up; try now apply approximately.
    rewrite Rabs_right; lra. }
  assert (same : approximates 0 0 term term) by (exists 0, 0; rewrite Rabs_R0, exp_0; lra).
  split; [easy|]. split; [now apply added_term|]. split.
  { constructor; [|constructor]. replace term with (2 * (3 / 2 * 1) * exp (l + term_log single l l)).
    - apply approximately. unfold term_log. lra.
    - unfold term, q2, q1, x0, term_log. replace (l + (2 * l + root_log single l + l)) with (l + root_log single l + l + l + l) by ring.
      rewrite !exp_plus. ring. }
  split; [rewrite Rabs_right; lra|]. split; [apply product_up|].
  unfold root_sum_rounding, root_sum_loss, split_sum_loss, term_loss. rewrite one_of.
  unfold added_loss, size. cbn -[unit root_log exp Rabs]. rewrite (Rabs_right 1), (Rabs_right 2), (Rabs_right (2 * 2)) by lra.
  unfold sum. cbn [map fold_right].
  assert (whole : term * (2 * exp (root_log single l)) * exp l = 4 * (3 / 2) * exp ((0 + 5) * l + 2 * l + l + l)).
  { unfold term, q2, q1, x0, root_log. replace ((0 + 5) * l + 2 * l + l + l) with (l + (l + l) + l + l + l + (l + l) + l) by ring.
    rewrite !exp_plus. field. }
  pose proof (exp_at_least_one ((0 + 5) * l + 2 * l + l + l) ltac:(lra)). rewrite whole, Rabs_right; lra.
Qed.

(** ** A key, true, and a sink, false *)

Notation E := (exp_unit single).
Definition keyed_value (i : bool) (_ : Datatypes.unit) : R := if i then 1 else 0.
Definition half_hat : R := exp (1 * E) / far_sum 1 * exp (1 * l).

Lemma exactly x : approximates 0 0 x x.
Proof. exists 0, 0. rewrite Rabs_R0, exp_0. lra. Qed.

Example b17_sink_is_inhabited :
  let row := fun _ : bool => zero_key in
  let half := fun i => weight (map row ([true] ++ [false])) 0 (row i) in
  sound single /\ 1 <= 1 /\ is_maximum 0 (map score (map row ([true] ++ [false]))) /\
    is_maximum 0 (map computed_score (map row ([true] ++ [false]))) /\
    (forall a, In a (map row ([true] ++ [false])) -> Rabs (computed_score a - score a) <= exact_scores a /\ exact_scores a <= 0) /\
    sum_of_row single 0 0 (map computed_score (map row ([true] ++ [false]))) (far_sum 1) 1 1 /\
    recomputed_lost single (map row ([true] ++ [false])) 1 1 < 1 /\ 0 <= 0 /\ roundoff single + 0 < 1 /\ 0 <= l /\
    (forall i, In i [true] ->
       computed_coefficient single 1 (map row ([true] ++ [false])) 0 exact_scores (far_sum 1) 1 0 l 0 (row i) half_hat /\
       approximates 0 0 half_hat half_hat) /\
    [tt] <> [] /\ (forall i c, In i [false] -> keyed_value i c = 0) /\
    (0 <= 0 /\ 0 <= 0 /\ 0 <= 0 /\ 0 <= 0 /\ 0 <= 0 /\ 0 <= 0 /\ 0 <= 0) /\
    (forall i, In i [true] -> exists h', (h' <= 0)%nat /\
       added single (2 * 0 + l) 0 (map (fun c => one_unit c * keyed_value i c) [tt]) 1 h') /\
    computed_delta single [true] [tt] one_unit keyed_value half (fun _ => half_hat) 0 0 0 0 0 (fun _ => 1) (/ 2) /\
    (forall i, In i [true] -> computed_pair single (fun _ => half_hat) 0 0 (fun _ => 1) (/ 2) i (half_hat * (1 - / 2))) /\
    scaled_sum single [true] 0 0 0 (fun _ => half_hat * (1 - / 2)) one_bool 1 (half_hat * (1 - / 2)) /\
    rounded_output 0 0 (half_hat * (1 - / 2)) (half_hat * (1 - / 2)) /\
    1 * sum (map (fun i => pair_gradient ([true] ++ [false]) [tt] one_unit keyed_value half i * 1) [true]) = / 4.
Proof.
  cbv zeta. pose proof units as [hE hl]. change (map (fun _ : bool => zero_key) ([true] ++ [false])) with two_keys.
  assert (half : weight two_keys 0 zero_key = / 2) by apply zero_weight.
  assert (one_term : forall a x, 0 <= a -> added single a 0 [x] x 0).
  { intros a x ha. apply added_term. exists 0, 0. rewrite Rabs_R0, exp_0. repeat split; lra. }
  split; [apply single_sound|]. split; [lra|]. split; [apply level_maximum|]. split; [apply level_maximum|].
  split; [apply two_keys_exact|]. split; [apply far_sum_of_row; lra|]. split; [rewrite keys_lose_nothing; lra|].
  split; [lra|]. split; [cbn; lra|]. split; [easy|]. split.
  { intros i _. split; [|apply exactly]. apply by_sum with 0%nat (exp (1 * E)); [lia| |apply by_division, product_off; lra].
    apply carried_item with 0; cbn [computed_score zero_key]; [lra| |apply exp_of_0; lra]. rewrite Rminus_0_r. apply argument_of_0. }
  split; [easy|]. split; [intros i c [<-|[]]; easy|]. split; [lra|]. split.
  { intros i [<-|[]]. exists 0%nat. split; [lia|]. cbn [map keyed_value]. rewrite Rmult_1_r. apply one_term. lra. }
  split.
  { apply delta_saved with 0%nat; [lia|]. cbn [map]. unfold output, sum. cbn [map fold_right keyed_value]. rewrite half.
    replace (1 * (/ 2 * 1 + 0)) with (/ 2) by field. apply one_term. lra. }
  split.
  { intros i _. apply pair_computed with (1 - / 2) (half_hat * (1 - / 2)); [| |apply exactly].
    - exists 0, 0. rewrite Rabs_R0, exp_0. cbn -[unit]. repeat split; lra.
    - exists 0, 0. rewrite Rabs_R0, exp_0. cbn -[unit]. repeat split; lra. }
  split.
  { apply scaled_terms. cbn [map]. replace (1 * (half_hat * (1 - / 2) * 1)) with (half_hat * (1 - / 2)) by ring. apply one_term. lra. }
  split; [exists 0, 0; rewrite Rabs_R0; repeat split; lra|].
  unfold pair_gradient, delta, value_product, sum. cbn [app map fold_right keyed_value]. rewrite !half. field.
Qed.
