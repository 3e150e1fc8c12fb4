(** * Which rows of two values have the least entropy.

    Main results (rows of n items with k at the top and n - k at the bottom, d apart)
    - [least_entropy_counts]     the entropy falls and then rises in k, turning at
                                 n (d - 1 + e^(-d)) e^(-d) / (1 - e^(-d))^2
    - [one_at_the_top_overclaims]   1024 items, d = 5.69: k = 1 gives 5.9 nats, k = 16 less than 4

    Source: this project. *)

From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax lemma_2_1 proposition_3_2 standard_interval entropy_bounds.
Local Open Scope R_scope.

(** ** Which k gives the least entropy *)

Definition turning_count (n : nat) (d : R) : R := INR n * ((d - 1 + exp (- d)) * exp (- d) / (1 - exp (- d)) ^ 2).

Section Counts.
  Context (n : nat) (d : R) (many : (1 <= n)%nat) (apart : 0 < d).

  (** For k a real number: Z = k e^d + n - k. *)
  Let Z k := k * exp d + (INR n - k).
  Let H k := ln (Z k) - k * exp d * d / Z k.

  Let exp_above : 1 < exp d.
  Proof. rewrite <- exp_0. now apply exp_increasing. Qed.

  Let Z_pos k : 0 <= k -> 0 < Z k.
  Proof.
    intros nonneg. assert (0 < INR n) by now apply lt_0_INR.
    unfold Z. replace (k * exp d + (INR n - k)) with (INR n + k * (exp d - 1)) by ring.
    assert (0 <= k * (exp d - 1)) by (apply Rmult_le_pos; lra). lra.
  Qed.

  (** dH/dk = ((e^d - 1) Z - n d e^d) / Z^2 = (e^d - 1)^2 (k - turning_count) / Z^2. *)
  Let derivative k : 0 <= k -> is_derive H k ((exp d - 1) ^ 2 * (k - turning_count n d) / Z k ^ 2).
  Proof.
    intros nonneg. pose proof (Z_pos k nonneg) as pos. unfold H, Z in *. auto_derive; [lra|].
    unfold turning_count. pose proof (exp_opp_mult d) as inverse. rewrite exp_Ropp. field. split; [|split]; lra.
  Qed.

  (** The mean value theorem for H between two counts. *)
  Let difference a b :
    0 <= a -> a < b -> exists k, a < k < b /\ H b - H a = (exp d - 1) ^ 2 * (k - turning_count n d) / Z k ^ 2 * (b - a).
  Proof.
    intros nonneg less.
    destruct (MVT_cor2 H (fun k => (exp d - 1) ^ 2 * (k - turning_count n d) / Z k ^ 2) a b less) as [k [same between]].
    - intros k [low high]. apply is_derive_Reals, derivative. lra.
    - now exists k.
  Qed.

  Let steep k : 0 <= k -> 0 < (exp d - 1) ^ 2 / Z k ^ 2.
  Proof. intros nonneg. apply Rdiv_lt_0_compat; apply pow_lt; [lra | now apply Z_pos]. Qed.

  (** H falls where k is below the turning count and rises where it is above. *)
  Theorem least_entropy_counts j k :
    (j <= k)%nat ->
    (INR k <= turning_count n d -> two_level_entropy n k d <= two_level_entropy n j d) /\
    (turning_count n d <= INR j -> two_level_entropy n j d <= two_level_entropy n k d).
  Proof.
    intros less. destruct (Nat.eq_dec j k) as [-> | other]; [split; lra|].
    assert (INR j < INR k) as apart' by (apply lt_INR; lia). pose proof (pos_INR j) as nonneg.
    destruct (difference (INR j) (INR k) nonneg apart') as [t [[low high] same]].
    change (two_level_entropy n k d) with (H (INR k)). change (two_level_entropy n j d) with (H (INR j)).
    pose proof (steep t ltac:(lra)) as pos.
    replace ((exp d - 1) ^ 2 * (t - turning_count n d) / Z t ^ 2 * (INR k - INR j))
      with ((exp d - 1) ^ 2 / Z t ^ 2 * (INR k - INR j) * (t - turning_count n d)) in same
      by (unfold Rdiv; ring).
    assert (0 < (exp d - 1) ^ 2 / Z t ^ 2 * (INR k - INR j)) by (apply Rmult_lt_0_compat; lra). split; intros side.
    - assert (0 <= (exp d - 1) ^ 2 / Z t ^ 2 * (INR k - INR j) * (turning_count n d - t)) by (apply Rmult_le_pos; lra).
      lra.
    - assert (0 <= (exp d - 1) ^ 2 / Z t ^ 2 * (INR k - INR j) * (t - turning_count n d)) by (apply Rmult_le_pos; lra).
      lra.
  Qed.
End Counts.

(** The row [d, 0, ..., 0] is not the one of least entropy. *)
Theorem one_at_the_top_overclaims : two_level_entropy 1024 16 5.69 < 4 /\ 5.9 < two_level_entropy 1024 1 5.69.
Proof. unfold two_level_entropy. rewrite !INR_IZR_INZ. cbn [Z.of_nat Pos.of_succ_nat Pos.succ]. split; enclose. Qed.
