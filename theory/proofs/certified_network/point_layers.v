(** * Vectors known entry by entry, through the layers of a network: one input, closely.

    Main results
    - [dense_near]   an affine layer of binary32 weights takes entries with radii to entries with radii
    - [gelu_near]    so does GELU, each value enclosed by Coq's Interval library
    - [dot_entries_near]   the scalar product of two such vectors

    An entry is a centre and a radius in units of 2^-40. ball_layers.v has one radius for all entries and weights of 16
    bits: it covers cells of inputs in little time, here it is one input. *)

From Coq Require Import ZArith Bool.
From Coquelicot Require Import Rcomplements.
From Interval Require Import Interval.Interval.
From softcheck Require Import softmax vectors small_transformer.
From softcheck.oracle Require Import interval_oracle.
From softcheck.certified_network Require Import fixed_point matrix_norms gelu_slope gelu_values ball_layers
  max_retrieval.
Local Open Scope R_scope.

Definition entry_at (e : list (Z * Z)) (i : nat) : Z * Z := nth i e (0, 0)%Z.
Definition near (n : nat) (e : list (Z * Z)) (v : vector) : Prop :=
  length e = n /\
  forall i, (i < n)%nat -> Rabs (v i - place 40 (fst (entry_at e i))) <= place 40 (snd (entry_at e i)).

Definition centres (e : list (Z * Z)) : list Z := map fst e.
Definition radii (e : list (Z * Z)) : list Z := map snd e.

Lemma entry_centres e i : entry (centres e) i = fst (entry_at e i).
Proof. exact (map_nth fst e (0, 0)%Z i). Qed.

Lemma entry_radii e i : entry (radii e) i = snd (entry_at e i).
Proof. exact (map_nth snd e (0, 0)%Z i). Qed.

(** ** A scalar product with weights *)

Lemma place_abs bits z : (0 <= bits)%Z -> place bits (Z.abs z) = Rabs (place bits z).
Proof.
  intros deep. pose proof (two_pos bits deep). unfold place, Rdiv. rewrite Rabs_mult, abs_IZR.
  now rewrite (Rabs_pos_eq (/ _)) by now apply Rlt_le, Rinv_0_lt_compat.
Qed.

Lemma dot_abs n x y : Rabs (dot n x y) <= dot n (fun i => Rabs (x i)) (fun i => Rabs (y i)).
Proof. unfold dot. eapply Rle_trans; [apply sum_map_abs|]. apply sum_map_le. intros. rewrite Rabs_mult. lra. Qed.

(** A weight rounded to units of 2^-64, and a number above its size in units of 2^-16: products with few bits. *)
Definition fine_weight (z : Z) : Z := nearest 85 z.
Definition coarse_size (z : Z) : Z := (Z.abs (nearest 133 z) + 1)%Z.
Definition sizes (c : list Z) : Z := dot_product (map (fun _ => 1%Z) c) (map Z.abs c).

Lemma fine_weight_close z : Rabs (place 149 z - place 64 (fine_weight z)) <= place 64 1.
Proof.
  eapply Rle_trans; [apply (nearest_error 64 85); lia|]. unfold place, Rdiv. apply Rmult_le_compat_r; [|lra].
  apply Rlt_le, Rinv_0_lt_compat, two_pos. lia.
Qed.

Lemma coarse_size_above z : Rabs (place 149 z) <= place 16 (coarse_size z).
Proof.
  pose proof (nearest_error 16 133 z ltac:(lia) ltac:(lia)) as close. change (16 + 133)%Z with 149%Z in close.
  assert (one : / 2 / IZR (2 ^ 16) <= place 16 1).
  { unfold place, Rdiv. apply Rmult_le_compat_r; [|lra]. apply Rlt_le, Rinv_0_lt_compat, two_pos. lia. }
  unfold coarse_size. rewrite place_plus, place_abs by lia.
  replace (place 149 z) with (place 16 (nearest 133 z) + (place 149 z - place 16 (nearest 133 z))) by ring. triangle.
  lra.
Qed.

