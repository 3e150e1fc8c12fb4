(** * The checker of a network's spread: what it computes, and what follows where it says true.

    Main results
    - [product_proved]   Proposition 3.1's product of singular values is at most the bound, and so is every spread
    - [folded_proved]    the same of the form with W_K^T W_Q folded into one matrix

    The theorems hold for every query in [0, 1] and every set of admissible items, of any length. *)

From Coq Require Import ZArith Bool.
From softcheck Require Import softmax vectors proposition_3_1.
From softcheck.certified_network Require Import fixed_point matrix_norms gelu_values ball_layers max_retrieval.
Local Open Scope R_scope.

Definition spread_bounded (N : network) (delta : R) : Prop :=
  forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) -> spread_at_most delta (logits N y items).

(** The forms of Proposition 3.1 with the largest singular values themselves. *)
Definition product_form (N : network) (y : R) (items : list item) : R :=
  biased_form 128 128 128 (bias_vector (attention_query N)) (encode_query N y) (map (encode_item N) items)
    (sigma 128 128 (weight_matrix (attention_query N))) (sigma 128 128 (weight_matrix (attention_key N))).
Definition folded_form (N : network) (y : R) (items : list item) : R :=
  joint_form 128 128 128 (weight_matrix (attention_key N)) (bias_vector (attention_query N)) (encode_query N y)
    (map (encode_item N) items)
    (sigma 128 128 (joint_matrix 128 (weight_matrix (attention_query N)) (weight_matrix (attention_key N)))).

(** ** What the forms are made of, in integers *)

(** Units: 2^-16 of a matrix or a bias, 2^-14 of an activation. *)
Record norms := {
  of_query_matrix : Z;   (* of W_Q, rounded *)
  of_key_matrix : Z;
  of_joint_matrix : Z;
  of_query_bias : Z;     (* of b_Q, rounded *)
  of_joint_bias : Z;
  of_query : Z;
  of_item : Z;
  of_difference : Z
}.

Definition measured (N : network) (query : ball) (balls : list ball) : norms :=
  let Q := rounded (weights (attention_query N)) in
  let K := rounded (weights (attention_key N)) in
  let b := map (nearest 133) (biases (attention_query N)) in
  let size_Q := gram_above Q in
  let size_K := gram_above K in
  let size_b := norm_above b in
  {| of_query_matrix := size_Q;
     of_key_matrix := size_K;
     of_joint_matrix := gram_above (folded K Q) + rounding_share
                        + above 16 ((size_K + rounding_share) * rounding_share + rounding_share * size_Q);
     of_query_bias := size_b;
     of_joint_bias := above 16 (norm_above (map (fun k => dot_product k b) (columns_of 128 K))
                                + (rounding_share * size_b + (size_K + rounding_share) * 6));
     of_query := ball_norm query;
     of_item := largest (map ball_norm balls);
     of_difference := largest_distance balls |}.

(** Bounds are in units of 2^-10. Both sides are squared, so that sqrt 128 is a 128. *)
Definition product_fits (m : norms) (bound : Z) : bool :=
  let query := ((of_query_matrix m + rounding_share) * of_query m + (of_query_bias m + 6) * 2 ^ 14)%Z in
  let all := (2 * query * (of_key_matrix m + rounding_share) * of_item m)%Z in
  ((0 <=? bound) && (all * all <=? 128 * ((bound * 2 ^ 50) * (bound * 2 ^ 50))))%Z%bool.

Definition folded_fits (m : norms) (bound : Z) : bool :=
  let query := (of_joint_matrix m * of_query m + of_joint_bias m * 2 ^ 14)%Z in
  let all := (query * of_difference m)%Z in
  ((0 <=? bound) && (all * all <=? 128 * ((bound * 2 ^ 34) * (bound * 2 ^ 34))))%Z%bool.

Definition all_sized (N : network) : bool :=
  (sized (item_1 N) 11 && sized (item_2 N) 128 && sized (query_1 N) 1 && sized (query_2 N) 128
   && sized (attention_query N) 128 && sized (attention_key N) 128)%bool.

Definition spread_check (N : network) (cells : list (list cell)) (product_bound folded_bound : Z) : bool :=
  let source := make_source tt in
  if all_sized N
  then match query_ball source N, item_balls source N cells with
       | Some query, Some balls =>
           let m := measured N query balls in (product_fits m product_bound && folded_fits m folded_bound)%bool
       | _, _ => false
       end
  else false.

(** ** Soundness *)

