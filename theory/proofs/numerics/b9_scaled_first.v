(** * B9: a score whose scale meets the query, or the key, before the other one does.

    Main result, first_t the factor that is scaled, second_t the other one, r readings of each other's
    - [score_scaled_first]   |score - scale sum x| <= (e^((d + 2 + r) lambda) - 1) |scale| sum |x|
                             + e^((d + 2 + r) lambda) (omega_m sum |second| + d (omega_m + omega_a))

    The roundings are those of [score_error]; what underflows is not: a scaled factor that underflows is multiplied by the other
    one, and no product is scaled any more.

    Source: docs/tolerances.md, B9; score_error in numerics/rounding/rounding_attention.cpp. *)

From softcheck.numerics Require Import score_error added_terms b17_sums.
Local Open Scope R_scope.

Section ScaledFirst.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).
  Notation wm := (product_floor M).
  Context {A : Type} (components : list A) (first second : A -> R) (scale r : R).
  Hypothesis reading : 0 <= r.

  (** A factor as it is scaled, and its product with the other one: both may have been rounded as they were read. *)
  Inductive scaled_term (a : A) : R -> Prop :=
  | scaled_term_computed t0 t f s y :
      Rabs t0 <= r * lambda -> Rabs t <= lambda -> computed_product M (first a * (scale * exp t)) f ->
      s = f * (second a * exp t0) -> computed_product M s y -> scaled_term a y.

  Context (term : A -> R) (y : R) (h : nat).
  Hypothesis terms : forall a, In a components -> scaled_term a (term a).
  Hypothesis tree : added M 0 0 (map term components) y h.
  Hypothesis low : (h <= length components - 1)%nat.
  Hypothesis some : components <> [].
  Notation d := (size components).
  Notation K := ((d + 2 + r) * lambda).
  Notation x := (fun a => first a * second a).

  Definition scaled_first_error : R :=
    (exp K - 1) * (Rabs scale * sum (map (fun a => Rabs (x a)) components))
    + exp K * (wm * sum (map (fun a => Rabs (second a)) components) + d * (wm + wa)).

  Theorem score_scaled_first : Rabs (y - scale * sum (map x components)) <= scaled_first_error.
  Proof using good reading terms tree low some.
    pose proof (unit_nonneg M good) as fl. assert (fm : 0 <= wm) by (unfold sound in good; lra).
    assert (fa : 0 <= wa) by (unfold sound in good; lra). assert (rl : 0 <= r * lambda) by now apply Rmult_le_pos.
    set (b := (2 + r) * lambda). assert (b0 : 0 <= b) by (unfold b; lra).
    set (loss := fun a => Rabs (scale * x a) * (exp b - 1) + exp b * (wm * Rabs (second a))).
    (* each product before its own rounding *)
    assert (each : forall a, In a components -> exists s, computed_product M s (term a) /\ Rabs (s - scale * x a) <= loss a).
    { intros a ina. destruct (terms a ina) as [t0 t f s y' b0' bt [t1 [e1 [b1 [c1 ->]]]] -> prod].
      eexists. split; [exact prod|]. apply abs_between in b0'. apply abs_between in bt. apply abs_between in b1.
      replace ((first a * (scale * exp t) * exp t1 + e1) * (second a * exp t0) - scale * (first a * second a))
        with (scale * (first a * second a) * (exp (t + t1 + t0) - 1) + e1 * second a * exp t0) by (rewrite !exp_plus; ring).
      eapply Rle_trans; [apply Rabs_triang|]. unfold loss. apply Rplus_le_compat.
      - rewrite Rabs_mult. apply Rmult_le_compat_l; [apply Rabs_pos|]. apply expm1_abs. unfold b. apply Rabs_le. lra.
      - rewrite !Rabs_mult, (Rabs_right (exp t0)), Rmult_comm by (left; apply exp_pos).
        apply Rmult_le_compat; [left; apply exp_pos|apply Rmult_le_pos; apply Rabs_pos|apply exp_le; unfold b; lra|].
        apply Rmult_le_compat_r; [apply Rabs_pos|easy]. }
    assert (all : exists ss, Forall2 (approximates lambda wm) ss (map term components) /\
                    perturbed ss (map (fun a => scale * x a) components) (map loss components)).
    { clear tree low some. induction components as [|a l IH]; [exists []; split; constructor|].
      destruct IH as [ss [f p]]; [intros b' inb; apply terms; now right|intros b' inb; apply each; now right|].
      destruct (each a ltac:(now left)) as [s [prod close]]. exists (s :: ss). split; constructor; easy. }
    destruct all as [ss [computed near]].
    assert (tree' : added M lambda wm ss y h) by now apply added_of_terms with (map term components).
    pose proof (perturbed_sum M good lambda wm ss _ _ y h fl fm near tree') as bound.
    unfold perturbed_rounding, added_loss in bound. rewrite magnitude_map, !sum_map_mult_l in bound.
    assert (same : size (map (fun a => scale * x a) components) = d) by (unfold size; now rewrite map_length). rewrite same in bound.
    assert (d1 : 1 <= d) by now apply size_at_least_one.
    assert (higher : INR h <= d - 1).
    { unfold size in *. apply le_INR in low. rewrite minus_INR in low by (apply INR_le; simpl; lra). simpl in low. lra. }
    set (H := INR h * lambda) in *. assert (hH : 0 <= H) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    assert (HK : lambda + H + b <= K).
    { unfold H, b. assert (INR h * lambda <= (d - 1) * lambda) by now apply Rmult_le_compat_r. lra. }
    set (X := sum (map (fun a => Rabs (scale * x a)) components)) in *.
    assert (X_is : X = Rabs scale * sum (map (fun a => Rabs (x a)) components)).
    { unfold X. rewrite <- sum_map_mult_l. apply sum_map_ext. intros. apply Rabs_mult. }
    assert (X0 : 0 <= X) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    set (V := sum (map (fun a => Rabs (second a)) components)). assert (V0 : 0 <= V) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    assert (losses : sum (map loss components) = X * (exp b - 1) + exp b * (wm * V)).
    { unfold loss. rewrite sum_map_plus, sum_map_mult_r, !sum_map_mult_l. easy. }
    rewrite losses in bound. unfold scaled_first_error. rewrite <- X_is. fold V.
    replace (exp (lambda + H) * (X + (X * (exp b - 1) + exp b * (wm * V))) - X)
      with ((exp (lambda + H) * exp b - 1) * X + exp (lambda + H) * exp b * (wm * V)) in bound by ring.
    rewrite <- exp_plus in bound. pose proof (exp_le _ _ HK) as grow.
    assert ((exp (lambda + H + b) - 1) * X <= (exp K - 1) * X) by (apply Rmult_le_compat_r; lra).
    assert (exp (lambda + H + b) * (wm * V) <= exp K * (wm * V)) by (apply Rmult_le_compat_r; [now apply Rmult_le_pos|easy]).
    assert (exp H * (d * wm + (d - 1) * wa) <= exp K * (d * (wm + wa))).
    { apply Rmult_le_compat; [left; apply exp_pos| |apply exp_le; lra|lra].
      assert (0 <= d * wm) by (apply Rmult_le_pos; lra). assert (0 <= (d - 1) * wa) by (apply Rmult_le_pos; lra). lra. }
    lra.
  Qed.
End ScaledFirst.
