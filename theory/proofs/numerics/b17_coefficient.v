(** * B17: the coefficient that a backward pass of attention works with, by any of the ways that are granted.

    Main results
    - [b17_logsumexp]     the L in use, saved or recomputed: within ell, the larger of the two errors
    - [b17_coefficient]   p_hat_j = p_j e^w + loss, |w| <= omega_j, |loss| <= e^omega_j lost: omega_j is the larger of the
                          errors by a log-sum-exp (b17_saved_logsumexp) and by a recomputed sum (b17_recomputed_sum)
    - [b17_argument]       |a_hat - (x - L)| <= e^(A lambda) (e + ell) + 2 e^lambda G(A - 1) |L| + t (L - x) + lost, t = G(A),
                           x within e and L within ell of what is exact; scaled before the difference or behind it
    - [b17_saved]          p_hat = p e^w + omega_x, |w| <= lambda_E + that, L - x = D + ln S
    - [saved_logsumexp]    ell of an L that was saved: (e^(lambda_L + r) - 1) |L| and what underflows
    - [b17_sink_delta]      delta over keys and sinks is delta over the keys, and so is O
    - [b17_sink_gradient]   what the sink's own score gets is - p delta
    - [b17_from_scores]     omega_j of b17_coefficient meets all that b17_query and b17_key ask of the coefficients
    - [b17_sink_query]      dq of the softmax over keys and sinks, by a kernel that sums over the keys alone

    Source: docs/tolerances/attention_backward.md; CoefficientLogs::of in numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import row tilted_row reduction b1_sum b5_logsumexp b6_entropy b9_attention added_terms
  carried_exponential b17_recomputed_sum b17_sums b17_delta b17_query.
Local Open Scope R_scope.

(** ** B17: a coefficient of attention as the exponential of a score less a log-sum-exp.

    G(k) = e^(k lambda) - 1, A the roundings of an argument, of which A - 1 may be a change of base.

    The larger of two ways to p, by this and by the sum (b17_recomputed_sum), is omega_j.

    Source: docs/tolerances/attention_backward.md; CoefficientLogs::through_logsumexp in
    numerics/rounding/rounding_attention_backward.cpp. *)

Section Saved.
  Context (M : arithmetic) (good : sound M) (A : R) (roundings : 1 <= A).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  Definition growth (k : R) : R := exp (k * lambda) - 1.

  (** A score or a log-sum-exp as it is brought to another base. *)
  Definition scaled (z y : R) : Prop := approximates ((A - 1) * lambda) wm z y.

  Inductive difference_from (x L : R) : R -> Prop :=
  | scaled_first x1 L1 a : scaled x x1 -> scaled L L1 -> computed_sum M (x1 - L1) a -> difference_from x L a
  | scaled_behind d a : computed_sum M (x - L) d -> scaled d a -> difference_from x L a.

  (** e, ell: what the score and the log-sum-exp in use err by. *)
  Definition argument_error (e ell L gap : R) : R :=
    exp (A * lambda) * (e + ell) + 2 * exp lambda * growth (A - 1) * Rabs L + growth A * gap
    + exp (A * lambda) * (3 * wm + wa).

  Local Ltac facts :=
    sound_facts good;
    assert (fA : 0 <= (A - 1) * lambda) by (apply Rmult_le_pos; lra);
    assert (eA : A * lambda = (A - 1) * lambda + lambda) by ring.

  Theorem b17_argument x L x' L' e ell a :
    x <= L -> Rabs (x' - x) <= e -> Rabs (L' - L) <= ell -> difference_from x' L' a ->
    Rabs (a - (x - L)) <= argument_error e ell L (L - x).
  Proof using good roundings.
    intros below bx bL form. facts. set (K := exp (A * lambda)). assert (K1 : 1 <= K) by (apply exp_at_least_one; lra).
    set (B := exp lambda). assert (B1 : 1 <= B) by now apply exp_at_least_one.
    (* the common shape: x' e^s - L' e^r, and what is lost *)
    assert (main : forall s r r0, Rabs s <= A * lambda -> Rabs r <= A * lambda -> Rabs r0 <= lambda ->
      Rabs (exp s - exp r) <= 2 * growth (A - 1) * exp r0 ->
      Rabs (x' * exp s - L' * exp r - (x - L)) <= K * (e + ell) + 2 * B * growth (A - 1) * Rabs L + growth A * (L - x)).
    { intros s r r0 bs br br0 close.
      replace (x' * exp s - L' * exp r - (x - L))
        with ((x' - x) * exp s + - ((L' - L) * exp r) + L * (exp s - exp r) + (x - L) * (exp s - 1)) by ring.
      triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|].
      eapply Rle_trans; [apply Rplus_le_compat_r, Rplus_le_compat_r, Rabs_triang|].
      rewrite Rabs_Ropp, !Rabs_mult, (Rabs_right (exp s)), (Rabs_right (exp r)) by (left; apply exp_pos).
      rewrite (Rabs_left1 (x - L)) by lra. assert (es : exp s <= K) by (apply exp_le; apply abs_between in bs; lra).
      assert (er : exp r <= K) by (apply exp_le; apply abs_between in br; lra).
      assert (e0 : exp r0 <= B) by (apply exp_le; apply abs_between in br0; lra). pose proof (exp_pos s).
      pose proof (exp_pos r). pose proof (Rabs_pos (x' - x)). pose proof (Rabs_pos (L' - L)).
      assert (Rabs (x' - x) * exp s <= e * K) by monotone. assert (Rabs (L' - L) * exp r <= ell * K) by monotone.
      assert (gA : 0 <= growth (A - 1)) by (unfold growth; pose proof (exp_at_least_one _ fA); lra).
      assert (Rabs L * Rabs (exp s - exp r) <= Rabs L * (2 * growth (A - 1) * B)).
      { apply Rmult_le_compat_l; [monotone|]. eapply Rle_trans; [apply close|]. monotone. }
      assert (- (x - L) * Rabs (exp s - 1) <= (L - x) * growth A).
      { replace (- (x - L)) with (L - x) by ring. apply Rmult_le_compat_l; [lra|]. unfold growth.
        now apply expm1_abs. }
      lra. }
    unfold argument_error. fold K. fold B.
    destruct form as [x1 L1 a [t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]] [t3 [e3 [b3 [c3 ->]]]]
                     |d a [t3 [e3 [b3 [c3 ->]]]] [t1 [e1 [b1 [c1 ->]]]]];
      apply abs_between in b1 as r1; apply abs_between in b3 as r3.
    - apply abs_between in b2 as r2.
      assert (apart : Rabs (exp (t1 + t3) - exp (t2 + t3)) <= 2 * growth (A - 1) * exp t3).
      { rewrite !exp_plus.
        replace (exp t1 * exp t3 - exp t2 * exp t3) with (((exp t1 - 1) - (exp t2 - 1)) * exp t3) by ring.
        rewrite Rabs_mult, (Rabs_right (exp t3)) by (left; apply exp_pos). apply Rmult_le_compat_r; [monotone|].
        unfold Rminus at 1. triangle. rewrite Rabs_Ropp. pose proof (expm1_abs t1 _ b1).
        pose proof (expm1_abs t2 _ b2). unfold growth. lra. }
      pose proof (main (t1 + t3) (t2 + t3) t3 ltac:(apply Rabs_le; lra) ltac:(apply Rabs_le; lra) b3 apart) as close.
      replace ((x' * exp t1 + e1 - (L' * exp t2 + e2)) * exp t3 + e3 - (x - L))
        with (x' * exp (t1 + t3) - L' * exp (t2 + t3) - (x - L) + ((e1 - e2) * exp t3 + e3)) by (rewrite !exp_plus; ring).
      triangle. apply Rplus_le_compat; [easy|]. triangle.
      rewrite Rabs_mult, (Rabs_right (exp t3)) by (left; apply exp_pos). assert (Rabs (e1 - e2) * exp t3 <= 2 * wm * K).
      { apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos| |apply exp_le; lra]. unfold Rminus. triangle.
        rewrite Rabs_Ropp. lra. }
      assert (1 * wa <= K * wa) by monotone. assert (0 <= K * wm) by monotone. lra.
    - assert (none : Rabs (exp (t3 + t1) - exp (t3 + t1)) <= 2 * growth (A - 1) * exp 0).
      { rewrite Rminus_diag_eq, Rabs_R0, exp_0 by easy. unfold growth. pose proof (exp_at_least_one _ fA). lra. }
      pose proof (main (t3 + t1) (t3 + t1) 0 ltac:(apply Rabs_le; lra) ltac:(apply Rabs_le; lra)
                    ltac:(rewrite Rabs_R0; lra) none) as close.
      replace (((x' - L') * exp t3 + e3) * exp t1 + e1 - (x - L))
        with (x' * exp (t3 + t1) - L' * exp (t3 + t1) - (x - L) + (e3 * exp t1 + e1)) by (rewrite !exp_plus; ring).
      triangle. apply Rplus_le_compat; [easy|]. triangle.
      rewrite Rabs_mult, (Rabs_right (exp t1)) by (left; apply exp_pos). assert (Rabs e3 * exp t1 <= wa * K).
      { apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|apply exp_le; lra]. }
      assert (1 * wm <= K * wm) by monotone. lra.
  Qed.

  (** ** The exponential, of a score of the row *)

  Context (m : R) (logits : list R) (max : is_maximum m logits).
  Notation L := (ln (partition_function logits)).

  Definition through_logsumexp (e ell D : R) : R := argument_error e ell L (D + ln (weight_sum m logits)) + lambdaE.

  Theorem b17_saved x x' L' e ell a p :
    In x logits -> Rabs (x' - x) <= e -> Rabs (L' - L) <= ell -> difference_from x' L' a -> computed_exp M (- a) p ->
    approximates (through_logsumexp e ell (m - x)) (exp_floor M) (coefficient logits x) p.
  Proof using good roundings max.
    intros inx bx bL form [t [e0 [bt [be [_ [_ ->]]]]]]. assert (visible : logits <> nil) by now apply (in_not_nil x).
    pose proof (logsumexp_from_statistics m logits max) as eL. pose proof (S_at_least_one m logits max) as S1.
    pose proof (ln_le 1 (weight_sum m logits) ltac:(lra) S1) as lnS. rewrite ln_1 in lnS.
    pose proof (proj2 max x inx) as hx. assert (gap : L - x = m - x + ln (weight_sum m logits)) by (rewrite eL; ring).
    pose proof (b17_argument x L x' L' e ell a ltac:(lra) bx bL form) as close. rewrite gap in close.
    exists (a - (x - L) + t), e0. repeat split; [|easy|].
    - unfold through_logsumexp. triangle. lra.
    - rewrite (coefficient_from_weight m logits max), Ropp_involutive.
      replace (exp (x - m) / weight_sum m logits) with (exp (x - L)).
      + rewrite <- exp_plus. f_equal. f_equal. ring.
      + rewrite eL. replace (x - (m + ln (weight_sum m logits))) with (x - m + - ln (weight_sum m logits)) by ring.
        rewrite exp_plus, exp_Ropp, exp_ln by lra. easy.
  Qed.

  (** Saved in a format of log error lambda_L, and read with r: a_L is their sum. *)
  Theorem saved_logsumexp a_L lost L' :
    0 <= a_L -> approximates a_L lost L L' -> Rabs (L' - L) <= (exp a_L - 1) * Rabs L + lost.
  Proof using.
    intros ha [t [e [bt [be ->]]]]. replace (L * exp t + e - L) with (L * (exp t - 1) + e) by ring. triangle.
    apply Rplus_le_compat; [|easy]. rewrite Rabs_mult, Rmult_comm.
    apply Rmult_le_compat_r; [monotone|now apply expm1_abs].
  Qed.
