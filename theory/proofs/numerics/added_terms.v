(** * Sums of terms of either sign, added by any tree in any order.

    Main result
    - [added_error]   terms within e^(+-a) and l of their values, added with at most h additions on any path:
                      |y - sum x| <= (e^(a + h lambda) - 1) sum |x| + e^(h lambda) (n l + (n - 1) omega_a)
    - [perturbed_sum] the same of terms x' within d_i of the exact x: e^(a + h lambda) (sum |x| + sum d) - sum |x| and
                      the same loss

    Source: docs/tolerances/softmax_gradient.md; the trees are those of [dot_product_error] and their reorderings. *)

From softcheck.numerics Require Export score_error.
Local Open Scope R_scope.

(** A number within the factor e^(+-a) and l of x: as it is read, stored or multiplied. *)
Definition approximates (a l x y : R) : Prop := exists t e, Rabs t <= a /\ Rabs e <= l /\ y = x * exp t + e.

Inductive added (M : arithmetic) (a l : R) : list R -> R -> nat -> Prop :=
| added_term x y : approximates a l x y -> added M a l [x] y 0
| added_addition l1 l2 y1 y2 y h1 h2 :
    added M a l l1 y1 h1 -> added M a l l2 y2 h2 -> computed_sum M (y1 + y2) y ->
    added M a l (l1 ++ l2) y (S (max h1 h2))
| added_reordered l1 l2 y h : added M a l l1 y h -> Permutation l1 l2 -> added M a l l2 y h.

