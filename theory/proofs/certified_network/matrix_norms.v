(** * Operator norms of matrices of binary32 numbers, bounded by computing with integers.

    Main results
    - [rounded_bounds]   sigma(A) <= ||B||_F + 64/2^16, B the entries of A rounded to 16 bits behind the point
    - [gram_bounds]      sigma(B)^2 <= ||B B^T||_F: sharp where one singular value outweighs the others
    - [folded_bounds]    sigma(K^T Q) from the rounded product of the rounded matrices

    An integer of a network counts units of 2^-149, the smallest binary32 number. *)

From Coq Require Import ZArith.
From Coquelicot Require Import Rcomplements.
From softcheck Require Import softmax vectors proposition_3_1.
From softcheck.certified_network Require Import fixed_point.
Local Open Scope R_scope.

(** ** Sums of matrices *)

Lemma operator_bound_ext rows columns A B s :
  (forall i j, (i < rows)%nat -> (j < columns)%nat -> A i j = B i j) ->
  operator_bound rows columns A s -> operator_bound rows columns B s.
Proof.
  intros same [nonneg bound]. split; [easy|]. intros x. rewrite (norm_ext rows _ (multiply columns A x)); [apply bound|].
  intros i less. unfold multiply. apply dot_ext; [|easy]. intros j less'. now rewrite same.
Qed.

Lemma operator_bound_weaken rows columns A s t :
  s <= t -> operator_bound rows columns A s -> operator_bound rows columns A t.
Proof.
  intros wider [nonneg bound]. split; [lra|]. intros x. eapply Rle_trans; [apply bound|].
  apply Rmult_le_compat_r; [apply norm_nonneg | easy].
Qed.

Definition add_matrices (A B : matrix) : matrix := fun i j => A i j + B i j.
Definition subtract_matrices (A B : matrix) : matrix := fun i j => A i j - B i j.

Lemma multiply_add_matrices columns A B x i :
  multiply columns (add_matrices A B) x i = add (multiply columns A x) (multiply columns B x) i.
Proof. exact (dot_add_l columns (A i) (B i) x). Qed.

Lemma multiply_subtract_matrices columns A B x i :
  multiply columns (subtract_matrices A B) x i = subtract (multiply columns A x) (multiply columns B x) i.
Proof. exact (dot_subtract_l columns (A i) (B i) x). Qed.

Lemma operator_bound_sum rows columns A B s t :
  operator_bound rows columns A s -> operator_bound rows columns B t ->
  operator_bound rows columns (add_matrices A B) (s + t).
