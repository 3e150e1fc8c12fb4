(** * Deviations in ascending order, as the projections of a row on the simplex (B20, B21) take them in.

    Main results
    - [read_deviation]       m - x of logits that are read, each within u_r |x| + omega_r: a log error of
                             lambda - ln(1 - u_r) and a loss of e^lambda (2 u_r |m| + 2 omega_r) + omega_a
    - [clipped_difference]   max(top_hat - D_hat, 0) errs by at most (e^lambda - 1) of itself, e^lambda B, B the error of what is
                             subtracted, and omega_a; D - top less than that where D > top, or it is 0
    - [quotients_between]    (1 + sum D) / k of a prefix is no larger than both that of a shorter and of a longer one
    - [threshold_below_quotient]   top <= (1 + sum D) / k of every part of a row, tau = m - top its threshold

    Source: docs/tolerances/projections.md. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Export added_terms.
From softcheck.numerics Require Import b5_logsumexp.
Local Open Scope R_scope.

(** How logits enter the accumulator: nothing where it holds them all. *)
Record logit_reading := { read_roundoff : R; read_loss : R }.

Definition sound_reading (P : logit_reading) : Prop := 0 <= read_roundoff P < 1 /\ 0 <= read_loss P.

Definition read_logit (P : logit_reading) (x x' : R) : Prop := Rabs (x' - x) <= read_roundoff P * Rabs x + read_loss P.

Section Deviation.
  Context (M : arithmetic) (P : logit_reading) (good : sound M) (good_reading : sound_reading P).

  Definition computed_deviation (m x d : R) : Prop :=
    exists m' x', read_logit P m m' /\ read_logit P x x' /\ computed_sum M (m' - x') d.

  Definition deviation_log : R := unit M + log_unit (read_roundoff P).
  Definition read_error (m : R) : R := 2 * read_roundoff P * Rabs m + 2 * read_loss P.
  Definition deviation_loss (m : R) : R := exp (unit M) * read_error m + sum_floor M.

  (** What is within u D + c of D is D (1 + d), |d| <= u, and at most c more. *)
  Lemma split_error u c D y : 0 <= u -> 0 <= D -> 0 <= c -> Rabs (y - D) <= u * D + c ->
    exists d e, Rabs d <= u /\ Rabs e <= c /\ y = D * (1 + d) + e.
  Proof using.
    intros hu hD hc close. apply abs_between in close. assert (0 <= u * D) by now apply Rmult_le_pos.
    destruct (Rle_dec (y - D) (u * D)) as [low|high].
    - destruct (Rle_dec (- (u * D)) (y - D)) as [inside|below].
      + destruct (Req_dec D 0) as [->|nonzero].
        * exists 0, 0. rewrite Rabs_R0. repeat split; lra.
        * exists ((y - D) / D), 0. rewrite Rabs_R0. repeat split; [|easy|field; easy].
          unfold Rdiv. rewrite Rabs_mult, (Rabs_right (/ D)) by (apply Rle_ge; left; apply Rinv_0_lt_compat; lra).
          apply Rmult_le_reg_r with D; [lra|]. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by easy. apply Rabs_le. lra.
      + exists (- u), (y - D + u * D). repeat split; [rewrite Rabs_Ropp, Rabs_right; lra|apply Rabs_le; lra|ring].
    - exists u, (y - D - u * D). repeat split; [rewrite Rabs_right; lra|apply Rabs_le; lra|ring].
  Qed.

  Lemma read_error_nonneg m : 0 <= read_error m.
  Proof using good_reading.
    destruct good_reading as [[r0 r1] l0]. unfold read_error. pose proof (Rabs_pos m).
    assert (0 <= read_roundoff P * Rabs m) by now apply Rmult_le_pos. lra.
  Qed.

  Theorem read_deviation m x d :
    x <= m -> computed_deviation m x d -> approximates deviation_log (deviation_loss m) (m - x) d.
  Proof using good good_reading.
    intros le [m' [x' [rm [rx [t [e [bt [be ->]]]]]]]]. pose proof (read_error_nonneg m) as c0.
    destruct good_reading as [[r0 r1] l0]. unfold read_logit in rm, rx. pose proof (unit_nonneg M good) as fl.
    assert (size_x : Rabs x <= Rabs m + (m - x)).
    { replace x with (m + - (m - x)) at 1 by ring. triangle. rewrite Rabs_Ropp, (Rabs_right (m - x)); lra. }
    assert (near : Rabs (m' - x' - (m - x)) <= read_roundoff P * (m - x) + read_error m).
    { replace (m' - x' - (m - x)) with ((m' - m) + - (x' - x)) by ring. triangle. rewrite Rabs_Ropp.
      unfold read_error.
      assert (read_roundoff P * Rabs x <= read_roundoff P * (Rabs m + (m - x))) by now apply Rmult_le_compat_l. lra. }
    destruct (split_error _ _ (m - x) _ r0 ltac:(lra) c0 near) as [d0 [c [b0 [bc eq]]]].
    destruct (one_rounding _ d0 (conj r0 r1) b0) as [t0 [bt0 fac]]. rewrite fac in eq. rewrite eq.
    exists (t0 + t), (c * exp t + e). repeat split.
    - unfold deviation_log. triangle. lra.
    - triangle. unfold deviation_loss. apply Rplus_le_compat; [|easy].
      rewrite Rabs_mult, (Rabs_right (exp t)), Rmult_comm by (left; apply exp_pos).
      apply Rmult_le_compat; [left; apply exp_pos|apply Rabs_pos| |easy]. apply exp_le. apply abs_between in bt. lra.
    - rewrite exp_plus. ring.
  Qed.

  Lemma deviation_log_nonneg : 0 <= deviation_log.
  Proof using good good_reading.
    destruct good_reading as [r _]. unfold deviation_log. pose proof (unit_nonneg M good). pose proof (log_unit_nonneg _ r). lra.
  Qed.

  Lemma deviation_loss_nonneg m : 0 <= deviation_loss m.
  Proof using good good_reading.
    unfold deviation_loss. pose proof (read_error_nonneg m). unfold sound in good.
    assert (0 <= exp (unit M) * read_error m) by (apply Rmult_le_pos; [left; apply exp_pos|easy]). lra.
  Qed.
