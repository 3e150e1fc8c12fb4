(** * The streamed entropy of theory/streaming_entropy.hpp in a format, operation by operation.

    A state keeps m, S - 1 and T, as EntropyState does; every operation is rounded to nearest in the accumulator's format,
    exp, log1p and log are the library's. [rescalings] counts as plan_rescalings does: it computes nothing.

    Main results
    - [streamed_within]   what every plan of merges leaves errs by at most [entropy_bound]: B6 for n items, as certified
                          with the contract of streaming_contract (exp within an ulp, logarithms within 4 u)
    - [two_pass_within]   so does the entropy of two passes, of the same bound

    Overflow is left out here, as Flocq's formats do: a difference that overflows has weight 0 (streaming::weighted), the
    sums stay below n D_0, and where that is no number the C++ promises nothing (moment_overflows).

    Source: theory/streaming_entropy.hpp and .cpp; docs/tolerances.md, B6. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax merge_plan.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row tilted_row reduction b1_sum moments b5_logsumexp b6_entropy b6_growing.
Local Open Scope R_scope.
From softcheck.numerics Require Import streaming_code.

(** ** Trees in general *)

Lemma streamed_height M l r s y h j K :
  streamed M l r s y h j K -> (h < length l)%nat /\ (j = 0 -> K = 0)%nat /\ above_all r l.
Proof.
  induction 1 as [x r b s y le|l1 l2 r s1 s2 s y1 y2 y h1 h2 j1 j2 K1 K2 _ [H1 [Z1 A1]] _ [H2 [Z2 A2]]
                 |l r r' s y b f p q s' y' h j K _ [H [Z A]] le|l l' r s y h j K _ [H [Z A]] same].
  - cbn. repeat split; try lia. intros z [<-|[]]. easy.
  - rewrite app_length. repeat split; [lia|lia|]. now apply app_above_all.
  - repeat split; [easy|lia|]. intros z inz. apply Rle_trans with r; [now apply A|easy].
  - rewrite <- (Permutation_length same). repeat split; [easy|easy|].
    intros z inz. apply A. now apply Permutation_in with l'; [apply Permutation_sym|].
Qed.

Section Rounded.
  Context (F : format) (tie : Z -> bool) (exp_hat log1p_hat log_hat : R -> R) (good_format : usable F)
    (calls : library F exp_hat log1p_hat log_hat).
  Notation M := (streaming_arithmetic F).
  Notation rnd := (nearest F tie).

  Local Instance precision_positive : Prec_gt_0 (prec F).
  Proof. unfold Prec_gt_0. destruct good_format. lia. Qed.

  Local Notation arithmetic_sound := (streaming_code.arithmetic_sound F good_format).
  Local Notation number_0 := (streaming_code.number_0 F).
  Local Notation number_1 := (streaming_code.number_1 F good_format).
  Local Notation number_rnd := (streaming_code.number_rnd F tie good_format).
  Local Notation rnd_number := (streaming_code.rnd_number F tie).
  Local Notation exact_sum := (streaming_code.exact_sum F good_format).
  Local Notation one_roundoff := (streaming_code.one_roundoff F good_format).
  Local Notation one_roundoff' := (streaming_code.one_roundoff' F good_format).
  Local Notation rounded_plus := (streaming_code.rounded_plus F tie good_format).
  Local Notation sum_rnd := (streaming_code.sum_rnd F tie good_format).
  Local Notation product_rnd := (streaming_code.product_rnd F tie good_format).
  Local Notation difference_rnd := (streaming_code.difference_rnd F tie good_format).
  Local Notation exp_computed := (streaming_code.exp_computed F exp_hat log1p_hat log_hat good_format calls).

  (** ** Sums over some items, maybe none *)

  (** s and y may be S and T over l about r, with j rescalings on a path and at most one an item in all. *)
  Definition part (l : list R) (r s y : R) (j : nat) : Prop :=
    number F s /\ number F y /\
    ((l = [] /\ s = 0 /\ y = 0 /\ j = 0%nat) \/ exists h K, streamed M l r s y h j K /\ (K <= length l)%nat).

  Lemma part_none r : part [] r 0 0 0.
  Proof. split; [apply number_0|]. split; [apply number_0|]. now left. Qed.

  Lemma part_added l1 l2 r s1 s2 y1 y2 j1 j2 :
    part l1 r s1 y1 j1 -> part l2 r s2 y2 j2 -> part (l1 ++ l2) r (rnd (s1 + s2)) (rnd (y1 + y2)) (Nat.max j1 j2).
  Proof.
    intros [hs1 [hy1 p1]] [hs2 [hy2 p2]]. split; [apply number_rnd|]. split; [apply number_rnd|].
    destruct p1 as [[-> [-> [-> ->]]]|[h1 [K1 [str1 few1]]]].
    - rewrite !Rplus_0_l, !rnd_number by easy. exact p2.
    - destruct p2 as [[-> [-> [-> ->]]]|[h2 [K2 [str2 few2]]]].
      + rewrite !Rplus_0_r, !rnd_number, app_nil_r, Nat.max_0_r by easy. right. now exists h1, K1.
      + right. exists (S (Nat.max h1 h2)), (K1 + K2)%nat. rewrite app_length. split; [|lia].
        apply streamed_addition with s1 s2 y1 y2; try easy; now apply sum_rnd.
  Qed.

  (** The maximum itself: weight 1, deviation 0. *)
  Lemma item_at_reference r : streamed M [r] r 1 0 0 0 0.
  Proof.
    pose proof arithmetic_sound as good. pose proof (unit_nonneg M good). pose proof (exp_unit_nonneg M good).
    assert (0 <= argument_unit M) by apply good. assert (0 <= argument_step M) by apply good.
    assert (0 <= exp_floor M /\ 0 <= exp_cutoff M) by (unfold sound in good; lra).
    assert (0 <= product_floor M) by (unfold sound in good; lra). apply streamed_item with 0; [lra| | |].
    - exists 0, 0. rewrite !Rabs_R0. repeat split; try easy. ring.
    - exists 0, 0. rewrite !Rabs_R0, !Ropp_0, !Rplus_0_r, exp_0, Rmult_0_r. repeat split; try easy; try lra.
      apply Rmult_le_pos; lra.
    - exists 0, 0. rewrite !Rabs_R0. repeat split; try easy. ring.
  Qed.

  Lemma part_one r : part [r] r 1 0 0.
  Proof.
    split; [apply number_1|]. split; [apply number_0|]. right. exists 0%nat, 0%nat.
    split; [apply item_at_reference|cbn; lia].
  Qed.

  Lemma part_item x r :
    number F x -> number F r -> x <= r -> part [x] r (exp_hat (rnd (r - x))) (rnd (exp_hat (rnd (r - x)) * rnd (r - x))) 0.
  Proof.
    intros hx hr le. destruct (difference_rnd r x hr hx le) as [arg pos]. pose proof (number_rnd (r - x)) as hd.
    split; [now apply (exp_is_number _ _ _ _ calls)|]. split; [apply number_rnd|]. right. exists 0%nat, 0%nat.
    split; [|cbn; lia]. apply streamed_item with (rnd (r - x)); try easy; [now apply exp_computed|apply product_rnd].
  Qed.

  (** ** What a state is of *)

  Definition sums (l : list R) (a : held) : Prop :=
    number F (top a) /\ exists others, Permutation l (top a :: others) /\
      part others (top a) (rest a) (moment a) (rescalings a).

  Lemma sums_reordered l l' a : Permutation l l' -> sums l a -> sums l' a.
  Proof.
    intros same [ht [others [order p]]]. split; [easy|]. exists others. split; [|easy].
    transitivity l; [now symmetry|easy].
  Qed.

  (** S = 1 + rest, rounded or not. *)
  Lemma whole_state l a s :
    sums l a -> s = rest a + 1 \/ s = rnd (rest a + 1) ->
    exists h K, streamed M l (top a) s (moment a) h (rescalings a) K /\ (K < length l)%nat.
  Proof.
    intros [ht [others [order [hr [hm p]]]]] hs. rewrite (Permutation_length order). cbn [length].
    destruct p as [[-> [r0 [m0 j0]]]|[h [K [str few]]]].
    - exists 0%nat, 0%nat. split; [|lia]. rewrite m0, j0. apply streamed_reordered with [top a]; [|now symmetry].
      assert (s = 1) as ->; [|apply item_at_reference].
      destruct hs as [-> | ->]; rewrite r0, Rplus_0_l; [easy|apply rnd_number, number_1].
    - exists (S (Nat.max h 0)), (K + 0)%nat. split; [|lia]. apply streamed_reordered with (others ++ [top a]).
      2:{ transitivity (top a :: others); [|now symmetry]. symmetry. apply Permutation_cons_append. }
      replace (rescalings a) with (Nat.max (rescalings a) 0) by lia.
      apply streamed_addition with (rest a) 1 (moment a) 0; [easy|apply item_at_reference| |].
      + destruct hs as [-> | ->]; [apply exact_sum|apply sum_rnd; [easy|apply number_1]].
      + rewrite Rplus_0_r. apply exact_sum.
  Qed.

  (** A whole state about a larger maximum. *)
  Lemma part_rescaled l a r :
    sums l a -> number F r -> top a <= r ->
    let d := rnd (r - top a) in
    let s := rnd (rest a + 1) in
    part l r (rnd (exp_hat d * s)) (rnd (exp_hat d * rnd (moment a + rnd (d * s)))) (S (rescalings a)).
  Proof.
    intros sl hr le d s. destruct (whole_state l a s sl (or_intror eq_refl)) as [h [K [str few]]].
    destruct sl as [ht [others [_ [_ [hm _]]]]]. destruct (difference_rnd r (top a) hr ht le) as [arg pos].
    split; [apply number_rnd|]. split; [apply number_rnd|]. right. exists h, (S K). split; [|lia].
    apply streamed_rescaled with (top a) s (moment a) d (exp_hat d) (rnd (d * s)) (rnd (moment a + rnd (d * s)));
      try easy.
    - apply exp_computed; [apply number_rnd|easy].
    - rewrite (Rmult_comm s). apply product_rnd.
    - apply product_rnd.
    - apply sum_rnd; [easy|apply number_rnd].
    - rewrite (Rmult_comm (rnd (moment a + _))). apply product_rnd.
  Qed.

  Notation absorb := (absorb rnd exp_hat).
  Notation join := (join rnd exp_hat).

  Lemma absorb_sums l l' a b : sums l a -> sums l' b -> top b <= top a -> sums (l ++ l') (absorb a b).
  Proof.
    intros [ha [others [order p]]] sb le. pose proof (part_rescaled l' b (top a) sb ha le) as low. cbn zeta in low.
    split; [easy|]. exists (others ++ l'). split.
    - cbn. transitivity ((top a :: others) ++ l'); [now apply Permutation_app_tail|easy].
    - now apply part_added.
  Qed.

  Lemma join_sums l l' a b : sums l a -> sums l' b -> sums (l ++ l') (join a b).
  Proof.
    intros sa sb. unfold streaming_code.join. destruct (Req_EM_T (top a) (top b)) as [same|different].
    - destruct sa as [ha [others [order p]]], sb as [hb [others' [order' p']]]. rewrite <- same in *.
      split; [easy|]. exists ((others ++ others') ++ [top a]). split.
      + cbn. transitivity ((top a :: others) ++ (top a :: others')); [now apply Permutation_app|].
        cbn. apply perm_skip. rewrite <- app_assoc. apply Permutation_app_head. apply Permutation_cons_append.
      + cbn. pose proof (part_added _ _ _ _ _ _ _ _ _ (part_added _ _ _ _ _ _ _ _ _ p p') (part_one (top a))) as all.
        rewrite Rplus_0_r, Nat.max_0_r, (rnd_number (rnd (moment a + moment b)) (number_rnd _)) in all. exact all.
    - destruct (Rlt_dec (top b) (top a)) as [below|above].
      + apply absorb_sums; [easy|easy|lra].
      + apply sums_reordered with (l' ++ l); [apply Permutation_app_comm|]. apply absorb_sums; [easy|easy|lra].
  Qed.

  Lemma leaf_sums x : number F x -> sums [x] (leaf x).
  Proof. intros hx. split; [easy|]. exists []. split; [easy|]. apply part_none. Qed.

  (** Rounded sums with a weight times 1. *)
  Lemma push_sums l a x :
    sums l a -> number F x ->
    sums (l ++ [x]) {| top := top (join a (leaf x)); rest := rest (join a (leaf x)); moment := moment (join a (leaf x));
                       rescalings := if Rle_dec x (top a) then rescalings a else rescalings (join a (leaf x)) |}.
  Proof.
    intros sa hx. destruct (Rle_dec x (top a)) as [below|above].
    - destruct (Req_EM_T (top a) x) as [same|different].
      + pose proof (join_sums l [x] a (leaf x) sa (leaf_sums x hx)) as all.
        assert (rescalings (join a (leaf x)) = rescalings a) as <-; [|now destruct (join a (leaf x))].
        unfold streaming_code.join. cbn [top leaf]. destruct (Req_EM_T (top a) x); [cbn; lia|easy].
      + unfold streaming_code.join. cbn [top leaf]. destruct (Req_EM_T (top a) x); [easy|].
        destruct (Rlt_dec x (top a)) as [_|]; [|lra]. destruct sa as [ha [others [order p]]]. split; [easy|].
        exists (others ++ [x]). cbn. split.
        * transitivity ((top a :: others) ++ [x]); [now apply Permutation_app_tail|easy].
        * pose proof (part_item x (top a) hx ha below) as item. set (d := rnd (top a - x)) in *.
          assert (hd : number F d) by apply number_rnd. destruct (difference_rnd (top a) x ha hx below) as [_ pos].
          fold d in pos. pose proof (exp_is_number _ _ _ _ calls d hd pos) as he.
          rewrite !Rplus_0_l, !(rnd_number 1 number_1), !Rmult_1_r, !(rnd_number d hd), !(rnd_number (exp_hat d) he).
          replace (rescalings a) with (Nat.max (rescalings a) 0) by lia. now apply part_added.
    - pose proof (join_sums l [x] a (leaf x) sa (leaf_sums x hx)) as all. now destruct (join a (leaf x)).
  Qed.

  (** ** Chunks and plans *)

  Definition gathered (items : list item) (s : option held) : Prop :=
    (forall x, In x (visible items) -> number F x) ->
    match s with None => visible items = [] | Some a => sums (visible items) a end.

  Lemma visible_app a b : visible (a ++ b) = visible a ++ visible b.
  Proof. apply flat_map_app. Qed.

  Lemma stream_gathered chunk : gathered chunk (stream_held rnd exp_hat chunk).
  Proof.
    unfold stream_held. induction chunk as [|i seen IH] using rev_ind; [easy|]. rewrite fold_left_app. cbn [fold_left].
    intros numbers. rewrite visible_app in *.
    assert (before : gathered seen (fold_left (push_held rnd exp_hat) seen None)) by easy.
    specialize (before ltac:(intros; apply numbers, in_or_app; now left)).
    destruct (fold_left _ seen None) as [a|], i as [x|]; cbn [push_held visible flat_map] in *.
    - apply push_sums; [easy|]. apply numbers, in_or_app. right. now left.
    - now rewrite app_nil_r.
    - rewrite before. cbn. apply leaf_sums. apply numbers, in_or_app. right. now left.
    - now rewrite before.
  Qed.

  Lemma planned_gathered chunks steps :
    valid_plan (seq 0 (length chunks)) steps -> gathered (concat chunks) (planned rnd exp_hat chunks steps).
  Proof.
    intros valid. unfold planned. apply (run_plan_gathers (merge_held rnd exp_hat) gathered); [| |easy|].
    - intros l l' s same g numbers.
      assert (order : Permutation (visible l) (visible l')) by now apply Permutation_flat_map.
      specialize (g ltac:(intros x inx; apply numbers; now apply Permutation_in with (visible l))).
      destruct s; [now apply sums_reordered with (visible l)|]. rewrite g in order. now apply Permutation_nil.
    - intros l l' s s' g g' numbers. rewrite visible_app in *.
      specialize (g ltac:(intros; apply numbers, in_or_app; now left)).
      specialize (g' ltac:(intros; apply numbers, in_or_app; now right)).
      destruct s, s'; cbn [merge_held]; rewrite ?g, ?g', ?app_nil_r; try easy. now apply join_sums.
    - intros. apply stream_gathered.
  Qed.

  (** ** Within B6 *)

  Lemma bound_of_moments row m s y h j R q x :
    moments_of_row M 0 m row s y h j -> (h < length row)%nat -> (j <= R)%nat -> promised F m row R ->
    quotient_by_sum M 0 y s q -> computed_log M s x -> number F x -> number F q ->
    Rabs (rnd (x + q) - entropy row) <= entropy_bound F m row R.
  Proof.
    intros computed low more some ratio logged hx hq. pose proof arithmetic_sound as good.
    pose proof (moments_maximum _ _ _ _ _ _ _ _ computed) as max.
    assert (higher : (h <= length row - 1)%nat) by lia.
    pose proof (lost_sum_growing M good 0 m row h _ j R max (Rle_refl 0) higher more) as lost. unfold promised in some.
    eapply Rle_trans.
    - apply (b6_entropy M good 0 m row s y h j 0 (Rle_refl 0) one_roundoff' computed ltac:(lra) ltac:(cbn; lra) q x (rnd (x + q)) 0 0); try easy.
      + now apply rounded_plus.
      + exists 0, 0. rewrite Rabs_R0. repeat split; try lra.
    - pose proof (b6_growing M good 0 m row h _ j R 0 max (Rle_refl 0) higher more some). unfold entropy_bound. lra.
  Qed.

  Lemma moments_of_streamed row m s y h j K :
    streamed M row m s y h j K -> (K <= length row)%nat -> In m row -> moments_of_row M 0 m row s y h j.
  Proof.
    intros str few inm. destruct (streamed_height _ _ _ _ _ _ _ _ str) as [_ [none above]].
    apply (moments_of_trees M 0 m row m row s y h j K); try easy; [apply converted_same|].
    unfold size. now apply le_INR.
  Qed.

  Lemma sum_positive row m s y h j : moments_of_row M 0 m row s y h j -> lost_sum M 0 m row h j < 1 -> 0 < s.
  Proof.
    intros computed some. pose proof (moments_maximum _ _ _ _ _ _ _ _ computed) as max.
    apply rel_pos with (sigma M 0 m row h j) (weight_sum m row).
    - pose proof (S_at_least_one m row max). lra.
    - apply (b1_sum M arithmetic_sound); [|easy]. exact (sum_of_moments M 0 m row s y h j computed).
  Qed.

  Lemma state_within row a :
    sums row a -> promised F (top a) row (rescalings a) ->
    Rabs (entropy_held rnd log1p_hat a - entropy row) <= entropy_bound F (top a) row (rescalings a).
  Proof.
    intros sa some. pose proof arithmetic_sound as good.
    destruct (whole_state row a (rest a + 1) sa (or_introl eq_refl)) as [h [K [str few]]].
    destruct (streamed_height _ _ _ _ _ _ _ _ str) as [low _].
    assert (inm : In (top a) row).
    { destruct sa as [_ [others [order _]]]. apply Permutation_in with (top a :: others); [now symmetry|now left]. }
    pose proof (moments_of_streamed _ _ _ _ _ _ _ str ltac:(lia) inm) as computed.
    pose proof (moments_maximum _ _ _ _ _ _ _ _ computed) as max.
    assert (pos : 0 < rest a + 1).
    { apply (sum_positive row _ _ _ _ _ computed). unfold promised in some.
      pose proof (lost_sum_growing M good 0 (top a) row h (length row - 1) (rescalings a) (rescalings a) max
                    (Rle_refl 0) ltac:(lia) (le_n _)). lra. }
    destruct sa as [_ [_ [_ [hr [hm _]]]]]. unfold entropy_held.
    apply (bound_of_moments row (top a) (rest a + 1) (moment a) h (rescalings a)); try easy.
    - (* the quotient by 1 + rest rounded is one by a rounded reciprocal *)
      destruct (nearest_sum F precision_positive tie 1 (rest a) number_1 hr) as [d [bd eq]].
      destruct (one_rounding (roundoff M) d one_roundoff bd) as [t [bt factor]].
      apply by_reciprocal with (- t); [unfold reciprocal_unit; rewrite Rabs_Ropp, Rplus_0_r; exact bt|].
      replace (moment a * (1 / (rest a + 1) * exp (- t))) with (moment a / rnd (1 + rest a)); [apply product_rnd|].
      rewrite eq, factor, exp_Ropp. pose proof (exp_pos t). field. lra.
    - pose proof (log1p_close _ _ _ _ calls (rest a) hr ltac:(lra)) as close. rewrite (Rplus_comm 1) in close. exact close.
    - apply (log1p_is_number _ _ _ _ calls); [easy|lra].
    - apply number_rnd.
  Qed.

  Theorem streamed_within chunks steps :
    let row := visible (concat chunks) in
    valid_plan (seq 0 (length chunks)) steps -> row <> [] -> (forall x, In x row -> number F x) ->
    exists a, planned rnd exp_hat chunks steps = Some a /\ is_maximum (top a) row /\
      (promised F (top a) row (rescalings a) ->
       Rabs (entropy_held rnd log1p_hat a - entropy row) <= entropy_bound F (top a) row (rescalings a)).
  Proof.
    intros row valid some numbers. pose proof (planned_gathered chunks steps valid numbers) as all.
    fold row in all. destruct (planned rnd exp_hat chunks steps) as [a|]; [|easy].
    exists a. split; [easy|]. split; [|now apply state_within].
    destruct (whole_state row a (rest a + 1) all (or_introl eq_refl)) as [h [K [str _]]]. split.
    - destruct all as [_ [others [order _]]]. apply Permutation_in with (top a :: others); [now symmetry|now left].
    - apply (streamed_height _ _ _ _ _ _ _ _ str).
  Qed.

  Lemma two_pass_part m seen :
    number F m -> (forall x, In x seen -> number F x) -> above_all m seen ->
    let sums := fold_left (add_item rnd exp_hat m) seen (0, 0) in part seen m (fst sums) (snd sums) 0.
  Proof.
    intros hm. induction seen as [|x seen IH] using rev_ind; intros numbers above; [apply part_none|].
    rewrite fold_left_app. cbn [fold_left].
    specialize (IH ltac:(intros; apply numbers, in_or_app; now left) ltac:(intros z inz; apply above, in_or_app; now left)).
    destruct (fold_left (add_item rnd exp_hat m) seen (0, 0)) as [s y]. cbn [fst snd] in *.
    apply (part_added seen [x] m s _ y _ 0 0 IH). apply part_item; [|easy|].
    - apply numbers, in_or_app. right. now left.
    - apply above, in_or_app. right. now left.
  Qed.

  Theorem two_pass_within m row R :
    is_maximum m row -> (forall x, In x row -> number F x) -> promised F m row R ->
    Rabs (entropy_two_pass rnd exp_hat log_hat m row - entropy row) <= entropy_bound F m row R.
  Proof.
    intros max numbers some. pose proof arithmetic_sound as good.
    pose proof (two_pass_part m row (numbers m (proj1 max)) numbers (proj2 max)) as p. unfold entropy_two_pass.
    destruct (fold_left (add_item rnd exp_hat m) row (0, 0)) as [s y]. cbn [fst snd] in *.
    destruct p as [hs [hy [[-> _]|[h [K [str few]]]]]]; [destruct max as [[] _]|].
    destruct (streamed_height _ _ _ _ _ _ _ _ str) as [low _].
    pose proof (moments_of_streamed _ _ _ _ _ _ _ str few (proj1 max)) as computed. assert (pos : 0 < s).
    { apply (sum_positive row _ _ _ _ _ computed). unfold promised in some.
      pose proof (lost_sum_growing M good 0 m row h (length row - 1) 0 R max (Rle_refl 0) ltac:(lia) ltac:(lia)). lra. }
    apply (bound_of_moments row m s y h 0); try easy; try lia.
    - apply by_division, product_rnd.
    - exact (log_close _ _ _ _ calls s hs pos).
    - now apply (log_is_number _ _ _ _ calls).
    - apply number_rnd.
  Qed.
End Rounded.
