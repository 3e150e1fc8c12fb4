(** * B17: the gradient of one query, from the errors of its coefficients to dq.

    Main results
    - [b17_delta]   delta from a saved O, as sum p g or from a recomputed O: within E_delta, the largest of the three errors
    - [b17_pair]    dS of one key: within eps_j; b17_value_product, b17_delta and b17_score_gradient put together
    - [b17_query]   dq = scale sum p (g - delta) k: that behind b17_score_gradient_sum
    - [b17_capped_pair], [b17_capped_query]   the same behind a softcap, dS = p (g - delta) slope: b17_softcap
    - [b17_query_split]   dq where the scale's root meets both factors, or a factor is stored: b17_split_gradient_sum
    - [b17_key]         dk = scale sum p (g - delta) q: b17_pair of each query behind b17_score_gradient_sum
    - [b17_key_split]   the same where the scale's root meets both factors, or a factor is stored: b17_split_gradient_sum
    - [b17_value]       dv = sum p dO: the coefficients as they meet dO, behind b17_value_gradient

    The coefficients and omega_j are those of b17_coefficient; p meets g and v in a format of its own.

    Source: docs/tolerances/attention_backward.md; attention_backward_pairs and score_gradient_sum_error in
    numerics/rounding/rounding_attention_backward.cpp. *)

From softcheck.numerics Require Import b5_logsumexp added_terms b17_sums b17_delta b17_softcap.
Local Open Scope R_scope.

Lemma approximates_twice a l b l' x y z :
  approximates a l x y -> approximates b l' y z -> approximates (a + b) (l * exp b + l') x z.
