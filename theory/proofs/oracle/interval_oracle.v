(** * A verified oracle: enclosures of a row's softmax, log-sum-exp and entropy that are proved to hold the real values.

    Main results
    - [bounds_hold]           the two dyadic numbers that are printed of an interval bound every real in it
    - [logsumexp_enclosed]    the computed interval holds  ln sum_j exp(e_j)
    - [entropy_enclosed]      the computed interval holds  H(softmax(e)), in nats
    - [coefficient_enclosed]  the computed interval holds  exp(e_k) / sum_j exp(e_j)

    The logits are dyadic numbers, so that every number of a binary format is one exactly. Whatever the precision is, the
    interval holds the value; only its width depends on it. The evaluator is extracted to OCaml (extract.v) and is the
    third oracle beside MPFI and Arb: it shares no code with either.

    Idea: with any reference point c, S = sum exp(e_j - c) and T = sum exp(e_j - c) (e_j - c) give
    ln sum exp(e_j) = c + ln S and H = ln S - T / S. Coq's Interval library bounds each operation; what is proved here is
    that their composition bounds the definitions of softmax.v. *)

From Coq Require Import ZArith.
From Flocq Require Import Core.
From Interval Require Import Float.Basic Float.Specific_ops Float.Specific_stdz Float.Generic_proof
  Interval.Interval Interval.Float_full Real.Xreal.
From softcheck Require Import softmax.

Module F := SpecificFloat StdZRadix2.
Module I := FloatIntervalFull F.

(** ** Logits *)

(** mantissa * 2^exponent *)
Definition dyadic := (Z * Z)%type.
Definition value (x : dyadic) : R := F2R (Defs.Float radix2 (fst x) (snd x)).

Definition number (x : dyadic) : F.type := Specific_ops.Float (fst x) (snd x).
Definition point (x : dyadic) : I.type := I.bnd (number x) (number x).

Definition encloses (i : I.type) (x : R) : Prop := contains (I.convert i) (Xreal x).

Lemma number_exact x : F.toX (number x) = Xreal (value x).
Proof.
  destruct x as [m e]. unfold F.toX, F.toF, number, value. cbn -[F2R]. destruct m as [|m|m]; cbn -[F2R FtoR].
  - now rewrite F2R_0.
  - now rewrite FtoR_split.
  - now rewrite FtoR_split.
Qed.

Lemma point_encloses x : encloses (point x) (value x).
Proof.
  unfold encloses, point. rewrite I.bnd_correct.
  - change I.F.toX with F.toX. rewrite number_exact. simpl. lra.
  - now destruct x as [m e].
  - now destruct x as [m e].
Qed.

(** The ends of an interval as dyadic numbers; [None] where one of them is no number. *)
Definition finite (x : F.type) : option dyadic :=
  match x with Specific_ops.Float m e => Some (m, e) | Fnan => None end.

Definition bounds (i : I.type) : option (dyadic * dyadic) :=
  match finite (I.lower i), finite (I.upper i) with
  | Some l, Some u => Some (l, u)
  | _, _ => None
  end.

Lemma finite_exact x d : finite x = Some d -> F.toX x = Xreal (value d).
Proof. destruct x as [|m e]; [discriminate|]. intros [= <-]. exact (number_exact (m, e)). Qed.

Theorem bounds_hold i x l u : encloses i x -> bounds i = Some (l, u) -> (value l <= x <= value u)%R.
Proof.
  unfold encloses, bounds. destruct i as [|a b]; [discriminate|]. cbn [I.lower I.upper].
  destruct (finite a) eqn:low, (finite b) eqn:high; try discriminate. unfold I.convert.
  destruct (_ && _)%bool; [|intros [above below]; exfalso; lra]. intros inside [= <- <-].
  change I.F.toX with F.toX in inside. now rewrite (finite_exact _ _ low), (finite_exact _ _ high) in inside.
Qed.

(** ** Evaluation *)

Section Evaluation.

Variable precision : F.precision.

Definition deviation (reference x : dyadic) : I.type := I.sub precision (point x) (point reference).
Definition weight (reference x : dyadic) : I.type := I.exp precision (deviation reference x).

Definition total (terms : list I.type) : I.type := fold_right (I.add precision) I.zero terms.

Definition weight_sum (reference : dyadic) (logits : list dyadic) : I.type := total (map (weight reference) logits).

Definition deviation_sum (reference : dyadic) (logits : list dyadic) : I.type :=
  total (map (fun x => I.mul precision (weight reference x) (deviation reference x)) logits).

Definition logsumexp (reference : dyadic) (logits : list dyadic) : I.type :=
  I.add precision (point reference) (I.ln precision (weight_sum reference logits)).

Definition row_entropy (reference : dyadic) (logits : list dyadic) : I.type :=
  let weights := weight_sum reference logits in
  I.sub precision (I.ln precision weights) (I.div precision (deviation_sum reference logits) weights).

(** Of every item of the row, in its order. *)
Definition coefficients (reference : dyadic) (logits : list dyadic) : list I.type :=
  let weights := weight_sum reference logits in
  map (fun x => I.div precision (weight reference x) weights) logits.

(** ** Each step encloses its real *)

Lemma sub_encloses i j x y : encloses i x -> encloses j y -> encloses (I.sub precision i j) (x - y).
Proof. exact (I.sub_correct precision i j (Xreal x) (Xreal y)). Qed.

