(** * What it means that a kernel keeps a contract, and what then holds of one value that it returned.

    The numbers of a contract are dyadic: its own, or upper bounds of them. [keeps_coefficient], [keeps_logsumexp] and
    [keeps_entropy] are the premises of B2, B5 and B6: some tree, of no more additions on a path and no more rescalings than
    the contract grants, some exponential, logarithm and output as the contract has them.

    Main results, with the height and the rescalings that are granted in the place of the kernel's own
    - [kept_coefficient]   B2
    - [kept_logsumexp]     B5
    - [kept_entropy]       B6

    Idea: the bounds grow with both, so that a kernel that does with less obeys them, too. *)

From Coq Require Import NArith.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import constants row tilted_row reduction b1_sum b2_element element_threshold b5_logsumexp
  moments b6_entropy b6_growing.
From softcheck.judge Require Import enclosed_row.
Local Open Scope R_scope.

Record contract := {
  accumulator_roundoff : dyadic;   (** u *)
  exponential_error : dyadic;      (** E u *)
  logarithm_error : dyadic;        (** E_l u *)
  argument_roundings : dyadic;     (** A' *)
  argument_extra : dyadic;         (** unit roundoff of one more, of a reciprocal made in another format; 0 without *)
  difference_loss : dyadic;        (** what an argument may be off absolutely, each time a difference is taken *)
  sum_loss : dyadic;               (** omega_a *)
  product_loss : dyadic;           (** omega_m *)
  exponential_loss : dyadic;       (** omega_x *)
  last_argument : dyadic;          (** D_0 *)
  conversion_error : dyadic;       (** kappa: by how much a deviation moves as the logits are read *)
  scaling_error : dyadic;          (** g: relative, of the maximum as it is added *)
  reciprocal_loss : dyadic;        (** r: what 1 / S loses of itself where it is subnormal *)
  result_roundoff : dyadic;        (** u_out: 0 where the output holds all of the accumulator's numbers *)
  result_loss : dyadic;            (** what underflow in the output takes *)
  smallest_number : dyadic;        (** of the accumulator *)
  most_additions : N;              (** h: of any path *)
  most_rescalings : N              (** R: of any path *)
}.

Section Contract.
  Context (c : contract).

  Definition arithmetic_of : arithmetic := {|
    roundoff := value (accumulator_roundoff c);
    exp_error := value (exponential_error c);
    log_error := value (logarithm_error c);
    argument_unit := value (argument_roundings c) * log_unit (value (accumulator_roundoff c))
                     + log_unit (value (argument_extra c));
    argument_step := value (difference_loss c);
    sum_floor := value (sum_loss c);
    product_floor := value (product_loss c);
    exp_floor := value (exponential_loss c);
    exp_cutoff := value (last_argument c)
  |}.

  Definition output_of : output_format :=
    {| output_unit := log_unit (value (result_roundoff c)); output_floor := value (result_loss c) |}.

  Definition granted (h j : nat) : Prop :=
    (h <= N.to_nat (most_additions c))%nat /\ (j <= N.to_nat (most_rescalings c))%nat.

  Notation M := arithmetic_of.
  Notation kappa := (value (conversion_error c)).
  Notation g := (value (scaling_error c)).
  Notation r := (value (reciprocal_loss c)).
  Notation u_out := (value (result_roundoff c)).
  Notation floor_out := (value (result_loss c)).
  Notation hmax := (N.to_nat (most_additions c)).
  Notation jmax := (N.to_nat (most_rescalings c)).

  (** ** Keeping a contract: the premises of B2, B5 and B6 *)

  Section Kept.
    Context (logits : list R).

    (** p may be the coefficient of the item at x. *)
    Definition keeps_coefficient (x p : R) : Prop :=
      exists m s h j, granted h j /\ sum_of_row M kappa m logits s h j /\ computed_element M output_of kappa m j s x p.

    Definition keeps_logsumexp (l : R) : Prop :=
      exists m s h j m_hat y z,
        granted h j /\ sum_of_row M kappa m logits s h j /\ computed_maximum M kappa m j g m_hat /\ computed_log M s y /\
        rounded_sum M (m_hat + y) z /\ rounded_output u_out floor_out z l.

    Definition keeps_entropy (e : R) : Prop :=
      exists m s y h j q x z,
        granted h j /\ moments_of_row M kappa m logits s y h j /\ quotient_by_sum M r y s q /\ computed_log M s x /\
        rounded_sum M (x + q) z /\ rounded_output u_out floor_out z e.
  End Kept.

  (** ** What is asked of the numbers *)

  Definition sound_contract : Prop := sound M /\ 0 <= u_out < 1 /\ 0 <= floor_out /\ 0 < value (smallest_number c) <= 1.

  Definition sound_quotients : Prop := 0 <= r /\ roundoff M + r < 1 /\ INR jmax * argument_step M <= 2.

  (** ** The right-hand sides, with what is granted *)

  Section Allowed.
    Context (m : R) (logits : list R).

    Definition coefficient_log : R := element_log M output_of kappa m logits hmax jmax.
    Definition coefficient_allowed (x : R) : R :=
      (threshold_constant coefficient_log
       + threshold_slope (value (smallest_number c)) coefficient_log (slope M) * (m - x)) * coefficient logits x
      + (element_floor M output_of kappa m logits hmax jmax + threshold_floor (value (smallest_number c))).

    Definition logsumexp_allowed : R :=
      logsumexp_rounding M kappa m logits hmax jmax g
      + u_out * (Rabs (ln (partition_function logits)) + logsumexp_rounding M kappa m logits hmax jmax g)
      + (logsumexp_floor M * (1 + u_out) + floor_out).

    Definition entropy_allowed : R :=
      entropy_rounding M kappa m logits hmax jmax r
      + u_out * (entropy logits + entropy_rounding M kappa m logits hmax jmax r)
      + (entropy_floor M * (1 + u_out) + floor_out).
  End Allowed.

  (** ** They hold *)

  Lemma maximum_is_unique m m' (logits : list R) : is_maximum m logits -> is_maximum m' logits -> m = m'.
  Proof. intros [inm above] [inm' above']. apply Rle_antisym; [now apply above'|now apply above]. Qed.

  Section Holds.
    Context (good : sound_contract) (m : R) (logits : list R) (max : is_maximum m logits)
      (some : lost_sum M kappa m logits hmax jmax < 1).

    Let good_M : sound M := proj1 good.

    Lemma good_output : sound_output output_of.
    Proof using good. pose proof good as [_ [range [low _]]]. split; [|exact low]. cbn. now apply log_unit_nonneg. Qed.

    Lemma kernel_keeps_conversion s h j : sum_of_row M kappa m logits s h j -> 0 <= kappa.
    Proof using good. intros hs. apply (sum_between M good_M kappa m logits s h j hs). Qed.

    Lemma some_of_fewer s h j : granted h j -> sum_of_row M kappa m logits s h j -> lost_sum M kappa m logits h j < 1.
    Proof using good some max.
      intros [lower fewer] hs. pose proof (kernel_keeps_conversion s h j hs) as hk.
      pose proof (lost_sum_growing M good_M kappa m logits h hmax j jmax max hk lower fewer). lra.
    Qed.

    Lemma element_growing s h j :
      granted h j -> sum_of_row M kappa m logits s h j ->
      0 <= element_log M output_of kappa m logits h j <= coefficient_log m logits /\
      element_floor M output_of kappa m logits h j <= element_floor M output_of kappa m logits hmax jmax.
    Proof using good some max.
      intros grants hs. pose proof grants as [lower fewer]. pose proof (kernel_keeps_conversion s h j hs) as hk.
      pose proof (sigma_growing M good_M kappa m logits h hmax j jmax max hk lower fewer some) as sg.
      pose proof (argument_floor_growing M good_M kappa j jmax hk fewer) as fg.
      pose proof (unit_nonneg M good_M). pose proof (exp_unit_nonneg M good_M).
      pose proof (element_log_nonneg M output_of good_M good_output kappa m logits s h j hs (some_of_fewer s h j grants hs)) as nonneg.
      assert (below : element_log M output_of kappa m logits h j <= coefficient_log m logits).
      { unfold coefficient_log, element_log, numerator_log, when_rescaled. destruct j, jmax; try lia; lra. }
      assert (hx : 0 <= exp_floor M) by (unfold sound in good_M; lra).
      assert (hw : 0 <= product_floor M) by (unfold sound in good_M; lra).
      split; [easy|]. unfold element_floor. apply Rplus_le_compat_r. apply Rmult_le_compat.
      - unfold numerator_loss, when_rescaled, division_losses. destruct j; lra.
      - left. apply exp_pos.
      - unfold numerator_loss, when_rescaled, division_losses. destruct j, jmax; try lia; lra.
      - now apply exp_le.
    Qed.

    Theorem kept_coefficient x p :
      In x logits -> keeps_coefficient logits x p ->
      Rabs (p - coefficient logits x) <= coefficient_allowed m logits x.
    Proof using good some max.
      intros inx [m' [s [h [j [grants [hs element]]]]]].
      pose proof (maximum_is_unique m m' logits max (row_maximum _ _ _ _ _ _ _ hs)). subst m'.
      destruct (element_growing s h j grants hs) as [[nonneg log_below] floor_below].
      pose proof (slope_nonneg M good_M) as ht. assert (slope M <= / 4) by (unfold sound in good_M; lra).
      eapply Rle_trans.
      - apply (element_absolute M output_of good_M good_output kappa m logits s h j hs (some_of_fewer s h j grants hs) x p inx element).
      - pose proof (coefficient_threshold (value (smallest_number c)) (coefficient_log m logits) (slope M) m logits x
                      (proj2 (proj2 (proj2 good))) ltac:(lra) ltac:(lra) max inx) as chord.
        assert (0 <= coefficient logits x).
        { rewrite (coefficient_from_weight m logits max). pose proof (weight_sum_at_least_one m logits max).
          apply Rmult_le_pos; [left; apply exp_pos|left; apply Rinv_0_lt_compat; lra]. }
        assert (coefficient logits x * (exp (element_log M output_of kappa m logits h j + slope M * (m - x)) - 1)
                <= coefficient logits x * (exp (coefficient_log m logits + slope M * (m - x)) - 1)).
        { apply Rmult_le_compat_l; [easy|]. pose proof (exp_le _ _ (Rplus_le_compat_r (slope M * (m - x)) _ _ log_below)). lra. }
        unfold coefficient_allowed. lra.
    Qed.

    Theorem kept_logsumexp l :
      keeps_logsumexp logits l -> Rabs (l - ln (partition_function logits)) <= logsumexp_allowed m logits.
    Proof using good some max.
      intros [m' [s [h [j [m_hat [y [z [grants [hs [top [logged [added out]]]]]]]]]]]].
      pose proof (maximum_is_unique m m' logits max (row_maximum _ _ _ _ _ _ _ hs)). subst m'.
      pose proof grants as [lower fewer]. pose proof (kernel_keeps_conversion s h j hs) as hk.
      pose proof (sigma_growing M good_M kappa m logits h hmax j jmax max hk lower fewer some) as sg.
      pose proof (argument_floor_growing M good_M kappa j jmax hk fewer) as fg.
      assert (0 <= log_error M) by (unfold sound in good_M; lra).
      assert (hu : 0 <= roundoff M) by (unfold sound in good_M; lra).
      assert (logs : log_sum_error M kappa m logits h j <= log_sum_error M kappa m logits hmax jmax).
      { unfold log_sum_error. apply Rplus_le_compat; [easy|]. apply Rmult_le_compat_l; lra. }
      assert (parts : logsumexp_parts M kappa m logits h j g <= logsumexp_parts M kappa m logits hmax jmax g)
        by (unfold logsumexp_parts; lra).
      assert (rounding : logsumexp_rounding M kappa m logits h j g <= logsumexp_rounding M kappa m logits hmax jmax g).
      { unfold logsumexp_rounding. apply Rplus_le_compat; [easy|]. apply Rmult_le_compat_l; lra. }
      eapply Rle_trans.
      - apply (b5_logsumexp M good_M kappa m logits s h j hs (some_of_fewer s h j grants hs) g m_hat y z u_out floor_out l); easy.
      - unfold logsumexp_allowed. assert (0 <= u_out) by apply good.
        apply Rplus_le_compat_r. apply Rplus_le_compat; [easy|]. apply Rmult_le_compat_l; lra.
    Qed.

    Theorem kept_entropy e :
      sound_quotients -> keeps_entropy logits e -> Rabs (e - entropy logits) <= entropy_allowed m logits.
    Proof using good some max.
      intros [loses [leaves few]] [m' [s [y [h [j [q [x [z [grants [hs [ratio [logged [added out]]]]]]]]]]]]].
      pose proof (maximum_is_unique m m' logits max (moments_maximum _ _ _ _ _ _ _ _ hs)). subst m'.
      pose proof (sum_of_moments M kappa m logits s y h j hs) as sums.
      pose proof grants as [lower fewer]. pose proof (kernel_keeps_conversion s h j sums) as hk.
      pose proof (b6_growing M good_M kappa m logits h hmax j jmax r max hk lower fewer some) as rounding.
      assert (steps : INR j * argument_step M <= 2).
      { eapply Rle_trans; [|exact few]. apply Rmult_le_compat_r; [unfold sound in good_M; lra|]. now apply le_INR. }
      eapply Rle_trans.
      - apply (b6_entropy M good_M kappa m logits s y h j r loses leaves hs (some_of_fewer s h j grants sums) steps q x z u_out floor_out e); easy.
      - unfold entropy_allowed. assert (0 <= u_out) by apply good.
        apply Rplus_le_compat_r. apply Rplus_le_compat; [easy|]. apply Rmult_le_compat_l; lra.
    Qed.
  End Holds.
End Contract.
