(** * Sums of exponentials, added by any tree with any rescalings.

    [summed M l r s h j K]: s may be what a kernel of the arithmetic M computes for sum over l of e^(x - r): some tree of
    additions with at most h of them on any path, at most R rescalings to a larger reference on any path, K in all.
    Two-pass, online, blocked, split-KV and merged kernels are such trees; references may be stale or never attained.

    Main results
    - [height_of_tree] a tree whose every addition may round is one of that height in roundoffs (tree_heights.v)
    - [summed_state]   with a = h lambda + lambda_E + R (lambda_E + lambda) + (R + 1) c and c the argument's absolute
                       error, s lies between e^-a sum w e^(-tD) and e^a sum w e^(tD), but for atoms lost to underflow;
                       the arguments telescope: R rescalings cost no argument error beyond t D
    - [lost_total]     the lost atoms weigh at most n (omega_x + omega_a [+ 2 omega_x + 2 omega_m]), for every R, as long
                       as K <= 2 n: a factor that underflows has faded what came before, and the next finds less

    Source: docs/tolerances.md, B1; lost in RoundingModel::set_row, numerics/rounding/rounding_model.cpp. *)

From softcheck.numerics Require Import row tree_heights.
From softcheck.numerics Require Export tree_heights. (* of which every bound of a sum speaks *)
Local Open Scope R_scope.

Inductive summed (M : arithmetic) : list R -> R -> R -> nat -> nat -> nat -> Prop :=
| summed_item x r b s :
    x <= r -> computed_argument M (r - x) b -> computed_exp M b s -> summed M [x] r s 0 0 0
| summed_addition l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 :
    summed M l1 r s1 h1 j1 K1 -> summed M l2 r s2 h2 j2 K2 -> computed_sum M (s1 + s2) s ->
    summed M (l1 ++ l2) r s (S (max h1 h2)) (max j1 j2) (K1 + K2)
| summed_rescaled l r r' s b f s' h j K :
    summed M l r s h j K -> r <= r' -> computed_argument M (r' - r) b -> computed_exp M b f ->
    computed_product M (s * f) s' -> summed M l r' s' h (S j) (S K)
| summed_reordered l l' r s h j K :
    summed M l r s h j K -> Permutation l l' -> summed M l' r s h j K.

