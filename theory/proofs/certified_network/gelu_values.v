(** * GELU of fixed-point numbers, by interval arithmetic and a table that the checker makes itself.

    Main results
    - [gelu_point_holds]   one value: Coq's Interval library encloses it, and the enclosure is two units wide at most
    - [gelu_fixed_holds]   any value: on the chord of two entries of the table where there are some, else as above

    A unit is 2^-14. The table has [-4, 4] in steps of 2^-7. *)

From Coq Require Import Reals List ZArith Lra Lia.
From Flocq Require Import Core.
From Interval Require Import Float.Basic Float.Specific_ops Interval.Interval Real.Xreal.
From Coquelicot Require Import Rcomplements.
From softcheck Require Import small_transformer.
From softcheck.oracle Require Import interval_oracle.
From softcheck.certified_network Require Import fixed_point gelu_slope.
Import ListNotations.
Local Open Scope R_scope.

(** ** One value *)

Definition coarse : F.precision := F.PtoP 24.
Definition fine : F.precision := F.PtoP 40.

Definition whole (z : Z) : I.type := point (z, 0%Z).
Definition steepness_interval (p : F.precision) : I.type := I.mul p (whole 2) (I.sqrt p (I.div p (whole 2) (I.pi p))).
Definition cubic_interval (p : F.precision) : I.type := I.div p (whole 44715) (whole 1000000).

Definition gelu_interval (p : F.precision) (steep cubic : I.type) (d : dyadic) : I.type :=
  let x := point d in
  let exponent := I.mul p steep (I.add p x (I.mul p cubic (I.mul p x (I.mul p x x)))) in
  I.mul p x (I.inv p (I.add p (whole 1) (I.exp p (I.neg exponent)))).

Lemma value_of_whole z : value (z, 0%Z) = IZR z.
Proof. unfold value, F2R. cbn. ring. Qed.

Lemma whole_encloses z : encloses (whole z) (IZR z).
Proof. rewrite <- value_of_whole. apply point_encloses. Qed.

Lemma value_of_place z : value (z, (-14)%Z) = place 14 z.
Proof. reflexivity. Qed.

Lemma sqrt_encloses p i x : encloses i x -> encloses (I.sqrt p i) (sqrt x).
Proof. exact (I.sqrt_correct p i (Xreal x)). Qed.

Lemma pi_encloses p : encloses (I.pi p) PI.
Proof. exact (I.pi_correct p). Qed.

Lemma neg_encloses i x : encloses i x -> encloses (I.neg i) (- x).
Proof. exact (I.neg_correct i (Xreal x)). Qed.

Lemma steepness_encloses p : encloses (steepness_interval p) steepness.
Proof.
  exact (mul_encloses p _ _ _ _ (whole_encloses 2)
    (sqrt_encloses p _ _ (div_encloses p _ _ _ _ PI_RGT_0 (whole_encloses 2) (pi_encloses p)))).
Qed.

Lemma cubic_encloses p : encloses (cubic_interval p) (44715 / 1000000).
Proof. exact (div_encloses p _ _ _ _ (IZR_lt 0 1000000 eq_refl) (whole_encloses _) (whole_encloses _)). Qed.

Lemma inv_encloses p i x : x <> 0 -> encloses i x -> encloses (I.inv p i) (/ x).
Proof.
  intros nonzero inside. pose proof (I.inv_correct p i (Xreal x) inside) as holds. unfold Xinv, Xinv' in holds.
  now rewrite is_zero_false in holds.
Qed.

Lemma gelu_encloses p steep cubic d :
  encloses steep steepness -> encloses cubic (44715 / 1000000) ->
  encloses (gelu_interval p steep cubic d) (gelu (value d)).
Proof.
  intros at_steep at_cubic. rewrite gelu_logistic. unfold gelu_interval, logistic.
  assert (at_d := point_encloses d). revert at_d. generalize (value d) (point d). intros x i at_d.
  assert (cube : encloses (I.mul p i (I.mul p i i)) (x ^ 3)).
  { replace (x ^ 3) with (x * (x * x)) by ring. exact (mul_encloses _ _ _ _ _ at_d (mul_encloses _ _ _ _ _ at_d at_d)). }
  assert (exponent := mul_encloses p _ _ _ _ at_steep
    (add_encloses p _ _ _ _ at_d (mul_encloses p _ _ _ _ at_cubic cube))).
  refine (mul_encloses p _ _ _ _ at_d (inv_encloses p _ _ _
    (add_encloses p _ _ _ _ (whole_encloses 1) (exp_encloses p _ _ (neg_encloses _ _ exponent))))).
  apply Rgt_not_eq, one_plus_exp.
Qed.

(* A tactic that computes would try to compute these of an unknown number. *)
Local Opaque gelu_interval steepness_interval cubic_interval bounds.

Definition gelu_point (steep cubic : I.type) (z : Z) : option Z :=
  match bounds (gelu_interval coarse steep cubic (z, (-14)%Z)) with
  | Some (l, u) => let g := floor_at 14 l in if (ceiling_at 14 u <=? g + 2)%Z then Some g else None
  | None => None
  end.

