(** * Lipschitz constants of layers, in the maximum norm.

    Main results
    - [row_sum_gain], [feedforward_gain]   largest row sums
    - [concrete_lipschitz]       such constants exist for every network of theory/small_transformer.hpp

    Source: this project. *)

From Coq Require Import Classical.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors small_transformer coordinate_box.
Local Open Scope R_scope.

(** ** Lipschitz constants in the maximum norm *)

(** |x_c - y_c| <= r for every coordinate. *)
Definition within (d : nat) (r : R) (x y : vector) : Prop := 0 <= r /\ forall c, (c < d)%nat -> Rabs (x c - y c) <= r.

(** On the vectors of P, |f x - f y| <= G |x - y|. *)
Definition lipschitz_on (P : vector -> Prop) (d m : nat) (G : R) (f : vector -> vector) : Prop :=
  0 <= G /\ forall x y r, P x -> P y -> within d r x y -> within m (G * r) (f x) (f y).

Lemma within_refl d x : within d 0 x x.
Proof. split; [lra|]. intros. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra. Qed.

Lemma within_weaken d r r' x y : r <= r' -> within d r x y -> within d r' x y.
Proof. intros less [nonneg close]. split; [lra|]. intros c lessc. specialize (close c lessc). lra. Qed.

(** The triangle inequality. *)
Lemma within_add d r r' x y x' y' : within d r x y -> within d r' x' y' -> within d (r + r') (add x x') (add y y').
Proof.
  intros [nonneg close] [nonneg' close']. split; [lra|]. intros c less. specialize (close c less).
  specialize (close' c less). unfold add.
  replace (x c + x' c - (y c + y' c)) with ((x c - y c) + (x' c - y' c)) by ring. triangle. lra.
Qed.

(** Each entry of A (x - y) is at most its row sum times the largest |x_j - y_j|. *)
Theorem row_sum_gain (P : vector -> Prop) rows columns A G :
  0 <= G -> (forall i, (i < rows)%nat -> row_sum columns A i <= G) ->
  lipschitz_on P columns rows G (multiply columns A).
Proof.
  intros nonneg below. split; [easy|]. intros x y r _ _ [nonneg' close]. split; [monotone|]. intros i less.
  eapply Rle_trans; [exact (multiply_difference columns A x y i r close)|].
  apply Rmult_le_compat_r; [easy | now apply below].
Qed.

(** The mean value theorem unit by unit: slope i bounds |activation'| over what unit i can see. *)
Theorem feedforward_gain (P : vector -> Prop) width hidden (residual : bool) inner outer inner_bias outer_bias
  activation slope G :
  let unit x i := add (multiply width inner x) inner_bias i in
  0 <= G ->
  (forall i, (i < hidden)%nat -> 0 <= slope i) ->
  (forall x y, P x -> P y -> forall i, (i < hidden)%nat ->
     Rabs (activation (unit x i) - activation (unit y i)) <= slope i * Rabs (unit x i - unit y i)) ->
  (forall c, (c < width)%nat ->
     sum (map (fun i => Rabs (outer c i) * (slope i * row_sum width inner i)) (seq 0 hidden)) <= G) ->
  lipschitz_on P width width (if residual then G + 1 else G)
    (mlp width hidden residual inner outer inner_bias outer_bias activation).
Proof.
  intros unit nonneg rising steep below.
  set (plain := fun x => add (multiply hidden outer (fun i => activation (unit x i))) outer_bias).
  assert (core : forall x y r, P x -> P y -> within width r x y -> within width (G * r) (plain x) (plain y)).
  { intros x y r inx iny [nonneg' close]. split; [monotone|]. intros c less. unfold plain, add, multiply, dot.
    match goal with |- Rabs (?a + ?b - (?a' + ?b)) <= _ => replace (a + b - (a' + b)) with (a - a') by ring end.
    rewrite <- sum_map_minus. eapply Rle_trans; [apply sum_map_abs|].
    apply Rle_trans with (sum (map (fun i => Rabs (outer c i) * (slope i * row_sum width inner i)) (seq 0 hidden)) * r);
      [|apply Rmult_le_compat_r; [easy | now apply below]].
    rewrite <- sum_map_mult_r. apply sum_map_le. intros i ini. apply in_seq in ini.
    rewrite <- Rmult_minus_distr_l, Rabs_mult, Rmult_assoc. apply Rmult_le_compat_l; [monotone|].
    eapply Rle_trans; [apply steep; [easy | easy | lia]|]. rewrite Rmult_assoc.
    apply Rmult_le_compat_l; [apply rising; lia|]. unfold unit, add.
    replace (multiply width inner x i + inner_bias i - (multiply width inner y i + inner_bias i))
    with (multiply width inner x i - multiply width inner y i) by ring.
    now apply multiply_difference. }
  destruct residual; (split; [lra|]).
  - intros x y r inx iny close. rewrite Rmult_plus_distr_r, Rmult_1_l. apply within_add; [now apply core | easy].
  - exact core.
Qed.

(** Such a slope: a bound of the derivative on an interval that holds what the unit can see. *)
Lemma slope_from_derivative (activation derivative : R -> R) a b s :
  (forall t, a <= t <= b -> is_derive activation t (derivative t)) ->
  (forall t, a <= t <= b -> Rabs (derivative t) <= s) ->
  forall u v, a <= u <= b -> a <= v <= b -> Rabs (activation u - activation v) <= s * Rabs (u - v).
Proof.
  intros isder below u v inu inv. assert (inside : forall t, Rmin v u <= t <= Rmax v u -> a <= t <= b).
  { intros t. unfold Rmin, Rmax. destruct Rle_dec; intros; lra. }
  destruct (MVT_gen activation v u derivative) as [t [between difference]].
  - intros t between. apply isder, inside. lra.
  - intros t between. apply derivable_continuous_pt. exists (derivative t). now apply is_derive_Reals, isder, inside.
  - rewrite difference, Rabs_mult. apply Rmult_le_compat_r; [monotone| now apply below, inside].
Qed.

(** ** Every concrete layer is Lipschitz on every box *)

Definition lipschitz_on_boxes (d m : nat) (f : vector -> vector) : Prop :=
  forall B, exists G, lipschitz_on (in_box d B) d m G f.

Definition lipschitz_layer (d : nat) (l : layer) : Prop :=
  match l with
  | Attention _ heads => forall h, In h heads -> lipschitz_on_boxes d d (value h)
  | Feedforward width f => lipschitz_on_boxes d width f
  end.

Fixpoint lipschitz_layers (d : nat) (layers : list layer) : Prop :=
  match layers with [] => True | l :: rest => lipschitz_layer d l /\ lipschitz_layers (width_behind d l) rest end.

(** On every interval around 0. *)
Definition locally_lipschitz (f : R -> R) : Prop :=
  forall r, 0 <= r -> exists s, 0 <= s /\
    forall u v, Rabs u <= r -> Rabs v <= r -> Rabs (f u - f v) <= s * Rabs (u - v).

(** f(0) and the steepest rise from there. *)
Lemma locally_lipschitz_bounded f r :
  locally_lipschitz f -> 0 <= r -> exists M, 0 <= M /\ forall u, Rabs u <= r -> Rabs (f u) <= M.
Proof.
  intros lip nonneg. destruct (lip r nonneg) as [s [nonneg' steep]]. exists (Rabs (f 0) + s * r). split. { monotone. }
  intros u small. replace (f u) with (f 0 + (f u - f 0)) by ring. triangle. apply Rplus_le_compat_l.
  eapply Rle_trans; [apply steep; [easy | now rewrite Rabs_R0]|]. rewrite Rminus_0_r. monotone.
Qed.

Lemma locally_lipschitz_const c : locally_lipschitz (fun _ => c).
Proof. intros r _. exists 0. split; [lra|]. intros. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra. Qed.

Lemma locally_lipschitz_id : locally_lipschitz (fun x => x).
Proof. intros r _. exists 1. split; [lra|]. intros. lra. Qed.

(** The triangle inequality. *)
Lemma locally_lipschitz_plus f g : locally_lipschitz f -> locally_lipschitz g -> locally_lipschitz (fun x => f x + g x).
Proof.
  intros lipf lipg r nonneg. destruct (lipf r nonneg) as [s [pos steep]], (lipg r nonneg) as [s' [pos' steep']].
  exists (s + s'). split; [lra|]. intros u v smallu smallv. specialize (steep u v smallu smallv).
  specialize (steep' u v smallu smallv). replace (f u + g u - (f v + g v)) with ((f u - f v) + (g u - g v)) by ring.
  triangle. lra.
Qed.

(** f g - f' g' = f (g - g') + (f - f') g', and both factors are bounded. *)
Lemma locally_lipschitz_mult f g : locally_lipschitz f -> locally_lipschitz g -> locally_lipschitz (fun x => f x * g x).
Proof.
  intros lipf lipg r nonneg. destruct (lipf r nonneg) as [s [pos steep]], (lipg r nonneg) as [s' [pos' steep']].
  destruct (locally_lipschitz_bounded f r lipf nonneg) as [M [nonnegM below]].
  destruct (locally_lipschitz_bounded g r lipg nonneg) as [M' [nonnegM' below']]. exists (M * s' + s * M').
  split; [monotone|]. intros u v smallu smallv. specialize (steep u v smallu smallv).
  specialize (steep' u v smallu smallv).
  replace (f u * g u - f v * g v) with (f u * (g u - g v) + (f u - f v) * g v) by ring. triangle. rewrite !Rabs_mult.
  replace ((M * s' + s * M') * Rabs (u - v)) with (M * (s' * Rabs (u - v)) + s * Rabs (u - v) * M') by ring.
  apply Rplus_le_compat; apply Rmult_le_compat; try apply Rabs_pos; auto.
Qed.

(** f keeps the interval bounded, so that g meets a bounded one. *)
Lemma locally_lipschitz_compose f g :
  locally_lipschitz f -> locally_lipschitz g -> locally_lipschitz (fun x => g (f x)).
Proof.
  intros lipf lipg r nonneg. destruct (lipf r nonneg) as [s [pos steep]].
  destruct (locally_lipschitz_bounded f r lipf nonneg) as [M [nonnegM below]].
  destruct (lipg M nonnegM) as [s' [pos' steep']]. exists (s' * s). split; [monotone|]. intros u v smallu smallv.
  eapply Rle_trans; [apply steep'; now apply below|]. rewrite Rmult_assoc.
  apply Rmult_le_compat_l; [easy | now apply steep].
Qed.

Lemma locally_lipschitz_relu : locally_lipschitz relu.
Proof.
  intros r _. exists 1. split; [lra|]. intros u v _ _. unfold relu, Rmax, Rabs.
  repeat destruct Rle_dec; repeat destruct Rcase_abs; lra.
Qed.

(** tanh' = 1 - tanh^2 lies in [0, 1]. *)
Lemma locally_lipschitz_tanh : locally_lipschitz tanh.
Proof.
  intros r _. exists 1. split; [lra|]. intros u v _ _.
  assert (derivative : forall t, is_derive tanh t (1 - tanh t ^ 2)).
  { intros t. assert (0 < cosh t) by (unfold cosh; pose proof (exp_pos t); pose proof (exp_pos (- t)); lra).
    apply is_derive_ext with (f := fun t => sinh t / cosh t); [easy|]. evar_last.
    - apply is_derive_div; [| | lra]; apply is_derive_Reals;
        [apply derivable_pt_lim_sinh | apply derivable_pt_lim_cosh].
    - unfold tanh. simpl. field. lra. }
  apply (slope_from_derivative tanh (fun t => 1 - tanh t ^ 2) (Rmin u v) (Rmax u v)).
  - intros t _. apply derivative.
  - intros t _. assert (square : tanh t ^ 2 <= 1).
    { unfold tanh, sinh, cosh. pose proof (exp_pos t). pose proof (exp_pos (- t)).
      replace (((exp t - exp (- t)) / 2 / ((exp t + exp (- t)) / 2)) ^ 2)
        with ((exp t - exp (- t)) ^ 2 / (exp t + exp (- t)) ^ 2) by (field; lra).
      apply Rmult_le_reg_r with ((exp t + exp (- t)) ^ 2); [apply pow_lt; lra|].
      unfold Rdiv. rewrite Rmult_assoc, Rinv_l, Rmult_1_r by (apply Rgt_not_eq, pow_lt; lra). nra. }
    pose proof (pow2_ge_0 (tanh t)). apply Rabs_le. lra.
  - split; [apply Rmin_l | apply Rmax_l].
  - split; [apply Rmin_r | apply Rmax_r].
Qed.

(** Sums, products and compositions of locally Lipschitz functions. *)
Lemma locally_lipschitz_gelu : locally_lipschitz gelu.
Proof.
  unfold gelu. apply (locally_lipschitz_mult (fun x => x / 2)).
  - apply (locally_lipschitz_mult (fun x => x)); [apply locally_lipschitz_id | apply locally_lipschitz_const].
  - apply (locally_lipschitz_plus (fun _ => 1)); [apply locally_lipschitz_const|].
    apply (locally_lipschitz_compose (fun x => sqrt (2 / PI) * (x + 44715 / 1000000 * x ^ 3)) tanh);
      [|apply locally_lipschitz_tanh].
    apply (locally_lipschitz_mult (fun _ => sqrt (2 / PI))); [apply locally_lipschitz_const|].
    apply (locally_lipschitz_plus (fun x => x)); [apply locally_lipschitz_id|].
    apply (locally_lipschitz_mult (fun _ => 44715 / 1000000)); [apply locally_lipschitz_const|].
    apply (locally_lipschitz_mult (fun x => x)); [apply locally_lipschitz_id|].
    apply (locally_lipschitz_mult (fun x => x)); [apply locally_lipschitz_id|].
    apply (locally_lipschitz_mult (fun x => x)); [apply locally_lipschitz_id | apply locally_lipschitz_const].
Qed.

Lemma lipschitz_multiply rows columns A : lipschitz_on_boxes columns rows (multiply columns A).
Proof.
  intros B. destruct (bound_over_indices (row_sum columns A) rows) as [G [nonneg below]]. exists G.
  now apply row_sum_gain.
Qed.

(** The units see bounded inputs only, as the box is mapped into a box. *)
Lemma lipschitz_mlp width hidden residual inner outer inner_bias outer_bias activation :
  locally_lipschitz activation ->
  lipschitz_on_boxes width width (mlp width hidden residual inner outer inner_bias outer_bias activation).
Proof.
  intros lip B.
  destruct (bounded_on_box width hidden (fun x => add (multiply width inner x) inner_bias)) with (B := B) as [M below].
  { apply continuous_add; [apply continuous_multiply | apply continuous_const]. }
  destruct (lip (Rabs M) (Rabs_pos M)) as [s [nonneg steep]].
  set (gain c := sum (map (fun i => Rabs (outer c i) * (s * row_sum width inner i)) (seq 0 hidden))).
  destruct (bound_over_indices gain width) as [G [nonneg' below']]. exists (if residual then G + 1 else G).
  apply (feedforward_gain _ width hidden residual inner outer inner_bias outer_bias activation (fun _ => s) G);
    try easy.
  intros x y inx iny i less. apply steep; (eapply Rle_trans; [|apply Rle_abs]); now apply below.
Qed.

(** Matrices by their row sums, MLPs by their activation. *)
Theorem concrete_lipschitz d layers : (forall l, In l layers -> concrete_layer d l) -> lipschitz_layers d layers.
Proof.
  induction layers as [|l rest IH]; intros concrete; [easy|].
  assert (here : lipschitz_layer d l /\ width_behind d l = d).
  { specialize (concrete l (or_introl eq_refl)). destruct l as [residual heads | width f]; cbn in concrete.
    - split; [|easy]. intros h inh. destruct (concrete h inh) as [inner [Q [K [V [b_Q [b_K ->]]]]]].
      apply lipschitz_multiply.
    - destruct concrete as [-> [hidden [residual [inner [outer [b [b' [activation [-> smooth]]]]]]]]].
      split; [|easy]. apply lipschitz_mlp.
      destruct smooth as [-> | [-> | ->]];
        [apply locally_lipschitz_relu | apply locally_lipschitz_tanh | apply locally_lipschitz_gelu]. }
  destruct here as [here same]. split; [easy|]. rewrite same. apply IH. intros. apply concrete. now right.
Qed.
