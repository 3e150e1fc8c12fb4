(** * The second sum of a streamed entropy: T = sum w D, with rescalings T <- a (T + d S).

    [streamed M l r s y h j K]: s and y may be what a kernel computes for S and T over l, relative to the reference r;
    trees and rescalings as in [summed].

    Main results
    - [streamed_state]   T_hat lies between e^-c_T sum w D e^(-tD) and e^c_T sum w D e^(tD), but for what is lost, with
                         c_T = h lambda + lambda_E + R (lambda_E + 2 lambda) + lambda + A' lambda + (R + 1) c:
                         a rescaling costs one more addition than one of S
    - [height_of_both_trees]  trees whose every addition may round are of that height in roundoffs (tree_heights.v)
    - [lost_moment_total]  underflow takes at most n (omega_x D_0 + omega_m + omega_a [+ 4 omega_x D_0 + 3 omega_m +
                         omega_a]), for every R, as long as K <= n; what underflow took from S returns here as D e^-D

    Source: docs/tolerances.md, B6; moment_log and lost_moment in numerics/rounding/rounding_entropy.cpp. *)

From Coq Require Import Reals List Permutation Lra Lia Psatz.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import relative_error standard_model.
From softcheck.numerics Require Import row atoms tree_heights reduction.
Import ListNotations.
Local Open Scope R_scope.

