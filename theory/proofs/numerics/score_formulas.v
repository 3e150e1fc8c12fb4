(** * A score whose scale is one factor, as a formula: wherever the scale enters, behind the sum or with the query or the key.

    Main results
    - [whole_score_is]       the formula's value
    - [whole_score_behind]   the error of [score_error] is within the formula's value
    - [whole_score_first]    and so is that of [score_scaled_first]

    Where the scale meets a factor first, what underflows of it meets the other one, and no product is scaled any more; behind the
    sum, the scale meets what the products lost. The formula has the first beside the larger of both.

    Source: docs/tolerances.md, B9; score_error in numerics/rounding/rounding_attention.cpp. *)

From Coq Require Import ZArith String.
From softcheck.numerics Require Import formula score_error added_terms b9_split_scale.
Local Open Scope string_scope.

(** [products_scale] is the larger of 1 and the scale; [factor_sum] the sum of the sizes of query and key. *)
Inductive quantity :=
| roundoff | dimension | readings | scale_magnitude | products_scale | dot_magnitude | factor_sum | product_floor | sum_floor.
Definition name (q : quantity) : string :=
  match q with
  | roundoff => "roundoff" | dimension => "dimension" | readings => "readings" | scale_magnitude => "scale_magnitude"
  | products_scale => "products_scale" | dot_magnitude => "dot_magnitude" | factor_sum => "factor_sum"
  | product_floor => "product_floor" | sum_floor => "sum_floor"
  end.

Section Formulas.
  Local Open Scope formula_scope.
  Definition score_log_f :=
    Named "score_log" ((Of dimension + Number 2 + Of readings) * MinusLog1m (Of roundoff)).
  Definition lost_factors_f := Named "lost_factors" (Of product_floor * Of factor_sum).
  Definition lost_products_f :=
    Named "lost_products" (Of products_scale * (Of dimension * (Of product_floor + Of sum_floor))).
  Definition whole_score_f :=
    Named "whole_score"
      (Of scale_magnitude * (Expm1 score_log_f * Of dot_magnitude) + Exp score_log_f * (lost_factors_f + lost_products_f)
       + Of product_floor).
  Definition score_formulas : list (formula quantity) := [score_log_f; lost_factors_f; lost_products_f; whole_score_f].
End Formulas.

Local Open Scope R_scope.

Section Values.
  Context (M : arithmetic) (good : sound M) (d r scale dot V : R).

  Definition is (q : quantity) : R :=
    match q with
    | roundoff => standard_model.roundoff M
    | dimension => d
    | readings => r
    | scale_magnitude => Rabs scale
    | products_scale => Rmax (Rabs scale) 1
    | dot_magnitude => dot
    | factor_sum => V
    | product_floor => standard_model.product_floor M
    | sum_floor => standard_model.sum_floor M
    end.
  Notation wm := (standard_model.product_floor M).
  Notation wa := (standard_model.sum_floor M).
  Notation k := ((d + 2 + r) * unit M).

  Theorem whole_score_is :
    value is false whole_score_f
    = Rabs scale * ((exp k - 1) * dot) + exp k * (wm * V + Rmax (Rabs scale) 1 * (d * (wm + wa))) + wm.
  Proof. reflexivity. Qed.

  Lemma losses_nonneg : 0 <= d -> 0 <= wm /\ 0 <= d * (wm + wa).
  Proof using good.
    intros hd. assert (0 <= wm) by (unfold sound in good; lra). assert (0 <= wa) by (unfold sound in good; lra).
    split; [easy|]. apply Rmult_le_pos; lra.
  Qed.
End Values.

Section Covered.
  Context (M : arithmetic) (good : sound M).

  Theorem whole_score_behind r scale t xs y h score V :
    dotted M ((1 + INR r) * unit M) (standard_model.product_floor M) xs y h -> (h <= length xs - 1)%nat -> Rabs t <= unit M ->
    computed_product M (y * (scale * exp t)) score -> 0 <= V ->
    Rabs (score - scale * sum xs) <= value (is M (size xs) (INR r) scale (magnitude xs) V) false whole_score_f.
  Proof using good.
    intros dot low bt hs hV. pose proof (score_error M good r scale t xs y h score dot low bt hs) as bound. cbv zeta in bound.
    rewrite whole_score_is. eapply Rle_trans; [exact bound|]. set (k := (size xs + 2 + INR r) * unit M).
    assert (hd : 0 <= size xs) by apply pos_INR. destruct (losses_nonneg M good (size xs) hd) as [wm lost].
    pose proof (exp_pos k). pose proof (Rmax_l (Rabs scale) 1).
    set (wd := size xs * (standard_model.product_floor M + standard_model.sum_floor M)) in *.
    assert (Rabs scale * wd <= Rmax (Rabs scale) 1 * wd) by now apply Rmult_le_compat_r.
    assert (0 <= standard_model.product_floor M * V) by now apply Rmult_le_pos.
    assert (exp k * (Rabs scale * wd)
            <= exp k * (standard_model.product_floor M * V + Rmax (Rabs scale) 1 * wd)) by (apply Rmult_le_compat_l; lra).
    lra.
  Qed.

  Theorem whole_score_first {A : Type} (components : list A) first second scale r term y h V :
    0 <= r -> (forall a, In a components -> scaled_term M first second scale r a (term a)) ->
    added M 0 0 (map term components) y h -> (h <= length components - 1)%nat -> components <> [] ->
    sum (map (fun a => Rabs (second a)) components) <= V ->
    Rabs (y - scale * sum (map (fun a => first a * second a) components))
    <= value (is M (size components) r scale (sum (map (fun a => Rabs (first a * second a)) components)) V) false whole_score_f.
  Proof using good.
    intros hr terms tree low some within.
    pose proof (score_scaled_first M good components first second scale r hr term y h terms tree low some) as bound.
    rewrite whole_score_is. eapply Rle_trans; [exact bound|]. unfold scaled_first_error.
    set (k := (size components + 2 + r) * unit M).
    assert (hd : 0 <= size components) by apply pos_INR. destruct (losses_nonneg M good (size components) hd) as [wm lost].
    pose proof (exp_pos k). pose proof (Rmax_r (Rabs scale) 1).
    set (wd := size components * (standard_model.product_floor M + standard_model.sum_floor M)) in *.
    assert (1 * wd <= Rmax (Rabs scale) 1 * wd) by now apply Rmult_le_compat_r.
    set (W := sum (map (fun a => Rabs (second a)) components)) in *.
    assert (standard_model.product_floor M * W <= standard_model.product_floor M * V) by now apply Rmult_le_compat_l.
    assert (exp k * (standard_model.product_floor M * W + wd)
            <= exp k * (standard_model.product_floor M * V + Rmax (Rabs scale) 1 * wd)) by (apply Rmult_le_compat_l; lra).
    lra.
  Qed.
End Covered.
