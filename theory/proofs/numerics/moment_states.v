(** * What a streamed second sum T = sum w D lies between: one item and one addition.

    Source: moments.v, which adds the rescalings. *)

From softcheck.numerics Require Import row tree_heights reduction.
Local Open Scope R_scope.

(** What an underflowing factor takes is paid for by its fading. *)
Lemma share_pays w :
  0 <= w <= / 16 -> w + 4 / 3 * w * (/ 8 + w) <= 4 / 3 * w /\ w + 4 / 3 * w * (/ 8 + 2 * w) <= 4 / 3 * w.
Proof. intros range. assert (w * w <= w * / 16) by monotone. lra. Qed.

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

  Definition moment_log (h : R) (j : nat) : R :=
    h * lambda + lambdaE + INR j * (lambdaE + 2 * lambda) + lambda + au + (INR j + 1) * c0.
  Definition differences (j : nat) : R := (INR j + 1) * c0.
  Definition moment_base (n : R) (K : nat) : R := n * (wx * D0 + wm) + (n - 1) * wa + INR K * (2 * wm + wa).

  Lemma facts_hold :
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
    apply le_INR in hj. assert (INR j * lambda <= INR j' * lambda) by monotone. lra.
  Qed.

  Lemma moment_log_nonneg h j : 0 <= h -> 0 <= moment_log h j.
  Proof.
    intros pos. facts. rewrite <- moment_log_above. pose proof (sum_log_nonneg M good h j pos). pose proof (pos_INR j).
    assert (0 <= INR j * lambda) by monotone. lra.
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
    pose proof (pull_nonneg k r bT pT). assert (0 <= (INR j + 1) * c0 * pull k r (items l ++ b)) by monotone. lra.
  Qed.

  (** More roundoffs than there are. *)
  Lemma higher_moment l r y h h' j K b bT :
    h <= h' -> above_all r l -> placed r b -> moment_state l r y h j K b bT -> moment_state l r y h' j K b bT.
  Proof.
    intros le ab pb [pT u d m z]. pose proof (beside_nonneg r l b bT j ab pb pT) as side.
    pose proof (moment_log_growing h h' j j le (le_n j)) as more. facts.
    pose proof (drag_nonneg k r _ (placed_items r l ab)). pose proof (drag_nonneg (1 + t) r _ (placed_items r l ab)).
    constructor; try easy.
    - apply (widened_upper (exp (moment_log h j))); [exact u|monotone|lra].
    - apply (widened_lower (exp (- moment_log h j)) _ (exp (moment_log h j))); try easy; apply exp_le; lra.
  Qed.

  (** ** A factor of what lies between P - Q and U, and P or Q or U moved with it *)
  Lemma scaled_between P Q U a X lo hi :
    0 <= P -> 0 <= Q -> 0 <= U -> P - Q <= a <= U -> 0 < lo -> lo <= X <= hi -> P * lo - Q * hi <= a * X <= U * hi.
  Proof.
    intros hP hQ hU [low high] hlo [hX1 hX2]. split.
    - apply Rle_trans with ((P - Q) * X); [|monotone]. assert (P * lo <= P * X) by monotone.
      assert (Q * X <= Q * hi) by monotone. lra.
    - apply Rle_trans with (U * X); [monotone| monotone].
  Qed.

  Lemma rounding_between x v : Rabs x <= v -> exp (- v) <= exp x <= exp v.
  Proof. intros b. apply abs_between in b. monotone. Qed.

  (** ** One item *)
  Lemma item_moment x r b s y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> computed_product M (s * b) y ->
    moment_state [x] r y 0 0 0 [(r, wx)] [(r, wx * D0 + wm)].
  Proof.
    intros le arg [tx [e [btx [be [beb [_ ->]]]]]] [tp [ep [btp [bep ->]]]]. facts.
    destruct (weight_bounds M (r - x) b tx ltac:(lra) arg btx) as [w [bw main]]. destruct arg as [ta [c [bta [bc hb]]]].
    set (d := r - x) in *. assert (hd : 0 <= d) by (unfold d; lra).
    assert (log0 : moment_log 0 0 = lambdaE + lambda + au + c0) by (unfold moment_log; simpl; ring).
    assert (item : forall q, pull q r (items [x]) = exp (- (q * d))).
    { intros q. unfold pull, items, sum. simpl. fold d. ring. }
    assert (dragged : forall q, drag q r (items [x]) = d * exp (- (q * d))).
    { intros q. unfold drag, items, sum. simpl. fold d. ring. }
    assert (hbeside : beside r [x] [(r, wx)] [(r, wx * D0 + wm)] 0 = c0 * (exp (- (k * d)) + wx) + (wx * D0 + wm)).
    { unfold beside, differences. rewrite pull_app, !pull_single, drag_single, item. simpl. ring. }
    assert (hwD : 0 <= wx * D0) by monotone. constructor.
    - apply placed_single. lra.
    - (* main part: d e^(-d) with the argument twice, then c, then underflow *)
      rewrite log0, hbeside, dragged. set (N := exp (lambdaE + lambda + au + c0)).
      assert (N1 : 1 <= N) by (apply exp_at_least_one; lra). apply abs_between in bw. apply abs_between in btp.
      apply abs_between in bta. apply abs_between in bc. pose proof (Rle_abs ep). pose proof (Rle_abs (e * b)) as ab.
      rewrite Rabs_mult in ab. assert (ft1 : exp (- d) * exp w * exp tp * (d * exp ta) <= N * (d * exp (- (k * d)))).
      { replace (exp (- d) * exp w * exp tp * (d * exp ta)) with (d * (exp (- d) * exp w * exp tp * exp ta)) by ring.
        replace (N * (d * exp (- (k * d)))) with (d * (exp (- (k * d)) * N)) by ring.
        apply Rmult_le_compat_l; [easy|]. unfold N. rewrite <- !exp_plus. apply exp_le. unfold fade. lra. }
      assert (ft2 : exp (- d) * exp w * exp tp * c <= N * (c0 * exp (- (k * d)))).
      { apply Rle_trans with (exp (- d) * exp w * exp tp * c0).
        - monotone.
        - replace (N * (c0 * exp (- (k * d)))) with ((exp (- (k * d)) * N) * c0) by ring.
          apply Rmult_le_compat_r; [lra|]. unfold N. rewrite <- !exp_plus. apply exp_le. unfold fade. lra. }
      assert (ft3 : e * b * exp tp <= N * (wx * D0)).
      { apply Rle_trans with (wx * D0 * exp lambda).
        - apply Rle_trans with (wx * D0 * exp tp); [apply Rmult_le_compat_r; [monotone|lra]|]. monotone.
        - rewrite Rmult_comm. apply Rmult_le_compat_r; [easy|]. apply exp_le. lra. }
      assert (wm <= N * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      assert (0 <= N * (c0 * wx)) by monotone.
      replace ((exp (- b + tx) + e) * b * exp tp + ep) with (exp (- b + tx) * exp tp * b + e * b * exp tp + ep) by ring.
      rewrite main. rewrite hb at 1.
      replace (exp (- d) * exp w * exp tp * (d * exp ta + c))
        with (exp (- d) * exp w * exp tp * (d * exp ta) + exp (- d) * exp w * exp tp * c) by ring.
      lra.
    - rewrite log0, hbeside, dragged. set (N := exp (lambdaE + lambda + au + c0)).
      assert (N1 : 1 <= N) by (apply exp_at_least_one; lra). apply abs_between in bw. apply abs_between in btp.
      apply abs_between in bta. apply abs_between in bc. pose proof (Rle_abs (- ep)) as abp. rewrite Rabs_Ropp in abp.
      pose proof (Rle_abs (- (e * b))) as ab. rewrite Rabs_Ropp, Rabs_mult in ab.
      assert (ft1 : exp (- (lambdaE + lambda + au + c0)) * (d * exp (- ((1 + t) * d)))
        <= exp (- d) * exp w * exp tp * (d * exp ta)).
      { replace (exp (- d) * exp w * exp tp * (d * exp ta)) with (d * (exp (- d) * exp w * exp tp * exp ta)) by ring.
        replace (exp (- (lambdaE + lambda + au + c0)) * (d * exp (- ((1 + t) * d))))
          with (d * (exp (- (lambdaE + lambda + au + c0)) * exp (- ((1 + t) * d)))) by ring.
        apply Rmult_le_compat_l; [easy|]. rewrite <- !exp_plus. monotone. }
      assert (ft2 : - (N * (c0 * exp (- (k * d)))) <= exp (- d) * exp w * exp tp * c).
      { apply Rle_trans with (exp (- d) * exp w * exp tp * - c0).
        - rewrite <- Ropp_mult_distr_r. apply Ropp_le_contravar.
          replace (N * (c0 * exp (- (k * d)))) with ((exp (- (k * d)) * N) * c0) by ring.
          apply Rmult_le_compat_r; [lra|]. unfold N. rewrite <- !exp_plus. apply exp_le. unfold fade. lra.
        - monotone. }
      assert (ft3 : - (N * (wx * D0)) <= e * b * exp tp).
      { apply Rle_trans with (- (wx * D0 * exp lambda)).
        - apply Ropp_le_contravar. rewrite Rmult_comm. apply Rmult_le_compat_r; [easy|]. apply exp_le. lra.
        - apply Rle_trans with (- (wx * D0) * exp tp).
          + rewrite <- Ropp_mult_distr_l. apply Ropp_le_contravar, Rmult_le_compat_l; [easy|]. monotone.
          + monotone. }
      assert (wm <= N * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      assert (0 <= N * (c0 * wx)) by monotone.
      replace ((exp (- b + tx) + e) * b * exp tp + ep) with (exp (- b + tx) * exp tp * b + e * b * exp tp + ep) by ring.
      rewrite main. rewrite hb at 1.
      replace (exp (- d) * exp w * exp tp * (d * exp ta + c))
        with (exp (- d) * exp w * exp tp * (d * exp ta) + exp (- d) * exp w * exp tp * c) by ring.
      lra.
    - rewrite mass_single, pull_app, !pull_single, item. unfold moment_base, base. change (size [x]) with 1.
      change (INR 0) with 0.
      assert (exp (- (k / 2 * d)) <= 1) by (apply exp_at_most_one; assert (0 <= k / 2 * d) by monotone; lra).
      assert (0 <= g * (2 * D0)) by (unfold share; apply Rmult_le_pos; lra).
      assert (g * (2 * D0) * (exp (- (k / 2 * d)) + wx) <= g * (2 * D0) * (1 + wx)) by monotone. lra.
    - intros _. rewrite mass_single. unfold moment_base. change (size [x]) with 1. change (INR 0) with 0. lra.
  Qed.

  (** ** One addition *)
  Lemma addition_moment part l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 b1 b2 bT1 bT2 :
    0 <= part -> 0 <= h1 -> above_all r l1 -> above_all r l2 -> placed r b1 -> placed r b2 ->
    moment_state l1 r y1 h1 j1 K1 b1 bT1 -> moment_state l2 r y2 h2 j2 K2 b2 bT2 -> sum_within M part (y1 + y2) y ->
    moment_state (l1 ++ l2) r y (part + Rmax h1 h2) (max j1 j2) (K1 + K2) (b1 ++ b2 ++ [(r, wa)]) (bT1 ++ bT2 ++ [(r, wa)]).
  Proof.
    intros some upward a1 a2 p1 p2 [pT1 u1 d1 m1 z1] [pT2 u2 d2 m2 z2] [tt [e [bt [be ->]]]]. facts.
    assert (kept : 0 <= part * lambda) by monotone. set (rounded := part * lambda) in *. set (h := Rmax h1 h2).
    set (j := max j1 j2).
    assert (step : moment_log (part + h) j = moment_log h j + rounded) by (unfold moment_log, rounded; ring).
    assert (high' : 0 <= h) by (apply Rle_trans with h1; [easy|apply Rmax_l]). set (a := moment_log h j) in *.
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
      assert ((INR j1 + 1) * c0 * pull k r (items l1 ++ b1) <= (INR j + 1) * c0 * pull k r (items l1 ++ b1))
        by monotone.
      lra. }
    assert (wide2 : beside r l2 b2 bT2 j2 <= beside r l2 b2 bT2 j).
    { unfold beside, differences. assert (INR j2 <= INR j) by (apply le_INR; lia).
      assert ((INR j2 + 1) * c0 * pull k r (items l2 ++ b2) <= (INR j + 1) * c0 * pull k r (items l2 ++ b2))
        by monotone.
      lra. }
    set (Q1 := beside r l1 b1 bT1 j) in *. set (Q2 := beside r l2 b2 bT2 j) in *.
    assert (hQ : Q1 + Q2 + wa <= beside r (l1 ++ l2) (b1 ++ b2 ++ [(r, wa)]) (bT1 ++ bT2 ++ [(r, wa)]) j).
    { unfold Q1, Q2, beside. rewrite items_app, !pull_app, !drag_app, !pull_single, drag_single.
      assert (0 <= differences j * wa).
      { unfold differences. pose proof (pos_INR j). repeat apply Rmult_le_pos; lra. } lra. }
    pose proof (exp_le _ _ g1) as E1. pose proof (exp_le _ _ g2) as E2. pose proof (exp_pos a).
    pose proof (exp_pos (moment_log h1 j1)). pose proof (exp_pos (moment_log h2 j2)).
    pose proof (exp_le (- a) (- moment_log h1 j1) ltac:(lra)).
    pose proof (exp_le (- a) (- moment_log h2 j2) ltac:(lra)). assert (up1 : y1 <= exp a * (drag k r (items l1) + Q1)).
    { eapply Rle_trans; [apply u1|]. monotone. } assert (up2 : y2 <= exp a * (drag k r (items l2) + Q2)).
    { eapply Rle_trans; [apply u2|]. monotone. }
    assert (lo1 : exp (- a) * drag (1 + t) r (items l1) - exp a * Q1 <= y1).
    { eapply Rle_trans; [|apply d1]. apply Rplus_le_compat; [monotone|]. apply Ropp_le_contravar. monotone. }
    assert (lo2 : exp (- a) * drag (1 + t) r (items l2) - exp a * Q2 <= y2).
    { eapply Rle_trans; [|apply d2]. apply Rplus_le_compat; [monotone|]. apply Ropp_le_contravar. monotone. }
    pose proof (rounding_between tt rounded bt) as bounds. pose proof (exp_pos (- rounded)). pose proof (exp_pos (- a)).
    destruct (scaled_between (exp (- a) * (drag (1 + t) r (items l1) + drag (1 + t) r (items l2))) (exp a * (Q1 + Q2))
                (exp a * (drag k r (items l1) + drag k r (items l2) + (Q1 + Q2))) (y1 + y2) (exp tt)
                (exp (- rounded)) (exp rounded)) as [low high]; try easy;
      try (apply Rmult_le_pos; lra); try lra.
    pose proof (exp_at_least_one (a + rounded)) as grown1. pose proof (moment_log_nonneg h j high') as ha. fold a in ha.
    specialize (grown1 ltac:(lra)). apply abs_between in be.
    assert (wa <= exp (a + rounded) * wa) by (rewrite <- (Rmult_1_l wa) at 1; apply Rmult_le_compat_r; lra).
    assert (exp (a + rounded) * (Q1 + Q2 + wa)
      <= exp (a + rounded) * beside r (l1 ++ l2) (b1 ++ b2 ++ [(r, wa)]) (bT1 ++ bT2 ++ [(r, wa)]) j) by monotone.
    constructor.
    - repeat apply placed_app; try easy. apply placed_single. lra.
    - rewrite step, items_app, drag_app. rewrite exp_plus in *. lra.
    - rewrite step, items_app, drag_app, Ropp_plus_distr. rewrite !exp_plus in *. lra.
    - rewrite items_app, !mass_app, !pull_app, !mass_single, !pull_single in *. unfold moment_base, base in *.
      rewrite plus_INR.
      replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR). lra.
    - intros zero. unfold j in zero. rewrite !mass_app, mass_single. unfold moment_base in *. rewrite plus_INR.
      replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR).
      pose proof (z1 ltac:(lia)). pose proof (z2 ltac:(lia)). lra.
  Qed.

End Moments.
