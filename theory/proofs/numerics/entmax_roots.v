(** * Exact reals behind B21: the roots of the prefixes of a row in ascending order, entmax of alpha = 1.5.

    d = (m - x) / 2. Over k items with mean M and mean square Q the sum of (t - d)^2 is 1 at t = M + sqrt(1/k - V), V = Q - M^2.

    Main results
    - [variance_nonneg]        M^2 <= Q
    - [root_above], [spread_above]   where the squares (c - d)^2 add up to at most 1, c is at most the root, c - M the spread
    - [root_solves]            at the root they add up to 1
    - [support_root]           a part of a row whose items lie below top has a root, at least top
    - [part_of_support]        of a part of a prefix that has a root: mean and mean square are no larger, the spread no smaller

    Source: docs/tolerances/entmax.md. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import projected_row.
Local Open Scope R_scope.

Definition squares (ds : list R) : list R := map (fun d => d ^ 2) ds.
Definition prefix_square (ds : list R) : R := sum (squares ds) / size ds.
Definition variance_of (ds : list R) : R := prefix_square ds - prefix_mean ds ^ 2.
(** 1/k - V, 0 where that is negative. *)
Definition radicand (ds : list R) : R := / size ds - variance_of ds.
Definition spread (ds : list R) : R := sqrt (Rmax (radicand ds) 0).
Definition root (ds : list R) : R := prefix_mean ds + spread ds.

(** tau: sum max(x / 2 - tau, 0)^2 = 1. *)
Definition is_entmax_threshold (tau : R) (logits : list R) : Prop :=
  sum (map (fun x => Rmax (x / 2 - tau) 0 ^ 2) logits) = 1.
Definition is_entmax_top (top : R) (ds : list R) : Prop := sum (map (fun d => Rmax (top - d) 0 ^ 2) ds) = 1.

Lemma means ds : ds <> [] -> size ds * prefix_mean ds = sum ds /\ size ds * prefix_square ds = sum (squares ds).
Proof. intros some. pose proof (size_pos ds some). unfold prefix_mean, prefix_square. split; field; lra. Qed.

Lemma sum_of_squares c ds : sum (map (fun d => (c - d) ^ 2) ds) = size ds * c ^ 2 - 2 * c * sum ds + sum (squares ds).
Proof.
  unfold squares. rewrite <- sum_map_const. rewrite <- (map_id ds) at 3. rewrite <- sum_map_mult_l, <- sum_map_minus, <- sum_map_plus.
  apply sum_map_ext. intros. ring.
Qed.

Lemma around_mean c ds :
  ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) = size ds * ((c - prefix_mean ds) ^ 2 + variance_of ds).
Proof.
  intros some. rewrite sum_of_squares. destruct (means ds some) as [<- <-]. unfold variance_of. ring.
Qed.

Theorem variance_nonneg ds : ds <> [] -> 0 <= variance_of ds.
Proof.
  intros some. pose proof (size_pos ds some). pose proof (around_mean (prefix_mean ds) ds some) as eq.
  assert (0 <= sum (map (fun d => (prefix_mean ds - d) ^ 2) ds)) by (apply sum_map_nonneg; intros; apply pow2_ge_0).
  rewrite Rminus_diag_eq in eq at 1 by easy. replace (0 ^ 2) with 0 in eq by ring. 
  apply Rmult_le_reg_l with (size ds); [easy|]. lra.
Qed.

Lemma spread_squared ds : spread ds * spread ds = Rmax (radicand ds) 0.
Proof. unfold spread. apply sqrt_sqrt, Rmax_r. Qed.

Lemma spread_nonneg ds : 0 <= spread ds.
Proof. apply sqrt_pos. Qed.

Lemma radicand_above c ds :
  ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) <= 1 -> (c - prefix_mean ds) ^ 2 <= radicand ds.
Proof.
  intros some le. rewrite (around_mean c ds some) in le. pose proof (size_pos ds some).
  unfold radicand. apply Rmult_le_reg_l with (size ds); [easy|]. rewrite Rmult_minus_distr_l, Rinv_r by lra. lra.
Qed.

Theorem spread_above c ds :
  ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) <= 1 -> c - prefix_mean ds <= spread ds.
Proof.
  intros some le. pose proof (radicand_above c ds some le) as above. destruct (Rle_dec (c - prefix_mean ds) 0) as [low|high].
  - pose proof (spread_nonneg ds). lra.
  - unfold spread. rewrite <- (sqrt_pow2 (c - prefix_mean ds)) by lra. apply sqrt_le_1_alt.
    eapply Rle_trans; [apply above|apply Rmax_l].
Qed.

Theorem root_above c ds : ds <> [] -> sum (map (fun d => (c - d) ^ 2) ds) <= 1 -> c <= root ds.
Proof. intros some le. pose proof (spread_above c ds some le). unfold root. lra. Qed.

Theorem root_solves ds : ds <> [] -> 0 <= radicand ds -> sum (map (fun d => (root ds - d) ^ 2) ds) = 1.
Proof.
  intros some real. rewrite (around_mean _ ds some). pose proof (size_pos ds some).
  replace (root ds - prefix_mean ds) with (spread ds) by (unfold root; ring).
  replace (spread ds ^ 2) with (spread ds * spread ds) by ring. rewrite spread_squared, Rmax_left by easy.
  unfold radicand. field. lra.
Qed.

(** Items below top, of a row whose larger roots add up to 1. *)
Lemma squares_below top part others :
  (forall d, In d part -> d <= top) -> is_entmax_top top (part ++ others) -> sum (map (fun d => (top - d) ^ 2) part) <= 1.
