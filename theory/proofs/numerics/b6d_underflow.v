(** * B6d with underflow: the entropy from coefficients of which some, or parts of some, are lost.

    Main results
    - [moved_logarithm]            |(a + e) ln q - a ln q'| <= |e| (X + B + lambda + 1) for q = (b + e) e^r, q' = b e^r, a <= b
    - [lost_term_near]             one term: the error of [coefficient_term_near], and [term_loss] for what is lost
    - [b6d_with_underflow]         |H_hat - H_eps| <= the right-hand side of [b6d_coefficients] + e^(h lambda) n (term_loss + omega_a)
    - [b6d_of_lost_coefficients]   the same with B2's coefficients: C = element_log, f = element_floor
    - [epsilon_gap_by_jensen]   0 <= H - H_eps <= ln (1 + eps n) for any eps >= 0 and n items, as epsilon_entropy_gap of numerics/ has it; [epsilon_gap] has 1e-9 n
    - [b11_computed]            -sum p_hat ln (p_hat + eps) as computed, with what underflows, against H itself: the right-hand side of
                                [b6d_of_lost_coefficients] and that gap

    A coefficient that underflow moves by at most f moves its term by f (R + 1), R a bound of the logarithms' sizes: each number
    of the accumulator has a logarithm within +-X. A coefficient of 0 has the term 0.

    The sum with eps is no less than eps and loses nothing; without eps there is no addition.

    Source: docs/tolerances.md, B6d; entropy_of_coefficients_error in numerics/rounding/rounding_entropy.cpp. *)

From softcheck Require Import softmax adaptive_temperature quartic.
From softcheck.numerics Require Import row score_error added_terms constants tilted_row reduction b1_sum b2_element
  b5_logsumexp b6_entropy b6d_coefficients.
Local Open Scope R_scope.

(** The same operations where nothing underflows. *)
Definition without_underflow (M : arithmetic) : arithmetic := {|
  roundoff := roundoff M; exp_error := exp_error M; log_error := log_error M; argument_unit := argument_unit M;
  argument_step := argument_step M; sum_floor := 0; product_floor := 0; exp_floor := 0; exp_cutoff := exp_cutoff M |}.

Lemma without_underflow_sound M : sound M -> sound (without_underflow M).
Proof. unfold sound, slope. cbn. lra. Qed.

(** An error of at most k |L| + f is one relative to L and one that is not. *)
Lemma error_in_parts k f L d :
  0 <= k -> 0 <= f -> Rabs d <= k * Rabs L + f -> exists a b, Rabs a <= k /\ Rabs b <= f /\ d = L * a + b.