Proof.
  intros [t [e [bt [be ->]]]] [t' [e' [bt' [be' ->]]]]. exists (t + t'), (e * exp t' + e'). apply abs_between in bt.
  apply abs_between in bt' as range. repeat split; [apply Rabs_le; lra| |rewrite exp_plus; ring]. triangle.
  apply Rplus_le_compat; [|easy]. rewrite Rabs_mult, (Rabs_right (exp t')) by (left; apply exp_pos).
  apply Rmult_le_compat; [apply Rabs_pos|left; apply exp_pos|easy|apply exp_le; lra].
Qed.

Section Query.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Context {A B : Type} (keys : list A) (components : list B) (visible : components <> []) (dO : B -> R)
    (v : A -> B -> R) (k : A -> R) (scale : R) (p p_hat p_met omega : A -> R) (lost : R).
  (** r and lt of the products and sums; the formats of p, of a saved O and of dS; the heights d, over components, and h, over keys. *)
  Context (r lt unit_P floor_P lambda_O unit_dS floor_dS : R) (d h : nat)
    (losses : 0 <= r /\ 0 <= lt /\ 0 <= lost /\ 0 <= unit_P /\ 0 <= floor_P /\ 0 <= lambda_O /\ 0 <= unit_dS /\ 0 <= floor_dS)
    (coefficients : forall a, In a keys -> 0 <= p a /\ 0 <= omega a /\ approximates (omega a) (exp (omega a) * lost) (p a) (p_hat a) /\ approximates unit_P floor_P (p_hat a) (p_met a))
    (g_hat : A -> R)
    (products : forall a, In a keys -> exists h', (h' <= d)%nat /\ added M (2 * r + lambda) lt (map (fun c => dO c * v a c) components) (g_hat a) h').

  Notation g := (value_product components dO v).
  Notation mu := (value_size components dO v).
  Notation exact_delta := (delta keys components dO v p).
  Notation exact_output := (output keys v p).
  Definition met_log (a : A) : R := omega a + unit_P.
  Definition met_loss (a : A) : R := exp (omega a) * lost * exp unit_P + floor_P.
  Definition product_loss : R := added_loss M lt d (map dO components).
  Definition gamma (a : A) : R := (exp (products_log M r d) - 1) * mu a + product_loss.
  Definition output_loss (c : B) : R := weighted_loss M keys r lt h met_loss (fun a => v a c).

  Lemma loss_growing h' (f : B -> R) : (h' <= d)%nat -> 0 <= added_loss M lt h' (map f components) <= product_loss.
  Proof using good visible losses.
    intros low. destruct losses as [hr [hlt _]]. pose proof (unit_nonneg M good) as fl.
    assert (fa : 0 <= sum_floor M) by (unfold sound in good; lra). unfold product_loss, added_loss.
    assert (many : 1 <= size (map dO components)).
    { apply size_at_least_one. intros none. apply map_eq_nil in none. contradiction. }
    replace (size (map f components)) with (size (map dO components)) by (unfold size; now rewrite !map_length).
    set (n := size (map dO components)) in *.
    assert (g0 : 0 <= n * lt + (n - 1) * sum_floor M).
    { assert (0 <= n * lt) by (apply Rmult_le_pos; lra). assert (0 <= (n - 1) * sum_floor M) by (apply Rmult_le_pos; lra). lra. }
    split; [apply Rmult_le_pos; [left; apply exp_pos|easy]|]. apply Rmult_le_compat_r; [easy|]. apply exp_le.
    apply Rmult_le_compat_r; [easy|now apply le_INR].
  Qed.

  Lemma met a : In a keys -> 0 <= p a /\ 0 <= met_log a /\ 0 <= met_loss a /\ approximates (met_log a) (met_loss a) (p a) (p_met a).
  Proof using losses coefficients.
    intros ina. destruct (coefficients a ina) as [hp [hw [near stored]]]. destruct losses as [_ [_ [hl [hu [hf _]]]]].
    split; [easy|]. split; [unfold met_log; lra|]. split.
    - unfold met_loss. assert (0 <= exp (omega a) * lost * exp unit_P); [|lra].
      apply Rmult_le_pos; [apply Rmult_le_pos; [left; apply exp_pos|easy]|left; apply exp_pos].
    - now apply approximates_twice with (p_hat a).
  Qed.

  Lemma product_near a : In a keys -> Rabs (g_hat a - g a) <= gamma a.
  Proof using good visible losses products.
    intros ina. destruct (products a ina) as [h' [low tree]]. destruct losses as [hr [hlt _]].
    pose proof (b17_value_product M good components dO v r d hr a lt _ h' hlt low tree).
    pose proof (loss_growing h' dO low). unfold gamma. lra.
  Qed.

  Inductive computed_delta : R -> Prop :=
  | delta_saved z h' :
      (h' <= d)%nat -> added M (2 * r + lambda_O + lambda) lt (map (fun c => dO c * exact_output c) components) z h' ->
      computed_delta z
  | delta_of_products z : added M lambda lt (map (fun a => p_met a * g_hat a) keys) z h -> computed_delta z
  (** The format in which it is stored, if it is, is a part of its terms' log error and of lt. *)
  | delta_of_output O_hat z h' :
      (forall c, In c components -> added M (r + lambda) lt (map (fun a => p_met a * v a c) keys) (O_hat c) h) ->
      (h' <= d)%nat -> added M (r + lambda_O + lambda) lt (map (fun c => dO c * O_hat c) components) z h' -> computed_delta z.

  Notation recomputed := (recomputed_delta_rounding M keys components dO v p met_log r d h).
  Definition saved_delta_error : R :=
    (exp (products_log M r d + lambda_O) - 1) * sum (map (fun c => Rabs (dO c * exact_output c)) components) + product_loss.
  Definition products_delta_error : R :=
    recomputed 0 + (products_delta_loss M keys components dO v p met_log met_loss r d h product_loss + added_loss M lt h (map p keys)).
  Definition output_delta_error : R :=
    recomputed lambda_O + (exp ((INR d + 1) * lambda + r + lambda_O) * sum (map (fun c => Rabs (dO c) * output_loss c) components) + product_loss).
  (** E_delta *)
  Definition delta_error : R := Rmax saved_delta_error (Rmax products_delta_error output_delta_error).

  Theorem b17_delta z : computed_delta z -> Rabs (z - exact_delta) <= delta_error.
  Proof using good visible losses coefficients products.
    destruct losses as [hr [hlt [hl [hu [hf [hO _]]]]]]. pose proof (loss_growing d dO (Nat.le_refl d)) as [gl0 _].
    change (added_loss M lt d (map dO components)) with product_loss in gl0.
    assert (signs : forall a, In a keys -> 0 <= p a /\ 0 <= met_log a /\ 0 <= met_loss a).
    { intros a ina. destruct (met a ina) as [x1 [x2 [x3 _]]]. easy. }
    intros [z' h' low tree|z' tree|O_hat z' h' outs low tree]; unfold delta_error.
    - eapply Rle_trans; [|apply Rmax_l]. pose proof (loss_growing h' dO low).
      pose proof (b17_delta_saved M good keys components dO v p r d hr lambda_O lt z' h' hO hlt low tree).
      unfold saved_delta_error. lra.
    - eapply Rle_trans; [|eapply Rle_trans; [apply Rmax_l|apply Rmax_r]]. unfold products_delta_error.
      apply (b17_delta_of_products M good keys components dO v p met_log met_loss r d hr h signs p_met g_hat product_loss lt z' gl0 hlt);
        [|easy].
      intros a ina. split; [apply (met a ina)|]. now apply product_near.
    - eapply Rle_trans; [|eapply Rle_trans; [apply Rmax_r|apply Rmax_r]]. unfold output_delta_error.
      pose proof (loss_growing h' dO low) as [_ grows].
      assert (each : forall c, In c components ->
                Rabs (O_hat c - exact_output c) <= output_rounding M keys v p met_log r h c + output_loss c /\ 0 <= output_loss c).
      { intros c inc. split.
        - apply (b17_weighted_sum M good keys r lt h hr hlt p p_met met_log met_loss (fun a => v a c) (O_hat c)); [|now apply outs].
          intros a ina. now apply met.
        - unfold output_loss, weighted_loss. assert (rl : 0 <= r + lambda) by (pose proof (unit_nonneg M good); lra).
          destruct (added_nonneg M good (r + lambda) lt _ (O_hat c) h rl hlt (outs c inc)) as [_ n0].
          rewrite (added_loss_of M lt h keys _ (fun a => v a c)) in n0.
          assert (0 <= exp (r + (INR h + 1) * lambda) * sum (map (fun a => Rabs (v a c) * met_loss a) keys)); [|lra].
          apply Rmult_le_pos; [left; apply exp_pos|]. apply sum_map_nonneg. intros a ina.
          apply Rmult_le_pos; [apply Rabs_pos|apply (signs a ina)]. }
      pose proof (b17_delta_of_output M good keys components dO v p met_log met_loss r d hr h signs lambda_O O_hat output_loss lt z' h' hO
                    ltac:(intros c inc; apply (each c inc)) hlt low ltac:(intros c inc; apply (each c inc)) tree). lra.
  Qed.

  (** ** dS of each key, and dq *)

  Context (delta_hat : R) (common : computed_delta delta_hat).

  (** dS_a as it meets queries and keys. *)
  Inductive computed_pair (a : A) : R -> Prop :=
  | pair_computed difference product dS_hat :
      computed_sum M (g_hat a - delta_hat) difference -> computed_product M (p_hat a * difference) product ->
      approximates unit_dS floor_dS product dS_hat -> computed_pair a dS_hat.

  (** eps_j *)
  Definition pair_error (a : A) : R :=
    score_gradient_error M (p a) (omega a) (g a) exact_delta (gamma a) delta_error unit_dS
    + score_gradient_loss M (p a) (omega a) lost (g a) exact_delta (gamma a) delta_error unit_dS floor_dS.
  Definition pair_gradient (a : A) : R := p a * (g a - exact_delta).

  Theorem b17_pair a dS_hat : In a keys -> computed_pair a dS_hat -> Rabs (dS_hat - pair_gradient a) <= pair_error a.
  Proof using good visible losses coefficients products common.
    intros ina [x y dS hx hy store]. destruct losses as [hr [hlt [hl [hu [hf [hO [hdS hfS]]]]]]].
    destruct (coefficients a ina) as [hp [hw [near _]]].
    apply (b17_score_gradient M good (p a) (omega a) lost (g a) exact_delta (gamma a) delta_error unit_dS floor_dS hp); [easy|].
    apply score_gradient_computed with (p_hat a) (g_hat a) delta_hat x y; try easy; [now apply product_near|now apply b17_delta].
  Qed.

  (** Behind a softcap, whose slope as computed is s_hat. *)
  Inductive computed_capped_pair (a : A) (s_hat : R) : R -> Prop :=
  | capped_behind difference product sloped dS_hat :
      computed_sum M (g_hat a - delta_hat) difference -> computed_product M (p_hat a * difference) product ->
      computed_product M (product * s_hat) sloped -> approximates unit_dS floor_dS sloped dS_hat -> computed_capped_pair a s_hat dS_hat
  | capped_first difference sloped product dS_hat :
      computed_sum M (g_hat a - delta_hat) difference -> computed_product M (difference * s_hat) sloped ->
      computed_product M (p_hat a * sloped) product -> approximates unit_dS floor_dS product dS_hat -> computed_capped_pair a s_hat dS_hat.

  Definition capped_pair_error (slope off_slope : A -> R) (a : A) : R :=
    capped_error M (p a) (omega a) (g a) exact_delta (gamma a) delta_error (slope a) (off_slope a) unit_dS
    + capped_loss M (p a) (omega a) lost (g a) exact_delta (gamma a) delta_error (slope a) (off_slope a) unit_dS floor_dS.
  Definition capped_pair_gradient (slope : A -> R) (a : A) : R := p a * ((g a - exact_delta) * slope a).

  Theorem b17_capped_pair slope off_slope a s_hat dS_hat :
    In a keys -> 0 <= slope a -> Rabs (s_hat - slope a) <= off_slope a -> computed_capped_pair a s_hat dS_hat ->
    Rabs (dS_hat - capped_pair_gradient slope a) <= capped_pair_error slope off_slope a.
  Proof using good visible losses coefficients products common.
    intros ina hs close form. destruct losses as [hr [hlt [hl [hu [hf [hO [hdS hfS]]]]]]].
    destruct (coefficients a ina) as [hp [hw [near _]]].
    apply (b17_capped_gradient M good (p a) (omega a) lost (g a) exact_delta (gamma a) delta_error (slope a) (off_slope a)
             unit_dS floor_dS hp); [easy|].
    destruct form as [x y z dS h1 h2 h3 h4|x y z dS h1 h2 h3 h4].
    - apply slope_behind with (p_hat a) (g_hat a) delta_hat s_hat x y z; try easy; [now apply product_near|now apply b17_delta].
    - apply slope_first with (p_hat a) (g_hat a) delta_hat s_hat x y z; try easy; [now apply product_near|now apply b17_delta].
  Qed.

  Theorem b17_capped_query slope off_slope s_hat dS_hat z u_out floor_out dq :
    (forall a, In a keys -> 0 <= slope a /\ Rabs (s_hat a - slope a) <= off_slope a /\ computed_capped_pair a (s_hat a) (dS_hat a)) ->
    scaled_sum M keys r lt h dS_hat k scale z -> rounded_output u_out floor_out z dq ->
    let exact := scale * sum (map (fun a => capped_pair_gradient slope a * k a) keys) in
    let rounding := gradient_sum_rounding M keys r h (capped_pair_gradient slope) (capped_pair_error slope off_slope) k scale in
    Rabs (dq - exact)
    <= rounding + u_out * (Rabs exact + rounding) + (gradient_sum_loss M keys lt h k scale * (1 + u_out) + floor_out).
  Proof using good visible losses coefficients products common.
    intros each total out exact.
    apply (b17_score_gradient_sum M good keys r lt h (proj1 losses) (proj1 (proj2 losses)) (capped_pair_gradient slope) dS_hat
             (capped_pair_error slope off_slope) k scale z); [|easy|easy].
    intros a ina. destruct (each a ina) as [hs [close form]]. now apply b17_capped_pair with (s_hat a).
  Qed.

  Context (dS_hat : A -> R) (z : R) (gradients : forall a, In a keys -> computed_pair a (dS_hat a)).
  Definition query_rounding : R := gradient_sum_rounding M keys r h pair_gradient pair_error k scale.
  Definition query_loss : R := gradient_sum_loss M keys lt h k scale.

  Theorem b17_query u_out floor_out dq :
    scaled_sum M keys r lt h dS_hat k scale z -> rounded_output u_out floor_out z dq ->
    let exact := scale * sum (map (fun a => pair_gradient a * k a) keys) in
    Rabs (dq - exact) <= query_rounding + u_out * (Rabs exact + query_rounding) + (query_loss * (1 + u_out) + floor_out).
  Proof using good visible losses coefficients products common gradients.
    intros total out exact.
    apply (b17_score_gradient_sum M good keys r lt h (proj1 losses) (proj1 (proj2 losses)) pair_gradient dS_hat pair_error k scale z);
      [|easy|easy].
    intros a ina. now apply b17_pair; [|apply gradients].
  Qed.

  Definition query_split_rounding (s1 s2 c1 c2 : R) : R := split_sum_rounding M keys r h pair_gradient pair_error k s1 s2 c1 c2.
  Definition query_split_loss (s2 c2 : R) : R := split_sum_loss M keys lt h k s2 c2.

  Theorem b17_query_split s1 s2 c1 c2 u_out floor_out dq :
    0 <= c1 /\ 0 <= c2 -> split_sum M keys r lt h dS_hat k s1 s2 c1 c2 z -> rounded_output u_out floor_out z dq ->
    let exact := s1 * s2 * sum (map (fun a => pair_gradient a * k a) keys) in
    let rounding := query_split_rounding s1 s2 c1 c2 in
    Rabs (dq - exact) <= rounding + u_out * (Rabs exact + rounding) + (query_split_loss s2 c2 * (1 + u_out) + floor_out).
  Proof using good visible losses coefficients products common gradients.
    intros factors total out exact.
    apply (b17_split_gradient_output M good keys r lt h (proj1 losses) (proj1 (proj2 losses)) pair_gradient dS_hat pair_error k
             s1 s2 c1 c2 z); [|easy|easy|easy].
    intros a ina. now apply b17_pair; [|apply gradients].
  Qed.
End Query.

(** ** B17: the gradients of one key, from the errors of the coefficients of every query that sees it to dk and dv.

    The queries are those of all heads of a group that see the key, each with keys, weights and delta of its own. Their sums are trees of any shape and order within a height of their own: atomics and splits are such trees.

    Source: docs/tolerances/attention_backward.md, "Sums"; ScoreGradientSum and ValueGradientSum in
    numerics/rounding/rounding_attention_backward.cpp. *)

Section Key.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Context {I A B : Type} (queries : list I) (components : list B) (key : A) (visible : components <> []).
  (** What query i sees, and how: of the group's keys, values and dO of its own head. *)
  Context (keys : I -> list A) (dO : I -> B -> R) (v : A -> B -> R) (seen : forall i, In i queries -> In key (keys i))
    (p p_hat p_met omega g_hat : I -> A -> R) (lost delta_hat : I -> R) (keys_height : I -> nat)
    (r lt unit_P floor_P lambda_O unit_dS floor_dS : R) (d h : nat)
    (losses : 0 <= r /\ 0 <= lt /\ 0 <= unit_P /\ 0 <= floor_P /\ 0 <= lambda_O /\ 0 <= unit_dS /\ 0 <= floor_dS)
    (coefficients : forall i, In i queries -> 0 <= lost i /\ forall a, In a (keys i) -> 0 <= p i a /\ 0 <= omega i a /\ approximates (omega i a) (exp (omega i a) * lost i) (p i a) (p_hat i a) /\ approximates unit_P floor_P (p_hat i a) (p_met i a)).

  Lemma each_loses i :
    In i queries -> 0 <= r /\ 0 <= lt /\ 0 <= lost i /\ 0 <= unit_P /\ 0 <= floor_P /\ 0 <= lambda_O /\ 0 <= unit_dS /\ 0 <= floor_dS.
  Proof using losses coefficients. intros ini. destruct (coefficients i ini) as [hl _]. repeat split; apply losses || easy. Qed.

  (** ** dv, of one component *)

  Section Value.
    Context (c : B) (y : R) (total : added M (r + lambda) lt (map (fun i => p_met i key * dO i c) queries) y h).
    Definition key_weight (i : I) : R := p i key.
    Definition key_log (i : I) : R := met_log (omega i) unit_P key.
    Definition key_loss (i : I) : R := met_loss (omega i) (lost i) unit_P floor_P key.
    Definition value_rounding : R := weighted_rounding M queries r h key_weight key_log (fun i => dO i c).
    Definition value_loss : R := weighted_loss M queries r lt h key_loss (fun i => dO i c).

    Theorem b17_value u_out floor_out dv :
      rounded_output u_out floor_out y dv ->
      let exact := sum (map (fun i => key_weight i * dO i c) queries) in
      Rabs (dv - exact) <= value_rounding + u_out * (Rabs exact + value_rounding) + (value_loss * (1 + u_out) + floor_out).
    Proof using good seen losses coefficients total.
      intros out exact.
      apply (b17_value_gradient M good queries r lt h ltac:(apply losses) ltac:(apply losses) key_weight
               (fun i => p_met i key) key_log key_loss (fun i => dO i c) y); [|easy|easy].
      intros i ini. pose proof (each_loses i ini) as all.
      exact (met (keys i) (p i) (p_hat i) (p_met i) (omega i) (lost i) r lt unit_P floor_P lambda_O unit_dS floor_dS
               all (proj2 (coefficients i ini)) key (seen i ini)).
    Qed.
  End Value.

  (** ** dk, of one component: q is that of each query *)

  Context (q : I -> R) (dS_hat : I -> R) (z : R)
    (products : forall i, In i queries -> forall a, In a (keys i) -> exists h', (h' <= d)%nat /\ added M (2 * r + lambda) lt (map (fun c => dO i c * v a c) components) (g_hat i a) h')
    (deltas : forall i, In i queries -> computed_delta M (keys i) components (dO i) v (p i) (p_met i) r lt lambda_O d (keys_height i) (g_hat i) (delta_hat i))
    (gradients : forall i, In i queries -> computed_pair M (p_hat i) unit_dS floor_dS (g_hat i) (delta_hat i) key (dS_hat i)).

  Definition key_gradient (i : I) : R := pair_gradient (keys i) components (dO i) v (p i) key.
  (** eps of the key in each query's row *)
  Definition key_error (i : I) : R :=
    pair_error M (keys i) components (dO i) v (p i) (omega i) (lost i) r lt unit_P floor_P lambda_O unit_dS floor_dS d
      (keys_height i) key.

  Lemma key_near i : In i queries -> Rabs (dS_hat i - key_gradient i) <= key_error i.
  Proof using good visible seen losses coefficients products deltas gradients.
    intros ini.
    apply (b17_pair M good (keys i) components visible (dO i) v (p i) (p_hat i) (p_met i) (omega i) (lost i) r lt unit_P floor_P
             lambda_O unit_dS floor_dS d (keys_height i) (each_loses i ini) (proj2 (coefficients i ini)) (g_hat i) (products i ini)
             (delta_hat i) (deltas i ini) key (dS_hat i) (seen i ini) (gradients i ini)).
  Qed.

  Section Whole.
    Context (scale : R) (total : scaled_sum M queries r lt h dS_hat q scale z).
    Definition key_rounding : R := gradient_sum_rounding M queries r h key_gradient key_error q scale.
    Definition key_sum_loss : R := gradient_sum_loss M queries lt h q scale.

    Theorem b17_key u_out floor_out dk :
      rounded_output u_out floor_out z dk ->
      let exact := scale * sum (map (fun i => key_gradient i * q i) queries) in
      Rabs (dk - exact) <= key_rounding + u_out * (Rabs exact + key_rounding) + (key_sum_loss * (1 + u_out) + floor_out).
    Proof using good visible seen losses coefficients products deltas gradients total.
      intros out exact.
      now apply (b17_score_gradient_sum M good queries r lt h ltac:(apply losses) ltac:(apply losses) key_gradient dS_hat key_error
                   q scale z key_near).
    Qed.
  End Whole.

  Section SplitScale.
    Context (s1 s2 c1 c2 : R) (factors : 0 <= c1 /\ 0 <= c2)
      (total : split_sum M queries r lt h dS_hat q s1 s2 c1 c2 z).
    Definition key_split_rounding : R := split_sum_rounding M queries r h key_gradient key_error q s1 s2 c1 c2.
    Definition key_split_loss : R := split_sum_loss M queries lt h q s2 c2.

    Theorem b17_key_split u_out floor_out dk :
      rounded_output u_out floor_out z dk ->
      let exact := s1 * s2 * sum (map (fun i => key_gradient i * q i) queries) in
      Rabs (dk - exact)
      <= key_split_rounding + u_out * (Rabs exact + key_split_rounding) + (key_split_loss * (1 + u_out) + floor_out).
    Proof using good visible seen losses coefficients products deltas gradients factors total.
      intros out exact.
      now apply (b17_split_gradient_output M good queries r lt h ltac:(apply losses) ltac:(apply losses) key_gradient dS_hat key_error
                   q s1 s2 c1 c2 z key_near factors).
    Qed.
  End SplitScale.
End Key.
