(** * Trees of additions some of which err by less than a roundoff, as those of compensated sums do.

    Main result
    - [height_below_size]   a tree is no higher than its items less one

    [summed_at M l r s g j K], [streamed_at M l r s y g j K]: trees as in reduction.v and moments.v, whose height g is a real
    number: an addition that errs by the part k of a roundoff counts k. The height of reduction.v counts each as 1.

    Source: docs/tolerances.md, B1; kernels/block/compensated_sum.hpp for additions that err by less. *)

From softcheck.numerics Require Import row.
Local Open Scope R_scope.

(** An addition that errs by the part k of a roundoff: a compensated one does. *)
Definition sum_within (M : arithmetic) (k z s : R) : Prop :=
  exists t e, Rabs t <= k * unit M /\ Rabs e <= sum_floor M /\ s = z * exp t + e.

(** [summed], with the height g of a path in roundoffs. *)
Inductive summed_at (M : arithmetic) : list R -> R -> R -> R -> nat -> nat -> Prop :=
| summed_at_item x r b s :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> summed_at M [x] r s 0 0 0
| summed_at_addition l1 l2 r s1 s2 s k g1 g2 j1 j2 K1 K2 :
    summed_at M l1 r s1 g1 j1 K1 -> summed_at M l2 r s2 g2 j2 K2 -> 0 <= k <= 1 -> sum_within M k (s1 + s2) s ->
    summed_at M (l1 ++ l2) r s (k + Rmax g1 g2) (max j1 j2) (K1 + K2)
| summed_at_rescaled l r r' s b f s' g j K :
    summed_at M l r s g j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' -> summed_at M l r' s' g (S j) (S K)
| summed_at_reordered l l' r s g j K :
    summed_at M l r s g j K -> Permutation l l' -> summed_at M l' r s g j K.

(** [streamed], likewise: both sums err by the same part. *)
Inductive streamed_at (M : arithmetic) : list R -> R -> R -> R -> R -> nat -> nat -> Prop :=
| streamed_at_item x r b s y :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> computed_product M (s * b) y ->
    streamed_at M [x] r s y 0 0 0
| streamed_at_addition l1 l2 r s1 s2 s y1 y2 y k g1 g2 j1 j2 K1 K2 :
    streamed_at M l1 r s1 y1 g1 j1 K1 -> streamed_at M l2 r s2 y2 g2 j2 K2 -> 0 <= k <= 1 ->
    sum_within M k (s1 + s2) s -> sum_within M k (y1 + y2) y ->
    streamed_at M (l1 ++ l2) r s y (k + Rmax g1 g2) (max j1 j2) (K1 + K2)
| streamed_at_rescaled l r r' s y b f p q s' y' g j K :
    streamed_at M l r s y g j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' ->
    computed_product M (b * s) p -> computed_sum M (y + p) q -> computed_product M (q * f) y' ->
    streamed_at M l r' s' y' g (S j) (S K)
| streamed_at_reordered l l' r s y g j K :
    streamed_at M l r s y g j K -> Permutation l l' -> streamed_at M l' r s y g j K.

Lemma sum_of_streamed M l r s y g j K : streamed_at M l r s y g j K -> summed_at M l r s g j K.
Proof.
  induction 1; [eapply summed_at_item|eapply summed_at_addition|eapply summed_at_rescaled|eapply summed_at_reordered]; eassumption.
Qed.

Lemma whole_sum M z s : computed_sum M z s -> sum_within M 1 z s.
Proof. intros [t [e [bt rest]]]. exists t, e. now rewrite Rmult_1_l. Qed.

Lemma height_of_both h1 h2 : INR (S (max h1 h2)) = 1 + Rmax (INR h1) (INR h2).
Proof.
  rewrite S_INR, Rplus_comm. f_equal. destruct (Nat.max_spec h1 h2) as [[lt ->]|[le ->]]; apply Nat.lt_le_incl in lt || idtac;
    [rewrite Rmax_right|rewrite Rmax_left]; try easy; now apply le_INR.
Qed.

