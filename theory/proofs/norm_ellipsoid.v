(** * Normalised vectors: what bounds the logits of a head behind a LayerNorm or an RMSNorm, for any input whatever.

    Main results (q = A z + a, |z|^2 <= r_q; k = B z' + b, |z'|^2 <= r_k; logit s q . k, s >= 0)
    - [layer_norm]        z = (h - mean) / sqrt(var + eps) adds up to 0, and |z|^2 = d var / (var + eps) < d
    - [rms_norm]          z = h / sqrt(mean square + eps) has |z|^2 = d ms / (ms + eps) < d
    - [spread]            N N^T >= B B^T, M = N^T A, c = N^T a, t > 0, (1 + 1/t) r_q M M^T + (1 + t) c c^T <= lambda:
                          two logits of one query differ by at most 2 s sqrt(r_k lambda)
    - [attained]          for every query there are two keys that are 2 s sqrt(r_k) |B^T q| apart
    - [logit_of_query]    |s q . k| <= s (|q . b| + sqrt(r_k) |B^T q|), which a key attains
    - [logit]             |s q . k| <= s sqrt lambda, with (1 + t') b b^T + (1 + 1/t') r_k B B^T in place of B B^T
    - [joint]             the spread is at most 2 s sqrt(r_k) (sigma_J sqrt(r_q) + |B^T a|), sigma_J >= sigma(B^T A)
    - [folded]            the spread is at most 2 s (sigma_A sqrt(r_q) + |a|) sigma_B sqrt(r_k)
    - [ordering]          the best of [spread], over t and lambda, <= joint <= folded

    Source: this project's; Proposition 3.1 of the paper is the form with norms of the inputs. *)

From softcheck Require Import softmax vectors normalised_vectors.
Local Open Scope R_scope.

(** ** Normalised vectors *)

(** The sum of squares over the mean square is d. *)
Theorem rms_norm d eps h :
  (0 < d)%nat -> 0 < eps ->
  let z := rms_normalised d eps h in
  dot d z z = INR d * mean_square d h / (mean_square d h + eps) /\ dot d z z < INR d.
Proof.
  intros some pos z. pose proof (mean_square_nonneg d h some) as nonneg.
  assert (0 < INR d) as pos' by now apply lt_0_INR.
  assert (0 < sqrt (mean_square d h + eps)) by (apply sqrt_lt_R0; lra).
  assert (length : dot d z z = INR d * mean_square d h / (mean_square d h + eps)).
  { unfold z, rms_normalised. rewrite dot_scale_l, dot_scale_r.
    rewrite <- (sqrt_sqrt (mean_square d h + eps)) at 3 by lra. unfold mean_square at 3. field. lra. }
  split; [exact length|]. rewrite length. apply Rmult_lt_reg_r with (mean_square d h + eps); [lra|].
  replace (INR d * mean_square d h / (mean_square d h + eps) * (mean_square d h + eps))
    with (INR d * mean_square d h) by (field; lra).
  apply Rmult_lt_compat_l; lra.
Qed.

(** The centred vector adds up to 0, and LayerNorm is RMSNorm of it. *)
Theorem layer_norm d eps h :
  (0 < d)%nat -> 0 < eps ->
  let z := layer_normalised d eps h in let var := mean_square d (centred d h) in
  total d z = 0 /\ dot d z z = INR d * var / (var + eps) /\ dot d z z < INR d.
Proof.
  intros some pos z var. split; [|now apply rms_norm].
  unfold z, layer_normalised, rms_normalised. rewrite total_scale, total_centred by easy. ring.
Qed.

(** ** A head *)

Section Head.
  (** A is [width] by [d_q], B is [width] by [d_k]. *)
  Context (width d_q d_k : nat) (A B : matrix) (a b : vector) (s r_q r_k : R) (scaled_up : 0 <= s).

  Definition head_logit (z z' : vector) : R := s * dot width (affine d_q A a z) (affine d_k B b z').
  Definition head_logits (z : vector) (keys : list vector) : list R := map (head_logit z) keys.

  (** B^T (A z + a): how the keys' vectors meet the query. *)
  Definition seen (z : vector) : vector := multiply width (transpose B) (affine d_q A a z).

  Lemma dot_key u z' : dot width u (multiply d_k B z') = dot d_k (multiply width (transpose B) u) z'.
  Proof. now rewrite dot_comm, dot_multiply, dot_comm. Qed.

  (** b cancels. *)
  Lemma head_logit_difference z z1 z2 : head_logit z z1 - head_logit z z2 = s * dot d_k (seen z) (subtract z1 z2).
  Proof.
    unfold head_logit, affine at 2 4. rewrite !dot_add_r, !dot_key. fold (seen z). rewrite dot_subtract_r. ring.
  Qed.

  (** Cauchy-Schwarz: two keys are at most 2 sqrt(r_k) apart. *)
  Lemma spread_of_query z keys :
    (forall z', In z' keys -> in_ball d_k r_k z') ->
    spread_at_most (2 * s * sqrt r_k * norm d_k (seen z)) (head_logits z keys).
  Proof.
    intros inside e e' ine ine'. apply in_map_iff in ine as [z1 [<- in1]]. apply in_map_iff in ine' as [z2 [<- in2]].
    rewrite head_logit_difference. replace (2 * s * sqrt r_k * norm d_k (seen z))
      with (s * (norm d_k (seen z) * (sqrt r_k + sqrt r_k))) by ring.
    apply Rmult_le_compat_l; [easy|]. eapply Rle_trans; [apply Rle_abs|]. eapply Rle_trans; [apply cauchy_schwarz|].
    apply Rmult_le_compat_l; [apply norm_nonneg|]. eapply Rle_trans; [apply norm_subtract|].
    apply Rplus_le_compat; now apply norm_in_ball, inside.
  Qed.

  (** +- sqrt(r_k) B^T q / |B^T q|: in the ball, and without a mean where no row of B has one. *)
  Definition best_key (z : vector) (sign : R) : vector := scale (sign * (sqrt r_k * / norm d_k (seen z))) (seen z).

  Lemma best_key_in_ball z sign : 0 <= r_k -> sign ^ 2 = 1 -> in_ball d_k r_k (best_key z sign).
  Proof.
    intros nonneg unit. unfold in_ball, best_key. rewrite dot_scale_l, dot_scale_r, <- norm_square.
    destruct (norm_nonneg d_k (seen z)) as [pos | <-]; [|lra]. apply Req_le.
    transitivity (sign ^ 2 * (sqrt r_k * sqrt r_k)); [field; lra|]. rewrite unit, sqrt_sqrt by easy. ring.
  Qed.

  Lemma seen_best_key z sign : dot d_k (seen z) (best_key z sign) = sign * (sqrt r_k * norm d_k (seen z)).
  Proof.
    unfold best_key. rewrite dot_scale_r, <- norm_square.
    destruct (norm_nonneg d_k (seen z)) as [pos | <-]; [field; lra | ring].
  Qed.

  (** A sum of columns of B^T. *)
  Lemma best_key_centred z sign : (forall i, total d_k (B i) = 0) -> total d_k (best_key z sign) = 0.
  Proof.
    intros centred. unfold best_key. rewrite total_scale. unfold total, seen, multiply, dot, transpose.
    rewrite sum_map_swap, (sum_map_ext _ (fun _ => 0)).
    - rewrite sum_map_const. ring.
    - intros i _. rewrite sum_map_mult_r. fold (total d_k (B i)). rewrite centred. ring.
  Qed.

  Theorem attained z :
    0 <= r_k ->
    exists z1 z2, in_ball d_k r_k z1 /\ in_ball d_k r_k z2 /\
      head_logit z z1 - head_logit z z2 = 2 * s * sqrt r_k * norm d_k (seen z) /\
      ((forall i, total d_k (B i) = 0) -> total d_k z1 = 0 /\ total d_k z2 = 0).
  Proof.
    intros nonneg. exists (best_key z 1), (best_key z (-1)).
    split; [apply best_key_in_ball; [easy | ring]|]. split; [apply best_key_in_ball; [easy | ring]|]. split.
    - rewrite head_logit_difference, dot_subtract_r, !seen_best_key. ring.
    - intros. split; now apply best_key_centred.
  Qed.

  (** u . b, and Cauchy-Schwarz for B^T u . z'. *)
  Lemma key_at_most u z' :
    in_ball d_k r_k z' ->
    Rabs (dot width u (affine d_k B b z'))
    <= Rabs (dot width u b) + sqrt r_k * norm d_k (multiply width (transpose B) u).
  Proof.
    intros inside. unfold affine. rewrite dot_add_r, dot_key, Rplus_comm. triangle. apply Rplus_le_compat_l.
    eapply Rle_trans; [apply cauchy_schwarz|]. rewrite Rmult_comm.
    apply Rmult_le_compat_r; [apply norm_nonneg | now apply norm_in_ball].
  Qed.

  (** The best key, with the sign of q . b. *)
  Theorem logit_of_query z :
    0 <= r_k ->
    let bound := s * (Rabs (dot width (affine d_q A a z) b) + sqrt r_k * norm d_k (seen z)) in
    (forall z', in_ball d_k r_k z' -> Rabs (head_logit z z') <= bound) /\
    (exists z', in_ball d_k r_k z' /\ Rabs (head_logit z z') = bound).
  Proof.
    intros nonneg bound. split.
    - intros z' inside. unfold head_logit. rewrite Rabs_mult, (Rabs_pos_eq s) by easy.
      apply Rmult_le_compat_l; [easy | now apply key_at_most].
    - assert (0 <= sqrt r_k * norm d_k (seen z)) by (apply Rmult_le_pos; [apply sqrt_pos | apply norm_nonneg]).
      set (x := dot width (affine d_q A a z) b) in *.
      assert (sign : exists sign, sign ^ 2 = 1 /\ Rabs (x + sign * (sqrt r_k * norm d_k (seen z)))
                                                 = Rabs x + sqrt r_k * norm d_k (seen z)).
      { destruct (Rle_dec 0 x); [exists 1 | exists (-1)]; (split; [ring|]).
        - rewrite !Rabs_pos_eq; lra.
        - rewrite (Rabs_left x), Rabs_left; lra. }
      destruct sign as [sign [unit same]]. exists (best_key z sign). split; [now apply best_key_in_ball|].
      unfold head_logit, affine at 2. rewrite dot_add_r, dot_key. fold (seen z) x.
      now rewrite seen_best_key, Rplus_comm, Rabs_mult, (Rabs_pos_eq s), same.
  Qed.

  (** u^T G(t) u, G(t) = (1 + t) b b^T + (1 + 1/t) r_k B B^T. *)
  Definition key_form (t : R) (u : vector) : R :=
    (1 + t) * dot width u b ^ 2 + (1 + / t) * r_k * norm d_k (multiply width (transpose B) u) ^ 2.

  (** (|x| + y)^2 <= (1 + t) x^2 + (1 + 1/t) y^2. *)
  Lemma meets_key t u z' : 0 < t -> in_ball d_k r_k z' -> Rabs (dot width u (affine d_k B b z')) <= sqrt (key_form t u).
  Proof.
    intros pos inside. pose proof (radius_nonneg _ _ _ inside). eapply Rle_trans; [now apply key_at_most|].
    set (y := sqrt r_k * norm d_k (multiply width (transpose B) u)).
    assert (0 <= y) by (apply Rmult_le_pos; [apply sqrt_pos | apply norm_nonneg]).
    pose proof (Rabs_pos (dot width u b)). rewrite <- (sqrt_pow2 (Rabs (dot width u b) + y)) by lra.
    apply sqrt_le_1_alt. rewrite Rplus_comm. eapply Rle_trans; [now apply (young t)|].
    unfold key_form, y. rewrite Rpow_mult_distr, pow2_sqrt, pow2_abs by easy. apply Req_le. ring.
  Qed.

  (** *** With a factor N of a matrix that is at least B B^T, or at least the keys' G *)

  Section Factor.
    Variables (inner : nat) (N : matrix) (t lambda : R).  (* N is [width] by [inner] *)

    Definition factor_matrix : matrix := product width (transpose N) A.
    Definition factor_bias : vector := multiply width (transpose N) a.

    (** N^T (A z + a) = M z + c. *)
    Lemma factor_of_query z :
      norm inner (multiply width (transpose N) (affine d_q A a z))
      = norm inner (affine d_q factor_matrix factor_bias z).
    Proof.
      apply norm_ext. intros i _. unfold affine. rewrite multiply_add. unfold add. f_equal.
      symmetry. apply multiply_product.
    Qed.

    Hypotheses (positive : 0 < t) (bound : admissible inner d_q factor_matrix factor_bias r_q t lambda).

    Definition spread_form (lambda : R) : R := 2 * s * sqrt (r_k * lambda).

    (** |B^T q| <= |N^T q| = |M z + c|, which lies in the ellipsoid. *)
    Theorem spread z keys :
      (forall u, norm d_k (multiply width (transpose B) u) <= norm inner (multiply width (transpose N) u)) ->
      in_ball d_q r_q z -> (forall z', In z' keys -> in_ball d_k r_k z') ->
      spread_at_most (spread_form lambda) (head_logits z keys).
    Proof.
      intros above inz inside e e' ine ine'. eapply Rle_trans; [exact (spread_of_query z keys inside e e' ine ine')|].
      assert (0 <= r_k) as nonneg.
      { apply in_map_iff in ine as [z' [_ inz']]. now apply (radius_nonneg d_k r_k z'), inside. } unfold spread_form.
      rewrite sqrt_mult_alt by easy. rewrite <- !Rmult_assoc. apply Rmult_le_compat_l.
      - monotone.
      - eapply Rle_trans; [apply above|]. rewrite factor_of_query. now apply ellipsoid with (r := r_q) (t := t).
    Qed.

    (** |q . k|^2 <= q^T G(t') q <= |N^T q|^2 = |M z + c|^2. *)
    Theorem logit t' z z' :
      0 < t' -> (forall u, key_form t' u <= norm inner (multiply width (transpose N) u) ^ 2) ->
      in_ball d_q r_q z -> in_ball d_k r_k z' -> Rabs (head_logit z z') <= s * sqrt lambda.
    Proof.
      intros pos above inz inz'. unfold head_logit. rewrite Rabs_mult, (Rabs_pos_eq s) by easy.
      apply Rmult_le_compat_l; [easy|]. eapply Rle_trans; [now apply (meets_key t')|].
      eapply Rle_trans; [apply sqrt_le_1_alt, above|]. rewrite sqrt_pow2 by apply norm_nonneg.
      rewrite factor_of_query. now apply ellipsoid with (r := r_q) (t := t).
    Qed.
  End Factor.

  (** *** Forms with largest singular values *)

  Variables (sigma_A sigma_B sigma_J : R).
  Definition joint_matrix : matrix := product width (transpose B) A.
  Context (bound_A : operator_bound width d_q A sigma_A) (bound_B : operator_bound width d_k B sigma_B)
    (bound_J : operator_bound d_k d_q joint_matrix sigma_J).

  Definition joint_form : R := 2 * s * sqrt r_k * (sigma_J * sqrt r_q + norm d_k (multiply width (transpose B) a)).
  Definition folded_form : R := 2 * s * (sigma_A * sqrt r_q + norm width a) * sigma_B * sqrt r_k.

  Let share_nonneg : 0 <= 2 * s * sqrt r_k.
  Proof. monotone. Qed.

  (** |B^T (A z + a)| <= |B^T A z| + |B^T a|. *)
  Theorem joint z keys :
    in_ball d_q r_q z -> (forall z', In z' keys -> in_ball d_k r_k z') ->
    spread_at_most joint_form (head_logits z keys).
  Proof.
    intros inz inside e e' ine ine'. eapply Rle_trans; [exact (spread_of_query z keys inside e e' ine ine')|].
    apply Rmult_le_compat_l; [exact share_nonneg|]. unfold seen. rewrite (factor_of_query d_k B).
    eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat_r. destruct bound_J as [nonneg below].
    eapply Rle_trans; [apply below|]. apply Rmult_le_compat_l; [easy | now apply norm_in_ball].
  Qed.

  (** |B^T q| <= sigma_B |q|. *)
  Theorem folded z keys :
    in_ball d_q r_q z -> (forall z', In z' keys -> in_ball d_k r_k z') ->
    spread_at_most folded_form (head_logits z keys).
  Proof.
    intros inz inside e e' ine ine'. eapply Rle_trans; [exact (spread_of_query z keys inside e e' ine ine')|].
    unfold folded_form. replace (2 * s * (sigma_A * sqrt r_q + norm width a) * sigma_B * sqrt r_k)
      with (2 * s * sqrt r_k * (sigma_B * (sigma_A * sqrt r_q + norm width a))) by ring.
    apply Rmult_le_compat_l; [exact share_nonneg|].
    destruct bound_A as [nonneg_A below_A], (operator_bound_transpose _ _ _ _ bound_B) as [nonneg_B below_B].
    eapply Rle_trans; [apply below_B|]. apply Rmult_le_compat_l; [easy|].
    eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat_r.
    eapply Rle_trans; [apply below_A|]. apply Rmult_le_compat_l; [easy | now apply norm_in_ball].
  Qed.

  (** p = sqrt(r_q) sigma_J and g = |B^T a|, both a little enlarged: t = p / g gives lambda = (p + g)^2. *)
  Theorem ordering inner N :
    0 <= r_q -> 0 <= r_k -> sigma_J <= sigma_A * sigma_B ->
    (forall u, norm inner (multiply width (transpose N) u) = norm d_k (multiply width (transpose B) u)) ->
    (forall wider, joint_form < wider ->
       exists t lambda, 0 < t /\ admissible inner d_q (factor_matrix N) (factor_bias N) r_q t lambda /\
                        spread_form lambda <= wider) /\
    joint_form <= folded_form.
  Proof.
    intros nonneg_q nonneg_k below_J exact_factor. destruct bound_J as [nonneg_J bounds_J]. split.
    - intros wider above. set (share := 2 * s * sqrt r_k) in *. set (g := norm d_k (multiply width (transpose B) a)).
      set (p := sqrt r_q * sigma_J). assert (0 <= p) by (apply Rmult_le_pos; [apply sqrt_pos | easy]).
      assert (0 <= g) by apply norm_nonneg. set (room := (wider - joint_form) / (2 * share + 1)).
      assert (0 < room) by (apply Rdiv_lt_0_compat; lra). assert (within : share * (p + g + 2 * room) <= wider).
      { assert ((2 * share + 1) * room = wider - joint_form) by (unfold room; field; lra).
        assert (joint_form = share * (p + g)) by (unfold joint_form, p, g, share; ring). lra. }
      exists ((p + room) / (g + room)), ((p + g + 2 * room) ^ 2). split; [monotone|]. split.
      + intros v.
        assert (of_matrix : r_q * dot d_q (multiply inner (transpose (factor_matrix N)) v)
                                          (multiply inner (transpose (factor_matrix N)) v)
                            <= (p + room) ^ 2 * dot inner v v).
        { assert (operator : operator_bound inner d_q (factor_matrix N) sigma_J).
          { split; [easy|]. intros x.
            rewrite (norm_ext inner _ (multiply width (transpose N) (multiply d_q A x)))
              by (intros; apply multiply_product).
            rewrite exact_factor. eapply Rle_trans; [|apply bounds_J]. apply Req_le, norm_ext. intros. symmetry.
            apply multiply_product. }
          destruct (operator_bound_transpose _ _ _ _ operator) as [_ below]. specialize (below v).
          rewrite <- !norm_square, <- (sqrt_sqrt r_q) by easy.
          pose proof (norm_nonneg d_q (multiply inner (transpose (factor_matrix N)) v)) as nonneg.
          pose proof (norm_nonneg inner v). pose proof (sqrt_pos r_q).
          assert (step : sqrt r_q * norm d_q (multiply inner (transpose (factor_matrix N)) v)
                         <= (p + room) * norm inner v).
          { apply Rle_trans with (p * norm inner v); [|monotone]. unfold p. rewrite Rmult_assoc. monotone. }
          pose proof (Rmult_le_pos _ _ (sqrt_pos r_q) nonneg) as nonneg'.
          pose proof (Rmult_le_compat _ _ _ _ nonneg' nonneg' step step). simpl. lra. }
        assert (of_bias : dot inner (factor_bias N) v ^ 2 <= (g + room) ^ 2 * dot inner v v).
        { pose proof (cauchy_schwarz_square inner (factor_bias N) v) as square.
          rewrite <- (norm_square inner (factor_bias N)) in square. unfold factor_bias at 3 4 in square.
          rewrite exact_factor in square. fold g in square.
          apply Rle_trans with (g * g * dot inner v v); [simpl; lra|].
          apply Rmult_le_compat_r; [apply dot_square_nonneg|]. simpl. nra. }
        pose proof (dot_square_nonneg inner v).
        replace ((p + g + 2 * room) ^ 2 * dot inner v v)
          with ((1 + / ((p + room) / (g + room))) * ((p + room) ^ 2 * dot inner v v)
                + (1 + (p + room) / (g + room)) * ((g + room) ^ 2 * dot inner v v)) by (field; lra).
        rewrite (Rmult_assoc _ r_q). apply Rplus_le_compat; apply Rmult_le_compat_l; try easy.
        * assert (0 < / ((p + room) / (g + room))) by monotone. lra.
        * assert (0 < (p + room) / (g + room)) by monotone. lra.
      + unfold spread_form. rewrite sqrt_mult_alt, sqrt_pow2 by lra. fold share in within. rewrite <- !Rmult_assoc.
        exact within.
    - destruct bound_A as [nonneg_A _], (operator_bound_transpose _ _ _ _ bound_B) as [nonneg_B below_B].
      unfold joint_form, folded_form.
      replace (2 * s * (sigma_A * sqrt r_q + norm width a) * sigma_B * sqrt r_k)
      with (2 * s * sqrt r_k * (sigma_A * sigma_B * sqrt r_q + sigma_B * norm width a)) by ring.
      apply Rmult_le_compat_l; [exact share_nonneg|].
      apply Rplus_le_compat; [apply Rmult_le_compat_r; [apply sqrt_pos | easy] | apply below_B].
  Qed.
End Head.

(** ** One dimension, where every form is reached: q = z + 1 and k = z' + 1 with |z|, |z'| <= 1 *)

Definition ones : matrix := fun _ _ => 1.
Definition twos : matrix := fun _ _ => 2.
Definition one : vector := fun _ => 1.
Definition small_logit : vector -> vector -> R := head_logit 1 1 1 ones ones one one 1.

Ltac in_one_dimension :=
  unfold small_logit, head_logit, factor_matrix, factor_bias, in_ball, affine, multiply, transpose, product, scale, add,
    dot, ones, twos, one, sum; cbn [seq map fold_right].

(** z = z' = 1 has the logit 4, z = 1, z' = -1 has 0. *)
Example spread_is_reached :
  admissible 1 1 (factor_matrix 1 ones ones) (factor_bias 1 one ones) 1 1 4 /\ spread_form 1 1 4 = 4 /\
  in_ball 1 1 one /\ in_ball 1 1 (scale (-1) one) /\ small_logit one one - small_logit one (scale (-1) one) = 4.
Proof.
  split; [|split; [|split; [|split]]]; try (in_one_dimension; lra).
  - intros v. in_one_dimension. lra.
  - unfold spread_form. replace (1 * 4) with (2 * 2) by ring. rewrite sqrt_square; lra.
Qed.

Example spread_needs_its_two :
  ~ spread_at_most (1 * sqrt (1 * 4)) (head_logits 1 1 1 ones ones one one 1 one [one; scale (-1) one]).
Proof.
  intros within. destruct spread_is_reached as [_ [form [_ [_ apart]]]]. unfold small_logit, spread_form in *.
  specialize (within _ _ (or_introl eq_refl) (or_intror (or_introl eq_refl))). lra.
Qed.

(** N = 2, as 2 u^2 + 2 u^2 <= (2 u)^2. *)
Example logit_is_reached :
  (forall u, key_form 1 1 ones one 1 1 u <= norm 1 (multiply 1 (transpose twos) u) ^ 2) /\
  admissible 1 1 (factor_matrix 1 ones twos) (factor_bias 1 one twos) 1 1 16 /\ small_logit one one = 1 * sqrt 16.
Proof.
  split; [|split].
  - intros u. unfold key_form. rewrite <- !Rsqr_pow2. unfold Rsqr. rewrite !norm_square. in_one_dimension. lra.
  - intros v. in_one_dimension. lra.
  - replace 16 with (4 * 4) by ring. rewrite sqrt_square by lra. in_one_dimension. ring.
Qed.

Example joint_and_folded_are_reached :
  operator_bound 1 1 ones 1 /\ operator_bound 1 1 (joint_matrix 1 ones ones) 1 /\
  joint_form 1 1 ones one 1 1 1 1 = 4 /\ folded_form 1 one 1 1 1 1 1 = 4.
Proof.
  assert (root : norm 1 one = 1) by (rewrite <- sqrt_1; unfold norm; f_equal; in_one_dimension; ring).
  split; [|split; [|split]].
  - split; [lra|]. intros x. apply Req_le. rewrite Rmult_1_l. apply norm_ext.
    intros [|i] less; [in_one_dimension; ring | lia].
  - split; [lra|]. intros x. apply Req_le. rewrite Rmult_1_l. apply norm_ext. unfold joint_matrix.
    intros [|i] less; [in_one_dimension; ring | lia].
  - unfold joint_form. rewrite (norm_ext 1 _ one), root, sqrt_1; [ring|].
    intros [|i] less; [in_one_dimension; ring | lia].
  - unfold folded_form. rewrite root, sqrt_1. ring.
Qed.