Lemma entry_mapped f w i : (i < length w)%nat -> entry (map f w) i = f (entry w i).
Proof. intros less. unfold entry. rewrite (nth_indep _ 0%Z (f 0%Z)) by now rewrite map_length. apply map_nth. Qed.

Lemma entry_beyond w i : (length w <= i)%nat -> entry w i = 0%Z.
Proof. apply nth_overflow. Qed.

(** W v - W' c = W (v - c) + (W - W') c, W' the rounded weights. *)
Lemma dot_near n w e v :
  near n e v -> (length w <= n)%nat ->
  Rabs (dot n (real_vector 149 w) v - place (64 + 40) (dot_product (map fine_weight w) (centres e)))
  <= place (16 + 40) (dot_product (map coarse_size w) (radii e)) + place (64 + 40) (sizes (centres e)).
Proof.
  intros [many close] short. assert (length (centres e) = n) by (unfold centres; now rewrite map_length). unfold sizes.
  rewrite <- !dot_of_integers with (n := n) by (rewrite ?map_length; lia). set (c := real_vector 40 (centres e)).
  set (W' := real_vector 64 (map fine_weight w)).
  replace (dot n (real_vector 149 w) v - dot n W' c)
    with (dot n (real_vector 149 w) (subtract v c) + dot n (subtract (real_vector 149 w) W') c)
    by (rewrite dot_subtract_r, dot_subtract_l; ring).
  triangle.
  apply Rplus_le_compat; (eapply Rle_trans; [apply dot_abs|]); apply sum_map_le; intros i ini; apply in_seq in ini.
  - apply Rmult_le_compat; try apply Rabs_pos.
    + unfold real_vector. destruct (Nat.lt_ge_cases i (length w)) as [inside | beyond].
      * rewrite entry_mapped by easy. apply coarse_size_above.
      * rewrite !entry_beyond by (rewrite ?map_length; easy). rewrite !place_zero, Rabs_R0. apply Rle_refl.
    + unfold subtract, c, real_vector. rewrite entry_centres, entry_radii. apply close. lia.
  - apply Rmult_le_compat; try apply Rabs_pos.
    + unfold subtract, W', real_vector. rewrite (entry_mapped (fun _ => 1%Z)) by lia. rewrite entry_map by easy.
      apply fine_weight_close.
    + unfold c, real_vector. rewrite entry_map, place_abs by (easy || lia). apply Rle_refl.
Qed.

(** ** Affine layers *)

Definition shaped (l : dense_layer) (rows columns : nat) : bool :=
  (Nat.eqb (length (weights l)) rows && Nat.eqb (length (biases l)) rows
   && forallb (fun row => Nat.leb (length row) columns) (weights l))%bool.

Definition dense_entry (c r : list Z) (size : Z) (row : list Z * Z) : Z * Z :=
  (nearest 64 (dot_product (map fine_weight (fst row)) c + fine_weight (snd row) * 2 ^ 40),
   above 16 (dot_product (map coarse_size (fst row)) r) + size + 2)%Z.
Definition dense_entries (l : dense_layer) (e : list (Z * Z)) : list (Z * Z) :=
  let c := centres e in
  map (dense_entry c (radii e) (above 64 (sizes c))) (combine (weights l) (biases l)).

Theorem dense_near l rows columns e v :
  shaped l rows columns = true -> near columns e v -> near rows (dense_entries l e) (apply_layer l columns v).
Proof.
  unfold shaped. rewrite !andb_true_iff, !Nat.eqb_eq, forallb_forall. intros [[many same] fits] close.
  assert (both : length (combine (weights l) (biases l)) = rows) by (rewrite combine_length; lia).
  split; [unfold dense_entries; cbv zeta; now rewrite map_length|]. intros i less. set (w := row_of (weights l) i).
  set (b := entry (biases l) i).
  assert (found : entry_at (dense_entries l e) i
    = dense_entry (centres e) (radii e) (above 64 (sizes (centres e))) (w, b)).
  { unfold entry_at, dense_entries. cbv zeta. set (f := dense_entry _ _ _).
    rewrite (nth_indep _ _ (f ([], 0%Z))) by (rewrite map_length; lia). rewrite map_nth.
    now rewrite nth_combined by lia. }
  rewrite found. unfold dense_entry. cbn [fst snd]. assert (short : (length w <= columns)%nat).
  { apply Nat.leb_le, fits. apply nth_In. lia. } pose proof (dot_near columns w e v close short) as dots.
  pose proof (nearest_error 40 64 (dot_product (map fine_weight w) (centres e) + fine_weight b * 2 ^ 40)
    ltac:(lia) ltac:(lia)) as rounded.
  pose proof (above_le 40 16 (dot_product (map coarse_size w) (radii e)) ltac:(lia) ltac:(lia)) as up.
  pose proof (above_le 40 64 (sizes (centres e)) ltac:(lia) ltac:(lia)) as up'.
  pose proof (fine_weight_close b) as bias. change (40 + 64)%Z with (64 + 40)%Z in *.
  change (40 + 16)%Z with (16 + 40)%Z in *. rewrite place_plus, place_shift in rounded by lia.
  assert (one : / 2 / IZR (2 ^ 40) <= place 40 1).
  { unfold place, Rdiv. apply Rmult_le_compat_r; [|lra]. apply Rlt_le, Rinv_0_lt_compat, two_pos. lia. }
  assert (small : place 64 1 <= place 40 1). { rewrite <- (place_shift 40 24 1) by lia. apply place_le; lia. }
  assert (two : place 40 2 = place 40 1 + place 40 1) by now rewrite <- place_plus. rewrite !place_plus, two.
  change (apply_layer l columns v i) with (dot columns (real_vector 149 w) v + place 149 b).
  apply Rabs_le_between in dots, rounded, bias. apply Rabs_le. lra.
Qed.

(** ** GELU *)

Definition sharp : F.precision := F.PtoP 64.

(** The radius grows by GELU's largest slope, 1.15 (gelu_slope.v). *)
Definition gelu_entry (steep cubic : I.type) (e : Z * Z) : option (Z * Z) :=
  match bounds (gelu_interval sharp steep cubic (fst e, (-40)%Z)) with
  | Some (l, u) => let g := floor_at 40 l in Some (g, ceiling_at 40 u - g + (snd e * 23 + 19) / 20)%Z
  | None => None
  end.

(** What its values are computed from, made once. *)
Definition gelu_constants (_ : unit) : I.type * I.type := (steepness_interval sharp, cubic_interval sharp).
Definition gelu_entries (constants : I.type * I.type) (e : list (Z * Z)) : option (list (Z * Z)) :=
  each (gelu_entry (fst constants) (snd constants)) e.

Local Opaque gelu_interval steepness_interval cubic_interval bounds.

Lemma gelu_entry_near e g x :
  gelu_entry (steepness_interval sharp) (cubic_interval sharp) e = Some g ->
  Rabs (x - place 40 (fst e)) <= place 40 (snd e) -> Rabs (gelu x - place 40 (fst g)) <= place 40 (snd g).
Proof.
  unfold gelu_entry.
  pose proof (gelu_encloses sharp _ _ (fst e, (-40)%Z) (steepness_encloses sharp) (cubic_encloses sharp)) as inside.
  change (value (fst e, (-40)%Z)) with (place 40 (fst e)) in inside.
  destruct (bounds _) as [[l u]|] eqn:ends; [|discriminate]. intros [= <-] close. cbn [fst snd].
  destruct (bounds_hold _ _ _ _ inside ends) as [low high]. pose proof (floor_at_holds 40 l ltac:(lia)) as floored.
  pose proof (ceiling_at_holds 40 u ltac:(lia)) as ceiled. pose proof (gelu_lipschitz x (place 40 (fst e))) as slope.
  rewrite place_plus, place_minus. assert (grown : 23 / 20 * place 40 (snd e) <= place 40 ((snd e * 23 + 19) / 20)).
  { unfold place. pose proof (two_pos 40 ltac:(lia)).
    pose proof (Z.div_mod (snd e * 23 + 19) 20 ltac:(lia)) as division.
    pose proof (Z.mod_pos_bound (snd e * 23 + 19) 20 ltac:(lia)) as rest.
    assert (up : (snd e * 23 <= 20 * ((snd e * 23 + 19) / 20))%Z) by lia. apply IZR_le in up. rewrite !mult_IZR in up.
    replace (23 / 20 * (IZR (snd e) / IZR (2 ^ 40))) with (23 / 20 * IZR (snd e) / IZR (2 ^ 40))
      by (unfold Rdiv; ring).
    apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat | lra]. }
  apply Rabs_le_between in close. apply Rabs_le_between in slope.
  assert (Rabs (x - place 40 (fst e)) <= place 40 (snd e)) by (apply Rabs_le; lra). apply Rabs_le. lra.
Qed.

Lemma each_nth {A B} (f : A -> option B) none none' : forall xs ys i, each f xs = Some ys ->
  length ys = length xs /\ ((i < length xs)%nat -> f (nth i xs none) = Some (nth i ys none')).
Proof.
  induction xs as [|x xs IH]; cbn [each]; intros ys i.
  - intros [= <-]. split; [easy | cbn; lia].
  - destruct (f x) as [y|] eqn:at_x; [|discriminate]. destruct (each f xs) as [rest|]; [|discriminate].
    intros [= <-]. destruct (IH rest (pred i) eq_refl) as [same _]. split; [cbn; now rewrite same|].
    destruct i as [|i]; [easy|]. cbn [length nth]. intros less. apply (IH rest i eq_refl). lia.
Qed.

Theorem gelu_near n e g v : near n e v -> gelu_entries (gelu_constants tt) e = Some g -> near n g (pointwise_gelu v).
Proof.
  intros [many close] found. unfold gelu_entries, gelu_constants in found. cbn [fst snd] in found.
  split; [now destruct (each_nth _ (0, 0)%Z (0, 0)%Z e g 0 found) as [-> _]|]. intros i less.
  destruct (each_nth _ (0, 0)%Z (0, 0)%Z e g i found) as [_ at_i].
  apply (gelu_entry_near (entry_at e i)); [apply at_i; lia | now apply close].
Qed.

(** ** A scalar product of two such vectors *)

(** q d = q' d' + q' (d - d') + (q - q') d' + (q - q') (d - d'). *)
Definition dot_entries (q d : list (Z * Z)) : Z * Z :=
  (dot_product (centres q) (centres d),
   dot_product (map Z.abs (centres q)) (radii d) + dot_product (radii q) (map Z.abs (centres d))
   + dot_product (radii q) (radii d))%Z.

Theorem dot_entries_near n q d x y :
  near n q x -> near n d y ->
  Rabs (dot n x y - place (40 + 40) (fst (dot_entries q d))) <= place (40 + 40) (snd (dot_entries q d)).
Proof.
  intros [many close] [many' close']. unfold dot_entries. cbn [fst snd]. rewrite !place_plus.
  assert (sizes : forall e : list (Z * Z), length (centres e) = length e /\ length (radii e) = length e)
    by (intros; unfold centres, radii; now rewrite !map_length).
  destruct (sizes q) as [size size']. rewrite <- !(dot_of_integers 40 40) with (n := n) by (rewrite ?map_length; lia).
  unfold dot. rewrite <- sum_map_minus, <- !sum_map_plus. eapply Rle_trans; [apply sum_map_abs|]. apply sum_map_le.
  intros i ini. apply in_seq in ini. specialize (close i ltac:(lia)). specialize (close' i ltac:(lia)).
  unfold real_vector. rewrite !entry_map, !entry_radii, !entry_centres, !place_abs by (easy || lia).
  set (a := place 40 (fst (entry_at q i))) in *. set (b := place 40 (fst (entry_at d i))) in *.
  replace (x i * y i - a * b) with (a * (y i - b) + (x i - a) * b + (x i - a) * (y i - b)) by ring. triangle.
  rewrite (Rabs_mult (x i - a) (y i - b)). apply Rplus_le_compat.
  - triangle. rewrite !Rabs_mult. apply Rplus_le_compat.
    + apply Rmult_le_compat_l; [apply Rabs_pos | easy].
    + apply Rmult_le_compat_r; [apply Rabs_pos | easy].
  - apply Rmult_le_compat; easy || apply Rabs_pos.
Qed.
