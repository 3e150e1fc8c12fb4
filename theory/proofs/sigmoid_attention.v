(** * Sigmoid attention: does a coefficient disperse?

    Main results
    - [fixed_bias]     logits in [-B, B] and a bias b: every coefficient lies in [sigmoid(b - B), sigmoid(b + B)], above 0 at
                       every length: no coefficient disperses
    - [log_length]     with the bias -ln n of n items it is at least e^(-B) / (n + e^(-B)), at most e^B / n: all disperse

    Source: Ramapuram et al., arXiv 2409.04431; the bounds are this project's. *)

From softcheck Require Import softmax.
Local Open Scope R_scope.

Definition sigmoid (x : R) : R := / (1 + exp (- x)).

(** The coefficients of a row, which share the bias b. *)
Definition sigmoids (b : R) (logits : list R) : list R := map (fun x => sigmoid (x + b)) logits.

Definition within (B : R) (logits : list R) : Prop := forall x, In x logits -> - B <= x <= B.

Lemma sigmoid_pos x : 0 < sigmoid x.
Proof. apply Rinv_0_lt_compat. pose proof (exp_pos (- x)). lra. Qed.

Lemma sigmoid_le x y : x <= y -> sigmoid x <= sigmoid y.
Proof.
  intros less. pose proof (exp_pos (- y)). assert (exp (- y) <= exp (- x)) by (apply exp_le; lra).
  apply Rinv_le_contravar; lra.
Qed.

Theorem fixed_bias b B logits p :
  within B logits -> In p (sigmoids b logits) -> 0 < sigmoid (b - B) <= p /\ p <= sigmoid (b + B).
Proof.
  intros bounded inp. apply in_map_iff in inp as [x [<- inx]]. specialize (bounded x inx).
  split; [split; [apply sigmoid_pos|]|]; apply sigmoid_le; lra.
Qed.

Lemma sigmoid_of_length n x : 0 < n -> sigmoid (x + - ln n) = exp x / (exp x + n).
Proof.
  intros pos. unfold sigmoid. replace (- (x + - ln n)) with (ln n + - x) by ring.
  rewrite exp_plus, exp_ln, exp_Ropp by easy. pose proof (exp_pos x). field. lra.
Qed.

Theorem log_length B logits p :
  within B logits -> In p (sigmoids (- ln (size logits)) logits) ->
  exp (- B) / (size logits + exp (- B)) <= p <= exp B / size logits.
Proof.
  intros bounded inp. apply in_map_iff in inp as [x [<- inx]]. specialize (bounded x inx).
  assert (pos : 0 < size logits) by (destruct logits; [easy | apply lt_0_INR; simpl; lia]).
  split.
  - rewrite Rplus_comm, <- sigmoid_of_length by easy. apply sigmoid_le. lra.
  - rewrite sigmoid_of_length by easy. pose proof (exp_pos x). assert (exp x <= exp B) by (apply exp_le; lra).
    apply Rmult_le_compat; [lra | apply Rlt_le, Rinv_0_lt_compat; lra | easy | apply Rinv_le_contravar; lra].
Qed.

(** A row that meets the premises, and reaches both bounds of a fixed bias. *)
Example fixed_bias_is_reached : within 1 [1; -1] /\ sigmoids 0 [1; -1] = [sigmoid (0 + 1); sigmoid (0 - 1)].
Proof.
  split; [intros x [<- | [<- | []]]; lra |].
  unfold sigmoids. cbn [map]. now replace (1 + 0) with (0 + 1) by ring; replace (-1 + 0) with (0 - 1) by ring.
Qed.

Example log_length_inhabited : within 1 [1; -1] /\ sigmoids (- ln (size [1; -1])) [1; -1] <> [].
Proof. split; [intros x [<- | [<- | []]]; lra | easy]. Qed.