End Deviation.

(** ** What is left of the largest one *)

Section Difference.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).

  (** top_hat - D_hat where that is positive: a rounded difference is no larger than 0 where the exact one is none. *)
  Definition computed_item (t d q : R) : Prop :=
    exists y, computed_sum M (t - d) y /\ (t <= d -> y <= 0) /\ q = Rmax y 0.

  Theorem clipped_difference top D t d B q :
    Rabs (t - d - (top - D)) <= B -> computed_item t d q ->
    (top < D /\ q = 0) \/
    Rabs (q - Rmax (top - D) 0)
    <= (exp lambda - 1) * Rmax (top - D) 0 + exp lambda * B + sum_floor M - Rmax (D - top) 0.
  Proof using good.
    intros inner [y [[ty [ey [bty [bey eqy]]]] [sign ->]]]. pose proof (unit_nonneg M good) as fl.
    set (z := t - d) in *. assert (B0 : 0 <= B) by (pose proof (Rabs_pos (z - (top - D))); lra).
    apply abs_between in inner. apply abs_between in bey. pose proof (expm1_abs ty lambda bty) as gy. apply abs_between in bty.
    assert (up : exp ty <= exp lambda) by (apply exp_le; lra). pose proof (exp_pos ty). pose proof (exp_at_least_one lambda fl).
    destruct (Rle_dec D top) as [inside_it|outside].
    - right. rewrite (Rmax_left (top - D)), (Rmax_right (D - top)), Rminus_0_r by lra. set (v := top - D) in *.
      apply Rle_trans with (Rabs (y - v)).
      { unfold Rmax. destruct (Rle_dec y 0); [|lra]. rewrite Rabs_minus_sym, Rminus_0_r, (Rabs_right v) by (unfold v; lra).
        rewrite Rabs_minus_sym. rewrite (Rabs_right (v - y)) by (unfold v; lra). lra. }
      rewrite eqy. replace (z * exp ty + ey - v) with ((exp ty - 1) * v + (z - v) * exp ty + ey) by ring.
      apply Rle_trans with (Rabs ((exp ty - 1) * v) + Rabs ((z - v) * exp ty) + sum_floor M).
      { pose proof (Rabs_triang ((exp ty - 1) * v) ((z - v) * exp ty)). assert (Rabs ey <= sum_floor M) by (apply Rabs_le; lra).
        pose proof (Rabs_triang ((exp ty - 1) * v + (z - v) * exp ty) ey). lra. }
      rewrite !Rabs_mult, (Rabs_right v), (Rabs_right (exp ty)) by (unfold v; lra).
      assert (Rabs (exp ty - 1) * v <= (exp lambda - 1) * v) by (apply Rmult_le_compat_r; unfold v; lra).
      assert (Rabs (z - v) * exp ty <= B * exp lambda).
      { apply Rmult_le_compat; [apply Rabs_pos|lra| |easy]. apply Rabs_le. lra. } lra.
    - rewrite (Rmax_right (top - D)), (Rmax_left (D - top)), Rminus_0_r, Rmult_0_r by lra.
      destruct (Rle_dec y 0) as [none|some_left]; [left; split; [lra|now apply Rmax_right]|right].
      rewrite Rmax_left, Rabs_right by lra. destruct (Rle_dec z 0) as [none|positive]; [unfold z in none; pose proof (sign ltac:(lra)); lra|].
      rewrite eqy.
      assert (z * exp ty <= (B + (top - D)) * exp ty) by (apply Rmult_le_compat_r; lra).
      assert ((B + (top - D)) * exp ty <= (B + (top - D)) * exp lambda) by (apply Rmult_le_compat_l; lra).
      assert ((top - D) * exp lambda <= top - D) by nra. lra.
  Qed.
