(** * B6: entropy, centred, as ln S + T / S with T = sum w D.

    Main results
    - [mean_deviation_error]  |T_hat / S_hat - Dbar| <= (e^c_Q - 1) Dbar
                                + e^c_Q (t V2 + t^2/2 e^mu l + c (e^mu + n lost_S) + n lost_T),
                              c_Q = c_T + A' lambda + sigma + lambda + lambda_r, for any tree and any number of rescalings
    - [b6_entropy]            |H_hat - H| <= (1 + u) (sigma + E_l u (ln S + sigma) + that) + u H, then the output
    - [moments_of_trees]      trees whose every addition may round make such sums
    - [reciprocal_of_sum]     1 / S errs by at most lambda_r = -ln (1 - u - r), r = omega_m S_hat, and r = 0 where it is a
                              normal number: binary16 with sums beyond 2^14 is where it is not

    Source: docs/tolerances.md, B6; entropy_error in numerics/rounding/rounding_entropy.cpp, RoundingModel::set_quotient. *)

From softcheck.numerics Require Import row tilted_row tree_heights reduction b1_sum moments b5_logsumexp constants.
Local Open Scope R_scope.

Record moments_of_row (M : arithmetic) (kappa m : R) (logits : list R) (s y : R) (h j : nat) : Prop := {
  moments_maximum : is_maximum m logits;
  moments_streamed : exists m' logits' g K, is_maximum m' logits' /\ converted kappa m logits m' logits' /\
                       streamed_at M logits' m' s y g j K /\ g <= INR h /\ INR K <= size logits /\ (j = 0 -> K = 0)%nat
}.

(** Trees whose every addition may round. *)
Theorem moments_of_trees M kappa m logits m' logits' s y h j K :
  is_maximum m logits -> is_maximum m' logits' -> converted kappa m logits m' logits' -> streamed M logits' m' s y h j K ->
  INR K <= size logits -> (j = 0 -> K = 0)%nat -> moments_of_row M kappa m logits s y h j.
Proof.
  intros max max' conv tree few none. constructor; [exact max|]. exists m', logits', (INR h), K.
  repeat (split; [easy|]). split; [now apply height_of_both_trees|]. split; [lra|now split].
Qed.