Theorem height_of_tree M l r s h j K : summed M l r s h j K -> summed_at M l r s (INR h) j K.
Proof.
  induction 1 as [x r b s le arg ex|l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 _ IH1 _ IH2 add
                 |l r r' s b f s' h j K _ IH le arg ex prod|l l' r s h j K _ IH same].
  - now apply summed_at_item with b.
  - rewrite height_of_both. apply summed_at_addition with s1 s2; try easy; [lra|now apply whole_sum].
  - now apply summed_at_rescaled with r s b f.
  - now apply summed_at_reordered with l.
Qed.

Section Reduction.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation lambdaE := (exp_unit M).
  Notation c0 := (argument_step M).
  Notation t := (slope M).
  Notation wx := (exp_floor M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Local Notation fade := (tree_heights.fade M).
  Local Notation sum_log := (tree_heights.sum_log M).
  Local Notation base := (tree_heights.base M).
  Local Notation share := (tree_heights.share M).
  Local Notation sum_state := (tree_heights.sum_state M).
  Local Notation fade_range := (tree_heights.fade_range M good).
  Local Notation sum_log_nonneg := (tree_heights.sum_log_nonneg M good).
  Local Notation sum_log_growing := (tree_heights.sum_log_growing M good).
  Local Notation sum_log_addition := (tree_heights.sum_log_addition M).
  Local Notation sum_log_rescaled := (tree_heights.sum_log_rescaled M).
  Local Notation tilted_down := (tree_heights.tilted_down M good).
  Local Notation item_state := (tree_heights.item_state M good).
  Local Ltac facts :=
    pose proof (t_range M good); pose proof (lambda_nonneg M good); pose proof (lambdaE_nonneg M good);
    pose proof (floors M good).

  (** ** One addition: the logs' maximum and k lambda; lost omega_a *)

  Lemma addition_state k l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 b1 b2 :
    0 <= k -> 0 <= h1 -> sum_state l1 r s1 h1 j1 K1 b1 -> sum_state l2 r s2 h2 j2 K2 b2 -> sum_within M k (s1 + s2) s ->
    sum_state (l1 ++ l2) r s (k + Rmax h1 h2) (max j1 j2) (K1 + K2) (b1 ++ b2 ++ [(r, wa)]).
  Proof.
    facts. intros some high. assert (part : 0 <= k * lambda) by monotone. revert high.
    intros high [v1 a1 p1 u1 d1 m1 z1] [v2 a2 p2 u2 d2 m2 z2] [tt [e [bt [be ->]]]]. apply abs_between in bt.
    apply abs_between in be. set (h := Rmax h1 h2). set (j := max j1 j2). set (a := sum_log h j).
    assert (g1 : sum_log h1 j1 <= a) by (apply sum_log_growing; [apply Rmax_l|lia]).
    assert (g2 : sum_log h2 j2 <= a) by (apply sum_log_growing; [apply Rmax_r|lia]). pose proof fade_range.
    pose proof (pull_nonneg fade r _ (all_placed r l1 b1 a1 p1)).
    pose proof (pull_nonneg fade r _ (all_placed r l2 b2 a2 p2)). pose proof (pull_nonneg fade r _ p1).
    pose proof (pull_nonneg fade r _ p2). pose proof (pull_nonneg (1 + t) r _ (placed_items r l1 a1)) as w1.
    rewrite <- tilted_down in w1. pose proof (pull_nonneg (1 + t) r _ (placed_items r l2 a2)) as w2.
    rewrite <- tilted_down in w2. pose proof (exp_le _ _ g1). pose proof (exp_le _ _ g2).
    pose proof (exp_le (- a) (- sum_log h1 j1) ltac:(lra)). pose proof (exp_le (- a) (- sum_log h2 j2) ltac:(lra)).
    assert (s1 <= exp a * pull fade r (items l1 ++ b1)) by now apply widened_upper with (exp (sum_log h1 j1)).
    assert (s2 <= exp a * pull fade r (items l2 ++ b2)) by now apply widened_upper with (exp (sum_log h2 j2)).
    assert (exp (- a) * weighted_sum r l1 (fun d => exp (- (t * d))) - exp a * pull fade r b1 <= s1)
      by now apply widened_lower with (exp (- sum_log h1 j1)) (exp (sum_log h1 j1)).
    assert (exp (- a) * weighted_sum r l2 (fun d => exp (- (t * d))) - exp a * pull fade r b2 <= s2)
      by now apply widened_lower with (exp (- sum_log h2 j2)) (exp (sum_log h2 j2)).
    assert (up : exp tt <= exp (k * lambda)) by monotone. assert (down : exp (- (k * lambda)) <= exp tt) by monotone.
    pose proof (exp_pos tt). pose proof (exp_pos (- (k * lambda))). pose proof (exp_pos a). pose proof (exp_pos (- a)).
    pose proof (sum_log_nonneg h j ltac:(apply Rle_trans with h1; [easy|apply Rmax_l])) as ha. fold a in ha.
    pose proof (exp_at_least_one (a + k * lambda) ltac:(lra)). pose proof (exp_at_least_one (k * lambda) ltac:(lra)).
    constructor.
    - destruct l1; [easy|discriminate].
    - now apply app_above_all.
    - repeat apply placed_app; try easy. apply placed_single. lra.
    - rewrite sum_log_addition. fold a. rewrite items_app, !pull_app, pull_single, exp_plus in *.
      set (U1 := pull fade r (items l1)) in *. set (U2 := pull fade r (items l2)) in *. set (B1 := pull fade r b1) in *.
      set (B2 := pull fade r b2) in *.
      assert ((s1 + s2) * exp tt <= (exp a * (U1 + B1 + (U2 + B2))) * exp (k * lambda)).
      { apply Rle_trans with ((exp a * (U1 + B1 + (U2 + B2))) * exp tt); [monotone|]. monotone. }
      assert (wa <= exp a * exp (k * lambda) * wa) by (rewrite <- (Rmult_1_l wa) at 1; apply Rmult_le_compat_r; lra).
      lra.
    - rewrite sum_log_addition. fold a.
      rewrite weighted_sum_app, !pull_app, pull_single, Ropp_plus_distr, !exp_plus in *.
      set (W1 := weighted_sum r l1 _) in *. set (W2 := weighted_sum r l2 _) in *. set (B1 := pull fade r b1) in *.
      set (B2 := pull fade r b2) in *.
      assert ((exp (- a) * (W1 + W2)) * exp (- (k * lambda)) - exp a * (B1 + B2) * exp (k * lambda)
        <= (s1 + s2) * exp tt).
      { apply Rle_trans with ((exp (- a) * (W1 + W2) - exp a * (B1 + B2)) * exp tt); [|monotone].
        rewrite Rmult_minus_distr_r. apply Rplus_le_compat.
        - monotone.
        - apply Ropp_le_contravar, Rmult_le_compat_l; [monotone| easy]. }
      assert (wa <= exp a * exp (k * lambda) * wa) by (rewrite <- (Rmult_1_l wa) at 1; apply Rmult_le_compat_r; lra).
      lra.
    - rewrite items_app, !mass_app, !pull_app, mass_single, pull_single in *. unfold tree_heights.base in *.
      rewrite plus_INR.
      replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR). lra.
    - intros zero. unfold j in zero. rewrite !mass_app, mass_single. destruct (z1 ltac:(lia)) as [z1' f1].
      destruct (z2 ltac:(lia)) as [z2' f2]. split.
      + unfold tree_heights.base in *. rewrite plus_INR.
        replace (size (l1 ++ l2)) with (size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR). lra.
      + intros x inx. apply in_app_or in inx as [inx|inx]; [auto|]. apply in_app_or in inx as [inx|[<-|[]]]; auto.
  Qed.

  (** ** One rescaling *)

  (** What a factor's underflow takes is an atom of its own, |e| times all there is. *)
  Definition rescaling_losses (r r' : R) (l : list R) (b : list atom) (e : R) : list atom :=
    [(r', wm); (r', Rabs e * pull fade r (items l ++ b))].

  Lemma pull_losses k r r' l b e : pull k r' (rescaling_losses r r' l b e) = wm + Rabs e * pull fade r (items l ++ b).
  Proof.
    unfold rescaling_losses. set (loss := Rabs e * _). change [(r', wm); (r', loss)] with ([(r', wm)] ++ [(r', loss)]).
    now rewrite pull_app, !pull_single.
  Qed.

  Lemma mass_losses r r' l b e : mass (rescaling_losses r r' l b e) = wm + Rabs e * pull fade r (items l ++ b).
  Proof. unfold mass, rescaling_losses, sum. simpl. ring. Qed.

  Lemma state_magnitude l r s h j K b :
    sum_state l r s h j K b -> Rabs s <= exp (sum_log h j) * pull fade r (items l ++ b).
  Proof.
    facts. intros [v ab p u d m z]. apply Rabs_le. split; [|easy]. pose proof (pull_nonneg fade r _ p).
    pose proof (pull_nonneg fade r _ (placed_items r l ab)).
    pose proof (pull_nonneg (1 + t) r _ (placed_items r l ab)) as w. rewrite <- tilted_down in w. rewrite pull_app.
    pose proof (exp_pos (sum_log h j)). pose proof (exp_pos (- sum_log h j)). nra.
  Qed.

  (** Fading by at least 8 whenever a factor underflows, and by 1 always. *)
  Lemma lost_fading e b d :
    0 <= d -> computed_argument M d b -> Rabs e <= wx -> (e <> 0 -> 8 <= b) ->
    Rabs e + share * exp (- (fade / 2 * d)) + share * Rabs e <= share /\
    exp (- (fade / 2 * d)) <= 1 /\ (e = 0 \/ exp (- (fade / 2 * d)) <= / 8).
  Proof.
    facts. intros hd arg be far. pose proof fade_range. assert (exp (- (fade / 2 * d)) <= 1).
    { apply exp_at_most_one. assert (0 <= fade / 2 * d) by monotone. lra. } pose proof (exp_pos (- (fade / 2 * d))).
    pose proof (Rabs_pos e). destruct (Req_dec e 0) as [->|nonzero].
    - rewrite Rabs_R0. unfold tree_heights.share. split; [nra|]. auto.
    - pose proof (far_deviation M good d b hd arg (far nonzero)) as small. fold fade in small.
      unfold tree_heights.share. split; [nra|]. auto.
  Qed.

  Lemma rescaled_state_with l r r' s b0 f s' h j K b tx e :
    0 <= h -> sum_state l r s h j K b -> r <= r' -> computed_argument M (r' - r) b0 ->
    Rabs tx <= lambdaE -> Rabs e <= wx -> (e <> 0 -> 8 <= b0) -> f = exp (- b0 + tx) + e ->
    computed_product M (s * f) s' -> sum_state l r' s' h (S j) (S K) (b ++ rescaling_losses r r' l b e).
  Proof.
    facts. intros upward state le arg btx be far -> [tp [ep [btp [bep ->]]]].
    pose proof (state_magnitude _ _ _ _ _ _ _ state) as mag. destruct state as [v ab p u d m z].
    pose proof (all_placed r l b ab p) as pall. pose proof (pull_nonneg fade r _ pall) as Wpos.
    pose proof (Rabs_pos e) as epos. set (a := sum_log h j) in *. set (W := pull fade r (items l ++ b)) in *.
    constructor.
    - easy.
    - intros x inx. pose proof (ab x inx). lra.
    - apply placed_app; [now apply placed_moved with r|]. intros q [<-|[<-|[]]]; simpl; split; try lra. monotone.
    - destruct (weight_bounds M (r' - r) b0 tx ltac:(lra) arg btx) as [w [bw ->]]. rewrite sum_log_rescaled. fold a.
      apply abs_between in bw. apply abs_between in btp. apply abs_between in bep.
      rewrite app_assoc, pull_app, pull_losses, (pull_moved fade r r'). fold W.
      set (A := exp (a + (lambdaE + lambda + c0))). assert (a_nonneg : 0 <= a) by now apply sum_log_nonneg.
      assert (A1 : 1 <= A) by (apply exp_at_least_one; lra).
      assert (main : s * (exp (- (r' - r)) * exp w) * exp tp <= A * (exp (- (fade * (r' - r))) * W)).
      { apply Rle_trans with (exp a * W * (exp (- (r' - r)) * exp w) * exp tp).
        - pose proof (exp_pos (- (r' - r))). pose proof (exp_pos w). pose proof (exp_pos tp). monotone.
        - unfold A.
          replace (exp a * W * (exp (- (r' - r)) * exp w) * exp tp)
          with (exp a * exp (- (r' - r)) * exp w * exp tp * W) by ring.
          rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [easy|]. rewrite <- !exp_plus. apply exp_le.
          unfold tree_heights.fade. lra. }
      assert (under : s * e * exp tp <= A * (Rabs e * W)).
      { apply Rle_trans with (Rabs s * Rabs e * exp tp).
        - apply Rmult_le_compat_r; [monotone|]. rewrite <- Rabs_mult. apply Rle_abs.
        - apply Rle_trans with (exp a * W * Rabs e * exp tp).
          + monotone.
          + replace (exp a * W * Rabs e * exp tp) with (exp a * exp tp * (Rabs e * W)) by ring.
            apply Rmult_le_compat_r; [monotone|]. unfold A. rewrite <- exp_plus. monotone. }
      assert (wm <= A * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      replace (s * (exp (- (r' - r)) * exp w + e) * exp tp + ep)
        with (s * (exp (- (r' - r)) * exp w) * exp tp + s * e * exp tp + ep) by ring.
      lra.
    - destruct (weight_bounds M (r' - r) b0 tx ltac:(lra) arg btx) as [w [bw ->]]. rewrite sum_log_rescaled. fold a.
      apply abs_between in bw. apply abs_between in btp. apply abs_between in bep. rewrite pull_app, pull_losses.
      fold W. rewrite tilted_down in *. rewrite (pull_moved fade r r' b), (pull_moved (1 + t) r r' (items l)).
      set (Q := pull fade r b) in *. set (P := pull (1 + t) r (items l)) in *.
      assert (Qpos : 0 <= Q) by now apply pull_nonneg.
      assert (Ppos : 0 <= P) by (apply pull_nonneg; now apply placed_items).
      set (A := exp (a + (lambdaE + lambda + c0))). assert (a_nonneg : 0 <= a) by now apply sum_log_nonneg.
      assert (A1 : 1 <= A) by (apply exp_at_least_one; lra). set (X := exp (- (r' - r)) * exp w * exp tp).
      assert (Xpos : 0 < X) by (repeat apply Rmult_lt_0_compat; apply exp_pos).
      assert (main : (exp (- a) * P - exp a * Q) * X <= s * X) by monotone.
      assert (low : exp (- (a + (lambdaE + lambda + c0))) * (exp (- ((1 + t) * (r' - r))) * P) <= exp (- a) * P * X).
      { unfold X.
        replace (exp (- a) * P * (exp (- (r' - r)) * exp w * exp tp))
        with (exp (- a) * exp (- (r' - r)) * exp w * exp tp * P) by ring.
        rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [easy|]. rewrite <- !exp_plus. monotone. }
      assert (high : exp a * Q * X <= A * (exp (- (fade * (r' - r))) * Q)).
      { unfold X, A.
        replace (exp a * Q * (exp (- (r' - r)) * exp w * exp tp))
        with (exp a * exp (- (r' - r)) * exp w * exp tp * Q) by ring.
        rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [easy|]. rewrite <- !exp_plus. apply exp_le.
        unfold tree_heights.fade. lra. }
      assert (under : - (s * e * exp tp) <= A * (Rabs e * W)).
      { apply Rle_trans with (Rabs s * Rabs e * exp tp).
        - replace (- (s * e * exp tp)) with (- (s * e) * exp tp) by ring. apply Rmult_le_compat_r; [monotone|].
          rewrite <- Rabs_mult, <- Rabs_Ropp. apply Rle_abs.
        - apply Rle_trans with (exp a * W * Rabs e * exp tp).
          + monotone.
          + replace (exp a * W * Rabs e * exp tp) with (exp a * exp tp * (Rabs e * W)) by ring.
            apply Rmult_le_compat_r; [monotone|]. unfold A. rewrite <- exp_plus. monotone. }
      assert (wm <= A * wm) by (rewrite <- (Rmult_1_l wm) at 1; apply Rmult_le_compat_r; lra).
      replace (s * (exp (- (r' - r)) * exp w + e) * exp tp + ep) with (s * X + s * e * exp tp + ep) by (unfold X; ring).
      lra.
    - destruct (lost_fading e b0 (r' - r) ltac:(lra) arg be far) as [fades [q1 _]].
      rewrite app_assoc, mass_app, pull_app, mass_losses, pull_losses, (pull_moved (fade / 2) r r'). fold W.
      assert (WP : W <= pull (fade / 2) r (items l ++ b)) by (apply pull_slower; [pose proof fade_range; lra | easy]).
      set (P := pull (fade / 2) r (items l ++ b)) in *. set (q := exp (- (fade / 2 * (r' - r)))) in *.
      assert (0 <= share) by (unfold tree_heights.share; lra). assert (Rabs e * W <= Rabs e * P) by monotone.
      assert (share * (Rabs e * W) <= share * (Rabs e * P)) by monotone.
      assert ((Rabs e + share * q + share * Rabs e) * P <= share * P) by monotone. unfold tree_heights.base in *.
      rewrite S_INR. lra.
    - discriminate.
  Qed.

  Lemma rescaled_state l r r' s b0 f s' h j K b :
    0 <= h -> sum_state l r s h j K b -> r <= r' -> computed_argument M (r' - r) b0 -> computed_exp M b0 f ->
    computed_product M (s * f) s' -> exists b', sum_state l r' s' h (S j) (S K) b'.
  Proof.
    intros high state le arg [tx [e [btx [be [_ [far hf]]]]]] prod. eexists.
    now apply (rescaled_state_with l r r' s b0 f s' h j K b tx e).
  Qed.

  Lemma reordered_state l l' r s h j K b : sum_state l r s h j K b -> Permutation l l' -> sum_state l' r s h j K b.
  Proof.
    intros [v ab p u d m z] same.
    assert (sz : size l' = size l) by (unfold size; now rewrite (Permutation_length same)).
    assert (perm : forall k, pull k r (items l' ++ b) = pull k r (items l ++ b)).
    { intros k. rewrite !pull_app. f_equal. symmetry. now apply pull_permutation. } constructor; try easy.
    - intros ->. now apply Permutation_sym, Permutation_nil in same.
    - intros x inx. apply ab. now apply Permutation_in with l'; [apply Permutation_sym|].
    - now rewrite perm.
    - now rewrite <- (weighted_sum_permutation r l l').
    - now rewrite perm, sz.
    - now rewrite sz.
  Qed.

  Theorem summed_state l r s h j K : summed_at M l r s h j K -> exists b, sum_state l r s h j K b.
  Proof.
    facts.
    induction 1 as [x r b s le arg ex|l1 l2 r s1 s2 s k h1 h2 j1 j2 K1 K2 tree1 [b1 st1] _ [b2 st2] part add
                   |l r r' s b0 f s' h j K tree [b st] le arg ex prod|l l' r s h j K _ [b st] same].
    - eexists. now apply item_state with b.
    - pose proof (proj1 (height_below_size _ _ _ _ _ _ _ tree1)) as [high _]. eexists.
      apply (addition_state k l1 l2 r s1 s2 s h1 h2 j1 j2 K1 K2 b1 b2); easy || lra.
    - pose proof (proj1 (height_below_size _ _ _ _ _ _ _ tree)) as [high _]. eapply rescaled_state; eassumption.
    - exists b. now apply reordered_state with l.
  Qed.

  (** ** What is lost in all *)

  (** In units of S >= 1 and of one item, as in set_row. *)
  Definition lost (j : nat) : R :=
    wx + wa + match j with 0%nat => 0 | S _ => 2 * wx + 2 * wm end.

  Lemma lost_nonneg j : 0 <= lost j.
  Proof. facts. unfold lost. destruct j; lra. Qed.

  Theorem lost_total l r s h j K b :
    sum_state l r s h j K b -> INR K <= 2 * size l -> (j = 0 -> K = 0)%nat -> mass b <= size l * lost j.
  Proof.
    facts. intros [v ab p u d m z] few none. pose proof (size_at_least_one l v). pose proof (pos_INR K).
    destruct j as [|j].
    - destruct (z eq_refl) as [small _]. rewrite (none eq_refl) in small. unfold tree_heights.base, lost in *.
      change (INR 0) with 0 in small. nra.
    - pose proof (pull_nonneg (fade / 2) r _ (all_placed r l b ab p)).
      assert (0 <= share) by (unfold tree_heights.share; lra).
      assert (bound : mass b <= (1 + share) * base (size l) K + share * size l) by nra. unfold lost.
      set (n := size l) in *. assert (half : base n K <= n / 4).
      { unfold tree_heights.base. assert (INR K * wm <= 2 * n * wm) by monotone. nra. }
      assert (base n K <= n * wx + n * wa + 2 * n * wm).
      { unfold tree_heights.base. assert (INR K * wm <= 2 * n * wm) by monotone. nra. } unfold tree_heights.share in *.
      nra.
  Qed.
End Reduction.
