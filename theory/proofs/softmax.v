(** * Softmax over finite rows of logits: the definitions all other files use.

    Main results
    - [softmax_sums_to_one]           the coefficients of a row add up to 1
    - [softmax_shift]                 adding a number to all logits changes no coefficient
    - [entropy_log_partition]         H = ln Z - E[e]                       (paper, Section 3)
    - [entropy_permutation]           H does not depend on the order of the items

    Source: Velickovic et al., "Softmax is not Enough (for Sharp Size Generalisation)", ICML 2025,
    arXiv 2410.01104, eq. (1).

    A row of logits is a list of reals. Masked items (-inf) are left out of it. *)

From Coq Require Export Reals List Permutation Lra Lia Psatz.
From softcheck Require Export monotone.
Export ListNotations.
Local Open Scope R_scope.

(** ** Definitions *)

Definition sum (xs : list R) : R := fold_right Rplus 0 xs.

(** Z = sum_j exp(e_j). *)
Definition partition_function (logits : list R) : R := sum (map exp logits).

(** exp(x) / Z: the coefficient of an item of the row whose logit is x, eq. (1). *)
Definition coefficient (logits : list R) (x : R) : R := exp x / partition_function logits.

Definition softmax (logits : list R) : list R := map (coefficient logits) logits.

(** E[f(e)] under the coefficients of the row. *)
Definition expectation (logits : list R) (f : R -> R) : R := sum (map (fun x => coefficient logits x * f x) logits).

Definition mean (logits : list R) : R := expectation logits (fun x => x).

Definition variance (logits : list R) : R := expectation logits (fun x => (x - mean logits) ^ 2).

(** H = - sum_j alpha_j ln alpha_j, in nats. *)
Definition entropy (logits : list R) : R := - sum (map (fun p => p * ln p) (softmax logits)).

(** The logits at the inverse temperature beta, and at the temperature theta: softmax_theta(e) is
    [softmax (tempered theta e)]. *)
Definition scaled (beta : R) (logits : list R) : list R := map (Rmult beta) logits.
Definition tempered (theta : R) (logits : list R) : list R := map (fun x => x / theta) logits.

(** max e - min e <= delta. *)
Definition spread_at_most (delta : R) (logits : list R) : Prop :=
  forall x y, In x logits -> In y logits -> x - y <= delta.

(** The length of a row as a real number. *)
Definition size {A} (xs : list A) : R := INR (length xs).

(** ** Sums over lists *)

Lemma sum_app xs ys : sum (xs ++ ys) = sum xs + sum ys.
Proof. unfold sum. induction xs; simpl in *; lra. Qed.

Lemma sum_permutation xs ys : Permutation xs ys -> sum xs = sum ys.
Proof. induction 1; unfold sum in *; simpl in *; lra. Qed.

