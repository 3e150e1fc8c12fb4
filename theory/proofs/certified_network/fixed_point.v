(** * Integers as fixed-point vectors: what the checker of a network computes with, and what it means in exact reals.

    Main results
    - [dot_of_integers]     the scalar product of two integer vectors is that of the real ones, at the sum of their places
    - [nearest_error]       dropping s bits errs by at most half a unit of what is left
    - [entries_bound_norm]  128 entries within t of 0 have a norm of at most 12 t
    - [entries_bound_operator]   so has a 128 by 128 matrix an operator norm of at most 128 t

    Z is used, not the processor's integers: these would be axioms. *)

From Coq Require Import ZArith Reals List Lra Lia.
From Coquelicot Require Import Rcomplements.
From Flocq Require Import Core.
From softcheck Require Import softmax vectors.
From softcheck.oracle Require Import interval_oracle.
Local Open Scope R_scope.

(** ** Numbers *)

(** z units of 2^-bits. *)
Definition place (bits z : Z) : R := IZR z / IZR (2 ^ bits).

Lemma two_pos bits : (0 <= bits)%Z -> 0 < IZR (2 ^ bits).
Proof. intros. apply (IZR_lt 0). now apply Z.pow_pos_nonneg. Qed.

Lemma place_plus bits a b : place bits (a + b) = place bits a + place bits b.
Proof. unfold place, Rdiv. rewrite plus_IZR. ring. Qed.

Lemma place_minus bits a b : place bits (a - b) = place bits a - place bits b.
Proof. unfold place, Rdiv. rewrite minus_IZR. ring. Qed.

Lemma place_mult p q a b : (0 <= p)%Z -> (0 <= q)%Z -> place (p + q) (a * b) = place p a * place q b.
Proof.
  intros. unfold place. rewrite Z.pow_add_r, !mult_IZR by easy.
  pose proof (two_pos p ltac:(easy)). pose proof (two_pos q ltac:(easy)). field. lra.
Qed.

Lemma place_shift p s z : (0 <= p)%Z -> (0 <= s)%Z -> place (p + s) (z * 2 ^ s) = place p z.
Proof.
  intros. rewrite place_mult by easy. unfold place at 2. unfold Rdiv. rewrite Rinv_r; [ring|].
  apply Rgt_not_eq. now apply two_pos.
Qed.

Lemma place_zero bits : place bits 0 = 0.
Proof. unfold place, Rdiv. ring. Qed.

Lemma place_le bits a b : (0 <= bits)%Z -> (a <= b)%Z -> place bits a <= place bits b.
Proof. intros. apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat, two_pos | now apply IZR_le]. Qed.

Lemma place_nonneg bits a : (0 <= bits)%Z -> (0 <= a)%Z -> 0 <= place bits a.
Proof. intros. rewrite <- (place_zero bits). now apply place_le. Qed.

(** z without its last s bits, rounded. *)
Definition nearest (s z : Z) : Z := Z.shiftr (z + 2 ^ (s - 1)) s.

Lemma nearest_between s z :
  (0 < s)%Z -> (nearest s z * 2 ^ s - 2 ^ (s - 1) <= z <= nearest s z * 2 ^ s + 2 ^ (s - 1))%Z.
Proof.
  intros. unfold nearest. rewrite Z.shiftr_div_pow2 by lia.
  assert (pos : (0 < 2 ^ s)%Z) by (apply Z.pow_pos_nonneg; lia).
  assert (half : (2 ^ s = 2 * 2 ^ (s - 1))%Z) by (rewrite <- Z.pow_succ_r by lia; f_equal; lia).
  pose proof (Z.div_mod (z + 2 ^ (s - 1)) (2 ^ s) ltac:(lia)).
  pose proof (Z.mod_pos_bound (z + 2 ^ (s - 1)) (2 ^ s) pos). nia.
Qed.

Theorem nearest_error p s z :
  (0 <= p)%Z -> (0 < s)%Z -> Rabs (place (p + s) z - place p (nearest s z)) <= / 2 / IZR (2 ^ p).
