(** * A score that nothing can round.

    [scored F tie pairs s]: s may be what a kernel computes for sum q k over the pairs, in the format F: products and additions
    rounded to nearest, in any order and any tree, or multiply-adds rounded once.

    Main results, for products that are multiples of one 2^g and of sizes that sum up to at most 2^(g + p)
    - [exact_score]          s is the sum itself: every partial sum in every order is a number of the format
    - [exact_scaled]         so is its product by a scale of plus or minus 2^e
    - [factor_scaled]        a factor's own product by such a scale is exact
    - [exact_scaled_first]   and the score of factors that met such a scale before

    Overflow is left out: no theorem here knows a largest number. Source: docs/tolerances.md, B9; score_is_exact in
    numerics/rounding/rounding_attention.cpp. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From softcheck Require Import softmax.
From softcheck.floating_point Require Import formats.
From softcheck.certified Require Import rounded_operations.
Local Open Scope R_scope.

Section Score.
  Context (F : format) (positive : (0 < prec F)%Z) (tie : Z -> bool).
  Notation rnd := (nearest F tie).

  Inductive scored : list (R * R) -> R -> Prop :=
  | scored_product q k : scored [(q, k)] (rnd (q * k))
  | scored_addition l1 l2 s1 s2 : scored l1 s1 -> scored l2 s2 -> scored (l1 ++ l2) (rnd (s1 + s2))
  | scored_fused l q k s : scored l s -> scored ((q, k) :: l) (rnd (q * k + s))
  | scored_reordered l l' s : scored l s -> Permutation l l' -> scored l' s.

  Definition exact_of (pairs : list (R * R)) : R := sum (map (fun a => fst a * snd a) pairs).
  Definition size_of (pairs : list (R * R)) : R := sum (map (fun a => Rabs (fst a * snd a)) pairs).

  Lemma exact_app l1 l2 : exact_of (l1 ++ l2) = exact_of l1 + exact_of l2.
  Proof. unfold exact_of. now rewrite map_app, sum_app. Qed.

  Lemma size_app l1 l2 : size_of (l1 ++ l2) = size_of l1 + size_of l2.
  Proof. unfold size_of. now rewrite map_app, sum_app. Qed.

  Lemma exact_below_size l : Rabs (exact_of l) <= size_of l.
  Proof.
    induction l as [|a l IH]; [unfold exact_of, size_of, sum; cbn; rewrite Rabs_R0; lra|].
    change (a :: l) with ([a] ++ l). rewrite exact_app, size_app.
    assert (exact_of [a] = fst a * snd a /\ size_of [a] = Rabs (fst a * snd a)) as [-> ->]
      by (unfold exact_of, size_of, sum; cbn; split; ring).
    pose proof (Rabs_triang (fst a * snd a) (exact_of l)). lra.
  Qed.

  Lemma size_nonneg_of l : 0 <= size_of l.
  Proof. pose proof (exact_below_size l). pose proof (Rabs_pos (exact_of l)). lra. Qed.

  Section Grid.
    Context (g : Z) (low : (emin F <= g)%Z).

    Definition on_multiples (x : R) : Prop := exists n, x = IZR n * two_to g.

    (** A multiple of 2^g up to 2^(g + p) is a number of the format. *)
    Lemma multiple_is_number x : on_multiples x -> Rabs x <= two_to (g + prec F) -> rnd x = x.
    Proof using positive low.
      intros [n ->] bound. assert (Prec_gt_0 (prec F)) by exact positive. unfold nearest. apply round_generic; [typeclasses eauto|].
      assert (small : (Z.abs n <= 2 ^ prec F)%Z).
      { apply le_IZR. rewrite abs_IZR, (IZR_Zpower radix2) by lia. apply Rmult_le_reg_r with (two_to g); [apply bpow_gt_0|].
        rewrite <- bpow_plus, Zplus_comm. rewrite Rabs_mult, (Rabs_right (two_to g)) in bound by (apply Rle_ge, bpow_ge_0).
        exact bound. }
      assert (power : generic_format radix2 (FLT_exp (emin F) (prec F)) (two_to (prec F + g))).
      { apply generic_format_bpow. unfold FLT_exp. lia. }
      assert (edge : forall m, m = (2 ^ prec F)%Z -> IZR m * two_to g = two_to (prec F + g)).
      { intros m ->. now rewrite (IZR_Zpower radix2), bpow_plus by lia. }
      destruct (Z.eq_dec (Z.abs n) (2 ^ prec F)) as [at_edge|inside].
      - destruct (Z.abs_spec n) as [[_ same]|[_ same]]; rewrite same in at_edge.
        + rewrite (edge n at_edge). exact power.
        + replace (IZR n * two_to g) with (- (IZR (- n) * two_to g)) by (rewrite opp_IZR; ring).
          rewrite (edge (- n)%Z at_edge). now apply generic_format_opp.
      - apply (number_of_integer F n g); [lia|exact low].
    Qed.

    Lemma multiples_add x y : on_multiples x -> on_multiples y -> on_multiples (x + y).
    Proof. intros [n ->] [m ->]. exists (n + m)%Z. rewrite plus_IZR. ring. Qed.

    Lemma exact_on_multiples l : Forall (fun a => on_multiples (fst a * snd a)) l -> on_multiples (exact_of l).
    Proof.
      induction 1 as [|a l one _ IH]; [exists 0%Z; unfold exact_of, sum; cbn; ring|].
      change (a :: l) with ([a] ++ l). rewrite exact_app. apply multiples_add; [|exact IH].
      destruct one as [n eq]. exists n. rewrite <- eq. unfold exact_of, sum; cbn. ring.
    Qed.

    Theorem exact_score pairs s :
      scored pairs s -> Forall (fun a => on_multiples (fst a * snd a)) pairs -> size_of pairs <= two_to (g + prec F) ->
      s = exact_of pairs.
    Proof using positive low.
      intros computed. induction computed as [q k|l1 l2 s1 s2 _ IH1 _ IH2|l q k s _ IH|l l' s _ IH same]; intros all small.
      - unfold exact_of, size_of, sum in *. cbn in *. inversion all. rewrite Rplus_0_r in *. now apply multiple_is_number.
      - pose proof (exact_on_multiples _ all) as grid. pose proof (exact_below_size (l1 ++ l2)) as bound.
        apply Forall_app in all as [all1 all2]. rewrite size_app, exact_app in *.
        pose proof (size_nonneg_of l1). pose proof (size_nonneg_of l2).
        rewrite (IH1 all1 ltac:(lra)), (IH2 all2 ltac:(lra)). apply multiple_is_number; [exact grid|lra].
      - pose proof (exact_on_multiples _ all) as grid. pose proof (exact_below_size ((q, k) :: l)) as bound.
        change ((q, k) :: l) with ([(q, k)] ++ l) in *. apply Forall_app in all as [_ rest]. rewrite size_app, exact_app in *.
        pose proof (size_nonneg_of [(q, k)]). rewrite (IH rest ltac:(lra)).
        assert (exact_of [(q, k)] = q * k) as same by (unfold exact_of, sum; cbn; ring). rewrite same in *.
        apply multiple_is_number; [exact grid|lra].
      - assert (sums : forall f : R * R -> R, sum (map f l) = sum (map f l'))
          by (intros f; apply sum_permutation; now apply Permutation_map).
        unfold exact_of, size_of in *. rewrite <- sums in *. apply IH; [|lra].
        apply Forall_forall. intros a ina. rewrite Forall_forall in all. apply all. now apply (Permutation_in a same).
    Qed.
  End Grid.

  (** Behind a scale of plus or minus 2^e: the same multiples, of 2^(g + e). *)
  Lemma scaled_multiple g e c x : c = two_to e \/ c = - two_to e -> on_multiples g x -> on_multiples (g + e) (c * x).
  Proof. intros [->| ->] [n ->]; [exists n|exists (- n)%Z]; rewrite bpow_plus, ?opp_IZR; ring. Qed.

  Lemma scaled_size e c : c = two_to e \/ c = - two_to e -> Rabs c = two_to e.
  Proof. pose proof (bpow_gt_0 radix2 e). intros [->| ->]; [rewrite Rabs_right|rewrite Rabs_Ropp, Rabs_right]; lra. Qed.

  Theorem exact_scaled g e c pairs s :
    (emin F <= g)%Z -> (emin F <= g + e)%Z -> c = two_to e \/ c = - two_to e ->
    scored pairs s -> Forall (fun a => on_multiples g (fst a * snd a)) pairs -> size_of pairs <= two_to (g + prec F) ->
    rnd (c * s) = c * exact_of pairs.
  Proof using positive.
    intros low low' power computed all small. rewrite (exact_score g low pairs s computed all small).
    apply (multiple_is_number (g + e) low').
    - apply scaled_multiple; [exact power|now apply exact_on_multiples].
    - rewrite Rabs_mult, (scaled_size e c power). replace (g + e + prec F)%Z with (e + (g + prec F))%Z by ring.
      rewrite bpow_plus. apply Rmult_le_compat_l; [apply bpow_ge_0|]. eapply Rle_trans; [apply exact_below_size|exact small].
  Qed.

  (** A factor's own scaling: its last bit f may not fall below the smallest number. *)
  Theorem factor_scaled f e c q :
    (emin F <= f + e)%Z -> c = two_to e \/ c = - two_to e -> (exists n, q = IZR n * two_to f /\ (Z.abs n < 2 ^ prec F)%Z) ->
    rnd (c * q) = c * q.
  Proof using positive.
    intros low power [n [-> few]]. apply (multiple_is_number (f + e) low).
    - apply scaled_multiple; [exact power|now exists n].
    - rewrite Rabs_mult, (scaled_size e c power), Rabs_mult, (Rabs_right (two_to f)) by (apply Rle_ge, bpow_ge_0).
      replace (f + e + prec F)%Z with (e + (prec F + f))%Z by ring. rewrite !bpow_plus. apply Rmult_le_compat_l; [apply bpow_ge_0|].
      apply Rmult_le_compat_r; [apply bpow_ge_0|]. rewrite <- abs_IZR, <- (IZR_Zpower radix2) by lia. apply IZR_le. change (radix_val radix2) with 2%Z. lia.
  Qed.

  Theorem exact_scaled_first g e c pairs s :
    (emin F <= g + e)%Z -> c = two_to e \/ c = - two_to e ->
    scored (map (fun a => (c * fst a, snd a)) pairs) s ->
    Forall (fun a => on_multiples g (fst a * snd a)) pairs -> size_of pairs <= two_to (g + prec F) ->
    s = c * exact_of pairs.
  Proof using positive.
    intros low power computed all small.
    assert (scaled : forall l, exact_of (map (fun a => (c * fst a, snd a)) l) = c * exact_of l /\
                               size_of (map (fun a => (c * fst a, snd a)) l) = two_to e * size_of l).
    { intros l. unfold exact_of, size_of. rewrite !map_map. cbn [fst snd]. rewrite <- !sum_map_mult_l. split; apply sum_map_ext; intros a _; [ring|].
      now rewrite Rmult_assoc, Rabs_mult, (scaled_size e c power). }
    destruct (scaled pairs) as [<- sized]. apply (exact_score (g + e) low _ _ computed).
    - apply Forall_forall. intros a ina. apply in_map_iff in ina as [b [<- inb]]. cbn [fst snd]. rewrite Forall_forall in all.
      rewrite Rmult_assoc. apply scaled_multiple; [exact power|now apply all].
    - rewrite sized. replace (g + e + prec F)%Z with (e + (g + prec F))%Z by ring. rewrite bpow_plus.
      apply Rmult_le_compat_l; [apply bpow_ge_0|exact small].
  Qed.
End Score.

(** Two products of 3/4 and -1/2 by 3 and 5, quarters, in binary16: -1/4, and -1/8 behind a scale of 1/2. *)
Example exact_score_of_quarters :
  let pairs := [(3 / 4, 3); (- (1 / 2), 5)] in
  scored binary16 (fun n => negb (Z.even n)) pairs (nearest binary16 (fun n => negb (Z.even n))
    (nearest binary16 (fun n => negb (Z.even n)) (3 / 4 * 3) + nearest binary16 (fun n => negb (Z.even n)) (- (1 / 2) * 5))) /\
  Forall (fun a => on_multiples (-2) (fst a * snd a)) pairs /\ size_of pairs <= two_to (-2 + prec binary16) /\
  exact_of pairs = - (1 / 4) /\ (emin binary16 <= -2 + -1)%Z /\ (exists n, 3 / 4 = IZR n * two_to (-2) /\ (Z.abs n < 2 ^ prec binary16)%Z).
Proof.
  cbv zeta. assert (quarter : two_to (-2) = / 4) by (cbn; lra). split; [|split; [|split; [|split; [|split]]]].
  - apply (scored_addition _ _ [(3 / 4, 3)] [(- (1 / 2), 5)]); apply scored_product.
  - constructor; [exists 9%Z; rewrite quarter; cbn; lra|]. constructor; [exists (-10)%Z; rewrite quarter; cbn; lra|constructor].
  - unfold size_of, sum. cbn [map fold_right fst snd prec binary16]. rewrite (Rabs_right (3 / 4 * 3)), (Rabs_left (- (1 / 2) * 5)) by lra.
    change (-2 + 11)%Z with 9%Z. cbn. lra.
  - unfold exact_of, sum. cbn. lra.
  - cbn. lia.
  - exists 3%Z. rewrite quarter. split; [lra|cbn; lia].
Qed.