Section Added.
  Context (M : arithmetic).
  Hypothesis good : sound M.
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).

  Lemma added_dotted a l xs y h : added M a l xs y h -> exists ys, Permutation ys xs /\ dotted M a l ys y h.
  Proof using.
    induction 1 as [x y [t [e [bt [be ->]]]]|l1 l2 y1 y2 y h1 h2 _ [ys1 [p1 d1]] _ [ys2 [p2 d2]] sum|l1 l2 y h _ [ys [p d]] q].
    - exists [x]. split; [easy|]. now apply dotted_product with t e.
    - exists (ys1 ++ ys2). split; [now apply Permutation_app|]. now apply dotted_addition with y1 y2.
    - exists ys. split; [now apply Permutation_trans with l1|easy].
  Qed.

  Definition added_rounding (a : R) (h : nat) (xs : list R) : R := (exp (a + INR h * lambda) - 1) * magnitude xs.
  Definition added_loss (l : R) (h : nat) (xs : list R) : R :=
    exp (INR h * lambda) * (size xs * l + (size xs - 1) * wa).

  Theorem added_error a l xs y h :
    0 <= a -> 0 <= l -> added M a l xs y h -> Rabs (y - sum xs) <= added_rounding a h xs + added_loss l h xs.
  Proof using good.
    intros ha hl tree. destruct (added_dotted a l xs y h tree) as [ys [p d]].
    destruct (dot_product_error M good a l ys y h ha hl d) as [close _].
    assert (same : magnitude xs = magnitude ys) by (apply sum_permutation, Permutation_map, Permutation_sym, p).
    assert (many : size xs = size ys) by (unfold size; now rewrite (Permutation_length p)).
    unfold added_rounding, added_loss. rewrite same, many, <- (sum_permutation ys xs p). easy.
  Qed.

  Lemma added_nonneg a l xs y h :
    0 <= a -> 0 <= l -> added M a l xs y h -> 0 <= added_rounding a h xs /\ 0 <= added_loss l h xs.
  Proof using good.
    intros ha hl tree. destruct (added_dotted a l xs y h tree) as [ys [p d]].
    destruct (dot_product_error M good a l ys y h ha hl d) as [_ some].
    assert (many : size xs = size ys) by (unfold size; now rewrite (Permutation_length p)).
    assert (lam : 0 <= lambda) by now apply unit_nonneg. assert (hwa : 0 <= wa) by (unfold sound in good; lra).
    assert (0 <= INR h * lambda) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    assert (0 <= magnitude xs) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    pose proof (exp_at_least_one (a + INR h * lambda) ltac:(lra)).
    unfold added_rounding, added_loss. rewrite many. split; [apply Rmult_le_pos; lra|].
    apply Rmult_le_pos; [left; apply exp_pos|].
    assert (0 <= size ys * l) by (apply Rmult_le_pos; lra).
    assert (0 <= (size ys - 1) * wa) by (apply Rmult_le_pos; lra). lra.
  Qed.

  (** x' within d of x, one after the other. *)
  Inductive perturbed : list R -> list R -> list R -> Prop :=
  | perturbed_none : perturbed [] [] []
  | perturbed_term x' x d xs' xs ds :
      Rabs (x' - x) <= d -> perturbed xs' xs ds -> perturbed (x' :: xs') (x :: xs) (d :: ds).

  Lemma perturbed_bounds xs' xs ds :
    perturbed xs' xs ds ->
    Rabs (sum xs' - sum xs) <= sum ds /\ magnitude xs' <= magnitude xs + sum ds /\ size xs' = size xs.
  Proof using.
    induction 1 as [|x' x d xs' xs ds close _ [IH1 [IH2 IH3]]].
    - unfold magnitude, sum. simpl. rewrite Rminus_diag_eq, Rabs_R0 by easy. repeat split; lra.
    - repeat split.
      + change (sum (x' :: xs')) with (x' + sum xs'). change (sum (x :: xs)) with (x + sum xs).
        change (sum (d :: ds)) with (d + sum ds).
        replace (x' + sum xs' - (x + sum xs)) with ((x' - x) + (sum xs' - sum xs)) by ring.
        eapply Rle_trans; [apply Rabs_triang|]. lra.
      + change (magnitude (x' :: xs')) with (Rabs x' + magnitude xs').
        change (magnitude (x :: xs)) with (Rabs x + magnitude xs). change (sum (d :: ds)) with (d + sum ds).
        replace x' with (x + (x' - x)) at 1 by ring. pose proof (Rabs_triang x (x' - x)). lra.
      + unfold size in *. simpl length. now rewrite !S_INR, IH3.
  Qed.

  Definition perturbed_rounding (a : R) (h : nat) (xs ds : list R) : R :=
    exp (a + INR h * lambda) * (magnitude xs + sum ds) - magnitude xs.

  Theorem perturbed_sum a l xs' xs ds y h :
    0 <= a -> 0 <= l -> perturbed xs' xs ds -> added M a l xs' y h ->
    Rabs (y - sum xs) <= perturbed_rounding a h xs ds + added_loss l h xs.
  Proof using good.
    intros ha hl near tree. destruct (perturbed_bounds xs' xs ds near) as [close [wide many]].
    pose proof (added_error a l xs' y h ha hl tree) as rounded.
    replace (y - sum xs) with ((y - sum xs') + (sum xs' - sum xs)) by ring.
    eapply Rle_trans; [apply Rabs_triang|].
    unfold added_rounding, added_loss, perturbed_rounding in *. rewrite many in rounded.
    assert (lam : 0 <= lambda) by now apply unit_nonneg.
    assert (0 <= INR h * lambda) by (apply Rmult_le_pos; [apply pos_INR|easy]).
    pose proof (exp_at_least_one (a + INR h * lambda) ltac:(lra)) as E1. set (E := exp (a + INR h * lambda)) in *.
    assert ((E - 1) * magnitude xs' <= (E - 1) * (magnitude xs + sum ds)) by (apply Rmult_le_compat_l; lra). lra.
  Qed.
End Added.

(** A tree over computed terms is a tree over what they approximate. *)

Section Terms.
  Context (M : arithmetic) (a l : R).

  Lemma added_of_terms ys y h :
    added M 0 0 ys y h -> forall xs, Forall2 (approximates a l) xs ys -> added M a l xs y h.
  Proof using.
    induction 1 as [x y [t [e [bt [be ->]]]]|l1 l2 y1 y2 y h1 h2 _ IH1 _ IH2 sum|l1 l2 y h _ IH perm]; intros xs close.
    - inversion close as [|x0 y0 xs0 ys0 first rest]; subst. inversion rest; subst. apply added_term.
      apply abs_between in bt. apply abs_between in be. replace t with 0 by lra. replace e with 0 by lra.
      rewrite exp_0, Rmult_1_r, Rplus_0_r. exact first.
    - apply Forall2_app_inv_r in close. destruct close as [xs1 [xs2 [c1 [c2 ->]]]].
      now apply added_addition with y1 y2; [apply IH1|apply IH2|].
    - assert (other : Forall2 (fun v w => approximates a l w v) l2 xs) by (clear - close; induction close; now constructor).
      destruct (Permutation_Forall2 (Permutation_sym perm) other) as [xs' [p f]].
      apply added_reordered with xs'; [|now apply Permutation_sym]. apply IH. clear - f. induction f; now constructor.
  Qed.
End Terms.
