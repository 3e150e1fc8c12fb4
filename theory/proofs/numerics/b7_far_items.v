(** * B7: what underflow takes from sum w v, where a factor grows with its item's distance from the maximum.

    The loss of [accumulated_near] has each factor at its own size, however far below the maximum its item lies. A logit is of
    a size of at most |m| + D, and an exponential of a deviation from D_0 on is lost at most: so no more than some |m| + D_0 counts.

    Main results, |v| <= A + B (top - x) for every item x with its factor v
    - [far_loss]        e |D| <= omega_x (1 + t)(D_0 + c) for what an exponential's underflow takes at deviation D
    - [far_near]        A_hat for any tree with any rescalings: the error of [accumulated_near] with the loss
                        n (omega_x F + omega_m + omega_a [+ 2 omega_x F + 2 omega_m]), F = A + B ((1 + t)(D_0 + c) + 1)

    Source: docs/tolerances.md, B7. *)

From softcheck.numerics Require Import row reduction b9_attention.
Local Open Scope R_scope.

Definition no_format : weight_format := {| weight_unit := 0; weight_floor := 0 |}.

Section Far.
  Context (M : arithmetic) (good : sound M) (top A B : R) (factors : 0 <= A /\ 0 <= B).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation c0 := (argument_step M).
  Notation t := (slope M).
  Notation wx := (exp_floor M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation k := (fade M).
  Notation b := (term_log M no_format).

  Definition far_cutoff : R := (1 + t) * (exp_cutoff M + c0).
  (** The size of a factor that counts, in a sum of reference r. *)
  Definition reach (r : R) : R := A + B * (top - r) + B * (far_cutoff + 1).
  Definition far_lost (r n : R) (j K : nat) : R :=
    n * (wx * reach r + match j with 0%nat => 0 | S _ => 2 * (wx * reach r) end) + n * wm + (n - 1) * wa + INR K * wm.

  Record far_state (l : list (R * R)) (r y : R) (h j K : nat) : Prop := {
    far_visible : l <> [];
    far_above : forall q, In q l -> fst q <= r;
    far_is_near : near (b h j) (values_pull 1 r l) (values_pull k r l) (exp (b h j) * far_lost r (size l) j K) y (values_sum r l)
  }.

  Let plain : 0 <= weight_unit no_format /\ 0 <= weight_floor no_format.
  Proof using. cbn. lra. Qed.

  Local Ltac facts :=
    sound_facts good; pose proof (fade_range M good) as fk; destruct factors as [fA fB];
    assert (fD : 8 <= exp_cutoff M) by apply good.

  Lemma far_cutoff_large : 8 <= far_cutoff.
  Proof using good factors. facts. unfold far_cutoff. assert (0 <= t * (exp_cutoff M + c0)) by monotone. lra. Qed.

  Lemma reach_nonneg r : r <= top -> B * (far_cutoff + 1) <= reach r.
  Proof using factors. intros le. destruct factors. unfold reach. assert (0 <= B * (top - r)) by monotone. lra. Qed.

  Theorem far_loss d a e :
    0 <= d -> computed_argument M d a -> Rabs e <= wx -> Rabs e * Rabs a <= wx * exp_cutoff M -> Rabs e * d <= wx * far_cutoff.
  Proof using good factors.
    intros hd [ta [c [bta [bc eq]]]] be ba. facts. apply abs_between in bta. pose proof (Rabs_pos e) as he.
    assert (grows : exp (- ta) <= 1 + t)
      by (unfold slope; replace (1 + (exp (argument_unit M) - 1)) with (exp (argument_unit M)) by ring; apply exp_le; lra).
    assert (d_is : d = (a - c) * exp (- ta)) by (rewrite eq; replace (d * exp ta + c - c) with (d * exp ta) by ring;
      rewrite Rmult_assoc, <- exp_plus, Rplus_opp_r, exp_0; ring).
    assert (size : a - c <= Rabs a + c0) by (pose proof (Rle_abs a); apply abs_between in bc; lra).
    assert (dd : d <= (Rabs a + c0) * (1 + t)).
    { rewrite d_is. pose proof (exp_pos (- ta)). apply Rle_trans with ((Rabs a + c0) * exp (- ta)); [monotone|].
      apply Rmult_le_compat_l; [pose proof (Rabs_pos a); lra|easy]. }
    apply Rle_trans with (Rabs e * ((Rabs a + c0) * (1 + t))); [monotone|].
    replace (Rabs e * ((Rabs a + c0) * (1 + t))) with ((Rabs e * Rabs a + Rabs e * c0) * (1 + t)) by ring. unfold far_cutoff.
    replace (wx * ((1 + t) * (exp_cutoff M + c0))) with ((wx * exp_cutoff M + wx * c0) * (1 + t)) by ring. monotone.
  Qed.

  (** d e^-kd <= 1, since e^kd >= (1 + kd/2)^2. *)
  Lemma fading_deviation d : 0 <= d -> d * exp (- (k * d)) <= 1.
  Proof using good.
    intros hd. pose proof (fade_range M good) as fk. set (z := k * d). assert (hz : 3 / 4 * d <= z) by (apply Rmult_le_compat_r; lra).
    assert (square : exp z = exp (z / 2) * exp (z / 2)) by (rewrite <- exp_plus; f_equal; field).
    pose proof (exp_above_tangent (z / 2)). assert ((1 + z / 2) * (1 + z / 2) <= exp z) by (rewrite square; apply Rmult_le_compat; lra).
    assert (0 <= (z / 2 - 1 / 3) * (z / 2 - 1 / 3)) by apply Rle_0_sqr.
    assert (d <= exp z) by lra. rewrite exp_Ropp. pose proof (exp_pos z).
    apply Rmult_le_reg_r with (exp z); [easy|]. rewrite Rmult_assoc, Rinv_l; lra.
  Qed.

  Lemma far_lost_nonneg r n j K : r <= top -> 1 <= n -> 0 <= far_lost r n j K.
  Proof using good factors.
    intros le hn. facts. pose proof (reach_nonneg r le) as hr. pose proof far_cutoff_large. pose proof (pos_INR K).
    assert (0 <= B * (far_cutoff + 1)) by monotone. assert (0 <= wx * reach r) by monotone. unfold far_lost.
    assert (0 <= n * (wx * reach r + match j with 0%nat => 0 | S _ => 2 * (wx * reach r) end))
      by (apply Rmult_le_pos; [lra|destruct j; lra]).
    assert (0 <= n * wm) by monotone. assert (0 <= (n - 1) * wa) by monotone. assert (0 <= INR K * wm) by monotone. lra.
  Qed.

  Lemma far_lost_growing r n j j' K : r <= top -> 1 <= n -> (j <= j')%nat -> far_lost r n j K <= far_lost r n j' K.
  Proof using good factors.
    intros le hn lej. facts. pose proof (reach_nonneg r le) as hr. pose proof far_cutoff_large.
    assert (0 <= B * (far_cutoff + 1)) by monotone. assert (0 <= wx * reach r) by monotone. unfold far_lost.
    assert (n * (wx * reach r + match j with 0%nat => 0 | S _ => 2 * (wx * reach r) end)
            <= n * (wx * reach r + match j' with 0%nat => 0 | S _ => 2 * (wx * reach r) end)).
    { apply Rmult_le_compat_l; [lra|]. destruct j, j'; lra || lia. } lra.
  Qed.

  Definition reaches (l : list (R * R)) : Prop := forall q, In q l -> Rabs (snd q) <= A + B * (top - fst q).

  Lemma far_item x v r a w tp ep y :
    x <= r -> r <= top -> reaches [(x, v)] -> computed_argument M (r - x) a -> computed_exp M a w ->
    Rabs tp <= weight_unit no_format -> Rabs ep <= weight_floor no_format -> computed_product M ((w * exp tp + ep) * v) y ->
    far_state [(x, v)] r y 0 0 0.
  Proof using good factors.
    intros le below within arg [tx [e [btx [be [far [_ ->]]]]]] btp bep [t2 [e2 [bt2 [be2 ->]]]]. facts. cbn in btp, bep.
    pose proof (Rabs_pos tp). pose proof (Rabs_pos ep). assert (tp = 0) as -> by (apply abs_between in btp; lra).
    assert (ep = 0) as -> by (apply abs_between in bep; lra).
    destruct (weight_bounds M (r - x) a tx ltac:(lra) arg btx) as [w' [bw ->]].
    pose proof (far_loss (r - x) a e ltac:(lra) arg be far) as lossD. set (d := r - x) in *.
    assert (hd : 0 <= d) by (unfold d; lra). assert (log0 : b 0 0 = lambdaE + c0 + lambda) by (unfold term_log; simpl; ring).
    assert (one : forall q, values_pull q r [(x, v)] = Rabs v * exp (- (q * d)))
      by (intros q; unfold values_pull, sum; simpl; fold d; ring).
    assert (exact : values_sum r [(x, v)] = v * exp (- d)) by (unfold values_sum, sum; simpl; fold d; ring).
    constructor; [discriminate|intros q [<-|[]]; simpl; lra|]. rewrite !one, exact, log0. rewrite Rmult_1_l.
    set (N := exp (lambdaE + c0 + lambda)). assert (N1 : 1 <= N) by (apply exp_at_least_one; lra).
    pose proof (Rabs_pos v) as hv. pose proof (exp_pos (- d)) as hed.
    split; [rewrite Rabs_mult, (Rabs_right (exp (- d))) by lra; lra|]. split.
    { apply Rmult_le_compat_l; [easy|]. apply exp_le. assert (k * d <= 1 * d) by monotone. lra. }
    replace (((exp (- d) * exp w' + e) * exp 0 + 0) * v * exp t2 + e2 - v * exp (- d))
      with (v * (exp (- d) * (exp (w' + t2) - 1)) + v * e * exp t2 + e2) by (rewrite exp_0, !exp_plus; ring).
    triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
    assert (main : Rabs (v * (exp (- d) * (exp (w' + t2) - 1))) <= N * (Rabs v * exp (- (k * d))) - Rabs v * exp (- d)).
    { rewrite !Rabs_mult, (Rabs_right (exp (- d))) by lra.
      assert (small : Rabs (w' + t2) <= t * d + (lambdaE + c0 + lambda)) by monotone.
      pose proof (expm1_abs _ _ small) as grows.
      replace (N * (Rabs v * exp (- (k * d))) - Rabs v * exp (- d))
        with (Rabs v * (exp (- d) * (exp (t * d + (lambdaE + c0 + lambda)) - 1))).
      - apply Rmult_le_compat_l; [easy|]. monotone.
      - unfold N. replace (- (k * d)) with (- d + t * d) by (unfold fade; ring). rewrite !exp_plus. ring. }
    assert (taken : Rabs v * Rabs e <= wx * reach r).
    { pose proof (within (x, v) ltac:(now left)) as size. cbn in size. pose proof (Rabs_pos e) as he.
      apply Rle_trans with ((A + B * (top - x)) * Rabs e); [monotone|].
      replace ((A + B * (top - x)) * Rabs e) with ((A + B * (top - r)) * Rabs e + B * (Rabs e * d)) by (unfold d; ring).
      unfold reach. assert (0 <= B * (top - r)) by monotone.
      assert ((A + B * (top - r)) * Rabs e <= (A + B * (top - r)) * wx) by monotone.
      assert (B * (Rabs e * d) <= B * (wx * far_cutoff)) by monotone. assert (0 <= B * wx) by monotone. lra. }
    assert (lost1 : Rabs (v * e * exp t2) <= N * (wx * reach r)).
    { rewrite !Rabs_mult, (Rabs_right (exp t2)), Rmult_comm by (left; apply exp_pos).
      apply Rmult_le_compat; [monotone|monotone| |easy]. unfold N. apply exp_le. apply abs_between in bt2. lra. }
    assert (wm <= N * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
    assert (all : far_lost r (size [(x, v)]) 0 0 = wx * reach r + wm) by (unfold far_lost, size; simpl; ring). rewrite all.
    fold N. lra.
  Qed.

  Lemma far_addition l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 :
    r <= top -> far_state l1 r y1 h1 j1 K1 -> far_state l2 r y2 h2 j2 K2 -> computed_sum M (y1 + y2) y ->
    far_state (l1 ++ l2) r y (S (max h1 h2)) (max j1 j2) (K1 + K2).
  Proof using good factors.
    intros below [v1 a1 n1] [v2 a2 n2] [tt [e [bt [be ->]]]]. facts. set (h := max h1 h2). set (j := max j1 j2).
    set (a := b h j). pose proof (size_at_least_one l1 v1) as s1. pose proof (size_at_least_one l2 v2) as s2.
    assert (step : b (S h) j = a + lambda) by (unfold a, term_log; rewrite S_INR; ring).
    assert (g1 : b h1 j1 <= a) by (apply (term_log_growing M no_format good plain); lia).
    assert (g2 : b h2 j2 <= a) by (apply (term_log_growing M no_format good plain); lia).
    pose proof (far_lost_growing r (size l1) j1 j K1 below s1 ltac:(lia)) as w1.
    pose proof (far_lost_growing r (size l2) j2 j K2 below s2 ltac:(lia)) as w2.
    pose proof (far_lost_nonneg r (size l1) j1 K1 below s1) as z1.
    pose proof (far_lost_nonneg r (size l2) j2 K2 below s2) as z2.
    assert (m1 : near a (values_pull 1 r l1) (values_pull k r l1) (exp a * far_lost r (size l1) j K1) y1 (values_sum r l1)).
    { eapply near_weaken; [apply g1| |apply n1]. apply Rmult_le_compat; try lra; [monotone|monotone]. }
    assert (m2 : near a (values_pull 1 r l2) (values_pull k r l2) (exp a * far_lost r (size l2) j K2) y2 (values_sum r l2)).
    { eapply near_weaken; [apply g2| |apply n2]. apply Rmult_le_compat; try lra; [monotone|monotone]. }
    pose proof (near_rounding _ lambda _ _ _ wa _ _ tt e bt be (near_plus _ _ _ _ _ _ _ _ _ _ _ m1 m2)) as total.
    constructor; [destruct l1; [easy|discriminate]|intros q inq; apply in_app_or in inq as [inq|inq]; auto|]. rewrite step.
    unfold values_pull, values_sum in *. rewrite !map_app, !sum_app. eapply near_weaken; [| |apply total]; [lra|].
    rewrite <- Rmult_plus_distr_l, <- Rmult_assoc, <- exp_plus, (Rplus_comm lambda a).
    assert (split : far_lost r (size (l1 ++ l2)) j (K1 + K2) = far_lost r (size l1) j K1 + far_lost r (size l2) j K2 + wa).
    { unfold far_lost. rewrite plus_INR.
      replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR). ring. }
    rewrite split. pose proof (term_log_nonneg M no_format good plain h j) as ha. fold a in ha.
    pose proof (exp_at_least_one (a + lambda) ltac:(lra)). assert (1 * wa <= exp (a + lambda) * wa) by monotone. lra.
  Qed.

  (** Each factor of a sum of reference r is at most [reach r], as it fades. *)
  Lemma faded_factors l r :
    r <= top -> (forall q, In q l -> fst q <= r) -> reaches l -> values_pull k r l <= size l * (A + B * (top - r) + B).
  Proof using good factors.
    intros below above within. destruct factors as [fA fB]. pose proof (fade_range M good) as fk.
    assert (0 <= B * (top - r)) by monotone. unfold values_pull, size. induction l as [|q l IH]; [unfold sum; cbn; lra|].
    cbn [map length]. rewrite S_INR. unfold sum in *. cbn [fold_right].
    assert (rest : forall q, In q l -> fst q <= r) by (intros; apply above; now right).
    assert (more : reaches l) by (intros p inp; apply within; now right). specialize (IH rest more).
    pose proof (above q ltac:(now left)). pose proof (within q ltac:(now left)) as size. set (D := r - fst q).
    assert (hD : 0 <= D) by (unfold D; lra). pose proof (fading_deviation D hD) as fades. pose proof (exp_pos (- (k * D))).
    assert (exp (- (k * D)) <= 1) by (apply exp_at_most_one; assert (0 <= k * D) by monotone; lra).
    assert (Rabs (snd q) * exp (- (k * D)) <= (A + B * (top - r) + B * D) * exp (- (k * D))).
    { apply Rmult_le_compat_r; [lra|]. unfold D. lra. }
    assert ((A + B * (top - r)) * exp (- (k * D)) <= (A + B * (top - r)) * 1) by monotone.
    assert (B * (D * exp (- (k * D))) <= B * 1) by monotone. lra.
  Qed.

  (** What has been lost fades, and a factor e that underflows takes less than its own share. *)
  Lemma far_enough r r' n G e a j K :
    r <= r' -> r' <= top -> 1 <= n -> computed_argument M (r' - r) a -> Rabs e <= wx -> Rabs e * Rabs a <= wx * exp_cutoff M ->
    (e <> 0 -> 8 <= a) -> G <= n * (A + B * (top - r) + B) ->
    exp (- (k * (r' - r))) * far_lost r n j K + Rabs e * (G + far_lost r n j K) + wm <= far_lost r' n (S j) (S K).
  Proof using good factors.
    intros le below hn arg be ba lossy few. facts. set (d := r' - r) in *. assert (hd : 0 <= d) by (unfold d; lra).
    pose proof (reach_nonneg r' below) as hr. pose proof far_cutoff_large as large. pose proof (pos_INR K) as hK.
    assert (hB : 0 <= B * (far_cutoff + 1)) by monotone.
    assert (before : reach r = reach r' + B * d) by (unfold reach, d; ring). assert (Bd : 0 <= B * d) by monotone.
    set (F := exp (- (k * d))). assert (kd : 3 / 4 * d <= k * d) by monotone.
    assert (F1 : 0 < F <= 1) by (split; [apply exp_pos|apply exp_at_most_one; lra]).
    set (rest := n * wm + (n - 1) * wa + INR K * wm). assert (rest0 : 0 <= rest).
    { unfold rest. assert (0 <= n * wm) by monotone. assert (0 <= (n - 1) * wa) by monotone.
      assert (0 <= INR K * wm) by monotone. lra. }
    set (share := match j with 0%nat => 1 | S _ => 3 end).
    assert (hs : 1 <= share <= 3) by (unfold share; destruct j; lra).
    assert (old : far_lost r n j K = n * (share * (wx * reach r)) + rest)
      by (unfold far_lost, rest, share; destruct j; ring).
    assert (new : far_lost r' n (S j) (S K) = n * (3 * (wx * reach r')) + rest + wm)
      by (unfold far_lost, rest; rewrite S_INR; ring).
    rewrite old, new. assert (nx : 0 <= n * wx) by monotone. assert (whole : 0 <= n * wx * reach r') by monotone.
    destruct (Req_dec e 0) as [->|some].
    - rewrite Rabs_R0. assert (fades : F * reach r <= reach r').
      { pose proof (exp_above_tangent (k * d)) as tangent. pose proof (exp_pos (k * d)) as pos.
        assert (FE : F * exp (k * d) = 1) by (unfold F; rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
        assert (grown : reach r <= reach r' * exp (k * d)).
        { rewrite before. assert (reach r' * (1 + k * d) <= reach r' * exp (k * d)) by monotone.
          assert (B * (far_cutoff + 1) * (k * d) <= reach r' * (k * d)) by monotone.
          assert (B * 9 * (3 / 4 * d) <= B * (far_cutoff + 1) * (k * d)) by monotone. lra. }
        apply Rle_trans with (F * (reach r' * exp (k * d))); [monotone|]. right.
        replace (F * (reach r' * exp (k * d))) with (F * exp (k * d) * reach r') by ring. rewrite FE. ring. }
      assert (n * wx * share * (F * reach r) <= n * wx * share * reach r') by monotone.
      assert (n * wx * reach r' * share <= n * wx * reach r' * 3) by monotone.
      assert (F * rest <= 1 * rest) by monotone. lra.
    - pose proof (far_deviation M good d a hd arg (lossy some)) as small. fold k in small.
      pose proof (far_loss d a e hd arg be ba) as taken. pose proof (Rabs_pos e) as he.
      replace (k / 2 * d) with (k * d / 2) in small by field. set (half := exp (- (k * d / 2))) in *.
      assert (FF : F = half * half) by (unfold F, half; rewrite <- exp_plus; f_equal; field).
      pose proof (exp_pos (- (k * d / 2))) as hp. fold half in hp. assert (dhalf : d * half <= 8 / 3).
      { pose proof (exp_above_tangent (k * d / 2)) as tangent.
        assert (he2 : half * exp (k * d / 2) = 1) by (unfold half; rewrite <- exp_plus, Rplus_opp_l; apply exp_0).
        assert (d * half <= 8 / 3 * exp (k * d / 2) * half) by monotone. lra. }
      assert (F64 : F <= / 64) by (rewrite FF; replace (/ 64) with (/ 8 * / 8) by field; apply Rmult_le_compat; lra).
      assert (Fd : F * d <= / 3).
      { rewrite FF. replace (half * half * d) with (half * (d * half)) by ring.
        replace (/ 3) with (/ 8 * (8 / 3)) by field. monotone. }
      assert (wxc : wx * far_cutoff <= / 16 * far_cutoff) by monotone.
      assert (quarter : (F + Rabs e) * reach r <= / 4 * reach r').
      { rewrite before. assert (0 <= reach r') by lra. assert (F * reach r' <= / 64 * reach r') by monotone.
        assert (Rabs e * reach r' <= / 16 * reach r') by monotone. assert (B * (F * d) <= B * / 3) by monotone.
        assert (B * (Rabs e * d) <= B * (/ 16 * far_cutoff)) by monotone.
        assert (B * 9 <= B * (far_cutoff + 1)) by monotone. lra. }
      assert (own : Rabs e * G <= n * wx * reach r').
      { apply Rle_trans with (Rabs e * (n * (A + B * (top - r) + B))); [monotone|].
        replace (Rabs e * (n * (A + B * (top - r) + B)))
          with (n * (Rabs e * (A + B * (top - r') + B) + B * (Rabs e * d))) by (unfold d; ring).
        rewrite Rmult_assoc. apply Rmult_le_compat_l; [lra|]. assert (0 <= B * (top - r')) by monotone.
        assert (Rabs e * (A + B * (top - r') + B) <= wx * (A + B * (top - r') + B)) by monotone.
        assert (B * (Rabs e * d) <= B * (wx * far_cutoff)) by monotone. unfold reach. lra. }
      assert (n * wx * share * ((F + Rabs e) * reach r) <= n * wx * share * (/ 4 * reach r')) by monotone.
      assert (n * wx * reach r' * share <= n * wx * reach r' * 3) by monotone.
      assert ((F + Rabs e) * rest <= 1 * rest) by monotone. lra.
  Qed.

  Lemma far_rescaled l r r' y a f y' h j K :
    r' <= top -> reaches l -> far_state l r y h j K -> r <= r' -> computed_argument M (r' - r) a -> computed_exp M a f ->
    computed_product M (y * f) y' -> far_state l r' y' h (S j) (S K).
  Proof using good factors.
    intros below within [v ab n] le arg [tx [e [btx [be [ba [lossy ->]]]]]] [t2 [e2 [bt2 [be2 ->]]]]. facts.
    pose proof (far_enough r r' (size l) (values_pull k r l) e a j K le below (size_at_least_one l v) arg be ba lossy
                  (faded_factors l r ltac:(lra) ab within)) as enough.
    destruct (weight_bounds M (r' - r) a tx ltac:(lra) arg btx) as [w [bw ->]]. set (d := r' - r) in *.
    assert (hd : 0 <= d) by (unfold d; lra). set (c := b h j) in *.
    pose proof (term_log_nonneg M no_format good plain h j) as hc. fold c in hc.
    assert (step : b h (S j) = c + (lambdaE + c0 + lambda)) by (unfold c, term_log; rewrite S_INR; ring).
    pose proof (near_magnitude _ _ _ _ _ _ n) as mag.
    assert (bsum : Rabs (w + t2) <= t * d + (lambdaE + c0 + lambda)) by monotone. assert (htd : 0 <= t * d) by monotone.
    pose proof (near_factor _ _ _ _ _ _ _ _ (exp (- d)) (w + t2) bsum htd ltac:(left; apply exp_pos) n) as moved.
    assert (lossE : Rabs (y * e * exp t2 + e2) <= Rabs y * Rabs e * exp lambda + wm).
    { triangle. apply Rplus_le_compat; [|easy]. rewrite !Rabs_mult, (Rabs_right (exp t2)) by (left; apply exp_pos).
      apply Rmult_le_compat_l; [monotone|]. apply exp_le. apply abs_between in bt2. lra. }
    pose proof (near_add_loss _ _ _ _ _ _ _ _ lossE moved) as total.
    constructor; [easy|intros q inq; pose proof (ab q inq); lra|].
    rewrite step, values_moved with (r := r), !values_pull_moved with (r := r) (r' := r'). fold d.
    replace (y * (exp (- d) * exp w + e) * exp t2 + e2) with (y * (exp (- d) * exp (w + t2)) + (y * e * exp t2 + e2))
      by (rewrite exp_plus; ring).
    replace (exp (- (k * d)) * values_pull k r l) with (exp (- d) * exp (t * d) * values_pull k r l)
      by (rewrite <- exp_plus; f_equal; f_equal; unfold fade; ring).
    rewrite Rmult_1_l. eapply near_weaken; [| |apply total]; [lra|]. set (H := lambdaE + c0 + lambda) in *.
    set (G := values_pull k r l) in *. set (L := far_lost r (size l) j K) in *. set (F := exp (- (k * d))) in *.
    assert (ef : exp (- d) * exp (t * d + H) * (exp c * L) = exp (c + H) * (F * L)).
    { unfold F. replace (- (k * d)) with (- d + t * d) by (unfold fade; ring). rewrite !exp_plus. ring. } rewrite ef.
    set (W := exp (c + H)). assert (W1 : 1 <= W) by (apply exp_at_least_one; unfold H; lra).
    destruct (values_pull_below l k r ltac:(lra) ab) as [hG _]. fold G in hG.
    pose proof (far_lost_nonneg r (size l) j K ltac:(lra) (size_at_least_one l v)) as hL. fold L in hL.
    assert (under : Rabs y * Rabs e * exp lambda <= W * (Rabs e * (G + L))).
    { apply Rle_trans with (exp c * (G + L) * Rabs e * exp lambda).
      - apply Rmult_le_compat_r; [monotone|]. apply Rmult_le_compat_r; [monotone|]. eapply Rle_trans; [apply mag|].
        right. ring.
      - replace (exp c * (G + L) * Rabs e * exp lambda) with (exp c * exp lambda * (Rabs e * (G + L))) by ring.
        apply Rmult_le_compat_r; [apply Rmult_le_pos; [monotone|lra]|]. unfold W, H. rewrite <- exp_plus. monotone. }
    assert (wm <= W * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
    assert (W * (F * L + Rabs e * (G + L) + wm) <= W * far_lost r' (size l) (S j) (S K)) by monotone. lra.
  Qed.

  Lemma far_tree l r y h j K : accumulated M no_format l r y h j K -> r <= top -> reaches l -> far_state l r y h j K.
  Proof using good factors.
    induction 1 as [x v r a w t0 e y le arg ex bt be prod|l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 _ s1 _ s2 add
                   |l r r' y a f y' h j K _ st le arg ex prod|l l' r y h j K _ st same]; intros below within.
    - now apply far_item with a w t0 e.
    - apply far_addition with y1 y2; try easy; [apply s1|apply s2]; try easy; intros q inq; apply within, in_or_app; tauto.
    - eapply far_rescaled; try eassumption. apply st; [lra|easy].
    - destruct st as [v ab n]; [easy|intros q inq; now apply within, (Permutation_in q same)|]. constructor.
      + intros ->. now apply Permutation_sym, Permutation_nil in same.
      + intros q inq. apply ab. now apply Permutation_in with l'; [apply Permutation_sym|].
      + unfold values_pull, values_sum, size in *. now rewrite <- !(sum_map_permutation _ l l' same), <- (Permutation_length same).
  Qed.

  (** One factor, and underflow of n of them. *)
  Definition far_factor : R := A + B * (far_cutoff + 1).
  Definition lost_factors (n : R) (j : nat) : R :=
    n * (wx * far_factor + wm + wa + match j with 0%nat => 0 | S _ => 2 * wx * far_factor + 2 * wm end).

  Theorem far_near l y h j K :
    accumulated M no_format l top y h j K -> reaches l -> INR K <= 2 * size l -> (j = 0 -> K = 0)%nat ->
    near (b h j) (values_pull 1 top l) (values_pull k top l) (exp (b h j) * lost_factors (size l) j) y (values_sum top l).
  Proof using good factors.
    intros tree within few none. facts. destruct (far_tree l top y h j K tree ltac:(lra) within) as [v _ n].
    eapply near_weaken; [apply Rle_refl| |exact n]. apply Rmult_le_compat_l; [monotone|].
    unfold far_lost, lost_factors, far_factor, reach. rewrite Rminus_diag_eq, Rmult_0_r, Rplus_0_r by easy.
    set (X := A + B * (far_cutoff + 1)). pose proof (size_at_least_one l v) as hn. set (s := size l) in *.
    assert (0 <= s * wa) by monotone. destruct j as [|j0].
    - rewrite (none eq_refl). simpl INR. lra.
    - assert (INR K * wm <= 2 * s * wm) by monotone. lra.
  Qed.
End Far.