Theorem gelu_point_holds z g :
  gelu_point (steepness_interval fine) (cubic_interval fine) z = Some g ->
  place 14 g <= gelu (place 14 z) <= place 14 (g + 2).
Proof.
  unfold gelu_point. pose proof (gelu_encloses coarse _ _ (z, (-14)%Z) (steepness_encloses fine) (cubic_encloses fine)) as inside.
  rewrite value_of_place in inside.
  destruct (bounds _) as [[l u]|] eqn:ends; [|discriminate]. cbv zeta.
  destruct (Z.leb_spec (ceiling_at 14 u) (floor_at 14 l + 2)); [|discriminate]. intros [= <-].
  destruct (bounds_hold _ _ _ _ inside ends) as [below above_it]. split.
  - eapply Rle_trans; [apply (floor_at_holds 14); lia | exact below].
  - eapply Rle_trans; [exact above_it|]. eapply Rle_trans; [apply (ceiling_at_holds 14); lia|]. apply place_le; [lia | assumption].
Qed.

(** ** The table *)

Definition counted (n : nat) : list Z := map Z.of_nat (seq 0 n).

(** 32 rows of 32 steps of 128 units; the end of a row is the begin of the next. *)
Definition table_entry (i j : Z) : Z := (4096 * i + 128 * j - 65536)%Z.
Definition gelu_table (steep cubic : I.type) : list (list (option Z)) :=
  map (fun i => map (fun j => gelu_point steep cubic (table_entry i j)) (counted 33)) (counted 32).

