(** * B9's entropy by its other forms, with the exact row's statistics alone.

    [b9_widened_entropy] and [b9_sharpened_entropy] are of the entropy from deviations (B6). A kernel may compute that of its scores from
    coefficients, from a log-softmax or from the scores (B6d, B7). The row as computed has [statistics] that cover it, and an entropy
    that lies [moved] from the exact one: of scores that err [scores_apart], of a beta that errs as well [sharpened_apart].

    Main results, for any such row
    - [b9_entropy_of_logits]           B7 at these statistics, and [moved]
    - [b9_entropy_of_coefficients]     B6d of coefficients, likewise, behind the output's rounding
    - [b9_entropy_of_logarithms]       B6d of a softmax of the computed log-softmax, likewise
    - [scores_apart], [sharpened_apart]   of these rows

    Source: docs/tolerances.md, B9; AttentionThreshold::entropy in numerics/rounding/rounding_attention.cpp. *)

From softcheck Require Import softmax adaptive_temperature.
From softcheck.numerics Require Import formula row tilted_row score_error reduction b1_sum b2_element b5_logsumexp
  b6_entropy added_terms b7_far_items b7_uncentred b6d_coefficients b6d_underflow b6d_log_softmax b6d_computed_softmax
  b9_attention b10_temperature perturbed_scores theorem_formulas output_formulas uncentred_formulas wider_statistics
  b9_widened.
Local Open Scope R_scope.

(** A result that is rounded once more, near the entropy of a row that lies [moved] from the exact one. *)
Lemma rounded_apart u_out floor_out H exact moved y H_hat rounding lost bound :
  0 <= H -> Rabs (H - exact) <= moved -> Rabs (y - H) <= rounding + lost -> rounded_output u_out floor_out y H_hat ->
  rounding + u_out * (H + rounding) + (lost * (1 + u_out) + floor_out) <= bound -> Rabs (H_hat - exact) <= bound + moved.
Proof.
  intros pos apart near [d [e [bd [be ->]]]] below.
  pose proof (rounded_error u_out H y d e rounding lost floor_out bd be near) as own. rewrite (Rabs_right H) in own by lra.
  replace (y * (1 + d) + e - exact) with ((y * (1 + d) + e - H) + (H - exact)) by ring. triangle. lra.
Qed.

Lemma entropy_with_nothing logits : entropy_with 0 logits = entropy logits.
Proof. unfold entropy_with, entropy. f_equal. apply sum_map_ext. intros p _. now rewrite Rplus_0_r. Qed.

