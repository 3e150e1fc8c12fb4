(** * B9: the row of scores that err: its statistics, its log-sum-exp and its entropy.

    Main results, |x'_j - x_j| <= e_j <= e_max, ebar = sum p_j e_j; primes are of the row as computed
    - [perturbed_weight], [perturbed_deviation]   p' <= e^(2 e_max) p and D' <= D + 2 e_max
    - [perturbed_statistics]   ln S' <= ln S + 2 e_max, Dbar' <= e^(2 e_max) (Dbar + 2 e_max), V2' <= e^(2 e_max) (V2 +
                               4 e_max Dbar + 4 e_max^2), |m'| <= |m| + e_max, |L'| <= |L| + e_max
    - [perturbed_logsumexp]    |L' - L| <= ebar e^e_max
    - [perturbed_entropy]      |H' - H| <= e^(2 e_max) (sum p_j e_j D_j + ebar (2 e_max + the bound of Dbar'))
    - [b9_logsumexp], [b9_entropy]   a kernel's L and H: B5 and B6 of the row as computed, and these

    The entropy by the mean value theorem along x + s (x' - x): its derivative is - Cov(x, x' - x), as in Proposition 3.2.

    Source: docs/tolerances.md, B9; perturbed and of_scores in numerics/rounding/rounding_attention.cpp. *)

From Coquelicot Require Import Coquelicot.
From softcheck.numerics Require Import row tilted_row b1_sum b5_logsumexp b6_entropy b9_attention.
Local Open Scope R_scope.

Lemma maximum_exists (l : list R) : l <> [] -> exists m, is_maximum m l.
Proof.
  induction l as [|x l IH]; [easy|]. intros _. destruct l as [|y l].
  - exists x. split; [now left|]. intros z [<-|[]]. lra.
  - destruct IH as [m [inm above]]; [easy|]. exists (Rmax x m). split.
    + unfold Rmax. destruct (Rle_dec x m); [now right|now left].
    + intros z [<-|inz]; [apply Rmax_l|]. eapply Rle_trans; [now apply above|apply Rmax_r].
Qed.