(** lambda_r, and the quotient's two roundings; r is what a reciprocal loses of itself where it is subnormal. *)
Definition reciprocal_unit (M : arithmetic) (r : R) : R := log_unit (roundoff M + r).
Definition quotient_unit (M : arithmetic) (r : R) : R := unit M + reciprocal_unit M r.

(** y / s, by division or by a reciprocal. *)
Inductive quotient_by_sum (M : arithmetic) (r y s : R) : R -> Prop :=
| by_division q : computed_product M (y / s) q -> quotient_by_sum M r y s q
| by_reciprocal t q :
    Rabs t <= reciprocal_unit M r -> computed_product M (y * (1 / s * exp t)) q -> quotient_by_sum M r y s q.

(** An absolute loss omega_m is one of omega_m s of the reciprocal itself. *)
Theorem reciprocal_of_sum M y s most d e q :
  sound M -> 0 < s <= most -> roundoff M + product_floor M * most < 1 ->
  Rabs d <= roundoff M -> Rabs e <= product_floor M -> computed_product M (y * (1 / s * (1 + d) + e)) q ->
  quotient_by_sum M (product_floor M * most) y s q.
Proof.
  intros good hs small bd be hq. assert (floor : 0 <= product_floor M) by (unfold sound in good; lra).
  assert (u0 : 0 <= roundoff M) by apply good. assert (es : Rabs (e * s) <= product_floor M * most).
  { rewrite Rabs_mult, (Rabs_right s) by lra. monotone. }
  assert (range : 0 <= roundoff M + product_floor M * most < 1) by monotone.
  destruct (one_rounding _ (d + e * s) range) as [t [bt factor]]. { pose proof (Rabs_triang d (e * s)). lra. }
  apply by_reciprocal with t; [easy|]. rewrite <- factor.
  now replace (1 / s * (1 + (d + e * s))) with (1 / s * (1 + d) + e) by (field; lra).
Qed.

Lemma quotient_unit_nonneg M r : sound M -> 0 <= r -> roundoff M + r < 1 -> unit M <= quotient_unit M r.
Proof.
  intros good pos small. assert (0 <= roundoff M) by apply good.
  pose proof (log_unit_nonneg (roundoff M + r) ltac:(lra)). unfold quotient_unit, reciprocal_unit. lra.
Qed.

Lemma quotient_factor M r y s q :
  sound M -> 0 <= r -> roundoff M + r < 1 -> quotient_by_sum M r y s q ->
  exists t e, Rabs t <= quotient_unit M r /\ Rabs e <= product_floor M /\ q = y / s * exp t + e.
Proof.
  intros good pos small [q' [t [e [bt [be ->]]]]|t0 q' bt0 [t [e [bt [be ->]]]]];
    pose proof (quotient_unit_nonneg M r good pos small); apply abs_between in bt.
  - exists t, e. repeat split; try easy. apply Rabs_le. lra.
  - apply abs_between in bt0. exists (t0 + t), e. unfold quotient_unit in *.
    repeat split; try easy; [apply Rabs_le; lra|]. rewrite exp_plus. unfold Rdiv. ring.
Qed.

Section B6.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R) (s y : R) (h j : nat) (r : R)
    (loses : 0 <= r) (leaves : roundoff M + r < 1) (computed : moments_of_row M kappa m logits s y h j)
    (some : lost_sum M kappa m logits h j < 1) (few : INR j * argument_step M <= 2).
  Notation t := (slope M).
  Notation u := (roundoff M).
  Notation lambda := (unit M).
  Notation n := (size logits).
  Notation S := (weight_sum m logits).
  Notation Dbar := (mean_deviation m logits).
  Notation sig := (sigma M kappa m logits h j).
  Notation c := (argument_floor M kappa j).
  Notation mu := (shift m logits t).
  Notation excess := (first_excess m logits t).

  Let max : is_maximum m logits := moments_maximum _ _ _ _ _ _ _ _ computed.

  Lemma sum_of_moments : sum_of_row M kappa m logits s h j.
  Proof using computed.
    destruct computed as [mx [m' [l' [g [K [max' [conv [st [low [few' none]]]]]]]]]]. constructor; [easy|].
    exists m', l', g, K. pose proof (size_nonneg logits). repeat split; try easy; [apply max'|apply max'| |lra].
    eapply sum_of_streamed. eassumption.
  Qed.

  (** moment_log and argument_unit of the C++, and c. *)
  Definition moment_total : R := moment_log M (INR h) j + (1 + t) * kappa.
  Definition quotient_log : R := moment_total + sig + quotient_unit M r.
  (** What stands beside Dbar and its excess. *)
  Definition beside_mean : R := c * (exp mu + n * lost M j) + n * lost_moment M j.

  Local Ltac facts :=
    sound_facts good;
    pose proof (proj1 (proj2 (sum_between M good kappa m logits s h j sum_of_moments))) as hk;
    pose proof (S_at_least_one m logits max) as S1;
    pose proof (mean_deviation_nonneg m logits max) as hDbar;
    assert (htk : 0 <= t * kappa) by (apply Rmult_le_pos; lra);
    assert (hkt : 0 <= (1 + t) * kappa) by (apply Rmult_le_pos; lra).

  Lemma moment_between :
    exp (- moment_total) * tilted m logits (- t) (fun d => d) - exp moment_total * (beside_mean * S) <= y
    <= exp moment_total * ((Dbar + excess) * S + beside_mean * S).
  Proof using good computed few.
    facts. destruct computed as [mx [m' [l' [height [K [max' [conv [str [not_above [few' none]]]]]]]]]].
    destruct (streamed_state M good _ _ _ _ _ _ _ str few) as [b [bT [st mt]]].
    apply (higher_moment M good _ _ _ _ (INR h)) in mt; [|exact not_above|apply st|apply st].
    apply (higher_state M good _ _ _ _ (INR h)) in st; [|exact not_above].
    pose proof (converted_size _ _ _ _ _ conv) as same.
    pose proof (lost_moment_total M good _ _ _ _ _ _ _ _ _ st mt ltac:(rewrite same; lra) none) as lostT.
    pose proof (lost_total M good _ _ _ _ _ _ _ st ltac:(rewrite same; pose proof (size_nonneg logits); lra) none) as
      lostS.
    rewrite same in *. destruct mt as [pT up down _ _]. pose proof (state_placed _ _ _ _ _ _ _ _ st) as pb.
    unfold beside in *. replace (fade M) with (1 - t) in * by easy.
    pose proof (pull_below_mass (1 - t) m' bT ltac:(lra) pT) as fadedT.
    pose proof (pull_below_mass (1 - t) m' b ltac:(lra) pb) as fadedS.
    pose proof (pull_nonneg (1 - t) m' b pb) as pullb.
    pose proof (converted_pull _ _ _ _ _ conv (proj2 mx) (proj2 max') t ltac:(lra)) as pulls.
    pose proof (converted_drag _ _ _ _ _ conv (proj2 mx) (proj2 max') t ltac:(lra)) as drags.
    pose proof (converted_deviations _ _ _ _ _ conv (proj2 mx) (proj2 max') t ltac:(lra)) as devs.
    rewrite pull_app in *. set (PU' := pull (1 - t) m' (items l')) in *. set (DR' := drag (1 - t) m' (items l')) in *.
    pose proof (pull_nonneg (1 - t) m _ (placed_items m logits (proj2 mx))) as hPU.
    pose proof (drag_nonneg (1 - t) m _ (placed_items m logits (proj2 mx))) as hDR.
    assert (heavy : pull (1 - t) m (items logits) <= exp mu * S).
    { rewrite pull_items. eapply Rle_trans; [|apply (tilted_mass m logits mx t); lra]. right. apply weighted_sum_ext.
      intros. ring. }
    assert (mean : drag (1 - t) m (items logits) <= (Dbar + excess) * S).
    { rewrite drag_items. apply (tilted_mean m logits mx t). lra. } set (PU := pull (1 - t) m (items logits)) in *.
    set (DR := drag (1 - t) m (items logits)) in *. assert (hPU' : 0 <= PU') by (apply pull_nonneg, placed_items, max').
    set (a := moment_log M (INR h) j) in *. pose proof (moment_log_nonneg M good (INR h) j (pos_INR h)) as ha.
    fold a in ha.
    assert (hdiff : 0 <= differences M j) by (unfold differences; pose proof (pos_INR j); apply Rmult_le_pos; lra).
    assert (hc : c = differences M j + (1 + t) * kappa) by (unfold argument_floor, differences; ring).
    set (N := differences M j) in *. set (X := exp moment_total).
    assert (X1 : exp a <= X) by (apply exp_le; unfold moment_total; fold a; lra).
    assert (X2 : exp a * exp kappa <= X) by (unfold X, moment_total; rewrite <- exp_plus; apply exp_le; fold a; lra).
    assert (hlS : 0 <= n * lost M j) by monotone. pose proof (mass_nonneg m' b pb) as hmb.
    pose proof (drag_nonneg (1 - t) m' b pb) as hdb. pose proof (pull_nonneg (1 - t) m' bT pT) as hpT.
    set (O := N * (PU' + pull (1 - t) m' b) + drag (1 - t) m' b + pull (1 - t) m' bT) in *.
    (* what is beside, converted *)
    assert (rest : exp a * O <= X * (N * (exp mu * S + n * lost M j) + n * lost_moment M j)).
    { unfold O. assert (exp a * (N * PU') <= X * (N * (exp mu * S))).
      { apply Rle_trans with (exp a * (N * (exp kappa * PU))).
        - apply Rmult_le_compat_l; [monotone|]. monotone.
        - replace (exp a * (N * (exp kappa * PU))) with (exp a * exp kappa * (N * PU)) by ring. monotone. }
      assert (exp a * (N * pull (1 - t) m' b + (drag (1 - t) m' b + pull (1 - t) m' bT))
        <= X * (N * (n * lost M j) + n * lost_moment M j)) by monotone.
      lra. }
    assert (scaledS : N * (exp mu * S + n * lost M j) + n * lost_moment M j
      <= beside_mean * S - (1 + t) * kappa * (exp mu * S)).
    { unfold beside_mean. rewrite hc. set (lT := n * lost_moment M j) in *. set (lS := n * lost M j) in *.
      assert (0 <= lT) by lra. assert (lT <= lT * S) by (apply grown; lra).
      assert (N * lS <= (N + (1 + t) * kappa) * lS * S).
      { apply Rle_trans with ((N + (1 + t) * kappa) * lS); [monotone|]. apply grown; [monotone|easy]. } lra. }
    assert (kS : 0 <= exp mu * S) by monotone.
    assert (rest' : exp a * O <= X * (beside_mean * S) - X * ((1 + t) * kappa * (exp mu * S))).
    { rewrite <- Rmult_minus_distr_l. eapply Rle_trans; [apply rest|].
      apply Rmult_le_compat_l; [left; apply exp_pos|easy]. }
    assert (kk : kappa * PU <= (1 + t) * kappa * (exp mu * S)) by monotone. assert (kPU : 0 <= kappa * PU) by monotone.
    split.
    - eapply Rle_trans; [|apply down].
      replace (drag (1 + t) m' (items l')) with (weighted_sum m' l' (fun d => exp (- (t * d)) * d)).
      2:{ replace (1 + t) with (1 - - t) by ring. rewrite drag_items. apply weighted_sum_ext. intros. f_equal.
          f_equal. ring. }
      assert (tl : tilted m logits (- t) (fun d => d) = weighted_sum m logits (fun d => exp (- (t * d)) * d)).
      { apply weighted_sum_ext. intros. f_equal. f_equal. ring. } rewrite tl.
      set (TD := weighted_sum m logits (fun d => exp (- (t * d)) * d)) in *.
      set (TW := weighted_sum m logits (fun d => exp (- (t * d)))) in *. assert (hTW : 0 <= TW <= PU).
      { unfold TW, PU. rewrite pull_items. split.
        - apply weighted_sum_nonneg. intros. left. monotone.
        - apply weighted_sum_le. intros x inx. apply exp_le. pose proof (proj2 mx x inx).
          assert (0 <= t * (m - x)) by monotone. lra. }
      assert (low : exp (- moment_total) * (TD - kappa * TW)
        <= exp (- a) * weighted_sum m' l' (fun d => exp (- (t * d)) * d)).
      { unfold moment_total. fold a. rewrite Ropp_plus_distr, exp_plus, Rmult_assoc. monotone. }
      assert (exp (- moment_total) * (kappa * TW) <= X * ((1 + t) * kappa * (exp mu * S))).
      { apply Rmult_le_compat; [monotone|monotone| |].
        - apply exp_le. unfold moment_total. fold a. lra.
        - eapply Rle_trans; [|apply kk]. monotone. }
      lra.
    - eapply Rle_trans; [apply up|]. fold O. assert (exp a * DR' <= X * (DR + kappa * PU)).
      { apply Rle_trans with (exp a * (exp kappa * (DR + kappa * PU))).
        - monotone.
        - rewrite <- Rmult_assoc. monotone. }
      assert (X * (DR + kappa * PU) <= X * ((Dbar + excess) * S + (1 + t) * kappa * (exp mu * S))).
      { apply Rmult_le_compat_l; [left; apply exp_pos|lra]. } lra.
  Qed.

  Lemma quotient_of_ratio q :
    quotient_by_sum M r y s q ->
    exists w e, Rabs w <= sig + quotient_unit M r /\ Rabs e <= product_floor M /\ q = y / S * exp w + e.
  Proof using good computed some loses leaves.
    facts. intros ratio. pose proof sum_of_moments as hs.
    destruct (rel_inv _ _ _ (b1_sum M good kappa m logits s h j hs some)) as [ts [bts inverse]].
    destruct (quotient_factor M r y s q good loses leaves ratio) as [t1 [e [bt1 [be ->]]]]. apply abs_between in bts.
    apply abs_between in bt1. exists (ts + t1), e. repeat split; try easy; [apply Rabs_le; lra|]. unfold Rdiv.
    rewrite inverse, exp_plus. ring.
  Qed.

  Definition mean_error : R := (exp quotient_log - 1) * Dbar + exp quotient_log * (excess + beside_mean).

  (** Upwards by (4); downwards e^(-tD) >= 1 - tD. *)
  Theorem mean_deviation_error q : quotient_by_sum M r y s q -> Rabs (q - Dbar) <= mean_error + product_floor M.
  Proof using good computed some few loses leaves.
    facts. intros ratio. destruct (quotient_of_ratio q ratio) as [w [e [bw [be ->]]]].
    destruct moment_between as [low high]. set (v := sig + quotient_unit M r) in *.
    pose proof (rounding_between w v bw) as wb. set (P := tilted m logits (- t) (fun d => d)) in *.
    assert (hP : 0 <= P).
    { apply weighted_sum_nonneg. intros x inx. apply Rmult_le_pos; [monotone|]. pose proof (proj2 max x inx). lra. }
    assert (hex : 0 <= excess).
    { pose proof (tilted_mean m logits max t ltac:(lra)) as up.
      assert (deviation_sum m logits <= tilted m logits t (fun d => d)).
      { apply weighted_sum_le. intros x inx. pose proof (proj2 max x inx). rewrite <- (Rmult_1_l (m - x)) at 1.
        monotone. }
      rewrite (deviation_sum_mean m logits max) in *. nra. }
    assert (hb : 0 <= beside_mean).
    { unfold beside_mean. pose proof (size_nonneg logits). pose proof (lost_nonneg M good j).
      assert (0 <= lost_moment M j).
      { unfold lost_moment. unfold sound in good. assert (0 <= exp_floor M * exp_cutoff M) by monotone.
        destruct j; lra. }
      assert (0 <= c).
      { unfold argument_floor. pose proof (pos_INR j). assert (0 <= (INR j + 1) * argument_step M) by monotone. lra. }
      pose proof (exp_pos mu). assert (0 <= n * lost M j) by monotone. assert (0 <= n * lost_moment M j) by monotone.
      assert (0 <= c * (exp mu + n * lost M j)) by monotone. lra. }
    set (X := exp moment_total) in *. assert (inS : forall a, a * S / S = a) by (intros; field; lra).
    assert (lowS : exp (- moment_total) * (P / S) - X * beside_mean <= y / S).
    { replace (exp (- moment_total) * (P / S) - X * beside_mean)
        with ((exp (- moment_total) * P - X * (beside_mean * S)) / S) by (field; lra).
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|easy]. }
    assert (highS : y / S <= X * (Dbar + excess + beside_mean)).
    { replace (X * (Dbar + excess + beside_mean)) with (X * ((Dbar + excess) * S + beside_mean * S) / S)
        by (field; lra).
      apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; lra|easy]. }
    assert (hPS : 0 <= P / S) by monotone.
    destruct (scaled_between (exp (- moment_total) * (P / S)) (X * beside_mean) (X * (Dbar + excess + beside_mean))
                (y / S) (exp w) (exp (- v)) (exp v)) as [lo hi]; try easy;
      try (apply Rmult_le_pos; [left; apply exp_pos|lra]); [apply exp_pos|].
    assert (hq : quotient_log = moment_total + v) by (unfold quotient_log, v; ring).
    assert (eq : exp quotient_log = X * exp v) by (rewrite hq; apply exp_plus).
    assert (eqm : exp (- quotient_log) = exp (- moment_total) * exp (- v))
      by (rewrite hq, Ropp_plus_distr; apply exp_plus).
    unfold mean_error. rewrite eq in *. apply abs_between in be.
    (* the lower side *)
    assert (first : (Dbar - t * mean_square_deviation m logits) * S <= P).
    { rewrite Rmult_minus_distr_r, <- (deviation_sum_mean m logits max), Rmult_assoc,
        <- (square_sum_mean m logits max).
      unfold P, tilted, deviation_sum. rewrite <- weighted_sum_mult.
      replace (weighted_sum m logits (fun d => d) - weighted_sum m logits (fun d => t * d ^ 2))
        with (weighted_sum m logits (fun d => d + -1 * (t * d ^ 2))) by (rewrite weighted_sum_plus, weighted_sum_mult; ring).
      apply weighted_sum_le. intros x inx. pose proof (proj2 max x inx).
      pose proof (exp_above_tangent (- t * (m - x))).
      assert ((1 + - t * (m - x)) * (m - x) <= exp (- t * (m - x)) * (m - x)) by monotone. lra. }
    assert (firstS : Dbar - t * mean_square_deviation m logits <= P / S).
    { apply Rmult_le_reg_r with S; [lra|]. unfold Rdiv. rewrite Rmult_assoc, Rinv_l; lra. }
    assert (tV : t * mean_square_deviation m logits <= excess).
    { unfold first_excess. pose proof (pow2_ge_0 t). pose proof (exp_pos mu). assert (0 <= third logits t).
      { unfold third. apply pow_le. apply Rmult_le_pos; [|monotone]. pose proof (exp_at_least_one 2).
        pose proof (size_nonneg logits). rewrite <- ln_1. apply ln_le; lra. }
      assert (0 <= t ^ 2 / 2 * exp mu * third logits t) by monotone. lra. }
    assert (Y1 : 1 <= X * exp v).
    { rewrite <- eq. apply exp_at_least_one. rewrite hq. unfold moment_total, v.
      pose proof (moment_log_nonneg M good (INR h) j (pos_INR h)).
      pose proof (quotient_unit_nonneg M r good loses leaves). assert (0 <= sig).
      { pose proof (proj2 (proj2 (sum_between M good kappa m logits s h j sum_of_moments))) as hd.
        pose proof (shift_above M m logits max ltac:(lra)). assert (0 <= t * Dbar) by monotone.
        assert (0 <= lost_sum M kappa m logits h j).
        { unfold lost_sum. repeat apply Rmult_le_pos; [apply size_nonneg|apply lost_nonneg; exact good|monotone]. }
        assert (ln (1 - lost_sum M kappa m logits h j) <= 0) by (rewrite <- ln_1; apply ln_le; lra).
        unfold sigma, sigma_0. lra. }
      lra. }
    pose proof (exp_down_up quotient_log) as down. rewrite eq, eqm in down. apply Rabs_le. split.
    - set (Z := exp (- moment_total) * exp (- v)) in *.
      assert (hZ : 0 < Z) by (unfold Z; apply Rmult_lt_0_compat; apply exp_pos).
      assert (Z * (Dbar - t * mean_square_deviation m logits) <= Z * (P / S)) by monotone.
      replace (exp (- moment_total) * (P / S) * exp (- v)) with (Z * (P / S)) in lo by (unfold Z; ring).
      assert (hZ1 : Z <= 1).
      { apply Rmult_le_reg_r with (X * exp v); [lra|]. assert (one : Z * (X * exp v) = 1).
        { unfold Z, X. rewrite <- !exp_plus, <- exp_0. f_equal. ring. } lra. }
      assert (0 <= t * mean_square_deviation m logits).
      { apply Rmult_le_pos; [lra|]. now apply mean_square_deviation_nonneg. }
      assert (Z * (t * mean_square_deviation m logits) <= X * exp v * excess) by monotone.
      assert ((1 - Z) * Dbar <= (X * exp v - 1) * Dbar) by monotone. lra.
    - lra.
  Qed.

  (** ** The entropy *)

  Definition entropy_parts : R := log_sum_error M kappa m logits h j + mean_error.
  Definition entropy_rounding : R := entropy_parts + u * (entropy logits + entropy_parts).
  Definition entropy_floor : R := 2 * product_floor M * (1 + u) + sum_floor M.

  Lemma entropy_nonneg_here : 0 <= entropy logits.
  Proof using computed good.
    facts. rewrite (entropy_of_statistics m logits max).
    assert (0 <= ln S) by (rewrite <- ln_1; apply ln_le; lra). lra.
  Qed.

  Theorem b6_entropy q x z u_out floor_out H_hat :
    quotient_by_sum M r y s q -> computed_log M s x -> rounded_sum M (x + q) z -> rounded_output u_out floor_out z H_hat ->
    Rabs (H_hat - entropy logits)
    <= entropy_rounding + u_out * (entropy logits + entropy_rounding) + (entropy_floor * (1 + u_out) + floor_out).
  Proof using good computed some few loses leaves.
    intros hq hx [d1 [e1 [bd1 [be1 ->]]]] [d2 [e2 [bd2 [be2 ->]]]].
    pose proof (log_of_sum M good kappa m logits s h j sum_of_moments some x hx) as logged.
    pose proof (mean_deviation_error q hq) as mean.
    assert (size : Rabs (entropy logits) = entropy logits) by (apply Rabs_right, Rle_ge, entropy_nonneg_here).
    pose proof (rounded_error u (entropy logits) (x + q) d1 e1 entropy_parts (2 * product_floor M) (sum_floor M) bd1 be1)
      as inner.
    pose proof (rounded_error u_out (entropy logits) ((x + q) * (1 + d1) + e1) d2 e2 entropy_rounding entropy_floor
                  floor_out bd2 be2) as outer.
    rewrite size in inner, outer. apply outer. apply inner. rewrite (entropy_of_statistics m logits max).
    replace (x + q - (ln S + Dbar)) with ((x - ln S) + (q - Dbar)) by ring. triangle. unfold entropy_parts. lra.
  Qed.
End B6.
