(** * How often a running maximum rises on a path through a tree of additions, and what is granted of it.

    Two parts that meet have a maximum each; the part whose maximum is less is rescaled, unless it is one item that is
    computed against the other's. Logits are integers here: multiples of a power of two, as floating-point numbers are. None
    is a masked one.

    Main results
    - [rescalings_of_word]     in a tree that follows its word nothing is rescaled more often than [rescalings] says: under
                               sequential one item after the other, from one of the row's ends
    - [rescalings_in_turn]     items that are added one after the other are rescaled as often as the row has records

    Source: rescaling_count, numerics/rounding/rounding.cpp. *)

From Coq Require Import ZArith NArith List Permutation Lia.
From softcheck.contract Require Import summation.
Import ListNotations.
Local Open Scope nat_scope.

Definition visible_logits (items : list (option Z)) : list Z :=
  flat_map (fun x => match x with Some v => [v] | None => [] end) items.

Definition larger_of (a b : option Z) : option Z :=
  match a, b with Some p, Some q => Some (Z.max p q) | None, _ => b | _, None => a end.

Definition below (a b : option Z) : nat := match a, b with Some p, Some q => if (p <? q)%Z then 1 else 0 | _, _ => 0 end.

(** ** What is granted *)

(** How often the largest so far is exceeded. *)
Fixpoint records (so_far : option Z) (items : list (option Z)) : nat :=
  match items with [] => 0 | x :: rest => below so_far x + records (larger_of so_far x) rest end.

Definition different_logits (items : list (option Z)) : nat := length (nodup Z.eq_dec (visible_logits items)).

Definition rescalings (w : summation) (items : list (option Z)) : N :=
  match w with
  | sequential => N.of_nat (Nat.max (records None items) (records None (rev items)))
  | _ => N.min (summation_height w (N.of_nat (length items))) (N.of_nat (different_logits items - 1))
  end.

(** ** What a tree does *)

Fixpoint maximum (t : tree (option Z)) : option Z :=
  match t with leaf x => x | added a b => larger_of (maximum a) (maximum b) end.

(** The largest number of rescalings of an item; [fresh]: a single item that comes last is computed against the maximum. *)
Fixpoint rises (fresh : bool) (t : tree (option Z)) : nat :=
  match t with
  | leaf _ => 0
  | added a b =>
      Nat.max (rises fresh a + below (maximum a) (maximum b))
              (rises fresh b + match b, fresh with leaf _, true => 0 | _, _ => below (maximum b) (maximum a) end)
  end.

Lemma below_one a b : below a b <= 1.
Proof. destruct a as [p|], b as [q|]; cbn; try lia. destruct (p <? q)%Z; lia. Qed.

Lemma late_below fresh (b : tree (option Z)) x y : match b, fresh with leaf _, true => 0 | _, _ => below x y end <= below x y.
Proof. destruct b, fresh; lia. Qed.

Lemma rises_below_height fresh t : rises fresh t <= height t.
Proof.
  induction t as [x|a IHa b IHb]; cbn [rises height]; [lia|]. pose proof (below_one (maximum a) (maximum b)).
  pose proof (below_one (maximum b) (maximum a)). pose proof (late_below fresh b (maximum b) (maximum a)). lia.
Qed.

Lemma nothing_rises fresh t : maximum t = None -> rises fresh t = 0.
Proof.
  induction t as [x|a IHa b IHb]; [easy|]. cbn [maximum rises]. intros none.
  destruct (maximum a), (maximum b); try easy. rewrite (IHa eq_refl), (IHb eq_refl). destruct b, fresh; easy.
Qed.

Lemma visible_logits_app l l' : visible_logits (l ++ l') = visible_logits l ++ visible_logits l'.
Proof. apply flat_map_app. Qed.

(** Each rescaling on a path has a larger logit of its own. *)
Lemma chain fresh t m :
  maximum t = Some m ->
  exists l, NoDup l /\ incl l (visible_logits (leaves t)) /\ (forall v, In v l -> (v <= m)%Z) /\
            In m (visible_logits (leaves t)) /\ length l = S (rises fresh t).