Section Sums.
  Context {A : Type}.
  Implicit Types (f g : A -> R) (xs : list A).

  Lemma sum_map_ext f g xs : (forall x, In x xs -> f x = g x) -> sum (map f xs) = sum (map g xs).
  Proof. intros same. f_equal. now apply map_ext_in. Qed.

  Lemma sum_map_le f g xs : (forall x, In x xs -> f x <= g x) -> sum (map f xs) <= sum (map g xs).
  Proof.
    unfold sum. induction xs as [|x xs IH]; simpl; intros below; [lra|]. assert (f x <= g x) by auto.
    enough (sum (map f xs) <= sum (map g xs)) by (unfold sum in *; lra). apply IH; auto.
  Qed.

  Lemma sum_map_plus f g xs : sum (map (fun x => f x + g x) xs) = sum (map f xs) + sum (map g xs).
  Proof. unfold sum. induction xs; simpl in *; lra. Qed.

  Lemma sum_map_minus f g xs : sum (map (fun x => f x - g x) xs) = sum (map f xs) - sum (map g xs).
  Proof. unfold sum. induction xs; simpl in *; lra. Qed.

  Lemma sum_map_mult_l (c : R) f xs : sum (map (fun x => c * f x) xs) = c * sum (map f xs).
  Proof. unfold sum. induction xs; simpl in *; lra. Qed.

  Lemma sum_map_mult_r (c : R) f xs : sum (map (fun x => f x * c) xs) = sum (map f xs) * c.
  Proof. unfold sum. induction xs; simpl in *; lra. Qed.

  Lemma sum_map_opp f xs : sum (map (fun x => - f x) xs) = - sum (map f xs).
  Proof. unfold sum. induction xs; simpl in *; lra. Qed.

  Lemma sum_map_const (c : R) xs : sum (map (fun _ => c) xs) = size xs * c.
  Proof.
    unfold sum, size. induction xs as [|x xs IH]; [simpl; lra|]. cbn [map fold_right length]. rewrite S_INR. lra.
  Qed.

  Lemma sum_map_nonneg f xs : (forall x, In x xs -> 0 <= f x) -> 0 <= sum (map f xs).
  Proof.
    intros nonneg. replace 0 with (sum (map (fun _ : A => 0) xs)).
    - now apply sum_map_le.
    - rewrite sum_map_const. ring.
  Qed.

  (** The first term is positive, the others are not negative. *)
  Lemma sum_map_pos f xs : xs <> [] -> (forall x, In x xs -> 0 < f x) -> 0 < sum (map f xs).
  Proof.
    destruct xs as [|x xs]; [easy|]. intros _ pos. assert (0 <= sum (map f xs)).
    { apply sum_map_nonneg. intros y iny. apply Rlt_le, pos. now right. } assert (0 < f x) by (apply pos; now left).
    unfold sum in *. simpl. lra.
  Qed.

  (** One item is no larger than the sum of all, where all are nonnegative. *)
  Lemma sum_map_at_least_one f xs x : (forall y, In y xs -> 0 <= f y) -> In x xs -> f x <= sum (map f xs).
  Proof.
    intros nonneg inx. apply in_split in inx as [l1 [l2 ->]]. rewrite map_app, sum_app. unfold sum at 2. simpl.
    fold (sum (map f l2)). assert (0 <= sum (map f l1)).
    { apply sum_map_nonneg. intros y iny. apply nonneg, in_or_app. now left. } assert (0 <= sum (map f l2)).
    { apply sum_map_nonneg. intros y iny. apply nonneg, in_or_app. right. now right. } lra.
  Qed.

  (** A sum of nonnegative terms is zero only where every term is. *)
  Lemma sum_map_zero f xs : (forall x, In x xs -> 0 <= f x) -> sum (map f xs) = 0 -> forall x, In x xs -> f x = 0.
  Proof.
    intros nonneg zero x inx. pose proof (sum_map_at_least_one f xs x nonneg inx). pose proof (nonneg x inx). lra.
  Qed.

  Lemma sum_map_abs f xs : Rabs (sum (map f xs)) <= sum (map (fun x => Rabs (f x)) xs).
  Proof.
    unfold sum. induction xs as [|x xs IH]; simpl.
    - rewrite Rabs_R0. lra.
    - triangle. lra.
  Qed.

  Lemma sum_map_permutation f xs ys : Permutation xs ys -> sum (map f xs) = sum (map f ys).
  Proof. intros same. now apply sum_permutation, Permutation_map. Qed.

  Lemma size_cons x xs : size (x :: xs) = size xs + 1.
  Proof. unfold size. cbn [length]. now rewrite S_INR. Qed.

  Lemma size_nonneg xs : 0 <= size xs.
  Proof. apply pos_INR. Qed.

  Lemma size_pos xs : xs <> [] -> 0 < size xs.
  Proof. destruct xs; [easy|]. intros _. rewrite size_cons. pose proof (size_nonneg xs). lra. Qed.

  Lemma size_at_least_one xs : xs <> [] -> 1 <= size xs.
  Proof. destruct xs; [easy|]. intros _. rewrite size_cons. pose proof (size_nonneg xs). lra. Qed.
End Sums.

Lemma in_not_nil {A} (x : A) xs : In x xs -> xs <> [].
Proof. now destruct xs. Qed.

Lemma size_map {A B} (f : A -> B) xs : size (map f xs) = size xs.
Proof. unfold size. now rewrite map_length. Qed.

Lemma map_not_nil {A B} (f : A -> B) xs : xs <> [] -> map f xs <> [].
Proof. now destruct xs. Qed.

(** ** The partition function and the coefficients *)