Section Entropies.
  Context (M : arithmetic) (out : output_format) (good : sound M) (good_out : sound_output out) (kappa m : R)
    (logits : list R) (h j : nat) (u_out g r : R) (w : statistics) (conversions : 0 <= kappa) (writes : 0 <= u_out)
    (scales : 0 <= g < 1) (loses : 0 <= r) (leaves : standard_model.roundoff M + r < 1) (covered : covers w m logits)
    (exact moved : R) (apart : Rabs (entropy logits - exact) <= moved).
  Notation widened := (wide_value M out kappa (size logits) h j u_out g r w).
  Context (some : widened (Times sum_loss_f (Exp (Times (Number 2) sigma_0_f))) < 1) (s : R)
    (hs : sum_of_row M kappa m logits s h j).

  Let max : is_maximum m logits.
  Proof using hs. exact (row_maximum _ _ _ _ _ _ _ hs). Qed.

  Let enough : lost_sum M kappa m logits h j < 1.
  Proof using good good_out conversions writes scales loses leaves covered some hs max.
    exact (wider_sum_is_some M out good good_out kappa m logits h j u_out g r w max conversions writes (proj1 scales) loses leaves covered some).
  Qed.

  Let size_of_entropy : 0 <= entropy logits.
  Proof using hs max.
    rewrite (entropy_of_statistics m logits max). pose proof (mean_deviation_nonneg m logits max). pose proof (S_at_least_one m logits max).
    assert (0 <= ln (weight_sum m logits)) by (rewrite <- ln_1; apply ln_le; lra). lra.
  Qed.

  (** The logits as factors err as the maximum does, relatively by g and by what an argument errs by. *)
  Theorem b9_entropy_of_logits row m' y K m_hat x q v1 v2 v3 z1 z H_hat :
    logits = map logit row -> is_maximum m' (map reduced row) ->
    (forall a, In a row -> Rabs ((m' - reduced a) - (m - logit a)) <= kappa /\
                           approximates (log_unit g) (argument_floor M kappa j) (logit a) (factor a)) ->
    accumulated M no_format (map (fun a => (reduced a, factor a)) row) m' y h j K -> INR K <= 2 * size logits -> (j = 0 -> K = 0)%nat ->
    computed_maximum M kappa m j g m_hat -> computed_log M s x -> quotient_by_sum M r y s q ->
    Permutation [m_hat; x; - q] [v1; v2; v3] -> rounded_sum M (v1 + v2) z1 -> rounded_sum M (z1 + v3) z ->
    rounded_output u_out (b2_element.output_floor out) z H_hat ->
    Rabs (H_hat - exact) <= widened entropy_uncentred_output_f + widened entropy_uncentred_lost_f + moved.
  Proof using good good_out conversions writes scales loses leaves covered apart some hs max enough.
    intros same max' near hy few none h1 h2 h3 h4 h5 h6 h7. assert (floor : 0 <= argument_floor M kappa j).
    { unfold argument_floor. pose proof (slope_nonneg M good). pose proof (pos_INR j).
      assert (0 <= (INR j + 1) * standard_model.argument_step M) by (apply Rmult_le_pos; [lra|apply good]).
      assert (0 <= (1 + standard_model.slope M) * kappa) by (apply Rmult_le_pos; lra). lra. }
    pose proof (log_unit_nonneg g ltac:(lra)) as g0.
    pose proof (wider_entropy_uncentred M out good good_out kappa m logits h j u_out g r w max conversions writes (proj1 scales)
      loses leaves covered some row same (proj2 scales)) as wide.
    cbv zeta in wide. pose proof max as top. pose proof hs as total. pose proof enough as enough'.
    rewrite same in top, total, enough', few.
    pose proof (b7_entropy M good kappa m m' (log_unit g) (argument_floor M kappa j) row top max' ltac:(lra) near y s h j K h j
      r hy few none total enough' loses leaves g m_hat x q v1 v2 v3 z1 z u_out _ H_hat h1 h2 h3 h4 h5 h6 h7) as own.
    rewrite <- same in own. replace (H_hat - exact) with ((H_hat - entropy logits) + (entropy logits - exact)) by ring.
    triangle. lra.
  Qed.

  (** At any eps, 1e-9 or 0: the kernel adds none. *)
  Theorem b9_entropy_of_coefficients eps X height zs y H_hat :
    0 <= eps -> 0 <= X ->
    standard_model.product_floor M = 0 /\ standard_model.exp_floor M = 0 \/ exp (- X) <= standard_model.product_floor M + standard_model.exp_floor M ->
    Forall2 (lost_element_term M kappa m s j X 0) logits zs -> added M 0 0 zs y height ->
    rounded_output u_out (b2_element.output_floor out) (- y) H_hat ->
    let at_w := formula.value (coefficients_at M out kappa m logits h j u_out g r w eps X height) false in
    let rounding := at_w Direct.coefficients_rounding_f in
    Rabs (H_hat - exact)
    <= rounding + u_out * (wide_log_sum w + wide_mean w + rounding)
       + (at_w Direct.coefficients_lost_f * (1 + u_out) + b2_element.output_floor out) + moved.
  Proof using good good_out conversions writes scales loses leaves covered apart some hs max enough size_of_entropy.
    intros small sizes smallest terms tree hout. cbv zeta.
    pose proof (b6d_of_lost_coefficients M good kappa m logits s h j X 0 hs enough sizes smallest (Rle_refl 0) zs y height terms tree) as own.
    rewrite entropy_with_nothing in own.
    apply (rounded_apart u_out _ _ exact moved (- y) H_hat _ _ _ size_of_entropy apart own hout).
    exact (wider_entropy_of_coefficients M out good good_out kappa m logits h j u_out g r w max conversions writes (proj1 scales) loses leaves
             covered some eps X height small sizes).
  Qed.
End Entropies.

(** Of the logarithms as computed: b and s are what B5 says of them at these statistics. *)
Theorem b9_entropy_of_logarithms M row m b s tau kappa m_y total h j K u_out floor_out w exact moved zs y height H_hat :
  sound M -> is_maximum m (map fst row) -> 0 <= b /\ 0 <= s <= 1 ->
  (forall q, In q row -> Rabs (snd q - ln (coefficient (map fst row) (fst q))) <= b + s * (m - fst q)) ->
  s + standard_model.slope M * (1 + s) <= tau < 1 -> sum_of_row M kappa m_y (map snd row) total h j ->
  0 <= u_out -> covers w m (map fst row) -> Rabs (entropy (map fst row) - exact) <= moved ->
  let at_w := formula.value (logarithms_at M row m b s tau kappa K h j height w) false in
  at_w (Times (Of Logs.sum_loss) (Exp (Times (Number 2) Logs.moved_sigma_0_f))) < 1 ->
  1 <= (1 - tau) * K -> exp (- ((1 - tau) * K)) <= standard_model.exp_floor M + standard_model.product_floor M ->
  Forall2 (computed_softmax_term M m kappa m_y total j K) row zs -> added M 0 0 zs y height ->
  rounded_output u_out floor_out (- y) H_hat ->
  let rounding := at_w Logs.logarithms_rounding_f in
  Rabs (H_hat - exact)
  <= rounding + u_out * (wide_log_sum w + wide_mean w + rounding) + (at_w Logs.logarithms_lost_f * (1 + u_out) + floor_out) + moved.
Proof.
  intros good max errs near tilts hs writes covered apart at_w some far smallest terms tree hout. cbv zeta.
  pose proof (slope_nonneg M good) as ht. assert (t0 : 0 <= standard_model.slope M * (1 + s)) by (apply Rmult_le_pos; lra).
  assert (hk : 0 <= kappa) by apply (proj1 (proj2 (sum_between M good kappa m_y (map snd row) total h j hs))).
  assert (reaches : 0 <= K) by (apply Rlt_le, Rmult_lt_reg_l with (1 - tau); [|rewrite Rmult_0_r]; lra).
  pose proof (wider_sum_of_logarithms_is_some M good row m b s tau kappa K h j height w max ltac:(lra) ltac:(lra) hk reaches covered some) as enough.
  pose proof (b6d_of_computed_softmax M good row m b s tau max errs near tilts kappa m_y total h j hs enough K far smallest zs y height terms tree) as own.
  assert (pos : 0 <= entropy (map fst row)).
  { rewrite (entropy_of_statistics m _ max). pose proof (mean_deviation_nonneg m _ max). pose proof (S_at_least_one m _ max).
    assert (0 <= ln (weight_sum m (map fst row))) by (rewrite <- ln_1; apply ln_le; lra). lra. }
  apply (rounded_apart u_out floor_out _ exact moved (- y) H_hat _ _ _ pos apart own hout).
  exact (wider_entropy_of_logarithms M good row m b s tau kappa K h j height u_out floor_out w max ltac:(lra) ltac:(lra) hk reaches writes covered some).
Qed.

(** ** The rows of B9 *)

Section Rows.
  Context (keys : list key) (m m' : R).
  Notation scores := (map score keys).
  Notation computed_scores := (map computed_score keys).
  Context (max : is_maximum m scores) (max' : is_maximum m' computed_scores) (error : key -> R) (largest : R)
    (errs : forall a, In a keys -> Rabs (computed_score a - score a) <= error a /\ error a <= largest).

  Theorem scores_apart :
    covers (score_statistics keys m largest) m' computed_scores /\
    Rabs (entropy computed_scores - entropy scores) <= entropy_moved keys m error largest.
  Proof using max max' errs.
    split; [exact (score_statistics_cover keys m m' max max' error largest errs)|exact (perturbed_entropy keys m max error largest errs)].
  Qed.

  Context (tau s mu : R) (tau_range : 0 <= tau < 1) (near_one : Rabs (s - 1) <= tau)
    (near_too : Rabs (s - 1) <= tau * s) (positive : 0 < s) (maximum_moves : Rabs (s - 1) * Rabs m' <= tau * mu).

  Theorem sharpened_apart :
    covers (sharpened_statistics keys m largest tau mu) (s * m') (scaled s computed_scores) /\
    Rabs (entropy (scaled s computed_scores) - entropy scores) <= entropy_moved keys m error largest + tau * widest_square scores.
  Proof using max max' errs tau_range near_one near_too positive maximum_moves.
    split; [exact (sharpened_statistics_cover keys m m' max max' error largest errs tau s mu tau_range near_one positive
      maximum_moves)|].
    pose proof (perturbed_entropy keys m max error largest errs) as first.
    pose proof (tempered_entropy m' computed_scores max' tau s tau_range near_one near_too positive) as second_move.
    assert (same : widest_square computed_scores = widest_square scores)
      by (unfold widest_square, size; now rewrite !map_length).
    rewrite same in second_move. set (H1 := entropy computed_scores) in *. set (H2 := entropy (scaled s computed_scores)) in *.
    replace (H2 - entropy scores) with ((H2 - H1) + (H1 - entropy scores)) by ring. triangle. lra.
  Qed.
End Rows.