End Difference.

(** A zero is stored as a zero. *)
Definition stored (u_out floor_out q p : R) : Prop := rounded_output u_out floor_out q p /\ (q = 0 -> p = 0).

(** ** Ascending lists *)

Definition ascending (ds : list R) : Prop := StronglySorted Rle ds.

Lemma ascending_around l1 d l2 :
  ascending (l1 ++ d :: l2) -> (forall x, In x l1 -> x <= d) /\ (forall x, In x l2 -> d <= x).
Proof.
  unfold ascending. induction l1 as [|y l1 IH]; simpl; intros sorted; apply StronglySorted_inv in sorted as [rest first].
  - split; [easy|]. now apply Forall_forall.
  - destruct (IH rest) as [below above]. split; [|easy]. intros x [<-|inx]; [|auto].
    apply (proj1 (Forall_forall _ _) first). apply in_or_app. right. now left.
Qed.

Lemma ascending_prefix l1 l2 : ascending (l1 ++ l2) -> ascending l1.
Proof.
  unfold ascending. induction l1 as [|y l1 IH]; [constructor|]. simpl. intros sorted.
  apply StronglySorted_inv in sorted as [rest first]. constructor; [auto|]. now apply Forall_app in first.
Qed.

Lemma sum_at_most l c : (forall x, In x l -> x <= c) -> sum l <= size l * c.
Proof. intros below. rewrite <- sum_map_const. rewrite <- (map_id l) at 1. now apply sum_map_le. Qed.

Lemma sum_at_least l c : (forall x, In x l -> c <= x) -> size l * c <= sum l.
Proof. intros above. rewrite <- sum_map_const. rewrite <- (map_id l) at 2. now apply sum_map_le. Qed.

Lemma sum_nonneg l : Forall (fun x => 0 <= x) l -> 0 <= sum l.
Proof. intros nonneg. rewrite <- (map_id l). apply sum_map_nonneg. now apply Forall_forall. Qed.

Lemma size_app {A} (l1 l2 : list A) : size (l1 ++ l2) = size l1 + size l2.
Proof. unfold size. now rewrite app_length, plus_INR. Qed.

(** ** Quotients of prefixes *)

(** (1 + sum D) / k, and mean D. *)
Definition prefix_quotient (ds : list R) : R := (1 + sum ds) / size ds.
Definition prefix_mean (ds : list R) : R := sum ds / size ds.

Lemma below_quotient ds c : ds <> [] -> size ds * c <= 1 + sum ds -> c <= prefix_quotient ds.
Proof.
  intros some le. pose proof (size_pos ds some). unfold prefix_quotient. apply Rmult_le_reg_l with (size ds); [easy|].
  replace (size ds * ((1 + sum ds) / size ds)) with (1 + sum ds) by (field; lra). easy.
Qed.

Lemma above_quotient ds c : ds <> [] -> 1 + sum ds <= size ds * c -> prefix_quotient ds <= c.
Proof.
  intros some le. pose proof (size_pos ds some). unfold prefix_quotient. apply Rmult_le_reg_l with (size ds); [easy|].
  replace (size ds * ((1 + sum ds) / size ds)) with (1 + sum ds) by (field; lra). easy.
Qed.