Lemma partition_pos logits : logits <> [] -> 0 < partition_function logits.
Proof. intros visible. apply sum_map_pos; [easy|]. intros. apply exp_pos. Qed.

Lemma coefficient_pos logits x : logits <> [] -> 0 < coefficient logits x.
Proof. intros visible. apply Rdiv_lt_0_compat; [apply exp_pos | now apply partition_pos]. Qed.

Lemma sum_coefficients logits : logits <> [] -> sum (map (coefficient logits) logits) = 1.
Proof.
  intros visible. unfold coefficient, Rdiv. rewrite sum_map_mult_r. fold (partition_function logits). apply Rinv_r.
  apply Rgt_not_eq, partition_pos, visible.
Qed.

Theorem softmax_sums_to_one logits : logits <> [] -> sum (softmax logits) = 1.
Proof. apply sum_coefficients. Qed.

Lemma in_softmax logits p : In p (softmax logits) -> exists x, In x logits /\ p = coefficient logits x.
Proof. unfold softmax. rewrite in_map_iff. intros [x [<- inx]]. eauto. Qed.

(** One of several positive terms that add up to 1. *)
Lemma coefficient_at_most_one logits x : In x logits -> coefficient logits x <= 1.
Proof.
  intros inx. assert (visible := in_not_nil x logits inx). rewrite <- (sum_coefficients logits visible).
  apply (sum_map_at_least_one (coefficient logits)); [|easy]. intros. now apply Rlt_le, coefficient_pos.
Qed.

(** ln(e^x / Z). *)
Lemma ln_coefficient logits x : logits <> [] -> ln (coefficient logits x) = x - ln (partition_function logits).
Proof.
  intros visible. unfold coefficient, Rdiv. rewrite ln_mult, ln_exp, ln_Rinv; [reflexivity| | |].
  - now apply partition_pos.
  - apply exp_pos.
  - now apply Rinv_0_lt_compat, partition_pos.
Qed.

Lemma partition_shift c logits : partition_function (map (fun x => x + c) logits) = exp c * partition_function logits.
Proof.
  unfold partition_function. rewrite map_map, <- sum_map_mult_l. apply sum_map_ext. intros. rewrite exp_plus. ring.
Qed.

(** The factor e^c is common to the numerator and to Z. *)
Lemma coefficient_shift c logits x : coefficient (map (fun x => x + c) logits) (x + c) = coefficient logits x.
Proof.
  unfold coefficient. rewrite partition_shift, exp_plus. unfold Rdiv. rewrite Rinv_mult.
  transitivity (exp x * / partition_function logits * (exp c * / exp c)); [ring|].
  rewrite Rinv_r; [ring | apply Rgt_not_eq, exp_pos].
Qed.

Theorem softmax_shift c logits : softmax (map (fun x => x + c) logits) = softmax logits.
Proof. unfold softmax. rewrite map_map. apply map_ext_in. intros. apply coefficient_shift. Qed.

(** ** Expectations *)

Lemma expectation_const logits c : logits <> [] -> expectation logits (fun _ => c) = c.
Proof. intros visible. unfold expectation. rewrite sum_map_mult_r, sum_coefficients; [ring|easy]. Qed.

Lemma expectation_plus logits f g :
  expectation logits (fun x => f x + g x) = expectation logits f + expectation logits g.
Proof. unfold expectation. rewrite <- sum_map_plus. apply sum_map_ext. intros. ring. Qed.

Lemma expectation_mult logits c f : expectation logits (fun x => c * f x) = c * expectation logits f.
Proof. unfold expectation. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. ring. Qed.

Lemma expectation_ext logits f g : (forall x, In x logits -> f x = g x) -> expectation logits f = expectation logits g.
Proof. intros same. apply sum_map_ext. intros x inx. now rewrite same. Qed.

Lemma expectation_le logits f g : (forall x, In x logits -> f x <= g x) -> expectation logits f <= expectation logits g.
Proof.
  intros below. apply sum_map_le. intros x inx. apply Rmult_le_compat_l; [|now apply below].
  apply Rlt_le, coefficient_pos. now apply in_not_nil with x.
Qed.

Lemma expectation_permutation xs ys f : Permutation xs ys -> expectation xs f = expectation ys f.
Proof.
  intros same. unfold expectation, coefficient, partition_function.
  rewrite (sum_map_permutation exp xs ys same). now apply sum_map_permutation.