Proof.
  intros [nonneg bound] [nonneg' bound']. split; [lra|]. intros x.
  rewrite (norm_ext rows _ (add (multiply columns A x) (multiply columns B x))) by (intros; apply multiply_add_matrices).
  eapply Rle_trans; [apply norm_add|]. specialize (bound x). specialize (bound' x). lra.
Qed.

(** ** Rounded entries *)

(** From units of 2^-149 to units of 2^-16. *)
Definition rounded (rows : list (list Z)) : list (list Z) := map (map (nearest 133)) rows.

Lemma entry_map f x i : f 0%Z = 0%Z -> entry (map f x) i = f (entry x i).
Proof. intros zero. unfold entry. rewrite <- zero at 1. apply map_nth. Qed.

Lemma entry_map_rows (f : list Z -> Z) rows i : f [] = 0%Z -> entry (map f rows) i = f (row_of rows i).
Proof. intros zero. unfold entry, row_of. rewrite <- zero at 1. apply map_nth. Qed.

Lemma row_of_map f rows i : f [] = [] -> row_of (map f rows) i = f (row_of rows i).
Proof. intros none. unfold row_of. rewrite <- none at 1. apply map_nth. Qed.

Lemma entry_rounded rows i j : entry (row_of (rounded rows) i) j = nearest 133 (entry (row_of rows i) j).
Proof. unfold rounded. rewrite row_of_map by easy. now rewrite entry_map. Qed.

Definition half_unit : R := / 2 / IZR (2 ^ 16).

Lemma rounded_close rows i j : Rabs (real_matrix 149 rows i j - real_matrix 16 (rounded rows) i j) <= half_unit.
Proof. unfold real_matrix, real_vector. rewrite entry_rounded. apply (nearest_error 16 133); lia. Qed.

Definition rounding_share : Z := 64.

Lemma rounding_share_is : 128 * half_unit = place 16 rounding_share.
Proof. unfold half_unit, place, rounding_share. change (IZR (2 ^ 16)) with 65536. field. Qed.

Lemma half_unit_nonneg : 0 <= half_unit.
Proof. unfold half_unit. change (IZR (2 ^ 16)) with 65536. lra. Qed.

Lemma rounding_bounds rows columns A :
  (rows <= 128)%nat -> (columns <= 128)%nat ->
  operator_bound rows columns (subtract_matrices (real_matrix 149 A) (real_matrix 16 (rounded A)))
    (place 16 rounding_share).
Proof.
  intros. rewrite <- rounding_share_is. apply entries_bound_operator; try easy; [|apply half_unit_nonneg].
  intros i j _ _. apply rounded_close.
Qed.

Lemma with_rounding rows columns A s :
  (rows <= 128)%nat -> (columns <= 128)%nat ->
  operator_bound rows columns (real_matrix 16 (rounded A)) (place 16 s) ->
  operator_bound rows columns (real_matrix 149 A) (place 16 (s + rounding_share)).
Proof.
  intros few few' bound. rewrite place_plus.
  apply operator_bound_ext with (add_matrices (real_matrix 16 (rounded A))
    (subtract_matrices (real_matrix 149 A) (real_matrix 16 (rounded A)))).
  - intros. unfold add_matrices, subtract_matrices. ring.
  - apply operator_bound_sum; [easy | now apply rounding_bounds].
Qed.

(** ** Sums over rows *)

Lemma rows_in_order {A} (rows : list A) none : map (fun i => nth i rows none) (seq 0 (length rows)) = rows.
Proof.
  induction rows as [|row rows IH]; [easy|]. cbn [length seq map nth]. f_equal. now rewrite <- seq_shift, map_map.
Qed.

Lemma sum_over_rows (f : list Z -> R) rows :
  sum (map (fun i => f (row_of rows i)) (seq 0 (length rows))) = sum (map f rows).
Proof. unfold row_of. now rewrite <- (map_map (fun i => nth i rows []) f), rows_in_order. Qed.

Lemma sum_of_places bits (f : list Z -> Z) rows :
  sum (map (fun r => place bits (f r)) rows) = place bits (fold_right (fun r total => (f r + total)%Z) 0%Z rows).
Proof. induction rows as [|row rows IH]; cbn; [now rewrite place_zero|]. rewrite place_plus, <- IH. reflexivity. Qed.

Definition short (columns : nat) (rows : list (list Z)) : Prop := forall row, In row rows -> (length row <= columns)%nat.

Lemma short_row columns rows i : short columns rows -> (length (row_of rows i) <= columns)%nat.
Proof.
  intros fits. unfold row_of. destruct (nth_in_or_default i rows []) as [inside | ->]; [now apply fits | cbn; lia].
Qed.

(** ** The Frobenius norm *)

Definition frobenius_above (rows : list (list Z)) : Z :=
  Z.sqrt_up (fold_right (fun row total => (dot_product row row + total)%Z) 0%Z rows).

Lemma squares_nonneg rows : (0 <= fold_right (fun row total => (dot_product row row + total)%Z) 0%Z rows)%Z.
Proof. induction rows as [|row rows IH]; cbn; [lia|]. pose proof (square_nonneg row). lia. Qed.

Lemma frobenius_of_integers columns rows :
  short columns rows ->
  operator_bound (length rows) columns (real_matrix 16 rows) (place 16 (frobenius_above rows)).
Proof.
  intros fits. apply operator_bound_weaken with (2 := frobenius_bounds _ _ _). unfold frobenius.
  rewrite (sum_map_ext _ (fun i => place (16 + 16) (dot_product (row_of rows i) (row_of rows i))))
    by (intros; apply dot_of_integers; [lia | lia | now apply short_row]).
  rewrite (sum_over_rows (fun row => place (16 + 16) (dot_product row row))), sum_of_places.
  apply sqrt_place; [lia | apply squares_nonneg].
Qed.

Theorem rounded_bounds columns rows :
  (length rows <= 128)%nat -> (columns <= 128)%nat -> short columns rows ->
  operator_bound (length rows) columns (real_matrix 149 rows) (place 16 (frobenius_above (rounded rows) + rounding_share)).
Proof.
  intros few few' fits. apply with_rounding; [easy | easy|].
  replace (length rows) with (length (rounded rows)) by (unfold rounded; apply map_length).
  apply frobenius_of_integers. intros row inside. unfold rounded in inside. apply in_map_iff in inside as [r [<- inr]].
  rewrite map_length. now apply fits.
Qed.

(** ** Gram matrices *)

(** ||B B^T||_F^2, each pair of rows once. *)
Fixpoint gram_square (rows : list (list Z)) : Z :=
  match rows with
  | [] => 0%Z
  | row :: rest =>
      let own := dot_product row row in
      (own * own + 2 * fold_right (fun other total => let d := dot_product row other in d * d + total) 0 rest
       + gram_square rest)%Z
  end.

Definition gram_above (rows : list (list Z)) : Z := Z.sqrt_up (Z.sqrt_up (gram_square rows)).

Definition square_of_pair (row other : list Z) : Z := (dot_product row other * dot_product row other)%Z.

Lemma fold_add (f g : list Z -> Z) rows :
  (fold_right (fun r total => f r + total) 0 rows + fold_right (fun r total => g r + total) 0 rows
   = fold_right (fun r total => f r + g r + total) 0 rows)%Z.
Proof. induction rows as [|r rows IH]; cbn; lia. Qed.

Lemma gram_square_of_all rows :
  gram_square rows
  = fold_right (fun r total => (fold_right (fun o total => (square_of_pair r o + total)%Z) 0%Z rows + total)%Z) 0%Z rows.
Proof.
  induction rows as [|row rows IH]; [easy|]. cbn [gram_square fold_right]. cbv zeta. rewrite IH.
  rewrite <- (fold_add (fun r => square_of_pair r row)
    (fun r => fold_right (fun o total => (square_of_pair r o + total)%Z) 0%Z rows)).
  assert (mirrored : fold_right (fun r total => (square_of_pair r row + total)%Z) 0%Z rows
                     = fold_right (fun o total => (square_of_pair row o + total)%Z) 0%Z rows).
  { clear. induction rows as [|r rows IH]; cbn; [easy|]. unfold square_of_pair at 1 3.
    rewrite IH, (dot_product_comm r row). easy. }
  rewrite mirrored. unfold square_of_pair. lia.
Qed.

Lemma gram_square_nonneg rows : (0 <= gram_square rows)%Z.
Proof.
  induction rows as [|row rows IH]; [easy|]. cbn [gram_square]. cbv zeta.
  pose proof (Z.square_nonneg (dot_product row row)).
  enough (0 <= fold_right (fun other total => dot_product row other * dot_product row other + total) 0 rows)%Z by lia.
  clear. induction rows as [|r rows IH]; cbn; [lia|]. pose proof (Z.square_nonneg (dot_product row r)). lia.
Qed.

(** ||A^T u||^2 = u . A A^T u. *)
Lemma gram_operator_bound rows columns A s :
  0 <= s -> operator_bound rows rows (product columns A (transpose A)) (s * s) -> operator_bound rows columns A s.
Proof.
  intros nonneg [_ bound]. apply (operator_bound_transpose columns rows (transpose A)). split; [easy|]. intros u.
  unfold norm at 1. rewrite dot_multiply.
  rewrite (dot_ext rows u _ u (multiply rows (product columns A (transpose A)) u))
    by (intros; first [reflexivity | symmetry; apply multiply_product]).
  rewrite <- (sqrt_Rsqr (s * norm rows u)) by (apply Rmult_le_pos; [easy | apply norm_nonneg]).
  apply sqrt_le_1_alt. eapply Rle_trans; [apply Rle_abs|]. eapply Rle_trans; [apply cauchy_schwarz|].
  specialize (bound u). unfold Rsqr. pose proof (norm_nonneg rows u).
  apply Rle_trans with (norm rows u * (s * s * norm rows u)); [now apply Rmult_le_compat_l | apply Req_le; ring].
Qed.

Theorem gram_bounds columns rows :
  short columns rows -> operator_bound (length rows) columns (real_matrix 16 rows) (place 16 (gram_above rows)).
Proof.
  intros fits. apply gram_operator_bound; [apply place_nonneg; [lia | apply Z.sqrt_up_nonneg]|].
  apply operator_bound_weaken with (2 := frobenius_bounds _ _ _). unfold frobenius.
  rewrite (sum_map_ext _ (fun i => place (32 + 32)
    (fold_right (fun o total => (square_of_pair (row_of rows i) o + total)%Z) 0%Z rows))).
  2:{ intros i _. rewrite <- sum_of_places, <- sum_over_rows. apply sum_map_ext. intros j _. unfold square_of_pair.
      rewrite place_mult by lia.
      assert (same : product columns (real_matrix 16 rows) (transpose (real_matrix 16 rows)) i j
                     = place 32 (dot_product (row_of rows i) (row_of rows j))).
      { apply (dot_of_integers 16 16); [lia | lia | now apply short_row]. } now rewrite same. }
  rewrite (sum_over_rows (fun row => place (32 + 32)
    (fold_right (fun o total => (square_of_pair row o + total)%Z) 0%Z rows))), sum_of_places, <- gram_square_of_all.
  eapply Rle_trans; [apply sqrt_place; [lia | apply gram_square_nonneg]|]. rewrite <- place_mult by lia.
  apply place_le; [lia|]. apply root_above. apply Z.sqrt_up_nonneg.
Qed.

(** ** K^T Q *)

Definition columns_of (count : nat) (rows : list (list Z)) : list (list Z) :=
  map (fun j => map (fun row => entry row j) rows) (seq 0 count).

Definition folded (K Q : list (list Z)) : list (list Z) :=
  let of_Q := columns_of 128 Q in
  map (fun k => map (fun q => nearest 16 (dot_product k q)) of_Q) (columns_of 128 K).

Lemma row_of_columns count rows j : (j < count)%nat -> row_of (columns_of count rows) j = map (fun row => entry row j) rows.
Proof.
  intros less. unfold row_of, columns_of.
  rewrite (nth_indep _ [] (map (fun row => entry row 0%nat) rows)) by now rewrite map_length, seq_length.
  rewrite (map_nth (fun j => map (fun row => entry row j) rows)), seq_nth; easy.
Qed.

Lemma entry_of_column rows j k : entry (map (fun row => entry row j) rows) k = entry (row_of rows k) j.
Proof.
  unfold entry at 1, row_of. replace 0%Z with (entry [] j) by now destruct j.
  exact (map_nth (fun row => entry row j) rows [] k).
Qed.

Lemma entry_folded K Q i j :
  (i < 128)%nat -> (j < 128)%nat ->
  entry (row_of (folded K Q) i) j
  = nearest 16 (dot_product (map (fun row => entry row i) K) (map (fun row => entry row j) Q)).
Proof.
  intros less less'. unfold folded.
  rewrite <- (row_of_columns 128 K i less), <- (row_of_columns 128 Q j less').
  unfold row_of at 1. rewrite (nth_indep _ [] (map (fun q => nearest 16 (dot_product [] q)) (columns_of 128 Q)))
    by (unfold columns_of; now rewrite !map_length, seq_length).
  rewrite (map_nth (fun k => map (fun q => nearest 16 (dot_product k q)) (columns_of 128 Q))).
  unfold entry at 1. fold (row_of (columns_of 128 K) i).
  rewrite (nth_indep _ 0%Z (nearest 16 (dot_product (row_of (columns_of 128 K) i) [])))
    by (rewrite map_length; unfold columns_of; now rewrite map_length, seq_length).
  rewrite (map_nth (fun q => nearest 16 (dot_product (row_of (columns_of 128 K) i) q))). reflexivity.
Qed.

(** The product of the rounded matrices, before its own rounding. *)
Lemma folded_close K Q i j :
  (length K <= 128)%nat -> (i < 128)%nat -> (j < 128)%nat ->
  Rabs (joint_matrix 128 (real_matrix 16 Q) (real_matrix 16 K) i j - real_matrix 16 (folded K Q) i j) <= half_unit.
Proof.
  intros few less less'. unfold real_matrix at 3, real_vector. rewrite entry_folded by easy.
  unfold joint_matrix, product, transpose.
  rewrite (dot_ext 128 _ _ (real_vector 16 (map (fun row => entry row i) K))
    (real_vector 16 (map (fun row => entry row j) Q)))
    by (intros; unfold real_matrix, real_vector; now rewrite entry_of_column).
  rewrite dot_of_integers by (rewrite ?map_length; easy || lia). apply (nearest_error 16 16); lia.
Qed.

Lemma folded_shape K Q : length (folded K Q) = 128%nat /\ short 128 (folded K Q).
Proof.
  unfold folded, columns_of. split; [now rewrite !map_length, seq_length|].
  intros row inside. apply in_map_iff in inside as [k [<- _]]. now rewrite !map_length, seq_length.
Qed.

Theorem folded_bounds K Q s_K g_Q :
  (length K <= 128)%nat -> (0 <= s_K)%Z -> (0 <= g_Q)%Z ->
  operator_bound 128 128 (real_matrix 149 K) (place 16 s_K) ->
  operator_bound 128 128 (real_matrix 16 (rounded Q)) (place 16 g_Q) ->
  operator_bound 128 128 (joint_matrix 128 (real_matrix 149 Q) (real_matrix 149 K))
    (place 16 (gram_above (folded (rounded K) (rounded Q)) + rounding_share
               + above 16 (s_K * rounding_share + rounding_share * g_Q))).
Proof.
  intros few nonneg nonneg' bound_K bound_Q. set (K' := real_matrix 149 K) in *. set (Q' := real_matrix 149 Q) in *.
  set (Kr := real_matrix 16 (rounded K)). set (Qr := real_matrix 16 (rounded Q)) in *.
  set (J := real_matrix 16 (folded (rounded K) (rounded Q))).
  apply operator_bound_ext with (add_matrices (add_matrices J (subtract_matrices (joint_matrix 128 Qr Kr) J))
    (add_matrices (product 128 (transpose K') (subtract_matrices Q' Qr))
                  (product 128 (transpose (subtract_matrices K' Kr)) Qr))).
  { intros i j _ _. unfold add_matrices, subtract_matrices, joint_matrix, product, transpose.
    enough (dot 128 (fun k => K' k i) (fun k => Q' k j - Qr k j) + dot 128 (fun k => K' k i - Kr k i) (fun k => Qr k j)
            = dot 128 (fun k => K' k i) (fun k => Q' k j) - dot 128 (fun k => Kr k i) (fun k => Qr k j)) by lra.
    unfold dot. rewrite <- sum_map_plus, <- sum_map_minus. apply sum_map_ext. intros. ring. }
  rewrite (place_plus 16 (_ + _) (above _ _)). apply operator_bound_sum.
  - rewrite place_plus. apply operator_bound_sum.
    + destruct (folded_shape (rounded K) (rounded Q)) as [rows fits].
      pose proof (gram_bounds 128 _ fits) as gram. rewrite rows in gram. exact gram.
    + rewrite <- rounding_share_is. apply entries_bound_operator; [lia | lia| |apply half_unit_nonneg].
      intros i j less less'. apply folded_close; [|easy|easy]. unfold rounded. now rewrite map_length.
  - eapply operator_bound_weaken; [apply (above_le 16 16); lia|].
    rewrite place_plus, !place_mult by lia. apply operator_bound_sum; apply operator_bound_product; try easy.
    + now apply operator_bound_transpose.
    + apply rounding_bounds; lia.
    + apply operator_bound_transpose. apply rounding_bounds; lia.
Qed.
