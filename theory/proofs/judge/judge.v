(** * A judge whose accusations are theorems.

    Main results
    - [coefficient_accusation]   softmax, one coefficient: the negation of B2's premises
    - [logsumexp_accusation]     log-sum-exp: of B5's
    - [entropy_accusation]       entropy: of B6's
    - [masked_keeps]          a kernel that keeps the contract on a row with masked items keeps it on the visible ones
    - [masked_b2]             so a visible item's result errs by at most B2 of its coefficient in the row with masked items
    - [masked_b5], [masked_b6]   and log-sum-exp and entropy by at most B5 and B6 of that row's

    Examples
    - [accuses_a_coefficient], [accuses_a_logsumexp], [accuses_an_entropy]   one per cent beside the exact value
    - [is_silent_of_a_coefficient]   of the nearest number of binary32 it says nothing
    - [one_is_returned]              the row of one item and its coefficient 1: a kernel that keeps the contract

    at any precision.

    The judge answers [violated] or [not_violated] to one value of a row. Its accusation is a theorem: no kernel that keeps
    the contract returns this value, whatever its tree, its exponential and its order of operations. The other answer says
    nothing: the value may be right, or the precision too low, or the contract's numbers may be outside the theorems.

    declared_contract.v computes height and rescalings from the word sum= and asks it; that is extracted to OCaml
    (extract_judge.v), and `softcheck kernel --certify` asks it. *)

From Coq Require Import ZArith NArith Bool.
From Flocq Require Import Core.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import row reduction b1_sum b2_element b5_logsumexp b6_entropy masked_row.
From softcheck.judge Require Import enclosed_row kept_contract enclosed_bounds.
Local Open Scope R_scope.

Inductive verdict := violated | not_violated.

Section Judge.
  Context (p : F.precision) (c : contract) (theta : dyadic) (logits : list dyadic).

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

  Theorem logsumexp_accusation output : judge_logsumexp output = violated -> ~ keeps_logsumexp c row (value output).
  Proof.
    unfold judge_logsumexp. cbv zeta. set (s := share p c). set (r := summarise p c s theta largest_logit logits).
    destruct (applies s r) eqn:known; [|discriminate].
    destruct (applies_is known) as [hs [hr [good [max some]]]]. fold s in hs, hr. fold r in hr.
    destruct (logsumexp_enclosed p c theta largest_logit logits s r hs hr max) as [exact allowed].
    intros accused kept. pose proof (beyond_is _ _ output _ _ allowed exact accused).
    pose proof (kept_logsumexp c good (at_temperature theta largest_logit) row max some (value output) kept). lra.
  Qed.

  Theorem entropy_accusation output : judge_entropy output = violated -> ~ keeps_entropy c row (value output).
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

(** ** Values that the judge accuses, and one that a kernel returns: neither the judge nor what it speaks of is empty. *)

(** acc=f32 exp=1ulp, of a row of two items. *)
Definition of_binary32 : contract := {|
  accumulator_roundoff := (1, -24)%Z; exponential_error := (1, -23)%Z; logarithm_error := (1, -23)%Z;
  argument_roundings := one; argument_extra := zero; difference_loss := zero;
  sum_loss := zero; product_loss := (1, -150)%Z; exponential_loss := (1, -149)%Z; last_argument := (207, 0)%Z;
  conversion_error := zero; scaling_error := zero; reciprocal_loss := zero;
  result_roundoff := zero; result_loss := zero; smallest_number := (1, -149)%Z;
  most_additions := 1; most_rescalings := 1
|}.

Definition bits : F.precision := F.PtoP 60.
Definition two_logits : list dyadic := [zero; (-1, 0)%Z].

(** 1 / (1 + e^-1) = 0.7310..., ln (1 + e^-1) = 0.3132..., the entropy 0.5822...; each times 2^10, rounded, and 7 more. *)
Example accuses_a_coefficient : judge_coefficient bits of_binary32 one two_logits zero (756, -10)%Z = violated.
Proof. vm_compute. reflexivity. Qed.
Example accuses_a_logsumexp : judge_logsumexp bits of_binary32 one two_logits (328, -10)%Z = violated.
Proof. vm_compute. reflexivity. Qed.
Example accuses_an_entropy : judge_entropy bits of_binary32 one two_logits (603, -10)%Z = violated.
Proof. vm_compute. reflexivity. Qed.
Example is_silent_of_a_coefficient :
  judge_coefficient bits of_binary32 one two_logits zero (12265119, -24)%Z = not_violated.
Proof. vm_compute. reflexivity. Qed.

Lemma binary32_is_sound : sound_contract of_binary32.
Proof. apply (soundness_is_checked bits _ (share bits of_binary32)); [apply shared_holds|vm_compute; reflexivity]. Qed.