Lemma add_encloses i j x y : encloses i x -> encloses j y -> encloses (I.add precision i j) (x + y).
Proof. exact (I.add_correct precision i j (Xreal x) (Xreal y)). Qed.

Lemma mul_encloses i j x y : encloses i x -> encloses j y -> encloses (I.mul precision i j) (x * y).
Proof. exact (I.mul_correct precision i j (Xreal x) (Xreal y)). Qed.

Lemma exp_encloses i x : encloses i x -> encloses (I.exp precision i) (exp x).
Proof. exact (I.exp_correct precision i (Xreal x)). Qed.

Lemma div_encloses i j x y : (0 < y)%R -> encloses i x -> encloses j y -> encloses (I.div precision i j) (x / y).
Proof.
  intros positive inx iny. assert (enclosed := I.div_correct precision i j (Xreal x) (Xreal y) inx iny).
  simpl in enclosed. unfold Xdiv' in enclosed. now rewrite is_zero_false in enclosed by lra.
Qed.

Lemma ln_encloses i x : (0 < x)%R -> encloses i x -> encloses (I.ln precision i) (ln x).
Proof.
  intros positive inx. assert (enclosed := I.ln_correct precision i (Xreal x) inx). simpl in enclosed.
  unfold Xln' in enclosed. now rewrite is_positive_true in enclosed by lra.
Qed.

Lemma zero_encloses : encloses I.zero 0.
Proof. unfold encloses. rewrite I.zero_correct. simpl. lra. Qed.

Lemma total_encloses {A} (f : A -> I.type) (g : A -> R) items :
  (forall a, encloses (f a) (g a)) -> encloses (total (map f items)) (sum (map g items)).
Proof. intros each. induction items as [|a items inside]; [exact zero_encloses|]. simpl. now apply add_encloses. Qed.

(** ** The sums of the row about the reference point *)

Context (reference : dyadic) (logits : list dyadic) (visible : logits <> []).

Let c := value reference.
Let row := map value logits.
Let shifted := map (fun x => (x + - c)%R) row.

Lemma shifted_visible : shifted <> [].
Proof. unfold shifted, row. now apply map_not_nil, map_not_nil. Qed.

Lemma deviation_encloses x : encloses (deviation reference x) (value x + - c).
Proof. apply sub_encloses; apply point_encloses. Qed.

Lemma weight_encloses x : encloses (weight reference x) (exp (value x + - c)).
Proof. apply exp_encloses, deviation_encloses. Qed.

Lemma weight_sum_encloses : encloses (weight_sum reference logits) (partition_function shifted).
Proof.
  unfold weight_sum, partition_function, shifted, row. rewrite !map_map. apply total_encloses, weight_encloses.
Qed.

Lemma deviation_sum_encloses : encloses (deviation_sum reference logits) (sum (map (fun x => (exp x * x)%R) shifted)).
Proof.
  unfold deviation_sum, shifted, row. rewrite !map_map.
  apply total_encloses. intros. apply mul_encloses; [apply weight_encloses | apply deviation_encloses].
Qed.

Lemma mean_from_sums : mean shifted = (sum (map (fun x => exp x * x) shifted) / partition_function shifted)%R.
Proof. unfold mean, expectation, coefficient, Rdiv. rewrite <- sum_map_mult_r. apply sum_map_ext. intros. ring. Qed.

(** ** The results *)

Theorem logsumexp_enclosed : encloses (logsumexp reference logits) (ln (partition_function row)).
Proof.
  replace (ln (partition_function row)) with (c + ln (partition_function shifted))%R.
  - apply add_encloses; [apply point_encloses|].
    apply ln_encloses; [apply partition_pos, shifted_visible | apply weight_sum_encloses].
  - unfold shifted. rewrite partition_shift, ln_mult, ln_exp; [ring | apply exp_pos|].
    apply partition_pos. now apply map_not_nil.
Qed.

Theorem entropy_enclosed : encloses (row_entropy reference logits) (entropy row).
Proof.
  rewrite <- (entropy_shift (- c) row). fold shifted. rewrite (entropy_log_partition _ shifted_visible), mean_from_sums.
  assert (positive := partition_pos _ shifted_visible).
  apply sub_encloses; [apply ln_encloses | apply div_encloses]; trivial. 1, 3: apply weight_sum_encloses.
  apply deviation_sum_encloses.
Qed.

Theorem coefficient_enclosed k :
  (k < length logits)%nat ->
  encloses (nth k (coefficients reference logits) I.nai) (nth k (softmax row) 0%R).
Proof.
  intros within. unfold coefficients.
  destruct (nth_error logits k) as [x|] eqn:at_k; [|now apply nth_error_None in at_k; apply Nat.nle_gt in within].
  rewrite (nth_error_nth _ _ _ (map_nth_error _ _ _ at_k)).
  replace (nth k (softmax row) 0%R) with (coefficient shifted (value x + - c)).
  - apply div_encloses; [apply partition_pos, shifted_visible | apply weight_encloses | apply weight_sum_encloses].
  - unfold shifted. rewrite coefficient_shift. symmetry. apply nth_error_nth.
    unfold softmax, row. rewrite map_map. now apply map_nth_error with (f := fun x => coefficient (map value logits) (value x)).
Qed.

End Evaluation.
