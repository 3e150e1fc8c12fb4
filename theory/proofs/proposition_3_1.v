(** * Proposition 3.1: singular values bound the spread of the logits of one query.

    Main results (q = Q y, k_j = K x_j; sigma_Q, sigma_K, sigma_J any bounds of the operator norms of Q, K, K^T Q)
    - [paper]        e_j = q . k_j:                     delta <= 2 sigma_Q sigma_K ||y|| max ||x_j||
    With e_j = (Q y + b_Q) . (K x_j + b_K) / sqrt d:
    - [biased]       delta <= 2/sqrt d (sigma_Q ||y|| + ||b_Q||) sigma_K max ||x_j||
    - [difference]   delta <= 1/sqrt d ||Q y + b_Q|| sigma_K max ||x_j - x_k||
    - [joint]        delta <= 1/sqrt d (sigma_J ||y|| + ||K^T b_Q||) max ||x_j - x_k||
    - [direct]       delta <= 1/sqrt d ||K^T (Q y + b_Q)|| max ||x_j - x_k||
    - [ordering]     direct <= joint <= biased and direct <= difference <= biased
    - [paper_sigma]  the proposition with the largest singular values themselves

    Source: paper, Proposition 3.1; the other forms are this project's. *)

From softcheck Require Import softmax vectors.
Local Open Scope R_scope.

(** max of f over the items; 0 where there are none. *)
Definition largest_of {A} (f : A -> R) (items : list A) : R := fold_right Rmax 0 (map f items).

Lemma largest_of_ge {A} (f : A -> R) items x : In x items -> f x <= largest_of f items.
Proof.
  unfold largest_of. induction items as [|y ys IH]; [easy|]. intros [-> | inx]; cbn.
  - apply Rmax_l.
  - eapply Rle_trans; [now apply IH | apply Rmax_r].
Qed.

Lemma largest_of_nonneg {A} (f : A -> R) items : 0 <= largest_of f items.
Proof. unfold largest_of. induction items as [|y ys IH]; cbn; [lra|]. eapply Rle_trans; [exact IH | apply Rmax_r]. Qed.

Lemma largest_of_le {A} (f : A -> R) items c : 0 <= c -> (forall x, In x items -> f x <= c) -> largest_of f items <= c.
Proof.
  intros nonneg. unfold largest_of. induction items as [|y ys IH]; intros below; [easy|]. cbn.
  apply Rmax_lub; [apply below; now left|]. apply IH. intros. apply below. now right.
Qed.

Definition largest_norm (n : nat) (items : list vector) : R := largest_of (norm n) items.
Definition largest_difference (n : nat) (items : list vector) : R :=
  largest_of (fun pair => norm n (subtract (fst pair) (snd pair))) (list_prod items items).

Lemma largest_difference_ge n items x x' :
  In x items -> In x' items -> norm n (subtract x x') <= largest_difference n items.
Proof.
  intros inx inx'. apply (largest_of_ge (fun pair => norm n (subtract (fst pair) (snd pair))) _ (x, x')).
  now apply in_prod.
Qed.

