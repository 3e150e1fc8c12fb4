(** * Balls of vectors through the layers of a network.

    Main results
    - [dense_holds]   an affine layer of binary32 weights takes a ball into a ball
    - [gelu_holds]    so does GELU, entry by entry
    - [ball_distance_holds]   two points are no further apart than their balls
    - [largest_distance_ge]   the largest distance is computed from each pair once

    A ball is a centre in units of 2^-14 and a radius in the same units, in the Euclidean norm. What the integers round is
    in the radius, and so is what the layer's operator norm makes of the radius. *)

From Coq Require Import ZArith Reals List Lra Lia.
From Coquelicot Require Import Rcomplements.
From softcheck Require Import softmax vectors small_transformer.
From softcheck.certified_network Require Import fixed_point matrix_norms gelu_slope gelu_values.
Import ListNotations.
Local Open Scope R_scope.

Record ball := { centre : list Z; radius : Z }.

Definition holds (width : nat) (b : ball) (v : vector) : Prop :=
  (length (centre b) <= width)%nat /\ (0 <= radius b)%Z /\
  norm width (subtract v (real_vector 14 (centre b))) <= place 14 (radius b).

(** An affine layer as a network's file has it: in units of 2^-149. *)
Record dense_layer := { weights : list (list Z); biases : list Z }.
Definition weight_matrix (l : dense_layer) : matrix := real_matrix 149 (weights l).
Definition bias_vector (l : dense_layer) : vector := real_vector 149 (biases l).
Definition apply_layer (l : dense_layer) (columns : nat) (x : vector) : vector :=
  add (multiply columns (weight_matrix l) x) (bias_vector l).

Definition well_sized (l : dense_layer) (columns : nat) : Prop :=
  (length (weights l) <= 128)%nat /\ length (biases l) = length (weights l) /\ (columns <= 128)%nat /\
  short columns (weights l).

Definition round_layer (l : dense_layer) : dense_layer :=
  {| weights := rounded (weights l); biases := map (nearest 133) (biases l) |}.

(** From the rounded layer and an upper bound of the operator norm of the exact one, in units of 2^-16. The radius grows by
    64 / 2^16 of the centre's norm for the rounded weights, 12 / 2^17 for the biases, 6 / 2^14 for the result. *)
Definition dense (l : dense_layer) (sigma : Z) (b : ball) : ball :=
  {| centre := map (fun row => nearest 16 (dot_product (fst row) (centre b) + snd row * 16384))
                   (combine (weights l) (biases l));
     radius := above 16 (sigma * radius b + rounding_share * norm_above (centre b)) + 8 |}.

Lemma nth_combined rows biases i :
  length biases = length rows -> nth i (combine rows biases) ([], 0%Z) = (row_of rows i, entry biases i).
Proof. intros same. unfold row_of, entry. now apply combine_nth. Qed.

Lemma entry_dense l sigma b i :
  length (biases l) = length (weights l) ->
  entry (centre (dense l sigma b)) i
  = nearest 16 (dot_product (row_of (weights l) i) (centre b) + entry (biases l) i * 16384).
Proof.
  intros same. cbn [centre dense]. unfold entry at 1.
  set (f := fun row : list Z * Z => nearest 16 (dot_product (fst row) (centre b) + snd row * 16384)).
  replace 0%Z with (f ([], 0%Z)) by reflexivity. rewrite map_nth, nth_combined by easy. reflexivity.
Qed.

Lemma subtract_split n v a b c d :
  (forall i, (i < n)%nat -> v i = a i + b i + c i + d i) -> norm n v <= norm n a + norm n b + norm n c + norm n d.
Proof.
  intros parts. rewrite (norm_ext n v (add (add (add a b) c) d)) by (intros; now rewrite parts).
  eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat_r.
  eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat_r. apply norm_add.
Qed.

Theorem dense_holds l columns sigma b v :
  well_sized l columns -> (0 <= sigma)%Z ->
  operator_bound (length (weights l)) columns (weight_matrix l) (place 16 sigma) ->
  holds columns b v ->
  holds (length (weights l)) (dense (round_layer l) sigma b) (apply_layer l columns v).
Proof.
  intros (few & same & few' & fits) nonneg [_ bound] (short_centre & nonneg_radius & inside).
  set (x := real_vector 14 (centre b)) in *. set (W := weight_matrix l) in *.
  set (Wr := real_matrix 16 (rounded (weights l))).
  assert (same' : length (biases (round_layer l)) = length (weights (round_layer l)))
    by (cbn; unfold rounded; now rewrite !map_length).
  assert (nonneg_grown : (0 <= above 16 (sigma * radius b + rounding_share * norm_above (centre b)))%Z).
  { unfold above. rewrite Z.shiftr_div_pow2 by lia. pose proof (Z.sqrt_up_nonneg (dot_product (centre b) (centre b))).
    unfold norm_above, rounding_share.
    enough (- (sigma * radius b + 64 * Z.sqrt_up (dot_product (centre b) (centre b))) / 2 ^ 16 <= 0)%Z by lia.
    apply Z.div_le_upper_bound; nia. }
  split; [|split].
  - cbn. rewrite map_length, combine_length. unfold rounded. rewrite !map_length. lia.
  - cbn [radius dense]. lia.
  - eapply Rle_trans.
    { apply (subtract_split _ _ (multiply columns W (subtract v x)) (multiply columns (subtract_matrices W Wr) x)
        (subtract (bias_vector l) (real_vector 16 (map (nearest 133) (biases l))))
        (fun i => dot columns (Wr i) x + real_vector 16 (map (nearest 133) (biases l)) i
                  - real_vector 14 (centre (dense (round_layer l) sigma b)) i)).
      intros i _. unfold subtract at 1, apply_layer, add. fold W.
      rewrite multiply_subtract, multiply_subtract_matrices. unfold subtract, multiply. ring. }
    cbn [radius dense]. rewrite place_plus.
    apply Rle_trans with (place 16 sigma * place 14 (radius b) + place 16 rounding_share * place 14 (norm_above (centre b))
                          + 12 * half_unit + 12 * (/ 2 / IZR (2 ^ 14))).
    + apply Rplus_le_compat; [apply Rplus_le_compat; [apply Rplus_le_compat|]|].
      * eapply Rle_trans; [apply bound|]. apply Rmult_le_compat_l; [apply place_nonneg; lia | exact inside].
      * destruct (rounding_bounds (length (weights l)) columns (weights l) few few') as [_ close].
        eapply Rle_trans; [apply close|]. apply Rmult_le_compat_l; [apply place_nonneg; unfold rounding_share; lia|].
        apply norm_of_integers; [lia | easy].
      * apply entries_bound_norm; [easy| |apply half_unit_nonneg]. intros i _.
        unfold subtract, bias_vector, real_vector. rewrite entry_map by easy. apply (nearest_error 16 133); lia.
      * apply entries_bound_norm; [easy| |apply Rlt_le, Rdiv_lt_0_compat; [lra | apply two_pos; lia]]. intros i _.
        unfold Wr, x, real_matrix. rewrite dot_of_integers_r by (easy || lia).
        unfold real_vector. rewrite entry_dense by exact same'. cbn [weights biases round_layer].
        rewrite <- (place_shift 16 14) by lia. rewrite <- place_plus. apply (nearest_error 14 16); lia.
    + assert (rest : 12 * half_unit + 12 * (/ 2 / IZR (2 ^ 14)) <= place 14 8).
      { unfold half_unit, place. change (IZR (2 ^ 16)) with 65536. change (IZR (2 ^ 14)) with 16384. lra. }
      pose proof (above_le 14 16 (sigma * radius b + rounding_share * norm_above (centre b)) ltac:(lia) ltac:(lia))
        as up.
      rewrite place_plus, (Z.add_comm 14 16), !place_mult in up by lia. lra.
Qed.

(** ** GELU *)

Fixpoint gelu_each (source : gelu_source) (x : list Z) : option (list Z) :=
  match x with
  | [] => Some []
  | z :: x => match gelu_fixed source z, gelu_each source x with Some g, Some gs => Some (g :: gs) | _, _ => None end
  end.

(** 12 times the five units of an entry. *)
Definition gelu_ball (source : gelu_source) (b : ball) : option ball :=
  match gelu_each source (centre b) with
  | Some g => Some {| centre := g; radius := (radius b * 23 + 19) / 20 + 60 |}
  | None => None
  end.

Definition pointwise_gelu (v : vector) : vector := fun i => gelu (v i).

Lemma gelu_zero : gelu 0 = 0.
Proof. unfold gelu. unfold Rdiv. ring. Qed.

Lemma gelu_each_holds x g :
  gelu_each (make_source tt) x = Some g ->
  length g = length x /\ forall i, Rabs (gelu (real_vector 14 x i) - real_vector 14 g i) <= place 14 5.
Proof.
  revert g. induction x as [|z x IH]; cbn [gelu_each]; intros g.
  - intros [= <-]. split; [easy|]. intros i. unfold real_vector, entry. replace (nth i [] 0%Z) with 0%Z by now destruct i.
    rewrite place_zero, gelu_zero, Rminus_0_r, Rabs_R0. apply place_nonneg; lia.
  - destruct (gelu_fixed _ z) as [gz|] eqn:at_z; [|discriminate].
    destruct (gelu_each _ x) as [gs|]; [|discriminate]. intros [= <-]. destruct (IH gs eq_refl) as [same close].
    split; [cbn; now rewrite same|]. intros [|i]; [now apply gelu_fixed_holds | exact (close i)].
Qed.

Theorem gelu_holds width b g v :
  (width <= 128)%nat -> holds width b v -> gelu_ball (make_source tt) b = Some g -> holds width g (pointwise_gelu v).
Proof.
  intros few (short_centre & nonneg & inside). unfold gelu_ball.
  destruct (gelu_each _ _) as [c|] eqn:each; [|discriminate]. intros [= <-].
  destruct (gelu_each_holds _ _ each) as [same close]. unfold holds. cbn [centre radius].
  assert (nonneg' : (0 <= (radius b * 23 + 19) / 20)%Z) by (apply Z.div_pos; lia). split; [lia|]. split; [lia|].
  set (x := real_vector 14 (centre b)) in *. eapply Rle_trans.
  { rewrite (norm_ext width _ (add (subtract (pointwise_gelu v) (pointwise_gelu x))
        (subtract (pointwise_gelu x) (real_vector 14 c))))
      by (intros; unfold subtract, add; ring).
    apply norm_add. }
  rewrite place_plus. apply Rplus_le_compat.
  - apply Rle_trans with (23 / 20 * norm width (subtract v x)).
    + rewrite <- (Rabs_pos_eq (23 / 20)), <- norm_scale by lra. unfold norm. apply sqrt_le_1_alt. unfold dot.
      apply sum_map_le. intros i _. apply Rsqr_le_abs_1. unfold subtract, scale, pointwise_gelu.
      rewrite Rabs_mult, (Rabs_pos_eq (23 / 20)) by lra. apply gelu_lipschitz.
    + apply Rle_trans with (23 / 20 * place 14 (radius b)); [lra|]. unfold place.
      assert (IZR (radius b) * 23 / 20 <= IZR ((radius b * 23 + 19) / 20)).
      { pose proof (Z.div_mod (radius b * 23 + 19) 20 ltac:(lia)) as division.
        pose proof (Z.mod_pos_bound (radius b * 23 + 19) 20 ltac:(lia)) as rest.
        assert (up : (radius b * 23 <= 20 * ((radius b * 23 + 19) / 20))%Z) by lia. apply IZR_le in up.
        rewrite !mult_IZR in up. lra. }
      change (IZR (2 ^ 14)) with 16384. lra.
  - replace (place 14 60) with (12 * place 14 5) by (unfold place; change (IZR (2 ^ 14)) with 16384; field).
    apply entries_bound_norm; [easy | | apply place_nonneg; lia]. intros i _. apply close.
Qed.

(** ** The largest norm of a list of balls, and the largest distance of two points of them.

    Units of 2^-14, as everywhere. *)

Definition ball_norm (b : ball) : Z := (norm_above (centre b) + radius b)%Z.

Fixpoint difference (x y : list Z) : list Z :=
  match x, y with
  | a :: x, b :: y => (a - b)%Z :: difference x y
  | [], y => map Z.opp y
  | x, [] => x
  end.

Definition ball_distance (b c : ball) : Z := (norm_above (difference (centre b) (centre c)) + (radius b + radius c))%Z.

Fixpoint largest (xs : list Z) : Z := match xs with [] => 0%Z | x :: xs => Z.max x (largest xs) end.

(** Each pair once, a ball with itself included. *)
Fixpoint largest_distance (balls : list ball) : Z :=
  match balls with
  | [] => 0%Z
  | b :: rest => Z.max (largest (map (ball_distance b) balls)) (largest_distance rest)
  end.

Lemma largest_ge xs x : In x xs -> (x <= largest xs)%Z.
Proof. induction xs as [|y xs IH]; [easy|]. cbn. intros [-> | inside]; [lia|]. specialize (IH inside). lia. Qed.

Lemma largest_nonneg xs : (0 <= largest xs)%Z.
Proof. induction xs; cbn; lia. Qed.

Lemma ball_norm_holds b v : holds 128 b v -> norm 128 v <= place 14 (ball_norm b).
Proof.
  intros (fits & _ & close). unfold ball_norm. rewrite place_plus.
  rewrite (norm_ext 128 v (add (real_vector 14 (centre b)) (subtract v (real_vector 14 (centre b)))))
    by (intros; unfold add, subtract; ring).
  eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat; [now apply norm_of_integers; [lia|] | easy].
Qed.

Lemma difference_is x y i : real_vector 14 (difference x y) i = subtract (real_vector 14 x) (real_vector 14 y) i.
Proof.
  unfold subtract, real_vector. rewrite <- place_minus. f_equal. unfold entry. revert y i.
  induction x as [|a x IH]; intros [|b y] [|i]; cbn [difference nth map]; try lia; try apply IH.
  change 0%Z with (Z.opp 0) at 1. rewrite map_nth. lia.
Qed.

Lemma difference_length x y n : (length x <= n)%nat -> (length y <= n)%nat -> (length (difference x y) <= n)%nat.
Proof.
  revert y n. induction x as [|a x IH]; intros [|b y] n fits fits'; cbn in *; rewrite ?map_length; try lia.
  destruct n; [lia|]. specialize (IH y n). lia.
Qed.

Lemma ball_distance_holds b c v w :
  holds 128 b v -> holds 128 c w -> norm 128 (subtract v w) <= place 14 (ball_distance b c).
Proof.
  intros (fits & _ & close) (fits' & _ & close'). unfold ball_distance. rewrite !place_plus.
  set (x := real_vector 14 (centre b)) in *. set (z := real_vector 14 (centre c)) in *.
  rewrite (norm_ext 128 _ (add (subtract x z) (subtract (subtract v x) (subtract w z))))
    by (intros; unfold add, subtract; ring).
  eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat.
  - rewrite (norm_ext 128 _ (real_vector 14 (difference (centre b) (centre c)))) by (intros; symmetry; apply difference_is).
    apply norm_of_integers; [lia | now apply difference_length].
  - eapply Rle_trans; [apply norm_subtract|]. lra.
Qed.

Lemma ball_distance_comm b c : ball_distance b c = ball_distance c b.
Proof.
  unfold ball_distance, norm_above. rewrite (Z.add_comm (radius b)). f_equal. f_equal.
  assert (opposite : forall x y, difference y x = map Z.opp (difference x y)).
  { induction x as [|a x IH]; intros [|e y]; cbn [difference map]; try easy.
    - f_equal; [lia|]. rewrite map_map. rewrite <- (map_id y) at 1. apply map_ext. intros. lia.
    - rewrite IH. f_equal. lia. }
  rewrite (opposite (centre b)). generalize (difference (centre b) (centre c)). intros x.
  induction x as [|a x IH]; cbn; [easy|]. rewrite <- IH. nia.
Qed.

Lemma largest_distance_ge balls b c : In b balls -> In c balls -> (ball_distance b c <= largest_distance balls)%Z.
Proof.
  induction balls as [|first rest IH]; [easy|]. cbn [largest_distance]. intros inb inc.
  assert (of_first : forall d, In d (first :: rest) ->
    (ball_distance first d <= largest (map (ball_distance first) (first :: rest)))%Z)
    by (intros; now apply largest_ge, in_map).
  destruct inb as [<- | inb]; [specialize (of_first c inc); lia|].
  destruct inc as [<- | inc]; [rewrite ball_distance_comm; specialize (of_first b (or_intror inb)); lia|].
  specialize (IH inb inc). lia.
Qed.

Lemma largest_distance_nonneg balls : (0 <= largest_distance balls)%Z.
Proof. induction balls; cbn [largest_distance]; [lia|]. lia. Qed.
