(** * The largest norm of a list of balls, and the largest distance of two points of them.

    Main results
    - [ball_distance_holds]   two points are no further apart than their balls
    - [largest_distance_ge]   the largest distance is computed from each pair once

    Units of 2^-14, as everywhere. *)

From Coq Require Import Reals List ZArith Lra Lia.
From softcheck Require Import vectors.
From softcheck.certified_network Require Import fixed_point ball_layers.
Import ListNotations.
Local Open Scope R_scope.

Definition ball_norm (b : ball) : Z := (norm_above (centre b) + radius b)%Z.

Fixpoint difference (x y : list Z) : list Z :=
  match x, y with
  | a :: x, b :: y => (a - b)%Z :: difference x y
  | [], y => map Z.opp y
  | x, [] => x
  end.

Definition ball_distance (b c : ball) : Z := (norm_above (difference (centre b) (centre c)) + (radius b + radius c))%Z.

Fixpoint largest (xs : list Z) : Z := match xs with [] => 0%Z | x :: xs => Z.max x (largest xs) end.

(** Each pair once, a ball with itself included. *)
Fixpoint largest_distance (balls : list ball) : Z :=
  match balls with
  | [] => 0%Z
  | b :: rest => Z.max (largest (map (ball_distance b) balls)) (largest_distance rest)
  end.

Lemma largest_ge xs x : In x xs -> (x <= largest xs)%Z.
Proof. induction xs as [|y xs IH]; [easy|]. cbn. intros [-> | inside]; [lia|]. specialize (IH inside). lia. Qed.

Lemma largest_nonneg xs : (0 <= largest xs)%Z.
Proof. induction xs; cbn; lia. Qed.

Lemma ball_norm_holds b v : holds 128 b v -> norm 128 v <= place 14 (ball_norm b).
Proof.
  intros (fits & _ & close). unfold ball_norm. rewrite place_plus.
  rewrite (norm_ext 128 v (add (real_vector 14 (centre b)) (subtract v (real_vector 14 (centre b)))))
    by (intros; unfold add, subtract; ring).
  eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat; [now apply norm_of_integers; [lia|] | easy].
Qed.

Lemma difference_is x y i : real_vector 14 (difference x y) i = subtract (real_vector 14 x) (real_vector 14 y) i.
Proof.
  unfold subtract, real_vector. rewrite <- place_minus. f_equal. unfold entry. revert y i.
  induction x as [|a x IH]; intros [|b y] [|i]; cbn [difference nth map]; try lia; try apply IH.
  change 0%Z with (Z.opp 0) at 1. rewrite map_nth. lia.
Qed.

Lemma difference_length x y n : (length x <= n)%nat -> (length y <= n)%nat -> (length (difference x y) <= n)%nat.
Proof.
  revert y n. induction x as [|a x IH]; intros [|b y] n fits fits'; cbn in *; rewrite ?map_length; try lia.
  destruct n; [lia|]. specialize (IH y n). lia.
Qed.

Lemma ball_distance_holds b c v w :
  holds 128 b v -> holds 128 c w -> norm 128 (subtract v w) <= place 14 (ball_distance b c).
Proof.
  intros (fits & _ & close) (fits' & _ & close'). unfold ball_distance. rewrite !place_plus.
  set (x := real_vector 14 (centre b)) in *. set (z := real_vector 14 (centre c)) in *.
  rewrite (norm_ext 128 _ (add (subtract x z) (subtract (subtract v x) (subtract w z))))
    by (intros; unfold add, subtract; ring).
  eapply Rle_trans; [apply norm_add|]. apply Rplus_le_compat.
  - rewrite (norm_ext 128 _ (real_vector 14 (difference (centre b) (centre c)))) by (intros; symmetry; apply difference_is).
    apply norm_of_integers; [lia | now apply difference_length].
  - eapply Rle_trans; [apply norm_subtract|]. lra.
Qed.

Lemma ball_distance_comm b c : ball_distance b c = ball_distance c b.
Proof.
  unfold ball_distance, norm_above. rewrite (Z.add_comm (radius b)). f_equal. f_equal.
  assert (opposite : forall x y, difference y x = map Z.opp (difference x y)).
  { induction x as [|a x IH]; intros [|e y]; cbn [difference map]; try easy.
    - f_equal; [lia|]. rewrite map_map. rewrite <- (map_id y) at 1. apply map_ext. intros. lia.
    - rewrite IH. f_equal. lia. }
  rewrite (opposite (centre b)). generalize (difference (centre b) (centre c)). intros x.
  induction x as [|a x IH]; cbn; [easy|]. rewrite <- IH. nia.
Qed.

Lemma largest_distance_ge balls b c : In b balls -> In c balls -> (ball_distance b c <= largest_distance balls)%Z.
Proof.
  induction balls as [|first rest IH]; [easy|]. cbn [largest_distance]. intros inb inc.
  assert (of_first : forall d, In d (first :: rest) ->
    (ball_distance first d <= largest (map (ball_distance first) (first :: rest)))%Z)
    by (intros; now apply largest_ge, in_map).
  destruct inb as [<- | inb]; [specialize (of_first c inc); lia|].
  destruct inc as [<- | inc]; [rewrite ball_distance_comm; specialize (of_first b (or_intror inb)); lia|].
  specialize (IH inb inc). lia.
Qed.

Lemma largest_distance_nonneg balls : (0 <= largest_distance balls)%Z.
Proof. induction balls; cbn [largest_distance]; [lia|]. lia. Qed.
