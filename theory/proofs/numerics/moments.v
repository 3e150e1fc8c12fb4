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

From softcheck.numerics Require Import row tree_heights reduction.
From softcheck.numerics Require Export moment_states. (* of which every bound of T speaks *)
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
Proof. induction 1; econstructor; eassumption. Qed.

Theorem height_of_both_trees M l r s y h j K : streamed M l r s y h j K -> streamed_at M l r s y (INR h) j K.
Proof.
  induction 1 as [x r b s y le arg ex prod|l1 l2 r s1 s2 s y1 y2 y h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 adds addy
                 |l r r' s y b f p q s' y' h j K _ IH le arg ex prod hp hq hy|l l' r s y h j K _ IH same].
  - now apply streamed_at_item with b.
  - rewrite height_of_both. apply streamed_at_addition with s1 s2 y1 y2; try easy; [lra|now apply whole_sum|now apply whole_sum].
  - now apply streamed_at_rescaled with r s y b f p q.
  - now apply streamed_at_reordered with l.
Qed.

Section Moments.
  Context (M : arithmetic) (good : sound M).
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
  Local Notation moment_log := (moment_states.moment_log M).
  Local Notation differences := (moment_states.differences M).
  Local Notation moment_base := (moment_states.moment_base M).
  Local Notation beside := (moment_states.beside M).
  Local Notation moment_state := (moment_states.moment_state M).
  Local Ltac facts :=
    pose proof (facts_hold M good) as [ft [fl [fE [fc [fau [fx [fa [fam [fm [fD [fk tau]]]]]]]]]]].
  Local Notation moment_log_above := (moment_states.moment_log_above M).
  Local Notation moment_log_nonneg := (moment_states.moment_log_nonneg M good).
  Local Notation beside_nonneg := (moment_states.beside_nonneg M good).
  Local Notation item_moment := (moment_states.item_moment M good).
  Local Notation addition_moment := (moment_states.addition_moment M good).
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
    { now apply (rescaled_state_with M good l r r' s b0 f s' h j K b tx e). } exists e. split; [easy|]. clear prod ex.
    pose proof (state_magnitude M good _ _ _ _ _ _ _ st) as mag. destruct st as [v ab pb u dn m _].
    destruct mt as [pT uT dT mT _]. facts. pose proof (all_placed r l b ab pb) as pall. set (d := r' - r) in *.
    assert (hd : 0 <= d) by (unfold d; lra). set (W := pull k r (items l ++ b)) in *.
    assert (hW : 0 <= W) by now apply pull_nonneg. set (E := pull k r b). assert (hE : 0 <= E) by now apply pull_nonneg.
    set (Z := beside r l b bT j) in *. assert (hZ : 0 <= Z) by now apply beside_nonneg.
    set (G := drag k r (items l)) in *. assert (hG : 0 <= G) by (now apply drag_nonneg, placed_items).
    set (P := drag (1 + t) r (items l)) in *. assert (hP : 0 <= P) by (now apply drag_nonneg, placed_items).
    set (V := pull (1 + t) r (items l)). assert (hV : 0 <= V) by (now apply pull_nonneg, placed_items).
    rewrite (tilted_down M good) in dn. fold V in dn. fold E in dn.
    assert (hU : pull k r (items l) = W - E) by (unfold W, E; rewrite pull_app; ring). set (aS := sum_log M h j) in *.
    set (aT := moment_log h j) in *. pose proof (sum_log_nonneg M good h j high) as haS. fold aS in haS.
    assert (apart : aS + lambda + au <= aT).
    { unfold aS, aT. rewrite <- moment_log_above. pose proof (pos_INR j). assert (0 <= INR j * lambda) by monotone.
      lra. }
    (* p = d S, with the argument's error, and c S *)
    pose proof arg as [ta [c [bta [bc hb]]]]. destruct hp as [t4 [e4 [bt4 [be4 hp]]]].
    destruct hq as [t5 [e5 [bt5 [be5 hq]]]]. destruct hy as [t6 [e6 [bt6 [be6 hy]]]].
    assert (dS : exp (- aT) * (d * V) - exp aT * (d * E) <= d * exp ta * exp t4 * s <= exp aT * (d * W)).
    { destruct (scaled_between (exp (- aS) * V) (exp aS * E) (exp aS * W) s (exp ta * exp t4) (exp (- (au + lambda)))
        (exp (au + lambda))) as [lo hi]; try (apply Rmult_le_pos; [monotone|easy]); try lra; [monotone| |].
      - rewrite <- exp_plus. apply abs_between in bta. apply abs_between in bt4. monotone.
      - replace (d * exp ta * exp t4 * s) with (d * (s * (exp ta * exp t4))) by ring.
        assert (E1 : exp aS * exp (au + lambda) <= exp aT) by (rewrite <- exp_plus; apply exp_le; lra).
        assert (E2 : exp (- aT) <= exp (- aS) * exp (- (au + lambda))) by (rewrite <- exp_plus; apply exp_le; lra).
        split.
        + replace (exp (- aT) * (d * V) - exp aT * (d * E)) with (d * (exp (- aT) * V - exp aT * E)) by ring.
          apply Rmult_le_compat_l; [easy|].
          assert (exp (- aT) * V <= exp (- aS) * exp (- (au + lambda)) * V) by monotone.
          assert (exp aS * exp (au + lambda) * E <= exp aT * E) by monotone. lra.
        + replace (exp aT * (d * W)) with (d * (exp aT * W)) by ring. apply Rmult_le_compat_l; [easy|].
          assert (exp aS * exp (au + lambda) * W <= exp aT * W) by monotone. lra. }
    assert (cS : Rabs (c * exp t4 * s) <= exp aT * (c0 * W)).
    { rewrite !Rabs_mult, (Rabs_right (exp t4)) by (left; apply exp_pos).
      apply Rle_trans with (c0 * exp lambda * (exp aS * W)).
      - pose proof (Rabs_pos c). pose proof (Rabs_pos s). pose proof (exp_pos t4). apply abs_between in bt4.
        repeat (apply Rmult_le_compat; try easy; try lra); [monotone| monotone].
      - replace (c0 * exp lambda * (exp aS * W)) with (exp lambda * exp aS * (c0 * W)) by ring.
        apply Rmult_le_compat_r; [monotone|]. rewrite <- exp_plus. monotone. }
    set (X := exp aT). assert (X1 : 1 <= X) by (apply exp_at_least_one; lra). set (Q := Z + d * E + c0 * W + wm).
    assert (hQ : 0 <= Q). { unfold Q. assert (0 <= d * E) by monotone. assert (0 <= c0 * W) by monotone. lra. }
    assert (sumT : exp (- aT) * (P + d * V) - X * Q <= y + p <= X * (G + d * (W - E) + Q)).
    { rewrite hp, hb. apply abs_between in cS. apply abs_between in be4. fold X in uT, dT, dS, cS.
      assert (wm <= X * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      replace ((d * exp ta + c) * s * exp t4 + e4) with (d * exp ta * exp t4 * s + c * exp t4 * s + e4) by ring.
      unfold Q. split; lra. }
    assert (hN : 0 <= G + d * (W - E)).
    { rewrite <- hU. pose proof (pull_nonneg k r (items l) (placed_items r l ab)).
      assert (0 <= d * pull k r (items l)) by monotone. lra. }
    assert (hNV : 0 <= P + d * V) by (assert (0 <= d * V) by monotone; lra).
    (* the addition's rounding *)
    assert (qT : exp (- (aT + lambda)) * (P + d * V) - exp (aT + lambda) * (Q + wa) <= q
                 <= exp (aT + lambda) * (G + d * (W - E) + (Q + wa))).
    { destruct (scaled_between (exp (- aT) * (P + d * V)) (X * Q) (X * (G + d * (W - E) + Q)) (y + p) (exp t5)
                  (exp (- lambda)) (exp lambda)) as [lo hi]; try easy;
        try (apply Rmult_le_pos; [left; apply exp_pos|lra]); [apply exp_pos|now apply rounding_between|].
      rewrite hq, Ropp_plus_distr, !exp_plus. fold X. apply abs_between in be5. assert (wa <= X * exp lambda * wa).
      { rewrite <- (Rmult_1_l wa) at 1. apply Rmult_le_compat_r; [lra|]. apply one_le_product; [easy|]. monotone. }
      split; lra. }
    assert (magq : Rabs q <= exp (aT + lambda) * (G + d * (W - E) + (Q + wa))).
    { apply Rabs_le. split; [|easy]. pose proof (exp_pos (- (aT + lambda))). pose proof (exp_pos (aT + lambda)).
      assert (0 <= exp (- (aT + lambda)) * (P + d * V)) by monotone.
      assert (0 <= exp (aT + lambda) * (G + d * (W - E))) by monotone. lra. }
    (* the factor, and the last rounding *)
    destruct (weight_bounds M d b0 tx hd arg btx) as [w [bw main]].
    assert (next : moment_log h (S j) = aT + lambda + (lambdaE + lambda + c0)).
    { unfold aT, moment_states.moment_log. rewrite S_INR. ring. } set (Y := exp (moment_log h (S j))).
    assert (Y1 : 1 <= Y) by (now apply exp_at_least_one, moment_log_nonneg).
    assert (fT : exp (- moment_log h (S j)) * (exp (- ((1 + t) * d)) * (P + d * V)) - Y * (exp (- (k * d)) * (Q + wa))
                 <= q * (exp (- d) * exp w * exp t6)
                 <= Y * (exp (- (k * d)) * (G + d * (W - E) + (Q + wa)))).
    { destruct (scaled_between (exp (- (aT + lambda)) * (P + d * V)) (exp (aT + lambda) * (Q + wa))
                  (exp (aT + lambda) * (G + d * (W - E) + (Q + wa))) q (exp (- d) * exp w * exp t6)
                  (exp (- ((1 + t) * d) - (lambdaE + lambda + c0))) (exp (- (k * d) + (lambdaE + lambda + c0)))) as [lo hi];
        try easy; try (apply Rmult_le_pos; [left; apply exp_pos|lra]); [apply exp_pos| |].
      - rewrite <- !exp_plus. apply abs_between in bw. apply abs_between in bt6. unfold fade. monotone.
      - unfold Y. rewrite next. unfold Rminus in lo. rewrite !Ropp_plus_distr, !exp_plus in *.
        split; [eapply Rle_trans; [|apply lo]; right; ring | eapply Rle_trans; [apply hi|]; right; ring]. }
    set (F := exp (- (k * d))) in *. assert (F1 : 0 < F <= 1).
    { split; [apply exp_pos|]. apply exp_at_most_one. assert (0 <= k * d) by monotone. lra. }
    assert (eq_small : Rabs e = 0 \/ F + Rabs e <= 1).
    { destruct (Req_dec e 0) as [->|lossy]; [left; apply Rabs_R0|right].
      pose proof (far_deviation M good d b0 hd arg (far lossy)) as small. fold k in small.
      assert (F <= exp (- (k / 2 * d))). { apply exp_le. assert (0 <= k / 2 * d) by monotone. lra. } lra. }
    pose proof (Rabs_pos e) as epos.
    assert (under : Rabs (q * e * exp t6) <= Y * (Rabs e * (G + d * (W - E) + (Q + wa)))).
    { rewrite !Rabs_mult, (Rabs_right (exp t6)) by (left; apply exp_pos).
      apply Rle_trans with (exp (aT + lambda) * (G + d * (W - E) + (Q + wa)) * Rabs e * exp lambda).
      - pose proof (Rabs_pos q). apply abs_between in bt6.
        repeat (apply Rmult_le_compat; try easy; try lra); [monotone|monotone|monotone].
      - unfold Y. rewrite next.
        replace (exp (aT + lambda) * (G + d * (W - E) + (Q + wa)) * Rabs e * exp lambda)
          with (exp (aT + lambda) * exp lambda * (Rabs e * (G + d * (W - E) + (Q + wa)))) by ring.
        apply Rmult_le_compat_r; [monotone|]. rewrite <- exp_plus. monotone. }
    (* all of it in the atoms at r' *)
    set (losses := rescaling_losses M r r' l b e). set (Tlosses := moment_losses r r' l b bT j e).
    assert (hTl : pull k r' Tlosses = 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)).
    { unfold Tlosses, moment_losses. rewrite pull_single. reflexivity. }
    assert (hTm : mass Tlosses = 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)).
    { unfold Tlosses, moment_losses. rewrite mass_single. reflexivity. }
    assert (hSl : pull k r' losses = wm + Rabs e * W) by apply pull_losses. assert (dragged : drag k r' losses = 0).
    { unfold losses, rescaling_losses, drag, sum. cbn [map fold_right fst snd]. rewrite Rminus_diag_eq by easy. ring. }
    assert (enough : F * (Q + wa) + Rabs e * (G + d * (W - E) + (Q + wa)) + wm
                     <= beside r' l (b ++ losses) (bT ++ Tlosses) (S j)).
    { unfold moment_states.beside.
      rewrite app_assoc, !pull_app, drag_app, hTl, hSl, dragged, <- (pull_app k r' (items l) b).
      rewrite (pull_moved k r r' (items l ++ b)), (pull_moved k r r' bT), (drag_moved k r r' b). fold d. fold F.
      fold W. fold E. unfold Q, Z, moment_states.beside in *. fold W in hZ |- *. fold E.
      assert (diff : differences (S j) = differences j + c0)
        by (unfold moment_states.differences; rewrite S_INR; ring).
      assert (0 <= differences j)
        by (unfold moment_states.differences; pose proof (pos_INR j); apply Rmult_le_pos; lra).
      rewrite diff. set (N := differences j) in *. assert (0 <= (N + c0) * (wm + Rabs e * W)) by monotone.
      assert (F * (wm + wa) + Rabs e * (wm + wa) <= wm + wa).
      { rewrite <- Rmult_plus_distr_r. apply Rle_trans with (1 * (wm + wa)); [|lra].
        apply Rmult_le_compat_r; [lra|]. destruct eq_small; lra. }
      assert (0 <= Rabs e * (drag k r b)) by (apply Rmult_le_pos; [easy|now apply drag_nonneg]). lra. }
    assert (items_drag : drag k r' (items l) = F * (G + d * (W - E))).
    { rewrite (drag_moved k r r'). fold d. fold F. fold G. now rewrite hU. }
    assert (items_down : drag (1 + t) r' (items l) = exp (- ((1 + t) * d)) * (P + d * V)).
    { now rewrite (drag_moved (1 + t) r r'). }
    assert (split_y : y' = q * (exp (- d) * exp w * exp t6) + q * e * exp t6 + e6). { rewrite hy, hf, main. ring. }
    assert (wm <= Y * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
    assert (covered : Y * (F * (Q + wa) + Rabs e * (G + d * (W - E) + (Q + wa)) + wm)
      <= Y * beside r' l (b ++ losses) (bT ++ Tlosses) (S j)) by monotone.
    apply abs_between in under. apply abs_between in be6. constructor.
    - apply placed_app; [now apply placed_moved with r|]. apply placed_single. assert (0 <= c0 * W) by monotone.
      assert (0 <= d * W) by monotone. assert (0 <= Rabs e * (G + Z + c0 * W + d * W)) by monotone.
      change (0 <= 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)). lra.
    - fold Y. rewrite items_drag, split_y. lra.
    - fold Y. rewrite items_down, split_y. lra.
    - (* what T lost in all: the factor's underflow takes omega_x (Gamma P + P_T), which its fading pays for *)
      assert (dE : Rabs e * d <= wx * (5 / 4 * D0 + 1)). { apply (lost_deviation M good d b0 e hd); easy. }
      destruct (lost_fading M good e b0 d hd arg be far) as [fades [q1 q2]]. fold k in fades, q1, q2.
      set (h2 := exp (- (k / 2 * d))) in *. rewrite app_assoc, mass_app, !pull_app, hTm.
      rewrite <- (pull_app (k / 2) r' (items l) b).
      rewrite (pull_moved (k / 2) r r' bT), (pull_moved (k / 2) r r' (items l ++ b)). fold d. fold h2.
      assert (hTl2 : pull (k / 2) r' Tlosses = 2 * wm + wa + Rabs e * (G + Z + c0 * W + d * W)).
      { unfold Tlosses, moment_losses. rewrite pull_single. reflexivity. }
      assert (hSl2 : pull (k / 2) r' losses = wm + Rabs e * W) by apply pull_losses. rewrite hTl2, hSl2.
      set (PP := pull (k / 2) r (items l ++ b)) in *. set (PT := pull (k / 2) r bT) in *.
      assert (WP : W <= PP) by (apply pull_slower; [lra|easy]).
      assert (hPT : pull k r bT <= PT) by (apply pull_slower; [lra|easy]).
      assert (hPT0 : 0 <= PT) by now apply pull_nonneg. assert (GP : G + drag k r b <= PP).
      { unfold G, PP. rewrite <- drag_app. apply drag_below_pull; [lra|easy]. }
      assert (bill : Rabs e * (G + Z + c0 * W + d * W) <= Rabs e * PT + (2 * D0) * (wx * PP)).
      { unfold Z, moment_states.beside. fold W.
        replace (Rabs e * (G + (differences j * W + drag k r b + pull k r bT) + c0 * W + d * W))
          with (Rabs e * pull k r bT + Rabs e * (G + drag k r b) + Rabs e * (differences j + c0) * W + Rabs e * d * W) by ring.
        assert (Rabs e * pull k r bT <= Rabs e * PT) by monotone. assert (Rabs e * (G + drag k r b) <= wx * PP).
        { apply Rmult_le_compat; try lra. pose proof (drag_nonneg k r b pb). lra. }
        assert (Rabs e * (differences j + c0) * W <= wx * 3 * PP).
        { assert (0 <= differences j + c0 <= 3).
          { unfold moment_states.differences. pose proof (pos_INR j). assert (0 <= INR j * c0) by monotone. lra. }
          monotone. }
        assert (Rabs e * d * W <= wx * (5 / 4 * D0 + 1) * PP) by monotone. assert (0 <= wx * PP) by monotone.
        assert (wx * PP * 5 <= wx * PP * (3 / 4 * D0)) by monotone. lra. }
      set (B := Rabs e * (G + Z + c0 * W + d * W)) in *. assert (hg : 0 <= g) by (unfold share; lra).
      enough (paid : B + g * (h2 * PT + B + 2 * D0 * (h2 * PP + Rabs e * W)) <= g * (PT + 2 * D0 * PP)).
      { unfold moment_states.moment_base, base in *. rewrite S_INR. lra. } assert (hD0 : 0 <= 2 * D0) by lra.
      assert (hPP : 0 <= PP) by lra. destruct q2 as [zero|small].
      + subst e. unfold B. rewrite Rabs_R0, !Rmult_0_l, !Rplus_0_l, !Rplus_0_r. apply Rmult_le_compat_l; [easy|].
        assert (h2 * PT <= 1 * PT) by monotone. assert (2 * D0 * (h2 * PP) <= 2 * D0 * (1 * PP)) by monotone. lra.
      + assert (eW : Rabs e * W <= wx * PP) by monotone. assert (eT : Rabs e * PT <= wx * PT) by monotone.
        assert (B <= wx * PT + 2 * D0 * (wx * PP)) by lra. assert (h2 * PT <= / 8 * PT) by monotone.
        assert (h2 * PP + Rabs e * W <= (/ 8 + wx) * PP). { assert (h2 * PP <= / 8 * PP) by monotone. lra. }
        assert (2 * D0 * (h2 * PP + Rabs e * W) <= 2 * D0 * ((/ 8 + wx) * PP)) by monotone.
        destruct (share_pays wx fx) as [pays1 pays2]. change (4 / 3 * wx) with g in pays1, pays2.
        assert ((wx + g * (/ 8 + wx)) * PT <= g * PT) by monotone.
        assert ((wx + g * (/ 8 + 2 * wx)) * (2 * D0 * PP) <= g * (2 * D0 * PP)) by monotone.
        assert (g * (h2 * PT + B + 2 * D0 * (h2 * PP + Rabs e * W))
          <= g * (/ 8 * PT + (wx * PT + 2 * D0 * (wx * PP)) + 2 * D0 * ((/ 8 + wx) * PP))) by monotone.
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
      assert (besame : beside r l' b bT j = beside r l b bT j) by (unfold moment_states.beside; now rewrite perm).
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
    pose proof (pos_INR K). pose proof (lost_total M good _ _ _ _ _ _ _ st ltac:(lra) none) as lostS.
    pose proof (drag_below_mass k r b ltac:(lra) (state_placed _ _ _ _ _ _ _ _ st)) as dragged.
    destruct mt as [pT uT dT mT zT]. destruct st as [v ab pb u dn m z]. set (n := size l) in *. destruct j as [|j].
    - destruct (z eq_refl) as [_ here]. pose proof (zT eq_refl) as small. rewrite (none eq_refl) in small.
      assert (zero : drag k r b = 0).
      { unfold drag. rewrite <- (sum_map_const 0 b), Rmult_0_r at 1 || idtac.
        rewrite (sum_map_ext _ (fun _ => 0)), sum_map_const; [ring|]. intros a ina. rewrite (here a ina). ring. }
      rewrite zero. unfold moment_states.moment_base, lost_moment in *. change (INR 0) with 0 in small.
      assert ((n - 1) * wa <= n * wa) by monotone. lra.
    - pose proof (pull_nonneg (k / 2) r _ (all_placed r l b ab pb)). pose proof (pull_nonneg (k / 2) r bT pT).
      assert (hg : 0 <= g) by (unfold share; lra).
      assert (bound : mass bT <= (1 + g) * moment_base n K + g * (2 * D0) * (n + base M n K)).
      { assert (0 <= g * (pull (k / 2) r bT + 2 * D0 * pull (k / 2) r (items l ++ b))) by monotone. lra. }
      assert (sm : mass b <= (1 + g) * base M n K + g * n).
      { assert (0 <= g * pull (k / 2) r (items l ++ b)) by monotone. lra. }
      assert (bm : base M n K <= n * (wx + wa + wm) /\ base M n K <= n * (3 / 16)).
      { unfold base. assert (INR K * wm <= n * wm) by monotone.
        assert (n * (wx + wa + wm) <= n * (3 / 16)) by monotone. lra. }
      assert (tm : moment_base n K <= n * (wx * D0 + 3 * wm + 2 * wa)).
      { unfold moment_states.moment_base. assert (INR K * (2 * wm + wa) <= n * (2 * wm + wa)) by monotone. lra. }
      unfold lost_moment. assert (t1 : g * (2 * D0) * (n + base M n K) <= n * (wx * D0 * (19 / 6))).
      { replace (n * (wx * D0 * (19 / 6))) with (g * (2 * D0) * (n * (19 / 16))) by (unfold share; field). monotone. }
      assert (t2 : g * moment_base n K <= n * (wx * D0 * (1 / 4))).
      { apply Rle_trans with (g * (n * (wx * D0 + 3 * wm + 2 * wa))); [monotone|].
        replace (g * (n * (wx * D0 + 3 * wm + 2 * wa))) with (n * (wx * (4 / 3 * (wx * D0 + 3 * wm + 2 * wa))))
          by (unfold share; ring).
        replace (n * (wx * D0 * (1 / 4))) with (n * (wx * (D0 * (1 / 4)))) by ring. apply Rmult_le_compat_l; [lra|].
        apply Rmult_le_compat_l; [lra|]. assert (wx * D0 <= / 16 * D0) by monotone. lra. }
      assert (t3 : mass b / 2 <= n * (wx * D0 * (1 / 4) + wm)).
      { assert (g * base M n K <= g * (n * (3 / 16))) by monotone.
        assert (g * (n * (3 / 16)) + g * n = n * wx * (19 / 12)) by (unfold share; field).
        assert (n * wx * (31 / 12) <= n * (wx * D0 * (1 / 2))).
        { replace (n * (wx * D0 * (1 / 2))) with (n * wx * (D0 / 2)) by field. monotone. }
        assert (n * wa <= n * wm) by monotone. lra. }
      assert (0 <= n * (wx * D0)) by monotone. lra.
  Qed.
End Moments.