Lemma binary32_floors :
  let M := arithmetic_of of_binary32 in
  0 <= argument_unit M /\ 0 <= argument_step M /\ 0 <= product_floor M /\ 0 <= exp_floor M /\ 0 <= exp_cutoff M /\ 0 <= sum_floor M.
Proof. pose proof binary32_is_sound as [good _]. unfold sound in good. cbv zeta. lra. Qed.

Lemma maximum_is_computed :
  computed_argument (arithmetic_of of_binary32) 0 0 /\ computed_exp (arithmetic_of of_binary32) 0 1.
Proof.
  pose proof binary32_is_sound as [good _]. pose proof (unit_nonneg _ good) as hu. pose proof (exp_unit_nonneg _ good) as he.
  pose proof binary32_floors as floors. cbv zeta in floors. split.
  - exists 0, 0. rewrite Rabs_R0. repeat split; try easy; lra.
  - exists 0, 0. replace (- 0 + 0) with 0 by ring. rewrite Rabs_R0, exp_0. split; [easy|]. split; [easy|].
    split; [rewrite Rmult_0_l; now apply Rmult_le_pos|]. split; [|ring]. intros other. exfalso. now apply other.
Qed.

(** The parts of a kernel that returns 1 of a row of one item. *)
Lemma one_is_computed x :
  summed (arithmetic_of of_binary32) [x] x 1 0 0 0 /\ (forall z, computed_sum (arithmetic_of of_binary32) z z) /\
  computed_element (arithmetic_of of_binary32) (output_of of_binary32) (value (conversion_error of_binary32)) x 0 1 x 1.
Proof.
  pose proof binary32_is_sound as [good _]. pose proof (unit_nonneg _ good) as hu. pose proof binary32_floors as floors.
  cbv zeta in floors. destruct maximum_is_computed as [argument weight]. assert (nothing : value zero = 0) by apply value_of_integer.
  assert (product : computed_product (arithmetic_of of_binary32) (1 / 1) 1).
  { replace (1 / 1) with 1 by field. apply computed_product_exact; [exact good|apply floors]. }
  split; [|split].
  - apply summed_item with 0; [apply Rle_refl| |easy]. now replace (x - x) with 0 by ring.
  - intros z. exists 0, 0. rewrite Rabs_R0, exp_0. split; [easy|]. split; [apply floors|ring].
  - exists 0, 1, 1. split; [|split; [|split]].
    + replace (0 - (x - x)) with 0 by ring. rewrite Rabs_R0. cbn. rewrite nothing. apply Rle_refl.
    + now apply numerator_direct with 0; [apply Rle_refl| |].
    + now apply ratio_division.
    + exists 0, 0. rewrite Rabs_R0, exp_0. cbn. rewrite nothing. unfold log_unit. rewrite Rminus_0_r, ln_1. repeat split; lra.
Qed.

Example one_is_returned : keeps_coefficient of_binary32 (row_at_temperature one [zero]) (at_temperature one zero) 1.
Proof.
  set (x := at_temperature one zero). destruct (one_is_computed x) as [tree [_ element]].
  assert (nothing : value zero = 0) by apply value_of_integer. exists x, 1, 0%nat, 0%nat. split; [split; cbn; lia|].
  split; [|exact element]. assert (max : is_maximum x [x]) by (split; [now left|intros y [<-|[]]; apply Rle_refl]).
  apply sum_of_tree with x [x] 0%nat; [exact max|exact max| |exact tree| |easy].
  - cbn. rewrite nothing. apply converted_same.
  - unfold size. cbn. lra.
Qed.

(** ** Keeping a contract on a row with masked items: the bounds, and the judge's accusations, are those of the visible items.

    with the height and the rescalings that are granted.

    Idea: parts of a tree that hold nothing visible are 0, and leave what they are added to as it is (masked_row.v). *)

