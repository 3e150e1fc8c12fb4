(** * B9: a score whose scale is split, and a score that is stored.

    Main result
    - [score_scaled_first]   |score - scale sum x| <= (e^((d + 2 + r) lambda) - 1) |scale| sum |x|
                             + e^((d + 2 + r) lambda) (omega_m sum |second| + d (omega_m + omega_a))

    Main results, root^2 the scale, the root as a kernel holds it within e^(+-lambda_R): computed in double and narrowed,
    lambda_R = lambda_64 + lambda; F = omega_m + floor_in; r readings of each factor
    - [split_factor_near]   a factor times the root, in the inputs' format where it is stored: e^(+-k) and e^k F, k = (1 + r) lambda
                            + lambda_R + lambda_in
    - [score_split]         |score - root^2 sum x y| <= (e^K - 1) root^2 sum |x y| + e^K (F (|root| sum (|x| + |y|) + d F) + d (omega_m
                            + omega_a)), K = (d + 4 + 2 r) lambda + 2 lambda_64 + 2 lambda_in
    - [stored_score]        a score that errs by e, stored in a format: e + (e^lambda_v - 1)(|score| + e) + floor_v

    lambda_in and floor_in are 0 where the scaled factor is not stored (scale=split), those of the inputs' format where it is
    (scale=stored).

    Source: docs/tolerances.md, B9; score_error and stored_score_error in numerics/rounding/rounding_attention.cpp. *)

From softcheck.numerics Require Import score_error added_terms b17_sums.
Local Open Scope R_scope.