End Saved.

Lemma approximates_weaken a a' l l' x y : a <= a' -> l <= l' -> approximates a l x y -> approximates a' l' x y.
Proof. intros ha hl [t [e [bt [be ->]]]]. exists t, e. repeat split; lra. Qed.

Section Coefficient.
  Context (M : arithmetic) (good : sound M) (A : R) (roundings : 1 <= A) (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) (s : R)
    (h j : nat) (hs : sum_of_row M 0 m' computed_scores s h j) (enough : recomputed_lost M keys h j < 1) (r : R)
    (loses : 0 <= r) (leaves : roundoff M + r < 1).
  (** How L is saved and read: a log error, and what underflows. *)
  Context (a_L lost_L : R) (a_L_nonneg : 0 <= a_L).
  Notation L := (ln (partition_function scores)).

  Inductive logsumexp_in_use : R -> Prop :=
  | logsumexp_saved L' : approximates a_L lost_L L L' -> logsumexp_in_use L'
  | logsumexp_recomputed y L' :
      Rabs (y - ln s) <= log_error M * Rabs (ln s) + sum_floor M -> rounded_sum M (m' + y) L' -> logsumexp_in_use L'.

  Definition logsumexp_error : R :=
    Rmax ((exp a_L - 1) * Rabs L + lost_L) (recomputed_logsumexp_error M keys m error largest h j).

  Theorem b17_logsumexp L' : logsumexp_in_use L' -> Rabs (L' - L) <= logsumexp_error.
  Proof using good max max' errs hs enough a_L_nonneg.
    intros [L1 saved|y L1 hy sum].
    - eapply Rle_trans; [now apply saved_logsumexp with (a_L := a_L) (lost := lost_L)|]. apply Rmax_l.
    - eapply Rle_trans; [|apply Rmax_r]. now apply (recomputed_logsumexp M good keys m m' max max' error largest errs s h j hs enough y).
  Qed.

  (** The score may be computed again, another way. *)
  Inductive computed_coefficient (a : key) : R -> Prop :=
  | by_logsumexp x' L' b p :
      Rabs (x' - score a) <= error a -> logsumexp_in_use L' -> difference_from M A x' L' b -> computed_exp M (- b) p ->
      computed_coefficient a p
  | by_sum k v p :
      (k <= j)%nat -> carried M k (m' - computed_score a) v -> quotient_by_sum M r v s p -> computed_coefficient a p.

  (** omega_j *)
  Definition coefficient_log (a : key) : R :=
    Rmax (through_logsumexp M A m scores (error a) logsumexp_error (m - score a))
         (quotient_log M keys m error largest h j r a).

  Lemma coefficient_log_nonneg a : In a keys -> 0 <= coefficient_log a.
  Proof using good max max' errs hs enough loses leaves.
    intros ina. eapply Rle_trans; [|apply Rmax_r]. unfold quotient_log.
    pose proof (item_above M good keys m m' max max' error largest errs s h j hs a ina) as i0.
    pose proof (carried_nonneg M good j) as [c0 _]. pose proof (exp_unit_nonneg M good).
    pose proof (rho_nonneg M good keys m m' max max' error largest errs s h j hs enough).
    pose proof (quotient_unit_nonneg M r good loses leaves). pose proof (unit_nonneg M good). lra.
  Qed.

  Theorem b17_coefficient a p :
    In a keys -> computed_coefficient a p ->
    approximates (coefficient_log a) (exp (coefficient_log a) * coefficient_lost M j) (weight keys m a) p.
  Proof using good roundings max max' errs hs enough loses leaves a_L_nonneg.
    intros ina form. pose proof (carried_nonneg M good j) as [_ l0].
    assert (fx : 0 <= exp_floor M) by (unfold sound in good; lra).
    assert (fm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (above : 0 <= coefficient_log a /\ exp_floor M <= coefficient_lost M j).
    { split; [now apply coefficient_log_nonneg|]. unfold coefficient_lost, carried_loss. pose proof (pos_INR j).
      assert (0 <= INR j * exp_floor M) by monotone. assert (0 <= INR j * product_floor M) by monotone. lra. }
    destruct above as [w0 lost0]. destruct form as [x' L' b p bx inuse arg ex|k v p early num ratio].
    - pose proof (b17_logsumexp L' inuse) as bL.
      pose proof (b17_saved M good A roundings m scores max (score a) x' L' (error a) logsumexp_error b p
                    (in_map _ _ _ ina) bx bL arg ex) as close.
      rewrite (coefficient_from_weight m scores max) in close.
      replace (score a - m) with (- (m - score a)) in close by ring.
      eapply approximates_weaken; [apply Rmax_l| |exact close]. pose proof (exp_at_least_one _ w0).
      apply Rle_trans with (1 * coefficient_lost M j); [lra|]. monotone.
    - pose proof (b17_quotient M good keys m m' max max' error largest errs s h j hs enough r loses leaves a k v p ina
        early num ratio) as close.
      eapply approximates_weaken; [apply Rmax_r| |exact close]. apply Rmult_le_compat_r; [lra|]. apply exp_le.
      apply Rmax_r.
  Qed.
End Coefficient.

(** ** B17 from the scores to dq, of a row that may hold a sink.

    A sink is an item of the softmax that has no value: its g is 0 exactly. Without sinks [b17_sink_query] is b17_query from the scores on.

    Source: docs/tolerances/attention_backward.md, "A sink"; attention_backward_pairs in
    numerics/rounding/rounding_attention_backward.cpp, where a sink is a pair whose magnitude and sum are 0. *)

Lemma sum_of_zeros {A : Type} (l : list A) (f : A -> R) : (forall a, In a l -> f a = 0) -> sum (map f l) = 0.
Proof.
  induction l as [|a l IH]; intros none; [easy|]. change (f a + sum (map f l) = 0).
  rewrite (none a), IH; [ring| |now left]. intros b inb. apply none. now right.
Qed.

Section Valueless.
  Context {A B : Type} (seen sinks : list A) (components : list B) (dO : B -> R) (v : A -> B -> R) (p : A -> R).
  Hypothesis valueless : forall a c, In a sinks -> v a c = 0.

  Lemma sink_product a : In a sinks -> value_product components dO v a = 0.
  Proof using valueless. intros ina. apply sum_of_zeros. intros c _. rewrite valueless by easy. ring. Qed.

  Let nothing (f : A -> R) : (forall a, In a sinks -> f a = 0) -> sum (map f (seen ++ sinks)) = sum (map f seen).
  Proof using. intros none. rewrite map_app, sum_app, (sum_of_zeros sinks f none). ring. Qed.

  Theorem b17_sink_delta :
    delta (seen ++ sinks) components dO v p = delta seen components dO v p /\
    forall c, output (seen ++ sinks) v p c = output seen v p c.
  Proof using valueless.
    split; [|intros c]; apply nothing; intros a ina; [rewrite sink_product by easy|rewrite valueless by easy]; ring.
  Qed.

  Theorem b17_sink_gradient a :
    In a sinks -> pair_gradient (seen ++ sinks) components dO v p a = - (p a * delta seen components dO v p).
  Proof using valueless.
    intros ina. unfold pair_gradient. rewrite sink_product, (proj1 b17_sink_delta) by easy. ring.
  Qed.
End Valueless.

Section FromScores.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Context (A : R) (roundings : 1 <= A).
  (** Keys and sinks may agree in their scores: what tells them apart is their index. *)
  Context {I : Type} (seen sinks : list I) (row : I -> key) (m m' : R).
  Notation items := (map row (seen ++ sinks)).
  Notation scores := (map score items).
  Notation computed_scores := (map computed_score items).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a items -> Rabs (computed_score a - score a) <= error a /\ error a <= largest) (s : R)
    (h_sum j : nat) (hs : sum_of_row M 0 m' computed_scores s h_sum j) (enough : recomputed_lost M items h_sum j < 1)
    (r_div a_L lost_L : R) (loses : 0 <= r_div) (leaves : roundoff M + r_div < 1) (a_L_nonneg : 0 <= a_L).

  (** omega_j, and what underflows *)
  Notation omega := (fun i => coefficient_log M A items m error largest h_sum j r_div a_L lost_L (row i)).
  Notation lost := (coefficient_lost M j).
  Notation p := (fun i => weight items m (row i)).
  Context (p_hat p_met : I -> R) (unit_P floor_P : R)
    (computed : forall a, In a seen -> computed_coefficient M A items m' error s j r_div a_L lost_L (row a) (p_hat a) /\ approximates unit_P floor_P (p_hat a) (p_met a)).

  Theorem b17_from_scores :
    0 <= lost /\ forall a, In a seen ->
    0 <= p a /\ 0 <= omega a /\ approximates (omega a) (exp (omega a) * lost) (p a) (p_hat a) /\
    approximates unit_P floor_P (p_hat a) (p_met a).
  Proof using good roundings max max' errs hs enough loses leaves a_L_nonneg computed.
    pose proof (carried_nonneg M good j) as [_ l0]. assert (fm : 0 <= product_floor M) by (unfold sound in good; lra).
    split; [unfold coefficient_lost; lra|]. intros a ina.
    assert (inr : In (row a) items) by (apply in_map, in_or_app; now left). destruct (computed a ina) as [form stored].
    split; [left; apply (weight_pos items m m' max max')|]. split; [|split; [|easy]].
    - now apply (coefficient_log_nonneg M good A items m m' max max' error largest errs s h_sum j hs enough r_div loses leaves a_L lost_L).
    - now apply (b17_coefficient M good A roundings items m m' max max' error largest errs s h_sum j hs enough r_div loses leaves a_L lost_L).
  Qed.

  (** ** dq: v, k, the products and delta as in b17_query, over the keys alone *)

  Context {B : Type} (components : list B) (visible : components <> []) (dO : B -> R) (v : I -> B -> R) (k : I -> R)
    (scale : R) (valueless : forall a c, In a sinks -> v a c = 0) (r lt lambda_O unit_dS floor_dS : R) (d h : nat)
    (losses : 0 <= r /\ 0 <= lt /\ 0 <= unit_P /\ 0 <= floor_P /\ 0 <= lambda_O /\ 0 <= unit_dS /\ 0 <= floor_dS)
    (g_hat dS_hat : I -> R) (delta_hat z : R)
    (products : forall a, In a seen -> exists h', (h' <= d)%nat /\ added M (2 * r + lambda) lt (map (fun c => dO c * v a c) components) (g_hat a) h')
    (common : computed_delta M seen components dO v p p_met r lt lambda_O d h g_hat delta_hat)
    (gradients : forall a, In a seen -> computed_pair M p_hat unit_dS floor_dS g_hat delta_hat a (dS_hat a))
    (total : scaled_sum M seen r lt h dS_hat k scale z).

  Definition sink_rounding : R :=
    query_rounding M seen components dO v k scale p omega lost r lt unit_P floor_P lambda_O unit_dS floor_dS d h.

  Theorem b17_sink_query u_out floor_out dq :
    rounded_output u_out floor_out z dq ->
    let exact := scale * sum (map (fun a => pair_gradient (seen ++ sinks) components dO v p a * k a) seen) in
    Rabs (dq - exact)
    <= sink_rounding + u_out * (Rabs exact + sink_rounding) + (query_loss M seen k scale lt h * (1 + u_out) + floor_out).
  Proof using All.
    intros out exact. destruct b17_from_scores as [hl all].
    assert (same : exact = scale * sum (map (fun a => pair_gradient seen components dO v p a * k a) seen)).
    { unfold exact, pair_gradient. now rewrite (proj1 (b17_sink_delta seen sinks components dO v p valueless)). }
    rewrite same.
    apply (b17_query M good seen components visible dO v k scale p p_hat p_met omega lost r lt unit_P floor_P lambda_O unit_dS
             floor_dS d h ltac:(tauto) all g_hat products delta_hat common dS_hat z gradients u_out floor_out dq total out).
  Qed.
End FromScores.
