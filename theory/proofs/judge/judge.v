(** * A judge whose accusations are theorems.

    The judge answers [violated] or [not_violated] to one value of a row. Its accusation is a theorem: no kernel that keeps
    the contract returns this value, whatever its tree, its exponential and its order of operations. The other answer says
    nothing: the value may be right, or the precision too low, or the contract's numbers may be outside the theorems.

    Main results, at any precision
    - [coefficient_accusation]   softmax, one coefficient: the negation of B2's premises
    - [logsumexp_accusation]     log-sum-exp: of B5's
    - [entropy_accusation]       entropy: of B6's

    declared_contract.v computes height and rescalings from the word sum= and asks it; that is extracted to OCaml
    (extract_judge.v), and `softcheck kernel --certify` asks it. *)

From Coq Require Import ZArith NArith Bool.
From Flocq Require Import Core.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import row reduction b1_sum b2_element b5_logsumexp b6_entropy.
From softcheck.judge Require Import enclosed_row kept_contract enclosed_bounds.
Local Open Scope R_scope.

Inductive verdict := violated | not_violated.

Section Judge.
  Variable p : F.precision.
  Context (c : contract) (theta : dyadic) (logits : list dyadic).

  Notation row := (row_at_temperature theta logits).

  Definition largest_logit : dyadic := match logits with [] => zero | first :: rest => largest first rest end.

  (** What the theorems ask of the contract and of the row. *)
  Definition applies (s : shared) (r : summary) : bool :=
    is_sound p c s && negb (at_most theta zero) && match logits with [] => false | _ => true end &&
    less p (its_lost_sum r) (integer p 1).

  Definition beyond (allowed exact : I.type) (output : dyadic) : bool :=
    less p allowed (I.abs (I.sub p (point output) exact)).

  Definition verdict_of (accused : bool) : verdict := if accused then violated else not_violated.

  (** Asked for the contract and the row once, it answers to many items and values. *)
  Definition judge_coefficient : dyadic -> dyadic -> verdict :=
    let s := share p c in
    let r := summarise p c s theta largest_logit logits in
    if applies s r then
      let log := element_log_at p c s r in
      let constant := I.sub p (I.exp p log) (integer p 1) in
      let slope := chord_at p c s log in
      let floor := element_floor_at p c log in
      fun item output =>
        match item_at item (its_items r) with
        | None => not_violated
        | Some i =>
            let exact := I.div p (its_weight i) (its_sum r) in
            let allowed := I.add p (I.mul p (I.add p constant (I.mul p slope (its_deviation i))) exact) floor in
            verdict_of (beyond allowed exact output)
        end
    else fun _ _ => not_violated.

  Definition judge_logsumexp : dyadic -> verdict :=
    let s := share p c in
    let r := summarise p c s theta largest_logit logits in
    if applies s r then
      let exact := logsumexp_at p theta largest_logit r in
      let allowed := logsumexp_allowed_at p c theta largest_logit s r in
      fun output => verdict_of (beyond allowed exact output)
    else fun _ => not_violated.

  (** A quotient is asked for more: r, and the differences on a path. *)
  Definition quotients_are_sound (s : shared) : bool :=
    at_most zero (reciprocal_loss c) &&
    less p (I.add p (point (accumulator_roundoff c)) (point (reciprocal_loss c))) (integer p 1) &&
    less p (I.mul p (its_rescalings s) (point (difference_loss c))) (integer p 2).

  Definition judge_entropy : dyadic -> verdict :=
    let s := share p c in
    let r := summarise p c s theta largest_logit logits in
    if applies s r && quotients_are_sound s then
      let exact := entropy_at p r in
      let allowed := entropy_allowed_at p c s r in
      fun output => verdict_of (beyond allowed exact output)
    else fun _ => not_violated.

  (** ** The accusations *)

  Lemma beyond_is i j output allowed exact :
    encloses i allowed -> encloses j exact -> verdict_of (beyond i j output) = violated ->
    allowed < Rabs (value output - exact).
  Proof.
    intros ha he. unfold verdict_of, beyond. destruct (less p i _) eqn:accused; [intros _|discriminate].
    apply (less_is p _ _ _ _ ha (abs_encloses _ _ (sub_encloses p _ _ _ _ (point_encloses output) he)) accused).
  Qed.

  Lemma applies_is :
    let s := share p c in
    let r := summarise p c s theta largest_logit logits in
    applies s r = true ->
    holds_shared c s /\ holds_summary p c theta largest_logit logits r /\ sound_contract c /\
    is_maximum (at_temperature theta largest_logit) row /\
    lost_sum (arithmetic_of c) (value (conversion_error c)) (at_temperature theta largest_logit) row
      (N.to_nat (most_additions c)) (N.to_nat (most_rescalings c)) < 1.
  Proof.
    intros s r. unfold applies. intros [[[sound_c warm]%andb_true_iff visible]%andb_true_iff some]%andb_true_iff.
    pose proof (shared_holds p c) as hs. pose proof (summary_holds p c theta largest_logit logits s hs) as hr. fold s in hs.
    fold r in hr. split; [easy|]. split; [easy|]. split; [now apply (soundness_is_checked p c s hs)|]. split.
    - assert (exists first rest, logits = first :: rest) as [first [rest all]].
      { revert visible. clear. destruct logits as [|first rest]; [discriminate|]. intros _. now exists first, rest. }
      apply (largest_is_the_maximum theta largest_logit logits first rest); [|easy|unfold largest_logit; now rewrite all].
      exact (below_is zero theta 0 (value theta) (value_of_integer 0) eq_refl warm).
    - apply (less_is p _ _ _ _ (lost_sum_in _ _ _ _ _ _ hr) (integer_encloses p 1) some).
  Qed.

  Theorem coefficient_accusation item output :
    judge_coefficient item output = violated ->
    ~ keeps_coefficient c row (at_temperature theta item) (value output).
  Proof.
    unfold judge_coefficient. cbv zeta. set (s := share p c). set (r := summarise p c s theta largest_logit logits).
    destruct (applies s r) eqn:known; [|discriminate].
    destruct (applies_is known) as [hs [hr [good [max some]]]]. fold s in hs, hr. fold r in hr.
    destruct (item_at item (its_items r)) as [i|] eqn:found; [|discriminate].
    rewrite (items_are _ _ _ _ _ _ hr) in found. apply item_at_is in found as [member [hd hw]].
    destruct (element_enclosed p c theta largest_logit logits s r hs hr) as [_ [hk [hslope hfloor]]].
    intros accused kept. set (m := at_temperature theta largest_logit) in *. set (x := at_temperature theta item) in *.
    assert (exact : encloses (I.div p (its_weight i) (its_sum r)) (coefficient row x)).
    { rewrite (coefficient_from_weight m row max). replace (x - m) with (- (m - x)) by ring.
      apply div_always_encloses; [easy|]. apply (sum_in _ _ _ _ _ _ hr). }
    apply beyond_is with (allowed := coefficient_allowed c m row x) (exact := coefficient row x) in accused; [|clear accused|easy].
    - pose proof (kept_coefficient c good m row max some x (value output) ltac:(now apply in_map) kept). lra.
    - unfold coefficient_allowed. apply add_encloses; [|easy]. apply mul_encloses; [|easy].
      apply add_encloses; [easy|]. now apply mul_encloses.
  Qed.

  Theorem logsumexp_accusation output :
    judge_logsumexp output = violated -> ~ keeps_logsumexp c row (value output).
  Proof.
    unfold judge_logsumexp. cbv zeta. set (s := share p c). set (r := summarise p c s theta largest_logit logits).
    destruct (applies s r) eqn:known; [|discriminate].
    destruct (applies_is known) as [hs [hr [good [max some]]]]. fold s in hs, hr. fold r in hr.
    destruct (logsumexp_enclosed p c theta largest_logit logits s r hs hr max) as [exact allowed].
    intros accused kept. pose proof (beyond_is _ _ output _ _ allowed exact accused).
    pose proof (kept_logsumexp c good (at_temperature theta largest_logit) row max some (value output) kept). lra.
  Qed.

  Theorem entropy_accusation output :
    judge_entropy output = violated -> ~ keeps_entropy c row (value output).
  Proof.
    unfold judge_entropy. cbv zeta. set (s := share p c). set (r := summarise p c s theta largest_logit logits).
    destruct (applies s r && quotients_are_sound s) eqn:known; [|discriminate].
    apply andb_true_iff in known as [known quotients]. destruct (applies_is known) as [hs [hr [good [max some]]]]. fold s in hs, hr. fold r in hr.
    destruct (entropy_enclosed p c theta largest_logit logits s r hs hr max) as [exact allowed].
    intros accused kept. pose proof (beyond_is _ _ output _ _ allowed exact accused) as far.
    assert (sound_quotients c).
    { unfold quotients_are_sound in quotients. apply andb_true_iff in quotients as [[low leaves]%andb_true_iff few].
      split; [|split].
      - now apply (at_most_is zero (reciprocal_loss c) 0 _ (value_of_integer 0) eq_refl).
      - apply (less_is p _ _ _ _ (add_encloses p _ _ _ _ (point_encloses (accumulator_roundoff c)) (point_encloses (reciprocal_loss c)))
                 (integer_encloses p 1) leaves).
      - left. apply (less_is p _ _ _ _ (mul_encloses p _ _ _ _ (rescalings_in _ _ hs) (point_encloses (difference_loss c)))
                       (integer_encloses p 2) few). }
    pose proof (kept_entropy c good (at_temperature theta largest_logit) row max some (value output) ltac:(easy) kept). lra.
  Qed.
End Judge.