Section Perturbed.
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest).
  Notation S := (weight_sum m scores).
  Notation S' := (weight_sum m' computed_scores).
  Notation p := (weight keys m).
  Notation ebar := (mean_score_error keys m error).
  Notation L := (ln (partition_function scores)).
  Notation L' := (ln (partition_function computed_scores)).

  Definition computed_weight_of (a : key) : R := exp (- (m' - computed_score a)) / S'.

  Lemma largest_nonneg : 0 <= largest.
  Proof using max errs.
    destruct max as [inm _]. apply in_map_iff in inm as [a [_ ina]]. destruct (errs a ina).
    pose proof (Rabs_pos (computed_score a - score a)). lra.
  Qed.

  Lemma perturbed_deviation a : In a keys -> 0 <= m' - computed_score a <= m - score a + 2 * largest.
  Proof using max max' errs. apply (deviation_moved keys m m' max max' error largest errs). Qed.

  Lemma perturbed_maximum : Rabs (m' - m) <= largest.
  Proof using max max' errs.
    destruct (proj1 (in_map_iff _ _ _) (proj1 max')) as [b [eqb inb]]. destruct (proj1 (in_map_iff _ _ _) (proj1 max)) as [a [eqa ina]].
    destruct (errs a ina) as [ca la]. destruct (errs b inb) as [cb lb]. apply abs_between in ca. apply abs_between in cb.
    pose proof (proj2 max (score b) (in_map _ _ _ inb)). pose proof (proj2 max' (computed_score a) (in_map _ _ _ ina)).
    apply Rabs_le. lra.
  Qed.

  Let sums : 1 <= S /\ 1 <= S'.
  Proof using max max'. now apply (S_pos keys m m'). Qed.

  Lemma normaliser_between : exp (- largest) <= normaliser keys m /\ 0 < normaliser keys m.
  Proof using max max' errs.
    assert (low : exp (- largest) <= normaliser keys m).
    { unfold normaliser. rewrite <- (Rmult_1_l (exp (- largest))), <- (weights_add_up keys m m' max max'), <- sum_map_mult_r.
      apply sum_map_le. intros a ina. destruct (errs a ina) as [close le]. apply abs_between in close.
      apply Rmult_le_compat_l; [left; apply (weight_pos keys m m' max max')|monotone]. }
    split; [easy|]. eapply Rlt_le_trans; [apply exp_pos|exact low].
  Qed.

  Lemma computed_weight_is a : computed_weight_of a * normaliser keys m = p a * exp (computed_score a - score a).
  Proof using max max' errs.
    rewrite <- (computed_weight keys m m' max max'). unfold computed_weight_of. destruct sums. field. lra.
  Qed.

  Theorem perturbed_weight a : In a keys -> 0 <= computed_weight_of a <= exp (2 * largest) * p a.
  Proof using max max' errs.
    intros ina. destruct sums as [S1 S1']. destruct normaliser_between as [low pos].
    pose proof (weight_pos keys m m' max max' a) as wp. destruct (errs a ina) as [close le]. apply abs_between in close.
    split; [unfold computed_weight_of; left; apply Rdiv_lt_0_compat; [monotone|lra]|].
    apply Rmult_le_reg_r with (normaliser keys m); [easy|]. rewrite computed_weight_is.
    apply Rle_trans with (exp (2 * largest) * p a * exp (- largest)).
    - replace (exp (2 * largest) * p a * exp (- largest)) with (p a * (exp (2 * largest) * exp (- largest))) by ring.
      rewrite <- exp_plus. monotone.
    - monotone.
  Qed.

  Lemma mean_over_keys (f : R -> R) r l : weighted_sum r (map l keys) f = sum (map (fun a => exp (- (r - l a)) * f (r - l a)) keys).
  Proof using. unfold weighted_sum. rewrite map_map. apply sum_map_ext. intros a _. f_equal. f_equal. ring. Qed.

  (** A mean of the row as computed, below one of the exact row. *)
  Lemma perturbed_expectation (f g : R -> R) :
    (forall a, In a keys -> 0 <= f (m' - computed_score a) <= g (m - score a)) ->
    weighted_sum m' computed_scores f / S' <= exp (2 * largest) * (weighted_sum m scores g / S).
  Proof using max max' errs.
    intros below. rewrite !mean_over_keys. unfold Rdiv. rewrite <- !sum_map_mult_r, <- sum_map_mult_l. apply sum_map_le.
    intros a ina. destruct (below a ina) as [f0 fg]. destruct (perturbed_weight a ina) as [w0 w1].
    replace (exp (- (m' - computed_score a)) * f (m' - computed_score a) * / S')
      with (exp (- (m' - computed_score a)) * / S' * f (m' - computed_score a)) by ring.
    replace (exp (2 * largest) * (exp (- (m - score a)) * g (m - score a) * / S))
      with (exp (2 * largest) * (exp (- (m - score a)) * / S) * g (m - score a)) by ring.
    monotone.
  Qed.

  Definition wider_log_sum : R := ln S + 2 * largest.
  Definition wider_mean : R := exp (2 * largest) * (mean_deviation m scores + 2 * largest).
  Definition wider_square : R :=
    exp (2 * largest) * (mean_square_deviation m scores + 4 * largest * mean_deviation m scores + 4 * largest ^ 2).

  Lemma perturbed_logsumexp_bounds : Rabs (L' - L) <= normaliser_log keys m error largest /\ Rabs (L' - L) <= largest.
  Proof using max max' errs.
    destruct (score_normaliser keys m m' max max' error largest errs) as [close high].
    destruct normaliser_between as [low pos]. assert (apart : L' - L = ln (normaliser keys m)).
    { rewrite (logsumexp_from_statistics m' computed_scores max'), (logsumexp_from_statistics m scores max).
      destruct (proj1 (in_map_iff _ _ _) (proj1 max)) as [a [_ ina]].
      pose proof (computed_weight keys m m' max max' a) as eqw. unfold weight in eqw.
      assert (norm : normaliser keys m = S' * exp (m' - m) / S).
      { apply Rmult_eq_reg_l with (exp (- (m' - computed_score a)) / S');
          [|apply Rgt_not_eq, Rdiv_lt_0_compat; [monotone|lra]].
        replace (exp (- (m' - computed_score a)) / S' * normaliser keys m)
          with (exp (- (m' - computed_score a)) * (normaliser keys m / S')) by (field; lra).
        rewrite eqw.
        replace (exp (- (m' - computed_score a)) / S' * (S' * exp (m' - m) / S))
          with (exp (- (m' - computed_score a)) * exp (m' - m) / S) by (field; lra).
        unfold Rdiv. rewrite <- exp_plus.
        replace (exp (- (m - score a)) * / S * exp (computed_score a - score a))
          with (exp (- (m - score a)) * exp (computed_score a - score a) * / S) by ring.
        rewrite <- exp_plus. f_equal. f_equal. ring. }
      assert (top : 0 < S' * exp (m' - m)) by monotone. rewrite norm. unfold Rdiv.
      rewrite ln_mult, ln_mult, ln_exp, ln_Rinv; try easy; try apply exp_pos; try lra. monotone. }
    rewrite apart. split.
    - pose proof (rel_log _ (normaliser keys m) 1 Rlt_0_1 close) as logs. rewrite ln_1, Rminus_0_r in logs. exact logs.
    - pose proof (ln_le _ _ (exp_pos _) low) as l1. pose proof (ln_le _ _ pos high) as l2. rewrite ln_exp in l1, l2.
      apply Rabs_le. lra.
  Qed.

  Theorem perturbed_logsumexp : Rabs (L' - L) <= ebar * exp largest.
  Proof using max max' errs. apply perturbed_logsumexp_bounds. Qed.

  Theorem perturbed_statistics :
    ln S' <= wider_log_sum /\ mean_deviation m' computed_scores <= wider_mean /\
    mean_square_deviation m' computed_scores <= wider_square /\ Rabs m' <= Rabs m + largest /\ Rabs L' <= Rabs L + largest.
  Proof using max max' errs.
    destruct sums as [S1 S1']. pose proof perturbed_maximum as moved. destruct perturbed_logsumexp_bounds as [_ far].
    assert (dev : forall a, In a keys -> 0 <= m' - computed_score a <= m - score a + 2 * largest) by apply perturbed_deviation.
    assert (of_sum : forall k c : R, weighted_sum m scores (fun d => k * d + c) / S = k * mean_deviation m scores + c).
    { intros k c. unfold mean_deviation, deviation_sum.
      replace (weighted_sum m scores (fun d => k * d + c)) with (weighted_sum m scores (fun d => k * d + c * 1))
        by (apply weighted_sum_ext; intros; ring).
      rewrite weighted_sum_plus, !weighted_sum_mult. fold (weight_sum m scores). field. lra. }
    repeat split.
    - unfold wider_log_sum. rewrite <- (ln_exp (2 * largest)), <- ln_mult by (try apply exp_pos; lra). apply ln_le; [lra|].
      rewrite !weight_sum_sum, !map_map, Rmult_comm, <- sum_map_mult_l. apply sum_map_le. intros a ina. rewrite <- exp_plus.
      apply exp_le. destruct (errs a ina) as [close le]. apply abs_between in close. apply abs_between in moved. lra.
    - eapply Rle_trans; [apply (perturbed_expectation (fun d => d) (fun d => 1 * d + 2 * largest))|].
      + intros a ina. pose proof (dev a ina). lra.
      + rewrite of_sum. unfold wider_mean. right. ring.
    - eapply Rle_trans; [apply
        (perturbed_expectation (fun d => d ^ 2) (fun d => d ^ 2 + (4 * largest * d + 4 * largest ^ 2)))|].
      + intros a ina. pose proof (dev a ina). split; [apply pow2_ge_0|].
        replace ((m - score a) ^ 2 + (4 * largest * (m - score a) + 4 * largest ^ 2)) with ((m - score a + 2 * largest) ^ 2)
          by ring.
        apply pow_incr. lra.
      + unfold wider_square. apply Rmult_le_compat_l; [monotone|]. rewrite weighted_sum_plus. unfold Rdiv.
        rewrite Rmult_plus_distr_r. fold (weighted_sum m scores (fun d => d ^ 2) / S). fold (mean_square_deviation m scores).
        pose proof (of_sum (4 * largest) (4 * largest ^ 2)). unfold Rdiv in *. lra.
    - replace m' with (m + (m' - m)) at 1 by ring. triangle. lra.
    - replace L' with (L + (L' - L)) at 1 by ring. triangle. lra.
  Qed.
End Perturbed.

(** ** The entropy, along x + s (x' - x) *)

Section Entropy.
  Context (keys : list key).

  Definition on_the_way (s : R) (a : key) : R := score a + s * (computed_score a - score a).
  Notation eps := (fun a => computed_score a - score a).
  Notation way s := (map (on_the_way s) keys).
  Definition way_sum (f : R -> key -> R) (s : R) : R := sum (map (fun a => f s a * exp (on_the_way s a)) keys).
  Notation Z := (way_sum (fun _ _ => 1)).
  Notation W := (way_sum on_the_way).

  Lemma way_sum_derivative (f g : R -> key -> R) s :
    (forall a, is_derive (fun z => f z a) s (g s a)) ->
    is_derive (way_sum f) s (way_sum (fun z a => g z a + f z a * eps a) s).
  Proof using.
    intros each. unfold way_sum. induction keys as [|a l IH]; unfold sum in *; cbn [map fold_right]; [auto_derive; easy|].
    apply (is_derive_plus (V := R_NormedModule) (fun z => f z a * exp (on_the_way z a))); [|exact IH].
    assert (power : is_derive (fun z => exp (on_the_way z a)) s (eps a * exp (on_the_way s a))).
    { unfold on_the_way. auto_derive; [easy|]. ring. }
    pose proof (is_derive_mult (fun z => f z a) (fun z => exp (on_the_way z a)) s _ _ (each a) power Rmult_comm) as both.
    match type of both with is_derive _ _ ?d =>
      match goal with |- is_derive _ _ ?d' => replace d' with d; [exact both|] end end.
    unfold plus, mult. cbn. ring.
  Qed.

  Hypothesis visible : keys <> [].

  Lemma way_positive s : 0 < Z s.
  Proof using visible.
    unfold way_sum. destruct keys as [|a l]; [easy|].
    assert (0 <= sum (map (fun a => 1 * exp (on_the_way s a)) l)) by (apply sum_map_nonneg; intros; rewrite Rmult_1_l; left; apply exp_pos).
    change (sum (map (fun a => 1 * exp (on_the_way s a)) (a :: l)))
      with (1 * exp (on_the_way s a) + sum (map (fun a => 1 * exp (on_the_way s a)) l)).
    pose proof (exp_pos (on_the_way s a)). lra.
  Qed.

  Lemma way_entropy s : entropy (way s) = ln (Z s) - W s / Z s.
  Proof using visible.
    assert (same : partition_function (way s) = Z s).
    { unfold partition_function, way_sum. rewrite map_map. apply sum_map_ext. intros. ring. }
    rewrite entropy_log_partition by now apply map_not_nil. rewrite same. f_equal. f_equal.
    unfold mean, expectation, coefficient. rewrite same, map_map. unfold way_sum, Rdiv. rewrite <- sum_map_mult_r.
    apply sum_map_ext. intros. ring.
  Qed.

  (** - Cov(x, x' - x) *)
  Definition way_slope (s : R) : R := - (way_sum (fun z a => eps a * (on_the_way z a - W s / Z s)) s / Z s).

  Lemma way_entropy_derivative s : is_derive (fun z => ln (Z z) - W z / Z z) s (way_slope s).
  Proof using visible.
    pose proof (way_positive s) as pos.
    assert (dZ : is_derive Z s (way_sum (fun _ a => 0 + 1 * eps a) s)).
    { apply (way_sum_derivative (fun _ _ => 1) (fun _ _ => 0)). intros a. apply (is_derive_const (V := R_NormedModule)). }
    assert (dW : is_derive W s (way_sum (fun z a => eps a + on_the_way z a * eps a) s)).
    { apply (way_sum_derivative on_the_way (fun _ a => eps a)). intros a. unfold on_the_way. auto_derive; [easy|]. ring. }
    set (A := way_sum (fun _ a => 0 + 1 * eps a) s) in *. set (B := way_sum (fun z a => eps a + on_the_way z a * eps a) s) in *.
    assert (slope : way_slope s = A / Z s - (B * Z s - W s * A) / (Z s) ^ 2).
    { unfold way_slope.
      assert (parts : way_sum (fun z a => eps a * (on_the_way z a - W s / Z s)) s = B - A - W s / Z s * A).
      { unfold A, B, way_sum. rewrite <- sum_map_mult_l, <- !sum_map_minus. apply sum_map_ext. intros. ring. }
      rewrite parts. field. lra. }
    rewrite slope. apply (is_derive_minus (V := R_NormedModule)). -
      apply (is_derive_comp ln Z); [|exact dZ]. apply is_derive_Reals, derivable_pt_lim_ln, pos.
    - apply is_derive_div; [exact dW|exact dZ|lra].
  Qed.
End Entropy.

Section PerturbedEntropy.
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest).
  Notation p := (weight keys m).
  Notation ebar := (mean_score_error keys m error).

  Definition mean_error_deviation : R := sum (map (fun a => p a * error a * (m - score a)) keys).
  Definition entropy_moved : R :=
    exp (2 * largest) * (mean_error_deviation + ebar * (2 * largest + wider_mean keys m largest)).

  Lemma way_slope_bound s : 0 <= s <= 1 -> Rabs (way_slope keys s) <= entropy_moved.
  Proof using max errs.
    intros hs. assert (visible : keys <> []) by (intros none; destruct max as [inm _]; rewrite none in inm; easy).
    pose proof (way_positive keys visible s) as pos. pose proof (largest_nonneg keys m max error largest errs) as e0.
    set (there := map (fun a => {| score := score a; computed_score := on_the_way s a; value := 0 |}) keys).
    assert (same : map score there = scores) by (unfold there; now rewrite map_map).
    assert (way : map computed_score there = map (on_the_way s) keys) by (unfold there; now rewrite map_map).
    destruct (maximum_exists (map (on_the_way s) keys)) as [mc maxc]; [now apply map_not_nil|]. rewrite <- same in max.
    rewrite <- way in maxc.
    assert (close : forall b, In b there -> Rabs (computed_score b - score b) <= largest /\ largest <= largest).
    { intros b inb. apply in_map_iff in inb as [a [<- ina]]. cbn. split; [|lra]. destruct (errs a ina) as [near le].
      unfold on_the_way.
      replace (score a + s * (computed_score a - score a) - score a) with (s * (computed_score a - score a)) by ring.
      rewrite Rabs_mult, (Rabs_right s) by lra. pose proof (Rabs_pos (computed_score a - score a)). nra. }
    pose proof (perturbed_statistics there m mc max maxc (fun _ => largest) largest close) as [_ [wide _]].
    pose proof (perturbed_weight there m mc max maxc (fun _ => largest) largest close) as weights.
    pose proof (perturbed_deviation there m mc max maxc (fun _ => largest) largest close) as deviations.
    pose proof (S_at_least_one mc _ maxc) as S1. pose proof (mean_deviation_nonneg mc _ maxc) as D0.
    set (Dc := mean_deviation mc (map computed_score there)) in *.
    assert (wide_is : wider_mean there m largest = wider_mean keys m largest) by (unfold wider_mean; now rewrite same).
    rewrite wide_is in wide. assert (Z_is : way_sum keys (fun _ _ => 1) s = exp mc * weight_sum mc (map computed_score there)).
    { unfold way_sum. rewrite way, weight_sum_sum, map_map, <- sum_map_mult_l. apply sum_map_ext. intros. rewrite <- exp_plus.
      rewrite Rmult_1_l. f_equal. ring. }
    assert (mean_is : way_sum keys (on_the_way) s / way_sum keys (fun _ _ => 1) s = mc - Dc).
    { rewrite Z_is. unfold Dc, mean_deviation, deviation_sum, weighted_sum, way_sum. rewrite way, map_map.
      pose proof (exp_pos mc).
      replace (sum (map (fun a => on_the_way s a * exp (on_the_way s a)) keys))
        with (exp mc * (mc * weight_sum mc (map (on_the_way s) keys)
        - sum (map (fun a => exp (on_the_way s a - mc) * (mc - on_the_way s a)) keys))).
      - rewrite way in S1. field. lra.
      - rewrite weight_sum_sum, map_map, <- sum_map_mult_l, <- sum_map_minus, <- sum_map_mult_l. apply sum_map_ext.
        intros a _.
        replace (exp (on_the_way s a)) with (exp mc * exp (on_the_way s a - mc)) by (rewrite <- exp_plus; f_equal; ring).
        ring. }
    unfold way_slope. rewrite Rabs_Ropp, mean_is. unfold Rdiv, way_sum at 1.
    rewrite Rabs_mult, (Rabs_right (/ way_sum keys _ s)) by (left; now apply Rinv_0_lt_compat). rewrite Z_is.
    apply Rle_trans with
      (sum (map (fun a => exp (2 * largest) * p a * (error a * (m - score a + 2 * largest + wider_mean keys m largest))) keys)).
    - apply Rle_trans with
        (sum (map (fun a => Rabs ((computed_score a - score a) * (on_the_way s a - (mc - Dc)) * exp (on_the_way s a))) keys) * /
        (exp mc * weight_sum mc (map computed_score there))).
      { apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat, Rmult_lt_0_compat; [monotone|lra]|apply sum_map_abs]. }
      rewrite <- sum_map_mult_r. apply sum_map_le. intros a ina.
      set (b := {| score := score a; computed_score := on_the_way s a; value := 0 |}).
      assert (inb : In b there)
        by (unfold there, b;
        now apply (in_map (fun a => {| score := score a; computed_score := on_the_way s a; value := 0 |}))).
      destruct (weights b inb) as [w0 w1]. pose proof (deviations b inb) as dev. cbn [score computed_score b] in dev.
      assert (pa : weight there m b = p a) by (unfold weight; rewrite same; easy). rewrite pa in w1.
      destruct (errs a ina) as [near le]. rewrite !Rabs_mult, (Rabs_right (exp (on_the_way s a))) by (left; apply exp_pos).
      assert (part : exp (on_the_way s a) * / (exp mc * weight_sum mc (map computed_score there))
        = computed_weight_of there mc b).
      { unfold computed_weight_of. cbn [computed_score b].
        replace (- (mc - on_the_way s a)) with (on_the_way s a + - mc) by ring. rewrite exp_plus, exp_Ropp.
        pose proof (exp_pos mc). field. lra. }
      rewrite Rmult_assoc, part.
      assert (spread : Rabs (on_the_way s a - (mc - Dc)) <= m - score a + 2 * largest + wider_mean keys m largest).
      { replace (on_the_way s a - (mc - Dc)) with (Dc - (mc - on_the_way s a)) by ring. apply Rabs_le. lra. }
      rewrite (Rmult_comm (exp (2 * largest) * p a)). apply Rmult_le_compat; [|easy| |easy].
      + monotone.
      + apply Rmult_le_compat; try apply Rabs_pos; easy.
    - right. unfold entropy_moved, mean_error_deviation, mean_score_error.
      rewrite <- sum_map_mult_r, <- sum_map_plus, <- sum_map_mult_l. apply sum_map_ext. intros. ring.
  Qed.

  Theorem perturbed_entropy : Rabs (entropy computed_scores - entropy scores) <= entropy_moved.
  Proof using max errs.
    assert (visible : keys <> []) by (intros none; destruct max as [inm _]; rewrite none in inm; easy).
    assert (ends : entropy computed_scores - entropy scores
                   = (fun z => ln (way_sum keys (fun _ _ => 1) z) - way_sum keys on_the_way z / way_sum keys (fun _ _ => 1) z) 1
                     - (fun z => ln (way_sum keys (fun _ _ => 1) z) - way_sum keys on_the_way z / way_sum keys (fun _ _ => 1) z) 0).
    { cbv beta. rewrite <- !(way_entropy keys visible). f_equal; f_equal; apply map_ext; intros; unfold on_the_way; ring. }
    rewrite ends.
    destruct (MVT_gen (fun z => ln (way_sum keys (fun _ _ => 1) z) - way_sum keys on_the_way z / way_sum keys (fun _ _ => 1) z) 0 1
                (way_slope keys)) as [c [range eq]].
    - intros z _. now apply way_entropy_derivative.
    - intros z _. apply derivable_continuous_pt, ex_derive_Reals_0. eexists. now apply way_entropy_derivative.
    - rewrite eq, Rminus_0_r, Rmult_1_r. rewrite Rmin_left, Rmax_right in range by lra. now apply way_slope_bound.
  Qed.

  (** ** A kernel's own L and H *)

  Context (M : arithmetic) (good : sound M) (s : R) (h j : nat) (hs : sum_of_row M 0 m' computed_scores s h j)
    (some : lost_sum M 0 m' computed_scores h j < 1).

  Theorem b9_logsumexp g m_hat y z u_out floor_out L_hat :
    computed_maximum M 0 m' j g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z ->
    rounded_output u_out floor_out z L_hat ->
    let L' := ln (partition_function computed_scores) in
    let rounding := logsumexp_rounding M 0 m' computed_scores h j g in
    Rabs (L_hat - ln (partition_function scores))
    <= rounding + u_out * (Rabs L' + rounding) + (logsumexp_floor M * (1 + u_out) + floor_out) + ebar * exp largest.
  Proof using max max' errs good hs some.
    intros h1 h2 h3 h4 L' rounding.
    pose proof (b5_logsumexp M good 0 m' computed_scores s h j hs some g m_hat y z u_out floor_out L_hat h1 h2 h3 h4) as own.
    pose proof (perturbed_logsumexp keys m m' max max' error largest errs) as moved.
    replace (L_hat - ln (partition_function scores)) with ((L_hat - L') + (L' - ln (partition_function scores))) by ring.
    triangle. unfold L', rounding in *. lra.
  Qed.

  Context (y r : R) (moments : moments_of_row M 0 m' computed_scores s y h j) (few : INR j * argument_step M <= 2)
    (loses : 0 <= r) (leaves : roundoff M + r < 1).

  Theorem b9_entropy q x z u_out floor_out H_hat :
    quotient_by_sum M r y s q -> computed_log M s x -> rounded_sum M (x + q) z -> rounded_output u_out floor_out z H_hat ->
    let H' := entropy computed_scores in
    let rounding := entropy_rounding M 0 m' computed_scores h j r in
    Rabs (H_hat - entropy scores)
    <= rounding + u_out * (H' + rounding) + (entropy_floor M * (1 + u_out) + floor_out) + entropy_moved.
  Proof using max errs good some moments few loses leaves.
    intros h1 h2 h3 h4 H' rounding.
    pose proof (b6_entropy M good 0 m' computed_scores s y h j r loses leaves moments some few q x z u_out floor_out H_hat h1 h2
      h3 h4) as own.
    pose proof perturbed_entropy as moved. replace (H_hat - entropy scores) with ((H_hat - H') + (H' - entropy scores)) by ring.
    triangle. unfold H', rounding in *. lra.
  Qed.
End PerturbedEntropy.