Proof.
  intros. pose proof (nearest_between s z ltac:(easy)) as [low high]. rewrite <- (place_shift p s (nearest s z)) by lia.
  rewrite <- place_minus. unfold place. unfold Rdiv.
  rewrite Rabs_mult, (Rabs_pos_eq (/ IZR (2 ^ (p + s)))) by (apply Rlt_le, Rinv_0_lt_compat, two_pos; lia).
  rewrite Z.pow_add_r, mult_IZR by lia. pose proof (two_pos p ltac:(easy)). pose proof (two_pos s ltac:(lia)).
  replace (/ 2 * / IZR (2 ^ p)) with (/ 2 * IZR (2 ^ s) * / (IZR (2 ^ p) * IZR (2 ^ s))) by (field; lra).
  apply Rmult_le_compat_r; [apply Rlt_le, Rinv_0_lt_compat, Rmult_lt_0_compat; easy|].
  replace (/ 2 * IZR (2 ^ s)) with (IZR (2 ^ (s - 1))).
  - apply Rabs_le. rewrite <- opp_IZR. split; apply IZR_le; lia.
  - replace s with (Z.succ (s - 1)) at 2 by lia. rewrite Z.pow_succ_r, mult_IZR by lia. field.
Qed.

(** Rounded up. *)
Definition above (s z : Z) : Z := (- Z.shiftr (- z) s)%Z.

Lemma above_le p s z : (0 <= p)%Z -> (0 <= s)%Z -> place (p + s) z <= place p (above s z).
Proof.
  intros. rewrite <- (place_shift p s) by easy. apply place_le; [lia|]. unfold above.
  rewrite Z.shiftr_div_pow2 by lia. assert (0 < 2 ^ s)%Z by (apply Z.pow_pos_nonneg; lia).
  pose proof (Z.div_mod (- z) (2 ^ s) ltac:(lia)). pose proof (Z.mod_pos_bound (- z) (2 ^ s) ltac:(lia)). nia.
Qed.

(** ** Vectors *)

Definition entry (x : list Z) (i : nat) : Z := nth i x 0%Z.
Definition real_vector (bits : Z) (x : list Z) : vector := fun i => place bits (entry x i).
Definition row_of (rows : list (list Z)) (i : nat) : list Z := nth i rows [].
Definition real_matrix (bits : Z) (rows : list (list Z)) : matrix := fun i => real_vector bits (row_of rows i).

(** The factor with fewer bits in front: multiplication walks along it. *)
Fixpoint dot_product (x y : list Z) : Z :=
  match x, y with a :: x, b :: y => (a * b + dot_product x y)%Z | _, _ => 0%Z end.

Lemma sum_seq_shift (f : nat -> R) n : sum (map f (seq 0 (S n))) = f 0%nat + sum (map (fun i => f (S i)) (seq 0 n)).
Proof. cbn [seq map]. unfold sum at 1. cbn [fold_right]. now rewrite <- seq_shift, map_map. Qed.

Lemma dot_zero_left n x y : (forall i, (i < n)%nat -> x i = 0) -> dot n x y = 0.
Proof.
  intros none. unfold dot. rewrite (sum_map_ext _ (fun _ => 0)).
  - rewrite sum_map_const. ring.
  - intros i ini. apply in_seq in ini. rewrite none by lia. ring.
Qed.

Theorem dot_of_integers p q x y : (0 <= p)%Z -> (0 <= q)%Z -> forall n, (length x <= n)%nat ->
  dot n (real_vector p x) (real_vector q y) = place (p + q) (dot_product x y).
