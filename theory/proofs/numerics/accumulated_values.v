(** * Sums of weighted values, by any tree with any rescalings.

    Main result
    - [accumulated_near]   A = sum w v over any tree with any rescalings, v of either sign:
                           |A_hat - A| <= sum w |v| (e^(b + t D) - 1) + loss,
                           b = h lambda + lambda_E + R (lambda_E + lambda) + lambda_P + lambda + (R + 1) c

    Source: b9_attention.v; docs/tolerances/attention.md. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy constants.
Local Open Scope R_scope.

(** The format in which the weights meet the values. *)
Record weight_format := { weight_unit : R; weight_floor : R }.

Inductive accumulated (M : arithmetic) (P : weight_format) : list (R * R) -> R -> R -> nat -> nat -> nat -> Prop :=
| accumulated_item x v r b w t e y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b w ->
    Rabs t <= weight_unit P -> Rabs e <= weight_floor P -> computed_product M ((w * exp t + e) * v) y ->
    accumulated M P [(x, v)] r y 0 0 0
| accumulated_addition l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 :
    accumulated M P l1 r y1 h1 j1 K1 -> accumulated M P l2 r y2 h2 j2 K2 -> computed_sum M (y1 + y2) y ->
    accumulated M P (l1 ++ l2) r y (S (max h1 h2)) (max j1 j2) (K1 + K2)
| accumulated_rescaled l r r' y b f y' h j K :
    accumulated M P l r y h j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (y * f) y' -> accumulated M P l r' y' h (S j) (S K)
| accumulated_reordered l l' r y h j K :
    accumulated M P l r y h j K -> Permutation l l' -> accumulated M P l' r y h j K.

(** sum v e^-D, sum |v| e^(-kD), sum |v|. *)
Definition values_sum (r : R) (l : list (R * R)) : R := sum (map (fun q => snd q * exp (- (r - fst q))) l).
Definition values_pull (k r : R) (l : list (R * R)) : R := sum (map (fun q => Rabs (snd q) * exp (- (k * (r - fst q)))) l).
Definition values_size (l : list (R * R)) : R := sum (map (fun q => Rabs (snd q)) l).

Section Accumulated.
  Context (M : arithmetic) (P : weight_format) (good : sound M)
    (good_weights : 0 <= weight_unit P /\ 0 <= weight_floor P).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation c0 := (argument_step M).
  Notation t := (slope M).
  Notation wx := (exp_floor M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Notation k := (fade M).

  Definition term_log (h j : nat) : R :=
    INR h * lambda + lambdaE + INR j * (lambdaE + lambda) + weight_unit P + lambda + (INR j + 1) * c0.

  (** What underflow takes, |v| and n apart. *)
  Definition lost_values (l : list (R * R)) (j K : nat) : R :=
    values_size l * (wx + weight_floor P + match j with 0%nat => 0 | S _ => 2 * wx end)
    + size l * wm + (size l - 1) * wa + INR K * wm.

  Record values_state (l : list (R * R)) (r y : R) (h j K : nat) : Prop := {
    values_visible : l <> [];
    values_above : forall q, In q l -> fst q <= r;
    values_near : near (term_log h j) (values_pull 1 r l) (values_pull k r l)
                    (exp (term_log h j) * lost_values l j K) y (values_sum r l)
  }.

  Lemma values_size_nonneg l : 0 <= values_size l.
  Proof using. apply sum_map_nonneg. intros. monotone. Qed.

  Lemma values_pull_below l q r : 0 <= q -> (forall x, In x l -> fst x <= r) -> 0 <= values_pull q r l <= values_size l.
  Proof using.
    intros hq above. split.
    - apply sum_map_nonneg. intros x _. monotone.
    - apply sum_map_le. intros x inx. pose proof (above x inx). pose proof (Rabs_pos (snd x)).
      rewrite <- (Rmult_1_r (Rabs (snd x))) at 2. apply Rmult_le_compat_l; [easy|]. apply exp_at_most_one.
      assert (0 <= q * (r - fst x)) by monotone. lra.
  Qed.

  Lemma values_moved r r' l : values_sum r' l = exp (- (r' - r)) * values_sum r l.
  Proof using.
    unfold values_sum. rewrite <- sum_map_mult_l. apply sum_map_ext. intros q _.
    replace (- (r' - fst q)) with (- (r' - r) + - (r - fst q)) by ring. rewrite exp_plus. ring.
  Qed.

  Lemma values_pull_moved q r r' l : values_pull q r' l = exp (- (q * (r' - r))) * values_pull q r l.
  Proof using.
    unfold values_pull. rewrite <- sum_map_mult_l. apply sum_map_ext. intros x _.
    replace (- (q * (r' - fst x))) with (- (q * (r' - r)) + - (q * (r - fst x))) by ring. rewrite exp_plus. ring.
  Qed.

  Local Ltac facts :=
    sound_facts good; pose proof (fade_range M good) as fk; destruct good_weights as [fu ff].

  Lemma term_log_nonneg h j : 0 <= term_log h j.
  Proof using good good_weights.
    facts. unfold term_log. pose proof (pos_INR h). pose proof (pos_INR j). assert (0 <= INR h * lambda) by monotone.
    assert (0 <= INR j * (lambdaE + lambda)) by monotone. assert (0 <= (INR j + 1) * c0) by monotone. lra.
  Qed.

  Lemma term_log_growing h h' j j' : (h <= h')%nat -> (j <= j')%nat -> term_log h j <= term_log h' j'.
  Proof using good good_weights.
    intros hh hj. facts. apply le_INR in hh. apply le_INR in hj. unfold term_log.
    assert (INR h * lambda <= INR h' * lambda) by monotone.
    assert (INR j * (lambdaE + lambda) <= INR j' * (lambdaE + lambda)) by monotone.
    assert ((INR j + 1) * c0 <= (INR j' + 1) * c0) by monotone. lra.
  Qed.

  Lemma lost_values_nonneg l j K : l <> [] -> 0 <= lost_values l j K.
  Proof using good good_weights.
    intros visible. facts. pose proof (values_size_nonneg l). pose proof (size_at_least_one l visible).
    pose proof (pos_INR K). unfold lost_values.
    assert (0 <= values_size l * (wx + weight_floor P + match j with 0%nat => 0 | S _ => 2 * wx end)).
    { apply Rmult_le_pos; [easy|]. destruct j; lra. } assert (0 <= size l * wm) by monotone.
    assert (0 <= (size l - 1) * wa) by monotone. assert (0 <= INR K * wm) by monotone. lra.
  Qed.

  Lemma lost_values_growing l j j' K : (j <= j')%nat -> lost_values l j K <= lost_values l j' K.
  Proof using good good_weights.
    intros le. facts. unfold lost_values. pose proof (values_size_nonneg l).
    assert (values_size l * (wx + weight_floor P + match j with 0%nat => 0 | S _ => 2 * wx end)
            <= values_size l * (wx + weight_floor P + match j' with 0%nat => 0 | S _ => 2 * wx end)).
    { apply Rmult_le_compat_l; [easy|]. destruct j, j'; lra || lia. } lra.
  Qed.

  Lemma item_values x v r b w tp ep y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b w ->
    Rabs tp <= weight_unit P -> Rabs ep <= weight_floor P -> computed_product M ((w * exp tp + ep) * v) y ->
    values_state [(x, v)] r y 0 0 0.
  Proof using good good_weights.
    intros le arg [tx [e [btx [be [_ [_ ->]]]]]] btp bep [t2 [e2 [bt2 [be2 ->]]]]. facts.
    destruct (weight_bounds M (r - x) b tx ltac:(lra) arg btx) as [w' [bw ->]]. set (d := r - x) in *.
    assert (hd : 0 <= d) by (unfold d; lra).
    assert (log0 : term_log 0 0 = lambdaE + c0 + weight_unit P + lambda) by (unfold term_log; simpl; ring).
    assert (one : forall q, values_pull q r [(x, v)] = Rabs v * exp (- (q * d))).
    { intros q. unfold values_pull, sum. simpl. fold d. ring. }
    assert (exact : values_sum r [(x, v)] = v * exp (- d)) by (unfold values_sum, sum; simpl; fold d; ring).
    constructor; [discriminate|intros q [<-|[]]; simpl; lra|]. rewrite !one, exact, log0. rewrite Rmult_1_l.
    set (N := exp (lambdaE + c0 + weight_unit P + lambda)). assert (N1 : 1 <= N) by (apply exp_at_least_one; lra).
    pose proof (Rabs_pos v) as hv. pose proof (exp_pos (- d)) as hed. repeat split.
    - rewrite Rabs_mult, (Rabs_right (exp (- d))) by lra. lra.
    - apply Rmult_le_compat_l; [easy|]. apply exp_le. assert (k * d <= 1 * d) by monotone. lra.
    - replace (((exp (- d) * exp w' + e) * exp tp + ep) * v * exp t2 + e2 - v * exp (- d))
        with (v * (exp (- d) * (exp (w' + tp + t2) - 1)) + (v * e * exp tp * exp t2 + v * ep * exp t2) + e2)
        by (rewrite !exp_plus; ring).
      triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      assert (main : Rabs (v * (exp (- d) * (exp (w' + tp + t2) - 1)))
        <= N * (Rabs v * exp (- (k * d))) - Rabs v * exp (- d)).
      { rewrite !Rabs_mult, (Rabs_right (exp (- d))) by lra.
        assert (small : Rabs (w' + tp + t2) <= t * d + (lambdaE + c0 + weight_unit P + lambda)).
        { triangle. pose proof (Rabs_triang w' tp). lra. } pose proof (expm1_abs _ _ small) as grows.
        replace (N * (Rabs v * exp (- (k * d))) - Rabs v * exp (- d))
          with (Rabs v * (exp (- d) * (exp (t * d + (lambdaE + c0 + weight_unit P + lambda)) - 1))).
        - apply Rmult_le_compat_l; [easy|]. monotone.
        - unfold N. replace (- (k * d)) with (- d + t * d) by (unfold fade; ring). rewrite !exp_plus. ring. }
      assert (E12 : exp tp * exp t2 <= N).
      { unfold N. rewrite <- exp_plus. apply exp_le. apply abs_between in btp. apply abs_between in bt2. lra. }
      assert (E2 : exp t2 <= N) by (unfold N; apply exp_le; apply abs_between in bt2; lra).
      assert (lost1 : Rabs (v * e * exp tp * exp t2) <= N * (Rabs v * wx)).
      { rewrite !Rabs_mult, (Rabs_right (exp tp)), (Rabs_right (exp t2)) by (left; apply exp_pos).
        replace (Rabs v * Rabs e * exp tp * exp t2) with (exp tp * exp t2 * (Rabs v * Rabs e)) by ring. monotone. }
      assert (lost2 : Rabs (v * ep * exp t2) <= N * (Rabs v * weight_floor P)).
      { rewrite !Rabs_mult, (Rabs_right (exp t2)) by (left; apply exp_pos). rewrite Rmult_comm. monotone. }
      pose proof (Rabs_triang (v * e * exp tp * exp t2) (v * ep * exp t2)).
      assert (wm <= N * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      assert (all : lost_values [(x, v)] 0 0 = Rabs v * (wx + weight_floor P) + wm).
      { unfold lost_values, values_size, sum, size. simpl. ring. } rewrite all. fold N. lra.
  Qed.

  Lemma addition_values l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 :
    values_state l1 r y1 h1 j1 K1 -> values_state l2 r y2 h2 j2 K2 -> computed_sum M (y1 + y2) y ->
    values_state (l1 ++ l2) r y (S (max h1 h2)) (max j1 j2) (K1 + K2).
  Proof using good good_weights.
    intros [v1 a1 n1] [v2 a2 n2] [tt [e [bt [be ->]]]]. facts. set (h := max h1 h2). set (j := max j1 j2).
    set (a := term_log h j). assert (step : term_log (S h) j = a + lambda) by (unfold a, term_log; rewrite S_INR; ring).
    assert (g1 : term_log h1 j1 <= a) by (apply term_log_growing; lia).
    assert (g2 : term_log h2 j2 <= a) by (apply term_log_growing; lia).
    pose proof (lost_values_growing l1 j1 j K1 ltac:(lia)) as w1. pose proof (lost_values_growing l2 j2 j K2 ltac:(lia)) as w2.
    pose proof (lost_values_nonneg l1 j1 K1 v1) as z1. pose proof (lost_values_nonneg l2 j2 K2 v2) as z2.
    assert (m1 : near a (values_pull 1 r l1) (values_pull k r l1) (exp a * lost_values l1 j K1) y1 (values_sum r l1)).
    { eapply near_weaken; [apply g1| |apply n1]. apply Rmult_le_compat; try lra; [monotone|monotone]. }
    assert (m2 : near a (values_pull 1 r l2) (values_pull k r l2) (exp a * lost_values l2 j K2) y2 (values_sum r l2)).
    { eapply near_weaken; [apply g2| |apply n2]. apply Rmult_le_compat; try lra; [monotone|monotone]. }
    pose proof (near_rounding _ lambda _ _ _ wa _ _ tt e bt be (near_plus _ _ _ _ _ _ _ _ _ _ _ m1 m2)) as total. constructor.
    - destruct l1; [easy|discriminate].
    - intros q inq. apply in_app_or in inq as [inq|inq]; auto.
    - rewrite step. unfold values_pull, values_sum in *. rewrite !map_app, !sum_app.
      eapply near_weaken; [| |apply total]; [lra|].
      rewrite <- Rmult_plus_distr_l, <- Rmult_assoc, <- exp_plus, (Rplus_comm lambda a).
      assert (split : lost_values (l1 ++ l2) j (K1 + K2) = lost_values l1 j K1 + lost_values l2 j K2 + wa).
      { unfold lost_values, values_size. rewrite map_app, sum_app, plus_INR.
        replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR). ring. }
      rewrite split. pose proof (term_log_nonneg h j) as ha. fold a in ha.
      pose proof (exp_at_least_one (a + lambda) ltac:(lra)). assert (1 * wa <= exp (a + lambda) * wa) by monotone. lra.
  Qed.

  Lemma rescaled_values l r r' y b f y' h j K :
    values_state l r y h j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (y * f) y' -> values_state l r' y' h (S j) (S K).
  Proof using good good_weights.
    intros [v ab n] le arg [tx [e [btx [be [_ [far ->]]]]]] [t2 [e2 [bt2 [be2 ->]]]]. facts.
    destruct (weight_bounds M (r' - r) b tx ltac:(lra) arg btx) as [w [bw ->]]. set (d := r' - r) in *.
    assert (hd : 0 <= d) by (unfold d; lra). set (a := term_log h j). pose proof (term_log_nonneg h j) as ha.
    fold a in ha, n.
    assert (step : term_log h (S j) = a + (lambdaE + c0 + lambda)) by (unfold a, term_log; rewrite S_INR; ring).
    pose proof (near_magnitude _ _ _ _ _ _ n) as mag. assert (bsum : Rabs (w + t2) <= t * d + (lambdaE + c0 + lambda)).
    { triangle. lra. } assert (htd : 0 <= t * d) by now apply Rmult_le_pos.
    pose proof (near_factor _ _ _ _ _ _ _ _ (exp (- d)) (w + t2) bsum htd ltac:(left; apply exp_pos) n) as moved.
    assert (lossE : Rabs (y * e * exp t2 + e2) <= Rabs y * Rabs e * exp lambda + wm).
    { triangle. apply Rplus_le_compat; [|easy]. rewrite !Rabs_mult, (Rabs_right (exp t2)) by (left; apply exp_pos).
      apply Rmult_le_compat_l; [apply Rmult_le_pos; apply Rabs_pos|]. apply exp_le. apply abs_between in bt2. lra. }
    pose proof (near_add_loss _ _ _ _ _ _ _ _ lossE moved) as total.
    constructor; [easy|intros q inq; pose proof (ab q inq); lra|].
    rewrite step, values_moved with (r := r), !values_pull_moved with (r := r) (r' := r'). fold d.
    replace (y * (exp (- d) * exp w + e) * exp t2 + e2) with (y * (exp (- d) * exp (w + t2)) + (y * e * exp t2 + e2))
      by (rewrite exp_plus; ring).
    replace (exp (- (k * d)) * values_pull k r l) with (exp (- d) * exp (t * d) * values_pull k r l).
    2:{ rewrite <- exp_plus. f_equal. f_equal. unfold fade. ring. } rewrite Rmult_1_l.
    eapply near_weaken; [| |apply total]; [lra|].
    (* the loss *)
    set (H := lambdaE + c0 + lambda) in *. destruct (values_pull_below l k r ltac:(lra) ab) as [hG GV].
    set (G := values_pull k r l) in *. pose proof (lost_values_nonneg l j K v) as hL. set (L := lost_values l j K) in *.
    pose proof (values_size_nonneg l) as hV. set (V := values_size l) in *. set (F := exp (- (k * d))).
    assert (F1 : 0 < F <= 1).
    { split; [apply exp_pos|]. apply exp_at_most_one. assert (0 <= k * d) by (apply Rmult_le_pos; lra). lra. }
    assert (ef : exp (- d) * exp (t * d + H) * (exp a * L) = exp (a + H) * (F * L)).
    { unfold F. replace (- (k * d)) with (- d + t * d) by (unfold fade; ring). rewrite !exp_plus. ring. } rewrite ef.
    set (A := exp (a + H)). assert (A1 : 1 <= A) by (apply exp_at_least_one; unfold H; lra).
    assert (under : Rabs y * Rabs e * exp lambda <= A * (Rabs e * (V + L))).
    { apply Rle_trans with (exp a * (V + L) * Rabs e * exp lambda).
      - apply Rmult_le_compat_r; [left; apply exp_pos|]. apply Rmult_le_compat_r; [apply Rabs_pos|].
        eapply Rle_trans; [apply mag|]. rewrite Rmult_plus_distr_l. apply Rplus_le_compat_r.
        apply Rmult_le_compat_l; [left; apply exp_pos|easy].
      - replace (exp a * (V + L) * Rabs e * exp lambda) with (exp a * exp lambda * (Rabs e * (V + L))) by ring.
        apply Rmult_le_compat_r; [apply Rmult_le_pos; [apply Rabs_pos|lra]|]. unfold A, H. rewrite <- exp_plus.
        apply exp_le. lra. }
    assert (wm <= A * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
    assert (enough : F * L + Rabs e * (V + L) + wm <= lost_values l (S j) (S K)).
    { pose proof (Rabs_pos e) as he.
      assert (direct : lost_values l 0 (S K)
        = V * (wx + weight_floor P) + size l * wm + (size l - 1) * wa + (INR K + 1) * wm).
      { unfold lost_values. rewrite S_INR. fold V. ring. }
      assert (full : lost_values l (S j) (S K) = lost_values l 0 (S K) + V * (2 * wx)).
      { unfold lost_values. fold V. ring. } assert (below : L <= lost_values l 0 K + V * (2 * wx)).
      { unfold L, lost_values. fold V. assert (0 <= V * (2 * wx)) by (apply Rmult_le_pos; lra). destruct j; lra. }
      assert (next : lost_values l 0 (S K) = lost_values l 0 K + wm) by (unfold lost_values; rewrite S_INR; ring).
      destruct (Req_dec e 0) as [->|lossy].
      - rewrite Rabs_R0. assert (F * L <= 1 * L) by (apply Rmult_le_compat_r; lra). lra.
      - pose proof (far_deviation M good d b hd arg (far lossy)) as small. fold k in small. assert (F <= / 8).
        { eapply Rle_trans; [|apply small]. apply exp_le. assert (0 <= k * d) by (apply Rmult_le_pos; lra). lra. }
        assert ((F + Rabs e) * L <= / 4 * L) by (apply Rmult_le_compat_r; lra).
        assert (Rabs e * V <= wx * V) by now apply Rmult_le_compat_r. pose proof (lost_values_nonneg l 0 K v).
        assert (0 <= V * wx) by (apply Rmult_le_pos; lra). lra. }
    assert (A * (F * L + Rabs e * (V + L) + wm) <= A * lost_values l (S j) (S K)) by (apply Rmult_le_compat_l; lra).
    lra.
  Qed.

  Theorem accumulated_near l r y h j K : accumulated M P l r y h j K -> values_state l r y h j K.
  Proof using good good_weights.
    induction 1 as [x v r b w t0 e y le arg ex bt be prod|l1 l2 r y1 y2 y h1 h2 j1 j2 K1 K2 _ s1 _ s2 add
                   |l r r' y b f y' h j K _ st le arg ex prod|l l' r y h j K _ [v ab n] same].
    - eapply item_values; eassumption.
    - eapply addition_values; eassumption.
    - eapply rescaled_values; eassumption.
    - constructor.
      + intros ->. now apply Permutation_sym, Permutation_nil in same.
      + intros q inq. apply ab. now apply Permutation_in with l'; [apply Permutation_sym|].
      + unfold values_pull, values_sum, lost_values, values_size, size in *.
        now rewrite <- !(sum_map_permutation _ l l' same), <- (Permutation_length same).
  Qed.
End Accumulated.