(** A tree adds at most once for each item but one. *)
Theorem height_below_size M l r s g j K : summed_at M l r s g j K -> 0 <= g <= size l - 1 /\ l <> [].
Proof.
  induction 1 as [x r b s le arg ex|l1 l2 r s1 s2 s k g1 g2 j1 j2 K1 K2 _ [IH1 n1] _ [IH2 n2] part add
                 |l r r' s b f s' g j K _ IH le arg ex prod|l l' r s g j K _ [IH n] same].
  - split; [|easy]. change (size [x]) with 1. lra.
  - pose proof (size_at_least_one l1 n1). pose proof (size_at_least_one l2 n2).
    replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR).
    split; [|now destruct l1]. destruct (Rmax_Rle g1 g2 (Rmax g1 g2)) as [[below|below] _]; try lra; unfold Rmax in *; destruct (Rle_dec g1 g2); lra.
  - exact IH.
  - split; [|intros ->; now apply Permutation_sym, Permutation_nil in same].
    unfold size in *. now rewrite <- (Permutation_length same).
Qed.

Lemma no_rescaling_at M l r s g j K : summed_at M l r s g j K -> j = 0%nat -> K = 0%nat.
Proof. induction 1; intros none; try easy; [|auto]. lia. Qed.

(** ** What a sum of exponentials lies between: one item.

    Source: reduction.v, which adds and rescales such sums. *)

