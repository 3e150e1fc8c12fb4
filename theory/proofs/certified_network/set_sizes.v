(** * What follows from a bound of a network's spread: the length from which it disperses, and a floor of its entropy.

    Main results
    - [smallest_length]   N is the smallest length at which every row of that spread has all coefficients below 1/10
    - [disperses_from]    from N items on, so has the network
    - [entropy_from]      from N items on, its entropy is at least ln 10
    - [entropy_of_set]    its entropy at a given number of items is at least a given positive number

    The checkers evaluate e^D by Coq's Interval library, at a precision that is an argument. *)

From Coq Require Import ZArith Bool.
From Flocq Require Import Core.
From Interval Require Import Float.Basic Float.Specific_ops Interval.Interval Real.Xreal.
From softcheck Require Import softmax lemma_2_1 entropy_bounds standard_interval.
From softcheck.oracle Require Import interval_oracle.
From softcheck.certified_network Require Import fixed_point gelu_values max_retrieval spread_check.
Local Open Scope R_scope.

(** ** The length *)

(** Units of the spread, 2^-10, as everywhere. *)
Definition spread_point (bound : Z) : I.type := point (bound, (-10)%Z).

Lemma spread_point_encloses bound : encloses (spread_point bound) (place 10 bound).
Proof. exact (point_encloses (bound, (-10)%Z)). Qed.

(** N - 1 <= 1 + 9 e^D < N, at 2^-64. *)
Definition length_check (precision : positive) (bound N : Z) : bool :=
  match bounds (I.exp (F.PtoP precision) (spread_point bound)) with
  | Some (l, u) =>
      ((0 <=? bound) && (2 ^ 64 + 9 * ceiling_at 64 u <? N * 2 ^ 64)
       && ((N - 1) * 2 ^ 64 <=? 2 ^ 64 + 9 * floor_at 64 l))%Z%bool
  | None => false
  end.

Lemma length_check_holds precision bound N :
  length_check precision bound N = true ->
  0 <= place 10 bound /\ IZR (N - 1) <= sharp_length (place 10 bound) 1 (1 / 10) < IZR N.
Proof.
  unfold length_check. pose proof (exp_encloses (F.PtoP precision) _ _ (spread_point_encloses bound)) as inside.
  revert inside. generalize (I.exp (F.PtoP precision) (spread_point bound)). intros i inside.
  destruct (bounds i) as [[l u]|] eqn:ends; [|discriminate]. destruct (bounds_hold _ _ _ _ inside ends) as [low high].
  rewrite !andb_true_iff, !Z.leb_le, Z.ltb_lt. intros [[nonneg above_it] below_it].
  split; [apply place_nonneg; [lia | exact nonneg]|].
  assert (is : sharp_length (place 10 bound) 1 (1 / 10) = 1 + 9 * exp (place 10 bound)).
  { unfold sharp_length. replace (place 10 bound / 1) with (place 10 bound) by field. field. } rewrite is. clear is.
  pose proof (Rle_trans _ _ _ (floor_at_holds 64 l ltac:(lia)) low) as low'.
  pose proof (Rle_trans _ _ _ high (ceiling_at_holds 64 u ltac:(lia))) as high'. revert low' high'.
  generalize (exp (place 10 bound)). intros e. unfold place. intros low' high'. apply IZR_le in below_it.
  apply IZR_lt in above_it. rewrite !plus_IZR, !mult_IZR in *. change (IZR (2 ^ 64)) with 18446744073709551616 in *.
  split; lra.
Qed.

(** N is the smallest length at which every row of spread at most D has all its coefficients below 1/10. *)
Theorem smallest_length precision bound N n :
  length_check precision bound N = true -> (1 <= n)%nat ->
  (forall logits, length logits = n -> spread_at_most (place 10 bound) logits ->
     forall p, In p (softmax (tempered 1 logits)) -> p < 1 / 10)
  <-> (N <= Z.of_nat n)%Z.
Proof.
  intros checked many. destruct (length_check_holds _ _ _ checked) as [nonneg [low high]].
  rewrite (dispersion_length n (place 10 bound) 1 (1 / 10)) by (easy || lra). rewrite INR_IZR_INZ. split; intros less.
  - enough (N - 1 < Z.of_nat n)%Z by lia. apply lt_IZR. lra.
  - apply IZR_le in less. lra.
Qed.

Lemma tempered_one logits : tempered 1 logits = logits.
Proof. unfold tempered. rewrite <- (map_id logits) at 2. apply map_ext. intros. field. Qed.

Theorem disperses_from precision net bound N :
  spread_bounded net (place 10 bound) -> length_check precision bound N = true ->
  forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) -> (N <= Z.of_nat (length items))%Z ->
  forall p, In p (softmax (logits net y items)) -> p < 1 / 10.
