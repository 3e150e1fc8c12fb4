(** * A row of logits as the rounding bounds see it: S, Dbar, V2 relative to a reference.

    Main results
    - [entropy_of_statistics]       H = ln S + Dbar                                       (docs/tolerances.md, Notation)
    - [logsumexp_from_statistics]   L = m + ln S
    - [coefficient_from_weight]     p = e^(-D) / S
    - [pull_moved], [drag_moved]        sums over atoms at another reference
    - [drag_below_pull]                 D e^(-kD) <= e^(-kD/2) for k >= 3/4
    - [drag_below_mass]                 D e^(-kD) <= 1/2

    Temperature is applied already: an item here is x / theta. Masked items are left out. *)

From softcheck Require Export softmax.
From softcheck.floating_point Require Export relative_error standard_model.
Local Open Scope R_scope.

(** sum_i e^(x_i - r) f(r - x_i). *)
Definition weighted_sum (r : R) (logits : list R) (f : R -> R) : R :=
  sum (map (fun x => exp (x - r) * f (r - x)) logits).

(** S, relative to the reference r. *)
Definition weight_sum (r : R) (logits : list R) : R := weighted_sum r logits (fun _ => 1).

(** T = sum w D. *)
Definition deviation_sum (r : R) (logits : list R) : R := weighted_sum r logits (fun d => d).

(** Dbar and V2 of the row statistics. *)
Definition mean_deviation (r : R) (logits : list R) : R := deviation_sum r logits / weight_sum r logits.
Definition mean_square_deviation (r : R) (logits : list R) : R :=
  weighted_sum r logits (fun d => d ^ 2) / weight_sum r logits.

Definition above_all (r : R) (logits : list R) : Prop := forall x, In x logits -> x <= r.
Definition is_maximum (m : R) (logits : list R) : Prop := In m logits /\ above_all m logits.

(** ** Sums *)

Lemma weighted_sum_app r l1 l2 f : weighted_sum r (l1 ++ l2) f = weighted_sum r l1 f + weighted_sum r l2 f.
Proof. unfold weighted_sum. now rewrite map_app, sum_app. Qed.

Lemma weighted_sum_single r x f : weighted_sum r [x] f = exp (x - r) * f (r - x).
Proof. unfold weighted_sum, sum. simpl. ring. Qed.

Lemma weighted_sum_permutation r l l' f : Permutation l l' -> weighted_sum r l f = weighted_sum r l' f.
Proof. apply sum_map_permutation. Qed.

Lemma weighted_sum_ext r l f g : (forall x, In x l -> f (r - x) = g (r - x)) -> weighted_sum r l f = weighted_sum r l g.
Proof. intros same. apply sum_map_ext. intros x inx. now rewrite same. Qed.

Lemma weighted_sum_le r l f g :
  (forall x, In x l -> f (r - x) <= g (r - x)) -> weighted_sum r l f <= weighted_sum r l g.
Proof. intros below. apply sum_map_le. intros x inx. apply Rmult_le_compat_l; [monotone| now apply below]. Qed.

Lemma weighted_sum_plus r l f g : weighted_sum r l (fun d => f d + g d) = weighted_sum r l f + weighted_sum r l g.
Proof. unfold weighted_sum. rewrite <- sum_map_plus. apply sum_map_ext. intros. ring. Qed.

Lemma weighted_sum_mult r l c f : weighted_sum r l (fun d => c * f d) = c * weighted_sum r l f.
Proof. unfold weighted_sum. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. ring. Qed.

Lemma weighted_sum_nonneg r l f : (forall x, In x l -> 0 <= f (r - x)) -> 0 <= weighted_sum r l f.
Proof. intros nonneg. apply sum_map_nonneg. intros x inx. apply Rmult_le_pos; [monotone| now apply nonneg]. Qed.

Lemma weight_sum_sum r l : weight_sum r l = sum (map (fun x => exp (x - r)) l).
Proof. apply sum_map_ext. intros. ring. Qed.

Lemma app_above_all r l1 l2 : above_all r l1 -> above_all r l2 -> above_all r (l1 ++ l2).
Proof. intros a1 a2 x inx. apply in_app_or in inx as [inx|inx]; auto. Qed.

(** The weight of the maximum is 1. *)
Lemma weight_sum_at_least_one m l : is_maximum m l -> 1 <= weight_sum m l.
Proof.
  intros [inm _]. rewrite weight_sum_sum. replace 1 with (exp (m - m)) by (rewrite Rminus_diag_eq by easy; apply exp_0).
  apply (sum_map_at_least_one (fun x => exp (x - m))); [intros; left; apply exp_pos | easy].
