(** * B9 behind softcap, ALiBi and bias: terms that err by themselves, added to a score in any order; a sink.

    Main results
    - [stored_term]        a number within e of x, |x| <= size, read, stored or brought to another base: e + (e^a - 1) (size + e) + l
    - [slope_term]         slope |p - j| or slope j from a rounded slope and distance: (e^a - 1) reach + e^a l, reach no less
    - [added_to_score]     k + 1 terms within e_i of their values, added in any order, no exact partial sum beyond size:
                           E -> E + (e^lambda - 1) (size + E) + omega_a, k times from the sum of e_i
    - [b9_attributed]      a score behind a softcap, ALiBi and a bias, and in another base: the three terms, two additions of no
                           more than |capped| + reach + |bias|, the base
    - [b9_biased]          a score and a bias alone: one addition, of x itself

    Masks, causality and windows round nothing. Source: docs/tolerances/attention_attributes.md; attributed_score_error and
    sink_error in numerics/rounding/rounding_score_terms.cpp. *)

From softcheck Require Import softmax attention_variants.
From softcheck.numerics Require Import score_error added_terms b9_softcap.
Local Open Scope R_scope.

(** With e = 0 of a number that is given: a bias, a sink. *)
Theorem stored_term a l e size x y z :
  0 <= a -> Rabs x <= size -> Rabs (y - x) <= e -> approximates a l y z ->
  Rabs (z - x) <= e + (exp a - 1) * (size + e) + l.
Proof.
  intros ha hx close [t [d [bt [bd ->]]]].
  replace (y * exp t + d - x) with ((y - x) + (x + (y - x)) * (exp t - 1) + d) by ring.
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [|easy].
  eapply Rle_trans; [apply Rabs_triang|]. apply Rplus_le_compat; [easy|]. rewrite Rabs_mult, Rmult_comm.
  apply Rmult_le_compat; try apply Rabs_pos; [now apply expm1_abs|]. eapply Rle_trans; [apply Rabs_triang|]. lra.
Qed.

Theorem slope_term a l reach slope distance y :
  0 <= a -> Rabs (slope * distance) <= reach -> approximates a (exp a * l) (slope * distance) y ->
  Rabs (y - slope * distance) <= (exp a - 1) * reach + exp a * l.
Proof.
  intros ha hx rounded.
  pose proof (stored_term a (exp a * l) 0 reach _ _ _ ha hx ltac:(rewrite Rminus_diag_eq, Rabs_R0 by easy; lra) rounded). lra.
Qed.

(** A term and what it errs by. *)
Definition totals (l : list (R * R)) : R := sum (map fst l).
Definition errors (l : list (R * R)) : R := sum (map snd l).

Inductive combined (M : arithmetic) (size : R) : list (R * R) -> R -> Prop :=
| combined_term x e y : Rabs (y - x) <= e -> combined M size [(x, e)] y
| combined_addition l1 l2 y1 y2 y :
    combined M size l1 y1 -> combined M size l2 y2 -> Rabs (totals (l1 ++ l2)) <= size -> computed_sum M (y1 + y2) y ->
    combined M size (l1 ++ l2) y
| combined_reordered l1 l2 y : combined M size l1 y -> Permutation l1 l2 -> combined M size l2 y.