Proof.
  intros within checked y items inside admitted long p inp. assert (same : length (logits net y items) = length items).
  { unfold logits, proposition_3_1.biased_logits. now rewrite !map_length. } assert (many : (1 <= length items)%nat).
  { rewrite <- same. destruct (logits net y items); [easy | cbn; lia]. }
  destruct (smallest_length precision bound N (length items) checked many) as [_ small].
  apply (small long (logits net y items)); [easy | now apply within|]. now rewrite tempered_one.
Qed.

(** Every coefficient below eps: H = sum p (- ln p) >= - ln eps. *)
Lemma entropy_of_small eps row :
  row <> [] -> 0 < eps -> (forall p, In p (softmax row) -> p < eps) -> - ln eps <= entropy row.
Proof.
  intros visible pos small. unfold entropy. rewrite <- sum_map_opp.
  rewrite <- (Rmult_1_l (- ln eps)), <- (softmax_sums_to_one row visible).
  replace (sum (softmax row)) with (sum (map (fun p => p) (softmax row))) by (now rewrite map_id).
  rewrite <- sum_map_mult_r. apply sum_map_le. intros p inp. specialize (small p inp).
  destruct (in_softmax _ _ inp) as [x [inx ->]]. pose proof (coefficient_pos row x visible) as pos_p.
  pose proof (ln_increasing _ _ pos_p small). nra.
Qed.

Theorem entropy_from precision net bound N :
  spread_bounded net (place 10 bound) -> length_check precision bound N = true ->
  forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) -> items <> [] -> (N <= Z.of_nat (length items))%Z ->
  ln 10 <= entropy (logits net y items).
Proof.
  intros within checked y items inside admitted some long.
  replace (ln 10) with (- ln (1 / 10)) by (unfold Rdiv; rewrite Rmult_1_l, ln_Rinv by lra; ring).
  apply entropy_of_small; [|lra|].
  - unfold logits, proposition_3_1.biased_logits. intros none. apply map_eq_nil, map_eq_nil in none. now apply some.
  - now apply (disperses_from precision net bound N).
Qed.

(** ** The floor *)

(** ln (1 + r) >= r / (1 + r), so that one item far above n - 1 others has at least (1 + D) r / (1 + r), r = (n - 1) e^(-D);
    two or more at the top have at least ln 2. *)
Lemma ln_one_plus r : 0 <= r -> r / (1 + r) <= ln (1 + r).
Proof.
  intros nonneg. replace (ln (1 + r)) with (- ln (/ (1 + r))) by (rewrite ln_Rinv by lra; ring).
  assert (0 < / (1 + r)) by (apply Rinv_0_lt_compat; lra). pose proof (exp_ineq1_le (ln (/ (1 + r)))) as below.
  rewrite exp_ln in below by easy. replace (r / (1 + r)) with (1 - / (1 + r)) by (field; lra). lra.
Qed.

Lemma floor_of_set n d :
  (2 <= n)%nat -> 0 <= d ->
  let r := (INR n - 1) * exp (- d) in Rmin (1 / 2) ((1 + d) * (r / (1 + r))) <= entropy_floor n d.