(** ||x - x'|| <= ||x|| + ||x'||. *)
Lemma largest_difference_le n items : largest_difference n items <= 2 * largest_norm n items.
Proof.
  pose proof (largest_of_nonneg (norm n) items). apply largest_of_le; [unfold largest_norm; lra|]. intros [x x'] both.
  apply in_prod_iff in both as [inx inx']. cbn. eapply Rle_trans; [apply norm_subtract|].
  pose proof (largest_of_ge (norm n) items x inx). pose proof (largest_of_ge (norm n) items x' inx').
  unfold largest_norm. lra.
Qed.

Section OneQuery.
  (** Q is d by [width_y], K is d by [width_x]. *)
  Context (d width_y width_x : nat) (Q K : matrix) (b_Q b_K y : vector) (items : list vector) (rows : (0 < d)%nat).

  Definition projected : vector := add (multiply width_y Q y) b_Q.
  Definition pulled_back : vector := multiply d (transpose K) projected.
  Definition joint_matrix : matrix := product d (transpose K) Q.

  Definition paper_logits : list R := map (fun x => dot d (multiply width_y Q y) (multiply width_x K x)) items.
  Definition biased_logits : list R :=
    map (fun x => dot d projected (add (multiply width_x K x) b_K) / sqrt (INR d)) items.

  Context (sigma_Q sigma_K sigma_J : R) (bound_Q : operator_bound d width_y Q sigma_Q)
    (bound_K : operator_bound d width_x K sigma_K) (bound_J : operator_bound width_x width_y joint_matrix sigma_J).

  Definition paper_form : R := 2 * sigma_Q * sigma_K * norm width_y y * largest_norm width_x items.
  Definition biased_form : R :=
    2 / sqrt (INR d) * (sigma_Q * norm width_y y + norm d b_Q) * sigma_K * largest_norm width_x items.
  Definition difference_form : R := 1 / sqrt (INR d) * norm d projected * sigma_K * largest_difference width_x items.
  Definition joint_form : R :=
    1 / sqrt (INR d) * (sigma_J * norm width_y y + norm width_x (multiply d (transpose K) b_Q))
    * largest_difference width_x items.
  Definition direct_form : R := 1 / sqrt (INR d) * norm width_x pulled_back * largest_difference width_x items.

  Let root_pos : 0 < sqrt (INR d).
  Proof. apply sqrt_lt_R0. now apply lt_0_INR. Qed.

  Let share_nonneg : 0 <= 1 / sqrt (INR d).
  Proof. apply Rlt_le, Rdiv_lt_0_compat; [lra | exact root_pos]. Qed.

  (** u . (K x - K x') = K^T u . (x - x') *)
  Lemma logit_difference u x x' :
    dot d u (multiply width_x K x) - dot d u (multiply width_x K x')
    <= norm width_x (multiply d (transpose K) u) * norm width_x (subtract x x').
  Proof.
    replace (dot d u (multiply width_x K x) - dot d u (multiply width_x K x'))
      with (dot width_x (multiply d (transpose K) u) (subtract x x')).
    - eapply Rle_trans; [apply Rle_abs | apply cauchy_schwarz].
    - rewrite dot_subtract_r, !(dot_comm width_x (multiply d (transpose K) u)), <- !dot_multiply.
      now rewrite !(dot_comm d _ u).
  Qed.

  (** The key bias cancels, and K moves to the other side of the scalar product. *)
  Theorem direct : spread_at_most direct_form biased_logits.
  Proof.
    intros e e' ine ine'. unfold biased_logits in *. apply in_map_iff in ine as [x [<- inx]].
    apply in_map_iff in ine' as [x' [<- inx']]. rewrite !dot_add_r. unfold direct_form.
    pose proof (logit_difference projected x x') as difference. fold pulled_back in difference.
    pose proof (largest_difference_ge width_x items x x' inx inx') as near.
    apply Rmult_le_compat_l with (r := norm width_x pulled_back) in near; [|apply norm_nonneg]. unfold Rdiv.
    rewrite <- Rmult_minus_distr_r, Rmult_1_l, Rmult_assoc, (Rmult_comm (/ _)).
    apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|]. lra.
  Qed.

  (** ||K^T (Q y + b)|| <= ||K^T Q y|| + ||K^T b|| *)
  Lemma direct_at_most_joint : direct_form <= joint_form.
  Proof.
    apply Rmult_le_compat_r; [apply largest_of_nonneg|]. apply Rmult_le_compat_l; [exact share_nonneg|].
    unfold pulled_back, projected.
    rewrite (norm_ext width_x _ (add (multiply width_y joint_matrix y) (multiply d (transpose K) b_Q))).
    - eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat_r. apply bound_J.
    - intros i _. rewrite multiply_add. unfold add. f_equal. symmetry. apply multiply_product.
  Qed.

  (** ||K^T u|| <= sigma_K ||u|| *)
  Lemma direct_at_most_difference : direct_form <= difference_form.
  Proof.
    apply Rmult_le_compat_r; [apply largest_of_nonneg|]. rewrite Rmult_assoc.
    apply Rmult_le_compat_l; [exact share_nonneg|]. rewrite Rmult_comm.
    apply (operator_bound_transpose d width_x K sigma_K bound_K).
  Qed.

  (** ||Q y + b|| <= sigma_Q ||y|| + ||b||, and differences are at most twice the largest norm. *)
  Lemma difference_at_most_biased : difference_form <= biased_form.
  Proof.
    pose proof (largest_difference_le width_x items) as near.
    pose proof (largest_of_nonneg (fun pair => norm width_x (subtract (fst pair) (snd pair))) (list_prod items items))
      as nonneg.
    fold (largest_difference width_x items) in nonneg. destruct bound_Q as [nonneg_Q below_Q], bound_K as [nonneg_K _].
    assert (length : norm d projected <= sigma_Q * norm width_y y + norm d b_Q).
    { eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat_r, below_Q. } unfold difference_form, biased_form.
    replace (2 / sqrt (INR d) * (sigma_Q * norm width_y y + norm d b_Q) * sigma_K * largest_norm width_x items)
      with (1 / sqrt (INR d) * ((sigma_Q * norm width_y y + norm d b_Q) * sigma_K * (2 * largest_norm width_x items)))
      by (field; apply Rgt_not_eq, root_pos).
    replace (1 / sqrt (INR d) * norm d projected * sigma_K * largest_difference width_x items)
      with (1 / sqrt (INR d) * (norm d projected * sigma_K * largest_difference width_x items)) by ring.
    apply Rmult_le_compat_l; [exact share_nonneg|]. pose proof (norm_nonneg d projected).
    apply Rmult_le_compat; [now apply Rmult_le_pos | easy | now apply Rmult_le_compat_r | easy].
  Qed.

  (** sigma_J is taken no larger than the product, which bounds the norm of K^T Q itself. *)
  Lemma joint_at_most_biased : sigma_J <= sigma_Q * sigma_K -> joint_form <= biased_form.
  Proof.
    intros below_J. pose proof (largest_difference_le width_x items) as near.
    pose proof (largest_of_nonneg (fun pair => norm width_x (subtract (fst pair) (snd pair))) (list_prod items items))
      as nonneg.
    fold (largest_difference width_x items) in nonneg. destruct bound_J as [nonneg_J _].
    pose proof (norm_nonneg width_y y). destruct (operator_bound_transpose d width_x K sigma_K bound_K) as [_ below_K].
    specialize (below_K b_Q). pose proof (norm_nonneg width_x (multiply d (transpose K) b_Q)).
    unfold joint_form, biased_form.
    replace (2 / sqrt (INR d) * (sigma_Q * norm width_y y + norm d b_Q) * sigma_K * largest_norm width_x items)
      with (1 / sqrt (INR d) * ((sigma_Q * sigma_K * norm width_y y + sigma_K * norm d b_Q)
                                * (2 * largest_norm width_x items))) by (field; apply Rgt_not_eq, root_pos).
    rewrite Rmult_assoc. apply Rmult_le_compat_l; [exact share_nonneg|]. apply Rmult_le_compat; [|easy| |easy].
    - apply Rplus_le_le_0_compat; [now apply Rmult_le_pos | easy].
    - apply Rplus_le_compat; [now apply Rmult_le_compat_r | easy].
  Qed.

  Theorem ordering :
    sigma_J <= sigma_Q * sigma_K ->
    direct_form <= joint_form /\ joint_form <= biased_form /\
    direct_form <= difference_form /\ difference_form <= biased_form.
  Proof.
    intros. split; [apply direct_at_most_joint|]. split; [now apply joint_at_most_biased|].
    split; [apply direct_at_most_difference | apply difference_at_most_biased].
  Qed.

  Lemma spread_wider delta delta' logits :
    delta <= delta' -> spread_at_most delta logits -> spread_at_most delta' logits.
  Proof. intros wider within e e' ine ine'. specialize (within e e' ine ine'). lra. Qed.

  Theorem joint : spread_at_most joint_form biased_logits.
  Proof. exact (spread_wider _ _ _ direct_at_most_joint direct). Qed.

  Theorem difference : spread_at_most difference_form biased_logits.
  Proof. exact (spread_wider _ _ _ direct_at_most_difference direct). Qed.

  Theorem biased : spread_at_most biased_form biased_logits.
  Proof. exact (spread_wider _ _ _ difference_at_most_biased difference). Qed.

  (** The same for the paper's own logits: ||K^T Q y|| <= sigma_K sigma_Q ||y||. *)
  Theorem paper : spread_at_most paper_form paper_logits.
  Proof.
    intros e e' ine ine'. unfold paper_logits in *. apply in_map_iff in ine as [x [<- inx]].
    apply in_map_iff in ine' as [x' [<- inx']]. eapply Rle_trans; [apply logit_difference|].
    pose proof (largest_difference_ge width_x items x x' inx inx') as near.
    pose proof (largest_difference_le width_x items) as wide.
    destruct bound_Q as [nonneg_Q below_Q], (operator_bound_transpose d width_x K sigma_K bound_K)
      as [nonneg_K below_K].
    specialize (below_Q y). specialize (below_K (multiply width_y Q y)).
    apply Rle_trans with (sigma_K * (sigma_Q * norm width_y y) * (2 * largest_norm width_x items));
      [|unfold paper_form; apply Req_le; ring].
    apply Rmult_le_compat; try apply norm_nonneg; [|lra]. eapply Rle_trans; [exact below_K|].
    now apply Rmult_le_compat_l.
  Qed.
End OneQuery.

(** sigma(K^T Q) <= sigma(Q) sigma(K): the hypothesis of [ordering] holds for the singular values themselves. *)
Lemma sigma_joint_at_most_product d width_y width_x Q K :
  sigma width_x width_y (joint_matrix d Q K) <= sigma d width_y Q * sigma d width_x K.
Proof.
  rewrite Rmult_comm. apply sigma_least, operator_bound_product; [|apply sigma_bounds].
  apply operator_bound_transpose, sigma_bounds.
Qed.

Theorem paper_sigma d width_y width_x Q K y items :
  spread_at_most
    (2 * sigma d width_y Q * sigma d width_x K * norm width_y y * largest_norm width_x items)
    (paper_logits d width_y width_x Q K y items).
Proof. apply paper; apply sigma_bounds. Qed.