Qed.

(** ** Entropy *)

(** ln alpha_j = e_j - ln Z, averaged. *)
Theorem entropy_log_partition logits : logits <> [] -> entropy logits = ln (partition_function logits) - mean logits.
Proof.
  intros visible. unfold entropy, softmax. rewrite map_map.
  assert (same : sum (map (fun x => coefficient logits x * ln (coefficient logits x)) logits)
                 = expectation logits (fun x => x + - ln (partition_function logits))).
  { apply sum_map_ext. intros. now rewrite ln_coefficient. }
  rewrite same, expectation_plus, expectation_const by easy. fold (mean logits). ring.
Qed.

(** Z and E[e] are sums. *)
Theorem entropy_permutation xs ys : Permutation xs ys -> entropy xs = entropy ys.
Proof.
  intros same. destruct xs as [|x xs].
  - apply Permutation_nil in same. now subst.
  - assert (ys <> []). { intros ->. apply Permutation_sym, Permutation_nil in same. discriminate. }
    rewrite !entropy_log_partition by easy. unfold mean, partition_function.
    now rewrite (sum_map_permutation exp _ _ same), (expectation_permutation _ _ _ same).
Qed.

Lemma entropy_shift c logits : entropy (map (fun x => x + c) logits) = entropy logits.
Proof. unfold entropy. now rewrite softmax_shift. Qed.

(** ** Spread, temperature *)

Lemma spread_within m M logits : (forall x, In x logits -> m <= x <= M) -> spread_at_most (M - m) logits.
Proof. intros within x y inx iny. pose proof (within x inx). pose proof (within y iny). lra. Qed.

(** Division by theta > 0 keeps the order. *)
Lemma spread_tempered delta theta logits :
  0 < theta -> spread_at_most delta logits -> spread_at_most (delta / theta) (tempered theta logits).
Proof.
  intros pos within x y inx iny. unfold tempered in *.
  apply in_map_iff in inx as [x' [<- inx]]. apply in_map_iff in iny as [y' [<- iny]].
  replace (x' / theta - y' / theta) with ((x' - y') * / theta) by (unfold Rdiv; ring).
  apply Rmult_le_compat_r; [now apply Rlt_le, Rinv_0_lt_compat|]. now apply within.
Qed.

Lemma spread_nonneg delta logits : logits <> [] -> spread_at_most delta logits -> 0 <= delta.
Proof.
  destruct logits as [|x xs]; [easy|]. intros _ within.
  specialize (within x x (or_introl eq_refl) (or_introl eq_refl)). lra.
Qed.

(** The least logit is the lower end. *)
Lemma spread_interval delta logits :
  logits <> [] -> spread_at_most delta logits ->
  exists m, In m logits /\ forall x, In x logits -> m <= x <= m + delta.
Proof.
  intros visible within. assert (least : exists m, In m logits /\ forall x, In x logits -> m <= x).
  { clear within. induction logits as [|y ys IH]; [easy|]. destruct ys as [|z zs].
    - exists y. split; [now left|]. intros x [-> | []]. lra.
    - destruct IH as [m [inm below]]; [easy|]. destruct (Rle_dec m y).
      + exists m. split; [now right|]. intros x [-> | inx]; [lra | now apply below].
      + exists y. split; [now left|]. intros x [-> | inx]; [lra|]. specialize (below x inx). lra. }
  destruct least as [m [inm below]]. exists m. split; [easy|]. intros x inx. specialize (below x inx).
  specialize (within x m inx inm). lra.
Qed.

Lemma tempered_visible theta logits : logits <> [] -> tempered theta logits <> [].
Proof. apply map_not_nil. Qed.

Lemma size_tempered theta logits : size (tempered theta logits) = size logits.
Proof. apply size_map. Qed.

Lemma tempered_scaled theta logits : tempered theta logits = scaled (/ theta) logits.
Proof. apply map_ext. intros. unfold Rdiv. ring. Qed.

Lemma scaled_one logits : scaled 1 logits = logits.
Proof. unfold scaled. rewrite <- (map_id logits) at 2. apply map_ext. intros. ring. Qed.

