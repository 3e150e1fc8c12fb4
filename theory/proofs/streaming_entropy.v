(** * Streaming entropy and attention: one pass, any reference point, any merge tree (paper, Appendix G).

    Main results (exact reals; a state keeps the maximum m, S - 1, T and one coordinate of the weighted values)
    - [recurrence]          streaming a row item by item gives its entropy and its attention output
    - [paper_recurrence]    in the paper's letters L = S and K = -T it is the update of Appendix G
    - [reference_point]     H = ln S - K / S about any reference point in place of the maximum
    - [rebase_entropy], [rebase_output]   so that a stale maximum changes nothing
    - [merge_associative], [merge_commutative], [identity]   states form a commutative monoid under merge
    - [every_tree]          every merge tree over the items, in every order, gives the state of two passes
    - [every_plan]          and so does every plan of merges between slots, the form theory/streaming_entropy.hpp keeps
    - [no_cancellation]     S >= 1 and T >= 0
    - [rounding_f32], [rounding_f64], [rounding_bf16]   in floating point, operation by operation: what every plan leaves
                            and what two passes return errs by at most B6 (numerics/rounded_streaming.v)

    Source: paper, Appendix G; the weighted values make it streamed attention (FlashAttention's accumulator).

    An item is a logit with one coordinate of its value vector; a masked item has no logit. The coordinates of a value
    do not interact: a vector is streamed coordinate by coordinate with the same m and S. *)

From softcheck Require Import softmax merge_plan.
From softcheck.floating_point Require formats.
From softcheck.numerics Require row streaming_code rounded_streaming.
Local Open Scope R_scope.

(** ** A commutative monoid *)

Theorem merge_commutative s t : merge s t = merge t s.
Proof. destruct s, t; cbn; try easy. f_equal. apply merge_states_commutative. Qed.

Theorem merge_associative s t u : merge s (merge t u) = merge (merge s t) u.
Proof. destruct s, t, u; cbn; try easy. f_equal. apply merge_states_associative. Qed.

(** An empty or fully masked block changes nothing: no -inf - (-inf) arises. *)
Theorem identity s : merge None s = s /\ merge s None = s.
Proof. destruct s; now cbn. Qed.

(** One item is at the maximum, with weight 1, and no item is above it. *)
Theorem no_cancellation items s : two_pass items = Some s -> 0 <= others s /\ 0 <= moment s.
Proof.
  destruct items as [|first rest]; [easy|]. intros [= <-]. set (all := first :: rest).
  set (m := largest (fst first) (map fst rest)). cbn [others moment state_about].
  assert (above : forall i, In i all -> fst i <= m).
  { intros i [<- | ini]; apply largest_ge; [now left|]. right. now apply in_map. }
  assert (reached : exists i, In i all /\ fst i = m).
  { destruct (largest_in (fst first) (map fst rest)) as [same | inside].
    - exists first. split; [now left | easy].
    - apply in_map_iff in inside as [i [same ini]]. exists i. split; [now right | easy]. }
  destruct reached as [i [ini at_m]]. split.
  - enough (exp (fst i - m) <= sum (map (fun i => exp (fst i - m)) all)) as enough.
    { replace (fst i - m) with 0 in enough by lra. rewrite exp_0 in enough. lra. }
    apply (sum_map_at_least_one (fun i => exp (fst i - m))); [|easy]. intros. apply Rlt_le, exp_pos.
  - apply sum_map_nonneg. intros j inj. apply Rmult_le_pos; [specialize (above j inj); lra|]. apply Rlt_le, exp_pos.
Qed.

(** The state of two rows together is the merge of their states. *)
Lemma two_pass_app xs ys : two_pass (xs ++ ys) = merge (two_pass xs) (two_pass ys).
Proof.
  destruct xs as [|x xs]; [easy|]. destruct ys as [|y ys]; [now rewrite app_nil_r|]. cbn [two_pass merge app]. f_equal.
  set (m1 := largest (fst x) (map fst xs)). set (m2 := largest (fst y) (map fst ys)).
  destruct (merge_states_sums (state_about m1 (x :: xs)) (state_about m2 (y :: ys))) as [m [p [e v]]].
  change (x :: xs ++ y :: ys) with ((x :: xs) ++ y :: ys).
  match goal with |- state_about ?m ?l = _ => destruct (state_about_sums m l) as [p0 [e0 v0]] end.
  destruct (state_about_sums m1 (x :: xs)) as [p1 [e1 v1]], (state_about_sums m2 (y :: ys)) as [p2 [e2 v2]].
  apply state_determined.
  - rewrite m. cbn [maximum state_about]. rewrite map_app. apply largest_app.
  - rewrite p, p0, p1, p2, map_app. apply sum_app.
  - rewrite e, e0, e1, e2, map_app. apply sum_app.
  - rewrite v, v0, v1, v2, map_app. apply sum_app.
Qed.

Lemma visible_app xs ys : visible (xs ++ ys) = visible xs ++ visible ys.
Proof. induction xs as [|[[x|] v] xs IH]; simpl; congruence. Qed.

Lemma leaf_two_pass i : leaf i = two_pass (visible [i]).
Proof.
  destruct i as [[x|] v]; [|easy]. cbn. unfold state_about, sum, largest. cbn.
  replace (x - x) with 0 by ring. rewrite exp_0. do 2 f_equal; ring.
Qed.

(** Item by item from any state: push adds the item to the row of the state. *)
Lemma stream_from seen items : fold_left push items (two_pass (visible seen)) = two_pass (visible (seen ++ items)).
Proof.
  revert seen. induction items as [|i items IH]; intros; [now rewrite app_nil_r|]. cbn [fold_left]. unfold push at 2.
  rewrite leaf_two_pass, <- two_pass_app, <- visible_app, IH. now rewrite <- app_assoc.
Qed.

Lemma stream_two_pass items : stream items = two_pass (visible items).
Proof. apply (stream_from []). Qed.

(** ** Entropy and output from a state *)

Lemma entropy_of_sums s : 0 < weight_sum s -> entropy_of s = ln (mass s) - energy s / mass s.
Proof.
  intros pos. unfold entropy_of, mass, energy. pose proof (exp_pos (maximum s)).
  rewrite ln_mult, ln_exp by easy. field. split; lra.
Qed.

Lemma output_from_sums s : 0 < weight_sum s -> output_of s = value_mass s / mass s.
Proof. intros pos. unfold output_of, mass, value_mass. pose proof (exp_pos (maximum s)). field. split; lra. Qed.

Lemma weight_sum_about_pos m items : items <> [] -> 0 < weight_sum (state_about m items).
Proof.
  intros some. unfold weight_sum. cbn. enough (0 < sum (map (fun i => exp (fst i - m)) items)) by lra.
  apply sum_map_pos; [easy|]. intros. apply exp_pos.
Qed.

Definition attention_output (items : list (R * R)) : R :=
  sum (map (fun i => coefficient (map fst items) (fst i) * snd i) items).

(** ln of the mass minus the mean. *)
Lemma state_about_entropy m items : items <> [] -> entropy_of (state_about m items) = entropy (map fst items).
Proof.
  intros some. rewrite entropy_of_sums by now apply weight_sum_about_pos.
  destruct (state_about_sums m items) as [-> [-> _]]. rewrite entropy_log_partition by now apply map_not_nil.
  unfold mean, expectation, coefficient, partition_function, Rdiv. rewrite !map_map. f_equal. f_equal.
  rewrite <- sum_map_mult_r. apply sum_map_ext. intros. ring.
Qed.

(** The factor e^(-m) cancels. *)
Lemma state_about_output m items : items <> [] -> output_of (state_about m items) = attention_output items.
Proof.
  intros some. rewrite output_from_sums by now apply weight_sum_about_pos.
  destruct (state_about_sums m items) as [-> [_ ->]]. unfold attention_output, coefficient, partition_function, Rdiv.
  rewrite map_map. rewrite <- sum_map_mult_r. apply sum_map_ext. intros. ring.
Qed.

(** The streamed state is that of two passes, and its entropy and output are those of the visible row. *)
Theorem recurrence items :
  visible items <> [] ->
  exists s, stream items = Some s /\ entropy_of s = entropy (map fst (visible items)) /\
            output_of s = attention_output (visible items).
Proof.
  intros some. rewrite stream_two_pass. destruct (visible items) as [|first rest] eqn:row; [easy|].
  eexists. split; [reflexivity|]. split; [now apply state_about_entropy | now apply state_about_output].
Qed.

(** ** The paper's letters: L = S, K = sum (x - m) e^(x - m) = -T *)

(** Both cases of the new maximum. *)
Theorem paper_recurrence s x v :
  let L := weight_sum s in
  let K := - moment s in
  let m' := Rmax (maximum s) x in
  let c := exp (maximum s - m') in
  exists t, push (Some s) (Some x, v) = Some t /\
    maximum t = m' /\
    weight_sum t = c * L + exp (x - m') /\
    - moment t = c * (K + (maximum s - m') * L) + (x - m') * exp (x - m') /\
    weighted t = c * weighted s + exp (x - m') * v.
Proof.
  eexists. split; [reflexivity|]. unfold merge_states, absorb, weight_sum. cbn. destruct (Rle_dec x (maximum s)); cbn.
  - rewrite Rmax_left by easy. replace (maximum s - maximum s) with 0 by ring. rewrite exp_0.
    replace (- (maximum s - x)) with (x - maximum s) by ring. repeat split; ring.
  - rewrite Rmax_right by lra. replace (x - x) with 0 by ring. rewrite exp_0.
    replace (- (x - maximum s)) with (maximum s - x) by ring. repeat split; ring.
Qed.

(** ** Any reference point *)

(** The maximum is only one reference point among all: the factor e^(m - r) cancels. *)
Theorem reference_point logits r :
  logits <> [] ->
  let S := sum (map (fun x => exp (x - r)) logits) in
  let K := sum (map (fun x => (x - r) * exp (x - r)) logits) in
  ln S - K / S = entropy logits.
Proof.
  intros some S K. set (items := map (fun x => (x, 0)) logits).
  replace logits with (map fst items) at 1 by (unfold items; rewrite map_map; apply map_id).
  rewrite <- (state_about_entropy r) by (unfold items; now apply map_not_nil).
  unfold entropy_of, weight_sum, state_about, items. cbn [others moment]. rewrite !map_map. cbn [fst].
  replace (1 + (sum (map (fun x => exp (x - r)) logits) - 1)) with S by (unfold S; ring).
  replace (sum (map (fun x => (r - x) * exp (x - r)) logits)) with (- K).
  - unfold Rdiv. ring.
  - unfold K. rewrite <- sum_map_opp. apply sum_map_ext. intros. ring.
Qed.

(** The state about another reference point r: a stale maximum, or one updated lazily. *)
Definition rebase (r : R) (s : state) : state :=
  let d := r - maximum s in
  let a := exp (- d) in
  {| maximum := r; others := a * weight_sum s - 1; moment := a * (moment s + d * weight_sum s);
     weighted := a * weighted s |}.

Lemma rebase_sums r s :
  mass (rebase r s) = mass s /\ energy (rebase r s) = energy s /\ value_mass (rebase r s) = value_mass s.
Proof.
  destruct s as [m o k w]. unfold rebase, mass, energy, value_mass, weight_sum. cbn.
  replace (exp m) with (exp r * exp (- (r - m))) by (rewrite <- exp_plus; f_equal; ring). repeat split; ring.
Qed.

Lemma rebase_weight_sum_pos r s : 0 < weight_sum s -> 0 < weight_sum (rebase r s).
Proof.
  intros pos. unfold rebase, weight_sum at 1. cbn. pose proof (exp_pos (- (r - maximum s))).
  enough (0 < exp (- (r - maximum s)) * weight_sum s) by lra. now apply Rmult_lt_0_compat.
Qed.

Theorem rebase_entropy r s : 0 < weight_sum s -> entropy_of (rebase r s) = entropy_of s.
Proof.
  intros pos. rewrite !entropy_of_sums by (try apply rebase_weight_sum_pos; easy).
  now destruct (rebase_sums r s) as [-> [-> _]].
Qed.

Theorem rebase_output r s : 0 < weight_sum s -> output_of (rebase r s) = output_of s.
Proof.
  intros pos. rewrite !output_from_sums by (try apply rebase_weight_sum_pos; easy).
  now destruct (rebase_sums r s) as [-> [_ ->]].
Qed.

(** ** Every tree *)

(** Chunks are streamed, their states merged. *)
Inductive tree : Set :=
  | Chunk (items : list item)
  | Merge (one two : tree).

Fixpoint tree_state (t : tree) : option state :=
  match t with
  | Chunk items => stream items
  | Merge one two => merge (tree_state one) (tree_state two)
  end.

Fixpoint tree_items (t : tree) : list item :=
  match t with
  | Chunk items => items
  | Merge one two => tree_items one ++ tree_items two
  end.

Lemma tree_state_two_pass t : tree_state t = two_pass (visible (tree_items t)).
Proof.
  induction t as [items | one IHone two IHtwo]; cbn; [apply stream_two_pass|].
  now rewrite IHone, IHtwo, visible_app, two_pass_app.
Qed.

(** Leaving out masked items keeps the order of the others. *)
Lemma visible_permutation xs ys : Permutation xs ys -> Permutation (visible xs) (visible ys).
Proof.
  induction 1 as [|[[x|] v] xs ys same IH|[[x|] v] [[y|] w] xs|]; cbn; try easy.
  - now apply perm_skip.
  - apply perm_swap.
  - now apply Permutation_trans with (visible l').
Qed.

(** Items are merged one by one, in a commutative monoid. *)
Lemma two_pass_permutation xs ys : Permutation xs ys -> two_pass xs = two_pass ys.
Proof.
  assert (cons : forall i xs, two_pass (i :: xs) = merge (two_pass [i]) (two_pass xs)).
  { intros. apply (two_pass_app [i]). } induction 1 as [|i xs ys same IH|i j xs|]; [easy | | |congruence].
  - now rewrite (cons i xs), IH, <- cons.
  - rewrite (cons j (i :: xs)), (cons i xs), (cons i (j :: xs)), (cons j xs). rewrite !merge_associative. f_equal.
    apply merge_commutative.
Qed.

(** The state of every tree over any order of the row's items is that of two passes over the row, and so are its
    entropy and output. *)
Theorem every_tree t row :
  Permutation (tree_items t) row ->
  tree_state t = two_pass (visible row) /\
  (visible row <> [] ->
   exists s, tree_state t = Some s /\ entropy_of s = entropy (map fst (visible row)) /\
             output_of s = attention_output (visible row)).
Proof.
  intros same. assert (states : tree_state t = two_pass (visible row)).
  { rewrite tree_state_two_pass. now apply two_pass_permutation, visible_permutation. }
  split; [easy|]. intros some. destruct (recurrence row some) as [s [streamed results]].
  exists s. split; [|easy]. now rewrite states, <- stream_two_pass.
Qed.

(** ** Every plan *)

(** Chunks are streamed into the slots; what a valid plan leaves in slot 0 is the state of the whole row. *)
Theorem every_plan chunks steps :
  valid_plan (seq 0 (length chunks)) steps ->
  run_plan merge (fun i => stream (nth i chunks [])) steps 0%nat = two_pass (visible (concat chunks)).
Proof.
  intros valid. apply (run_plan_gathers merge (fun items s => s = two_pass (visible items))); try easy.
  - intros l l' s same ->. now apply two_pass_permutation, visible_permutation.
  - intros l l' s s' -> ->. now rewrite visible_app, two_pass_app.
  - intros. apply stream_two_pass.
Qed.

(** ** In floating point: B6, streamed and in two passes *)

Section Rounding.
  Import formats row streaming_code rounded_streaming.

  Theorem rounding_f64 tie exp_hat log1p_hat log_hat chunks steps :
    let rnd := nearest binary64 tie in
    let row := visible (concat chunks) in
    library binary64 exp_hat log1p_hat log_hat -> valid_plan (seq 0 (length chunks)) steps ->
    row <> [] -> (forall x, In x row -> number binary64 x) ->
    exists a, planned rnd exp_hat chunks steps = Some a /\ is_maximum (top a) row /\
      (promised binary64 (top a) row (rescalings a) ->
       Rabs (entropy_held rnd log1p_hat a - entropy row) <= entropy_bound binary64 (top a) row (rescalings a) /\
       Rabs (entropy_two_pass rnd exp_hat log_hat (top a) row - entropy row)
         <= entropy_bound binary64 (top a) row (rescalings a)).
  Proof.
    intros rnd row calls valid some numbers.
    destruct (streamed_within binary64 tie _ _ _ binary64_usable calls chunks steps valid some numbers)
      as [a [planned_a [max close]]].
    exists a. split; [easy|]. split; [easy|]. intros promise. split; [now apply close|].
    now apply (two_pass_within binary64 tie _ log1p_hat _ binary64_usable).
  Qed.

  Theorem rounding_f32 tie exp_hat log1p_hat log_hat chunks steps :
    let rnd := nearest binary32 tie in
    let row := visible (concat chunks) in
    library binary32 exp_hat log1p_hat log_hat -> valid_plan (seq 0 (length chunks)) steps ->
    row <> [] -> (forall x, In x row -> number binary32 x) ->
    exists a, planned rnd exp_hat chunks steps = Some a /\ is_maximum (top a) row /\
      (promised binary32 (top a) row (rescalings a) ->
       Rabs (entropy_held rnd log1p_hat a - entropy row) <= entropy_bound binary32 (top a) row (rescalings a) /\
       Rabs (entropy_two_pass rnd exp_hat log_hat (top a) row - entropy row)
         <= entropy_bound binary32 (top a) row (rescalings a)).
  Proof.
    intros rnd row calls valid some numbers.
    destruct (streamed_within binary32 tie _ _ _ binary32_usable calls chunks steps valid some numbers)
      as [a [planned_a [max close]]].
    exists a. split; [easy|]. split; [easy|]. intros promise. split; [now apply close|].
    now apply (two_pass_within binary32 tie _ log1p_hat _ binary32_usable).
  Qed.

  (** Accumulated in binary32, which holds every logit. *)
  Theorem rounding_bf16 tie exp_hat log1p_hat log_hat chunks steps :
    let rnd := nearest binary32 tie in
    let row := visible (concat chunks) in
    library binary32 exp_hat log1p_hat log_hat -> valid_plan (seq 0 (length chunks)) steps ->
    row <> [] -> (forall x, In x row -> number bfloat16 x) ->
    exists a, planned rnd exp_hat chunks steps = Some a /\ is_maximum (top a) row /\
      (promised binary32 (top a) row (rescalings a) ->
       Rabs (entropy_held rnd log1p_hat a - entropy row) <= entropy_bound binary32 (top a) row (rescalings a) /\
       Rabs (entropy_two_pass rnd exp_hat log_hat (top a) row - entropy row)
         <= entropy_bound binary32 (top a) row (rescalings a)).
  Proof.
    intros rnd row calls valid some numbers. apply rounding_f32; try easy.
    intros x inx. now apply bfloat16_in_binary32, numbers.
  Qed.
End Rounding.