Section Masked.
  Context (c : contract) (items : list (option R)).
  Notation M := (arithmetic_of c).
  Notation kappa := (value (conversion_error c)).
  Notation visible := (visible_items items).
  Notation output := (rounded_output (value (result_roundoff c)) (value (result_loss c))).

  (** A path's additions count no more often than there are visible items to add: [declared_additions] grants that many. *)
  Notation counted h := (Nat.min h (length visible - 1)).

  (** [keeps_coefficient], [keeps_logsumexp] and [keeps_entropy], with trees over items that may be masked. *)
  Definition keeps_masked_coefficient (x p : R) : Prop :=
    exists m s h j, granted c (counted h) j /\ sum_of_masked_row M kappa m items s h j /\ computed_element M (output_of c) kappa m j s x p.

  Definition keeps_masked_logsumexp (l : R) : Prop :=
    exists m s h j m_hat y z,
      granted c (counted h) j /\ sum_of_masked_row M kappa m items s h j /\
      computed_maximum M kappa m j (value (scaling_error c)) m_hat /\ computed_log M s y /\ rounded_sum M (m_hat + y) z /\ output z l.

  Definition keeps_masked_entropy (e : R) : Prop :=
    exists m s y h j q x z,
      granted c (counted h) j /\ moments_of_masked_row M kappa m items s y h j /\ quotient_by_sum M (value (reciprocal_loss c)) y s q /\
      computed_log M s x /\ rounded_sum M (x + q) z /\ output z e.

  Lemma granted_fewer h h' j : (h' <= h)%nat -> granted c h j -> granted c h' j.
  Proof. intros lower [high few]. split; [lia|exact few]. Qed.

  Theorem masked_keeps :
    (forall x p, keeps_masked_coefficient x p -> keeps_coefficient c visible x p) /\
    (forall l, keeps_masked_logsumexp l -> keeps_logsumexp c visible l) /\
    (forall e, keeps_masked_entropy e -> keeps_entropy c visible e).
  Proof.
    split; [|split].
    - intros x p [m [s [h [j [grants [hs element]]]]]]. destruct (masked_sum _ _ _ _ _ _ _ hs) as [h' [lower sums]].
      exists m, s, h', j. split; [now apply granted_fewer with (counted h)|]. now split.
    - intros l [m [s [h [j [m_hat [y [z [grants [hs rest]]]]]]]]]. destruct (masked_sum _ _ _ _ _ _ _ hs) as [h' [lower sums]].
      exists m, s, h', j, m_hat, y, z. split; [now apply granted_fewer with (counted h)|]. now split.
    - intros e [m [s [y [h [j [q [x [z [grants [hs rest]]]]]]]]]]. destruct (masked_moments _ _ _ _ _ _ _ _ hs) as [h' [lower sums]].
      exists m, s, y, h', j, q, x, z. split; [now apply granted_fewer with (counted h)|]. now split.
  Qed.

  Context (good : sound_contract c) (m : R) (max : is_maximum m visible)
    (some : lost_sum M kappa m visible (N.to_nat (most_additions c)) (N.to_nat (most_rescalings c)) < 1).

  Theorem masked_b2 x p :
    In (Some x) items -> keeps_masked_coefficient x p ->
    Rabs (p - coefficient_of_item items (Some x)) <= coefficient_allowed c m visible x.
  Proof using good max some.
    intros inx kept. rewrite (proj2 (masked_coefficient items)).
    apply (kept_coefficient c good m visible max some); [|now apply masked_keeps].
    apply in_flat_map. exists (Some x). split; [exact inx|now left].
  Qed.

  Theorem masked_b5 l : keeps_masked_logsumexp l -> Rabs (l - ln (masked_total items)) <= logsumexp_allowed c m visible.
  Proof using good max some.
    intros kept. rewrite masked_partition. apply (kept_logsumexp c good m visible max some). now apply masked_keeps.
  Qed.

  Theorem masked_b6 e :
    sound_quotients c -> keeps_masked_entropy e -> Rabs (e - entropy_of_items items) <= entropy_allowed c m visible.
  Proof using good max some.
    intros quotients kept. rewrite masked_entropy. apply (kept_entropy c good m visible max some); [easy|]. now apply masked_keeps.
  Qed.
End Masked.

(** 0 and a masked item: what a kernel of binary32 returns of the first is 1. *)
Example one_is_returned_beside_a_mask :
  let x := at_temperature one zero in
  sound_contract of_binary32 /\ is_maximum x (visible_items [Some x; None]) /\ In (Some x) [Some x; None] /\
  keeps_masked_coefficient of_binary32 [Some x; None] x 1.
Proof.
  set (x := at_temperature one zero). cbv zeta. destruct (one_is_computed x) as [tree [exact element]].
  assert (nothing : value zero = 0) by apply value_of_integer.
  assert (max : is_maximum x [x]) by (split; [now left|intros y [<-|[]]; apply Rle_refl]).
  split; [exact binary32_is_sound|]. split; [exact max|]. split; [now left|].
  exists x, 1, 1%nat, 0%nat. split; [split; cbn; lia|]. split; [|exact element]. split; [exact max|].
  exists x, [Some x; None], 0%nat. split; [exact max|]. split; [|split].
  - assert (same : Rabs ((x - x) - (x - x)) <= value (conversion_error of_binary32)).
    { rewrite Rminus_diag_eq, Rabs_R0 by easy. cbn. rewrite nothing. apply Rle_refl. }
    unfold masked_converted. repeat apply Forall2_cons; easy || apply Forall2_nil.
  - apply (masked_addition _ [Some x] [None] x 1 0 1 0 0 0 0 0 0); try easy; [apply (unmasked_tree _ _ _ _ _ _ _ tree)|now apply masked_nothing|].
    rewrite Rplus_0_r. apply exact.
  - unfold size. cbn. lra.
Qed.
