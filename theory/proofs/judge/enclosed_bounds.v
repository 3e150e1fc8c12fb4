(** * The right-hand sides of B2, B5 and B6 in intervals.

    Each interval holds the real that the theorem speaks of, at any precision; what several bounds share is computed once
    for a contract ([shared]) or a row ([summary]).

    Main results
    - [soundness_is_checked]     a contract that passes the check has what the theorems ask of it
    - [shared_holds]             what follows from the contract alone
    - [summary_holds]            S, Dbar, sigma and the rest of a row
    - [element_enclosed]         B2: the log error, the chord and what underflows
    - [logsumexp_enclosed]       B5, its exact value and its right-hand side
    - [entropy_enclosed]         B6, the same

    Source: the right-hand sides as kept_contract.v has them. *)

From Coq Require Import ZArith NArith Bool.
From Flocq Require Import Core.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import constants row tilted_row reduction b1_sum b2_element element_threshold b5_logsumexp
  moments b6_entropy.
From softcheck.judge Require Import enclosed_row kept_contract.
Local Open Scope R_scope.

(** ** What the theorems ask of a contract's numbers, decided exactly but for the slope *)

Definition zero : dyadic := (0, 0)%Z.
Definition one : dyadic := (1, 0)%Z.

Lemma value_of_integer z : value (z, 0%Z) = IZR z.
Proof. unfold value, F2R. cbn. ring. Qed.

Lemma at_most_is x y a b : value x = a -> value y = b -> at_most x y = true -> a <= b.
Proof. intros <- <-. now apply ordered_exactly. Qed.

Lemma below_is x y a b : value x = a -> value y = b -> negb (at_most y x) = true -> a < b.
Proof.
  intros <- <- below. apply negb_true_iff in below. apply Rnot_le_lt. rewrite <- ordered_exactly, below. discriminate.
Qed.

Lemma natural n : INR (N.to_nat n) = IZR (Z.of_N n).
Proof. now rewrite INR_IZR_INZ, N_nat_Z. Qed.

Section Bounds.
  Context (p : F.precision) (c : contract).

  Local Notation "a [+] b" := (I.add p a b) (at level 50, left associativity).
  Local Notation "a [-] b" := (I.sub p a b) (at level 50, left associativity).
  Local Notation "a [*] b" := (I.mul p a b) (at level 40, left associativity).
  Local Notation "a [/] b" := (I.div p a b) (at level 40, left associativity).
  Local Notation "# z" := (integer p z) (at level 5).

  Notation M := (arithmetic_of c).
  Notation out := (output_of c).
  Notation kappa := (value (conversion_error c)).
  Notation hmax := (N.to_nat (most_additions c)).
  Notation jmax := (N.to_nat (most_rescalings c)).

  Local Ltac enclose :=
    repeat first [ assumption | apply squared_encloses | apply cubed_encloses | apply sub_encloses
                 | apply div_always_encloses | apply add_encloses | apply mul_encloses | apply exp_encloses
                 | apply ln_always_encloses | apply neg_encloses | apply abs_encloses | apply integer_encloses
                 | apply point_encloses ].

  (** ** The contract *)

  Definition log_unit_at (u : I.type) : I.type := I.neg (I.ln p (#1 [-] u)).
  Lemma log_unit_encloses i u : encloses i u -> encloses (log_unit_at i) (log_unit u).
  Proof. intros inside. unfold log_unit_at, log_unit. enclose. Qed.

  Record shared := {
    its_unit : I.type; its_exp_unit : I.type; its_argument : I.type; its_slope : I.type; its_floor : I.type;
    its_heights : I.type; its_rescalings : I.type
  }.

  Definition share : shared :=
    let lambda := log_unit_at (point (accumulator_roundoff c)) in
    let argument := point (argument_roundings c) [*] lambda [+] log_unit_at (point (argument_extra c)) in
    let slope := I.exp p argument [-] #1 in
    let j := #(Z.of_N (most_rescalings c)) in
    {| its_unit := lambda;
       its_exp_unit := log_unit_at (point (exponential_error c));
       its_argument := argument;
       its_slope := slope;
       its_floor := (j [+] #1) [*] point (difference_loss c) [+] (#1 [+] slope) [*] point (conversion_error c);
       its_heights := #(Z.of_N (most_additions c)) [*] lambda;
       its_rescalings := j |}.

  Record holds_shared (s : shared) : Prop := {
    unit_in : encloses (its_unit s) (unit M);
    exp_unit_in : encloses (its_exp_unit s) (exp_unit M);
    argument_in : encloses (its_argument s) (argument_unit M);
    slope_in : encloses (its_slope s) (slope M);
    floor_in : encloses (its_floor s) (argument_floor M kappa jmax);
    heights_in : encloses (its_heights s) (INR hmax * unit M);
    rescalings_in : encloses (its_rescalings s) (INR jmax)
  }.

  Theorem shared_holds : holds_shared share.
  Proof.
    assert (hu : encloses (log_unit_at (point (accumulator_roundoff c))) (unit M))
      by (apply log_unit_encloses, point_encloses).
    assert (hx : encloses (log_unit_at (point (argument_extra c))) (log_unit (value (argument_extra c))))
      by (apply log_unit_encloses, point_encloses).
    assert (ha : encloses (its_argument share) (argument_unit M)).
    { apply add_encloses; [apply mul_encloses; [apply point_encloses|exact hu]|exact hx]. }
    assert (hs : encloses (its_slope share) (slope M)).
    { apply sub_encloses; [now apply exp_encloses|apply integer_encloses]. }
    assert (hj : encloses (its_rescalings share) (INR jmax)) by (rewrite natural; apply integer_encloses).
    constructor; try assumption.
    - apply log_unit_encloses, point_encloses.
    - unfold argument_floor. cbn [share its_floor]. apply add_encloses; apply mul_encloses; try apply point_encloses.
      + apply add_encloses; [exact hj|apply integer_encloses].
      + apply add_encloses; [apply integer_encloses|exact hs].
    - rewrite natural. apply mul_encloses; [apply integer_encloses|exact hu].
  Qed.

  Definition is_fraction (x : dyadic) : bool := at_most zero x && negb (at_most one x).
  Definition is_sound (s : shared) : bool :=
    forallb is_fraction [accumulator_roundoff c; exponential_error c; argument_extra c; result_roundoff c] &&
    forallb (at_most zero) [logarithm_error c; argument_roundings c; difference_loss c; sum_loss c; exponential_loss c;
                            result_loss c] &&
    at_most (difference_loss c) (1, -1)%Z && at_most (sum_loss c) (product_loss c) &&
    at_most (product_loss c) (1, -4)%Z && at_most (exponential_loss c) (1, -4)%Z && at_most (8, 0)%Z (last_argument c) &&
    negb (at_most (smallest_number c) zero) && at_most (smallest_number c) one &&
    less p (its_slope s) (point (1, -2)%Z).

  Lemma is_fraction_is x : is_fraction x = true -> 0 <= value x < 1.
  Proof.
    unfold is_fraction. intros [low high]%andb_true_iff.
    split; [exact (at_most_is zero x 0 (value x) (value_of_integer 0) eq_refl low)|].
    exact (below_is x one (value x) 1 eq_refl (value_of_integer 1) high).
  Qed.

  Theorem soundness_is_checked s : holds_shared s -> is_sound s = true -> sound_contract c.
  Proof.
    intros hs checked. unfold is_sound in checked. cbn [forallb] in checked.
    repeat match goal with h : _ && _ = true |- _ => apply andb_true_iff in h as [? ?] end.
    repeat match goal with h : is_fraction _ = true |- _ => apply is_fraction_is in h end.
    assert (half : value (1, -1)%Z = / 2) by (unfold value, F2R; cbn; field).
    assert (quarter : value (1, -2)%Z = / 4) by (unfold value, F2R; cbn; field).
    assert (sixteenth : value (1, -4)%Z = / 16) by (unfold value, F2R; cbn; field).
    assert (eight : value (8, 0)%Z = 8) by apply value_of_integer.
    assert (nothing : value zero = 0) by apply value_of_integer. assert (whole : value one = 1) by apply value_of_integer.
    assert (slope_small : slope M < / 4).
    { rewrite <- quarter. eapply less_is; [apply (slope_in s hs)|apply point_encloses|eassumption]. }
    repeat match goal with
           | h : at_most _ _ = true |- _ => apply ordered_exactly in h
           | h : negb (at_most ?x ?y) = true |- _ => apply (below_is y x (value y) (value x) eq_refl eq_refl) in h
           end.
    rewrite ?half, ?sixteenth, ?eight, ?nothing, ?whole in *.
    assert (0 <= log_unit (value (accumulator_roundoff c))) by now apply log_unit_nonneg.
    assert (0 <= log_unit (value (argument_extra c))) by now apply log_unit_nonneg.
    assert (0 <= argument_unit M).
    { cbn [argument_unit arithmetic_of]. apply Rplus_le_le_0_compat; [apply Rmult_le_pos|]; easy. }
    unfold sound_contract, sound. cbn [roundoff exp_error log_error argument_step sum_floor product_floor exp_floor exp_cutoff arithmetic_of].
    repeat split; lra.
  Qed.

  (** ** The row *)

  Record summary := {
    its_items : list met; its_size : I.type; its_sum : I.type; its_log_sum : I.type; its_mean : I.type; its_shift : I.type;
    its_lost : I.type; its_lost_sum : I.type; its_sigma : I.type
  }.

  Definition if_rescaled (i : I.type) : I.type := if N.eqb (most_rescalings c) 0 then #0 else i.

  Definition summarise (s : shared) (theta m : dyadic) (logits : list dyadic) : summary :=
    let all := items p theta m logits in
    let n := #(Z.of_nat (length logits)) in
    let weights := weight_total p all in
    let mean := deviation_total p all [/] weights in
    let second := squared p (I.ln p (n [+] I.exp p #1) [/] (#1 [-] its_slope s)) in
    let shift := its_slope s [*] mean [+] squared p (its_slope s) [/] #2 [*] second in
    let direct := its_heights s [+] its_exp_unit s [+] its_rescalings s [*] (its_exp_unit s [+] its_unit s) [+] its_floor s in
    let sigma_0 := direct [+] shift in
    let lost := point (exponential_loss c) [+] point (sum_loss c)
                [+] if_rescaled (#2 [*] point (exponential_loss c) [+] #2 [*] point (product_loss c)) in
    let lost_sum := n [*] lost [*] I.exp p (#2 [*] sigma_0) in
    {| its_items := all; its_size := n; its_sum := weights; its_log_sum := I.ln p weights; its_mean := mean;
       its_shift := shift; its_lost := lost; its_lost_sum := lost_sum;
       its_sigma := sigma_0 [-] I.ln p (#1 [-] lost_sum) |}.

  Section Row.
    Context (theta m : dyadic) (logits : list dyadic).
    Notation top := (at_temperature theta m).
    Notation row := (row_at_temperature theta logits).

    Record holds_summary (r : summary) : Prop := {
      items_are : its_items r = items p theta m logits;
      size_in : encloses (its_size r) (size row);
      sum_in : encloses (its_sum r) (weight_sum top row);
      log_sum_in : encloses (its_log_sum r) (ln (weight_sum top row));
      mean_in : encloses (its_mean r) (mean_deviation top row);
      shift_in : encloses (its_shift r) (shift top row (slope M));
      lost_in : encloses (its_lost r) (lost M jmax);
      lost_sum_in : encloses (its_lost_sum r) (lost_sum M kappa top row hmax jmax);
      sigma_in : encloses (its_sigma r) (sigma M kappa top row hmax jmax)
    }.

    Lemma if_rescaled_encloses i x :
      encloses i x -> encloses (if_rescaled i) match jmax with 0%nat => 0 | S _ => x end.
    Proof.
      intros inside. unfold if_rescaled. destruct (N.eqb_spec (most_rescalings c) 0) as [->|some].
      - apply integer_encloses.
      - destruct (N.to_nat (most_rescalings c)) eqn:count; [lia|easy].
    Qed.

    Theorem summary_holds s : holds_shared s -> holds_summary (summarise s theta m logits).
    Proof.
      intros [hu he ha ht hf hh hj]. destruct (moments_enclosed p theta m logits) as [hS [hT _]].
      assert (hn : encloses #(Z.of_nat (length logits)) (size row)).
      { unfold size, row_at_temperature. rewrite map_length, INR_IZR_INZ. apply integer_encloses. }
      set (r := summarise s theta m logits).
      assert (hm : encloses (its_mean r) (mean_deviation top row)) by now apply div_always_encloses.
      assert (hs : encloses (its_shift r) (shift top row (slope M))).
      { unfold shift, second. cbn [r summarise its_shift]. apply add_encloses; [now apply mul_encloses|]. enclose. }
      assert (h0 : encloses (its_heights s [+] its_exp_unit s [+] its_rescalings s [*] (its_exp_unit s [+] its_unit s)
                             [+] its_floor s [+] its_shift r) (sigma_0 M kappa top row hmax jmax)).
      { unfold sigma_0, direct_log, rescale_unit. enclose. } assert (hl : encloses (its_lost r) (lost M jmax)).
      { unfold lost. cbn [r summarise its_lost]. apply add_encloses; [enclose|]. apply if_rescaled_encloses. enclose. }
      assert (hls : encloses (its_lost_sum r) (lost_sum M kappa top row hmax jmax)).
      { unfold lost_sum.
        change (its_lost_sum r) with
        (#(Z.of_nat (length logits)) [*] its_lost r [*]
        I.exp p (#2 [*] (its_heights s [+] its_exp_unit s [+] its_rescalings s [*] (its_exp_unit s [+] its_unit s)
           [+] its_floor s [+] its_shift r))).
        enclose. }
      constructor; try assumption.
      - reflexivity.
      - now apply ln_always_encloses.
      - unfold sigma. apply sub_encloses; [exact h0|].
        apply ln_always_encloses, sub_encloses; [apply integer_encloses|exact hls].
    Qed.

    Section Enclosed.
      Context (s : shared) (r : summary) (hs : holds_shared s) (hr : holds_summary r).
      Local Ltac known := destruct hs, hr.

      (** ** B2 *)

      Definition element_log_at : I.type :=
        its_exp_unit s [+] its_floor s [+] if_rescaled (its_exp_unit s [+] its_unit s) [+] its_sigma r
        [+] (#division_roundings [*] its_unit s [+] log_unit_at (point (result_roundoff c))).
      Definition chord_at (log : I.type) : I.type :=
        let last := (log [+] I.ln p (#2048 [/] point (smallest_number c))) [/] (#1 [-] its_slope s) in
        let step := its_slope s [*] last in
        its_slope s [*] I.exp p (log [+] step [/] #2 [+] squared p step [/] #24).
      Definition element_floor_at (log : I.type) : I.type :=
        (point (exponential_loss c) [+] if_rescaled (point (exponential_loss c) [+] point (product_loss c))
         [+] #division_losses [*] point (product_loss c)) [*] I.exp p log [+] point (result_loss c)
        [+] point (smallest_number c) [/] #2048.

      Theorem element_enclosed :
        let C := coefficient_log c top row in
        encloses element_log_at C /\
        encloses (I.exp p element_log_at [-] #1) (threshold_constant C) /\
        encloses (chord_at element_log_at) (threshold_slope (value (smallest_number c)) C (slope M)) /\
        encloses (element_floor_at element_log_at)
          (element_floor M out kappa top row hmax jmax + threshold_floor (value (smallest_number c))).
      Proof using hs hr.
        known. intros C.
        assert (hC : encloses element_log_at C).
        { unfold C, coefficient_log, element_log, numerator_log, ratio_log, when_rescaled. cbn [output_unit output_of].
          apply add_encloses; [apply add_encloses; [apply add_encloses; [enclose|]|assumption]|].
          - apply if_rescaled_encloses. enclose.
          - apply add_encloses; [enclose|]. apply log_unit_encloses, point_encloses. }
        split; [exact hC|]. repeat split.
        - unfold threshold_constant. enclose.
        - unfold threshold_slope, last_deviation, chord_at. enclose.
        - unfold element_floor, numerator_loss, when_rescaled, threshold_floor, element_floor_at. fold C.
          apply add_encloses; [|enclose]. apply add_encloses; [|apply point_encloses]. apply mul_encloses; [|enclose].
          apply add_encloses; [|enclose]. apply add_encloses; [apply point_encloses|]. apply if_rescaled_encloses. enclose.
      Qed.

      (** ** B5 *)

      Definition log_sum_error_at : I.type :=
        its_sigma r [+] point (logarithm_error c) [*] (its_log_sum r [+] its_sigma r).
      Lemma log_sum_error_encloses : encloses log_sum_error_at (log_sum_error M kappa top row hmax jmax).
      Proof using hs hr. known. unfold log_sum_error, log_sum_error_at. enclose. Qed.

      Definition floor_at : I.type :=
        #2 [*] point (product_loss c) [*] (#1 [+] point (accumulator_roundoff c)) [+] point (sum_loss c).

      (** What a bound before the output becomes behind it: of something of that magnitude. *)
      Definition rounded_at (rounding magnitude : I.type) : I.type :=
        let u_out := point (result_roundoff c) in
        rounding [+] u_out [*] (magnitude [+] rounding) [+] (floor_at [*] (#1 [+] u_out) [+] point (result_loss c)).

      Definition logsumexp_at : I.type := over_theta p theta (point m) [+] its_log_sum r.
      Definition logsumexp_allowed_at : I.type :=
        let magnitude := I.abs logsumexp_at in
        let parts := log_sum_error_at [+] point (scaling_error c) [*] I.abs (over_theta p theta (point m)) [+] its_floor s in
        rounded_at (parts [+] point (accumulator_roundoff c) [*] (magnitude [+] parts)) magnitude.

      Theorem logsumexp_enclosed :
        is_maximum top row ->
        encloses logsumexp_at (ln (partition_function row)) /\ encloses logsumexp_allowed_at (logsumexp_allowed c top row).
      Proof using hs hr.
        intros max. known. pose proof log_sum_error_encloses as hlog.
        assert (htop : encloses (over_theta p theta (point m)) top) by apply over_theta_encloses, point_encloses.
        assert (hL : encloses logsumexp_at (ln (partition_function row))).
        { rewrite (logsumexp_from_statistics top row max). unfold logsumexp_at. enclose. }
        split; [exact hL|].
        unfold logsumexp_allowed, logsumexp_rounding, logsumexp_parts, logsumexp_floor, logsumexp_allowed_at, rounded_at, floor_at.
        enclose.
      Qed.

      (** ** B6 *)

      Definition entropy_at : I.type := its_log_sum r [+] its_mean r.
      Definition quotient_log_at : I.type :=
        its_heights s [+] its_exp_unit s [+] its_rescalings s [*] (its_exp_unit s [+] #2 [*] its_unit s) [+] its_unit s
        [+] its_argument s [+] (its_rescalings s [+] #1) [*] point (difference_loss c)
        [+] (#1 [+] its_slope s) [*] point (conversion_error c) [+] its_sigma r
        [+] (its_unit s [+] log_unit_at (point (accumulator_roundoff c) [+] point (reciprocal_loss c))).
      Definition excess_at : I.type :=
        let second_moment := square_total p (its_items r) [/] its_sum r in
        let third := cubed p (I.ln p (its_size r [+] I.exp p #2) [/] (#1 [-] its_slope s)) in
        its_slope s [*] second_moment [+] squared p (its_slope s) [/] #2 [*] I.exp p (its_shift r) [*] third.
      Definition beside_mean_at : I.type :=
        let wx := point (exponential_loss c) in
        let wa := point (sum_loss c) in
        let wm := point (product_loss c) in
        let cutoff := point (last_argument c) in
        let lost_moment := wx [*] cutoff [+] wm [+] wa [+] if_rescaled (#4 [*] wx [*] cutoff [+] #3 [*] wm [+] wa) in
        its_floor s [*] (I.exp p (its_shift r) [+] its_size r [*] its_lost r) [+] its_size r [*] lost_moment.
      Definition entropy_allowed_at : I.type :=
        let factor := I.exp p quotient_log_at in
        let mean_error := (factor [-] #1) [*] its_mean r [+] factor [*] (excess_at [+] beside_mean_at) in
        let parts := log_sum_error_at [+] mean_error in
        rounded_at (parts [+] point (accumulator_roundoff c) [*] (entropy_at [+] parts)) entropy_at.

      Theorem entropy_enclosed :
        is_maximum top row ->
        encloses entropy_at (entropy row) /\ encloses entropy_allowed_at (entropy_allowed c top row).
      Proof using hs hr.
        intros max. known. pose proof log_sum_error_encloses as hlog. assert (hH : encloses entropy_at (entropy row)).
        { rewrite (entropy_of_statistics top row max). unfold entropy_at. enclose. } split; [exact hH|].
        assert (hq : encloses quotient_log_at (quotient_log M kappa top row hmax jmax (value (reciprocal_loss c)))).
        { unfold quotient_log, quotient_unit, reciprocal_unit, moment_total, moment_log, quotient_log_at.
          apply add_encloses; [enclose|]. apply add_encloses; [enclose|]. apply log_unit_encloses. enclose. }
        assert (he : encloses excess_at (first_excess top row (slope M))).
        { unfold first_excess, mean_square_deviation, third, excess_at. rewrite items_are0.
          destruct (moments_enclosed p theta m logits) as [_ [_ hV]]. enclose. }
        assert (hb : encloses beside_mean_at (beside_mean M kappa top row jmax)).
        { unfold beside_mean, lost_moment, beside_mean_at. apply add_encloses; [enclose|].
          apply mul_encloses; [assumption|]. apply add_encloses; [enclose|]. apply if_rescaled_encloses. enclose. }
        unfold entropy_allowed, entropy_rounding, entropy_parts, mean_error, entropy_floor, entropy_allowed_at,
          rounded_at, floor_at.
        enclose.
      Qed.
    End Enclosed.
  End Row.
End Bounds.
