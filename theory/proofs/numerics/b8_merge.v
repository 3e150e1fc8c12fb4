(** * B8: the weights of a merge by log-sum-exp values, and B16: that a merge is an attention over its parts.

    Main results, L_k the log-sum-exp of part k, L that of all
    - [merged_logsumexp], [merged_output]   exact parts (O_k, L_k): ln sum e^(L_k) is the L of all keys, and sum e^(L_k - L) O_k
                                            their output
    - [b8_logsumexp]   L of parts that err by eps each, computed as B5 says: within eps and that
    - [b8_weight]      e^(L_k - L) from these: a log error of (1 + u)(2 eps + B5) + u (L - L_k) + omega_a + lambda_E

    B16 is b9_attention and [b8_logsumexp] of keys whose scores are the L_k as they are read and whose values are the O_k.

    Source: docs/tolerances.md, B8, and docs/tolerances/merged_states.md; merge_by_lse_error in numerics/rounding/rounding_temperature.cpp. *)

From softcheck.numerics Require Import row tilted_row b1_sum b5_logsumexp b9_attention added_terms perturbed_scores.
Local Open Scope R_scope.

(** ** Exact parts: each a row of scores with values, none empty *)

Section Parts.
  Context (parts : list (list (R * R))) (visible : forall l, In l parts -> l <> []).
  Definition part_logsumexp (l : list (R * R)) : R := ln (partition_function (map fst l)).
  Definition part_output (l : list (R * R)) : R := sum (map (fun q => coefficient (map fst l) (fst q) * snd q) l).
  Notation whole := (concat parts).
  Notation merged := (map part_logsumexp parts).

  Lemma exp_part l : In l parts -> exp (part_logsumexp l) = partition_function (map fst l).
  Proof using visible. intros inl. unfold part_logsumexp. apply exp_ln, partition_pos, map_not_nil. now apply visible. Qed.

  Lemma merged_partition : partition_function merged = partition_function (map fst whole).
  Proof using visible.
    unfold partition_function at 1. rewrite map_map.
    rewrite (sum_map_ext _ (fun l => partition_function (map fst l))) by (intros; now apply exp_part).
    clear. unfold partition_function. induction parts as [|l ls IH]; [easy|]. cbn [map concat]. rewrite !map_app, sum_app, <- IH. easy.
  Qed.

  Theorem merged_logsumexp : ln (partition_function merged) = part_logsumexp whole.
  Proof using visible. unfold part_logsumexp at 2. now rewrite merged_partition. Qed.

  Theorem merged_output :
    sum (map (fun l => coefficient merged (part_logsumexp l) * part_output l) parts) = part_output whole.
  Proof using visible.
    unfold coefficient at 1, part_output at 2, coefficient. rewrite merged_partition. set (Z := partition_function (map fst whole)).
    transitivity (sum (map (fun l => sum (map (fun q => exp (fst q) / Z * snd q) l)) parts)).
    - apply sum_map_ext. intros l inl. rewrite exp_part by easy. unfold part_output, coefficient. rewrite <- sum_map_mult_l.
      apply sum_map_ext. intros q _.
      pose proof (partition_pos (map fst l) (map_not_nil _ _ (visible l inl))). unfold Rdiv.
      rewrite (Rmult_comm (partition_function (map fst l)) (/ Z)).
      replace (/ Z * partition_function (map fst l) * (exp (fst q) * / partition_function (map fst l) * snd q))
        with (exp (fst q) * / Z * snd q * (partition_function (map fst l) * / partition_function (map fst l))) by ring.
      rewrite Rinv_r by lra. ring.
    - clearbody Z. clear. induction parts as [|l ls IH]; [easy|]. cbn [map concat].
      change (sum (map (fun q => exp (fst q) / Z * snd q) l) + sum (map (fun l => sum (map (fun q => exp (fst q) / Z * snd q) l)) ls)
              = sum (map (fun q => exp (fst q) / Z * snd q) (l ++ concat ls))).
      rewrite map_app, sum_app, IH. easy.
  Qed.
End Parts.

(** ** Parts that err *)

