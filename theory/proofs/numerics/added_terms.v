(** * Sums of terms of either sign, added by any tree in any order.

    Main results
    - [added_error]   terms within e^(+-a) and l of their values, added with at most h additions on any path:
                      |y - sum x| <= (e^(a + h lambda) - 1) sum |x| + e^(h lambda) (n l + (n - 1) omega_a)
    - [perturbed_sum] the same of terms x' within d_i of the exact x: e^(a + h lambda) (sum |x| + sum d) - sum |x| and
                      the same loss
    - [rel_of_lossy]       A (e^-d - e^d y) <= s <= A e^d (1 + y) gives |ln (s / A)| <= d - ln (1 - y e^(2 d))
    - [added_positive]     terms >= 0, each within e^(+-a) and l of its value, added with at most h additions on any path:
                           e^-(a + h lambda) sum x - loss <= y <= e^(a + h lambda) sum x + loss
    - [added_of_computed]  a sum of numbers, each within f of its value, is a sum of terms that err by f

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
  Context (M : arithmetic) (good : sound M).
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
    assert (0 <= INR h * lambda) by monotone.
    assert (0 <= magnitude xs) by (apply sum_map_nonneg; intros; apply Rabs_pos).
    pose proof (exp_at_least_one (a + INR h * lambda) ltac:(lra)). unfold added_rounding, added_loss. rewrite many.
    split; [monotone|]. apply Rmult_le_pos; [monotone|]. assert (0 <= size ys * l) by monotone.
    assert (0 <= (size ys - 1) * wa) by monotone. lra.
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
        replace (x' + sum xs' - (x + sum xs)) with ((x' - x) + (sum xs' - sum xs)) by ring. triangle. lra.
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
    replace (y - sum xs) with ((y - sum xs') + (sum xs' - sum xs)) by ring. triangle.
    unfold added_rounding, added_loss, perturbed_rounding in *. rewrite many in rounded.
    assert (lam : 0 <= lambda) by now apply unit_nonneg. assert (0 <= INR h * lambda) by monotone.
    pose proof (exp_at_least_one (a + INR h * lambda) ltac:(lra)) as E1. set (E := exp (a + INR h * lambda)) in *.
    assert ((E - 1) * magnitude xs' <= (E - 1) * (magnitude xs + sum ds)) by monotone. lra.
  Qed.
End Added.

(** A tree over computed terms is a tree over what they approximate. *)

Section Terms.
  Context (M : arithmetic) (a l : R).

  Lemma added_of_terms ys y h : added M 0 0 ys y h -> forall xs, Forall2 (approximates a l) xs ys -> added M a l xs y h.
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

(** ** Sums of positive terms, each within a factor of its value, added by any tree in any order.

    The lower side is better than what [added_error] says of terms of either sign.

    Source: docs/tolerances.md, "Errors on a logarithmic scale", and docs/tolerances/topk.md. *)

(** A e^(+-d), each side less by what is lost, as a log error. *)
Lemma rel_of_lossy d y A s :
  0 < A -> 0 <= d -> 0 <= y -> y * exp (2 * d) < 1 ->
  A * (exp (- d) - exp d * y) <= s <= A * (exp d * (1 + y)) -> rel (d - ln (1 - y * exp (2 * d))) s A.
Proof.
  intros hA hd hy some [low high]. set (z := y * exp (2 * d)) in *. assert (yz : y <= z).
  { unfold z. rewrite <- (Rmult_1_r y) at 1. monotone. } assert (growth : exp (d - ln (1 - z)) = exp d * / (1 - z)).
  { unfold Rminus at 1. rewrite exp_plus, exp_Ropp, exp_ln by lra. easy. }
  assert (decay : exp (- (d - ln (1 - z))) = exp (- d) * (1 - z)).
  { replace (- (d - ln (1 - z))) with (- d + ln (1 - z)) by ring. rewrite exp_plus, exp_ln by lra. easy. }
  apply rel_of_bounds; [easy|]. rewrite growth, decay. split.
  - eapply Rle_trans; [|apply low]. apply Rmult_le_compat_l; [lra|]. right. unfold z.
    replace (exp d * y) with (exp (- d) * (y * exp (2 * d))); [ring|].
    replace (exp (- d) * (y * exp (2 * d))) with (y * (exp (- d) * exp (2 * d))) by ring. rewrite <- exp_plus.
    replace (- d + 2 * d) with d by ring. ring.
  - eapply Rle_trans; [apply high|]. apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_l; [monotone|].
    apply Rmult_le_reg_r with (1 - z); [lra|]. rewrite Rinv_l by lra. nra.
Qed.

Section AddedPositive.
  Context (M : arithmetic) (good : sound M).
  Notation lambda := (unit M).
  Notation wa := (sum_floor M).

  Theorem added_positive a l xs y h :
    0 <= a -> 0 <= l -> Forall (fun x => 0 <= x) xs -> added M a l xs y h ->
    exp (- (a + INR h * lambda)) * sum xs - added_loss M l h xs <= y
    <= exp (a + INR h * lambda) * sum xs + added_loss M l h xs.
  Proof using good.
    intros ha hl pos tree. assert (lam : 0 <= lambda) by now apply unit_nonneg.
    assert (hwa : 0 <= wa) by (unfold sound in good; lra). unfold added_loss. revert pos.
    induction tree as [x y [t [e [bt [be ->]]]]|l1 l2 y1 y2 y h1 h2 T1 IH1 T2 IH2 [t [e [bt [be ->]]]]
                      |l1 l2 y h T IH same]; intros pos.
    - apply Forall_inv in pos. unfold size, sum. simpl. rewrite !Rplus_0_r, !Rmult_0_l, exp_0, !Rplus_0_r.
      apply abs_between in bt. apply abs_between in be. assert (x * exp (- a) <= x * exp t) by monotone.
      assert (x * exp t <= x * exp a) by monotone. lra.
    - apply Forall_app in pos as [pos1 pos2]. specialize (IH1 pos1). specialize (IH2 pos2).
      destruct (added_nonneg M good a l l1 y1 h1 ha hl T1) as [_ n1].
      destruct (added_nonneg M good a l l2 y2 h2 ha hl T2) as [_ n2]. unfold added_loss in n1, n2. rewrite sum_app.
      assert (s1 : 0 <= sum l1) by (clear - pos1; induction pos1; unfold sum in *; simpl; lra).
      assert (s2 : 0 <= sum l2) by (clear - pos2; induction pos2; unfold sum in *; simpl; lra).
      assert (many : size (l1 ++ l2) = size l1 + size l2) by (unfold size; now rewrite app_length, plus_INR).
      rewrite many, S_INR. set (H := INR (Nat.max h1 h2)). assert (H1 : INR h1 <= H) by (apply le_INR; lia).
      assert (H2 : INR h2 <= H) by (apply le_INR; lia). assert (b1 : INR h1 * lambda <= H * lambda) by monotone.
      assert (b2 : INR h2 * lambda <= H * lambda) by monotone. assert (hH : 0 <= H * lambda) by monotone.
      set (G1 := size l1 * l + (size l1 - 1) * wa) in *. set (G2 := size l2 * l + (size l2 - 1) * wa) in *.
      assert (g1 : 0 <= G1) by (apply Rmult_le_reg_l with (exp (INR h1 * lambda)); [monotone|lra]).
      assert (g2 : 0 <= G2) by (apply Rmult_le_reg_l with (exp (INR h2 * lambda)); [monotone|lra]).
      assert (x1 : exp (INR h1 * lambda) * G1 <= exp (H * lambda) * G1) by monotone.
      assert (x2 : exp (INR h2 * lambda) * G2 <= exp (H * lambda) * G2) by monotone.
      assert (u1 : exp (a + INR h1 * lambda) * sum l1 <= exp (a + H * lambda) * sum l1) by monotone.
      assert (u2 : exp (a + INR h2 * lambda) * sum l2 <= exp (a + H * lambda) * sum l2) by monotone.
      assert (d1 : exp (- (a + H * lambda)) * sum l1 <= exp (- (a + INR h1 * lambda)) * sum l1) by monotone.
      assert (d2 : exp (- (a + H * lambda)) * sum l2 <= exp (- (a + INR h2 * lambda)) * sum l2) by monotone.
      replace (- (a + (H + 1) * lambda)) with (- (a + H * lambda) + - lambda) by ring.
      replace (a + (H + 1) * lambda) with (a + H * lambda + lambda) by ring.
      replace ((H + 1) * lambda) with (H * lambda + lambda) by ring.
      rewrite !(exp_plus _ lambda), (exp_plus _ (- lambda)).
      replace ((size l1 + size l2) * l + (size l1 + size l2 - 1) * wa) with (G1 + G2 + wa) by (unfold G1, G2; ring).
      apply abs_between in bt. apply abs_between in be. assert (tl : exp t <= exp lambda) by monotone.
      assert (tl' : exp (- lambda) <= exp t) by monotone. set (Z := sum l1 + sum l2) in *.
      set (loss := exp (H * lambda) * (G1 + G2)).
      assert (l0 : 0 <= loss) by (apply Rmult_le_pos; [left; apply exp_pos|lra]).
      assert (above : y1 + y2 <= exp (a + H * lambda) * Z + loss) by (unfold Z, loss; lra).
      assert (below : exp (- (a + H * lambda)) * Z - loss <= y1 + y2) by (unfold Z, loss; lra).
      assert (0 <= exp (a + H * lambda) * Z) by (apply Rmult_le_pos; [left; apply exp_pos|unfold Z; lra]).
      assert (0 <= exp (- (a + H * lambda)) * Z) by (apply Rmult_le_pos; [left; apply exp_pos|unfold Z; lra]).
      pose proof (exp_pos t). assert ((y1 + y2) * exp t <= (exp (a + H * lambda) * Z + loss) * exp t) by monotone.
      assert ((exp (a + H * lambda) * Z + loss) * exp t <= (exp (a + H * lambda) * Z + loss) * exp lambda) by monotone.
      assert ((exp (- (a + H * lambda)) * Z - loss) * exp t <= (y1 + y2) * exp t) by monotone.
      assert (exp (- (a + H * lambda)) * Z * exp (- lambda) <= exp (- (a + H * lambda)) * Z * exp t) by monotone.
      assert (loss * exp t <= loss * exp lambda) by monotone.
      assert (big : 1 <= exp (H * lambda) * exp lambda) by (apply one_le_product; apply exp_at_least_one; lra).
      assert (1 * wa <= exp (H * lambda) * exp lambda * wa) by monotone. unfold loss in *. lra.
    - assert (many : size l2 = size l1) by (unfold size; now rewrite (Permutation_length same)).
      rewrite many, <- (sum_permutation l1 l2 same). apply IH. eapply Permutation_Forall; [|apply pos].
      now apply Permutation_sym.
  Qed.

  (** Terms that are computed themselves, as terms that err. *)
  Lemma added_of_computed f zs ys y h :
    Forall2 (fun z y => Rabs (y - z) <= f) zs ys -> added M 0 0 ys y h -> added M 0 f zs y h.
  Proof using.
    intros near tree. apply added_of_terms with ys; [easy|]. clear tree. induction near as [|z y' zs ys close _ IH]; constructor; [|easy].
    exists 0, (y' - z). rewrite Rabs_R0, exp_0. repeat split; [lra|easy|ring].
  Qed.
End AddedPositive.
