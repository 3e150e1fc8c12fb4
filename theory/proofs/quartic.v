(** * The published quartic of adaptive temperature, its slope and its curvature.

    Source: paper, Figure 4. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import proposition_3_2.
Local Open Scope R_scope.

(** P(H) = -0.037 H^4 + 0.481 H^3 - 2.3 H^2 + 4.917 H - 1.791 *)
Definition quartic (H : R) : R := (-1791 + H * (4917 + H * (-2300 + H * (481 + H * -37)))) / 1000.
Definition slope (H : R) : R := (4917 + H * (-4600 + H * (1443 + H * -148))) / 1000.
Definition curvature (H : R) : R := (-4600 + H * (2886 + H * -444)) / 1000.

Lemma quartic_derivative H : is_derive quartic H (slope H).
Proof. unfold quartic, slope. auto_derive; [easy|]. field. Qed.

Lemma slope_derivative H : is_derive slope H (curvature H).
Proof. unfold slope, curvature. auto_derive; [easy|]. field. Qed.

Lemma continuous_at (f f' : R -> R) x : (forall x, is_derive f x (f' x)) -> continuity_pt f x.
Proof. intros derivative. apply derivable_continuous_pt. exists (f' x). now apply is_derive_Reals. Qed.

(** The intermediate value theorem for a sign change. *)
Lemma root_between (f f' : R -> R) a b :
  (forall x, is_derive f x (f' x)) -> a < b -> f a < 0 -> 0 < f b -> exists x, a < x < b /\ f x = 0.
Proof.
  intros derivative less negative positive. destruct (IVT f a b) as [x [[low high] root]]; [|easy|easy|easy|].
  - intros x. now apply (continuous_at f f').
  - exists x. split; [|easy]. split.
    + destruct low as [low | ->]; [easy | lra].
    + destruct high as [high | ->]; [easy | lra].
Qed.

(** On [0, 35/8] it is 148 (35/8 - H) (H - 43/16)^2 and a line above 0; below 0 every term of P' is positive. *)
Lemma slope_positive_below H : H <= 35 / 8 -> 0 < slope H.
Proof.
  intros low. destruct (Rle_dec 0 H) as [nonneg | negative].
  - unfold slope. pose proof (pow2_ge_0 (H - 43 / 16)).
    assert (0 <= (35 / 8 - H) * (H - 43 / 16) ^ 2) by (apply Rmult_le_pos; lra). lra.
  - unfold slope. assert (0 <= - H) by lra.
    assert (0 <= H * H) by nra. assert (0 <= - H * (H * H)) by (apply Rmult_le_pos; lra). nra.
Qed.

Lemma curvature_negative_above H : 4 <= H -> curvature H < 0.
Proof. intros. unfold curvature. nra. Qed.

(** P' falls from 4 on. *)
Lemma slope_decreasing a b : 4 <= a -> a < b -> slope b < slope a.
Proof.
  intros far less. destruct (mean_value slope curvature a b slope_derivative less) as [c [between difference]].
  pose proof (curvature_negative_above c ltac:(lra)). nra.
Qed.
