(** * Adaptive temperature: what the published quartic does, and what it does to softmax (paper, Figure 4).

    Main results (P the quartic, beta(H) = max(P(H), 1) if H > 0.5 else 1)
    - [active_interval]     P > 1 exactly between two roots, 0.848581996009869285... and 5.944520827905142861...
    - [maximum]             the largest P is 2.42138770663152... at H = 4.41240186596567...
    - [range]               1 <= beta <= 2.42139
    - [dead_guard]          the guard H > 0.5 changes nothing
    - [inactive_for_two]    beta = 1 for rows of at most two items
    - [lipschitz]           |beta(H) - beta(H')| <= 2.52543 |H - H'|; [lipschitz_sharp]: not with 2.52542
    - [never_increases_entropy]   H(softmax(beta e)) <= H(softmax(e))
    - [disperses]           Lemma 2.1, both forms, with 2.42139 delta
    - [identity]            beta = 1 once ln n - delta/theta >= 5.94453
    - [carried_integers]    the integers by which the C++ code writes the quartic, its roots and these constants
    - [epsilon_gap]         0 <= H - H_eps <= 1e-9 n for the entropy of the paper's code

    Source: paper, Figure 4 and eqs (15)-(18) for the quartic; its consequences are this project's. *)

From Coq Require Import ZArith.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax lemma_2_1 proposition_3_2 entropy_bounds quartic.
Local Open Scope R_scope.

Definition inverse_temperature (H : R) : R := if Rlt_dec (1 / 2) H then Rmax (quartic H) 1 else 1.

Definition largest_beta : R := 242139 / 100000.
Definition inactive_from : R := 594453 / 100000.
Definition lipschitz_constant : R := 252543 / 100000.

(** ** The shape of the quartic: it rises to one maximum and falls *)

(** The place of the maximum, to 14 decimals. *)
Lemma top_exists : exists top, 4.41240186596566 < top < 4.41240186596568 /\ slope top = 0.
Proof.
  destruct (root_between (fun H => - slope H) (fun H => - curvature H) 4.41240186596566 4.41240186596568)
    as [top [between root]].
  - intros. apply (is_derive_opp (V := R_NormedModule)), slope_derivative.
  - lra.
  - unfold slope. lra.
  - unfold slope. lra.
  - exists top. split; [easy | lra].
Qed.

Section Top.
  Context (top : R) (place : 4.41240186596566 < top < 4.41240186596568) (level : slope top = 0).

  Lemma slope_positive_before_top H : H < top -> 0 < slope H.
  Proof.
    intros before. destruct (Rle_dec H (35 / 8)) as [low | high]; [now apply slope_positive_below|].
    rewrite <- level. apply slope_decreasing; lra.
  Qed.

  Lemma slope_negative_behind_top H : top < H -> slope H < 0.
  Proof. intros behind. rewrite <- level. apply slope_decreasing; lra. Qed.

  (** P' > 0 up to the top, by the mean value theorem on each half: at the top itself it is 0. *)
  Lemma quartic_rises a b : a < b -> b <= top -> quartic a < quartic b.
  Proof.
    intros less low.
    destruct (mean_value quartic slope a ((a + b) / 2) quartic_derivative) as [c [between difference]]; [lra|].
    pose proof (slope_positive_before_top c ltac:(lra)).
    destruct (mean_value quartic slope ((a + b) / 2) b quartic_derivative) as [c' [between' difference']]; [lra|].
    assert (0 <= slope c').
    { destruct (Req_dec c' top) as [-> | other]; [lra|]. apply Rlt_le, slope_positive_before_top. lra. } nra.
  Qed.

  (** P' < 0 behind the top. *)
  Lemma quartic_falls a b : top <= a -> a < b -> quartic b < quartic a.
  Proof.
    intros high less.
    destruct (mean_value quartic slope ((a + b) / 2) b quartic_derivative) as [c [between difference]]; [lra|].
    pose proof (slope_negative_behind_top c ltac:(lra)).
    destruct (mean_value quartic slope a ((a + b) / 2) quartic_derivative) as [c' [between' difference']]; [lra|].
    assert (slope c' <= 0).
    { destruct (Req_dec c' top) as [-> | other]; [lra|]. apply Rlt_le, slope_negative_behind_top. lra. } nra.
  Qed.

  (** P rises before the top and falls behind it. *)
  Lemma quartic_at_most_top H : quartic H <= quartic top.
  Proof.
    destruct (total_order_T H top) as [[before | ->] | behind].
    - apply Rlt_le, quartic_rises; lra.
    - lra.
    - apply Rlt_le, quartic_falls; lra.
  Qed.
End Top.

(** ** Roots and maximum *)

Theorem maximum :
  exists top, 4.41240186596566 < top < 4.41240186596568 /\
              (forall H, quartic H <= quartic top) /\ Rabs (quartic top - 2.42138770663152) <= 1e-14.
Proof.
  destruct top_exists as [top [place level]]. exists top. split; [easy|]. split; [now apply quartic_at_most_top|].
  (* From the left end of its place the quartic rises, by no more than its slope there. *)
  pose proof (quartic_at_most_top top place level 4.41240186596566) as low.
  destruct (mean_value quartic slope 4.41240186596566 top quartic_derivative) as [c [between difference]]; [lra|].
  assert (slope c <= 1e-10).
  { assert (slope 4.41240186596566 <= 1e-10) by (unfold slope; lra).
    destruct (Req_dec c 4.41240186596566) as [-> | other]; [easy|].
    apply Rlt_le, Rlt_le_trans with (slope 4.41240186596566); [apply slope_decreasing; lra | easy]. }
  assert (2.42138770663151 <= quartic 4.41240186596566 <= 2.421387706631525) by (unfold quartic; lra).
  apply Rabs_le. nra.
Qed.

(** P rises through 1 at the first root and falls through 1 at the last. *)
Theorem active_interval :
  exists first last,
    0.848581996009869284 < first < 0.848581996009869286 /\
    5.944520827905142860 < last < 5.944520827905142862 /\
    quartic first = 1 /\ quartic last = 1 /\
    forall H, 1 < quartic H <-> first < H < last.
Proof.
  destruct top_exists as [top [place level]].
  destruct (root_between (fun H => quartic H - 1) slope 0.848581996009869284 0.848581996009869286)
    as [first [between root]].
  - intros. auto_derive; [exists (slope x); apply quartic_derivative|].
    rewrite Rmult_1_l. now apply is_derive_unique, quartic_derivative.
  - lra.
  - unfold quartic. lra.
  - unfold quartic. lra.
  - destruct (root_between (fun H => 1 - quartic H) (fun H => - slope H) 5.944520827905142860 5.944520827905142862)
      as [last [between' root']].
    + intros. auto_derive; [exists (slope x); apply quartic_derivative|].
      rewrite Rmult_1_l. f_equal. now apply is_derive_unique, quartic_derivative.
    + lra.
    + unfold quartic. lra.
    + unfold quartic. lra.
    + exists first, last. do 2 (split; [easy|]). do 2 (split; [lra|]). intros H. split.
      * intros above. split.
        -- destruct (Rlt_le_dec first H) as [|low]; [easy|]. exfalso.
           destruct low as [low | ->]; [|lra]. pose proof (quartic_rises top level H first low ltac:(lra)). lra.
        -- destruct (Rlt_le_dec H last) as [|high]; [easy|]. exfalso.
           destruct high as [high | <-]; [|lra]. pose proof (quartic_falls top place level last H ltac:(lra) high). lra.
      * intros [low high]. destruct (Rle_dec H top).
        -- pose proof (quartic_rises top level first H low ltac:(lra)). lra.
        -- pose proof (quartic_falls top place level H last ltac:(lra) high). lra.
Qed.

(** ** beta *)

(** 0.75 lies before the first root, and P rises there. *)
Lemma quartic_below_one H : H <= 3 / 4 -> quartic H < 1.
Proof.
  intros low. destruct active_interval as [first [last [place [_ [_ [_ active]]]]]].
  destruct (Rlt_le_dec (quartic H) 1) as [|above]; [easy|]. exfalso. destruct top_exists as [top [place_top level]].
  pose proof (quartic_rises top level H (4 / 5) ltac:(lra) ltac:(lra)). assert (1 < quartic (4 / 5)) as active' by lra.
  apply active in active'. lra.
Qed.

Theorem dead_guard H : inverse_temperature H = Rmax (quartic H) 1.
Proof.
  unfold inverse_temperature. destruct (Rlt_dec (1 / 2) H) as [|guarded]; [easy|].
  pose proof (quartic_below_one H ltac:(lra)). rewrite Rmax_right; lra.
Qed.

Theorem range H : 1 <= inverse_temperature H <= largest_beta.
Proof.
  rewrite dead_guard. split; [apply Rmax_r|]. destruct maximum as [top [_ [below near]]]. specialize (below H).
  apply Rabs_le_between in near. unfold largest_beta. apply Rmax_lub; lra.
Qed.

Lemma inverse_temperature_above H : inactive_from <= H -> inverse_temperature H = 1.
Proof.
  unfold inactive_from. intros far. rewrite dead_guard. apply Rmax_right. apply Rnot_lt_le.
  destruct active_interval as [first [last [_ [place [_ [_ active]]]]]]. rewrite active. lra.
Qed.

(** 2 <= (35/32)^8 <= e^(3/4). *)
Lemma ln_2_at_most : ln 2 <= 3 / 4.
Proof.
  rewrite <- (ln_exp (3 / 4)). apply ln_le; [lra|]. pose proof (exp_ineq1_le (3 / 32)).
  replace (3 / 4) with (3 / 16 + 3 / 16 + (3 / 16 + 3 / 16)) by lra. replace (3 / 16) with (3 / 32 + 3 / 32) by lra.
  rewrite !exp_plus. assert (119 / 100 <= exp (3 / 32) * exp (3 / 32)) by nra.
  set (e := exp (3 / 32) * exp (3 / 32)) in *. assert (141 / 100 <= e * e) by nra. nra.
Qed.

(** H <= ln 2 < 3/4 there. *)
Theorem inactive_for_two logits : logits <> [] -> (length logits <= 2)%nat -> inverse_temperature (entropy logits) = 1.
Proof.
  intros visible short. rewrite dead_guard. apply Rmax_right, Rlt_le, quartic_below_one.
  apply Rle_trans with (ln (size logits)); [now apply ceiling|]. apply Rle_trans with (ln 2); [|exact ln_2_at_most].
  apply ln_le; [now apply size_pos|]. unfold size. replace 2 with (INR 2) by (cbn; ring). now apply le_INR.
Qed.

(** *** The Lipschitz constant *)

Lemma slope_on_active_interval H : 0.8485 <= H <= 5.944520827905142862 -> Rabs (slope H) <= lipschitz_constant.
Proof.
  intros [low high]. unfold lipschitz_constant. destruct (Rle_dec H (35 / 8)) as [near | far].
  - pose proof (slope_positive_below H near). rewrite Rabs_right by lra.
    (* P'' is at most 9/100, at 13/4. *)
    destruct (Req_dec H 0.8485) as [-> | other]; [unfold slope; lra|].
    destruct (mean_value slope curvature 0.8485 H slope_derivative) as [c [between difference]]; [lra|].
    assert (curvature c <= 9 / 100) by (unfold curvature; pose proof (pow2_ge_0 (c - 13 / 4)); lra).
    assert (slope 0.8485 <= 2) by (unfold slope; lra). nra.
  - assert (slope H < slope 4) by (apply slope_decreasing; lra). assert (slope 4 <= 1) by (unfold slope; lra).
    assert (slope 5.944520827905142863 < slope H) by (apply slope_decreasing; lra).
    assert (- (252543 / 100000) <= slope 5.944520827905142863) by (unfold slope; lra). apply Rabs_le. lra.
Qed.

(** beta is P at the nearest point of the active interval, and moving there brings two entropies no farther apart. *)
Theorem lipschitz H H' : Rabs (inverse_temperature H - inverse_temperature H') <= lipschitz_constant * Rabs (H - H').
Proof.
  destruct active_interval as [first [last [place [place' [at_first [at_last active]]]]]].
  set (nearest := fun H => Rmax first (Rmin H last)).
  assert (cases : forall h, (h <= first /\ nearest h = first) \/ (first < h < last /\ nearest h = h) \/
                            (last <= h /\ nearest h = last)).
  { intros h. unfold nearest. destruct (Rle_dec h first); [left | destruct (Rle_dec last h); right; [right | left]].
    - rewrite Rmin_left, Rmax_left by lra. lra.
    - rewrite Rmin_right, Rmax_right by lra. lra.
    - rewrite Rmin_left, Rmax_right by lra. lra. }
  assert (beta : forall h, inverse_temperature h = quartic (nearest h)).
  { intros h. rewrite dead_guard. destruct (cases h) as [[far ->] | [[near ->] | [far ->]]].
    - rewrite at_first. apply Rmax_right, Rnot_lt_le. rewrite active. lra.
    - apply Rmax_left, Rlt_le, active. lra.
    - rewrite at_last. apply Rmax_right, Rnot_lt_le. rewrite active. lra. }
  assert (inside : forall h, first <= nearest h <= last).
  { intros h. destruct (cases h) as [[w ->] | [[w ->] | [w ->]]]; lra. }
  assert (closer : Rabs (nearest H - nearest H') <= Rabs (H - H')).
  { destruct (cases H) as [[w ->] | [[w ->] | [w ->]]], (cases H') as [[w' ->] | [[w' ->] | [w' ->]]];
      unfold Rabs; repeat destruct Rcase_abs; lra. }
  assert (steep : forall a b, first <= a <= last -> first <= b <= last ->
                              Rabs (quartic a - quartic b) <= lipschitz_constant * Rabs (a - b)).
  { intros a b ina inb. destruct (MVT_gen quartic b a slope) as [c [between difference]].
    - intros. apply quartic_derivative.
    - intros x _. apply (continuous_at quartic slope), quartic_derivative.
    - rewrite difference, Rabs_mult. apply Rmult_le_compat_r; [apply Rabs_pos|].
      apply slope_on_active_interval. revert between. unfold Rmin, Rmax. destruct Rle_dec; lra. }
  rewrite !beta. eapply Rle_trans; [apply steep; apply inside|].
  apply Rmult_le_compat_l; [unfold lipschitz_constant; lra | exact closer].
Qed.

(** Just below the last root beta falls faster than 2.52542. *)
Theorem lipschitz_sharp : exists H H', 2.52542 * Rabs (H - H') < Rabs (inverse_temperature H - inverse_temperature H').
Proof.
  exists 5.9445208, 5.9445206. rewrite !dead_guard.
  rewrite (Rmax_left (quartic 5.9445208)), (Rmax_left (quartic 5.9445206)) by (unfold quartic; lra).
  rewrite Rabs_right, Rabs_left by (unfold quartic; lra). unfold quartic. lra.
Qed.

(** ** The integers that the C++ code carries *)

(** Coefficients of H^0 ... H^4 in thousandths. *)
Definition quartic_thousandths : list Z := [-1791; 4917; -2300; 481; -37]%Z.
Definition largest_beta_hundred_thousandths : Z := 242139.
Definition inactive_from_hundred_thousandths : Z := 594453.
Definition lipschitz_hundred_thousandths : Z := 252543.

(** Roots of P - 1 in units of 1e-18, place and height of the maximum in units of 1e-14: within one unit. *)
Definition first_root_digits : Z := 848581996009869285.
Definition last_root_digits : Z := 5944520827905142861.
Definition top_digits : Z := 441240186596567.
Definition maximum_digits : Z := 242138770663152.

(** Restates the definitions and the enclosures of the roots in integers. *)
Theorem carried_integers :
  (forall H, quartic H = fold_right (fun a rest => IZR a + H * rest) 0 quartic_thousandths / 1000) /\
  largest_beta = IZR largest_beta_hundred_thousandths / 100000 /\
  inactive_from = IZR inactive_from_hundred_thousandths / 100000 /\
  lipschitz_constant = IZR lipschitz_hundred_thousandths / 100000 /\
  (exists first last,
     Rabs (first - IZR first_root_digits / 1000000000000000000) <= 1e-18 /\
     Rabs (last - IZR last_root_digits / 1000000000000000000) <= 1e-18 /\
     forall H, 1 < quartic H <-> first < H < last) /\
  (exists top, Rabs (top - IZR top_digits / 100000000000000) <= 1e-14 /\
     Rabs (quartic top - IZR maximum_digits / 100000000000000) <= 1e-14 /\
     forall H, quartic H <= quartic top).
Proof.
  split; [intros; unfold quartic; cbn; field|]. do 3 (split; [reflexivity|]). split.
  - destruct active_interval as [first [last [low [high [_ [_ active]]]]]]. exists first, last.
    unfold first_root_digits, last_root_digits. split; [apply Rabs_le; lra|].
    split; [apply Rabs_le; lra | exact active].
  - destruct maximum as [top [place [below near]]]. exists top. unfold top_digits, maximum_digits.
    split; [apply Rabs_le; lra|]. split; [|exact below]. apply Rabs_le_between in near. apply Rabs_le. lra.
Qed.

(** ** What beta does to a row *)

(** softmax(beta e), with beta from the entropy of softmax(e). *)
Definition adaptive_beta (logits : list R) : R := inverse_temperature (entropy logits).
Definition adaptive_logits (logits : list R) : list R := scaled (adaptive_beta logits) logits.

(** Proposition 3.2 from beta = 1. *)
Theorem never_increases_entropy logits : logits <> [] -> entropy (adaptive_logits logits) <= entropy logits.
Proof.
  intros visible. rewrite <- (entropy_at_one logits). apply monotone; [easy|].
  destruct (range (entropy logits)). unfold same_sign_and_larger, adaptive_beta. lra.
Qed.

(** beta multiplies every difference of logits and is at most 2.42139. *)
Lemma spread_adaptive delta logits :
  logits <> [] -> spread_at_most delta logits -> spread_at_most (largest_beta * delta) (adaptive_logits logits).
Proof.
  intros visible within x y inx iny. pose proof (spread_nonneg delta logits visible within) as nonneg.
  unfold adaptive_logits, scaled in *. apply in_map_iff in inx as [x' [<- inx]].
  apply in_map_iff in iny as [y' [<- iny]]. destruct (range (entropy logits)) as [low high].
  fold (adaptive_beta logits) in low, high. specialize (within x' y' inx iny). rewrite <- Rmult_minus_distr_l.
  apply Rle_trans with (adaptive_beta logits * delta); [apply Rmult_le_compat_l; lra | apply Rmult_le_compat_r; lra].
Qed.

(** Lemma 2.1 for the spread beta delta <= 2.42139 delta. *)
Theorem disperses logits delta theta p :
  0 < theta -> spread_at_most delta logits ->
  In p (softmax (adaptive_logits (tempered theta logits))) ->
  let d := largest_beta * (delta / theta) in
  let n := size logits in
  (exp (- d) / n <= p <= exp d / n) /\
  (1 / (1 + (n - 1) * exp d) <= p <= 1 / (1 + (n - 1) * exp (- d))).
Proof.
  intros heated within inp d n. assert (visible : tempered theta logits <> []).
  { intros none. rewrite none in inp. easy. }
  pose proof (spread_adaptive _ _ visible (spread_tempered delta theta logits heated within)) as spread.
  fold d in spread.
  assert (same : tempered 1 (adaptive_logits (tempered theta logits)) = adaptive_logits (tempered theta logits)).
  { rewrite tempered_scaled, Rinv_1. apply scaled_one. }
  assert (long : size (adaptive_logits (tempered theta logits)) = n).
  { unfold adaptive_logits, scaled, tempered. now rewrite !size_map. } rewrite <- same in inp. rewrite <- long.
  replace d with (d / 1) by field.
  repeat split; [eapply lower | eapply upper | eapply sharp_lower | eapply sharp_upper]; eauto using Rlt_0_1.
Qed.

(** There H >= ln n - delta/theta lies beyond the active interval. *)
Theorem identity logits delta theta :
  logits <> [] -> 0 < theta -> spread_at_most delta logits ->
  inactive_from <= ln (size logits) - delta / theta ->
  adaptive_beta (tempered theta logits) = 1 /\
  softmax (adaptive_logits (tempered theta logits)) = softmax (tempered theta logits).
Proof.
  intros visible heated within long. assert (inert : adaptive_beta (tempered theta logits) = 1).
  { apply inverse_temperature_above. apply Rle_trans with (1 := long). rewrite <- (size_tempered theta).
    apply floor_linear; [now apply tempered_visible | now apply spread_tempered]. }
  split; [easy|]. unfold adaptive_logits. now rewrite inert, scaled_one.
Qed.

(** ** The entropy of the paper's code *)

(** H_eps = - sum p ln(p + eps); the paper has eps = 1e-9. *)
Definition entropy_with (eps : R) (logits : list R) : R := - sum (map (fun p => p * ln (p + eps)) (softmax logits)).

Lemma ln_one_plus_le x : 0 <= x -> ln (1 + x) <= x.
Proof. intros nonneg. rewrite <- (ln_exp x) at 2. apply ln_le; [lra | apply exp_ineq1_le]. Qed.

(** p (ln(p + eps) - ln p) = p ln(1 + eps/p) is at most eps, item by item. *)
Theorem epsilon_gap logits : 0 <= entropy logits - entropy_with 1e-9 logits <= 1e-9 * size logits.
Proof.
  set (eps := 1e-9). assert (0 < eps) by (unfold eps; lra).
  assert (gap : entropy logits - entropy_with eps logits
                = sum (map (fun p => p * (ln (p + eps) - ln p)) (softmax logits))).
  { unfold entropy, entropy_with.
    rewrite (sum_map_ext (fun p => p * (ln (p + eps) - ln p)) (fun p => p * ln (p + eps) - p * ln p))
      by (intros; ring).
    rewrite sum_map_minus. ring. }
  rewrite gap. assert (each : forall p, In p (softmax logits) -> 0 <= p * (ln (p + eps) - ln p) <= eps).
  { intros p inp. destruct (in_softmax _ _ inp) as [x [inx ->]].
    pose proof (coefficient_pos logits x (in_not_nil _ _ inx)) as pos. set (q := coefficient logits x) in *.
    replace (q + eps) with (q * (1 + eps / q)) by (field; lra). assert (0 < eps / q) by now apply Rdiv_lt_0_compat.
    rewrite ln_mult by lra. replace (ln q + ln (1 + eps / q) - ln q) with (ln (1 + eps / q)) by ring. split.
    - apply Rmult_le_pos; [lra|]. rewrite <- ln_1. apply ln_le; lra.
    - apply Rle_trans with (q * (eps / q)); [|apply Req_le; field; lra]. apply Rmult_le_compat_l; [lra|].
      apply ln_one_plus_le. lra. }
  split.
  - apply sum_map_nonneg. intros p inp. now apply each.
  - replace (eps * size logits) with (sum (map (fun _ : R => eps) (softmax logits))).
    + apply sum_map_le. intros p inp. now apply each.
    + rewrite sum_map_const. unfold softmax. rewrite size_map. ring.
Qed.