Proof.
  intros many nonneg r. destruct (entropy_floor_attained n d many) as [k [[some few] ->]].
  rewrite two_level_entropy_in_small_terms by lia. cbv zeta. pose proof (exp_pos (- d)) as pos.
  assert (many' : 2 <= INR n) by now apply (le_INR 2). assert (few' : INR k < INR n) by now apply lt_INR.
  assert (some' : 1 <= INR k) by now apply (le_INR 1). set (ratio := (INR n - INR k) * exp (- d) / INR k).
  assert (0 <= ratio). { unfold ratio. apply Rmult_le_pos; [nra | apply Rlt_le, Rinv_0_lt_compat; lra]. }
  assert (share : 0 <= ratio / (1 + ratio)) by (apply Rmult_le_pos; [easy | apply Rlt_le, Rinv_0_lt_compat; lra]).
  pose proof (ln_one_plus ratio ltac:(easy)).
  replace (d * ratio / (1 + ratio)) with (d * (ratio / (1 + ratio))) by (field; lra).
  destruct (Nat.eq_dec k 1) as [-> | more].
  - eapply Rle_trans; [apply Rmin_r|]. change (INR 1) with 1 in *. rewrite ln_1.
    replace ratio with r in * by (unfold ratio, r; field). nra.
  - eapply Rle_trans; [apply Rmin_l|]. assert (2 <= INR k) by (apply (le_INR 2); lia).
    assert (1 / 2 <= ln 2) by enclose. assert (ln 2 <= ln (INR k)).
    { destruct (Req_dec 2 (INR k)) as [<- |]; [lra | apply Rlt_le, ln_increasing; lra]. } nra.
Qed.

(** floor = m 2^(-bits). *)
Definition floor_check (precision : positive) (bound : Z) (n : Z) (bits m : Z) : bool :=
  let p := F.PtoP precision in
  let d := spread_point bound in
  let r := I.mul p (whole (n - 1)) (I.exp p (I.neg d)) in
  match bounds (I.mul p (I.add p (whole 1) d) (I.div p r (I.add p (whole 1) r))) with
  | Some (l, _) => ((0 <=? bound) && (2 <=? n) && (0 <=? bits) && (2 * m <=? 2 ^ bits) && (m <=? floor_at bits l))%Z%bool
  | None => false
  end.

Lemma floor_check_holds precision bound n bits m :
  floor_check precision bound n bits m = true ->
  (2 <= n)%Z /\ 0 <= place 10 bound /\ place bits m <= entropy_floor (Z.to_nat n) (place 10 bound).
Proof.
  unfold floor_check. cbv zeta. set (p := F.PtoP precision). set (d := place 10 bound).
  pose proof (spread_point_encloses bound) as at_d. fold d in at_d. revert at_d. generalize (spread_point bound).
  intros i at_d. assert (one := whole_encloses 1).
  assert (others : encloses (whole (n - 1)) (IZR n - 1)) by (rewrite <- minus_IZR; apply whole_encloses).
  assert (ratio := mul_encloses p _ _ _ _ others (exp_encloses p _ _ (neg_encloses _ _ at_d))).
  destruct (Z.leb_spec 2 n) as [many | few].
  2:{ intros wrong. exfalso. destruct (bounds _) as [[l u]|]; [|discriminate wrong]. rewrite andb_false_r in wrong.
      discriminate wrong. }
  assert (0 <= (IZR n - 1) * exp (- d)).
  { apply Rmult_le_pos; [pose proof (IZR_le _ _ many); lra | apply Rlt_le, exp_pos]. }
  assert (positive : 0 < 1 + (IZR n - 1) * exp (- d)) by lra.
  assert (all := mul_encloses p _ _ _ _ (add_encloses p _ _ _ _ one at_d)
    (div_encloses p _ _ _ _ positive ratio (add_encloses p _ _ _ _ one ratio))).
  revert all.
  generalize (I.mul p (I.add p (whole 1) i)
  (I.div p (I.mul p (whole (n - 1)) (I.exp p (I.neg i)))
  (I.add p (whole 1) (I.mul p (whole (n - 1)) (I.exp p (I.neg i)))))).
  intros j all. destruct (bounds j) as [[l u]|] eqn:ends; [|discriminate].
  destruct (bounds_hold _ _ _ _ all ends) as [low _]. rewrite !andb_true_iff, !Z.leb_le.
  intros [[[[nonneg _] deep] half] below]. assert (nonneg_d : 0 <= d) by (apply place_nonneg; [lia | exact nonneg]).
  split; [exact many|]. split; [exact nonneg_d|]. eapply Rle_trans; [|apply floor_of_set; [lia | exact nonneg_d]].
  rewrite INR_IZR_INZ, Z2Nat.id by lia. apply Rmin_glb.
  - unfold place. pose proof (two_pos bits deep). apply IZR_le in half. rewrite mult_IZR in half.
    apply Rmult_le_reg_r with (IZR (2 ^ bits)); [assumption|]. unfold Rdiv at 1. rewrite Rmult_assoc, Rinv_l by lra.
    lra.
  - eapply Rle_trans; [apply place_le; [exact deep | exact below]|].
    eapply Rle_trans; [apply floor_at_holds; exact deep | exact low].
Qed.

Theorem entropy_of_set precision net bound n bits m :
  spread_bounded net (place 10 bound) -> floor_check precision bound n bits m = true ->
  forall y items, 0 <= y <= 1 -> (forall x, In x items -> admissible x) -> Z.of_nat (length items) = n ->
  place bits m <= entropy (logits net y items).
Proof.
  intros within checked y items inside admitted many.
  destruct (floor_check_holds _ _ _ _ _ checked) as (some & nonneg & floored). eapply Rle_trans; [exact floored|].
  assert (same : length (logits net y items) = Z.to_nat n).
  { unfold logits, proposition_3_1.biased_logits. rewrite !map_length. lia. } rewrite <- same.
  apply entropy_at_least_floor; [|now apply within]. intros none. rewrite none in same. cbn in same. lia.
Qed.