(** Everything that GELU's values are computed from, made once. *)
Record gelu_source := { steep : I.type; cubic : I.type; table : list (list (option Z)) }.
Definition make_source (_ : unit) : gelu_source :=
  let steep := steepness_interval fine in
  let cubic := cubic_interval fine in
  {| steep := steep; cubic := cubic; table := gelu_table steep cubic |}.

Definition looked_up (source : gelu_source) (i j : Z) : option Z :=
  nth (Z.to_nat j) (nth (Z.to_nat i) (table source) []) None.

Definition gelu_fixed (source : gelu_source) (z : Z) : option Z :=
  let k := (z + 65536)%Z in
  if ((0 <=? k)%Z && (k <? 131072)%Z)%bool
  then let i := Z.shiftr k 12 in
       let j := Z.land (Z.shiftr k 7) 31 in
       match looked_up source i j, looked_up source i (j + 1) with
       | Some a, Some b => Some (a + Z.shiftr ((b - a) * Z.land k 127) 7)%Z
       | _, _ => None
       end
  else gelu_point (steep source) (cubic source) z.

Lemma length_counted n : length (counted n) = n.
Proof. unfold counted. now rewrite map_length, seq_length. Qed.

Lemma nth_counted {A} (f : Z -> A) n i none : (i < n)%nat -> nth i (map f (counted n)) none = f (Z.of_nat i).
Proof.
  intros less. unfold counted. rewrite map_map.
  rewrite (nth_indep _ none (f (Z.of_nat 0))) by now rewrite map_length, seq_length.
  transitivity ((fun k => f (Z.of_nat k)) (nth i (seq 0 n) 0%nat)).
  { exact (map_nth (fun k => f (Z.of_nat k)) (seq 0 n) 0%nat i). } cbv beta. now rewrite seq_nth.
Qed.

Lemma looked_up_holds i j g :
  (0 <= i)%Z -> (0 <= j)%Z -> looked_up (make_source tt) i j = Some g ->
  place 14 g <= gelu (place 14 (table_entry i j)) <= place 14 (g + 2).
Proof.
  intros nonneg nonneg' found. apply gelu_point_holds. rewrite <- found. unfold looked_up in *.
  cbn [table make_source] in *. unfold gelu_table in *. destruct (Nat.lt_ge_cases (Z.to_nat i) 32) as [less | more].
  2:{ rewrite (nth_overflow (map _ (counted 32))) in found by (rewrite map_length, length_counted; exact more).
      destruct (Z.to_nat j); discriminate. }
  rewrite nth_counted in * by exact less. rewrite Z2Nat.id in * by easy.
  destruct (Nat.lt_ge_cases (Z.to_nat j) 33) as [less' | more'].
  2:{ rewrite nth_overflow in found by (rewrite map_length, length_counted; exact more'). discriminate. }
  rewrite nth_counted by exact less'. now rewrite Z2Nat.id.
Qed.

(** Both entries are at most two units below gelu, the chord's own rounding takes one, and the chord is within two. *)
Lemma chord_holds a b z t start :
  z = (start + t)%Z -> (0 <= t < 128)%Z -> (-65536 <= start)%Z -> (start + 128 <= 65536)%Z ->
  place 14 a <= gelu (place 14 start) <= place 14 (a + 2) ->
  place 14 b <= gelu (place 14 (start + 128)) <= place 14 (b + 2) ->
  Rabs (gelu (place 14 z) - place 14 (a + Z.shiftr ((b - a) * t) 7)) <= place 14 5.
Proof.
  intros -> [t_low t_high] low high in_a in_b. assert (unit : forall y, place 14 y = IZR y / 16384) by reflexivity.
  pose proof (gelu_chord (place 14 start) (/ 128) (place 14 (start + t))) as chord.
  assert (step : place 14 start + / 128 = place 14 (start + 128)) by (rewrite !unit, plus_IZR; field).
  rewrite step in chord. apply IZR_le in t_low. apply IZR_lt in t_high. apply IZR_le in low, high.
  rewrite plus_IZR in high. specialize (chord ltac:(lra)). rewrite !unit, !plus_IZR in chord.
  specialize (chord ltac:(lra) ltac:(lra) ltac:(lra)). rewrite <- !plus_IZR, <- !unit in chord.
  assert (floored : IZR ((b - a) * t) / 128 - 1 <= IZR (Z.shiftr ((b - a) * t) 7) <= IZR ((b - a) * t) / 128).
  { rewrite Z.shiftr_div_pow2 by lia. change (2 ^ 7)%Z with 128%Z.
    pose proof (Z.div_mod ((b - a) * t) 128 ltac:(lia)) as division.
    pose proof (Z.mod_pos_bound ((b - a) * t) 128 ltac:(lia)) as rest. set (q := ((b - a) * t / 128)%Z) in *.
    set (r := (((b - a) * t) mod 128)%Z) in *. rewrite division. destruct rest as [r_low r_high].
    apply IZR_le in r_low. apply IZR_lt in r_high. rewrite plus_IZR, mult_IZR. lra. }
  rewrite mult_IZR, minus_IZR in floored. set (g := gelu (place 14 (start + t))) in *.
  set (ga := gelu (place 14 start)) in *. set (gb := gelu (place 14 (start + 128))) in *. rewrite !unit, !plus_IZR in *.
  replace ((IZR start + IZR t) / 16384 - IZR start / 16384) with (IZR t / 16384) in chord by field.
  replace (IZR t / 16384 / / 128) with (IZR t / 128) in chord by field. set (share := IZR t / 128) in *.
  assert (0 <= share <= 1) by (unfold share; lra).
  replace ((IZR b - IZR a) * IZR t / 128) with ((IZR b - IZR a) * share) in floored by (unfold share; field).
  apply Rabs_le_between in chord. apply Rabs_le. set (s := IZR (Z.shiftr ((b - a) * t) 7)) in *.
  assert (mix : 0 <= (ga + (gb - ga) * share) - (IZR a / 16384 + (IZR b / 16384 - IZR a / 16384) * share)
                <= 2 / 16384) by nra.
  lra.
Qed.

Theorem gelu_fixed_holds z g :
  gelu_fixed (make_source tt) z = Some g -> Rabs (gelu (place 14 z) - place 14 g) <= place 14 5.
Proof.
  unfold gelu_fixed. set (k := (z + 65536)%Z). destruct (Z.leb_spec 0 k); destruct (Z.ltb_spec k 131072); cbn [andb].
  2-4: intros found; apply gelu_point_holds in found; rewrite place_plus in found;
    assert (place 14 5 = place 14 2 + place 14 3) by (rewrite <- place_plus; reflexivity);
    pose proof (place_nonneg 14 3 ltac:(lia) ltac:(lia)); pose proof (place_nonneg 14 2 ltac:(lia) ltac:(lia));
    apply Rabs_le; lra.
  cbv zeta. rewrite Z.shiftr_div_pow2, (Z.shiftr_div_pow2 k 7) by lia. change 31%Z with (Z.ones 5).
  change 127%Z with (Z.ones 7). rewrite !Z.land_ones by lia. change (2 ^ 12)%Z with 4096%Z. change (2 ^ 7)%Z with 128%Z.
  change (2 ^ 5)%Z with 32%Z. set (i := (k / 4096)%Z). set (j := ((k / 128) mod 32)%Z). set (t := (k mod 128)%Z).
  assert (parts : (k = 4096 * i + 128 * j + t)%Z).
  { unfold i, j, t. pose proof (Z.div_mod k 128 ltac:(lia)). pose proof (Z.div_mod (k / 128) 32 ltac:(lia)).
    rewrite Z.div_div in H2 by lia. change (128 * 32)%Z with 4096%Z in H2. lia. }
  assert (0 <= i < 32)%Z by (unfold i; split; [apply Z.div_pos; lia | apply Z.div_lt_upper_bound; lia]).
  assert (0 <= j < 32)%Z by (apply Z.mod_pos_bound; lia). assert (0 <= t < 128)%Z by (apply Z.mod_pos_bound; lia).
  destruct (looked_up _ i j) as [a|] eqn:at_a; [|discriminate].
  destruct (looked_up _ i (j + 1)) as [b|] eqn:at_b; [|discriminate]. intros [= <-].
  apply looked_up_holds in at_a; [|lia|lia]. apply looked_up_holds in at_b; [|lia|lia].
  apply chord_holds with (start := table_entry i j); unfold table_entry in *; try lia; try easy.
  replace (4096 * i + 128 * j - 65536 + 128)%Z with (4096 * i + 128 * (j + 1) - 65536)%Z by lia. easy.
Qed.