Section Merge.
  Context (M : arithmetic) (good : sound M) (parts : list key) (m m' eps : R).
  Notation exact := (map score parts).
  Notation computed := (map computed_score parts).
  Context (max : is_maximum m exact) (max' : is_maximum m' computed)
    (errs : forall a, In a parts -> Rabs (computed_score a - score a) <= eps) (s : R) (h j : nat)
    (hs : sum_of_row M 0 m' computed s h j) (some : lost_sum M 0 m' computed h j < 1).
  Notation L := (ln (partition_function exact)).

  (** B5 of the row of parts as computed. *)
  Definition merge_error (g : R) : R := eps + (logsumexp_rounding M 0 m' computed h j g + logsumexp_floor M).

  Theorem b8_logsumexp g m_hat y z :
    computed_maximum M 0 m' j g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z -> Rabs (z - L) <= merge_error g.
  Proof using good max max' errs hs some.
    intros h1 h2 h3. pose proof (logsumexp_accumulated M good 0 m' computed s h j hs some g m_hat y z h1 h2 h3) as own.
    destruct (perturbed_logsumexp_bounds parts m m' max max' (fun _ => eps) eps ltac:(intros a ina; split;
      [now apply errs|lra])) as [_ far].
    replace (z - L) with ((z - ln (partition_function computed)) + (ln (partition_function computed) - L)) by ring.
    triangle. unfold merge_error. lra.
  Qed.

  (** The difference is rounded at its own size L - L_k; then the exponential. *)
  Definition merge_weight_log (g gap : R) : R :=
    (eps + merge_error g) * (1 + roundoff M) + roundoff M * gap + sum_floor M + exp_unit M.

  Theorem b8_weight g m_hat y z a b p :
    computed_maximum M 0 m' j g m_hat -> computed_log M s y -> rounded_sum M (m_hat + y) z -> In a parts ->
    rounded_sum M (computed_score a - z) b -> computed_exp M (- b) p ->
    approximates (merge_weight_log g (L - score a)) (exp_floor M) (coefficient exact (score a)) p.
  Proof using good max max' errs hs some.
    intros h1 h2 h3 ina [d [e [bd [be ->]]]] [t [e0 [bt [be0 [_ [_ ->]]]]]].
    pose proof (b8_logsumexp g m_hat y z h1 h2 h3) as far. pose proof (errs a ina) as near.
    assert (visible : exact <> []) by apply (in_not_nil m), max. pose proof (partition_pos exact visible) as pos.
    assert (u0 : 0 <= roundoff M) by apply good. assert (below : score a <= L).
    { rewrite <- (ln_exp (score a)). apply ln_le; [apply exp_pos|]. rewrite <- (Rmult_1_l (partition_function exact)).
      pose proof (coefficient_at_most_one exact (score a) (in_map _ _ _ ina)) as one. unfold coefficient in one.
      apply Rmult_le_reg_r with (/ partition_function exact); [now apply Rinv_0_lt_compat|]. rewrite Rmult_1_l, Rinv_r by lra.
      exact one. }
    set (w := (computed_score a - z) * (1 + d) + e - (score a - L)). exists (w + t), e0. split; [|split; [easy|]].
    - triangle. unfold merge_weight_log. apply Rplus_le_compat; [|easy]. unfold w.
      replace ((computed_score a - z) * (1 + d) + e - (score a - L))
        with ((computed_score a - score a + - (z - L)) + ((computed_score a - score a + - (z - L)) * d + (score a - L) * d) + e)
        by ring.
      set (v := computed_score a - score a + - (z - L)). assert (bv : Rabs v <= eps + merge_error g).
      { unfold v. triangle. rewrite Rabs_Ropp. lra. } pose proof (Rabs_triang (v + (v * d + (score a - L) * d)) e).
      pose proof (Rabs_triang v (v * d + (score a - L) * d)). pose proof (Rabs_triang (v * d) ((score a - L) * d)) as both.
      rewrite !Rabs_mult, (Rabs_left1 (score a - L)) in both by lra. pose proof (Rabs_pos v). pose proof (Rabs_pos d).
      assert (Rabs v * Rabs d <= (eps + merge_error g) * roundoff M) by (apply Rmult_le_compat; lra).
      assert (- (score a - L) * Rabs d <= (L - score a) * roundoff M).
      { replace (- (score a - L)) with (L - score a) by ring. apply Rmult_le_compat_l; lra. } lra.
    - unfold coefficient. replace (exp (score a) / partition_function exact) with (exp (score a - L)).
      + rewrite <- exp_plus. f_equal. f_equal. unfold w. ring.
      + unfold Rminus, Rdiv. now rewrite exp_plus, exp_Ropp, exp_ln.
  Qed.
End Merge.