Section Split.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Context (root lambda_64 lambda_in floor_in r : R).
  Hypothesis losses : 0 <= lambda_64 /\ 0 <= lambda_in /\ 0 <= floor_in /\ 0 <= r.

  Definition factor_log : R := (1 + r) * lambda + root_log M lambda_64 + lambda_in.
  Definition factor_floor : R := wm + floor_in.

  Lemma factor_nonneg : 0 <= factor_log /\ 0 <= factor_floor.
  Proof using good losses.
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    destruct losses as [h64 [hin [hf hr]]]. assert (0 <= r * lambda) by monotone.
    unfold factor_log, factor_floor, root_log. lra.
  Qed.

  (** x as it is read, times the root, and stored. *)
  Definition split_factor (x f : R) : Prop :=
    exists t0 t z, Rabs t0 <= r * lambda /\ Rabs t <= root_log M lambda_64 /\
      computed_product M (x * exp t0 * (root * exp t)) z /\ approximates lambda_in floor_in z f.

  Theorem split_factor_near x f :
    split_factor x f ->
    exists w e, Rabs w <= factor_log /\ Rabs e <= exp factor_log * factor_floor /\ f = root * x * exp w + e.
  Proof using good losses.
    intros [t0 [t [z [b0 [bt [[t1 [e1 [b1 [c1 ->]]]] [t2 [e2 [b2 [c2 ->]]]]]]]]]]. destruct losses as [h64 [hin [hf hr]]].
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    assert (rl : 0 <= r * lambda) by monotone. unfold factor_log, root_log in *. apply abs_between in b0, bt, b1, b2.
    set (k := (1 + r) * lambda + (lambda_64 + lambda) + lambda_in).
    assert (k_is : k = lambda + r * lambda + (lambda_64 + lambda) + lambda_in) by (unfold k; ring).
    exists (t0 + t + t1 + t2), (e1 * exp t2 + e2). split; [apply Rabs_le; lra|]. split; [|rewrite !exp_plus; ring].
    pose proof (exp_at_least_one k ltac:(lra)) as k1. triangle.
    rewrite Rabs_mult, (Rabs_right (exp t2)) by (left; apply exp_pos). pose proof (exp_le t2 k ltac:(lra)).
    assert (Rabs e1 * exp t2 <= wm * exp k) by monotone.
    assert (floor_in <= exp k * floor_in) by (rewrite <- (Rmult_1_l floor_in) at 1; apply Rmult_le_compat_r; lra).
    unfold factor_floor. lra.
  Qed.

  Context {A : Type} (components : list A) (first second : A -> R).

  Definition split_term (a : A) (y : R) : Prop :=
    exists f g, split_factor (first a) f /\ split_factor (second a) g /\ computed_product M (f * g) y.

  Context (term : A -> R) (y : R) (h : nat) (terms : forall a, In a components -> split_term a (term a))
    (tree : added M 0 0 (map term components) y h) (low : (h <= length components - 1)%nat) (some : components <> []).
  Notation d := (size components).
  Notation x := (fun a => first a * second a).
  Notation F := factor_floor.
  Notation b := (2 * factor_log).

  Definition split_log : R := (d + 4 + 2 * r) * lambda + 2 * lambda_64 + 2 * lambda_in.
  Definition split_score_error : R :=
    (exp split_log - 1) * (root ^ 2 * sum (map (fun a => Rabs (x a)) components))
    + exp split_log * (F * (Rabs root * sum (map (fun a => Rabs (first a) + Rabs (second a)) components) + d * F) + d * (wm + wa)).

  Lemma split_log_parts : lambda + (d - 1) * lambda + b = split_log.
  Proof using. unfold factor_log, split_log, root_log. ring. Qed.

  Notation lost a := (F * (Rabs root * (Rabs (first a) + Rabs (second a)) + F)).
  Notation loss a := (Rabs (root ^ 2 * x a) * (exp b - 1) + exp b * lost a).

  (** The product of two such factors, before its own rounding. *)
  Lemma factors_near a f g :
    split_factor (first a) f -> split_factor (second a) g -> Rabs (f * g - root ^ 2 * x a) <= loss a.
  Proof using good losses.
    intros first_one second_one. destruct factor_nonneg as [k0 F0].
    destruct (split_factor_near _ _ first_one) as [w1 [e1 [b1 [c1 ->]]]].
    destruct (split_factor_near _ _ second_one) as [w2 [e2 [b2 [c2 ->]]]].
    replace ((root * first a * exp w1 + e1) * (root * second a * exp w2 + e2) - root ^ 2 * (first a * second a))
      with (root ^ 2 * (first a * second a) * (exp (w1 + w2) - 1)
      + (root * first a * exp w1 * e2 + root * second a * exp w2 * e1 + e1 * e2)) by (rewrite exp_plus; ring).
    set (k := factor_log) in *. assert (kk : exp (2 * k) = exp k * exp k) by (rewrite <- exp_plus; f_equal; ring).
    pose proof (exp_pos k) as pk. apply abs_between in b1, b2.
    assert (up : forall z w e, - k <= w <= k -> Rabs e <= exp k * F -> Rabs (root * z * exp w * e)
      <= exp (2 * k) * (F * (Rabs root * Rabs z))).
    { intros z w e hw he. rewrite !Rabs_mult, (Rabs_right (exp w)) by (left; apply exp_pos).
      replace (exp (2 * k) * (F * (Rabs root * Rabs z))) with (Rabs root * Rabs z * exp k * (exp k * F))
        by (rewrite kk; ring).
      assert (0 <= Rabs root * Rabs z) by monotone. monotone. }
    pose proof (up (first a) w1 e2 b1 c2) as u1. pose proof (up (second a) w2 e1 b2 c1) as u2.
    assert (u3 : Rabs (e1 * e2) <= exp (2 * k) * (F * F)).
    { rewrite Rabs_mult. replace (exp (2 * k) * (F * F)) with (exp k * F * (exp k * F)) by (rewrite kk; ring).
      apply Rmult_le_compat; try apply Rabs_pos; easy. }
    triangle. apply Rplus_le_compat.
    - rewrite Rabs_mult. apply Rmult_le_compat_l; [monotone|]. apply expm1_abs, Rabs_le. lra.
    - triangle. eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. lra.
  Qed.

  Lemma split_terms_near l :
    (forall a, In a l -> split_term a (term a)) ->
    exists ss, Forall2 (approximates lambda wm) ss (map term l) /\
      perturbed ss (map (fun a => root ^ 2 * x a) l) (map (fun a => loss a) l).
  Proof using good losses.
    induction l as [|a l IH]; intros all; [exists []; split; constructor|].
    destruct IH as [ss [f p]]; [intros b' inb; apply all; now right|].
    destruct (all a ltac:(now left)) as [u [v [hu [hv prod]]]]. exists (u * v :: ss). split; constructor; try easy.
    now apply factors_near.
  Qed.

  Theorem score_split : Rabs (y - root ^ 2 * sum (map x components)) <= split_score_error.
  Proof using good losses terms tree low some.
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    assert (fa : 0 <= wa) by (unfold sound in good; lra). destruct factor_nonneg as [k0 F0].
    pose proof split_log_parts as parts. destruct (split_terms_near components terms) as [ss [computed near]].
    assert (tree' : added M lambda wm ss y h) by now apply added_of_terms with (map term components).
    pose proof (perturbed_sum M good lambda wm ss _ _ y h fl fm near tree') as bound.
    unfold perturbed_rounding, added_loss in bound. rewrite magnitude_map, !sum_map_mult_l in bound.
    assert (same : size (map (fun a => root ^ 2 * x a) components) = d) by (unfold size; now rewrite map_length).
    rewrite same in bound. assert (d1 : 1 <= d) by now apply size_at_least_one. assert (higher : INR h <= d - 1).
    { unfold size in *. apply le_INR in low. rewrite minus_INR in low by (apply INR_le; simpl; lra). simpl in low.
      lra. }
    set (H := INR h * lambda) in *. assert (hH : 0 <= H) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    assert (HK : lambda + H + b <= split_log).
    { rewrite <- parts. assert (H <= (d - 1) * lambda) by (apply Rmult_le_compat_r; easy). lra. }
    set (X := sum (map (fun a => Rabs (root ^ 2 * x a)) components)) in *.
    assert (X_is : X = root ^ 2 * sum (map (fun a => Rabs (x a)) components)).
    { unfold X. rewrite <- sum_map_mult_l. apply sum_map_ext. intros.
      rewrite Rabs_mult, (Rabs_right (root ^ 2)); [easy|]. apply Rle_ge, pow2_ge_0. }
    assert (X0 : 0 <= X) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    set (V := sum (map (fun a => Rabs (first a) + Rabs (second a)) components)).
    assert (V0 : 0 <= V)
      by (apply sum_map_nonneg; intros a; pose proof (Rabs_pos (first a)); pose proof (Rabs_pos (second a)); lra).
    set (W := F * (Rabs root * V + d * F)). assert (W0 : 0 <= W). { apply Rmult_le_pos; [easy|]. monotone. }
    assert (total : sum (map (fun a => loss a) components) = X * (exp b - 1) + exp b * W).
    { unfold W, V. rewrite sum_map_plus, sum_map_mult_r, sum_map_mult_l. f_equal. f_equal. rewrite sum_map_mult_l.
      f_equal. rewrite sum_map_plus, sum_map_mult_l, sum_map_const. easy. }
    rewrite total in bound. unfold split_score_error. rewrite <- X_is. fold V. fold W.
    replace (exp (lambda + H) * (X + (X * (exp b - 1) + exp b * W)) - X)
      with ((exp (lambda + H) * exp b - 1) * X + exp (lambda + H) * exp b * W) in bound by ring.
    rewrite <- exp_plus in bound. pose proof (exp_le _ _ HK) as grow.
    assert ((exp (lambda + H + b) - 1) * X <= (exp split_log - 1) * X) by monotone.
    assert (exp (lambda + H + b) * W <= exp split_log * W) by monotone.
    assert (exp H * (d * wm + (d - 1) * wa) <= exp split_log * (d * (wm + wa))) by monotone. lra.
  Qed.
End Split.

(** A score as it is stored. *)
Theorem stored_score lambda_v floor_v score computed stored error :
  approximates lambda_v floor_v computed stored -> Rabs (computed - score) <= error ->
  Rabs (stored - score) <= error + (exp lambda_v - 1) * (Rabs score + error) + floor_v.
Proof.
  intros [t [e [bt [be ->]]]] close. pose proof (expm1_abs t lambda_v bt) as grows.
  assert (size : Rabs computed <= Rabs score + error).
  { replace computed with (score + (computed - score)) by ring. triangle. lra. }
  replace (computed * exp t + e - score) with ((computed - score) + computed * (exp t - 1) + e) by ring. triangle.
  eapply Rle_trans; [apply Rplus_le_compat_r, Rabs_triang|]. rewrite Rabs_mult.
  assert (Rabs computed * Rabs (exp t - 1) <= (Rabs score + error) * (exp lambda_v - 1)) by monotone. lra.
Qed.

(** ** B9: a score whose scale meets the query, or the key, before the other one does.

    first_t is the factor that is scaled, second_t the other one, with r readings of each other's.
    The roundings are those of [score_error]; what underflows is not: a scaled factor that underflows is multiplied by the other
    one, and no product is scaled any more.

    Source: docs/tolerances.md, B9; score_error in numerics/rounding/rounding_attention.cpp. *)

Section ScaledFirst.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Context {A : Type} (components : list A) (first second : A -> R) (scale r : R) (reading : 0 <= r).

  (** A factor as it is scaled, and its product with the other one: both may have been rounded as they were read. *)
  Inductive scaled_term (a : A) : R -> Prop :=
  | scaled_term_computed t0 t f s y :
      Rabs t0 <= r * lambda -> Rabs t <= lambda -> computed_product M (first a * (scale * exp t)) f ->
      s = f * (second a * exp t0) -> computed_product M s y -> scaled_term a y.

  Context (term : A -> R) (y : R) (h : nat) (terms : forall a, In a components -> scaled_term a (term a))
    (tree : added M 0 0 (map term components) y h) (low : (h <= length components - 1)%nat) (some : components <> []).
  Notation d := (size components).
  Notation K := ((d + 2 + r) * lambda).
  Notation x := (fun a => first a * second a).

  Definition scaled_first_error : R :=
    (exp K - 1) * (Rabs scale * sum (map (fun a => Rabs (x a)) components))
    + exp K * (wm * sum (map (fun a => Rabs (second a)) components) + d * (wm + wa)).

  Theorem score_scaled_first : Rabs (y - scale * sum (map x components)) <= scaled_first_error.
  Proof using good reading terms tree low some.
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    assert (fa : 0 <= wa) by (unfold sound in good; lra). assert (rl : 0 <= r * lambda) by monotone.
    set (b := (2 + r) * lambda). assert (b0 : 0 <= b) by (unfold b; lra).
    set (loss := fun a => Rabs (scale * x a) * (exp b - 1) + exp b * (wm * Rabs (second a))).
    (* each product before its own rounding *)
    assert (each : forall a, In a components -> exists s, computed_product M s (term a) /\ Rabs (s - scale * x a)
      <= loss a).
    { intros a ina. destruct (terms a ina) as [t0 t f s y' b0' bt [t1 [e1 [b1 [c1 ->]]]] -> prod]. eexists.
      split; [exact prod|]. apply abs_between in b0'. apply abs_between in bt. apply abs_between in b1.
      replace ((first a * (scale * exp t) * exp t1 + e1) * (second a * exp t0) - scale * (first a * second a))
        with (scale * (first a * second a) * (exp (t + t1 + t0) - 1) + e1 * second a * exp t0) by (rewrite !exp_plus; ring).
      triangle. unfold loss. apply Rplus_le_compat.
      - rewrite Rabs_mult. apply Rmult_le_compat_l; [monotone|]. apply expm1_abs. unfold b. apply Rabs_le. lra.
      - rewrite !Rabs_mult, (Rabs_right (exp t0)), Rmult_comm by (left; apply exp_pos).
        apply Rmult_le_compat; [monotone|monotone|apply exp_le; unfold b; lra|]. monotone. }
    assert (all : exists ss, Forall2 (approximates lambda wm) ss (map term components) /\
                    perturbed ss (map (fun a => scale * x a) components) (map loss components)).
    { clear tree low some. induction components as [|a l IH]; [exists []; split; constructor|].
      destruct IH as [ss [f p]]; [intros b' inb; apply terms; now right|intros b' inb; apply each; now right|].
      destruct (each a ltac:(now left)) as [s [prod close]]. exists (s :: ss). split; constructor; easy. }
    destruct all as [ss [computed near]].
    assert (tree' : added M lambda wm ss y h) by now apply added_of_terms with (map term components).
    pose proof (perturbed_sum M good lambda wm ss _ _ y h fl fm near tree') as bound.
    unfold perturbed_rounding, added_loss in bound. rewrite magnitude_map, !sum_map_mult_l in bound.
    assert (same : size (map (fun a => scale * x a) components) = d) by (unfold size; now rewrite map_length).
    rewrite same in bound. assert (d1 : 1 <= d) by now apply size_at_least_one. assert (higher : INR h <= d - 1).
    { unfold size in *. apply le_INR in low. rewrite minus_INR in low by (apply INR_le; simpl; lra). simpl in low.
      lra. }
    set (H := INR h * lambda) in *. assert (hH : 0 <= H) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    assert (HK : lambda + H + b <= K). { unfold H, b. assert (INR h * lambda <= (d - 1) * lambda) by monotone. lra. }
    set (X := sum (map (fun a => Rabs (scale * x a)) components)) in *.
    assert (X_is : X = Rabs scale * sum (map (fun a => Rabs (x a)) components)).
    { unfold X. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. apply Rabs_mult. }
    assert (X0 : 0 <= X) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    set (V := sum (map (fun a => Rabs (second a)) components)).
    assert (V0 : 0 <= V) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    assert (losses : sum (map loss components) = X * (exp b - 1) + exp b * (wm * V)).
    { unfold loss. rewrite sum_map_plus, sum_map_mult_r, !sum_map_mult_l. easy. } rewrite losses in bound.
    unfold scaled_first_error. rewrite <- X_is. fold V.
    replace (exp (lambda + H) * (X + (X * (exp b - 1) + exp b * (wm * V))) - X)
      with ((exp (lambda + H) * exp b - 1) * X + exp (lambda + H) * exp b * (wm * V)) in bound by ring.
    rewrite <- exp_plus in bound. pose proof (exp_le _ _ HK) as grow.
    assert ((exp (lambda + H + b) - 1) * X <= (exp K - 1) * X) by monotone.
    assert (exp (lambda + H + b) * (wm * V) <= exp K * (wm * V)) by monotone.
    assert (exp H * (d * wm + (d - 1) * wa) <= exp K * (d * (wm + wa))) by monotone. lra.
  Qed.
End ScaledFirst.