Section Combined.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).

  (** One addition of no more than size. *)
  Definition after_addition (size E : R) : R := E + (exp lambda - 1) * (size + E) + wa.
  Fixpoint after_additions (size : R) (k : nat) (E : R) : R :=
    match k with 0%nat => E | S k => after_addition size (after_additions size k E) end.

  Local Ltac facts :=
    pose proof (unit_nonneg M good) as fl; assert (fa : 0 <= wa) by (unfold sound in good; lra);
    pose proof (exp_at_least_one (unit M) ltac:(apply unit_nonneg; exact good)) as f1.

  Lemma after_grows size k E F : 0 <= size -> 0 <= E -> E <= F -> 0 <= after_additions size k E <= after_additions size k F.
  Proof using good.
    intros hs hE le. facts. induction k as [|k IH]; simpl; [lra|]. unfold after_addition.
    assert (0 <= (exp lambda - 1) * (size + after_additions size k E)) by (apply Rmult_le_pos; lra).
    assert ((exp lambda - 1) * (size + after_additions size k E) <= (exp lambda - 1) * (size + after_additions size k F))
      by (apply Rmult_le_compat_l; lra). lra.
  Qed.

  Lemma after_shift size k E F : 0 <= size -> 0 <= E -> 0 <= F -> after_additions size k E + F <= after_additions size k (E + F).
  Proof using good.
    intros hs hE hF. facts. induction k as [|k IH]; simpl; [lra|]. unfold after_addition.
    pose proof (after_grows size k E E hs hE (Rle_refl E)).
    assert ((exp lambda - 1) * (size + after_additions size k E) <= (exp lambda - 1) * (size + after_additions size k (E + F)))
      by (apply Rmult_le_compat_l; lra). lra.
  Qed.

  Lemma after_both size k1 k2 E1 E2 :
    0 <= size -> 0 <= E1 -> 0 <= E2 ->
    after_additions size k1 E1 + after_additions size k2 E2 <= after_additions size (k1 + k2) (E1 + E2).
  Proof using good.
    intros hs h1 h2. facts. revert E2 h2. induction k1 as [|k1 IH]; intros E2 h2; simpl.
    - rewrite (Rplus_comm E1), (Rplus_comm E1). now apply after_shift.
    - unfold after_addition. pose proof (after_grows size k1 E1 E1 hs h1 (Rle_refl E1)).
      pose proof (after_grows size k2 E2 E2 hs h2 (Rle_refl E2)). specialize (IH E2 h2).
      assert ((exp lambda - 1) * (size + after_additions size k1 E1) <= (exp lambda - 1) * (size + after_additions size (k1 + k2) (E1 + E2)))
        by (apply Rmult_le_compat_l; lra). lra.
  Qed.

  Theorem added_to_score size l y :
    0 <= size -> combined M size l y ->
    0 <= errors l /\ (1 <= length l)%nat /\ Rabs (y - totals l) <= after_additions size (length l - 1) (errors l).
  Proof using good.
    intros hs. facts. unfold totals, errors.
    induction 1 as [x e y close|l1 l2 y1 y2 y _ [p1 [n1 IH1]] _ [p2 [n2 IH2]] within [t [d [bt [bd ->]]]]|l1 l2 y _ [p [n IH]] same].
    - pose proof (Rabs_pos (y - x)). unfold sum; simpl. rewrite !Rplus_0_r. repeat split; [lra|lia|easy].
    - unfold totals in within. rewrite !map_app, !sum_app, app_length in *. split; [lra|]. split; [lia|].
      set (X := sum (map fst l1) + sum (map fst l2)) in *.
      pose proof (after_both size (length l1 - 1) (length l2 - 1) _ _ hs p1 p2) as both.
      replace (length l1 + length l2 - 1)%nat with (S (length l1 - 1 + (length l2 - 1))) by lia. simpl.
      set (B := after_additions size (length l1 - 1 + (length l2 - 1)) (sum (map snd l1) + sum (map snd l2))) in *.
      unfold after_addition. apply (stored_term lambda wa B size X (y1 + y2)); [easy|easy| |now exists t, d].
      unfold X. replace (y1 + y2 - (sum (map fst l1) + sum (map fst l2)))
        with ((y1 - sum (map fst l1)) + (y2 - sum (map fst l2))) by ring.
      eapply Rle_trans; [apply Rabs_triang|]. lra.
    - rewrite <- (Permutation_length same), <- !(sum_map_permutation _ l1 l2 same). easy.
  Qed.

  (** ** Softcap, ALiBi and bias; another base *)

  Context (c e alpha gamma lambda_tanh beta l : R).
  Hypothesis positive : 0 < c.
  Hypothesis softcap_errors : 0 <= alpha /\ 0 <= gamma /\ 0 <= lambda_tanh /\ 0 <= beta /\ 0 <= l.
  Context (a_slope a_bias l_slope l_bias a_base l_base : R).
  Hypothesis term_errors : 0 <= a_slope /\ 0 <= a_bias /\ 0 <= a_base.

  Definition alibi_error (reach : R) : R := (exp a_slope - 1) * reach + exp a_slope * l_slope.
  Definition bias_error (bias : R) : R := (exp a_bias - 1) * Rabs bias + l_bias.
  Definition in_base (size E : R) : R := E + (exp a_base - 1) * (size + E) + l_base.
  Definition attributed_error (capped reach bias : R) : R :=
    let size := capped + reach + Rabs bias in
    in_base size (after_additions size 2
      (softcap_error c e alpha gamma lambda_tanh beta l capped + alibi_error reach + bias_error bias)).

  Theorem b9_attributed s s' slope distance reach bias y1 y2 y3 z x :
    Rabs (s' - s) <= e -> computed_softcap c alpha gamma lambda_tanh beta l s' y1 ->
    Rabs (slope * distance) <= reach -> approximates a_slope (exp a_slope * l_slope) (slope * distance) y2 ->
    approximates a_bias l_bias bias y3 ->
    let capped := softcap c s in
    let size := Rabs capped + reach + Rabs bias in
    combined M size [(capped, Rabs (y1 - capped)); (slope * distance, Rabs (y2 - slope * distance)); (bias, Rabs (y3 - bias))] z ->
    approximates a_base l_base z x ->
    Rabs (x - (capped + slope * distance + bias)) <= attributed_error (Rabs capped) reach bias.
  Proof using good positive softcap_errors term_errors.
    intros close cap hreach hy2 hy3 capped size sums based. facts. destruct term_errors as [h1 [h2 h3]].
    pose proof (b9_softcap c e alpha gamma lambda_tanh beta l positive softcap_errors s s' y1 close cap) as E1. fold capped in E1.
    pose proof (slope_term a_slope l_slope reach slope distance y2 h1 hreach hy2) as E2.
    pose proof (stored_term a_bias l_bias 0 (Rabs bias) bias bias y3 h2 (Rle_refl _) ltac:(rewrite Rminus_diag_eq, Rabs_R0 by easy; lra) hy3)
      as E3.
    assert (size0 : 0 <= size).
    { unfold size. pose proof (Rabs_pos capped). pose proof (Rabs_pos (slope * distance)). pose proof (Rabs_pos bias). lra. }
    destruct (added_to_score size _ z size0 sums) as [err0 [_ bound]].
    unfold totals, errors, sum in *. simpl length in bound. cbn [map fst snd fold_right] in *.
    assert (grown : after_additions size (3 - 1) (Rabs (y1 - capped) + (Rabs (y2 - slope * distance) + (Rabs (y3 - bias) + 0)))
                    <= after_additions size 2 (softcap_error c e alpha gamma lambda_tanh beta l (Rabs capped) + alibi_error reach + bias_error bias)).
    { apply after_grows; [easy|easy|]. unfold alibi_error, bias_error. lra. }
    unfold attributed_error, in_base. fold size.
    replace (capped + slope * distance + bias) with (capped + (slope * distance + (bias + 0))) by ring.
    set (B := after_additions size 2 (softcap_error c e alpha gamma lambda_tanh beta l (Rabs capped) + alibi_error reach + bias_error bias)) in *.
    apply (stored_term a_base l_base B size _ z x h3); [|lra|easy].
    eapply Rle_trans; [apply Rabs_triang|]. pose proof (Rabs_triang (slope * distance) (bias + 0)). rewrite Rplus_0_r in *.
    unfold size. lra.
  Qed.

  (** The size of the one addition is x itself. *)
  Theorem b9_biased s s' bias y3 z x :
    Rabs (s' - s) <= e -> approximates a_bias l_bias bias y3 -> computed_sum M (s' + y3) z -> approximates a_base l_base z x ->
    Rabs (x - (s + bias)) <= in_base (Rabs (s + bias)) (after_addition (Rabs (s + bias)) (e + bias_error bias)).
  Proof using good term_errors.
    intros close hy3 total based. destruct term_errors as [h1 [h2 h3]]. facts.
    pose proof (stored_term a_bias l_bias 0 (Rabs bias) bias bias y3 h2 (Rle_refl _) ltac:(rewrite Rminus_diag_eq, Rabs_R0 by easy; lra) hy3)
      as E3.
    apply (stored_term a_base l_base _ _ _ z x h3 (Rle_refl _)); [|easy].
    apply (stored_term lambda wa _ _ _ (s' + y3) z fl (Rle_refl _)); [|exact total].
    replace (s' + y3 - (s + bias)) with ((s' - s) + (y3 - bias)) by ring. eapply Rle_trans; [apply Rabs_triang|].
    unfold bias_error. lra.
  Qed.
End Combined.