Section Sound.
  Context (N : network) (query : ball) (balls : list ball)
    (shapes : all_sized N = true) (of_queries : forall y, 0 <= y <= 1 -> holds 128 query (encode_query N y))
    (of_items : forall x, admissible x -> exists b, In b balls /\ holds 128 b (encode_item N x)).

  Let m : norms := measured N query balls.
  Let Q := weight_matrix (attention_query N).
  Let K := weight_matrix (attention_key N).
  Let b_Q := bias_vector (attention_query N).

  Let shape_Q : length (weights (attention_query N)) = 128%nat /\ short 128 (weights (attention_query N)) /\
                length (biases (attention_query N)) = 128%nat.
  Proof.
    unfold all_sized in shapes. rewrite !andb_true_iff in shapes. destruct shapes as [[_ shape] _].
    destruct (sized_holds _ _ shape) as [rows (_ & same & _ & fits)]. now rewrite same, rows.
  Qed.

  Let shape_K : length (weights (attention_key N)) = 128%nat /\ short 128 (weights (attention_key N)).
  Proof.
    unfold all_sized in shapes. rewrite !andb_true_iff in shapes. destruct shapes as [_ shape].
    destruct (sized_holds _ _ shape) as [rows (_ & _ & _ & fits)]. now rewrite rows.
  Qed.

  Lemma gram_nonneg rows : (0 <= gram_above rows)%Z.
  Proof. apply Z.sqrt_up_nonneg. Qed.

  Lemma query_matrix_bound : operator_bound 128 128 Q (place 16 (of_query_matrix m + rounding_share)).
  Proof. destruct shape_Q as (rows & fits & _). apply with_rounding; [lia | lia|]. now apply rounded_gram. Qed.

  Lemma key_matrix_bound : operator_bound 128 128 K (place 16 (of_key_matrix m + rounding_share)).
  Proof. destruct shape_K as (rows & fits). apply with_rounding; [lia | lia|]. now apply rounded_gram. Qed.

  Lemma joint_matrix_bound : operator_bound 128 128 (joint_matrix 128 Q K) (place 16 (of_joint_matrix m)).
  Proof.
    destruct shape_Q as (rows & fits & _). destruct shape_K as (rows' & fits').
    pose proof (gram_nonneg (rounded (weights (attention_query N)))).
    pose proof (gram_nonneg (rounded (weights (attention_key N)))).
    apply folded_bounds; [lia | unfold rounding_share; lia | easy | exact key_matrix_bound | now apply rounded_gram].
  Qed.

  Let rounded_bias : list Z := map (nearest 133) (biases (attention_query N)).

  Let rounded_bias_norm : norm 128 (real_vector 16 rounded_bias) <= place 16 (of_query_bias m).
  Proof. apply norm_of_integers; [lia|]. unfold rounded_bias. rewrite map_length. now destruct shape_Q as (_ & _ & ->). Qed.

  Let bias_close : norm 128 (subtract b_Q (real_vector 16 rounded_bias)) <= place 16 6.
  Proof.
    replace (place 16 6) with (12 * half_unit) by (unfold place, half_unit; change (IZR (2 ^ 16)) with 65536; field).
    apply entries_bound_norm; [lia | | apply half_unit_nonneg]. intros i _.
    unfold subtract, b_Q, bias_vector, real_vector, rounded_bias.
    rewrite entry_map by easy. apply (nearest_error 16 133); lia.
  Qed.

  Lemma query_bias_bound : norm 128 b_Q <= place 16 (of_query_bias m + 6).
  Proof.
    rewrite (norm_ext 128 b_Q (add (real_vector 16 rounded_bias) (subtract b_Q (real_vector 16 rounded_bias))))
      by (intros; unfold add, subtract; ring).
    rewrite place_plus. eapply Rle_trans; [apply norm_add|]. now apply Rplus_le_compat.
  Qed.

  (** K^T b = K'^T b' + (K - K')^T b' + K^T (b - b'), K' and b' rounded. *)
  Lemma joint_bias_bound : norm 128 (multiply 128 (transpose K) b_Q) <= place 16 (of_joint_bias m).
  Proof.
    destruct shape_K as (rows & fits). set (Kr := real_matrix 16 (rounded (weights (attention_key N)))).
    set (b := real_vector 16 rounded_bias).
    rewrite (norm_ext 128 _ (add (multiply 128 (transpose Kr) b)
      (add (multiply 128 (transpose (subtract_matrices K Kr)) b) (multiply 128 (transpose K) (subtract b_Q b))))).
    2:{ intros i _. unfold add. rewrite multiply_subtract.
        change (transpose (subtract_matrices K Kr)) with (subtract_matrices (transpose K) (transpose Kr)).
        rewrite multiply_subtract_matrices. unfold subtract. ring. }
    eapply Rle_trans; [apply norm_add|]. cbn [of_joint_bias m measured].
    eapply Rle_trans; [|apply (above_le 16 16); lia]. rewrite !place_plus, !place_mult by lia.
    apply Rplus_le_compat; [|eapply Rle_trans; [apply norm_add|]; apply Rplus_le_compat].
    - rewrite (norm_ext 128 _ (real_vector 32 (map (fun k => dot_product k rounded_bias)
        (columns_of 128 (rounded (weights (attention_key N))))))).
      + apply norm_of_integers; [lia|]. unfold columns_of. now rewrite !map_length, seq_length.
      + intros i less. unfold multiply, transpose, b. unfold real_vector at 2.
        rewrite (entry_map_rows (fun k => dot_product k rounded_bias)), row_of_columns by easy.
        rewrite (dot_ext 128 _ (real_vector 16 rounded_bias)
          (real_vector 16 (map (fun row => entry row i) (rounded (weights (attention_key N)))))
          (real_vector 16 rounded_bias));
          [|intros; unfold Kr, real_matrix, real_vector; now rewrite entry_of_column | easy].
        apply (dot_of_integers 16 16); [lia | lia|]. unfold rounded. rewrite !map_length. lia.
    - pose proof (rounding_bounds 128 128 (weights (attention_key N)) ltac:(lia) ltac:(lia)) as close.
      destruct (operator_bound_transpose _ _ _ _ close) as [_ bound]. eapply Rle_trans; [apply bound|].
      apply Rmult_le_compat_l; [|exact rounded_bias_norm]. apply place_nonneg; unfold rounding_share; lia.
    - destruct (operator_bound_transpose _ _ _ _ key_matrix_bound) as [nonneg bound]. eapply Rle_trans; [apply bound|].
      now apply Rmult_le_compat_l.
  Qed.

  Section OneSet.
    Context (y : R) (items : list item) (query_in : 0 <= y <= 1) (items_in : forall x, In x items -> admissible x).

    Let of_query_nonneg : 0 <= place 14 (of_query m).
    Proof. eapply Rle_trans; [apply (norm_nonneg 128) | apply ball_norm_holds, (of_queries y query_in)]. Qed.

    Lemma query_bound : norm 128 (encode_query N y) <= place 14 (of_query m).
    Proof. now apply ball_norm_holds, of_queries. Qed.

    Lemma item_bound : largest_norm 128 (map (encode_item N) items) <= place 14 (of_item m).
    Proof.
      apply largest_of_le; [apply place_nonneg; [lia | apply largest_nonneg]|]. intros v inv.
      apply in_map_iff in inv as [x [<- inx]]. destruct (of_items x (items_in x inx)) as [b [inb near]].
      eapply Rle_trans; [now apply ball_norm_holds, near|]. apply place_le; [lia|]. now apply largest_ge, in_map.
    Qed.

    Lemma difference_bound : largest_difference 128 (map (encode_item N) items) <= place 14 (of_difference m).
    Proof.
      apply largest_of_le; [apply place_nonneg; [lia | apply largest_distance_nonneg]|]. intros [v w] both.
      apply in_prod_iff in both as [inv inw]. cbn [fst snd].
      apply in_map_iff in inv as [x [<- inx]]. apply in_map_iff in inw as [z [<- inz]].
      destruct (of_items x (items_in x inx)) as [b [inb near]]. destruct (of_items z (items_in z inz)) as [c [inc near']].
      eapply Rle_trans; [now apply (ball_distance_holds b c)|]. apply place_le; [lia|]. now apply largest_distance_ge.
    Qed.

    Let sigma_nonneg rows columns A : 0 <= sigma rows columns A.
    Proof. apply sigma_bounds. Qed.

    (** a <= sqrt 128 D from the squares. *)
    Lemma share_of_root a bound : 0 <= place 10 bound -> a * a <= 128 * (place 10 bound * place 10 bound) ->
      a / sqrt (INR 128) <= place 10 bound.
    Proof.
      intros nonneg below. rewrite INR_IZR_INZ. change (Z.of_nat 128) with 128%Z.
      assert (pos : 0 < sqrt 128) by (apply sqrt_lt_R0; lra). apply Rmult_le_reg_r with (sqrt 128); [easy|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by lra. pose proof (sqrt_sqrt 128 ltac:(lra)).
      apply Rsqr_incr_0_var; [|now apply Rlt_le, Rmult_le_pos in pos || nra]. unfold Rsqr. nra.
    Qed.

    Lemma product_form_bounded bound : product_fits m bound = true -> product_form N y items <= place 10 bound.
    Proof.
      unfold product_fits. cbv zeta. rewrite andb_true_iff, !Z.leb_le. intros [nonneg squares].
      pose proof (sigma_least _ _ _ _ query_matrix_bound) as low_Q.
      pose proof (sigma_least _ _ _ _ key_matrix_bound) as low_K. pose proof query_bound as low_y.
      pose proof item_bound as low_x. pose proof query_bias_bound as low_b. fold Q in low_Q. fold K in low_K.
      unfold product_form, biased_form. fold Q K b_Q. set (s_Q := (of_query_matrix m + rounding_share)%Z) in *.
      set (s_K := (of_key_matrix m + rounding_share)%Z) in *. set (s_b := (of_query_bias m + 6)%Z) in *.
      apply Rle_trans with (place 60 (2 * (s_Q * of_query m + s_b * 2 ^ 14) * s_K * of_item m) / sqrt (INR 128)).
      - replace (place 60 (2 * (s_Q * of_query m + s_b * 2 ^ 14) * s_K * of_item m))
          with (2 * ((place 16 s_Q * place 14 (of_query m) + place 16 s_b) * place 16 s_K * place 14 (of_item m))).
        2:{ rewrite <- (place_shift 16 14 s_b), <- !place_mult, <- place_plus, <- !place_mult by lia.
            replace 2 with (place 0 2) at 1 by (unfold place; cbn; field). rewrite <- place_mult by lia. f_equal.
            ring. }
        replace (2 / sqrt (INR 128) * (sigma 128 128 Q * norm 128 (encode_query N y) + norm 128 b_Q) * sigma 128 128 K
                 * largest_norm 128 (map (encode_item N) items))
          with (2 * ((sigma 128 128 Q * norm 128 (encode_query N y) + norm 128 b_Q) * sigma 128 128 K
                     * largest_norm 128 (map (encode_item N) items)) / sqrt (INR 128)) by (unfold Rdiv; ring).
        apply Rmult_le_compat_r. { apply Rlt_le, Rinv_0_lt_compat, sqrt_lt_R0, lt_0_INR. lia. }
        apply Rmult_le_compat_l; [lra|]. pose proof (norm_nonneg 128 (encode_query N y)).
        pose proof (norm_nonneg 128 b_Q). pose proof (sigma_nonneg 128 128 Q). pose proof (sigma_nonneg 128 128 K).
        pose proof (largest_of_nonneg (norm 128) (map (encode_item N) items)) as nonneg_x.
        fold (largest_norm 128 (map (encode_item N) items)) in nonneg_x.
        assert (0 <= sigma 128 128 Q * norm 128 (encode_query N y)) by now apply Rmult_le_pos.
        apply Rmult_le_compat; [apply Rmult_le_pos; lra | easy | | easy]. apply Rmult_le_compat; [lra | easy | | easy].
        apply Rplus_le_compat; [now apply Rmult_le_compat | easy].
      - apply share_of_root; [now apply place_nonneg|]. rewrite <- (place_shift 10 50) by lia.
        change (10 + 50)%Z with 60%Z. replace 128 with (place 0 128) by (unfold place; cbn; field).
        rewrite <- !place_mult by lia. apply place_le; [lia | exact squares].
    Qed.

    Lemma folded_form_bounded bound : folded_fits m bound = true -> folded_form N y items <= place 10 bound.
    Proof.
      unfold folded_fits. cbv zeta. rewrite andb_true_iff, !Z.leb_le. intros [nonneg squares].
      pose proof (sigma_least _ _ _ _ joint_matrix_bound) as low_J. pose proof joint_bias_bound as low_b.
      pose proof query_bound as low_y. pose proof difference_bound as low_x. unfold folded_form, joint_form.
      fold Q K b_Q.
      apply Rle_trans with
        (place 44 ((of_joint_matrix m * of_query m + of_joint_bias m * 2 ^ 14) * of_difference m) / sqrt (INR 128)).
      - replace (place 44 ((of_joint_matrix m * of_query m + of_joint_bias m * 2 ^ 14) * of_difference m))
          with ((place 16 (of_joint_matrix m) * place 14 (of_query m) + place 16 (of_joint_bias m))
                * place 14 (of_difference m)).
        2:{ rewrite <- (place_shift 16 14 (of_joint_bias m)), <- !place_mult, <- place_plus, <- place_mult by lia.
            reflexivity. }
        replace (1 / sqrt (INR 128) * (sigma 128 128 (joint_matrix 128 Q K) * norm 128 (encode_query N y)
                   + norm 128 (multiply 128 (transpose K) b_Q)) * largest_difference 128 (map (encode_item N) items))
          with ((sigma 128 128 (joint_matrix 128 Q K) * norm 128 (encode_query N y)
                 + norm 128 (multiply 128 (transpose K) b_Q))
                * largest_difference 128 (map (encode_item N) items) / sqrt (INR 128)) by (unfold Rdiv; ring).
        apply Rmult_le_compat_r. { apply Rlt_le, Rinv_0_lt_compat, sqrt_lt_R0, lt_0_INR. lia. }
        pose proof (norm_nonneg 128 (encode_query N y)). pose proof (norm_nonneg 128 (multiply 128 (transpose K) b_Q)).
        pose proof (sigma_nonneg 128 128 (joint_matrix 128 Q K)).
        assert (0 <= sigma 128 128 (joint_matrix 128 Q K) * norm 128 (encode_query N y)) by now apply Rmult_le_pos.
        apply Rmult_le_compat; [lra | apply largest_of_nonneg | | easy].
        apply Rplus_le_compat; [now apply Rmult_le_compat | easy].
      - apply share_of_root; [now apply place_nonneg|]. rewrite <- (place_shift 10 34) by lia.
        change (10 + 34)%Z with 44%Z. replace 128 with (place 0 128) by (unfold place; cbn; field).
        rewrite <- !place_mult by lia. apply place_le; [lia | exact squares].
    Qed.
  End OneSet.
End Sound.

Lemma spread_check_parts N cells product_bound folded_bound :
  spread_check N cells product_bound folded_bound = true ->
  exists query balls, all_sized N = true /\ (forall y, 0 <= y <= 1 -> holds 128 query (encode_query N y)) /\
    (forall x, admissible x -> exists b, In b balls /\ holds 128 b (encode_item N x)) /\
    product_fits (measured N query balls) product_bound = true /\ folded_fits (measured N query balls) folded_bound = true.
Proof.
  unfold spread_check. cbv zeta. destruct (all_sized N) eqn:shapes; [|discriminate].
  destruct (query_ball _ N) as [query|] eqn:of_query; [|discriminate].
  destruct (item_balls _ N cells) as [balls|] eqn:of_items; [|discriminate]. rewrite andb_true_iff. intros [fits fits'].
  exists query, balls. pose proof shapes as each_shape. unfold all_sized in each_shape.
  rewrite !andb_true_iff in each_shape. destruct each_shape as [[[[[shape shape'] shape''] shape'''] _] _].
  split; [reflexivity|]. split; [intros y inside; now apply query_covered|].
  split; [intros x inside; now apply (item_covered N cells)|]. now split.
Qed.

(** The product of singular values, Proposition 3.1. *)
Theorem product_proved N cells product_bound folded_bound :
  spread_check N cells product_bound folded_bound = true ->
  (forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) ->
     product_form N y items <= place 10 product_bound) /\
  spread_bounded N (place 10 product_bound).
Proof.
  intros checked. destruct (spread_check_parts _ _ _ _ checked) as (query & balls & shapes & queries & items & fits & _).
  assert (form : forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) ->
            product_form N y items <= place 10 product_bound)
    by (intros; eapply (product_form_bounded N query balls); eassumption).
  split; [exact form|]. intros y set inside admitted.
  eapply spread_wider; [apply form; eassumption|]. unfold product_form, logits.
  eapply biased; first [apply sigma_bounds | lia].
Qed.

(** W_K^T W_Q as one matrix. *)
Theorem folded_proved N cells product_bound folded_bound :
  spread_check N cells product_bound folded_bound = true ->
  (forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) ->
     folded_form N y items <= place 10 folded_bound) /\
  spread_bounded N (place 10 folded_bound).
Proof.
  intros checked. destruct (spread_check_parts _ _ _ _ checked) as (query & balls & shapes & queries & items & _ & fits).
  assert (form : forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) ->
            folded_form N y items <= place 10 folded_bound)
    by (intros; eapply (folded_form_bounded N query balls); eassumption).
  split; [exact form|]. intros y set inside admitted.
  eapply spread_wider; [apply form; eassumption|]. unfold folded_form, logits.
  eapply joint; first [apply sigma_bounds | lia].
Qed.