Proof.
  intros below is. unfold is_entmax_top in is. rewrite map_app, sum_app in is.
  assert (0 <= sum (map (fun d => Rmax (top - d) 0 ^ 2) others)) by (apply sum_map_nonneg; intros; apply pow2_ge_0).
  assert (sum (map (fun d => (top - d) ^ 2) part) = sum (map (fun d => Rmax (top - d) 0 ^ 2) part)) as ->; [|lra].
  apply sum_map_ext. intros d ind. rewrite Rmax_left; [easy|]. pose proof (below d ind). lra.
Qed.

Theorem support_root top part others :
  part <> [] -> (forall d, In d part -> d <= top) -> is_entmax_top top (part ++ others) ->
  0 <= radicand part /\ top <= root part.
Proof.
  intros some below is. pose proof (squares_below top part others below is) as le. split.
  - pose proof (radicand_above top part some le). pose proof (pow2_ge_0 (top - prefix_mean part)). lra.
  - now apply root_above.
Qed.

Lemma mean_of_prefix part more :
  part <> [] -> (forall x y, In x part -> In y more -> x <= y) -> prefix_mean part <= prefix_mean (part ++ more).
Proof.
  intros some ordered. pose proof (size_pos part some) as pos. unfold prefix_mean. rewrite sum_app, size_app.
  assert (above : forall y, In y more -> sum part / size part <= y).
  { intros y iny. apply Rmult_le_reg_l with (size part); [easy|].
    replace (size part * (sum part / size part)) with (sum part) by (field; lra). apply sum_at_most. auto. }
  pose proof (sum_at_least more _ above) as rest. pose proof (size_nonneg more).
  apply Rmult_le_reg_r with (size part + size more); [lra|].
  replace ((sum part + sum more) / (size part + size more) * (size part + size more)) with (sum part + sum more) by (field; lra).
  replace (sum part / size part * (size part + size more)) with (sum part + size more * (sum part / size part)) by (field; lra). lra.
Qed.

(** A part of a prefix that has a root itself, the root beyond all its items. *)
Theorem part_of_support part more :
  part <> [] -> (forall x, In x (part ++ more) -> 0 <= x) -> ascending (part ++ more) ->
  0 <= radicand (part ++ more) -> (forall d, In d (part ++ more) -> d <= root (part ++ more)) ->
  0 <= radicand part /\ prefix_mean part <= prefix_mean (part ++ more) /\ prefix_square part <= prefix_square (part ++ more) /\
  spread (part ++ more) <= spread part.
Proof.
  intros some nonneg sorted real below. set (S := part ++ more) in *. assert (someS : S <> []) by (unfold S; now destruct part).
  assert (ordered : forall x y, In x part -> In y more -> x <= y).
  { intros x y inx iny. apply in_split in iny as [l1 [l2 eq]]. unfold S in sorted. rewrite eq, app_assoc in sorted.
    apply ascending_around in sorted as [before _]. apply before, in_or_app. now left. }
  assert (le : sum (map (fun d => (root S - d) ^ 2) part) <= 1).
  { rewrite <- (root_solves S someS real). set (c := root S). unfold S. rewrite map_app, sum_app.
    assert (0 <= sum (map (fun d => (c - d) ^ 2) more)) by (apply sum_map_nonneg; intros; apply pow2_ge_0). lra. }
  assert (m : prefix_mean part <= prefix_mean S) by now apply mean_of_prefix.
  split; [|split; [easy|split]].
  - pose proof (radicand_above _ part some le). pose proof (pow2_ge_0 (root S - prefix_mean part)). lra.
  - assert (eq : forall l, prefix_square l = prefix_mean (squares l)).
    { intros l. unfold prefix_square, prefix_mean, squares. now rewrite size_map. }
    rewrite !eq. unfold S, squares. rewrite map_app. apply mean_of_prefix; [now destruct part|].
    intros x y inx iny. apply in_map_iff in inx as [x' [<- inx]]. apply in_map_iff in iny as [y' [<- iny]].
    pose proof (ordered x' y' inx iny). pose proof (nonneg x' ltac:(apply in_or_app; now left)). nra.
  - pose proof (spread_above _ part some le). unfold root in *. lra.
Qed.

(** What a kernel compares stays small where there is a root: 0 is an item. *)
Lemma root_at_most_one ds : In 0 ds -> 0 <= radicand ds -> root ds <= 1.
Proof.
  intros in0 real. pose proof (root_solves ds (in_not_nil 0 ds in0) real) as one.
  pose proof (sum_map_at_least_one (fun d => (root ds - d) ^ 2) ds 0 ltac:(intros; apply pow2_ge_0) in0) as least.
  cbn beta in least. rewrite Rminus_0_r in least. destruct (Rle_dec (root ds) 1) as [yes|no]; [easy|nra].
Qed.

Lemma spread_at_most_one ds : ds <> [] -> 0 <= radicand ds -> spread ds <= 1.
Proof.
  intros some real. pose proof (spread_squared ds) as eq. rewrite Rmax_left in eq by easy. pose proof (spread_nonneg ds).
  pose proof (variance_nonneg ds some). pose proof (size_at_least_one ds some).
  assert (/ size ds <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra). unfold radicand in eq. nra.
Qed.

Lemma width_at_most_two ds : ds <> [] -> 0 <= radicand ds -> / size ds + variance_of ds <= 2.
Proof.
  intros some real. pose proof (size_at_least_one ds some).
  assert (/ size ds <= 1) by (rewrite <- Rinv_1; apply Rinv_le_contravar; lra). unfold radicand in real. lra.
Qed.