Proof.
  revert m. induction t as [x|a IHa b IHb]; intros m is.
  - cbn in is. subst x. exists [m]. repeat split; [repeat constructor; easy|easy| |now left]. intros v [<-|[]]. lia.
  - cbn [maximum] in is. cbn [leaves rises]. rewrite visible_logits_app.
    pose proof (late_below fresh b (maximum b) (maximum a)) as late.
    set (more := match b, fresh with leaf _, true => 0 | _, _ => below (maximum b) (maximum a) end) in *.
    destruct (maximum a) as [p|] eqn:ma, (maximum b) as [q|] eqn:mb; cbn [larger_of below] in *; try easy.
    + specialize (IHa p eq_refl) as [la [ua [ia [ba [ina na]]]]]. specialize (IHb q eq_refl) as [lb [ub [ib [bb [inb nb]]]]].
      injection is as <-.
      assert (inm : In (Z.max p q) (visible_logits (leaves a) ++ visible_logits (leaves b))).
      { apply in_or_app. destruct (Z.max_spec p q) as [[_ ->]|[_ ->]]; auto. }
      destruct (p <? q)%Z eqn:pq, (q <? p)%Z eqn:qp; try lia.
      * destruct (Nat.le_ge_cases (rises fresh a + 1) (rises fresh b + more)) as [less|more_in_a].
        -- exists lb. repeat split; auto; [apply incl_appr; auto|intros v inv; specialize (bb v inv); lia|lia].
        -- exists (q :: la). repeat split; auto; [|intros v [<-|inv]; [now apply in_or_app; right|now apply in_or_app; left; apply ia]| |cbn; lia].
           ++ constructor; [|easy]. intros inq. specialize (ba q inq). lia.
           ++ intros v [<-|inv]; [lia|]. specialize (ba v inv). lia.
      * destruct (Nat.le_ge_cases (rises fresh b + more) (rises fresh a + 0)) as [less|more_in_b].
        -- exists la. repeat split; auto; [apply incl_appl; auto|intros v inv; specialize (ba v inv); lia|lia].
        -- destruct (Nat.eq_dec more 0) as [zero|one].
           ++ exists lb. repeat split; auto; [apply incl_appr; auto|intros v inv; specialize (bb v inv); lia|lia].
           ++ exists (p :: lb). repeat split; auto;
                [|intros v [<-|inv]; [now apply in_or_app; left|now apply in_or_app; right; apply ib]| |cbn; lia].
              ** constructor; [|easy]. intros inp. specialize (bb p inp). lia.
              ** intros v [<-|inv]; [lia|]. specialize (bb v inv). lia.
      * destruct (Nat.le_ge_cases (rises fresh b + more) (rises fresh a + 0)) as [less|more_in_b].
        -- exists la. repeat split; auto; [apply incl_appl; auto|intros v inv; specialize (ba v inv); lia|lia].
        -- exists lb. repeat split; auto; [apply incl_appr; auto|intros v inv; specialize (bb v inv); lia|lia].
    + injection is as <-. specialize (IHa p eq_refl) as [la [ua [ia [ba [ina na]]]]]. rewrite (nothing_rises fresh b mb).
      exists la. repeat split; auto; [apply incl_appl; auto|now apply in_or_app; left|lia].
    + injection is as <-. specialize (IHb q eq_refl) as [lb [ub [ib [bb [inb nb]]]]]. rewrite (nothing_rises fresh a ma).
      exists lb. repeat split; auto; [apply incl_appr; auto|now apply in_or_app; right|lia].
Qed.

Lemma rises_below_different fresh t : rises fresh t <= length (nodup Z.eq_dec (visible_logits (leaves t))) - 1.
Proof.
  destruct (maximum t) as [m|] eqn:is; [|rewrite (nothing_rises fresh t is); lia].
  destruct (chain fresh t m is) as [l [different [inside [_ [_ long]]]]].
  assert (length l <= length (nodup Z.eq_dec (visible_logits (leaves t)))); [|lia].
  apply NoDup_incl_length; [easy|]. intros v inv. apply nodup_In. now apply inside.
Qed.

Lemma rescalings_in_parts fresh w items t :
  w <> sequential -> follows w items t -> (N.of_nat (rises fresh t) <= rescalings w items)%N.
Proof.
  intros other tree_of_word. pose proof (height_of_word w items t tree_of_word) as high.
  pose proof (rises_below_height fresh t). pose proof (rises_below_different fresh t) as few.
  pose proof (Permutation_flat_map (fun x => match x with Some v => [v] | None => [] end) (follows_leaves _ _ _ tree_of_word)) as same.
  assert (sizes : length (nodup Z.eq_dec (visible_logits (leaves t))) <= different_logits items).
  { apply NoDup_incl_length; [apply NoDup_nodup|]. intros v inv. apply nodup_In in inv. apply nodup_In.
    now apply (Permutation_in _ (Permutation_sym same)). }
  destruct w; [easy| | |]; unfold rescalings; lia.
