(** * B20, sparsemax: which items a kernel takes into the support.

    D = m - x, off by e^(+-rho) and a (projected_row.read_deviation); a support of k items; sums of k items by any tree of
    height at most H, in a row H k.

    Main results
    - [b20_condition]   the two numbers that a kernel compares for 1 + sum D > k D, in one of four forms, say no other
                        thing than this, unless both sides are within the bound condition
    - [b20_inside]      an item is left out only where D >= top - inside
    - [b20_supports]    a kernel that stops at the first item that fails keeps at least the items up to the first one whose
                        condition is within the error, and those that are inside, and no item behind one whose condition is
                        beyond it: its quotient lies between top and the larger one of these two supports', and its
                        mean D is at most that of the largest

    Source: docs/tolerances/projections.md; SparsemaxThreshold in numerics/rounding/rounding_projections.cpp. Not covered: a support by
    elimination, or by counting the items that meet the condition. *)

From Coq Require Import Sorted.
From softcheck.numerics Require Import score_error b5_logsumexp added_terms projected_row.
Local Open Scope R_scope.

(** d and s are the computed D and sum of k deviations: the number on D's side and the one on the sum's. k may be off,
    too: as it is read, or as the 1/k it is multiplied by. *)
Inductive compared (M : arithmetic) (k d s : R) : R -> R -> Prop :=
| compared_product b v r :
    Rabs b <= unit M -> computed_product M (k * exp b * d) v -> computed_sum M (1 + s) r -> compared M k d s v r
| compared_difference b v y :
    Rabs b <= unit M -> computed_product M (k * exp b * d) v -> computed_sum M (1 - v) y -> compared M k d s (- s) y
| compared_quotient b v q :
    Rabs b <= unit M -> computed_sum M (1 + s) v -> computed_product M (v / k * exp b) q -> compared M k d s d q.

