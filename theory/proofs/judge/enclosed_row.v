(** * A row of dyadic logits at a dyadic temperature, and the statistics that the rounding bounds need, in intervals.

    Main results
    - [ordered_exactly]          dyadic numbers are compared without rounding
    - [sum_of_runs]              a sum over the row is a sum over its distinct logits, each with its count
    - [largest_is_the_maximum]   the largest logit over theta is the maximum of the row
    - [moments_enclosed]         S, T and the sum of w D^2 relative to the maximum lie in their intervals

    Nothing is asked of a logarithm's or a quotient's argument: where an interval leaves the domain of a function, the
    result is the whole line, which holds every real.

    Idea: a long row of a counterexample has few distinct logits; so each exponential is computed once. Beyond a deviation
    of 8192 it lies between 0 and e^-8192, whatever it is. *)

From Coq Require Import ZArith NArith Bool.
From Flocq Require Import Core.
From Interval Require Import Interval.Interval Real.Xreal.
From softcheck.oracle Require Import interval_oracle.
From softcheck.numerics Require Import row.
Local Open Scope R_scope.

(** ** Operations beyond the oracle's *)

(** What holds the value of nothing holds everything. *)
Lemma encloses_anything i x : contains (I.convert i) Xnan -> encloses i x.
Proof. unfold encloses. now destruct (I.convert i). Qed.

Section Operations.
  Variable p : F.precision.

  Lemma ln_always_encloses i x : encloses i x -> encloses (I.ln p i) (ln x).
  Proof.
    intros inside. destruct (Rlt_dec 0 x) as [positive|other]; [now apply ln_encloses|].
    apply encloses_anything. assert (enclosed := I.ln_correct p i (Xreal x) inside).
    simpl in enclosed. unfold Xln' in enclosed. now rewrite is_positive_false in enclosed by lra.
  Qed.

  Lemma div_always_encloses i j x y : encloses i x -> encloses j y -> encloses (I.div p i j) (x / y).
  Proof.
    intros inx iny. assert (enclosed := I.div_correct p i j (Xreal x) (Xreal y) inx iny).
    simpl in enclosed. unfold Xdiv' in enclosed. destruct (is_zero_spec y) as [zero|other].
    - now apply encloses_anything.
    - easy.
  Qed.

  Definition integer (z : Z) : I.type := I.fromZ p z.
  Lemma integer_encloses z : encloses (integer z) (IZR z).
  Proof. apply I.fromZ_correct. Qed.

  Lemma abs_encloses i x : encloses i x -> encloses (I.abs i) (Rabs x).
  Proof. exact (I.abs_correct i (Xreal x)). Qed.

  Lemma neg_encloses i x : encloses i x -> encloses (I.neg i) (- x).
  Proof. exact (I.neg_correct i (Xreal x)). Qed.

  Definition squared (i : I.type) : I.type := I.mul p i i.
  Lemma squared_encloses i x : encloses i x -> encloses (squared i) (x ^ 2).
  Proof. intros inside. replace (x ^ 2) with (x * x) by ring. now apply mul_encloses. Qed.

  Definition cubed (i : I.type) : I.type := I.mul p i (squared i).
  Lemma cubed_encloses i x : encloses i x -> encloses (cubed i) (x ^ 3).
  Proof. intros inside. replace (x ^ 3) with (x * x ^ 2) by ring. now apply mul_encloses; [|apply squared_encloses]. Qed.

  (** Every real of the interval is above 0. *)
  Definition positive (i : I.type) : bool := match I.sign_strict i with Xgt => true | _ => false end.
  Lemma positive_is i x : encloses i x -> positive i = true -> 0 < x.
  Proof.
    unfold positive. intros inside. pose proof (I.sign_strict_correct i) as sign.
    destruct (I.sign_strict i); try discriminate. intros _. now destruct (sign (Xreal x) inside).
  Qed.

  Definition less (i j : I.type) : bool := positive (I.sub p j i).
  Lemma less_is i j x y : encloses i x -> encloses j y -> less i j = true -> x < y.
  Proof. intros inx iny yes. enough (0 < y - x) by lra. eapply positive_is; [|exact yes]. now apply sub_encloses. Qed.
End Operations.

(** ** Dyadic numbers, exactly *)

Definition at_exponent (e : Z) (x : dyadic) : Z := (fst x * 2 ^ (snd x - e))%Z.
Definition at_most (x y : dyadic) : bool :=
  let e := Z.min (snd x) (snd y) in Z.leb (at_exponent e x) (at_exponent e y).
Definition same (x y : dyadic) : bool := Z.eqb (fst x) (fst y) && Z.eqb (snd x) (snd y).

Lemma value_at_exponent e x : (e <= snd x)%Z -> value x = IZR (at_exponent e x) * bpow radix2 e.
Proof.
  intros below. unfold value, at_exponent, F2R. cbn [Fnum Fexp]. rewrite mult_IZR.
  change (2 ^ (snd x - e))%Z with (radix2 ^ (snd x - e))%Z. rewrite IZR_Zpower by lia.
  rewrite Rmult_assoc, <- bpow_plus. do 2 f_equal. lia.
Qed.

Theorem ordered_exactly x y : at_most x y = true <-> value x <= value y.
Proof.
  unfold at_most. set (e := Z.min (snd x) (snd y)). rewrite (value_at_exponent e x), (value_at_exponent e y) by lia.
  pose proof (bpow_gt_0 radix2 e). rewrite Z.leb_le. split; intros ordered.
  - apply Rmult_le_compat_r; [lra|]. now apply IZR_le.
  - apply le_IZR. now apply Rmult_le_reg_r with (bpow radix2 e).
Qed.

Lemma same_is x y : same x y = true <-> x = y.
Proof.
  unfold same. rewrite andb_true_iff, !Z.eqb_eq. destruct x, y. cbn. split; [intros [-> ->]; easy|now intros [= -> ->]].
Qed.

Definition greater (x y : dyadic) : dyadic := if at_most x y then y else x.
Definition largest (first : dyadic) (rest : list dyadic) : dyadic := fold_right greater first rest.

Lemma greater_is x y : (greater x y = x \/ greater x y = y) /\ value x <= value (greater x y) /\ value y <= value (greater x y).
Proof.
  unfold greater. destruct (at_most x y) eqn:order.
  - apply ordered_exactly in order. repeat split; auto; lra.
  - assert (~ value x <= value y) by (rewrite <- ordered_exactly, order; discriminate). repeat split; auto; lra.
Qed.

Lemma largest_is first rest :
  In (largest first rest) (first :: rest) /\ forall x, In x (first :: rest) -> value x <= value (largest first rest).
Proof.
  induction rest as [|y rest [member above]]; [split; [now left|intros x [<-|[]]; apply Rle_refl]|].
  change (largest first (y :: rest)) with (greater y (largest first rest)).
  destruct (greater_is y (largest first rest)) as [which [hy hl]]. split.
  - destruct which as [equal|equal]; rewrite equal; [right; now left|].
    destruct member as [<-|member]; [now left|right; now right].
  - intros x [<-|[<-|inx]]; [|easy|].
    + eapply Rle_trans; [apply above; now left|easy].
    + eapply Rle_trans; [apply above; now right|easy].
Qed.

(** ** Distinct logits with their counts *)

Definition run := (dyadic * N)%type.
Fixpoint counted_in (x : dyadic) (runs : list run) : list run :=
  match runs with
  | [] => [(x, 1%N)]
  | (y, count) :: rest => if same x y then (y, N.succ count) :: rest else (y, count) :: counted_in x rest
  end.
Definition runs_of (logits : list dyadic) : list run := fold_right counted_in [] logits.

Definition times (r : run) : R := IZR (Z.of_N (snd r)).

Lemma sum_counted_in f x runs :
  sum (map (fun r => times r * f (fst r)) (counted_in x runs)) = f x + sum (map (fun r => times r * f (fst r)) runs).
Proof.
  unfold sum. induction runs as [|[y count] rest IH]; cbn [counted_in]; [unfold times; cbn; ring|].
  destruct (same x y) eqn:equal; cbn [map fold_right]; [|rewrite IH; ring].
  apply same_is in equal as <-. unfold times at 1 3. cbn [fst snd]. rewrite N2Z.inj_succ, succ_IZR. ring.
Qed.

Theorem sum_of_runs (f : dyadic -> R) logits :
  sum (map f logits) = sum (map (fun r => times r * f (fst r)) (runs_of logits)).
Proof.
  unfold runs_of. induction logits as [|x rest IH]; [easy|]. cbn [fold_right]. now rewrite sum_counted_in, <- IH.
Qed.

Lemma in_counted_in x y runs : In x (map fst (counted_in y runs)) <-> y = x \/ In x (map fst runs).
Proof.
  induction runs as [|[z count] rest IH]; cbn [counted_in]; [cbn; tauto|].
  destruct (same y z) eqn:equal; cbn [map fst In]; [apply same_is in equal as <-; tauto|]. rewrite IH. tauto.
Qed.

Lemma in_runs x logits : In x (map fst (runs_of logits)) <-> In x logits.
Proof.
  unfold runs_of. induction logits as [|y rest IH]; [easy|]. cbn [fold_right In]. now rewrite in_counted_in, IH.
Qed.

(** ** The row at its temperature *)

Section Row.
  Context (p : F.precision) (theta m : dyadic) (logits : list dyadic).

  Definition at_temperature (x : dyadic) : R := value x / value theta.
  Definition row_at_temperature : list R := map at_temperature logits.

  Lemma largest_is_the_maximum first rest :
    0 < value theta -> logits = first :: rest -> m = largest first rest -> is_maximum (at_temperature m) row_at_temperature.
  Proof.
    intros warm all top. unfold row_at_temperature. rewrite all, top.
    destruct (largest_is first rest) as [member above]. split.
    - now apply in_map.
    - intros y iny. apply in_map_iff in iny as [x [<- inx]].
      unfold at_temperature, Rdiv. apply Rmult_le_compat_r; [left; now apply Rinv_0_lt_compat|]. now apply above.
  Qed.

  Definition over_theta (i : I.type) : I.type := if same theta (1, 0)%Z then i else I.div p i (point theta).
  Lemma over_theta_encloses i x : encloses i x -> encloses (over_theta i) (x / value theta).
  Proof.
    intros inside. unfold over_theta. destruct (same theta (1, 0)%Z) eqn:one.
    - apply same_is in one as ->. replace (x / value (1, 0)%Z) with x; [easy|]. unfold value, F2R. cbn. field.
    - apply div_always_encloses; [easy|apply point_encloses].
  Qed.

  Definition deviation_of (x : dyadic) : I.type := over_theta (I.sub p (point m) (point x)).
  Lemma deviation_of_encloses x : encloses (deviation_of x) (at_temperature m - at_temperature x).
  Proof.
    replace (at_temperature m - at_temperature x) with ((value m - value x) / value theta)
      by (unfold at_temperature, Rdiv; ring).
    apply over_theta_encloses, sub_encloses; apply point_encloses.
  Qed.

  Definition far : Z := 8192.
  Definition unit_interval : I.type := I.bnd (number (0, 0)%Z) (number (1, 0)%Z).
  Lemma unit_interval_encloses x : 0 <= x <= 1 -> encloses unit_interval x.
  Proof.
    intros inside. unfold encloses, unit_interval. rewrite I.bnd_correct by easy.
    change I.F.toX with F.toX. rewrite !number_exact. unfold value, F2R. cbn. lra.
  Qed.

  (** e^-8192 times something between 0 and 1. *)
  Definition vanishing : I.type := I.mul p (I.exp p (I.neg (integer p far))) unit_interval.
  Definition weight_at (vanished d : I.type) : I.type :=
    if less p (integer p far) d then vanished else I.exp p (I.neg d).

  Lemma weight_at_encloses i d : encloses i d -> encloses (weight_at vanishing i) (exp (- d)).
  Proof.
    intros inside. unfold weight_at. destruct (less p (integer p far) i) eqn:beyond.
    - apply (less_is p _ _ (IZR far) d) in beyond; [|apply integer_encloses|easy].
      replace (exp (- d)) with (exp (- IZR far) * exp (- (d - IZR far))) by (rewrite <- exp_plus; f_equal; ring).
      apply mul_encloses; [apply exp_encloses, neg_encloses, integer_encloses|].
      apply unit_interval_encloses. split; [left; apply exp_pos|]. rewrite <- exp_0. left. apply exp_increasing. lra.
    - now apply exp_encloses, neg_encloses.
  Qed.

  (** Of a distinct logit: its count, its deviation and its weight. *)
  Record met := { logit : dyadic; count : N; its_deviation : I.type; its_weight : I.type }.

  Definition meet (vanished : I.type) (r : run) : met :=
    let d := deviation_of (fst r) in
    {| logit := fst r; count := snd r; its_deviation := d; its_weight := weight_at vanished d |}.
  Definition items : list met := let vanished := vanishing in map (meet vanished) (runs_of logits).

  Definition counted (f : met -> I.type) (item : met) : I.type := I.mul p (integer p (Z.of_N (count item))) (f item).
  Definition sum_over (f : met -> I.type) (all : list met) : I.type := total p (map (counted f) all).

  Lemma sum_over_encloses (f : met -> I.type) (g : R -> R) :
    (forall r, encloses (f (meet vanishing r)) (exp (- (at_temperature m - at_temperature (fst r))) * g (at_temperature m - at_temperature (fst r)))) ->
    encloses (sum_over f items) (weighted_sum (at_temperature m) row_at_temperature g).
  Proof.
    intros each. unfold weighted_sum, row_at_temperature. rewrite map_map.
    rewrite (sum_of_runs (fun x => exp (at_temperature x - at_temperature m) * g (at_temperature m - at_temperature x))).
    unfold sum_over, items. rewrite map_map. apply total_encloses. intros r. unfold counted.
    apply mul_encloses; [apply integer_encloses|].
    replace (at_temperature (fst r) - at_temperature m) with (- (at_temperature m - at_temperature (fst r))) by ring. apply each.
  Qed.

  Definition weight_total (all : list met) : I.type := sum_over its_weight all.
  Definition deviation_total (all : list met) : I.type :=
    sum_over (fun i => I.mul p (its_weight i) (its_deviation i)) all.
  Definition square_total (all : list met) : I.type :=
    sum_over (fun i => I.mul p (its_weight i) (squared p (its_deviation i))) all.

  Theorem moments_enclosed :
    encloses (weight_total items) (weight_sum (at_temperature m) row_at_temperature) /\
    encloses (deviation_total items) (deviation_sum (at_temperature m) row_at_temperature) /\
    encloses (square_total items) (weighted_sum (at_temperature m) row_at_temperature (fun d => d ^ 2)).
  Proof.
    repeat split; apply sum_over_encloses; intros r; cbn [meet its_weight its_deviation];
      pose proof (deviation_of_encloses (fst r)) as inside; pose proof (weight_at_encloses _ _ inside) as weighed.
    - now rewrite Rmult_1_r.
    - now apply mul_encloses.
    - apply mul_encloses; [easy|]. now apply squared_encloses.
  Qed.

  (** The item of the row at a logit. *)
  Definition item_at (x : dyadic) (all : list met) : option met := find (fun i => same x (logit i)) all.

  Lemma item_at_is x i :
    item_at x items = Some i ->
    In x logits /\ encloses (its_deviation i) (at_temperature m - at_temperature x) /\
    encloses (its_weight i) (exp (- (at_temperature m - at_temperature x))).
  Proof.
    intros found. apply find_some in found as [member equal]. apply same_is in equal as ->.
    apply in_map_iff in member as [r [<- inr]]. cbn [meet its_weight its_deviation logit].
    pose proof (deviation_of_encloses (fst r)) as inside. split; [|split; [easy|now apply weight_at_encloses]].
    apply in_runs. now apply in_map.
  Qed.
End Row.
