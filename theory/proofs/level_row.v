(** * A row as its distinct levels and their counts: what theory/level_row.hpp keeps of it.

    Main results
    - [levels_exist]        every row is, up to order, the row of its distinct logits with their counts
    - [sum_over_levels]     a sum over the items is one over the levels, each counted
    - [softmax_of_levels]   a coefficient of the row is one of a level, and each level has one
    - [mirrored]            softmax at -beta is softmax at beta of the row with every logit negated
    - [repeated]            every item k times: coefficients divided by k, entropy + ln k

    Source: this project; the rows of theory/ are computed level by level. *)

From softcheck Require Import softmax lemma_2_1.
Local Open Scope R_scope.

Record level : Set := { level_logit : R; level_count : nat }.

Definition row_of (levels : list level) : list R := flat_map (fun l => repeat (level_logit l) (level_count l)) levels.

Definition distinct (levels : list level) : Prop := NoDup (map level_logit levels).

(** ** Every row has levels *)

(** Adding an item to the levels: to its own, where there is one. *)
Lemma levels_with_item x levels :
  (forall l, In l levels -> (1 <= level_count l)%nat) -> distinct levels ->
  exists levels', (forall l, In l levels' -> (1 <= level_count l)%nat) /\ distinct levels' /\
                  (forall y, In y (map level_logit levels') <-> y = x \/ In y (map level_logit levels)) /\
                  Permutation (row_of levels') (x :: row_of levels).
Proof.
  induction levels as [|l rest IH]; intros counts different.
  - exists [{| level_logit := x; level_count := 1 |}]. split; [now intros l [<- | []]|].
    split; [constructor; [easy | constructor]|]. split; [cbn; intuition congruence|]. easy.
  - destruct (Req_dec x (level_logit l)) as [-> | other].
    + exists ({| level_logit := level_logit l; level_count := S (level_count l) |} :: rest).
      split; [intros l' [<- | inl]; [cbn; lia | apply counts; now right]|].
      split; [exact different|]. split; [cbn; intuition|]. easy.
    + destruct IH as [levels' [counts' [different' [logits' same]]]];
        [intros; apply counts; now right | now inversion different|].
      exists (l :: levels'). split; [intros l' [<- | inl]; [apply counts; now left | now apply counts']|].
      split; [|split].
      * constructor; [|easy]. rewrite logits'. inversion different as [|? ? fresh _]. intuition congruence.
      * intros y. cbn. rewrite logits'. intuition.
      * cbn. rewrite same. now rewrite <- Permutation_middle.
Qed.

(** Item after item is added to the levels. *)
Theorem levels_exist logits :
  exists levels, (forall l, In l levels -> (1 <= level_count l)%nat) /\ distinct levels /\
                 Permutation (row_of levels) logits.
Proof.
  induction logits as [|x xs [levels [counts [different same]]]].
  - exists []. split; [easy|]. split; [constructor | easy].
  - destruct (levels_with_item x levels counts different) as [levels' [counts' [different' [_ same']]]].
    exists levels'. split; [easy|]. split; [easy|]. rewrite same'. now apply perm_skip.
Qed.

(** ** Sums and coefficients *)

Theorem sum_over_levels (f : R -> R) levels :
  sum (map f (row_of levels)) = sum (map (fun l => INR (level_count l) * f (level_logit l)) levels).
Proof.
  induction levels as [|l rest IH]; [easy|]. cbn [row_of flat_map]. fold (row_of rest).
  rewrite map_app, sum_app, map_repeat, sum_repeat, IH. unfold sum. reflexivity.
Qed.

Lemma in_row_of levels x :
  In x (row_of levels) <-> exists l, In l levels /\ (1 <= level_count l)%nat /\ level_logit l = x.
Proof.
  unfold row_of. rewrite in_flat_map. split; intros [l [inl rest]]; exists l; (split; [easy|]).
  - pose proof (repeat_spec _ _ _ rest) as same. split; [|easy]. destruct (level_count l); [easy | lia].
  - destruct rest as [some <-]. destruct (level_count l); [lia | now left].
Qed.

Theorem softmax_of_levels levels p :
  In p (softmax (row_of levels)) <->
  exists l, In l levels /\ (1 <= level_count l)%nat /\ coefficient (row_of levels) (level_logit l) = p.
Proof.
  unfold softmax. rewrite in_map_iff. split.
  - intros [x [value inx]]. apply in_row_of in inx as [l [inl [some <-]]]. now exists l.
  - intros [l [inl [some value]]]. exists (level_logit l). split; [easy|]. apply in_row_of. now exists l.
Qed.

(** ** Mirrored and repeated rows *)

Theorem mirrored beta logits : softmax (scaled (- beta) logits) = softmax (scaled beta (map Ropp logits)).
Proof. f_equal. unfold scaled. rewrite map_map. apply map_ext. intros. ring. Qed.

Definition repeated_row (k : nat) (logits : list R) : list R := concat (repeat logits k).

Lemma sum_repeated (f : R -> R) k logits : sum (map f (repeated_row k logits)) = INR k * sum (map f logits).
Proof.
  unfold repeated_row. induction k as [|k IH]; [unfold sum; cbn; lra|].
  cbn [repeat concat]. rewrite map_app, sum_app, IH, S_INR. ring.
Qed.

(** Z is multiplied by k, the mean stays. *)
Theorem repeated k logits :
  logits <> [] -> (1 <= k)%nat ->
  (forall x, coefficient (repeated_row k logits) x = coefficient logits x / INR k) /\
  entropy (repeated_row k logits) = entropy logits + ln (INR k).
Proof.
  intros visible some. assert (0 < INR k) by (apply lt_0_INR; lia). pose proof (partition_pos logits visible) as pos.
  assert (total : partition_function (repeated_row k logits) = INR k * partition_function logits) by apply sum_repeated.
  assert (shares : forall x, coefficient (repeated_row k logits) x = coefficient logits x / INR k).
  { intros x. unfold coefficient. rewrite total. field. lra. } split; [exact shares|].
  assert (visible' : repeated_row k logits <> []).
  { destruct k as [|k]; [lia|]. unfold repeated_row. cbn [repeat concat]. now destruct logits. }
  rewrite !entropy_log_partition by easy. rewrite total, ln_mult by easy.
  assert (same : mean (repeated_row k logits) = mean logits).
  { unfold mean, expectation. rewrite sum_repeated. rewrite <- sum_map_mult_l. apply sum_map_ext. intros x _.
    rewrite shares. field. lra. }
  rewrite same. ring.
Qed.