Section Condition.
  Context (M : arithmetic) (rho a : R) (H : nat) (good : sound M) (hrho : 0 <= rho) (ha : 0 <= a).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).

  Definition compared_log : R := rho + 2 * lambda.
  Definition summed_log : R := rho + (INR H + 1) * lambda.
  (** What underflow and the conversion take from each item. *)
  Definition item_loss : R := exp ((INR H + 2) * lambda) * (2 * a + wa + wm).
  Definition condition (k D total : R) : R :=
    (exp compared_log - 1) * (1 + k * D + total) + (exp summed_log - 1) * total + k * item_loss.
  Definition inside (top : R) : R := (2 * (exp compared_log - 1) + (exp summed_log - 1)) * top + item_loss.

  Local Ltac facts := sound_facts good.

  Lemma hl_nonneg : 0 <= INR H * lambda.
  Proof using good. facts. monotone. Qed.

  Lemma item_loss_nonneg : 0 <= item_loss.
  Proof using good ha. facts. apply Rmult_le_pos; [left; apply exp_pos|lra]. Qed.

  (** The difference of the two numbers has the sign of an exact condition whose parts err. *)
  Lemma sides k d s l r : 1 <= k -> compared M k d s l r ->
    exists c b t0 t e, 0 < c /\ Rabs b <= 2 * lambda /\ Rabs t0 <= lambda /\ Rabs t <= lambda /\
      Rabs e <= exp (2 * lambda) * (wa + k * wm) /\ r - l = c * (exp t0 + s * exp t + e - k * d * exp b).
  Proof using good.
    facts. intros hk form. assert (kw : wm <= k * wm) by nra.
    assert (loss : forall e1 e2 t1 t2, Rabs e1 <= wa -> Rabs e2 <= k * wm -> t1 <= 2 * lambda -> t2 <= 2 * lambda ->
              Rabs (e1 * exp t1 + e2 * exp t2) <= exp (2 * lambda) * (wa + k * wm)).
    { intros e1 e2 t1 t2 b1 b2 h1 h2. triangle. rewrite Rmult_plus_distr_l, !Rabs_mult.
      rewrite !(Rabs_right (exp _)) by (left; apply exp_pos). rewrite !(Rmult_comm _ (exp _)). monotone. }
    destruct form as [b v r bb [t2 [e2 [bt2 [be2 ->]]]] [t1 [e1 [bt1 [be1 ->]]]]
                     |b v y bb [t2 [e2 [bt2 [be2 ->]]]] [t1 [e1 [bt1 [be1 ->]]]]
                     |b v q bb [t1 [e1 [bt1 [be1 ->]]]] [t2 [e2 [bt2 [be2 ->]]]]];
      apply abs_between in bb; apply abs_between in bt1; apply abs_between in bt2.
    - exists 1, (b + t2), t1, t1, (e1 * exp 0 + - e2 * exp 0). repeat split; try lra; try (apply Rabs_le; lra).
      + apply loss; try lra. rewrite Rabs_Ropp. lra.
      + rewrite !exp_plus, exp_0. ring.
    - exists (exp t1), (b + t2), 0, (- t1), (e1 * exp (- t1) + - e2 * exp 0).
      repeat split; try apply exp_pos; try (apply Rabs_le; lra).
      + apply loss; try lra. rewrite Rabs_Ropp. lra.
      + rewrite exp_Ropp, !exp_plus, exp_0. field. apply Rgt_not_eq, exp_pos.
    - assert (pos : 0 < exp (b + t2)) by monotone.
      exists (exp (b + t2) / k), (- (b + t2)), t1, t1, (e1 * exp 0 + k * e2 * exp (- (b + t2))).
      repeat split; try (apply Rabs_le; lra).
      + monotone.
      + apply loss; try lra. rewrite Rabs_mult, (Rabs_right k) by lra. monotone.
      + rewrite exp_0, exp_Ropp, exp_plus. field. repeat split; try lra; apply Rgt_not_eq, exp_pos.
  Qed.

  Context (ds : list R) (D d s : R) (h : nat) (nonneg : Forall (fun x => 0 <= x) ds) (some : ds <> []) (hD : 0 <= D)
    (computed : approximates rho a D d) (tree : added M rho a ds s h) (low : (h <= H)%nat).
  Notation k := (size ds).

  Lemma sum_sides :
    0 <= sum ds /\ exp (- (rho + INR H * lambda)) * sum ds - exp (INR H * lambda) * (k * a + (k - 1) * wa) <= s
    <= exp (rho + INR H * lambda) * sum ds + exp (INR H * lambda) * (k * a + (k - 1) * wa).
  Proof using good hrho ha nonneg some tree low.
    facts. destruct (added_positive M good rho a ds s h hrho ha nonneg tree) as [down up]. unfold added_loss in *.
    pose proof (sum_nonneg ds nonneg) as s0. split; [easy|]. pose proof (size_at_least_one ds some).
    apply le_INR in low. assert (hl : INR h * lambda <= INR H * lambda) by monotone. assert (0 <= k * a) by monotone.
    assert (0 <= (k - 1) * wa) by monotone.
    assert (exp (INR h * lambda) * (k * a + (k - 1) * wa) <= exp (INR H * lambda) * (k * a + (k - 1) * wa)) by monotone.
    assert (exp (rho + INR h * lambda) * sum ds <= exp (rho + INR H * lambda) * sum ds) by monotone.
    assert (exp (- (rho + INR H * lambda)) * sum ds <= exp (- (rho + INR h * lambda)) * sum ds) by monotone. lra.
  Qed.

  Lemma condition_parts :
    (exp compared_log - 1) * (k * D) + (exp lambda - 1) + (exp summed_log - 1) * sum ds
    + (exp ((INR H + 1) * lambda) * (k * a + (k - 1) * wa) + exp (2 * lambda) * (wa + k * wm) + exp (2 * lambda) * (k * a))
    <= condition k D (sum ds).
  Proof using good hrho ha nonneg some hD tree low.
    facts. destruct sum_sides as [s0 _]. pose proof (size_at_least_one ds some) as k1. pose proof hl_nonneg as hl.
    unfold condition, compared_log, item_loss. set (E := exp ((INR H + 2) * lambda)).
    assert (e1 : exp ((INR H + 1) * lambda) <= E) by (apply exp_le; lra).
    assert (e2 : exp (2 * lambda) <= E) by (apply exp_le; lra).
    assert (e3 : exp lambda <= exp (rho + 2 * lambda)) by monotone.
    assert (e4 : 1 <= exp (rho + 2 * lambda)) by monotone. assert (0 <= k * a) by monotone.
    assert (0 <= (k - 1) * wa) by monotone. assert (0 <= k * wm) by monotone.
    assert (exp ((INR H + 1) * lambda) * (k * a + (k - 1) * wa) <= E * (k * a + (k - 1) * wa)) by monotone.
    assert (exp (2 * lambda) * (wa + k * wm) <= E * (wa + k * wm)) by monotone.
    assert (exp (2 * lambda) * (k * a) <= E * (k * a)) by monotone.
    assert (0 <= (exp (rho + 2 * lambda) - 1) * sum ds) by monotone. lra.
  Qed.

  Theorem b20_condition l r :
    compared M k d s l r ->
    (l <= r -> k * D <= 1 + sum ds + condition k D (sum ds)) /\
    (r <= l -> 1 + sum ds - condition k D (sum ds) <= k * D).
  Proof using good hrho ha nonneg some hD computed tree low.
    facts. intros form. pose proof condition_parts as parts. destruct sum_sides as [s0 [down up]].
    pose proof (size_at_least_one ds some) as k1. pose proof hl_nonneg as hl.
    destruct (sides k d s l r k1 form) as [c [b [t0 [t [e [c0 [bb [bt0 [bt [be eq]]]]]]]]]].
    destruct computed as [td [ed [btd [bed dis]]]]. apply abs_between in bb. apply abs_between in bt0.
    apply abs_between in bt. apply abs_between in be. apply abs_between in btd. apply abs_between in bed.
    unfold compared_log, summed_log in *. set (loss := k * a + (k - 1) * wa) in *. assert (l0 : 0 <= loss).
    { unfold loss. assert (0 <= k * a) by monotone. assert (0 <= (k - 1) * wa) by monotone. lra. }
    assert (kD : 0 <= k * D) by monotone.
    assert (growth : exp ((INR H + 1) * lambda) = exp (INR H * lambda) * exp lambda)
      by (rewrite <- exp_plus; f_equal; ring).
    pose proof (exp_pos t) as pt. pose proof (exp_pos b) as pb. pose proof (exp_pos (INR H * lambda)) as pH.
    assert (tl : exp t <= exp lambda) by monotone. assert (tl' : exp (- lambda) <= exp t) by monotone.
    assert (bl : exp b <= exp (2 * lambda)) by monotone. assert (t0l : exp t0 <= exp lambda) by monotone.
    assert (t0l' : exp (- lambda) <= exp t0) by monotone. pose proof (exp_down_up lambda).
    pose proof (exp_down_up (rho + 2 * lambda)). pose proof (exp_down_up (rho + (INR H + 1) * lambda)).
    assert (Lt : exp (INR H * lambda) * loss * exp t <= exp (INR H * lambda) * loss * exp lambda) by monotone.
    (* the item's side *)
    assert (item_up : k * d * exp b <= exp (rho + 2 * lambda) * (k * D) + exp (2 * lambda) * (k * a)).
    { rewrite dis. assert (exp (td + b) * (k * D) <= exp (rho + 2 * lambda) * (k * D)) by monotone.
      assert (k * ed <= k * a) by monotone. assert (k * ed * exp b <= k * a * exp b) by monotone.
      assert (k * a * exp b <= k * a * exp (2 * lambda)) by monotone. rewrite (exp_plus td b) in *. lra. }
    assert (item_down : exp (- (rho + 2 * lambda)) * (k * D) - exp (2 * lambda) * (k * a) <= k * d * exp b).
    { rewrite dis. assert (exp (- (rho + 2 * lambda)) * (k * D) <= exp (td + b) * (k * D)) by monotone.
      assert (k * - a <= k * ed) by monotone. assert (k * - a * exp b <= k * ed * exp b) by monotone.
      assert (k * a * exp b <= k * a * exp (2 * lambda)) by monotone. rewrite (exp_plus td b) in *. lra. }
    (* the sum's side *)
    assert (sum_up : s * exp t <= exp (rho + (INR H + 1) * lambda) * sum ds + exp ((INR H + 1) * lambda) * loss).
    { apply Rle_trans with ((exp (rho + INR H * lambda) * sum ds + exp (INR H * lambda) * loss) * exp t); [monotone|].
      rewrite growth. replace (rho + (INR H + 1) * lambda) with (rho + INR H * lambda + lambda) by ring.
      rewrite (exp_plus _ lambda).
      assert (exp (rho + INR H * lambda) * sum ds * exp t <= exp (rho + INR H * lambda) * sum ds * exp lambda)
        by monotone.
      lra. }
    assert (sum_down : exp (- (rho + (INR H + 1) * lambda)) * sum ds - exp ((INR H + 1) * lambda) * loss <= s * exp t).
    { apply Rle_trans with ((exp (- (rho + INR H * lambda)) * sum ds - exp (INR H * lambda) * loss) * exp t);
        [|monotone].
      rewrite growth. replace (- (rho + (INR H + 1) * lambda)) with (- (rho + INR H * lambda) + - lambda) by ring.
      rewrite (exp_plus _ (- lambda)).
      assert (exp (- (rho + INR H * lambda)) * sum ds * exp (- lambda)
        <= exp (- (rho + INR H * lambda)) * sum ds * exp t) by monotone.
      lra. }
    assert (shrunk : (1 - exp (- (rho + 2 * lambda))) * (k * D) <= (exp (rho + 2 * lambda) - 1) * (k * D)) by monotone.
    assert (shrunk2 : (1 - exp (- (rho + (INR H + 1) * lambda))) * sum ds
      <= (exp (rho + (INR H + 1) * lambda) - 1) * sum ds) by monotone.
    set (X := exp t0 + s * exp t + e - k * d * exp b) in *. split; intros cmp.
    - assert (0 <= X) by (apply Rmult_le_reg_l with c; [easy|lra]). unfold X in *. lra.
    - assert (X <= 0) by (apply Rmult_le_reg_l with c; [easy|lra]). unfold X in *. lra.
  Qed.

  (** All items of the prefix lie below D, and D's side is not the smaller one. *)
  Theorem b20_inside top l r :
    (forall x, In x ds -> x <= D) -> top <= prefix_quotient ds -> 0 <= top -> compared M k d s l r -> r <= l ->
    top - inside top <= D.
  Proof using good hrho ha nonneg some hD computed tree low.
    facts. intros below above t0 form cmp. destruct (b20_condition l r form) as [_ left_out]. specialize (left_out cmp).
    destruct sum_sides as [s0 _]. pose proof (size_at_least_one ds some) as k1. pose proof hl_nonneg as hl.
    pose proof item_loss_nonneg as fi. pose proof (sum_at_most ds D below) as means. unfold condition, inside in *.
    assert (r1 : 0 <= exp compared_log - 1).
    { pose proof (exp_at_least_one compared_log ltac:(unfold compared_log; lra)). lra. }
    assert (r2 : 0 <= exp summed_log - 1).
    { pose proof (exp_at_least_one summed_log ltac:(unfold summed_log; lra)). lra. }
    set (R1 := exp compared_log - 1) in *. set (R2 := exp summed_log - 1) in *. set (F := item_loss) in *.
    destruct (Rle_dec top D) as [easy_case|inner]. { assert (0 <= (2 * R1 + R2) * top) by monotone. lra. }
    destruct (Rle_dec R1 1) as [small|large].
    - set (g := prefix_quotient ds) in *. assert (gk : 1 + sum ds = k * g) by (symmetry; now apply quotient_times).
      replace (1 + k * D + sum ds) with (k * g + k * D) in left_out by lra. rewrite gk in left_out.
      assert (R2 * sum ds <= R2 * (k * D)) by monotone.
      assert (scaled : k * (g - R1 * g - R1 * D - R2 * D - F) <= k * D) by lra. apply Rmult_le_reg_l in scaled; [|lra].
      assert (g0 : (1 - R1) * top <= (1 - R1) * g) by monotone. assert (R1 * D <= R1 * top) by monotone.
      assert (R2 * D <= R2 * top) by monotone. lra.
    - assert (1 * top <= R1 * top) by monotone. assert (0 <= R2 * top) by monotone. lra.
  Qed.
End Condition.

(** ** Supports *)

Section Supports.
  Context (M : arithmetic) (rho a : R) (H : nat -> nat) (good : sound M) (hrho : 0 <= rho) (ha : 0 <= a).
  (** A sum of more items may be higher. *)
  Hypothesis growing : forall i j, (i <= j)%nat -> (H i <= H j)%nat.
  Notation off ds := (condition M rho a (H (length ds)) (size ds)).

  (** Whether D belongs to the support, given the items before it: from their sum with it, or without it. *)
  Inductive tested (before : list R) (D : R) : R -> R -> Prop :=
  | tested_with d s h l r :
      approximates rho a D d -> added M rho a (before ++ [D]) s h -> (h <= H (length (before ++ [D])))%nat ->
      compared M (size (before ++ [D])) d s l r -> tested before D l r
  | tested_without d s h l r :
      approximates rho a D d -> added M rho a before s h -> (h <= H (length before))%nat ->
      compared M (size before) d s l r -> tested before D l r.

  (** The kernel ends before the first item that fails; the largest one needs no test. *)
  Definition kept_support (kept rest : list R) : Prop :=
    kept <> [] /\
    (forall before d others, kept = before ++ d :: others -> before <> [] -> exists l r, tested before d l r /\ l <= r) /\
    match rest with [] => True | d :: _ => exists l r, tested kept d l r /\ r <= l end.

  (** Of a row of n items. *)
  Definition surely_kept (n : nat) (top : R) (least : list R) : Prop :=
    forall before d others, least = before ++ d :: others -> before <> [] ->
      d < top - inside M rho a (H n) top \/
      size (before ++ [d]) * d + off (before ++ [d]) d (sum (before ++ [d])) < 1 + sum (before ++ [d]).

  Definition surely_ended (most rest : list R) : Prop :=
    match rest with
    | [] => True
    | d :: _ => most <> [] /\
                1 + sum (most ++ [d]) + off (most ++ [d]) d (sum (most ++ [d])) < size (most ++ [d]) * d
    end.

  Lemma logs_grow h h' : (h <= h')%nat ->
    exp (summed_log M rho h) <= exp (summed_log M rho h') /\ item_loss M a h <= item_loss M a h'.
  Proof using good ha.
    intros hh. apply le_INR in hh. pose proof (unit_nonneg M good) as fl.
    assert (hl : INR h * unit M <= INR h' * unit M) by monotone. split; [apply exp_le; unfold summed_log; lra|].
    unfold item_loss. apply Rmult_le_compat_r; [unfold sound in good; lra|monotone].
  Qed.

  Lemma condition_grows h h' k k' D total total' :
    (h <= h')%nat -> 0 <= D -> 0 <= k <= k' -> 0 <= total <= total' ->
    condition M rho a h k D total <= condition M rho a h' k' D total'.
  Proof using good hrho ha.
    intros hh hD hk ht. pose proof (unit_nonneg M good). pose proof (item_loss_nonneg M a h' good ha).
    pose proof (hl_nonneg M h good). destruct (logs_grow h h' hh) as [logs losses]. unfold condition.
    pose proof (exp_at_least_one (compared_log M rho) ltac:(unfold compared_log; lra)).
    pose proof (exp_at_least_one (summed_log M rho h) ltac:(unfold summed_log; lra)). assert (k * D <= k' * D) by monotone.
    assert ((exp (compared_log M rho) - 1) * (1 + k * D + total) <= (exp (compared_log M rho) - 1) * (1 + k' * D + total'))
      by monotone.
    assert ((exp (summed_log M rho h) - 1) * total <= (exp (summed_log M rho h') - 1) * total') by monotone.
    assert (k * item_loss M a h <= k' * item_loss M a h') by (apply Rmult_le_compat; [lra|now apply item_loss_nonneg|lra|easy]).
    lra.
  Qed.

  Lemma inside_grows h h' top : (h <= h')%nat -> 0 <= top -> inside M rho a h top <= inside M rho a h' top.
  Proof using good ha. intros hh ht. destruct (logs_grow h h' hh) as [logs losses]. unfold inside. monotone. Qed.

  Lemma with_item before D : sum (before ++ [D]) = sum before + D /\ size (before ++ [D]) = size before + 1.
  Proof using. rewrite sum_app, size_app. split; [f_equal; unfold sum; simpl; ring|easy]. Qed.

  Lemma off_grows before D :
    0 <= D -> 0 <= sum before -> off before D (sum before) <= off (before ++ [D]) D (sum (before ++ [D])).
  Proof using good hrho ha growing.
    intros hD hs. destruct (with_item before D) as [-> ->]. pose proof (size_nonneg before).
    apply condition_grows; [|easy|lra|lra]. apply growing. rewrite app_length. lia.
  Qed.

  (** What either form of the test says of an item. *)
  Lemma tested_says before D l r :
    before <> [] -> Forall (fun x => 0 <= x) (before ++ [D]) -> tested before D l r ->
    let k := size (before ++ [D]) in let total := sum (before ++ [D]) in
    (l <= r -> k * D <= 1 + total + off (before ++ [D]) D total) /\ (r <= l -> 1 + total - off (before ++ [D]) D total <= k * D).
  Proof using good hrho ha growing.
    intros some nonneg test k total. assert (n1 := proj1 (Forall_app _ _ _) nonneg). destruct n1 as [n1 n2]. apply Forall_inv in n2.
    destruct test as [d s h l r computed tree low form|d s h l r computed tree low form].
    - now apply (b20_condition M rho a (H (length (before ++ [D]))) good hrho ha _ D d s h nonneg ltac:(now destruct before) n2 computed tree low l r form).
    - destruct (b20_condition M rho a (H (length before)) good hrho ha _ D d s h n1 some n2 computed tree low l r form) as [up down].
      pose proof (off_grows before D n2 (sum_nonneg before n1)) as more. destruct (with_item before D) as [total_is k_is].
      unfold k, total. rewrite total_is, k_is in *.
      split; intros cmp; [specialize (up cmp)|specialize (down cmp)]; lra.
  Qed.

  Lemma tested_left_out n before D others top l r :
    (length (before ++ [D]) <= n)%nat ->
    before <> [] -> Forall (fun x => 0 <= x) (before ++ [D]) -> ascending (before ++ D :: others) -> 
    is_sparsemax_top top (before ++ D :: others) -> 0 <= top -> tested before D l r -> r <= l ->
    top - inside M rho a (H n) top <= D.
  Proof using good hrho ha growing.
    intros fits some nonneg sorted is t0 test le. assert (n1 := proj1 (Forall_app _ _ _) nonneg). destruct n1 as [n1 n2].
    apply Forall_inv in n2. destruct (ascending_around _ _ _ sorted) as [below _].
    destruct test as [d s h l r computed tree low form|d s h l r computed tree low form].
    - assert (some2 : before ++ [D] <> []) by now destruct before.
      pose proof (inside_grows _ _ top (growing _ _ fits) t0).
      enough (top - inside M rho a (H (length (before ++ [D]))) top <= D) by lra.
      apply (b20_inside M rho a _ good hrho ha (before ++ [D]) D d s h nonneg some2 n2 computed tree low top l r);
        try easy.
      + intros x inx. apply in_app_or in inx as [inx|[<-|[]]]; [auto|lra].
      + apply threshold_below_quotient with others; [easy|]. now rewrite <- app_assoc.
    - assert (shorter : (length before <= n)%nat) by (rewrite app_length in fits; lia).
      pose proof (inside_grows _ _ top (growing _ _ shorter) t0).
      enough (top - inside M rho a (H (length before)) top <= D) by lra.
      apply (b20_inside M rho a _ good hrho ha before D d s h n1 some n2 computed tree low top l r); try easy.
      apply threshold_below_quotient with (D :: others); easy.
  Qed.

  Lemma sorted_prefix_nonneg before D others :
    Forall (fun x => 0 <= x) (before ++ D :: others) -> Forall (fun x => 0 <= x) (before ++ [D]).
  Proof using. rewrite !Forall_app. intros [b o]. split; [easy|]. apply Forall_inv in o. now constructor. Qed.

  (** The mean of a longer prefix is no smaller. *)
  Lemma means_grow l l2 : l <> [] -> ascending (l ++ l2) -> prefix_mean l <= prefix_mean (l ++ l2).
  Proof using.
    intros some sorted. destruct l2 as [|d r]; [rewrite app_nil_r; lra|].
    destruct (ascending_around _ _ _ sorted) as [below above]. pose proof (sum_at_most l d below) as low.
    pose proof (size_pos l some) as p1. pose proof (size_pos (d :: r) ltac:(easy)) as p2.
    assert (high : size (d :: r) * d <= sum (d :: r)) by (apply sum_at_least; intros x [<-|inx]; [lra|auto]).
    unfold prefix_mean. rewrite sum_app, size_app. assert (cross : sum l * size (d :: r) <= size l * sum (d :: r)).
    { apply Rle_trans with (size l * d * size (d :: r)); [monotone|].
      replace (size l * d * size (d :: r)) with (size l * (size (d :: r) * d)) by ring. monotone. }
    apply Rmult_le_reg_r with (size l * (size l + size (d :: r))); [monotone|].
    replace (sum l / size l * (size l * (size l + size (d :: r)))) with (sum l * (size l + size (d :: r))) by (field; lra).
    replace ((sum l + sum (d :: r)) / (size l + size (d :: r)) * (size l * (size l + size (d :: r))))
      with ((sum l + sum (d :: r)) * size l) by (field; lra).
    lra.
  Qed.

  Theorem b20_supports top ds kept rest least beyond most ended :
    Forall (fun x => 0 <= x) ds -> ascending ds -> is_sparsemax_top top ds ->
    ds = kept ++ rest -> kept_support kept rest ->
    ds = least ++ beyond -> least <> [] -> surely_kept (length ds) top least ->
    ds = most ++ ended -> surely_ended most ended ->
    (length least <= length kept <= length most)%nat /\
    top <= prefix_quotient kept <= Rmax (prefix_quotient least) (prefix_quotient most) /\
    prefix_mean kept <= prefix_mean most.
  Proof using good hrho ha growing.
    intros nonneg sorted is eq [some [passed failed]] eq1 some1 sure eq2 over. pose proof (top_nonneg top ds nonneg is) as t0.
    assert (longer : exists l, kept = least ++ l).
    { rewrite eq in eq1. apply app_eq_app in eq1 as [l [[e1 e2]|[e1 e2]]]; [now exists l|].
      destruct l as [|d l]; [exists []; now rewrite app_nil_r in *|exfalso].
      rewrite e2 in failed. destruct failed as [x [y [test le]]]. pose proof (sure kept d l e1 some) as sure_of_d.
      assert (fits : (length (kept ++ [d]) <= length ds)%nat) by (rewrite eq, e2, !app_length; cbn; lia).
      rewrite eq, e2 in nonneg, sorted, is. cbn [app] in *.
      destruct sure_of_d as [near|over_error].
      - pose proof (tested_left_out _ kept d (l ++ beyond) top x y fits some (sorted_prefix_nonneg _ _ _ nonneg) sorted is t0 test le). lra.
      - destruct (tested_says kept d x y some (sorted_prefix_nonneg _ _ _ nonneg) test) as [_ out]. specialize (out le). lra. }
    assert (shorter : exists l, most = kept ++ l).
    { rewrite eq in eq2. apply app_eq_app in eq2 as [l [[e1 e2]|[e1 e2]]]; [|now exists l].
      destruct l as [|d l]; [exists []; now rewrite app_nil_r in *|exfalso].
      rewrite e2 in over. destruct over as [some2 over]. destruct (passed most d l e1 some2) as [x [y [test le]]].
      rewrite eq, e1, <- app_assoc in nonneg. cbn [app] in nonneg.
      destruct (tested_says most d x y some2 (sorted_prefix_nonneg _ _ _ nonneg) test) as [in_ _]. specialize (in_ le). lra. }
    destruct longer as [l1 e1]. destruct shorter as [l2 e2]. split; [|split; [split|]].
    - rewrite e2, e1, !app_length. lia.
    - apply threshold_below_quotient with rest; [easy|]. now rewrite <- eq.
    - rewrite e2, e1, <- app_assoc. apply quotients_between; [easy|]. rewrite eq2, e2, e1, <- !app_assoc in sorted.
      apply ascending_prefix with ended. rewrite <- !app_assoc. exact sorted.
    - rewrite e2. apply means_grow; [easy|]. rewrite <- e2. apply ascending_prefix with ended. now rewrite <- eq2.
  Qed.
End Supports.
