(** * Entropy of a row of n logits of bounded spread.

    Main results (n items, spread at most delta, temperature theta, d = delta / theta)
    - [nonnegative], [ceiling]   0 <= H <= ln n
    - [floor]                    ln n - min(d, d^2 / 8) <= H
    - [sharp_floor]              the least H at that n and d: the smallest over k = 1 ... n-1 of a row with k items
                                 at the top and n - k at the bottom; attained
                                 Which k that is: least_entropy_counts.v.

    Source: the paper bounds the coefficients only (Lemma 2.1); these consequences and their sharp form are this
    project's. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax lemma_2_1 proposition_3_2.
Local Open Scope R_scope.

(** ** Floor and ceiling for every row *)

(** -p ln p >= 0 for p in (0, 1]. *)
Theorem nonnegative logits : 0 <= entropy logits.
Proof.
  unfold entropy. rewrite <- sum_map_opp. apply sum_map_nonneg. intros p inp.
  destruct (in_softmax _ _ inp) as [x [inx ->]]. assert (visible := in_not_nil _ _ inx).
  pose proof (coefficient_pos logits x visible) as pos. assert (ln (coefficient logits x) <= 0).
  { rewrite <- ln_1. apply ln_le; [easy | now apply coefficient_at_most_one]. }
  assert (0 <= coefficient logits x * - ln (coefficient logits x)) by (apply Rmult_le_pos; lra). lra.
Qed.

(** At beta = 0 every item has the weight 1. *)
Lemma entropy_at_zero logits : logits <> [] -> entropy_at logits 0 = ln (size logits).
Proof.
  intros visible. rewrite entropy_at_log_partition by easy. unfold log_partition. rewrite partition_moment.
  unfold moment. rewrite (sum_map_ext _ (fun _ => 1)).
  - rewrite sum_map_const, Rmult_1_r. ring.
  - intros. rewrite Rmult_0_l, exp_0. simpl. ring.
Qed.

Lemma entropy_at_one logits : entropy_at logits 1 = entropy logits.
Proof. unfold entropy_at. now rewrite scaled_one. Qed.

(** At beta = 0 all coefficients are equal, and from there H only falls. *)
Theorem ceiling logits : logits <> [] -> entropy logits <= ln (size logits).
Proof.
  intros visible. rewrite <- entropy_at_zero, <- entropy_at_one by easy.
  apply monotone; [easy|]. unfold same_sign_and_larger. lra.
Qed.

(** ** The simple floor *)

(** Completing the square, as the deviations from the mean average to 0. *)
Lemma second_moment_at logits beta c :
  logits <> [] ->
  sum (map (fun x => coefficient (scaled beta logits) (beta * x) * (x - c) ^ 2) logits)
  = variance_at logits beta + (mean_at logits beta - c) ^ 2.
Proof.
  intros visible. set (m := mean_at logits beta). set (p := fun x => coefficient (scaled beta logits) (beta * x)).
  transitivity
    (sum (map (fun x => p x * (x - m) ^ 2 + (2 * (m - c) * (p x * x - p x * m) + (m - c) ^ 2 * p x)) logits)).
  { apply sum_map_ext. intros. unfold p. ring. }
  rewrite !sum_map_plus, sum_map_mult_l, sum_map_minus, !sum_map_mult_l, sum_map_mult_r.
  unfold p. rewrite sum_coefficients_at by easy. unfold variance_at, m, mean_at. ring.
Qed.

(** Popoviciu's inequality: no logit is farther than d/2 from the middle of their interval. *)
Lemma variance_at_most d logits beta : logits <> [] -> spread_at_most d logits -> variance_at logits beta <= d ^ 2 / 4.
Proof.
  intros visible within. destruct (spread_interval d logits visible within) as [m [_ between]].
  pose proof (second_moment_at logits beta (m + d / 2) visible) as total.
  pose proof (pow2_ge_0 (mean_at logits beta - (m + d / 2))).
  enough (sum (map (fun x => coefficient (scaled beta logits) (beta * x) * (x - (m + d / 2)) ^ 2) logits)
          <= d ^ 2 / 4) by lra.
  rewrite <- (Rmult_1_l (d ^ 2 / 4)), <- (sum_coefficients_at logits beta visible), <- sum_map_mult_r.
  apply sum_map_le. intros x inx. apply Rmult_le_compat_l.
  - now apply Rlt_le, coefficient_pos, scaled_visible.
  - specialize (between x inx). nra.
Qed.

(** H = E[-ln alpha], and every alpha is at most e^d / n. *)
Lemma floor_linear d logits : logits <> [] -> spread_at_most d logits -> ln (size logits) - d <= entropy logits.
Proof.
  intros visible within. pose proof (size_at_least_one logits visible) as many.
  pose proof (spread_nonneg d logits visible within) as nonneg. rewrite entropy_log_partition by easy.
  rewrite <- (expectation_const logits (ln (partition_function logits)) visible) by easy. unfold mean.
  enough (ln (size logits) - d <= expectation logits (fun x => ln (partition_function logits) + -1 * x)) as enough.
  { rewrite expectation_plus, expectation_mult in enough. lra. }
  rewrite <- (expectation_const logits (ln (size logits) - d) visible). apply expectation_le. intros x inx.
  pose proof (ln_coefficient logits x visible) as log.
  enough (ln (coefficient logits x) <= d - ln (size logits)) by lra. apply Rle_trans with (ln (exp d / size logits)).
  - apply ln_le; [now apply coefficient_pos|].
    eapply Rle_trans; [now apply coefficient_at_most with (d := d) | now apply sharp_upper_below_upper].
  - unfold Rdiv. rewrite ln_mult, ln_exp, ln_Rinv; [lra | lra | apply exp_pos | apply Rinv_0_lt_compat; lra].
Qed.

(** H(b) + b^2 d^2 / 8 grows with b >= 0, since H' = -b Var and Var <= d^2 / 4. *)
Lemma floor_quadratic d logits :
  logits <> [] -> spread_at_most d logits -> ln (size logits) - d ^ 2 / 8 <= entropy logits.
Proof.
  intros visible within. rewrite <- entropy_at_zero, <- entropy_at_one by easy.
  set (g := fun b => entropy_at logits b + b ^ 2 * d ^ 2 / 8).
  set (slope := fun b => - b * variance_at logits b + b * d ^ 2 / 4).
  assert (derivative : forall b, is_derive g b (slope b)).
  { intros b. unfold g, slope. apply (is_derive_plus (V := R_NormedModule)).
    - now apply entropy_derivative.
    - auto_derive; [easy|]. simpl. field. }
  destruct (MVT_gen g 0 1 slope) as [b [[low high] difference]].
  - intros. apply derivative.
  - intros b _. apply derivable_continuous_pt. exists (slope b). now apply is_derive_Reals.
  - rewrite Rmin_left in low by lra. rewrite Rmax_right in high by lra.
    pose proof (variance_at_most d logits b visible within) as popoviciu.
    assert (0 <= slope b).
    { unfold slope. replace (- b * variance_at logits b + b * d ^ 2 / 4)
        with (b * (d ^ 2 / 4 - variance_at logits b)) by field. apply Rmult_le_pos; lra. }
    unfold g in difference. nra.
Qed.

(** The better of the two floors for the logits over theta. *)
Theorem floor logits delta theta :
  logits <> [] -> 0 < theta -> spread_at_most delta logits ->
  ln (size logits) - Rmin (delta / theta) (delta ^ 2 / (8 * theta ^ 2)) <= entropy (tempered theta logits).
Proof.
  intros visible heated within. pose proof (spread_tempered delta theta logits heated within) as spread.
  pose proof (tempered_visible theta logits visible) as visible'.
  pose proof (floor_linear _ _ visible' spread) as linear.
  pose proof (floor_quadratic _ _ visible' spread) as quadratic. rewrite size_tempered in *.
  replace ((delta / theta) ^ 2 / 8) with (delta ^ 2 / (8 * theta ^ 2)) in quadratic by (field; lra).
  apply Rmin_case; lra.
Qed.

(** ** The sharp floor: moving one logit to an end of the interval *)

(** H as a function of one logit, the others being fixed: A = sum e^y and B = sum y e^y over the others. *)
Definition entropy_of_one (A B x : R) : R := ln (A + exp x) - (B + x * exp x) / (A + exp x).

(** H = ln Z - E[e] with the terms of x taken out of the sums. *)
Lemma entropy_cons x others :
  entropy (x :: others)
  = entropy_of_one (sum (map exp others)) (sum (map (fun y => y * exp y) others)) x.
Proof.
  rewrite entropy_log_partition by easy. unfold mean, expectation, coefficient, entropy_of_one, Rdiv.
  rewrite (sum_map_ext _ (fun y => y * exp y * / partition_function (x :: others))) by (intros; ring).
  rewrite sum_map_mult_r. unfold partition_function, sum. cbn [map fold_right].
  rewrite (Rplus_comm (exp x)), (Rplus_comm (x * exp x)). reflexivity.
Qed.

(** dH/dx = e^x (B - x A) / Z^2 changes its sign once, from + to -. *)
Lemma entropy_of_one_derivative A B x :
  0 <= A -> is_derive (entropy_of_one A B) x (exp x / (A + exp x) ^ 2 * (B - x * A)).
Proof. intros nonneg. pose proof (exp_pos x). unfold entropy_of_one. auto_derive; [repeat split; lra|]. field. lra. Qed.

(** So on an interval H is least at an end. *)
Lemma entropy_of_one_least_at_an_end A B m M x :
  0 <= A -> m <= x <= M ->
  entropy_of_one A B m <= entropy_of_one A B x \/ entropy_of_one A B M <= entropy_of_one A B x.
Proof.
  intros nonneg [low high]. set (slope := fun t => exp t / (A + exp t) ^ 2 * (B - t * A)).
  assert (steep : forall t, 0 < exp t / (A + exp t) ^ 2).
  { intros t. pose proof (exp_pos t). apply Rdiv_lt_0_compat; [easy|]. apply pow_lt. lra. }
  assert (mean_value : forall a b, exists t, Rmin a b <= t <= Rmax a b /\
            entropy_of_one A B b - entropy_of_one A B a = slope t * (b - a)).
  { intros a b. apply MVT_gen.
    - intros. now apply entropy_of_one_derivative.
    - intros t _. apply derivable_continuous_pt. exists (slope t).
      now apply is_derive_Reals, entropy_of_one_derivative. }
  destruct (Rle_dec (x * A) B) as [rising | falling]; [left | right].
  - destruct (mean_value m x) as [t [[_ above] difference]]. rewrite Rmax_right in above by lra. assert (0 <= slope t).
    { apply Rmult_le_pos; [now apply Rlt_le|]. pose proof (Rmult_le_compat_r A t x nonneg above). lra. }
    assert (0 <= slope t * (x - m)) by (apply Rmult_le_pos; lra). lra.
  - destruct (mean_value x M) as [t [[below _] difference]]. rewrite Rmin_left in below by lra. assert (0 <= - slope t).
    { unfold slope. rewrite Ropp_mult_distr_r. apply Rmult_le_pos; [now apply Rlt_le|].
      pose proof (Rmult_le_compat_r A x t nonneg below). lra. }
    assert (0 <= - slope t * (M - x)) by (apply Rmult_le_pos; lra). lra.
Qed.

(** All logits may be moved to m or M, one after the other, without raising H. *)
Lemma entropy_least_at_the_ends m M moved logits :
  (forall x, In x logits -> m <= x <= M) ->
  exists ends, length ends = length logits /\ (forall x, In x ends -> x = m \/ x = M) /\
               entropy (moved ++ ends) <= entropy (moved ++ logits).
Proof.
  revert moved. induction logits as [|x xs IH]; intros moved between.
  - exists []. split; [easy|]. split; [easy|]. lra.
  - assert (less : exists e, (e = m \/ e = M) /\ entropy (moved ++ e :: xs) <= entropy (moved ++ x :: xs)).
    { assert (front : forall y, entropy (moved ++ y :: xs) = entropy (y :: moved ++ xs)).
      { intros y. apply entropy_permutation, Permutation_sym, Permutation_middle. }
      destruct (entropy_of_one_least_at_an_end (sum (map exp (moved ++ xs)))
                  (sum (map (fun y => y * exp y) (moved ++ xs))) m M x) as [low | high].
      - apply sum_map_nonneg. intros. apply Rlt_le, exp_pos.
      - apply between. now left.
      - exists m. split; [now left|]. now rewrite !front, !entropy_cons.
      - exists M. split; [now right|]. now rewrite !front, !entropy_cons. }
    destruct less as [e [ise less]]. destruct (IH (moved ++ [e])) as [ends [long [two below]]].
    { intros y iny. apply between. now right. } exists (e :: ends). split; [simpl; now rewrite long|]. split.
    + intros y [<- | iny]; [easy | now apply two].
    + rewrite <- !app_assoc in below. simpl in below. lra.
Qed.

(** ** Rows of two values *)

(** k items at d, n - k at 0. *)
Definition two_level_row (n k : nat) (d : R) : list R := repeat d k ++ repeat 0 (n - k).

(** ln Z - k e^d d / Z with Z = k e^d + n - k. *)
Definition two_level_entropy (n k : nat) (d : R) : R :=
  let Z := INR k * exp d + (INR n - INR k) in ln Z - INR k * exp d * d / Z.

Lemma in_two_level_row n k d x : In x (two_level_row n k d) -> x = d \/ x = 0.
Proof. unfold two_level_row. rewrite in_app_iff. intros [inx | inx]; apply repeat_spec in inx; auto. Qed.

Lemma length_two_level_row n k d : (k <= n)%nat -> length (two_level_row n k d) = n.
Proof. intros. unfold two_level_row. rewrite app_length, !repeat_length. lia. Qed.

(** H = ln Z - E[e], and the bottom items have the logit 0. *)
Lemma entropy_two_level_row n k d :
  (1 <= n)%nat -> (k <= n)%nat -> entropy (two_level_row n k d) = two_level_entropy n k d.
Proof.
  intros many few. assert (visible : two_level_row n k d <> []).
  { intros none. pose proof (length_two_level_row n k d few) as long. rewrite none in long. simpl in long. lia. }
  rewrite entropy_log_partition by easy. unfold mean, expectation, coefficient, Rdiv.
  rewrite (sum_map_ext _ (fun y => y * exp y * / partition_function (two_level_row n k d))) by (intros; ring).
  rewrite sum_map_mult_r. unfold two_level_entropy.
  assert (total : partition_function (two_level_row n k d) = INR k * exp d + (INR n - INR k)).
  { unfold partition_function, two_level_row.
    rewrite map_app, sum_app, !map_repeat, !sum_repeat, exp_0, minus_INR by easy. ring. }
  rewrite total. unfold two_level_row. rewrite map_app, sum_app, !map_repeat, !sum_repeat. unfold Rdiv. ring.
Qed.

(** The form theory/entropy_bounds.hpp computes, which neither overflows nor cancels. *)
Lemma two_level_entropy_in_small_terms n k d :
  (1 <= k <= n)%nat ->
  let ratio := (INR n - INR k) * exp (- d) / INR k in
  two_level_entropy n k d = ln (INR k) + (ln (1 + ratio) + d * ratio / (1 + ratio)).
Proof.
  intros [some few] ratio. assert (0 < INR k) by now apply lt_0_INR. assert (INR k <= INR n) by now apply le_INR.
  pose proof (exp_pos d). pose proof (exp_pos (- d)). pose proof (exp_opp_mult d) as inverse. assert (0 <= ratio).
  { unfold ratio, Rdiv. apply Rmult_le_pos; [apply Rmult_le_pos; lra|]. now apply Rlt_le, Rinv_0_lt_compat. }
  unfold two_level_entropy. assert (total : INR k * exp d + (INR n - INR k) = INR k * exp d * (1 + ratio)).
  { unfold ratio. transitivity (INR k * exp d + (INR n - INR k) * (exp (- d) * exp d)).
    - rewrite inverse. ring.
    - field. lra. }
  rewrite total. rewrite ln_mult, ln_mult, ln_exp; try lra; [field; split; [|split]; lra|]. now apply Rmult_lt_0_compat.
Qed.

Lemma spread_two_level_row n k d : 0 <= d -> spread_at_most d (two_level_row n k d).
Proof. intros nonneg x y inx iny. apply in_two_level_row in inx, iny. destruct inx, iny; subst; lra. Qed.

(** A list of two values is, up to order, a row of two levels. *)
Lemma two_values_as_row (m M : R) (xs : list R) :
  (forall x, In x xs -> x = m \/ x = M) ->
  exists k, (k <= length xs)%nat /\ Permutation xs (repeat M k ++ repeat m (length xs - k)).
Proof.
  induction xs as [|x xs IH]; intros two.
  - exists 0%nat. split; [easy|]. apply perm_nil.
  - destruct IH as [k [few same]]; [intros; apply two; now right|]. destruct (two x (or_introl eq_refl)) as [-> | ->].
    + exists k. split; [simpl; lia|]. cbn [length]. rewrite Nat.sub_succ_l by easy. cbn [repeat].
      rewrite <- Permutation_middle. now apply perm_skip.
    + exists (S k). split; [simpl; lia|]. simpl. now apply perm_skip.
Qed.

(** ** The least entropy at a given length and spread *)

Definition smallest_of (first : R) (others : list R) : R := fold_right Rmin first others.

(** The smallest over k = 1 ... n-1 of [two_level_entropy]; 0 for n = 1. *)
Definition entropy_floor (n : nat) (d : R) : R :=
  match n with
  | 0%nat | 1%nat => 0
  | S (S _) => smallest_of (two_level_entropy n 1 d) (map (fun k => two_level_entropy n k d) (seq 2 (n - 2)))
  end.

(** The smallest is below the first and below each of the others. *)
Lemma smallest_of_le first others x : x = first \/ In x others -> smallest_of first others <= x.
Proof.
  unfold smallest_of. induction others as [|y ys IH]; simpl; intros isx.
  - destruct isx as [-> | []]. lra.
  - destruct isx as [isx | [-> | isx]].
    + eapply Rle_trans; [apply Rmin_r | now apply IH; left].
    + apply Rmin_l.
    + eapply Rle_trans; [apply Rmin_r | now apply IH; right].
Qed.

(** The smallest is one of them. *)
Lemma smallest_of_in first others : smallest_of first others = first \/ In (smallest_of first others) others.
Proof.
  unfold smallest_of. induction others as [|y ys IH]; simpl; [now left|].
  destruct (Rle_dec y (fold_right Rmin first ys)). { rewrite Rmin_left by easy. right. now left. }
  rewrite Rmin_right by lra. destruct IH as [same | inside]; [now left | right; now right].
Qed.

Lemma entropy_floor_le n k d : (1 <= k < n)%nat -> entropy_floor n d <= two_level_entropy n k d.
Proof.
  intros [some few]. destruct n as [|[|n]]; [lia | lia|]. unfold entropy_floor. apply smallest_of_le.
  destruct (Nat.eq_dec k 1) as [-> | other]; [now left | right].
  apply in_map_iff. exists k. split; [easy|]. apply in_seq. lia.
Qed.

(** A smallest of finitely many is one of them. *)
Lemma entropy_floor_attained n d :
  (2 <= n)%nat -> exists k, (1 <= k < n)%nat /\ entropy_floor n d = two_level_entropy n k d.
Proof.
  intros many. destruct n as [|[|n]]; [lia | lia|]. unfold entropy_floor.
  destruct (smallest_of_in (two_level_entropy (S (S n)) 1 d)
              (map (fun k => two_level_entropy (S (S n)) k d) (seq 2 (S (S n) - 2)))) as [same | inside].
  - exists 1%nat. split; [lia | easy].
  - apply in_map_iff in inside as [k [same ink]]. apply in_seq in ink. exists k. split; [lia | easy].
Qed.

(** Moving every logit to an end leaves a row of two levels; one with a single level has H = ln n, above them all. *)
Lemma entropy_at_least_floor d logits :
  logits <> [] -> spread_at_most d logits -> entropy_floor (length logits) d <= entropy logits.
Proof.
  intros visible within. pose proof (spread_nonneg d logits visible within) as nonneg.
  destruct (spread_interval d logits visible within) as [m [_ between]].
  destruct (entropy_least_at_the_ends m (m + d) [] logits between) as [ends [long [two below]]]. simpl in below.
  destruct (two_values_as_row m (m + d) ends two) as [k [few same]]. set (n := length logits) in *.
  rewrite long in few, same. assert (shifted : entropy ends = two_level_entropy n k d).
  { rewrite (entropy_permutation _ _ same), <- entropy_two_level_row; [| |easy].
    - rewrite <- (entropy_shift m (two_level_row n k d)). unfold two_level_row. rewrite map_app, !map_repeat.
      cbv beta. now rewrite Rplus_0_l, (Rplus_comm d).
    - destruct logits; [easy | simpl in n; lia]. }
  apply Rle_trans with (2 := below). rewrite shifted. destruct (le_lt_dec n 1) as [single | several].
  - replace (entropy_floor n d) with 0.
    + rewrite <- entropy_two_level_row; [apply nonnegative | | easy]. destruct logits; [easy | simpl in n; lia].
    + destruct n as [|[|n']]; [easy | easy | lia].
  - assert (level : forall k, (k <= n)%nat -> two_level_entropy n k d <= ln (INR n)).
    { intros j less. rewrite <- entropy_two_level_row by lia.
      replace (INR n) with (size (two_level_row n j d)) by (unfold size; now rewrite length_two_level_row).
      apply ceiling. intros none. pose proof (length_two_level_row n j d less) as total. rewrite none in total.
      simpl in total. lia. }
    assert (0 < INR n) by (apply lt_0_INR; lia). pose proof (exp_pos d).
    destruct (Nat.eq_dec k 0) as [-> | some]; [|destruct (Nat.eq_dec k n) as [-> | notall]].
    + apply Rle_trans with (two_level_entropy n 1 d); [apply entropy_floor_le; lia|].
      apply Rle_trans with (1 := level 1%nat ltac:(lia)). apply Req_le. unfold two_level_entropy. change (INR 0) with 0.
      replace (0 * exp d + (INR n - 0)) with (INR n) by ring. field. lra.
    + apply Rle_trans with (two_level_entropy n 1 d); [apply entropy_floor_le; lia|].
      apply Rle_trans with (1 := level 1%nat ltac:(lia)). apply Req_le. unfold two_level_entropy.
      replace (INR n * exp d + (INR n - INR n)) with (INR n * exp d) by ring. rewrite ln_mult, ln_exp by lra. field.
      lra.
    + apply entropy_floor_le. lia.
Qed.

(** No row is below the floor, and the row of the best k reaches it. *)
Theorem sharp_floor n delta theta :
  0 <= delta -> 0 < theta -> (1 <= n)%nat ->
  (forall logits, length logits = n -> spread_at_most delta logits ->
     entropy_floor n (delta / theta) <= entropy (tempered theta logits)) /\
  (exists logits, length logits = n /\ spread_at_most delta logits /\
     entropy (tempered theta logits) = entropy_floor n (delta / theta)).
Proof.
  intros nonneg heated many. split.
  - intros logits <- within. replace (length logits) with (length (tempered theta logits)) by apply map_length.
    apply entropy_at_least_floor; [|now apply spread_tempered]. intros none. apply map_eq_nil in none. now subst.
  - destruct (le_lt_dec n 1) as [single | several].
    + exists [0]. replace n with 1%nat by lia. split; [easy|]. split.
      * intros x y [<- | []] [<- | []]. lra.
      * unfold tempered, entropy, softmax, coefficient, partition_function, sum. simpl.
        pose proof (exp_pos (0 / theta)). set (w := exp (0 / theta)) in *. replace (w / (w + 0)) with 1 by (field; lra).
        rewrite ln_1. ring.
    + destruct (entropy_floor_attained n (delta / theta) several) as [k [[some few] ->]].
      exists (two_level_row n k delta). split; [apply length_two_level_row; lia|].
      split; [now apply spread_two_level_row|]. rewrite <- entropy_two_level_row by lia. f_equal.
      unfold tempered, two_level_row. rewrite map_app, !map_repeat. unfold Rdiv. now rewrite Rmult_0_l.
Qed.