(** The same computed deviation b is the exponential's argument and the factor. *)
Inductive streamed (M : arithmetic) : list R -> R -> R -> R -> nat -> nat -> nat -> Prop :=
| streamed_item x r b s y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> computed_product M (s * b) y ->
    streamed M [x] r s y 0 0 0
| streamed_addition l1 l2 r s1 s2 s y1 y2 y h1 h2 j1 j2 K1 K2 :
    streamed M l1 r s1 y1 h1 j1 K1 -> streamed M l2 r s2 y2 h2 j2 K2 ->
    computed_sum M (s1 + s2) s -> computed_sum M (y1 + y2) y ->
    streamed M (l1 ++ l2) r s y (S (max h1 h2)) (max j1 j2) (K1 + K2)
| streamed_rescaled l r r' s y b f p q s' y' h j K :
    streamed M l r s y h j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' ->
    computed_product M (b * s) p -> computed_sum M (y + p) q -> computed_product M (q * f) y' ->
    streamed M l r' s' y' h (S j) (S K)
| streamed_reordered l l' r s y h j K :
    streamed M l r s y h j K -> Permutation l l' -> streamed M l' r s y h j K.

Lemma streamed_summed M l r s y h j K : streamed M l r s y h j K -> summed M l r s h j K.
Proof.
  induction 1; [eapply summed_item|eapply summed_addition|eapply summed_rescaled|eapply summed_reordered]; eassumption.
Qed.

Theorem height_of_both_trees M l r s y h j K : streamed M l r s y h j K -> streamed_at M l r s y (INR h) j K.
Proof.
  induction 1 as [x r b s y le arg ex prod|l1 l2 r s1 s2 s y1 y2 y h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 adds addy
                 |l r r' s y b f p q s' y' h j K _ IH le arg ex prod hp hq hy|l l' r s y h j K _ IH same].
  - now apply streamed_at_item with b.
  - rewrite height_of_both. apply streamed_at_addition with s1 s2 y1 y2; try easy; [lra|now apply whole_sum|now apply whole_sum].
  - now apply streamed_at_rescaled with r s y b f p q.
  - now apply streamed_at_reordered with l.
Qed.

(** What an underflowing factor takes is paid for by its fading. *)
Lemma share_pays w :
  0 <= w <= / 16 -> w + 4 / 3 * w * (/ 8 + w) <= 4 / 3 * w /\ w + 4 / 3 * w * (/ 8 + 2 * w) <= 4 / 3 * w.
Proof. intros range. assert (w * w <= w * / 16) by (apply Rmult_le_compat_l; lra). lra. Qed.

Section Moments.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation c0 := (argument_step M).
  Notation au := (argument_unit M).
  Notation t := (slope M).
  Notation wx := (exp_floor M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation D0 := (exp_cutoff M).
  Notation k := (fade M).
  Notation g := (share M).

  Definition moment_log (h : R) (j : nat) : R :=
    h * lambda + lambdaE + INR j * (lambdaE + 2 * lambda) + lambda + au + (INR j + 1) * c0.
  Definition differences (j : nat) : R := (INR j + 1) * c0.
  Definition moment_base (n : R) (K : nat) : R := n * (wx * D0 + wm) + (n - 1) * wa + INR K * (2 * wm + wa).

  Local Lemma facts_hold :
    0 <= t <= / 4 /\ 0 <= lambda /\ 0 <= lambdaE /\ 0 <= c0 <= / 2 /\ 0 <= au /\ 0 <= wx <= / 16 /\ 0 <= wa /\
    wa <= wm /\ wm <= / 16 /\ 8 <= D0 /\ 3 / 4 <= k <= 1 /\ 1 + t = exp au.
  Proof.
    pose proof (slope_nonneg M good). pose proof (unit_nonneg M good). pose proof (exp_unit_nonneg M good).
    pose proof (fade_range M good). unfold sound in good. unfold slope in *. repeat split; lra.
  Qed.
  Local Ltac facts :=
    pose proof facts_hold as [ft [fl [fE [fc [fau [fx [fa [fam [fm [fD [fk tau]]]]]]]]]]].

  Lemma moment_log_above h j : sum_log M h j + lambda + au + INR j * lambda = moment_log h j.
  Proof. unfold moment_log, sum_log. ring. Qed.

  Lemma moment_log_growing h h' j j' : h <= h' -> (j <= j')%nat -> moment_log h j <= moment_log h' j'.
  Proof.
    intros hh hj. facts. rewrite <- !moment_log_above. pose proof (sum_log_growing M good h h' j j' hh hj).
    apply le_INR in hj. assert (INR j * lambda <= INR j' * lambda) by now apply Rmult_le_compat_r. lra.
  Qed.

  Lemma moment_log_nonneg h j : 0 <= h -> 0 <= moment_log h j.
  Proof.
    intros pos. facts. rewrite <- moment_log_above. pose proof (sum_log_nonneg M good h j pos). pose proof (pos_INR j).
    assert (0 <= INR j * lambda) by now apply Rmult_le_pos. lra.
  Qed.

  (** What is beside the items' own share: absolute errors of differences, what S lost, what T lost. *)
  Definition beside (r : R) (l : list R) (b bT : list atom) (j : nat) : R :=
    differences j * pull k r (items l ++ b) + drag k r b + pull k r bT.

  Record moment_state (l : list R) (r y h : R) (j K : nat) (b bT : list atom) : Prop := {
    moment_placed : placed r bT;
    moment_upper : y <= exp (moment_log h j) * (drag k r (items l) + beside r l b bT j);
    moment_lower : exp (- moment_log h j) * drag (1 + t) r (items l) - exp (moment_log h j) * beside r l b bT j <= y;
    moment_lost :
      mass bT + g * (pull (k / 2) r bT + 2 * D0 * pull (k / 2) r (items l ++ b))
      <= (1 + g) * moment_base (size l) K + g * (2 * D0) * (size l + base M (size l) K);
    moment_direct : j = 0%nat -> mass bT <= moment_base (size l) K
  }.

  Lemma beside_nonneg r l b bT j : above_all r l -> placed r b -> placed r bT -> 0 <= beside r l b bT j.
  Proof.
    intros ab pb pT. facts. unfold beside, differences. pose proof (pos_INR j).
    pose proof (pull_nonneg k r _ (all_placed r l b ab pb)). pose proof (drag_nonneg k r b pb).
    pose proof (pull_nonneg k r bT pT).
    assert (0 <= (INR j + 1) * c0 * pull k r (items l ++ b)) by (repeat apply Rmult_le_pos; lra). lra.
  Qed.

  (** More roundoffs than there are. *)
  Lemma higher_moment l r y h h' j K b bT :
    h <= h' -> above_all r l -> placed r b -> moment_state l r y h j K b bT -> moment_state l r y h' j K b bT.
  Proof.
    intros le ab pb [pT u d m z]. pose proof (beside_nonneg r l b bT j ab pb pT) as side.
    pose proof (moment_log_growing h h' j j le (le_n j)) as more. facts.
    pose proof (drag_nonneg k r _ (placed_items r l ab)). pose proof (drag_nonneg (1 + t) r _ (placed_items r l ab)).
    constructor; try easy.
    - apply (widened_upper (exp (moment_log h j))); [exact u|now apply exp_le|lra].
    - apply (widened_lower (exp (- moment_log h j)) _ (exp (moment_log h j))); try easy; apply exp_le; lra.
  Qed.

  (** ** A factor of what lies between P - Q and U, and P or Q or U moved with it *)
  Lemma scaled_between P Q U a X lo hi :
    0 <= P -> 0 <= Q -> 0 <= U -> P - Q <= a <= U -> 0 < lo -> lo <= X <= hi -> P * lo - Q * hi <= a * X <= U * hi.
  Proof.
    intros hP hQ hU [low high] hlo [hX1 hX2]. split.
    - apply Rle_trans with ((P - Q) * X); [|apply Rmult_le_compat_r; lra].
      assert (P * lo <= P * X) by (apply Rmult_le_compat_l; lra).
      assert (Q * X <= Q * hi) by (apply Rmult_le_compat_l; lra). lra.
    - apply Rle_trans with (U * X); [apply Rmult_le_compat_r; lra | apply Rmult_le_compat_l; lra].
  Qed.

  Lemma rounding_between x v : Rabs x <= v -> exp (- v) <= exp x <= exp v.
  Proof. intros b. apply abs_between in b. split; apply exp_le; lra. Qed.

  (** ** One item *)
  Lemma item_moment x r b s y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> computed_product M (s * b) y ->
    moment_state [x] r y 0 0 0 [(r, wx)] [(r, wx * D0 + wm)].
  Proof.
    intros le arg [tx [e [btx [be [beb [_ ->]]]]]] [tp [ep [btp [bep ->]]]]. facts.
    destruct (weight_bounds M (r - x) b tx ltac:(lra) arg btx) as [w [bw main]].
    destruct arg as [ta [c [bta [bc hb]]]]. set (d := r - x) in *. assert (hd : 0 <= d) by (unfold d; lra).
    assert (log0 : moment_log 0 0 = lambdaE + lambda + au + c0) by (unfold moment_log; simpl; ring).
    assert (item : forall q, pull q r (items [x]) = exp (- (q * d))).
    { intros q. unfold pull, items, sum. simpl. fold d. ring. }
    assert (dragged : forall q, drag q r (items [x]) = d * exp (- (q * d))).
    { intros q. unfold drag, items, sum. simpl. fold d. ring. }
    assert (hbeside : beside r [x] [(r, wx)] [(r, wx * D0 + wm)] 0
                      = c0 * (exp (- (k * d)) + wx) + (wx * D0 + wm)).
    { unfold beside, differences. rewrite pull_app, !pull_single, drag_single, item. simpl. ring. }
    assert (hwD : 0 <= wx * D0) by (apply Rmult_le_pos; lra).
    constructor.
    - apply placed_single. lra.
    - (* main part: d e^(-d) with the argument twice, then c, then underflow *)
      rewrite log0, hbeside, dragged.
      set (N := exp (lambdaE + lambda + au + c0)).
      assert (N1 : 1 <= N) by (apply exp_at_least_one; lra).
      apply abs_between in bw. apply abs_between in btp. apply abs_between in bta. apply abs_between in bc.
      pose proof (Rle_abs ep). pose proof (Rle_abs (e * b)) as ab. rewrite Rabs_mult in ab.
      assert (ft1 : exp (- d) * exp w * exp tp * (d * exp ta) <= N * (d * exp (- (k * d)))).
      { replace (exp (- d) * exp w * exp tp * (d * exp ta)) with (d * (exp (- d) * exp w * exp tp * exp ta)) by ring.
        replace (N * (d * exp (- (k * d)))) with (d * (exp (- (k * d)) * N)) by ring.
        apply Rmult_le_compat_l; [easy|]. unfold N. rewrite <- !exp_plus. apply exp_le. unfold fade. lra. }
      assert (ft2 : exp (- d) * exp w * exp tp * c <= N * (c0 * exp (- (k * d)))).
      { apply Rle_trans with (exp (- d) * exp w * exp tp * c0).
        - apply Rmult_le_compat_l; [|lra]. left. repeat apply Rmult_lt_0_compat; apply exp_pos.
        - replace (N * (c0 * exp (- (k * d)))) with ((exp (- (k * d)) * N) * c0) by ring.
          apply Rmult_le_compat_r; [lra|]. unfold N. rewrite <- !exp_plus. apply exp_le. unfold fade. lra. }
      assert (ft3 : e * b * exp tp <= N * (wx * D0)).
      { apply Rle_trans with (wx * D0 * exp lambda).
        - apply Rle_trans with (wx * D0 * exp tp); [apply Rmult_le_compat_r; [left; apply exp_pos|lra]|].
          apply Rmult_le_compat_l; [easy|]. apply exp_le. lra.
        - rewrite Rmult_comm. apply Rmult_le_compat_r; [easy|]. apply exp_le. lra. }
      assert (wm <= N * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      assert (0 <= N * (c0 * wx)) by (repeat apply Rmult_le_pos; lra).
      replace ((exp (- b + tx) + e) * b * exp tp + ep) with (exp (- b + tx) * exp tp * b + e * b * exp tp + ep) by ring.
      rewrite main. rewrite hb at 1.
      replace (exp (- d) * exp w * exp tp * (d * exp ta + c))
        with (exp (- d) * exp w * exp tp * (d * exp ta) + exp (- d) * exp w * exp tp * c) by ring.
      lra.
    - rewrite log0, hbeside, dragged.
      set (N := exp (lambdaE + lambda + au + c0)).
      assert (N1 : 1 <= N) by (apply exp_at_least_one; lra).
      apply abs_between in bw. apply abs_between in btp. apply abs_between in bta. apply abs_between in bc.
      pose proof (Rle_abs (- ep)) as abp. rewrite Rabs_Ropp in abp.
      pose proof (Rle_abs (- (e * b))) as ab. rewrite Rabs_Ropp, Rabs_mult in ab.
      assert (ft1 : exp (- (lambdaE + lambda + au + c0)) * (d * exp (- ((1 + t) * d))) <= exp (- d) * exp w * exp tp * (d * exp ta)).
      { replace (exp (- d) * exp w * exp tp * (d * exp ta)) with (d * (exp (- d) * exp w * exp tp * exp ta)) by ring.
        replace (exp (- (lambdaE + lambda + au + c0)) * (d * exp (- ((1 + t) * d))))
          with (d * (exp (- (lambdaE + lambda + au + c0)) * exp (- ((1 + t) * d)))) by ring.
        apply Rmult_le_compat_l; [easy|]. rewrite <- !exp_plus. apply exp_le. lra. }
      assert (ft2 : - (N * (c0 * exp (- (k * d)))) <= exp (- d) * exp w * exp tp * c).
      { apply Rle_trans with (exp (- d) * exp w * exp tp * - c0).
        - rewrite <- Ropp_mult_distr_r. apply Ropp_le_contravar.
          replace (N * (c0 * exp (- (k * d)))) with ((exp (- (k * d)) * N) * c0) by ring.
          apply Rmult_le_compat_r; [lra|]. unfold N. rewrite <- !exp_plus. apply exp_le. unfold fade. lra.
        - apply Rmult_le_compat_l; [|lra]. left. repeat apply Rmult_lt_0_compat; apply exp_pos. }
      assert (ft3 : - (N * (wx * D0)) <= e * b * exp tp).
      { apply Rle_trans with (- (wx * D0 * exp lambda)).
        - apply Ropp_le_contravar. rewrite Rmult_comm. apply Rmult_le_compat_r; [easy|]. apply exp_le. lra.
        - apply Rle_trans with (- (wx * D0) * exp tp).
          + rewrite <- Ropp_mult_distr_l. apply Ropp_le_contravar, Rmult_le_compat_l; [easy|]. apply exp_le. lra.
          + apply Rmult_le_compat_r; [left; apply exp_pos|lra]. }
      assert (wm <= N * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      assert (0 <= N * (c0 * wx)) by (repeat apply Rmult_le_pos; lra).
      replace ((exp (- b + tx) + e) * b * exp tp + ep) with (exp (- b + tx) * exp tp * b + e * b * exp tp + ep) by ring.
      rewrite main. rewrite hb at 1.
      replace (exp (- d) * exp w * exp tp * (d * exp ta + c))
        with (exp (- d) * exp w * exp tp * (d * exp ta) + exp (- d) * exp w * exp tp * c) by ring.
      lra.
    - rewrite mass_single, pull_app, !pull_single, item. unfold moment_base, base.
      change (size [x]) with 1. change (INR 0) with 0.
      assert (exp (- (k / 2 * d)) <= 1) by (apply exp_at_most_one; assert (0 <= k / 2 * d) by (apply Rmult_le_pos; lra); lra).
      assert (0 <= g * (2 * D0)) by (unfold share; apply Rmult_le_pos; lra).
      assert (g * (2 * D0) * (exp (- (k / 2 * d)) + wx) <= g * (2 * D0) * (1 + wx)) by (apply Rmult_le_compat_l; lra).
      lra.
    - intros _. rewrite mass_single. unfold moment_base. change (size [x]) with 1. change (INR 0) with 0. lra.
  Qed.

  (** ** One addition *)
  Lemma addition_moment part l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 b1 b2 bT1 bT2 :
    0 <= part -> 0 <= h1 -> above_all r l1 -> above_all r l2 -> placed r b1 -> placed r b2 ->
    moment_state l1 r y1 h1 j1 K1 b1 bT1 -> moment_state l2 r y2 h2 j2 K2 b2 bT2 -> sum_within M part (y1 + y2) y ->
    moment_state (l1 ++ l2) r y (part + Rmax h1 h2) (max j1 j2) (K1 + K2) (b1 ++ b2 ++ [(r, wa)]) (bT1 ++ bT2 ++ [(r, wa)]).
  Proof.
    intros some upward a1 a2 p1 p2 [pT1 u1 d1 m1 z1] [pT2 u2 d2 m2 z2] [tt [e [bt [be ->]]]]. facts.
    assert (kept : 0 <= part * lambda) by now apply Rmult_le_pos. set (rounded := part * lambda) in *.
    set (h := Rmax h1 h2). set (j := max j1 j2).
    assert (step : moment_log (part + h) j = moment_log h j + rounded) by (unfold moment_log, rounded; ring).
    assert (high' : 0 <= h) by (apply Rle_trans with h1; [easy|apply Rmax_l]).
    set (a := moment_log h j) in *.
    assert (g1 : moment_log h1 j1 <= a) by (apply moment_log_growing; [apply Rmax_l|lia]).
    assert (g2 : moment_log h2 j2 <= a) by (apply moment_log_growing; [apply Rmax_r|lia]).
    pose proof (pull_nonneg k r _ (all_placed r l1 b1 a1 p1)) as W1.
    pose proof (pull_nonneg k r _ (all_placed r l2 b2 a2 p2)) as W2.
    pose proof (beside_nonneg r l1 b1 bT1 j1 a1 p1 pT1) as B1.
    pose proof (beside_nonneg r l2 b2 bT2 j2 a2 p2 pT2) as B2.
    pose proof (drag_nonneg k r _ (placed_items r l1 a1)) as G1.
    pose proof (drag_nonneg k r _ (placed_items r l2 a2)) as G2.
    pose proof (drag_nonneg (1 + t) r _ (placed_items r l1 a1)) as P1.
    pose proof (drag_nonneg (1 + t) r _ (placed_items r l2 a2)) as P2.
    assert (wide1 : beside r l1 b1 bT1 j1 <= beside r l1 b1 bT1 j).
    { unfold beside, differences. assert (INR j1 <= INR j) by (apply le_INR; lia).
      assert ((INR j1 + 1) * c0 * pull k r (items l1 ++ b1) <= (INR j + 1) * c0 * pull k r (items l1 ++ b1)).
      { apply Rmult_le_compat_r; [easy|]. apply Rmult_le_compat_r; lra. } lra. }
    assert (wide2 : beside r l2 b2 bT2 j2 <= beside r l2 b2 bT2 j).
    { unfold beside, differences. assert (INR j2 <= INR j) by (apply le_INR; lia).
      assert ((INR j2 + 1) * c0 * pull k r (items l2 ++ b2) <= (INR j + 1) * c0 * pull k r (items l2 ++ b2)).
      { apply Rmult_le_compat_r; [easy|]. apply Rmult_le_compat_r; lra. } lra. }
    set (Q1 := beside r l1 b1 bT1 j) in *. set (Q2 := beside r l2 b2 bT2 j) in *.
    assert (hQ : Q1 + Q2 + wa <= beside r (l1 ++ l2) (b1 ++ b2 ++ [(r, wa)]) (bT1 ++ bT2 ++ [(r, wa)]) j).
    { unfold Q1, Q2, beside. rewrite items_app, !pull_app, !drag_app, !pull_single, drag_single.
      assert (0 <= differences j * wa).
      { unfold differences. pose proof (pos_INR j). repeat apply Rmult_le_pos; lra. } lra. }
    pose proof (exp_le _ _ g1) as E1. pose proof (exp_le _ _ g2) as E2. pose proof (exp_pos a).
    pose proof (exp_pos (moment_log h1 j1)). pose proof (exp_pos (moment_log h2 j2)).
    pose proof (exp_le (- a) (- moment_log h1 j1) ltac:(lra)). pose proof (exp_le (- a) (- moment_log h2 j2) ltac:(lra)).
    assert (up1 : y1 <= exp a * (drag k r (items l1) + Q1)).
    { eapply Rle_trans; [apply u1|]. apply Rmult_le_compat; lra. }
    assert (up2 : y2 <= exp a * (drag k r (items l2) + Q2)).
    { eapply Rle_trans; [apply u2|]. apply Rmult_le_compat; lra. }
    assert (lo1 : exp (- a) * drag (1 + t) r (items l1) - exp a * Q1 <= y1).
    { eapply Rle_trans; [|apply d1]. apply Rplus_le_compat; [apply Rmult_le_compat_r; easy|].
      apply Ropp_le_contravar. apply Rmult_le_compat; lra. }
    assert (lo2 : exp (- a) * drag (1 + t) r (items l2) - exp a * Q2 <= y2).
    { eapply Rle_trans; [|apply d2]. apply Rplus_le_compat; [apply Rmult_le_compat_r; easy|].
      apply Ropp_le_contravar. apply Rmult_le_compat; lra. }
    pose proof (rounding_between tt rounded bt) as bounds. pose proof (exp_pos (- rounded)). pose proof (exp_pos (- a)).
    destruct (scaled_between (exp (- a) * (drag (1 + t) r (items l1) + drag (1 + t) r (items l2))) (exp a * (Q1 + Q2))
                (exp a * (drag k r (items l1) + drag k r (items l2) + (Q1 + Q2))) (y1 + y2) (exp tt)
                (exp (- rounded)) (exp rounded)) as [low high]; try easy;
      try (apply Rmult_le_pos; lra); try lra.
    pose proof (exp_at_least_one (a + rounded)) as grown1. pose proof (moment_log_nonneg h j high') as ha. fold a in ha.
    specialize (grown1 ltac:(lra)). apply abs_between in be.
    assert (wa <= exp (a + rounded) * wa) by (rewrite <- (Rmult_1_l wa) at 1; apply Rmult_le_compat_r; lra).
    assert (exp (a + rounded) * (Q1 + Q2 + wa) <= exp (a + rounded) * beside r (l1 ++ l2) (b1 ++ b2 ++ [(r, wa)]) (bT1 ++ bT2 ++ [(r, wa)]) j).
    { apply Rmult_le_compat_l; lra. }
    constructor.
    - repeat apply placed_app; try easy. apply placed_single. lra.
    - rewrite step, items_app, drag_app. rewrite exp_plus in *. lra.
    - rewrite step, items_app, drag_app, Ropp_plus_distr. rewrite !exp_plus in *. lra.
    - rewrite items_app, !mass_app, !pull_app, !mass_single, !pull_single in *.
      unfold moment_base, base in *. rewrite plus_INR.
      replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR).
      lra.
    - intros zero. unfold j in zero. rewrite !mass_app, mass_single. unfold moment_base in *. rewrite plus_INR.
      replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR).
      pose proof (z1 ltac:(lia)). pose proof (z2 ltac:(lia)). lra.
  Qed.

  (** ** One rescaling: T <- f (T + d S) *)

  (** What T loses then: products and an addition, and the factor's underflow times all there is. *)
  Definition moment_losses (r r' : R) (l : list R) (b bT : list atom) (j : nat) (e : R) : list atom :=
    [(r', 2 * wm + wa + Rabs e * (drag k r (items l) + beside r l b bT j + c0 * pull k r (items l ++ b)
                                  + (r' - r) * pull k r (items l ++ b)))].

  Lemma rescaled_moment l r r' s y b0 f p q s' y' h j K b bT :
    0 <= h -> sum_state M l r s h j K b -> moment_state l r y h j K b bT ->
    INR j * c0 <= 2 ->
    r <= r' -> computed_argument M (r' - r) b0 -> computed_exp M b0 f ->
    computed_product M (s * f) s' ->
    computed_product M (b0 * s) p -> computed_sum M (y + p) q -> computed_product M (q * f) y' ->
    exists e, sum_state M l r' s' h (S j) (S K) (b ++ rescaling_losses M r r' l b e) /\
              moment_state l r' y' h (S j) (S K) (b ++ rescaling_losses M r r' l b e)
                (bT ++ moment_losses r r' l b bT j e).
  Proof.
    intros high st mt few le arg ex prod hp hq hy.
    (* the very underflow e of the factor that both sums meet *)
    pose proof ex as [tx [e [btx [be [beb [far hf]]]]]].
    assert (st' : sum_state M l r' s' h (S j) (S K) (b ++ rescaling_losses M r r' l b e)).
    { now apply (rescaled_state_with M good l r r' s b0 f s' h j K b tx e). }
    exists e. split; [easy|]. clear prod ex.
    pose proof (state_magnitude M good _ _ _ _ _ _ _ st) as mag. destruct st as [v ab pb u dn m _].
    destruct mt as [pT uT dT mT _]. facts.
    pose proof (all_placed r l b ab pb) as pall. set (d := r' - r) in *. assert (hd : 0 <= d) by (unfold d; lra).
    set (W := pull k r (items l ++ b)) in *. assert (hW : 0 <= W) by now apply pull_nonneg.
    set (E := pull k r b). assert (hE : 0 <= E) by now apply pull_nonneg.
    set (Z := beside r l b bT j) in *. assert (hZ : 0 <= Z) by now apply beside_nonneg.
    set (G := drag k r (items l)) in *. assert (hG : 0 <= G) by (now apply drag_nonneg, placed_items).
    set (P := drag (1 + t) r (items l)) in *. assert (hP : 0 <= P) by (now apply drag_nonneg, placed_items).
    set (V := pull (1 + t) r (items l)). assert (hV : 0 <= V) by (now apply pull_nonneg, placed_items).
    rewrite (tilted_down M good) in dn. fold V in dn. fold E in dn.
    assert (hU : pull k r (items l) = W - E) by (unfold W, E; rewrite pull_app; ring).
    set (aS := sum_log M h j) in *. set (aT := moment_log h j) in *.
    pose proof (sum_log_nonneg M good h j high) as haS. fold aS in haS.
    assert (apart : aS + lambda + au <= aT).
    { unfold aS, aT. rewrite <- moment_log_above. pose proof (pos_INR j).
      assert (0 <= INR j * lambda) by now apply Rmult_le_pos. lra. }
    (* p = d S, with the argument's error, and c S *)
    pose proof arg as [ta [c [bta [bc hb]]]]. destruct hp as [t4 [e4 [bt4 [be4 hp]]]].
    destruct hq as [t5 [e5 [bt5 [be5 hq]]]]. destruct hy as [t6 [e6 [bt6 [be6 hy]]]].
    assert (dS : exp (- aT) * (d * V) - exp aT * (d * E) <= d * exp ta * exp t4 * s <= exp aT * (d * W)).
    { destruct (scaled_between (exp (- aS) * V) (exp aS * E) (exp aS * W) s (exp ta * exp t4)
                  (exp (- (au + lambda))) (exp (au + lambda))) as [lo hi];
        try (apply Rmult_le_pos; [left; apply exp_pos|easy]); try lra; [apply exp_pos| |].
      - rewrite <- exp_plus. apply abs_between in bta. apply abs_between in bt4. split; apply exp_le; lra.
      - replace (d * exp ta * exp t4 * s) with (d * (s * (exp ta * exp t4))) by ring.
        assert (E1 : exp aS * exp (au + lambda) <= exp aT) by (rewrite <- exp_plus; apply exp_le; lra).
        assert (E2 : exp (- aT) <= exp (- aS) * exp (- (au + lambda))) by (rewrite <- exp_plus; apply exp_le; lra).
        split.
        + replace (exp (- aT) * (d * V) - exp aT * (d * E)) with (d * (exp (- aT) * V - exp aT * E)) by ring.
          apply Rmult_le_compat_l; [easy|].
          assert (exp (- aT) * V <= exp (- aS) * exp (- (au + lambda)) * V) by now apply Rmult_le_compat_r.
          assert (exp aS * exp (au + lambda) * E <= exp aT * E) by now apply Rmult_le_compat_r. lra.
        + replace (exp aT * (d * W)) with (d * (exp aT * W)) by ring. apply Rmult_le_compat_l; [easy|].
          assert (exp aS * exp (au + lambda) * W <= exp aT * W) by now apply Rmult_le_compat_r. lra. }
    assert (cS : Rabs (c * exp t4 * s) <= exp aT * (c0 * W)).
    { rewrite !Rabs_mult, (Rabs_right (exp t4)) by (left; apply exp_pos).
      apply Rle_trans with (c0 * exp lambda * (exp aS * W)).
      - pose proof (Rabs_pos c). pose proof (Rabs_pos s). pose proof (exp_pos t4). apply abs_between in bt4.
        repeat (apply Rmult_le_compat; try easy; try lra); [apply Rmult_le_pos; lra | apply exp_le; lra].
      - replace (c0 * exp lambda * (exp aS * W)) with (exp lambda * exp aS * (c0 * W)) by ring.
        apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|]. rewrite <- exp_plus. apply exp_le. lra. }
    set (X := exp aT). assert (X1 : 1 <= X) by (apply exp_at_least_one; lra).
    set (Q := Z + d * E + c0 * W + wm). assert (hQ : 0 <= Q).
    { unfold Q. assert (0 <= d * E) by now apply Rmult_le_pos. assert (0 <= c0 * W) by (apply Rmult_le_pos; lra). lra. }
    assert (sumT : exp (- aT) * (P + d * V) - X * Q <= y + p <= X * (G + d * (W - E) + Q)).
    { rewrite hp, hb. apply abs_between in cS. apply abs_between in be4. fold X in uT, dT, dS, cS.
      assert (wm <= X * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      replace ((d * exp ta + c) * s * exp t4 + e4) with (d * exp ta * exp t4 * s + c * exp t4 * s + e4) by ring.
      unfold Q. split; lra. }
    assert (hN : 0 <= G + d * (W - E)).
    { rewrite <- hU. pose proof (pull_nonneg k r (items l) (placed_items r l ab)).
      assert (0 <= d * pull k r (items l)) by now apply Rmult_le_pos. lra. }
    assert (hNV : 0 <= P + d * V) by (assert (0 <= d * V) by (now apply Rmult_le_pos); lra).
    (* the addition's rounding *)
    assert (qT : exp (- (aT + lambda)) * (P + d * V) - exp (aT + lambda) * (Q + wa) <= q
                 <= exp (aT + lambda) * (G + d * (W - E) + (Q + wa))).
    { destruct (scaled_between (exp (- aT) * (P + d * V)) (X * Q) (X * (G + d * (W - E) + Q)) (y + p) (exp t5)
                  (exp (- lambda)) (exp lambda)) as [lo hi]; try easy;
        try (apply Rmult_le_pos; [left; apply exp_pos|lra]); [apply exp_pos|now apply rounding_between|].
      rewrite hq, Ropp_plus_distr, !exp_plus. fold X. apply abs_between in be5.
      assert (wa <= X * exp lambda * wa).
      { rewrite <- (Rmult_1_l wa) at 1. apply Rmult_le_compat_r; [lra|]. apply one_le_product; [easy|].
        apply exp_at_least_one. lra. }
      split; lra. }
    assert (magq : Rabs q <= exp (aT + lambda) * (G + d * (W - E) + (Q + wa))).
    { apply Rabs_le. split; [|easy]. pose proof (exp_pos (- (aT + lambda))). pose proof (exp_pos (aT + lambda)).
      assert (0 <= exp (- (aT + lambda)) * (P + d * V)) by (apply Rmult_le_pos; lra).
      assert (0 <= exp (aT + lambda) * (G + d * (W - E))) by (apply Rmult_le_pos; lra). lra. }
    (* the factor, and the last rounding *)
    destruct (weight_bounds M d b0 tx hd arg btx) as [w [bw main]].
    assert (next : moment_log h (S j) = aT + lambda + (lambdaE + lambda + c0)).
    { unfold aT, moment_log. rewrite S_INR. ring. }
    set (Y := exp (moment_log h (S j))).
    assert (Y1 : 1 <= Y) by (now apply exp_at_least_one, moment_log_nonneg).
    assert (fT : exp (- moment_log h (S j)) * (exp (- ((1 + t) * d)) * (P + d * V)) - Y * (exp (- (k * d)) * (Q + wa))
                 <= q * (exp (- d) * exp w * exp t6)
                 <= Y * (exp (- (k * d)) * (G + d * (W - E) + (Q + wa)))).
    { destruct (scaled_between (exp (- (aT + lambda)) * (P + d * V)) (exp (aT + lambda) * (Q + wa))
                  (exp (aT + lambda) * (G + d * (W - E) + (Q + wa))) q (exp (- d) * exp w * exp t6)
                  (exp (- ((1 + t) * d) - (lambdaE + lambda + c0))) (exp (- (k * d) + (lambdaE + lambda + c0)))) as [lo hi];
        try easy; try (apply Rmult_le_pos; [left; apply exp_pos|lra]); [apply exp_pos| |].
      - rewrite <- !exp_plus. apply abs_between in bw. apply abs_between in bt6. unfold fade. split; apply exp_le; lra.
      - unfold Y. rewrite next. unfold Rminus in lo. rewrite !Ropp_plus_distr, !exp_plus in *. 
        split; [eapply Rle_trans; [|apply lo]; right; ring | eapply Rle_trans; [apply hi|]; right; ring]. }
    set (F := exp (- (k * d))) in *. assert (F1 : 0 < F <= 1).
    { split; [apply exp_pos|]. apply exp_at_most_one. assert (0 <= k * d) by (apply Rmult_le_pos; lra). lra. }
    assert (eq_small : Rabs e = 0 \/ F + Rabs e <= 1).
    { destruct (Req_dec e 0) as [->|lossy]; [left; apply Rabs_R0|right].
      pose proof (far_deviation M good d b0 hd arg (far lossy)) as small.
      fold k in small. assert (F <= exp (- (k / 2 * d))).
      { apply exp_le. assert (0 <= k / 2 * d) by (apply Rmult_le_pos; lra). lra. } lra. }
    pose proof (Rabs_pos e) as epos.
    assert (under : Rabs (q * e * exp t6) <= Y * (Rabs e * (G + d * (W - E) + (Q + wa)))).
    { rewrite !Rabs_mult, (Rabs_right (exp t6)) by (left; apply exp_pos).
      apply Rle_trans with (exp (aT + lambda) * (G + d * (W - E) + (Q + wa)) * Rabs e * exp lambda).
      - pose proof (Rabs_pos q). apply abs_between in bt6.
        repeat (apply Rmult_le_compat; try easy; try lra); [apply Rmult_le_pos; lra|left; apply exp_pos|apply exp_le; lra].
      - unfold Y. rewrite next.
        replace (exp (aT + lambda) * (G + d * (W - E) + (Q + wa)) * Rabs e * exp lambda)
          with (exp (aT + lambda) * exp lambda * (Rabs e * (G + d * (W - E) + (Q + wa)))) by ring.
        apply Rmult_le_compat_r; [apply Rmult_le_pos; lra|]. rewrite <- exp_plus. apply exp_le. lra. }
    (* all of it in the atoms at r' *)
    set (losses := rescaling_losses M r r' l b e). set (Tlosses := moment_losses r r' l b bT j e).
    assert (hTl : pull k r' Tlosses = 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)).
    { unfold Tlosses, moment_losses. rewrite pull_single. reflexivity. }
    assert (hTm : mass Tlosses = 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)).
    { unfold Tlosses, moment_losses. rewrite mass_single. reflexivity. }
    assert (hSl : pull k r' losses = wm + Rabs e * W) by apply pull_losses.
    assert (dragged : drag k r' losses = 0).
    { unfold losses, rescaling_losses, drag, sum. cbn [map fold_right fst snd]. rewrite Rminus_diag_eq by easy. ring. }
    assert (enough : F * (Q + wa) + Rabs e * (G + d * (W - E) + (Q + wa)) + wm
                     <= beside r' l (b ++ losses) (bT ++ Tlosses) (S j)).
    { unfold beside. rewrite app_assoc, !pull_app, drag_app, hTl, hSl, dragged, <- (pull_app k r' (items l) b).
      rewrite (pull_moved k r r' (items l ++ b)), (pull_moved k r r' bT), (drag_moved k r r' b).
      fold d. fold F. fold W. fold E. unfold Q, Z, beside in *. fold W in hZ |- *. fold E.
      assert (diff : differences (S j) = differences j + c0) by (unfold differences; rewrite S_INR; ring).
      assert (0 <= differences j) by (unfold differences; pose proof (pos_INR j); apply Rmult_le_pos; lra).
      rewrite diff. set (N := differences j) in *.
      assert (0 <= (N + c0) * (wm + Rabs e * W)).
      { apply Rmult_le_pos; [lra|]. assert (0 <= Rabs e * W) by now apply Rmult_le_pos. lra. }
      assert (F * (wm + wa) + Rabs e * (wm + wa) <= wm + wa).
      { rewrite <- Rmult_plus_distr_r. apply Rle_trans with (1 * (wm + wa)); [|lra].
        apply Rmult_le_compat_r; [lra|]. destruct eq_small; lra. }
      assert (0 <= Rabs e * (drag k r b)) by (apply Rmult_le_pos; [easy|now apply drag_nonneg]).
      lra. }
    assert (items_drag : drag k r' (items l) = F * (G + d * (W - E))).
    { rewrite (drag_moved k r r'). fold d. fold F. fold G. now rewrite hU. }
    assert (items_down : drag (1 + t) r' (items l) = exp (- ((1 + t) * d)) * (P + d * V)).
    { now rewrite (drag_moved (1 + t) r r'). }
    assert (split_y : y' = q * (exp (- d) * exp w * exp t6) + q * e * exp t6 + e6).
    { rewrite hy, hf, main. ring. }
    assert (wm <= Y * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
    assert (covered : Y * (F * (Q + wa) + Rabs e * (G + d * (W - E) + (Q + wa)) + wm)
                      <= Y * beside r' l (b ++ losses) (bT ++ Tlosses) (S j)) by (apply Rmult_le_compat_l; lra).
    apply abs_between in under. apply abs_between in be6.
    constructor.
    - apply placed_app; [now apply placed_moved with r|]. apply placed_single.
      assert (0 <= c0 * W) by (apply Rmult_le_pos; lra). assert (0 <= d * W) by now apply Rmult_le_pos.
      assert (0 <= Rabs e * (G + Z + c0 * W + d * W)) by (apply Rmult_le_pos; lra).
      change (0 <= 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)). lra.
    - fold Y. rewrite items_drag, split_y. lra.
    - fold Y. rewrite items_down, split_y. lra.
    - (* what T lost in all: the factor's underflow takes omega_x (Gamma P + P_T), which its fading pays for *)
      assert (dE : Rabs e * d <= wx * (5 / 4 * D0 + 1)).
      { apply (lost_deviation M good d b0 e hd); easy. }
      destruct (lost_fading M good e b0 d hd arg be far) as [fades [q1 q2]].
      fold k in fades, q1, q2. set (h2 := exp (- (k / 2 * d))) in *.
      rewrite app_assoc, mass_app, !pull_app, hTm. rewrite <- (pull_app (k / 2) r' (items l) b).
      rewrite (pull_moved (k / 2) r r' bT), (pull_moved (k / 2) r r' (items l ++ b)). fold d. fold h2.
      assert (hTl2 : pull (k / 2) r' Tlosses = 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)).
      { unfold Tlosses, moment_losses. rewrite pull_single. reflexivity. }
      assert (hSl2 : pull (k / 2) r' losses = wm + Rabs e * W) by apply pull_losses.
      rewrite hTl2, hSl2.
      set (PP := pull (k / 2) r (items l ++ b)) in *. set (PT := pull (k / 2) r bT) in *.
      assert (WP : W <= PP) by (apply pull_slower; [lra|easy]).
      assert (hPT : pull k r bT <= PT) by (apply pull_slower; [lra|easy]).
      assert (hPT0 : 0 <= PT) by now apply pull_nonneg.
      assert (GP : G + drag k r b <= PP).
      { unfold G, PP. rewrite <- drag_app. apply drag_below_pull; [lra|easy]. }
      assert (bill : Rabs e * (G + Z + c0 * W + d * W) <= Rabs e * PT + (2 * D0) * (wx * PP)).
      { unfold Z, beside. fold W.
        replace (Rabs e * (G + (differences j * W + drag k r b + pull k r bT) + c0 * W + d * W))
          with (Rabs e * pull k r bT + Rabs e * (G + drag k r b) + Rabs e * (differences j + c0) * W + Rabs e * d * W) by ring.
        assert (Rabs e * pull k r bT <= Rabs e * PT) by now apply Rmult_le_compat_l.
        assert (Rabs e * (G + drag k r b) <= wx * PP).
        { apply Rmult_le_compat; try lra. pose proof (drag_nonneg k r b pb). lra. }
        assert (Rabs e * (differences j + c0) * W <= wx * 3 * PP).
        { assert (0 <= differences j + c0 <= 3).
          { unfold differences. pose proof (pos_INR j). assert (0 <= INR j * c0) by (apply Rmult_le_pos; lra). lra. }
          repeat (apply Rmult_le_compat; try lra). apply Rmult_le_pos; lra. }
        assert (Rabs e * d * W <= wx * (5 / 4 * D0 + 1) * PP).
        { apply Rmult_le_compat; try lra. now apply Rmult_le_pos. }
        assert (0 <= wx * PP) by (apply Rmult_le_pos; lra).
        assert (wx * PP * 5 <= wx * PP * (3 / 4 * D0)) by (apply Rmult_le_compat_l; lra). lra. }
      set (B := Rabs e * (G + Z + c0 * W + d * W)) in *.
      assert (hg : 0 <= g) by (unfold share; lra).
      enough (paid : B + g * (h2 * PT + B + 2 * D0 * (h2 * PP + Rabs e * W)) <= g * (PT + 2 * D0 * PP)).
      { unfold moment_base, base in *. rewrite S_INR. lra. }
      assert (hD0 : 0 <= 2 * D0) by lra. assert (hPP : 0 <= PP) by lra.
      destruct q2 as [zero|small].
      + subst e. unfold B. rewrite Rabs_R0, !Rmult_0_l, !Rplus_0_l, !Rplus_0_r. apply Rmult_le_compat_l; [easy|].
        assert (h2 * PT <= 1 * PT) by now apply Rmult_le_compat_r.
        assert (2 * D0 * (h2 * PP) <= 2 * D0 * (1 * PP)) by (apply Rmult_le_compat_l; [easy|]; now apply Rmult_le_compat_r).
        lra.
      + assert (eW : Rabs e * W <= wx * PP) by (apply Rmult_le_compat; lra).
        assert (eT : Rabs e * PT <= wx * PT) by now apply Rmult_le_compat_r.
        assert (B <= wx * PT + 2 * D0 * (wx * PP)) by lra.
        assert (h2 * PT <= / 8 * PT) by now apply Rmult_le_compat_r.
        assert (h2 * PP + Rabs e * W <= (/ 8 + wx) * PP).
        { assert (h2 * PP <= / 8 * PP) by now apply Rmult_le_compat_r. lra. }
        assert (2 * D0 * (h2 * PP + Rabs e * W) <= 2 * D0 * ((/ 8 + wx) * PP)) by now apply Rmult_le_compat_l.
        destruct (share_pays wx fx) as [pays1 pays2]. change (4 / 3 * wx) with g in pays1, pays2.
        assert ((wx + g * (/ 8 + wx)) * PT <= g * PT) by now apply Rmult_le_compat_r.
        assert ((wx + g * (/ 8 + 2 * wx)) * (2 * D0 * PP) <= g * (2 * D0 * PP)).
        { apply Rmult_le_compat_r; [now apply Rmult_le_pos|easy]. }
        assert (g * (h2 * PT + B + 2 * D0 * (h2 * PP + Rabs e * W))
                <= g * (/ 8 * PT + (wx * PT + 2 * D0 * (wx * PP)) + 2 * D0 * ((/ 8 + wx) * PP)))
          by (apply Rmult_le_compat_l; lra).
        lra.
    - discriminate.
  Qed.

  Theorem streamed_state l r s y h j K :
    streamed_at M l r s y h j K -> INR j * c0 <= 2 ->
    exists b bT, sum_state M l r s h j K b /\ moment_state l r y h j K b bT.
  Proof.
    facts. induction 1 as [x r b s y le arg ex prod|l1 l2 r s1 s2 s y1 y2 y part h1 h2 j1 j2 K1 K2 tree1 IH1 _ IH2 some adds addy
                   |l r r' s y b0 f p q s' y' h j K tree IH le arg ex prod hp hq hy|l l' r s y h j K _ IH same]; intros few.
    - exists [(r, wx)], [(r, wx * D0 + wm)]. split; [now apply (item_state M good x r b s)|now apply (item_moment x r b s)].
    - assert (few1 : INR j1 * c0 <= 2).
      { eapply Rle_trans; [|apply few]. apply Rmult_le_compat_r; [lra|]. apply le_INR. lia. }
      assert (few2 : INR j2 * c0 <= 2).
      { eapply Rle_trans; [|apply few]. apply Rmult_le_compat_r; [lra|]. apply le_INR. lia. }
      destruct (IH1 few1) as [b1 [bT1 [st1 mt1]]]. destruct (IH2 few2) as [b2 [bT2 [st2 mt2]]].
      pose proof (proj1 (height_below_size _ _ _ _ _ _ _ (sum_of_streamed _ _ _ _ _ _ _ _ tree1))) as [high _].
      exists (b1 ++ b2 ++ [(r, wa)]), (bT1 ++ bT2 ++ [(r, wa)]). split.
      + apply (addition_state M good part l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 b1 b2); easy || lra.
      + apply (addition_moment part l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 b1 b2 bT1 bT2);
          [lra|exact high|apply st1|apply st2|apply st1|apply st2|exact mt1|exact mt2|exact addy].
    - assert (few' : INR j * c0 <= 2).
      { eapply Rle_trans; [|apply few]. apply Rmult_le_compat_r; [lra|]. apply le_INR. lia. }
      destruct (IH few') as [b [bT [st mt]]].
      pose proof (proj1 (height_below_size _ _ _ _ _ _ _ (sum_of_streamed _ _ _ _ _ _ _ _ tree))) as [high _].
      destruct (rescaled_moment l r r' s y b0 f p q s' y' h j K b bT high st mt few' le arg ex prod hp hq hy) as [e both].
      eauto.
    - destruct (IH few) as [b [bT [st mt]]]. exists b, bT. split; [now apply reordered_state with l|].
      destruct mt as [pT uT dT mT zT].
      assert (sz : size l' = size l) by (unfold size; now rewrite (Permutation_length same)).
      assert (perm : forall q, pull q r (items l' ++ b) = pull q r (items l ++ b)).
      { intros q. rewrite !pull_app. f_equal. symmetry. now apply pull_permutation. }
      assert (besame : beside r l' b bT j = beside r l b bT j) by (unfold beside; now rewrite perm).
      constructor; [easy| | | |]; rewrite ?sz, ?besame, ?perm; try easy;
        rewrite <- (drag_permutation _ r l l' same); easy.
  Qed.

  (** ** What is lost in all *)

  Definition lost_moment (j : nat) : R :=
    wx * D0 + wm + wa + match j with 0%nat => 0 | S _ => 4 * wx * D0 + 3 * wm + wa end.

  (** The atoms that S lost pull at T with D e^-D <= 1/2 each, if they were rescaled at all. *)
  Theorem lost_moment_total l r s y h j K b bT :
    sum_state M l r s h j K b -> moment_state l r y h j K b bT -> INR K <= size l -> (j = 0 -> K = 0)%nat ->
    drag k r b + mass bT <= size l * lost_moment j.
  Proof.
    facts. intros st mt few none. pose proof (size_at_least_one l (state_visible _ _ _ _ _ _ _ _ st)) as hn.
    pose proof (pos_INR K).
    pose proof (lost_total M good _ _ _ _ _ _ _ st ltac:(lra) none) as lostS.
    pose proof (drag_below_mass k r b ltac:(lra) (state_placed _ _ _ _ _ _ _ _ st)) as dragged.
    destruct mt as [pT uT dT mT zT]. destruct st as [v ab pb u dn m z]. set (n := size l) in *.
    destruct j as [|j].
    - destruct (z eq_refl) as [_ here]. pose proof (zT eq_refl) as small. rewrite (none eq_refl) in small.
      assert (zero : drag k r b = 0).
      { unfold drag. rewrite <- (sum_map_const 0 b), Rmult_0_r at 1 || idtac.
        rewrite (sum_map_ext _ (fun _ => 0)), sum_map_const; [ring|].
        intros a ina. rewrite (here a ina). ring. }
      rewrite zero. unfold moment_base, lost_moment in *. change (INR 0) with 0 in small.
      assert ((n - 1) * wa <= n * wa) by (apply Rmult_le_compat_r; lra). lra.
    - pose proof (pull_nonneg (k / 2) r _ (all_placed r l b ab pb)).
      pose proof (pull_nonneg (k / 2) r bT pT).
      assert (hg : 0 <= g) by (unfold share; lra).
      assert (bound : mass bT <= (1 + g) * moment_base n K + g * (2 * D0) * (n + base M n K)).
      { assert (0 <= g * (pull (k / 2) r bT + 2 * D0 * pull (k / 2) r (items l ++ b))).
        { apply Rmult_le_pos; [easy|]. assert (0 <= 2 * D0 * pull (k / 2) r (items l ++ b)) by (apply Rmult_le_pos; lra). lra. }
        lra. }
      assert (sm : mass b <= (1 + g) * base M n K + g * n).
      { assert (0 <= g * pull (k / 2) r (items l ++ b)) by now apply Rmult_le_pos. lra. }
      assert (bm : base M n K <= n * (wx + wa + wm) /\ base M n K <= n * (3 / 16)).
      { unfold base. assert (INR K * wm <= n * wm) by (apply Rmult_le_compat_r; lra).
        assert ((n - 1) * wa <= n * wa) by (apply Rmult_le_compat_r; lra).
        assert (n * (wx + wa + wm) <= n * (3 / 16)) by (apply Rmult_le_compat_l; lra). lra. }
      assert (tm : moment_base n K <= n * (wx * D0 + 3 * wm + 2 * wa)).
      { unfold moment_base. assert (INR K * (2 * wm + wa) <= n * (2 * wm + wa)) by (apply Rmult_le_compat_r; lra).
        assert ((n - 1) * wa <= n * wa) by (apply Rmult_le_compat_r; lra). lra. }
      unfold lost_moment. 
      assert (t1 : g * (2 * D0) * (n + base M n K) <= n * (wx * D0 * (19 / 6))).
      { replace (n * (wx * D0 * (19 / 6))) with (g * (2 * D0) * (n * (19 / 16))) by (unfold share; field).
        apply Rmult_le_compat_l; [apply Rmult_le_pos; lra|lra]. }
      assert (t2 : g * moment_base n K <= n * (wx * D0 * (1 / 4))).
      { apply Rle_trans with (g * (n * (wx * D0 + 3 * wm + 2 * wa))); [now apply Rmult_le_compat_l|].
        replace (g * (n * (wx * D0 + 3 * wm + 2 * wa))) with (n * (wx * (4 / 3 * (wx * D0 + 3 * wm + 2 * wa))))
          by (unfold share; ring).
        replace (n * (wx * D0 * (1 / 4))) with (n * (wx * (D0 * (1 / 4)))) by ring.
        apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [lra|].
        assert (wx * D0 <= / 16 * D0) by (apply Rmult_le_compat_r; lra). lra. }
      assert (t3 : mass b / 2 <= n * (wx * D0 * (1 / 4) + wm)).
      { assert (g * base M n K <= g * (n * (3 / 16))) by (apply Rmult_le_compat_l; lra).
        assert (mass b <= n * (wx + wa + wm) + g * (n * (3 / 16)) + g * n) by lra.
        assert (g * (n * (3 / 16)) + g * n = n * wx * (19 / 12)) by (unfold share; field).
        assert (n * wx * (31 / 12) <= n * (wx * D0 * (1 / 2))).
        { replace (n * (wx * D0 * (1 / 2))) with (n * wx * (D0 / 2)) by field. apply Rmult_le_compat_l; [|lra].
          apply Rmult_le_pos; lra. }
        assert (n * wa <= n * wm) by (apply Rmult_le_compat_l; lra). lra. }
      assert (0 <= n * (wx * D0)) by (apply Rmult_le_pos; [lra|apply Rmult_le_pos; lra]).
      lra.
  Qed.
End Moments.