Section Reduction.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation c0 := (argument_step M).
  Notation t := (slope M).
  Notation wx := (exp_floor M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  Definition fade : R := 1 - t.
  Definition sum_log (h : R) (j : nat) : R := h * lambda + lambdaE + INR j * (lambdaE + lambda) + (INR j + 1) * c0.
  (** What a kernel without underflowing factors loses: exponentials, additions, K products. *)
  Definition base (n : R) (K : nat) : R := n * wx + (n - 1) * wa + INR K * wm.
  Definition share : R := 4 / 3 * wx.

  Record sum_state (l : list R) (r s h : R) (j K : nat) (b : list atom) : Prop := {
    state_visible : l <> [];
    state_above : above_all r l;
    state_placed : placed r b;
    state_upper : s <= exp (sum_log h j) * pull fade r (items l ++ b);
    state_lower : exp (- sum_log h j) * weighted_sum r l (fun d => exp (- (t * d)))
                  - exp (sum_log h j) * pull fade r b <= s;
    state_lost : mass b + share * pull (fade / 2) r (items l ++ b) <= (1 + share) * base (size l) K + share * size l;
    state_direct : j = 0%nat -> mass b <= base (size l) K /\ forall a, In a b -> fst a = r
  }.

  Lemma t_range : 0 <= t <= / 4.
  Proof. split; [now apply slope_nonneg | apply good]. Qed.
  Lemma lambda_nonneg : 0 <= lambda.
  Proof. now apply unit_nonneg. Qed.
  Lemma lambdaE_nonneg : 0 <= lambdaE.
  Proof. now apply exp_unit_nonneg. Qed.
  Lemma floors : 0 <= wx <= / 16 /\ 0 <= wa <= / 16 /\ wa <= wm /\ wm <= / 16 /\ 0 <= c0 <= / 2.
  Proof. unfold sound in good. lra. Qed.

  Local Ltac facts :=
    pose proof t_range; pose proof lambda_nonneg; pose proof lambdaE_nonneg; pose proof floors.

  Lemma fade_range : 3 / 4 <= fade <= 1.
  Proof. facts. unfold fade. lra. Qed.

  Lemma sum_log_nonneg h j : 0 <= h -> 0 <= sum_log h j.
  Proof.
    facts. intros pos. unfold sum_log. pose proof (pos_INR j). assert (0 <= h * lambda) by now apply Rmult_le_pos.
    assert (0 <= INR j * (lambdaE + lambda)) by (apply Rmult_le_pos; lra).
    assert (0 <= (INR j + 1) * c0) by (apply Rmult_le_pos; lra). lra.
  Qed.

  Lemma sum_log_growing h h' j j' : h <= h' -> (j <= j')%nat -> sum_log h j <= sum_log h' j'.
  Proof.
    facts. intros hh hR. apply le_INR in hR. unfold sum_log.
    assert (h * lambda <= h' * lambda) by now apply Rmult_le_compat_r.
    assert (INR j * (lambdaE + lambda) <= INR j' * (lambdaE + lambda)) by (apply Rmult_le_compat_r; lra).
    assert ((INR j + 1) * c0 <= (INR j' + 1) * c0) by (apply Rmult_le_compat_r; lra). lra.
  Qed.

  Lemma sum_log_addition k h j : sum_log (k + h) j = sum_log h j + k * lambda.
  Proof. unfold sum_log. ring. Qed.

  Lemma sum_log_rescaled h j : sum_log h (S j) = sum_log h j + (lambdaE + lambda + c0).
  Proof. unfold sum_log. rewrite S_INR. ring. Qed.

  Lemma tilted_down r l : weighted_sum r l (fun d => exp (- (t * d))) = pull (1 + t) r (items l).
  Proof.
    facts. replace (1 + t) with (1 - - t) by ring. rewrite pull_items. apply weighted_sum_ext. intros. f_equal. ring.
  Qed.

  Lemma all_placed r l b : above_all r l -> placed r b -> placed r (items l ++ b).
  Proof. intros. apply placed_app; [now apply placed_items | easy]. Qed.

  (** ** One item *)

  Lemma item_state x r b s :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> sum_state [x] r s 0 0 0 [(r, wx)].
  Proof.
    facts. intros le arg [tx [e [btx [be [_ [_ ->]]]]]].
    destruct (weight_bounds M (r - x) b tx ltac:(lra) arg btx) as [w [bw ->]].
    assert (log0 : sum_log 0 0 = lambdaE + c0) by (unfold sum_log; simpl; ring). pose proof (pull_items t r [x]) as up.
    rewrite weighted_sum_single in up. fold fade in up. apply abs_between in bw. apply abs_between in be.
    pose proof (exp_at_least_one (lambdaE + c0) ltac:(lra)). constructor.
    - discriminate.
    - intros y [<-|[]]. lra.
    - apply placed_single. lra.
    - rewrite log0, pull_app, up, pull_single, Rmult_plus_distr_l.
      replace (exp (x - r)) with (exp (- (r - x))) by (f_equal; ring). apply Rplus_le_compat; [|nra].
      rewrite <- !exp_plus. apply exp_le. lra.
    - rewrite log0, weighted_sum_single, pull_single. replace (exp (x - r)) with (exp (- (r - x))) by (f_equal; ring).
      assert (exp (- (lambdaE + c0)) * (exp (- (r - x)) * exp (- (t * (r - x)))) <= exp (- (r - x)) * exp w).
      { rewrite <- !exp_plus. apply exp_le. lra. } nra.
    - rewrite mass_single, pull_app, pull_single. unfold base, share. change (size [x]) with 1. change (INR 0) with 0.
      assert (pull (fade / 2) r (items [x]) <= 1).
      { replace 1 with (mass (items [x])) by (rewrite mass_items; easy).
        apply pull_below_mass; [pose proof fade_range; lra|]. apply placed_items. intros y [<-|[]]. lra. }
      nra.
    - intros _. rewrite mass_single. unfold base. change (size [x]) with 1. change (INR 0) with 0. split; [lra|].
      intros a [<-|[]]. easy.
  Qed.

  Lemma widened_upper E E' U x : x <= E * U -> E <= E' -> 0 <= U -> x <= E' * U.
  Proof. intros up le pos. eapply Rle_trans; [apply up|]. now apply Rmult_le_compat_r. Qed.

  Lemma widened_lower e e' E E' W B x :
    e * W - E * B <= x -> e' <= e -> E <= E' -> 0 <= W -> 0 <= B -> e' * W - E' * B <= x.
  Proof.
    intros low le le' posW posB. eapply Rle_trans; [|apply low].
    apply Rplus_le_compat; [now apply Rmult_le_compat_r|]. apply Ropp_le_contravar. now apply Rmult_le_compat_r.
  Qed.

  (** More roundoffs than there are. *)
  Lemma higher_state l r s h h' j K b : h <= h' -> sum_state l r s h j K b -> sum_state l r s h' j K b.
  Proof.
    intros le [v ab p u d m z]. pose proof fade_range. pose proof (pull_nonneg fade r _ (all_placed r l b ab p)).
    pose proof (pull_nonneg fade r _ p). pose proof (pull_nonneg (1 + t) r _ (placed_items r l ab)) as w.
    rewrite <- tilted_down in w. pose proof (sum_log_growing h h' j j le (le_n j)) as more. constructor; try easy.
    - apply widened_upper with (exp (sum_log h j)); [exact u|now apply exp_le|easy].
    - apply widened_lower with (exp (- sum_log h j)) (exp (sum_log h j)); try easy; apply exp_le; lra.
  Qed.

End Reduction.