Qed.

(** ** One item after the other *)

Theorem rescalings_in_turn first rest :
  leaves (in_turn first rest) = first :: rest /\
  rises true (in_turn first rest) = records None (first :: rest) /\
  (N.of_nat (rises true (in_turn first rest)) <= rescalings sequential (first :: rest))%N.
Proof.
  assert (each : forall (rest : list (option Z)) (t : tree (option Z)), rises true (fold_left (fun t x => added t (leaf x)) rest t) = rises true t + records (maximum t) rest).
  { induction rest0 as [|x rest0 IH]; intros t; cbn [fold_left records]; [lia|]. rewrite IH. cbn [rises maximum]. lia. }
  assert (counted : rises true (in_turn first rest) = records None (first :: rest)).
  { unfold in_turn. rewrite each. cbn. now destruct first. }
  split; [apply in_turn_leaves|]. split; [exact counted|]. rewrite counted. unfold rescalings. lia.
Qed.

(** ** Kernels with a running maximum *)

(** Which trees such a kernel adds by. sequential reads the row from one of its ends; a single item, whose exponential is
    exp(0) = 1, is then computed against the maximum so far. Items in another order, as atomic additions have them, are
    added below a maximum that is known before, and nothing is rescaled. *)
Inductive streamed : bool -> summation -> list (option Z) -> tree (option Z) -> Prop :=
| streamed_forwards first rest : streamed true sequential (first :: rest) (in_turn first rest)
| streamed_backwards items first rest : rev items = first :: rest -> streamed true sequential items (in_turn first rest)
| streamed_in_parts fresh w items t : w <> sequential -> follows w items t -> streamed fresh w items t.

Lemma streamed_follows fresh w items t : streamed fresh w items t -> follows w items t.
Proof.
  destruct 1 as [first rest|items first rest turned|fresh w items t _ tree_of_word]; [now constructor| |easy].
  constructor. rewrite <- turned. apply Permutation_rev.
Qed.

Theorem rescalings_of_word fresh w items t :
  streamed fresh w items t -> (N.of_nat (rises fresh t) <= rescalings w items)%N.
Proof.
  destruct 1 as [first rest|items first rest turned|fresh w items t other tree_of_word].
  - apply rescalings_in_turn.
  - destruct (rescalings_in_turn first rest) as [_ [-> _]]. rewrite <- turned. unfold rescalings. lia.
  - now apply rescalings_in_parts.
Qed.

(** Blocks that are added to a running sum, of (4, 1, 2, 3): lanes 1 grants their three rescalings, sequential one. *)
Example blocks_are_not_sequential :
  let row := map Some [4; 1; 2; 3]%Z in
  let t := added (leaf (Some 4%Z)) (in_turn (Some 1%Z) [Some 2%Z; Some 3%Z]) in
  streamed true (lanes 1) row t /\ rises true t = 3 /\ rescalings (lanes 1) row = 3%N /\ rescalings sequential row = 1%N.
Proof. cbv zeta. repeat split. apply streamed_in_parts; [easy|]. now apply any_tree_follows. Qed.

(** Three rescalings of the first item, one after the other or in pairs of pairs: 1, 2, 3, 4 and a masked item. *)
Example rescalings_are_reached :
  let row := [Some 1%Z; Some 2%Z; None; Some 3%Z; Some 4%Z] in
  rises true (in_turn (Some 1%Z) [Some 2%Z; None; Some 3%Z; Some 4%Z]) = 3 /\ rescalings sequential row = 3%N /\
  follows (blocks 3) row (added (in_turn (Some 1%Z) [Some 2%Z; Some 3%Z]) (in_turn None [Some 4%Z])) /\
  rises false (added (in_turn (Some 1%Z) [Some 2%Z; Some 3%Z]) (in_turn None [Some 4%Z])) = 3 /\
  blocks 3 <> sequential /\ rescalings (blocks 3) row = 3%N.
Proof.
  cbv zeta. repeat split; try easy.
  apply follows_blocks with [in_turn (Some 1%Z) [Some 2%Z; Some 3%Z]; in_turn None [Some 4%Z]]; try (cbn; lia).
  - repeat constructor; cbn; lia.
  - unfold parts_of. cbn. do 2 constructor. apply perm_swap.
  - apply (combined_halves [in_turn (Some 1%Z) [Some 2%Z; Some 3%Z]] [in_turn None [Some 4%Z]]); cbn; try lia; constructor.
Qed.