Proof.
  intros pos pos'. revert y. induction x as [|a x IH]; intros y n short.
  - rewrite dot_zero_left; [now rewrite place_zero|]. intros i _. unfold real_vector, entry.
    replace (nth i [] 0%Z) with 0%Z by now destruct i. apply place_zero.
  - destruct n as [|n]; [cbn in short; lia|]. cbn [length] in short. unfold dot. rewrite sum_seq_shift.
    destruct y as [|b y].
    + cbn [dot_product]. rewrite place_zero. unfold real_vector at 2, entry. cbn [nth].
      rewrite place_zero, Rmult_0_r, Rplus_0_l. rewrite (sum_map_ext _ (fun _ => 0)); [rewrite sum_map_const; ring|].
      intros i _. unfold real_vector, entry. cbn [nth]. rewrite place_zero. ring.
    + cbn [dot_product]. rewrite place_plus, place_mult, <- (IH y n) by (easy || lia). reflexivity.
Qed.

Lemma dot_product_comm x y : dot_product x y = dot_product y x.
Proof. revert y. induction x as [|a x IH]; intros [|b y]; cbn; try easy. rewrite IH. lia. Qed.

(** The second vector is the one that is known to fit. *)
Lemma dot_of_integers_r p q x y n : (0 <= p)%Z -> (0 <= q)%Z -> (length y <= n)%nat ->
  dot n (real_vector p x) (real_vector q y) = place (p + q) (dot_product x y).
Proof. intros. rewrite dot_comm, dot_of_integers, dot_product_comm, Z.add_comm; easy. Qed.

(** An integer above the norm: the root of the squares, rounded up. *)
Definition norm_above (x : list Z) : Z := Z.sqrt_up (dot_product x x).

Lemma square_nonneg x : (0 <= dot_product x x)%Z.
Proof. induction x as [|a x IH]; cbn; [lia | nia]. Qed.

Lemma root_above z : (0 <= z)%Z -> (z <= Z.sqrt_up z * Z.sqrt_up z)%Z.
Proof.
  intros nonneg. destruct (Z.eq_dec z 0) as [-> |]; [cbn; lia|]. pose proof (Z.sqrt_up_spec z ltac:(lia)). lia.
Qed.

Lemma sqrt_place p z : (0 <= p)%Z -> (0 <= z)%Z -> sqrt (place (p + p) z) <= place p (Z.sqrt_up z).
Proof.
  intros. pose proof (Z.sqrt_up_nonneg z). rewrite <- (sqrt_Rsqr (place p (Z.sqrt_up z))) by now apply place_nonneg.
  apply sqrt_le_1_alt. unfold Rsqr. rewrite <- place_mult by easy. apply place_le; [lia|]. now apply root_above.
Qed.

Lemma norm_of_integers p x n : (0 <= p)%Z -> (length x <= n)%nat -> norm n (real_vector p x) <= place p (norm_above x).
Proof. intros. unfold norm. rewrite dot_of_integers by easy. now apply sqrt_place, square_nonneg. Qed.

(** ** Bounds from entries *)

Lemma norm_from_entries n v t c :
  (forall i, (i < n)%nat -> Rabs (v i) <= t) -> 0 <= t -> 0 <= c -> INR n <= c * c -> norm n v <= c * t.
Proof.
  intros small nonneg nonneg' few. unfold norm. rewrite <- (sqrt_Rsqr (c * t)) by now apply Rmult_le_pos.
  apply sqrt_le_1_alt. apply Rle_trans with (INR n * (t * t)).
  - unfold dot. rewrite <- (seq_length n 0) at 2. fold (size (seq 0 n)). rewrite <- sum_map_const. apply sum_map_le.
    intros i ini. apply in_seq in ini. specialize (small i ltac:(lia)). apply Rabs_le_between in small. nra.
  - unfold Rsqr. nra.
Qed.

Theorem entries_bound_norm n v t :
  (n <= 128)%nat -> (forall i, (i < n)%nat -> Rabs (v i) <= t) -> 0 <= t -> norm n v <= 12 * t.
Proof.
  intros few small nonneg. apply norm_from_entries; [easy | easy | lra|].
  apply le_INR in few. replace (INR 128) with 128 in few by (rewrite INR_IZR_INZ; reflexivity). lra.
Qed.