Qed.

Lemma mean_deviation_nonneg m l : is_maximum m l -> 0 <= mean_deviation m l.
Proof.
  intros max. pose proof (weight_sum_at_least_one m l max). apply Rmult_le_pos.
  - apply weighted_sum_nonneg. intros x inx. pose proof (proj2 max x inx). lra.
  - monotone.
Qed.

Lemma mean_square_deviation_nonneg m l : is_maximum m l -> 0 <= mean_square_deviation m l.
Proof.
  intros max. pose proof (weight_sum_at_least_one m l max). apply Rmult_le_pos.
  - apply weighted_sum_nonneg. intros. apply pow2_ge_0.
  - monotone.
Qed.

(** ** Another reference: a factor, and for T a shift *)

Lemma weight_sum_rescaled r r' l : weight_sum r' l = exp (r - r') * weight_sum r l.
Proof.
  rewrite !weight_sum_sum, <- sum_map_mult_l. apply sum_map_ext. intros x _. rewrite <- exp_plus. f_equal. ring.
Qed.

(** ** The row's values from its statistics *)

Section Values.
  Context (m : R) (logits : list R) (max : is_maximum m logits).
  Let visible : logits <> [] := in_not_nil m logits (proj1 max).

  Lemma partition_from_weights : partition_function logits = exp m * weight_sum m logits.
  Proof.
    rewrite weight_sum_sum. unfold partition_function. rewrite <- sum_map_mult_l.
    apply sum_map_ext. intros. rewrite <- exp_plus. f_equal. ring.
  Qed.

  Theorem coefficient_from_weight x : coefficient logits x = exp (x - m) / weight_sum m logits.
  Proof.
    unfold coefficient. rewrite partition_from_weights. pose proof (weight_sum_at_least_one m logits max).
    unfold Rminus. rewrite exp_plus, exp_Ropp. field. split; [apply Rgt_not_eq, exp_pos | lra].
  Qed.

  Theorem logsumexp_from_statistics : ln (partition_function logits) = m + ln (weight_sum m logits).
  Proof.
    rewrite partition_from_weights. pose proof (weight_sum_at_least_one m logits max).
    rewrite ln_mult, ln_exp; [easy | monotone| lra].
  Qed.

  Lemma expectation_from_weights f :
    expectation logits (fun x => f (m - x)) = weighted_sum m logits f / weight_sum m logits.
  Proof.
    unfold expectation, weighted_sum, Rdiv. rewrite <- sum_map_mult_r. apply sum_map_ext. intros x _.
    rewrite coefficient_from_weight. unfold Rdiv. ring.
  Qed.

  Theorem entropy_of_statistics : entropy logits = ln (weight_sum m logits) + mean_deviation m logits.
  Proof.
    rewrite entropy_log_partition, logsumexp_from_statistics by easy.
    unfold mean_deviation, deviation_sum. rewrite <- expectation_from_weights.
    rewrite (expectation_ext _ (fun x => m - x) (fun x => m + -1 * x)) by (intros; ring).
    rewrite expectation_plus, expectation_const, expectation_mult by easy. unfold mean. ring.
  Qed.

End Values.

(** ** Atoms: masses that fade as the reference grows.

    What a computed sum over a row consists of: its items, each of mass 1, born at its own logit; and what underflow
    lost, born where it was lost. An online kernel that moves its reference from r to r' multiplies all by e^(r - r'):
    both fade alike, which is what keeps the underflow of any number of rescalings within that of two.

    Source: docs/tolerances.md, B1, "Underflow". *)

(** Where it was born, and its mass then. *)
Definition atom : Type := R * R.

Definition items (logits : list R) : list atom := map (fun x => (x, 1)) logits.
Definition mass (b : list atom) : R := sum (map snd b).
Definition pull (k r : R) (b : list atom) : R := sum (map (fun a => snd a * exp (- (k * (r - fst a)))) b).
Definition drag (k r : R) (b : list atom) : R :=
  sum (map (fun a => (r - fst a) * (snd a * exp (- (k * (r - fst a))))) b).

Definition placed (r : R) (b : list atom) : Prop := forall a, In a b -> fst a <= r /\ 0 <= snd a.

Lemma placed_app r b1 b2 : placed r b1 -> placed r b2 -> placed r (b1 ++ b2).
Proof. intros p1 p2 a ina. apply in_app_or in ina as [ina|ina]; auto. Qed.

Lemma placed_single r m : 0 <= m -> placed r [(r, m)].
Proof. intros hm a [<-|[]]. simpl. lra. Qed.

Lemma placed_moved r r' b : r <= r' -> placed r b -> placed r' b.
Proof. intros le p a ina. destruct (p a ina). lra. Qed.

Lemma placed_items r l : above_all r l -> placed r (items l).
Proof. intros above a ina. apply in_map_iff in ina as [x [<- inx]]. simpl. pose proof (above x inx). lra. Qed.

Lemma items_app l1 l2 : items (l1 ++ l2) = items l1 ++ items l2.
Proof. apply map_app. Qed.

Lemma mass_app b1 b2 : mass (b1 ++ b2) = mass b1 + mass b2.
Proof. unfold mass. now rewrite map_app, sum_app. Qed.

Lemma pull_app k r b1 b2 : pull k r (b1 ++ b2) = pull k r b1 + pull k r b2.
Proof. unfold pull. now rewrite map_app, sum_app. Qed.

Lemma drag_app k r b1 b2 : drag k r (b1 ++ b2) = drag k r b1 + drag k r b2.
Proof. unfold drag. now rewrite map_app, sum_app. Qed.

Lemma mass_single r m : mass [(r, m)] = m.
Proof. unfold mass, sum. simpl. ring. Qed.

Lemma pull_single k r m : pull k r [(r, m)] = m.
Proof. unfold pull, sum. simpl. replace (- (k * (r - r))) with 0 by ring. rewrite exp_0. ring. Qed.

Lemma drag_single k r m : drag k r [(r, m)] = 0.
Proof. unfold drag, sum. simpl. rewrite Rminus_diag_eq by easy. ring. Qed.

Lemma pull_permutation k r l l' : Permutation l l' -> pull k r (items l) = pull k r (items l').
Proof. intros same. apply sum_map_permutation. unfold items. now apply Permutation_map. Qed.

Lemma drag_permutation k r l l' : Permutation l l' -> drag k r (items l) = drag k r (items l').
Proof. intros same. apply sum_map_permutation. unfold items. now apply Permutation_map. Qed.

Lemma mass_nonneg r b : placed r b -> 0 <= mass b.
Proof. intros p. apply sum_map_nonneg. intros a ina. apply (p a ina). Qed.

Lemma pull_nonneg k r b : placed r b -> 0 <= pull k r b.
Proof. intros p. apply sum_map_nonneg. intros a ina. apply Rmult_le_pos; [apply (p a ina) | monotone]. Qed.

Lemma drag_nonneg k r b : placed r b -> 0 <= drag k r b.
Proof. intros p. apply sum_map_nonneg. intros a ina. destruct (p a ina). monotone. Qed.

Lemma pull_below_mass k r b : 0 <= k -> placed r b -> pull k r b <= mass b.
Proof.
  intros hk p. apply sum_map_le. intros a ina. destruct (p a ina). rewrite <- (Rmult_1_r (snd a)) at 2.
  apply Rmult_le_compat_l; [easy|]. apply exp_at_most_one. assert (0 <= k * (r - fst a)) by monotone. lra.
Qed.

Lemma pull_slower k k' r b : k' <= k -> placed r b -> pull k r b <= pull k' r b.
Proof.
  intros hk p. apply sum_map_le. intros a ina. destruct (p a ina). apply Rmult_le_compat_l; [easy|]. apply exp_le.
  assert (0 <= (k - k') * (r - fst a)) by monotone. lra.
Qed.

Lemma pull_moved k r r' b : pull k r' b = exp (- (k * (r' - r))) * pull k r b.
Proof.
  unfold pull. rewrite <- sum_map_mult_l. apply sum_map_ext. intros a _.
  replace (- (k * (r' - fst a))) with (- (k * (r' - r)) + - (k * (r - fst a))) by ring. rewrite exp_plus. ring.
Qed.

Lemma drag_moved k r r' b : drag k r' b = exp (- (k * (r' - r))) * (drag k r b + (r' - r) * pull k r b).
Proof.
  unfold pull, drag. rewrite <- sum_map_mult_l, <- sum_map_plus, <- sum_map_mult_l. apply sum_map_ext. intros a _.
  replace (- (k * (r' - fst a))) with (- (k * (r' - r)) + - (k * (r - fst a))) by ring. rewrite exp_plus. ring.
Qed.

(** e >= 8/3, by squaring e^(1/32) five times. *)
Lemma e_lower : 8 / 3 <= exp 1.
Proof.
  pose proof (exp_above_tangent (/ 32)) as x1.
  assert (double : forall y a, 0 <= a -> a <= exp y -> a * a <= exp (y + y)).
  { intros y a ha le. rewrite exp_plus. monotone. } pose proof (double (/ 32) (33 / 32) ltac:(lra) ltac:(lra)) as x2.
  assert (s2 : 10634 / 10000 <= exp (/ 32 + / 32)) by lra. pose proof (double _ (10634 / 10000) ltac:(lra) s2) as x4.
  assert (s4 : 11308 / 10000 <= exp (/ 32 + / 32 + (/ 32 + / 32))) by lra.
  pose proof (double _ (11308 / 10000) ltac:(lra) s4) as x8.
  assert (s8 : 12787 / 10000 <= exp (/ 32 + / 32 + (/ 32 + / 32) + (/ 32 + / 32 + (/ 32 + / 32)))) by lra.
  pose proof (double _ (12787 / 10000) ltac:(lra) s8) as x16.
  match type of x16 with _ <= exp ?y => assert (s16 : 1635 / 1000 <= exp y) by lra end.
  pose proof (double _ (1635 / 1000) ltac:(lra) s16) as x32.
  match type of x32 with _ <= exp ?y => replace y with 1 in x32 by field end. lra.
Qed.

(** e^y >= e y. *)
Lemma exp_above_line y : 8 / 3 * y <= exp y.
Proof.
  destruct (Rle_dec y 0) as [neg|pos].
  - pose proof (exp_pos y). lra.
  - replace y with (1 + (y - 1)) at 2 by ring. rewrite exp_plus. pose proof (exp_above_tangent (y - 1)).
    pose proof e_lower. pose proof (exp_pos (y - 1)). apply Rle_trans with (8 / 3 * exp (y - 1)); [lra|]. monotone.
Qed.

Lemma fading y : y * exp (- y) <= 3 / 8.
Proof.
  pose proof (exp_above_line y). rewrite exp_Ropp. pose proof (exp_pos y).
  apply Rmult_le_reg_r with (exp y); [easy|]. rewrite Rmult_assoc, Rinv_l; lra.
Qed.

Lemma drag_below_pull k r b : 3 / 4 <= k -> placed r b -> drag k r b <= pull (k / 2) r b.
Proof.
  intros hk p. apply sum_map_le. intros a ina. destruct (p a ina) as [le nonneg]. set (d := r - fst a).
  assert (0 <= d) by (unfold d; lra). replace (- (k * d)) with (- (k / 2 * d) + - (k / 2 * d)) by field.
  rewrite exp_plus. pose proof (fading (k / 2 * d)) as fades. pose proof (exp_pos (- (k / 2 * d))).
  assert (d * exp (- (k / 2 * d)) <= 1) by nra.
  replace (d * (snd a * (exp (- (k / 2 * d)) * exp (- (k / 2 * d)))))
    with (snd a * exp (- (k / 2 * d)) * (d * exp (- (k / 2 * d)))) by ring.
  rewrite <- (Rmult_1_r (snd a * exp (- (k / 2 * d)))) at 2. monotone.
Qed.

Lemma drag_below_mass k r b : 3 / 4 <= k -> placed r b -> drag k r b <= mass b / 2.
Proof.
  intros hk p. unfold mass, Rdiv. rewrite <- sum_map_mult_r. apply sum_map_le. intros a ina.
  destruct (p a ina) as [le nonneg]. set (d := r - fst a). assert (0 <= d) by (unfold d; lra).
  pose proof (fading (k * d)) as fades. pose proof (exp_pos (- (k * d))). assert (d * exp (- (k * d)) <= / 2) by nra.
  replace (d * (snd a * exp (- (k * d)))) with (snd a * (d * exp (- (k * d)))) by ring. monotone.
Qed.

(** The items' own pull and drag are the row's tilted sums. *)
Lemma pull_items t r l : pull (1 - t) r (items l) = weighted_sum r l (fun d => exp (t * d)).
Proof.
  unfold pull, items, weighted_sum. rewrite map_map. apply sum_map_ext. intros x _. cbn [fst snd].
  rewrite <- exp_plus, Rmult_1_l. f_equal. ring.
Qed.

Lemma drag_items t r l : drag (1 - t) r (items l) = weighted_sum r l (fun d => exp (t * d) * d).
Proof.
  unfold drag, items, weighted_sum. rewrite map_map. apply sum_map_ext. intros x _. cbn [fst snd].
  replace (- ((1 - t) * (r - x))) with (x - r + t * (r - x)) by ring. rewrite exp_plus. ring.
Qed.

Lemma mass_items l : mass (items l) = size l.
Proof. unfold mass, items. rewrite map_map. cbn [snd]. rewrite sum_map_const. ring. Qed.
