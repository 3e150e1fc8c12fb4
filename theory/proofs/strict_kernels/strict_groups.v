(** * Four items that a thread of the strict kernels takes together.

    Main results
    - [largest_covers]   the largest of four is one of them, and none is above it
    - [group_added]      a state with four more items, two compensated additions and one rescaling further on its path

    Source: kernels/block/row_statistics.hpp, add_items. *)

From Coq Require Import ZArith.
From Flocq Require Import Core BinarySingleNaN.
From softcheck.floating_point Require Import relative_error standard_model formats.
From softcheck.numerics Require Import row.
From softcheck.certified Require Import rounded_operations.
From softcheck.strict_kernels Require Import machine_numbers block_row.
From softcheck.strict_kernels Require Import strict_operations strict_exponential strict_weights strict_sums.
From softcheck.strict_kernels Require Import strict_deviations strict_carried strict_state.
Local Open Scope R_scope.

(** z is at least x, of numbers and -inf. *)
Definition covers (z x : f32) : Prop := is_finite x = true -> is_finite z = true /\ val x <= val z.

Lemma covers_itself x : covers x x.
Proof. intros finite. split; [easy|lra]. Qed.

Lemma covers_further z y x : covers z y -> covers y x -> covers z x.
Proof. intros zy yx finite. destruct (yx finite) as [fy le]. destruct (zy fy) as [fz le']. split; [easy|lra]. Qed.

Lemma hidden_below x : is_finite x = true -> less minus_infinity x = true /\ less x minus_infinity = false.
Proof. intros finite. destruct x as [| | |[]]; try discriminate; split; reflexivity. Qed.

Lemma larger_covers x y :
  admissible x -> admissible y -> (larger x y = x \/ larger x y = y) /\ covers (larger x y) x /\ covers (larger x y) y.
Proof.
  intros ax ay. unfold larger. destruct (less x y) eqn:lower.
  - split; [now right|]. split; [|apply covers_itself]. intros finite. destruct ay as [fy| ->].
    + split; [easy|]. apply (less_value x y (val x) (val y)) in lower; [lra|easy|easy].
    + destruct (hidden_below x finite) as [_ not]. rewrite not in lower. discriminate.
  - split; [now left|]. split; [apply covers_itself|]. intros finite. destruct ax as [fx| ->].
    + split; [easy|]. apply Rnot_lt_le. intros lt.
      rewrite (proj2 (less_value x y (val x) (val y) ltac:(easy) ltac:(easy)) lt) in lower. discriminate.
    + destruct (hidden_below y finite) as [yes _]. rewrite yes in lower. discriminate.
Qed.

Definition admissible_group (g : group) : Prop :=
  admissible (item_0 g) /\ admissible (item_1 g) /\ admissible (item_2 g) /\ admissible (item_3 g).

Definition is_item (g : group) (x : f32) : Prop := x = item_0 g \/ x = item_1 g \/ x = item_2 g \/ x = item_3 g.

Theorem largest_covers g :
  admissible_group g -> is_item g (largest_of g) /\ admissible (largest_of g) /\ forall x, is_item g x -> covers (largest_of g) x.
Proof.
  intros [a0 [a1 [a2 a3]]]. unfold largest_of.
  destruct (larger_covers _ _ a0 a1) as [which1 [c0 c1]]. destruct (larger_covers _ _ a2 a3) as [which2 [c2 c3]].
  assert (al : admissible (larger (item_0 g) (item_1 g))) by (destruct which1 as [-> | ->]; easy).
  assert (ar : admissible (larger (item_2 g) (item_3 g))) by (destruct which2 as [-> | ->]; easy).
  destruct (larger_covers _ _ al ar) as [which [cl cr]]. set (l := larger (item_0 g) (item_1 g)) in *.
  set (r := larger (item_2 g) (item_3 g)) in *. split; [|split].
  - unfold is_item. destruct which as [-> | ->]; [destruct which1 as [-> | ->]|destruct which2 as [-> | ->]]; tauto.
  - destruct which as [-> | ->]; easy.
  - intros x [->|[->|[->| ->]]]; [now apply covers_further with l|now apply covers_further with l|
      now apply covers_further with r|now apply covers_further with r].
Qed.

Lemma admissible_defined x : admissible x -> less x plus_infinity = true.
Proof. intros [finite| ->]; [destruct x as [| | |[]]; try discriminate; reflexivity|reflexivity]. Qed.

Section Group.
  Context (A : nat) (step : R) (few : (A <= 12)%nat) (small_step : 0 <= step <= / 2).
  Notation M := (strict_arithmetic A step).
  Notation carried := (carried A step).
  Context (scale : f32) (unit : R) (scale_value : is_value scale unit) (unit_positive : 0 < unit)
    (argument : forall x y a b, is_value x a -> is_value y b -> a <= b -> argued A step (mul (sub x y) scale) (b * unit - a * unit)).
  Notation visible := (visible unit).
  Notation holds := (holds A step unit).

  Lemma hidden_weight m : is_finite m = true -> is_value (exponential (mul (sub minus_infinity m) scale)) 0.
  Proof.
    intros finite. apply far_exponential. destruct scale_value as [finite_scale value].
    assert (infinite : sub minus_infinity m = B754_infinity true) by (destruct m as [| | |]; try discriminate; reflexivity).
    rewrite infinite. destruct scale as [s| | |s mant e bounded]; try discriminate.
    - cbn in value. lra.
    - destruct s; [|reflexivity]. exfalso.
      assert (negative : val (B754_finite true mant e bounded) < 0) by (apply F2R_lt_0; reflexivity). lra.
  Qed.

  Definition kept (out : bool) (x : f32) : list R := if out then [] else visible x.

  Lemma weight_plain m top out x H :
    is_value m top -> admissible x -> covers m x ->
    let (w, d) := weight_of m scale out x in plain_pair A step w d (kept out x) (top * unit) H.
  Proof.
    intros hm adm cov. unfold weight_of, kept. cbv zeta.
    assert (gone : forall w z, is_value w 0 -> plain_pair A step w (mul w (if less zero w then neg z else zero)) [] (top * unit) H).
    { intros w z hw. apply plain_nothing; [exact hw|]. assert (less zero w = false) as ->.
      { destruct (less zero w) eqn:counts; [|easy]. apply (less_value _ _ _ _ zero_value hw) in counts. lra. }
      apply (value_at _ (fl32 (0 * 0))); [|now rewrite Rmult_0_l, fl_0].
      apply mul_value; [exact hw|apply zero_value|]. rewrite Rmult_0_l, Rabs_R0. apply bpow_ge_0. }
    destruct out; [now apply gone|]. unfold strict_state.visible. destruct adm as [finite| ->].
    - rewrite finite. destruct (cov finite) as [_ le]. destruct hm as [fm <-].
      apply (pair_of_item A step few small_step _ _ _ (val m * unit - val x * unit)).
      + now apply argument.
      + apply Rmult_le_compat_r; lra.
      + ring.
    - cbn [is_finite minus_infinity]. apply gone, hidden_weight. now destruct hm.
  Qed.

  Definition kept_group (out : option nat) (g : group) : list R :=
    (kept (is_out out 0) (item_0 g) ++ kept (is_out out 1) (item_1 g)) ++
    (kept (is_out out 2) (item_2 g) ++ kept (is_out out 3) (item_3 g)).

  Lemma weights_added s top l out g H J K :
    is_value (maximum s) top -> admissible_group g -> (forall x, is_item g x -> covers (maximum s) x) -> (2 <= H)%nat ->
    limited (l ++ kept_group out g) H J K -> carried (weights s) (deviations s) l (top * unit) H J K ->
    let after := add_weights s g scale out in
    carried (weights after) (deviations after) (l ++ kept_group out g) (top * unit) (S H) J K.
  Proof.
    intros hm [a0 [a1 [a2 a3]]] cov two lim sums after. unfold after, add_weights. clear after.
    assert (items : is_item g (item_0 g) /\ is_item g (item_1 g) /\ is_item g (item_2 g) /\ is_item g (item_3 g))
      by (unfold is_item; tauto).
    destruct items as [i0 [i1 [i2 i3]]].
    pose proof (weight_plain (maximum s) top (is_out out 0) (item_0 g) 0 hm a0 (cov _ i0)) as p0.
    pose proof (weight_plain (maximum s) top (is_out out 1) (item_1 g) 0 hm a1 (cov _ i1)) as p1.
    pose proof (weight_plain (maximum s) top (is_out out 2) (item_2 g) 0 hm a2 (cov _ i2)) as p2.
    pose proof (weight_plain (maximum s) top (is_out out 3) (item_3 g) 0 hm a3 (cov _ i3)) as p3.
    destruct (weight_of (maximum s) scale (is_out out 0) (item_0 g)) as [w0 d0].
    destruct (weight_of (maximum s) scale (is_out out 1) (item_1 g)) as [w1 d1].
    destruct (weight_of (maximum s) scale (is_out out 2) (item_2 g)) as [w2 d2].
    destruct (weight_of (maximum s) scale (is_out out 3) (item_3 g)) as [w3 d3]. cbn [weights deviations] in *.
    pose proof lim as [few_items _]. unfold kept_group in *. set (k0 := kept (is_out out 0) (item_0 g)) in *.
    set (k1 := kept (is_out out 1) (item_1 g)) in *. set (k2 := kept (is_out out 2) (item_2 g)) in *.
    set (k3 := kept (is_out out 3) (item_3 g)) in *.
    assert (short_all : short (k0 ++ k1) /\ short (k2 ++ k3) /\ short ((k0 ++ k1) ++ k2 ++ k3)).
    { unfold short in *. rewrite !app_length in *. repeat split; lia. } destruct short_all as [s01 [s23 s0123]].
    pose proof (pair_added A step few small_step w0 w1 d0 d1 k0 k1 _ _ _ s01 p0 p1) as p01.
    pose proof (pair_added A step few small_step w2 w3 d2 d3 k2 k3 _ _ _ s23 p2 p3) as p23.
    pose proof (pair_added A step few small_step _ _ _ _ _ _ _ _ _ s0123 p01 p23) as p.
    replace (S H) with (S (max H (S (max (S (max 0 0)) (S (max 0 0)))))) by lia.
    apply (item_added A step few small_step); try easy; cbn; lia.
  Qed.

  Definition visible_group (g : group) : list R :=
    visible (item_0 g) ++ visible (item_1 g) ++ visible (item_2 g) ++ visible (item_3 g).

  Lemma visible_kept g : kept_group None g = visible_group g.
  Proof. unfold kept_group, visible_group, kept. cbn [is_out]. now rewrite <- app_assoc. Qed.

  Lemma left_out_kept g m top :
    is_value m top -> is_item g m ->
    exists k, left_out g m = Some k /\ Permutation (visible_group g) (top * unit :: kept_group (Some k) g).
  Proof.
    intros hm item. unfold left_out. assert (at_top : forall x, same x m = true -> visible x = [top * unit]).
    { intros x equal. unfold strict_state.visible. destruct hm as [finite <-].
      assert (fx : is_finite x = true) by (destruct x as [| [] | |]; destruct m as [| | |[]]; easy). rewrite fx.
      apply (same_value x m (val x) (val m)) in equal; try easy. now rewrite equal. }
    assert (itself : same m m = true) by (now apply (same_value m m top top)). unfold kept_group, visible_group, kept.
    destruct (same (item_0 g) m) eqn:e0; [|destruct (same (item_1 g) m) eqn:e1; [|destruct (same (item_2 g) m) eqn:e2;
      [|destruct (same (item_3 g) m) eqn:e3]]].
    - exists 0%nat. split; [easy|]. cbn [is_out Nat.eqb]. rewrite (at_top _ e0). cbn [app]. apply Permutation_refl.
    - exists 1%nat. split; [easy|]. cbn [is_out Nat.eqb]. rewrite (at_top _ e1), app_nil_r.
      apply Permutation_sym, Permutation_middle.
    - exists 2%nat. split; [easy|]. cbn [is_out Nat.eqb]. rewrite (at_top _ e2). cbn [app]. rewrite app_assoc.
      apply Permutation_sym, Permutation_middle.
    - exists 3%nat. split; [easy|]. cbn [is_out Nat.eqb]. rewrite (at_top _ e3), app_nil_r, !app_assoc.
      apply Permutation_sym. rewrite <- (app_nil_r (_ ++ visible (item_2 g))) at 1. apply Permutation_middle.
    - exfalso. destruct item as [->|[->|[->| ->]]]; congruence.
  Qed.

  Lemma visible_above m top g :
    is_value m top -> (forall x, is_item g x -> covers m x) -> above_all (top * unit) (visible_group g).
  Proof.
    intros hm cov y iny. unfold visible_group, strict_state.visible in iny.
    assert (one : forall x, is_item g x -> In y (if is_finite x then [val x * unit] else []) -> y <= top * unit).
    { intros x item inx. destruct (is_finite x) eqn:finite; [|easy]. destruct inx as [<-|[]].
      destruct (cov x item finite) as [_ le]. destruct hm as [_ <-]. apply Rmult_le_compat_r; lra. }
    apply in_app_or in iny as [iny|iny]; [apply (one (item_0 g)); unfold is_item; tauto|].
    apply in_app_or in iny as [iny|iny]; [apply (one (item_1 g)); unfold is_item; tauto|].
    apply in_app_or in iny as [iny|iny]; [apply (one (item_2 g))|apply (one (item_3 g))]; unfold is_item; tauto.
  Qed.

  Lemma kept_below r out g : above_all r (visible_group g) -> above_all r (kept_group out g).
  Proof.
    intros above y iny. apply above. unfold kept_group, visible_group, kept in *.
    repeat (apply in_app_or in iny as [iny|iny]); try apply in_app_or in iny as [iny|iny];
      rewrite !in_app_iff;
      repeat match goal with H : In y (if ?b then [] else _) |- _ => destruct b; [easy|] end; tauto.
  Qed.

  Theorem group_added s l g H J :
    admissible_group g -> (2 <= H)%nat ->
    limited (l ++ visible_group g) (S (S H)) (S J) (length (l ++ visible_group g)) -> holds s l H J ->
    holds (add_group scale s g) (l ++ visible_group g) (S (S H)) (S J).
  Proof.
    intros adm two lim held. destruct (largest_covers g adm) as [item [adm_l cov]]. set (top := largest_of g) in *.
    assert (def_g : all_defined g = true).
    { destruct adm as [a0 [a1 [a2 a3]]]. unfold all_defined. now rewrite !admissible_defined. }
    assert (def_s : defined s = true).
    { destruct held as [-> hm hw|m l' K hm]; [unfold defined; now rewrite hm|now apply (finite_not_empty s m)]. }
    unfold add_group. rewrite def_g, def_s. cbn [negb orb]. fold top.
    destruct adm_l as [finite|hidden].
    - assert (not_hidden : same top minus_infinity = false) by (destruct top as [| | |[]]; easy). rewrite not_hidden.
      assert (h_top : is_value top (val top)) by easy.
      destruct (less (maximum s) top) eqn:rises.
      + destruct (left_out_kept g top (val top) h_top item) as [k [-> perm]].
        assert (above : above_all (val top * unit) l).
        { destruct held as [-> hm hw|m l' K hm perm' above' hK sums]; [easy|].
          apply (less_value _ _ _ _ hm h_top) in rises. intros x inx. apply (Permutation_in x perm') in inx.
          assert (m * unit <= val top * unit) by (apply Rmult_le_compat_r; lra).
          destruct inx as [<-|inx]; [easy|]. specialize (above' x inx). lra. }
        pose proof (Permutation_length perm) as count. cbn in count.
        destruct (maximum_raised A step few small_step scale unit unit_positive argument s l H J top (val top))
          as [K [hK raised]]; try easy.
        { apply limited_less with (l ++ visible_group g) (S (S H)) (S J) (length (l ++ visible_group g)); try easy;
            rewrite ?app_length; lia. }
        assert (maximum_is : maximum (raise_maximum s top scale) = top).
        { unfold raise_maximum. destruct (empty s); [easy|]. cbv zeta. now destruct (less zero _). }
        apply holds_items with (val top) (l ++ kept_group (Some k) g) K.
        * unfold add_weights. repeat destruct (weight_of _ _ _ _). cbn [maximum]. now rewrite maximum_is.
        * apply Permutation_trans with (l ++ val top * unit :: kept_group (Some k) g); [now apply Permutation_app_head|].
          apply Permutation_sym, Permutation_middle.
        * apply app_above_all; [easy|]. apply kept_below. now apply visible_above with top.
        * rewrite app_length. lia.
        * apply weights_added; try easy; [now rewrite maximum_is|now rewrite maximum_is|lia|].
          apply limited_less with (l ++ visible_group g) (S (S H)) (S J) (length (l ++ visible_group g)); try easy;
            rewrite ?app_length; lia.
      + destruct held as [-> hm hw|m l' K hm perm above hK sums].
        * destruct (hidden_below top finite) as [yes _]. rewrite hm in rises. congruence.
        * assert (le : val top <= m).
          { apply Rnot_lt_le. intros lt. rewrite (proj2 (less_value _ _ _ _ hm h_top) lt) in rises. discriminate. }
          assert (cov_m : forall x, is_item g x -> covers (maximum s) x).
          { intros x is_one. apply covers_further with top; [|now apply cov]. intros _. destruct hm as [fm <-]. now split. }
          pose proof (Permutation_length perm) as count. cbn in count.
          apply holds_items with m (l' ++ visible_group g) K.
          -- unfold add_weights. now repeat destruct (weight_of _ _ _ _).
          -- now apply (Permutation_app_tail (visible_group g)) in perm.
          -- apply app_above_all; [easy|]. now apply visible_above with (maximum s).
          -- rewrite app_length. lia.
          -- rewrite <- visible_kept. apply (carried_wider A step) with (S H) J K; try lia.
             apply weights_added; try easy. rewrite visible_kept.
             apply limited_less with (l ++ visible_group g) (S (S H)) (S J) (length (l ++ visible_group g)); try easy;
               rewrite ?app_length; lia.
    - assert (is_hidden : same top minus_infinity = true) by (rewrite hidden; reflexivity). rewrite is_hidden.
      assert (nothing : visible_group g = []).
      { assert (gone : forall x, is_item g x -> visible x = []).
        { intros x is_one. unfold strict_state.visible. destruct (is_finite x) eqn:finite; [|easy].
          destruct (cov x is_one finite) as [not_finite _]. now rewrite hidden in not_finite. }
        unfold visible_group. rewrite !gone by (unfold is_item; tauto). easy. }
      rewrite nothing, app_nil_r. apply (holds_wider A step unit) with H J; try lia. easy.
  Qed.
End Group.