Theorem entries_bound_operator rows columns A t :
  (rows <= 128)%nat -> (columns <= 128)%nat ->
  (forall i j, (i < rows)%nat -> (j < columns)%nat -> Rabs (A i j) <= t) -> 0 <= t ->
  operator_bound rows columns A (128 * t).
Proof.
  intros few few' small nonneg. split; [lra|]. intros x.
  assert (bound : forall k, (k <= 128)%nat -> INR k <= 128).
  { intros k less. apply le_INR in less. now replace (INR 128) with 128 in less by (rewrite INR_IZR_INZ; reflexivity). }
  eapply Rle_trans; [apply frobenius_bounds|]. apply Rmult_le_compat_r; [apply norm_nonneg|].
  unfold frobenius. rewrite <- (sqrt_Rsqr (128 * t)) by lra. apply sqrt_le_1_alt.
  apply Rle_trans with (INR rows * (INR columns * (t * t))).
  - rewrite <- (seq_length rows 0) at 2. fold (size (seq 0 rows)). rewrite <- sum_map_const. apply sum_map_le.
    intros i ini. apply in_seq in ini. unfold dot. rewrite <- (seq_length columns 0) at 2. fold (size (seq 0 columns)).
    rewrite <- sum_map_const. apply sum_map_le. intros j inj. apply in_seq in inj.
    specialize (small i j ltac:(lia) ltac:(lia)). apply Rabs_le_between in small. nra.
  - pose proof (bound rows few). pose proof (bound columns few'). pose proof (pos_INR rows). pose proof (pos_INR columns).
    assert (0 <= t * t) by nra. unfold Rsqr. replace (128 * t * (128 * t)) with (128 * (128 * (t * t))) by ring.
    apply Rmult_le_compat; try easy; [now apply Rmult_le_pos|]. now apply Rmult_le_compat_r.
Qed.

(** ** An end of an interval, mantissa 2^exponent, in units of 2^-bits, rounded down and up. *)

Definition floor_at (bits : Z) (d : dyadic) : Z := Z.shiftl (fst d) (snd d + bits).
Definition ceiling_at (bits : Z) (d : dyadic) : Z := (- Z.shiftl (- fst d) (snd d + bits))%Z.

Lemma shift_at_most m s : IZR (Z.shiftl m s) <= IZR m * bpow radix2 s.
Proof.
  destruct (Z.le_gt_cases 0 s) as [up | down].
  - rewrite Z.shiftl_mul_pow2, mult_IZR, (IZR_Zpower radix2) by easy. lra.
  - rewrite Z.shiftl_div_pow2 by lia. apply Rmult_le_reg_r with (bpow radix2 (- s)); [apply bpow_gt_0|].
    rewrite Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r, Rmult_1_r, <- (IZR_Zpower radix2), <- mult_IZR by lia.
    apply IZR_le. rewrite Z.mul_comm. apply Z.mul_div_le. apply Z.pow_pos_nonneg; cbn; lia.
Qed.

Lemma value_at bits d : (0 <= bits)%Z -> value d = IZR (fst d) * bpow radix2 (snd d + bits) / IZR (2 ^ bits).
Proof.
  intros. unfold value, F2R. cbn [Defs.Fnum Defs.Fexp]. rewrite bpow_plus, (IZR_Zpower radix2) by easy.
  pose proof (bpow_gt_0 radix2 bits). field. lra.
Qed.

Lemma floor_at_holds bits d : (0 <= bits)%Z -> place bits (floor_at bits d) <= value d.
Proof.
  intros. rewrite (value_at bits) by easy.
  apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat, two_pos | apply shift_at_most].
Qed.

Lemma ceiling_at_holds bits d : (0 <= bits)%Z -> value d <= place bits (ceiling_at bits d).
Proof.
  intros. rewrite (value_at bits) by easy. apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat, two_pos|].
  unfold ceiling_at. rewrite opp_IZR. pose proof (shift_at_most (- fst d) (snd d + bits)) as below.
  rewrite opp_IZR in below. lra.
Qed.