Lemma quotient_times ds : ds <> [] -> size ds * prefix_quotient ds = 1 + sum ds.
Proof. intros some. pose proof (size_pos ds some). unfold prefix_quotient. field. lra. Qed.

(** 1 + sum (D - c) falls as long as items are below c and rises afterwards. *)
Theorem quotients_between short between long :
  short <> [] -> ascending (short ++ between ++ long) ->
  prefix_quotient (short ++ between) <= Rmax (prefix_quotient short) (prefix_quotient (short ++ between ++ long)).
Proof.
  intros some sorted. set (c := Rmax _ _). assert (c1 : prefix_quotient short <= c) by apply Rmax_l.
  assert (c2 : prefix_quotient (short ++ between ++ long) <= c) by apply Rmax_r.
  assert (some2 : short ++ between <> []) by (now destruct short).
  assert (some3 : short ++ between ++ long <> []) by (now destruct short). pose proof (size_pos short some).
  pose proof (size_pos _ some3) as p3. apply above_quotient; [easy|]. assert (a1 : 1 + sum short <= size short * c).
  { rewrite <- (quotient_times short some). apply Rmult_le_compat_l; lra. }
  assert (a3 : 1 + sum (short ++ between ++ long) <= size (short ++ between ++ long) * c).
  { rewrite <- (quotient_times _ some3). apply Rmult_le_compat_l; lra. } rewrite !sum_app, !size_app in *.
  destruct between as [|d0 l0] using rev_ind; [unfold sum, size in *; simpl in *; lra|]. clear IHl0.
  rewrite <- !app_assoc in sorted. rewrite app_assoc in sorted. cbn [app] in sorted.
  destruct (ascending_around _ _ _ sorted) as [below above]. rewrite sum_app, size_app in *.
  replace (sum [d0]) with d0 in * by (unfold sum; simpl; ring).
  replace (size [d0]) with 1 in * by (unfold size; simpl; ring). destruct (Rle_dec d0 c) as [low|high].
  - assert (sum l0 <= size l0 * c).
    { apply sum_at_most. intros x inx. pose proof (below x ltac:(apply in_or_app; now right)). lra. } lra.
  - assert (size long * c <= sum long). { apply sum_at_least. intros x inx. pose proof (above x inx). lra. } lra.
Qed.

(** ** The threshold *)

(** tau: sum max(x - tau, 0) = 1. In deviations D = m - x from m, with top = m - tau. *)
Definition is_sparsemax_threshold (tau : R) (logits : list R) : Prop := sum (map (fun x => Rmax (x - tau) 0) logits) = 1.
Definition is_sparsemax_top (top : R) (ds : list R) : Prop := sum (map (fun d => Rmax (top - d) 0) ds) = 1.

Lemma top_of_threshold tau m logits :
  is_sparsemax_threshold tau logits -> is_sparsemax_top (m - tau) (map (fun x => m - x) logits).
Proof.
  unfold is_sparsemax_threshold, is_sparsemax_top. intros <-. rewrite map_map. apply sum_map_ext. intros x _. f_equal. ring.
Qed.

Theorem threshold_below_quotient top part others :
  part <> [] -> is_sparsemax_top top (part ++ others) -> top <= prefix_quotient part.
Proof.
  intros some is. apply below_quotient; [easy|]. unfold is_sparsemax_top in is. rewrite map_app, sum_app in is.
  assert (0 <= sum (map (fun d => Rmax (top - d) 0) others)) by (apply sum_map_nonneg; intros; apply Rmax_r).
  assert (size part * top - sum part <= sum (map (fun d => Rmax (top - d) 0) part)).
  { rewrite <- sum_map_const. rewrite <- (map_id part) at 2. rewrite <- sum_map_minus. apply sum_map_le. intros; apply Rmax_l. }
  lra.
Qed.

Lemma top_nonneg top ds : Forall (fun d => 0 <= d) ds -> is_sparsemax_top top ds -> 0 <= top.
Proof.
  intros nonneg is. destruct (Rle_dec 0 top) as [yes|no]; [easy|exfalso]. unfold is_sparsemax_top in is.
  assert (sum (map (fun d => Rmax (top - d) 0) ds) <= sum (map (fun _ => 0) ds)).
  { apply sum_map_le. intros d ind. apply Rmax_lub; [|lra]. pose proof (proj1 (Forall_forall _ _) nonneg d ind). simpl in *. lra. }
  rewrite sum_map_const in *. lra.
Qed.