Proof.
  intros hk hf bound. destruct (Req_dec L 0) as [->|some].
  - exists 0, d. rewrite !Rabs_R0 in *. repeat split; lra.
  - assert (pos : 0 < Rabs L) by now apply Rabs_pos_lt. assert (kL : 0 <= k * Rabs L) by monotone.
    assert (split : exists c, Rabs c <= k * Rabs L /\ Rabs (d - c) <= f).
    { apply abs_between in bound. destruct (Rle_dec d (k * Rabs L)) as [|]; [destruct (Rle_dec (- (k * Rabs L)) d) as [|]|].
      - exists d. split; apply Rabs_le; lra.
      - exists (- (k * Rabs L)). split; apply Rabs_le; lra.
      - exists (k * Rabs L). split; apply Rabs_le; lra. }
    destruct split as [c [bc rest]]. exists (c / L), (d - c). split; [|split; [easy|field; easy]]. unfold Rdiv.
    rewrite Rabs_mult, Rabs_inv. apply Rmult_le_reg_r with (Rabs L); [easy|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra.
    exact bc.
Qed.

(** By the signs, what e takes of the factor and of the logarithm is never added. *)
Theorem moved_logarithm a b e r X B lambda :
  0 < a <= b -> 0 < b + e -> Rabs r <= lambda -> ln b <= B -> 0 <= B -> 0 <= X -> Rabs (ln ((b + e) * exp r)) <= X ->
  Rabs ((a + e) * ln ((b + e) * exp r) - a * ln (b * exp r)) <= Rabs e * (X + B + lambda + 1).
Proof.
  intros [ha hab] hc br hB hB0 hX hq. assert (hb : 0 < b) by lra. pose proof (Rabs_pos r) as hl.
  apply abs_between in br, hq.
  assert (lnq : ln ((b + e) * exp r) = ln (b + e) + r) by (rewrite ln_mult, ln_exp; [easy|easy|monotone]).
  rewrite (ln_mult b), ln_exp by (try apply exp_pos; easy). set (Q := ln ((b + e) * exp r)) in *.
  set (g := ln b - ln (b + e)) in *.
  replace ((a + e) * Q - a * (ln b + r)) with (e * Q - a * g) by (unfold g; rewrite lnq; ring).
  destruct (Rle_dec 0 e) as [up|down].
  - rewrite (Rabs_right e) by lra. assert (g0 : g <= 0) by (unfold g; pose proof (ln_le b (b + e) hb ltac:(lra)); lra).
    assert (moved : b * - g <= e).
    { pose proof (ln_below_tangent ((b + e) / b) ltac:(apply Rdiv_lt_0_compat; lra)) as tangent.
      unfold Rdiv in tangent. rewrite ln_mult, ln_Rinv in tangent by (try apply Rinv_0_lt_compat; lra).
      replace ((b + e) * / b - 1) with (e * / b) in tangent by (field; lra).
      apply Rle_trans with (b * (e * / b)); [apply Rmult_le_compat_l; unfold g; lra|right; field; lra]. }
    assert (a * - g <= b * - g) by monotone. assert (0 <= a * - g) by monotone. assert (e * Q <= e * X) by monotone.
    assert (e * - X <= e * Q) by monotone. assert (0 <= e * (B + lambda)) by monotone. apply Rabs_le. lra.
  - apply Rnot_le_lt in down. rewrite (Rabs_left e) by lra. set (x := - e). assert (hx : 0 < x) by (unfold x; lra).
    assert (g_is : g = ln b - ln (b - x)) by (unfold g, x; do 2 f_equal; ring).
    replace (b + e) with (b - x) in lnq, hc by (unfold x; ring). replace e with (- x) by (unfold x; ring).
    assert (g0 : 0 <= g) by (rewrite g_is; pose proof (ln_le (b - x) b hc ltac:(lra)); lra).
    assert (moved : (b - x) * g <= x).
    { pose proof (ln_below_tangent (b / (b - x)) ltac:(apply Rdiv_lt_0_compat; lra)) as tangent.
      unfold Rdiv in tangent. rewrite ln_mult, ln_Rinv in tangent by (try apply Rinv_0_lt_compat; lra).
      replace (b * / (b - x) - 1) with (x * / (b - x)) in tangent by (field; lra).
      apply Rle_trans with ((b - x) * (x * / (b - x))); [monotone|right; field; lra]. }
    assert (a * g <= b * g) by monotone. assert (0 <= a * g) by monotone. assert (x * - Q <= x * X) by monotone.
    assert (bound : x * (Q + g) <= x * (B + lambda)) by monotone. assert (0 <= x * (B + lambda)) by monotone.
    assert (0 <= x * X) by monotone. apply Rabs_le. lra.
Qed.

(** What is lost of a coefficient of which nothing is left. *)
Lemma lost_logarithm a b X B f :
  0 < a <= f -> a <= b -> ln b <= B -> 0 <= B -> 0 <= X -> exp (- X) <= f -> Rabs (a * ln b) <= f * (X + B + 1).
Proof.
  intros [ha haf] hab hB hB0 hX tiny. pose proof (ln_le a b ha hab) as low. apply Rabs_le.
  assert (up : a * ln b <= a * B) by monotone. assert (a * B <= f * B) by monotone. assert (0 <= f * B) by monotone.
  assert (0 <= f * X) by monotone. assert (down : a * ln a <= a * ln b) by monotone.
  assert (lnf : - X <= ln f) by (rewrite <- (ln_exp (- X)); apply ln_le; [monotone|easy]).
  pose proof (ln_below_tangent (f / a) ltac:(apply Rdiv_lt_0_compat; lra)) as tangent. unfold Rdiv in tangent.
  rewrite ln_mult, ln_Rinv in tangent by (try apply Rinv_0_lt_compat; lra). assert (a * (ln f - ln a) <= f - a).
  { apply Rle_trans with (a * (f * / a - 1)); [monotone|right; field; lra]. } assert (a * - X <= a * ln f) by monotone.
  assert (a * X <= f * X) by monotone. lra.
Qed.

Section Underflow.
  Context (M : arithmetic) (good : sound M) (m : R) (logits : list R) (C f X eps : R) (max : is_maximum m logits)
    (errs : 0 <= C) (loses : 0 <= f) (sizes : 0 <= X).
  (** What may be lost is not less than the smallest number. *)
  Context (smallest : f = 0 \/ exp (- X) <= f) (small : 0 <= eps).
  Notation t := (slope M).
  Notation lambda := (unit M).
  Notation El := (log_error M).
  Notation wm := (product_floor M).
  Notation p x := (coefficient logits x).

  (** A term as computed of a coefficient p_hat: [coefficient_term], and what underflow takes. *)
  Definition lost_product (p_hat z : R) : Prop :=
    (p_hat = 0 /\ z = 0) \/
    exists v r q y, Rabs v <= lambda /\ Rabs r <= lambda /\ q = (p_hat + eps * exp v) * exp r /\ 0 < q /\ Rabs (ln q) <= X /\
      computed_log M q y /\ computed_product M (p_hat * y) z.
  Definition lost_term (x z : R) : Prop :=
    exists w e, Rabs w <= C + t * (m - x) /\ Rabs e <= f /\ lost_product (p x * exp w + e) z.

  Definition logarithm_size : R := X + (C + lambda + eps) + lambda + 1.
  Definition term_loss : R := (f * logarithm_size * (1 + El) + (exp C + f) * wm) * exp lambda + wm.

  Local Ltac facts :=
    pose proof (slope_nonneg M good) as ht; assert (ht4 : t <= / 4) by apply good; pose proof (unit_nonneg M good) as hl;
    assert (hE : 0 <= El) by apply good; assert (hm : 0 <= wm) by (unfold sound in good; lra).

  (** p e^w <= e^C. *)
  Lemma moved_coefficient_below x w : In x logits -> Rabs w <= C + t * (m - x) -> p x * exp w <= exp C.
  Proof using good max.
    intros inx bw. facts. pose proof (deviation_nonneg m logits max x inx) as hd.
    pose proof (S_at_least_one m logits max) as S1. rewrite (coefficient_from_weight m logits max).
    apply abs_between in bw. unfold Rdiv. assert (inv : 0 < / weight_sum m logits <= 1).
    { split; [monotone|]. rewrite <- Rinv_1. monotone. } assert (t * (m - x) <= / 4 * (m - x)) by monotone.
    assert (exp (x - m) * exp w <= exp C) by (rewrite <- exp_plus; apply exp_le; lra).
    pose proof (Rmult_lt_0_compat _ _ (exp_pos (x - m)) (exp_pos w)).
    replace (exp (x - m) * / weight_sum m logits * exp w) with (exp (x - m) * exp w * / weight_sum m logits) by ring.
    rewrite <- (Rmult_1_r (exp C)). monotone.
  Qed.

  Lemma logarithm_below a v : 0 < a <= exp C -> Rabs v <= lambda -> ln (a + eps * exp v) <= C + lambda + eps.
  Proof using good errs small.
    intros [ha below] bv. facts. apply abs_between in bv. pose proof (exp_pos v). assert (0 <= eps * exp v) by monotone.
    assert (up : a + eps * exp v <= exp (C + lambda) * (1 + eps)).
    { assert (exp C <= exp (C + lambda)) by monotone. assert (exp v <= exp (C + lambda)) by monotone.
      assert (eps * exp v <= eps * exp (C + lambda)) by monotone. lra. }
    pose proof (ln_le (a + eps * exp v) _ ltac:(lra) up) as le.
    rewrite ln_mult, ln_exp in le by (try apply exp_pos; lra). pose proof (ln_below_tangent (1 + eps) ltac:(lra)). lra.
  Qed.

  Lemma term_loss_nonneg : 0 <= f * logarithm_size * (1 + El) /\ 0 <= (exp C + f) * wm.
  Proof using good errs loses sizes small.
    facts. pose proof (exp_pos C). split; [|monotone].
    apply Rmult_le_pos; [apply Rmult_le_pos; unfold logarithm_size; lra|lra].
  Qed.

  (** The term of the same roundings where nothing underflows. *)
  Lemma term_without_underflow x w v r rho s :
    In x logits -> Rabs w <= C + t * (m - x) -> Rabs v <= lambda -> Rabs r <= lambda -> Rabs rho <= El -> Rabs s <= lambda ->
    coefficient_term (without_underflow M) m logits C eps x
      (p x * exp w * (ln ((p x * exp w + eps * exp v) * exp r) * (1 + rho)) * exp s).
  Proof using.
    intros inx bw bv br brho bs.
    exists w, v, ((p x * exp w + eps * exp v) * exp r), (ln ((p x * exp w + eps * exp v) * exp r) * (1 + rho)).
    split; [exact bw|]. split; [exact bv|]. split; [|split].
    - exists r, 0. cbn. rewrite Rabs_R0. repeat split; try lra. exact br.
    - unfold computed_log. cbn. set (L := ln _). replace (L * (1 + rho) - L) with (rho * L) by ring.
      rewrite Rabs_mult, Rplus_0_r. apply Rmult_le_compat_r; [monotone|exact brho].
    - exists s, 0. cbn. rewrite Rabs_R0. repeat split; try lra. exact bs.
  Qed.

  Lemma near_term_without_underflow x z' :
    In x logits -> coefficient_term (without_underflow M) m logits C eps x z' ->
    Rabs (z' - p x * ln (p x + eps))
    <= p x * (term_bound M C (m - x) (own_log logits eps x) - own_log logits eps x).
  Proof using good max errs small.
    intros inx term. exact (coefficient_term_near (without_underflow M) (without_underflow_sound M good) (conj eq_refl eq_refl) m logits C eps max errs small x z' inx term).
  Qed.

  (** A coefficient of which nothing is left has the term 0. *)
  Lemma nothing_left x w e :
    In x logits -> Rabs w <= C + t * (m - x) -> Rabs e <= f -> p x * exp w + e = 0 ->
    exists z', coefficient_term (without_underflow M) m logits C eps x z' /\ Rabs (0 - z') <= term_loss.
  Proof using good max errs loses sizes smallest small.
    intros inx bw be nothing. facts. pose proof term_loss_nonneg as [loss0 loss1].
    pose proof (exp_at_least_one lambda hl) as el.
    assert (pos : 0 < p x * exp w) by (apply Rmult_lt_0_compat; [now apply (coefficient_positive m logits max)|apply exp_pos]).
    pose proof (moved_coefficient_below x w inx bw) as below. set (a := p x * exp w) in *.
    assert (z0 : Rabs 0 <= lambda) by (now rewrite Rabs_R0). exists (a * (ln ((a + eps * exp 0) * exp 0) * (1 + 0)) * exp 0).
    split; [apply (term_without_underflow x w 0 0 0 0); try easy; now rewrite Rabs_R0|].
    assert (af : a <= f) by (apply abs_between in be; lra). assert (tiny : exp (- X) <= f) by monotone.
    assert (0 <= eps * exp 0) by monotone. pose proof (logarithm_below a 0 ltac:(lra) z0) as lnb.
    pose proof (lost_logarithm a (a + eps * exp 0) X (C + lambda + eps) f ltac:(lra) ltac:(lra) lnb ltac:(lra) sizes tiny) as
      lost.
    set (b := a + eps * exp 0) in *.
    replace (0 - a * (ln (b * exp 0) * (1 + 0)) * exp 0) with (- (a * ln b)) by (rewrite exp_0, (Rmult_1_r b); ring).
    rewrite Rabs_Ropp.
    assert (f * (X + (C + lambda + eps) + 1) <= f * logarithm_size) by (apply Rmult_le_compat_l; unfold logarithm_size; lra).
    assert (f * logarithm_size <= f * logarithm_size * (1 + El)).
    { apply grown; [|lra]. apply Rmult_le_pos; unfold logarithm_size; lra. }
    assert (f * logarithm_size * (1 + El) <= (f * logarithm_size * (1 + El) + (exp C + f) * wm) * exp lambda).
    { eapply Rle_trans; [|apply grown; lra]. lra. } unfold term_loss. lra.
  Qed.

  (** By how much a term that loses something lies from the one that does not. *)
  Lemma lost_term_moves x z :
    In x logits -> lost_term x z -> exists z', coefficient_term (without_underflow M) m logits C eps x z' /\ Rabs (z - z') <= term_loss.
  Proof using good max errs loses sizes smallest small.
    intros inx [w [e [bw [be product]]]]. facts. pose proof term_loss_nonneg as [loss0 loss1].
    pose proof (exp_at_least_one lambda hl) as el.
    assert (pos : 0 < p x * exp w)
      by (apply Rmult_lt_0_compat; [now apply (coefficient_positive m logits max)|apply exp_pos]).
    pose proof (moved_coefficient_below x w inx bw) as below. set (a := p x * exp w) in *.
    destruct product as [[nothing ->]|[v [r [q [y [bv [br [hq [q0 [qX [hy [s [e2 [bs [be2 ->]]]]]]]]]]]]]]];
      [now apply (nothing_left x w e)|].
    destruct (error_in_parts El wm (ln q) (y - ln q) hE hm hy) as [rho [sigma [brho [bsigma hy']]]].
    exists (a * (ln ((a + eps * exp v) * exp r) * (1 + rho)) * exp s).
    split; [now apply (term_without_underflow x w v r rho s)|]. assert (pe : 0 <= eps * exp v) by monotone.
    replace (a + e + eps * exp v) with (a + eps * exp v + e) in hq by ring. assert (bpos : 0 < a + eps * exp v + e).
    { pose proof (exp_pos r). destruct (Rle_dec (a + eps * exp v + e) 0); [|lra].
      assert ((a + eps * exp v + e) * exp r <= 0 * exp r) by monotone. lra. }
    pose proof (logarithm_below a v ltac:(lra) bv) as lnb. rewrite hq in qX.
    pose proof (moved_logarithm a (a + eps * exp v) e r X (C + lambda + eps) lambda ltac:(lra) bpos br lnb ltac:(lra)
      sizes qX) as moved.
    rewrite <- hq in moved. set (q' := (a + eps * exp v) * exp r) in *.
    replace y with (ln q * (1 + rho) + sigma) by lra.
    replace ((a + e) * (ln q * (1 + rho) + sigma) * exp s + e2 - a * (ln q' * (1 + rho)) * exp s)
      with ((((a + e) * ln q - a * ln q') * (1 + rho) + (a + e) * sigma) * exp s + e2) by ring.
    set (d := (a + e) * ln q - a * ln q') in *. apply abs_between in bs, brho.
    assert (es : exp s <= exp lambda) by monotone.
    assert (part : Rabs (d * (1 + rho)) <= f * logarithm_size * (1 + El)).
    { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [|apply Rabs_le; lra].
      eapply Rle_trans; [exact moved|]. apply Rmult_le_compat_r; [unfold logarithm_size|]; lra. }
    assert (other : Rabs ((a + e) * sigma) <= (exp C + f) * wm).
    { rewrite Rabs_mult. apply Rmult_le_compat; try apply Rabs_pos; [|easy]. triangle. rewrite (Rabs_right a) by lra.
      lra. }
    triangle. unfold term_loss. apply Rplus_le_compat; [|easy].
    rewrite Rabs_mult, (Rabs_right (exp s)) by (left; apply exp_pos). monotone.
  Qed.

  Theorem lost_term_near x z :
    In x logits -> lost_term x z ->
    Rabs (z - p x * ln (p x + eps))
    <= p x * (term_bound M C (m - x) (own_log logits eps x) - own_log logits eps x) + term_loss.
  Proof using good max errs loses sizes smallest small.
    intros inx term. destruct (lost_term_moves x z inx term) as [z' [whole moved]].
    pose proof (near_term_without_underflow x z' inx whole).
    replace (z - p x * ln (p x + eps)) with ((z - z') + (z' - p x * ln (p x + eps))) by ring. triangle. lra.
  Qed.

  Definition coefficients_lost (h : nat) : R := exp (INR h * lambda) * (size logits * (term_loss + sum_floor M)).

  Notation own x := (p x * (term_bound M C (m - x) (own_log logits eps x) - own_log logits eps x)).

  Lemma lost_terms_perturbed l zs :
    Forall (fun x => In x logits) l -> Forall2 lost_term l zs ->
    perturbed zs (map (fun x => p x * ln (p x + eps)) l) (map (fun x => own x + term_loss) l).
  Proof using good max errs loses sizes smallest small.
    intros inside terms. induction terms as [|x z l zs term _ IH]; [constructor|]. inversion inside; subst. cbn [map].
    constructor; [now apply lost_term_near|now apply IH].
  Qed.

  Theorem b6d_with_underflow zs y h :
    Forall2 lost_term logits zs -> added M 0 0 zs y h ->
    Rabs (- y - entropy_with eps logits) <= coefficients_rounding M m logits C eps h + coefficients_lost h.
  Proof using good max errs loses sizes smallest small.
    intros terms tree. facts. assert (hwa : 0 <= sum_floor M) by (unfold sound in good; lra).
    assert (inside : Forall (fun x => In x logits) logits) by (apply Forall_forall; easy).
    pose proof (perturbed_sum M good 0 0 zs _ _ y h (Rle_refl 0) (Rle_refl 0) (lost_terms_perturbed logits zs inside terms)
      tree) as near.
    assert (same : - y - entropy_with eps logits = - (y - sum (map (fun x => p x * ln (p x + eps)) logits))).
    { unfold entropy_with, softmax. rewrite map_map. ring. } rewrite same, Rabs_Ropp. eapply Rle_trans; [exact near|].
    pose proof (terms_within M good m logits C eps max errs small h) as within. unfold perturbed_rounding, added_loss.
    rewrite Rplus_0_l, sum_map_plus.
    assert (many : size (map (fun x => p x * ln (p x + eps)) logits) = size logits) by (unfold size; now rewrite map_length).
    rewrite many, sum_map_const. unfold coefficients_lost. pose proof (exp_pos (INR h * lambda)).
    assert (0 <= exp (INR h * lambda) * sum_floor M) by monotone. lra.
  Qed.
End Underflow.

(** ** B11: the paper's 1e-9, of a computed entropy

    Source: docs/tolerances.md, B11; epsilon_entropy_gap in numerics/rounding/rounding_temperature.cpp. *)

(** p ln (1 + eps / p), each below the tangent of ln at 1 + eps n: Jensen's inequality. *)
Theorem epsilon_gap_by_jensen m logits eps :
  is_maximum m logits -> 0 <= eps -> 0 <= entropy logits - entropy_with eps logits <= ln (1 + eps * size logits).
Proof.
  intros max small. pose proof (coefficient_positive m logits max) as positive. set (p := coefficient logits) in *.
  assert (n1 : 1 <= size logits) by (apply size_at_least_one, in_not_nil with m, max). set (n := size logits) in *.
  assert (en : 0 <= eps * n) by monotone. set (c := 1 + eps * n). assert (c1 : 1 <= c) by (unfold c; lra).
  assert (gap : entropy logits - entropy_with eps logits = sum (map (fun x => p x * (ln (p x + eps) - ln (p x))) logits)).
  { unfold entropy, entropy_with, softmax. rewrite !map_map. fold p.
    rewrite (sum_map_ext (fun x => p x * (ln (p x + eps) - ln (p x))) (fun x => p x * ln (p x + eps) - p x * ln (p x)))
      by (intros; ring).
    rewrite sum_map_minus. ring. }
  assert (one : sum (map p logits) = 1).
  { pose proof (S_at_least_one m logits max) as S1. pose proof (sum_of_coefficients m logits max (fun _ => 1)) as total.
    fold p in total. rewrite (sum_map_ext (fun x => p x * 1) p) in total by (intros; ring). rewrite total.
    unfold weight_sum in *. field. lra. }
  rewrite gap. split.
  - apply sum_map_nonneg. intros x _. pose proof (positive x) as pos. apply Rmult_le_pos; [lra|].
    pose proof (ln_le (p x) (p x + eps) pos ltac:(lra)). lra.
  - apply Rle_trans with (sum (map (fun x => (ln c - 1 + / c) * p x + eps * / c) logits)).
    + apply sum_map_le. intros x _. pose proof (positive x) as pos.
      pose proof (ln_below_tangent ((p x + eps) / (p x * c)) ltac:(apply Rdiv_lt_0_compat; [lra|monotone])) as tangent.
      assert (parts : ln ((p x + eps) / (p x * c)) = ln (p x + eps) - (ln (p x) + ln c)).
      { assert (pc : 0 < p x * c) by monotone. pose proof (Rinv_0_lt_compat _ pc) as ipc. unfold Rdiv.
        rewrite (ln_mult (p x + eps) (/ (p x * c)) ltac:(lra) ipc), (ln_Rinv (p x * c) pc), (ln_mult (p x) c pos ltac:(lra)).
        ring. }
      rewrite parts in tangent.
      apply Rle_trans with (p x * (ln c + ((p x + eps) / (p x * c) - 1))); [monotone|right; field; lra].
    + rewrite sum_map_plus, sum_map_mult_l, one, sum_map_const. fold n. right. unfold c. field. fold c. lra.
Qed.

(** ** With the coefficients of B2, not yet in an output's format *)

Section LostElements.
  Context (M : arithmetic) (good : sound M) (kappa m : R) (logits : list R) (s : R) (h j : nat) (X eps : R)
    (hs : sum_of_row M kappa m logits s h j) (some : lost_sum M kappa m logits h j < 1) (sizes : 0 <= X)
    (smallest : product_floor M = 0 /\ exp_floor M = 0 \/ exp (- X) <= product_floor M + exp_floor M)
    (small : 0 <= eps).
  Notation C := (element_log M kept_format kappa m logits h j).
  Notation f := (element_floor M kept_format kappa m logits h j).

  Definition lost_element_term (x z : R) : Prop :=
    exists p_hat, computed_element M kept_format kappa m j s x p_hat /\ lost_product M X eps p_hat z.

  Lemma element_floor_covers : 0 <= f /\ (f = 0 \/ exp (- X) <= f).
  Proof using good hs some smallest.
    pose proof (element_log_nonneg M kept_format good kept_format_sound kappa m logits s h j hs some) as hC.
    pose proof (exp_at_least_one C hC) as eC. assert (hm : 0 <= product_floor M) by (unfold sound in good; lra).
    assert (hx : 0 <= exp_floor M) by (unfold sound in good; lra).
    unfold element_floor, numerator_loss, when_rescaled, division_losses. cbn [output_floor kept_format].
    set (l := exp_floor M + match j with 0%nat => 0 | S _ => exp_floor M + product_floor M end + 2 * product_floor M).
    assert (low : product_floor M + exp_floor M <= l) by (unfold l; destruct j; lra).
    assert (wide : l <= l * exp C) by (apply grown; lra). rewrite Rplus_0_r. split; [lra|].
    destruct smallest as [[no1 no2]|tiny]; [left|right; lra]. assert (l = 0) as -> by (unfold l; destruct j; lra). ring.
  Qed.

  Lemma element_is_lost_term x z : In x logits -> lost_element_term x z -> lost_term M m logits C f X eps x z.
  Proof using good hs some.
    intros inx [p_hat [element product]]. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max.
    destruct (element_error M kept_format good kept_format_sound kappa m logits s h j hs some x p_hat inx element) as [w [e [bw [be eq]]]].
    exists w, e. split; [exact bw|]. split; [exact be|].
    assert (p_hat = coefficient logits x * exp w + e) as <-; [|exact product].
    rewrite eq, (coefficient_from_weight m logits max). replace (- (m - x)) with (x - m) by ring. easy.
  Qed.

  Theorem b6d_of_lost_coefficients zs y height :
    Forall2 lost_element_term logits zs -> added M 0 0 zs y height ->
    Rabs (- y - entropy_with eps logits)
    <= coefficients_rounding M m logits C eps height + coefficients_lost M logits C f X eps height.
  Proof using good hs some sizes smallest small.
    intros terms tree. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max. destruct element_floor_covers as [loses covers].
    apply (b6d_with_underflow M good m logits C f X eps max
             (element_log_nonneg M kept_format good kept_format_sound kappa m logits s h j hs some) loses sizes covers small zs y height);
      [|exact tree].
    assert (all : forall l, Forall (fun x => In x logits) l -> forall ws, Forall2 lost_element_term l ws ->
                    Forall2 (lost_term M m logits C f X eps) l ws).
    { intros l inside ws each. induction each as [|x z l ws term _ IH]; [constructor|]. inversion inside; subst.
      constructor; [now apply element_is_lost_term|now apply IH]. }
    apply all; [apply Forall_forall; easy|exact terms].
  Qed.

  Theorem b11_computed zs y height :
    Forall2 (lost_element_term) logits zs -> added M 0 0 zs y height ->
    Rabs (- y - entropy logits)
    <= coefficients_rounding M m logits C eps height + coefficients_lost M logits C f X eps height + ln (1 + eps * size logits).
  Proof using good hs some sizes smallest small.
    intros terms tree. pose proof (row_maximum _ _ _ _ _ _ _ hs) as max.
    pose proof (b6d_of_lost_coefficients zs y height terms tree) as own.
    pose proof (epsilon_gap_by_jensen m logits eps max small) as gap.
    replace (- y - entropy logits) with ((- y - entropy_with eps logits) + (entropy_with eps logits - entropy logits)) by ring.
    triangle. apply Rplus_le_compat; [exact own|]. apply Rabs_le. lra.
  Qed.
End LostElements.
