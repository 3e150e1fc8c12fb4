(** * How a GPT stack carries a difference from layer to layer, and the closed form of that recurrence.

    Main results
    - [gpt_from]               token i is at most D_l(i) from what it is alone, D_l by a recurrence
    - [gpt_closed_form_from]   D_l(i) <= c_l (1 + ln i)^l / i

    Source: remark_b_2.v, which puts the parts together. *)

From Coq Require Import FunctionalExtensionality.
From Coquelicot Require Import Coquelicot.
From softcheck Require Import softmax vectors lemma_2_1 small_transformer coordinate_box lipschitz_layers theorem_2_2
  layer_gains.
Local Open Scope R_scope.

Section Network.
  Context (theta : R) (heated : 0 < theta).
  Local Notation head_bounded := (layer_gains.head_bounded theta).
  Local Notation bounded_by := (layer_gains.bounded_by theta).
  Local Notation alone := (layer_gains.alone theta).

  Definition prefix_sum (D : nat -> R) (i : nat) : R := sum (map D (seq 0 (S i))).
  Definition prefix_max (D : nat -> R) (i : nat) : R := fold_right Rmax 0 (map D (seq 0 (S i))).

  (** D'(i) = r D(i) + sum ||V|| min(max_(j<=i) D(j), e^(delta/theta)/i sum_(j<=i) D(j)), and D'(i) = G D(i); the index
      starts at 0, the position i is the index + 1. *)
  Definition gpt_step (l : layer) (g : layer_gain) (D : nat -> R) (i : nat) : R :=
    match l, g with
    | Attention residual _, AttentionGain gains =>
        keep residual * D i
        + sum (map (fun g => value_gain g * Rmin (prefix_max D i) (dispersion g * prefix_sum D i / INR (S i))) gains)
    | _, FeedforwardGain G => G * D i
    | _, _ => 0
    end.

  Fixpoint gpt_distance (layers : list layer) (gains : list layer_gain) (D : nat -> R) : nat -> R :=
    match layers, gains with
    | l :: rest, g :: gains => gpt_distance rest gains (gpt_step l g D)
    | _, _ => D
    end.

  (** The largest is above each of them. *)
  Lemma prefix_max_ge D i j : (j <= i)%nat -> D j <= prefix_max D i.
  Proof.
    intros less. unfold prefix_max. assert (inj : In j (seq 0 (S i))) by (apply in_seq; lia).
    induction (seq 0 (S i)) as [|k ks IH]; [easy|]. cbn. destruct inj as [-> | inj].
    - apply Rmax_l.
    - eapply Rle_trans; [now apply IH | apply Rmax_r].
  Qed.

  Lemma prefix_max_nonneg D i : 0 <= prefix_max D i.
  Proof.
    unfold prefix_max. induction (seq 0 (S i)) as [|k ks IH]; cbn; [lra|]. eapply Rle_trans; [exact IH | apply Rmax_r].
  Qed.

  Lemma firstn_tokens tokens i : (i < length tokens)%nat -> firstn (S i) tokens = map (token tokens) (seq 0 (S i)).
  Proof.
    revert i. induction tokens as [|x xs IH]; intros i less; [cbn in less; lia|].
    cbn [firstn seq map]. f_equal. destruct i as [|i]; [easy|]. rewrite IH by (cbn in less; lia).
    rewrite <- (seq_shift (S i)), map_map. now apply map_ext.
  Qed.

  (** A convex combination of values, each of which differs by ||V|| D(j). *)
  Lemma gpt_head_difference P d h g tokens y D i :
    head_bounded P d h g -> P y -> (forall z, In z tokens -> P z) -> (i < length tokens)%nat ->
    (forall j, (j < length tokens)%nat -> within d (D j) (token tokens j) y) ->
    within d (value_gain g * Rmin (prefix_max D i) (dispersion g * prefix_sum D i / INR (S i)))
      (attend theta h (token tokens i) (visible gpt_mask i tokens)) (value h y).
  Proof.
    intros bounded iny all less close. destruct (bounded) as [_ [[nonneg steep] [nonneg' _]]].
    assert (0 < INR (S i)) by (apply lt_0_INR; lia). assert (sums : 0 <= prefix_sum D i).
    { apply sum_map_nonneg. intros j inj. apply in_seq in inj. apply (close j). lia. } split.
    { apply Rmult_le_pos; [easy|]. apply Rmin_glb; [apply prefix_max_nonneg|]. monotone. } intros c lessc.
    rewrite attend_difference by now apply visible_not_nil.
    set (alpha := item_coefficient theta h (token tokens i) (visible gpt_mask i tokens)). cbn [visible].
    rewrite firstn_tokens by easy. rewrite map_map.
    assert (member : forall j, In j (seq 0 (S i)) -> In (token tokens j) (visible gpt_mask i tokens)).
    { intros j inj. cbn [visible]. rewrite firstn_tokens by easy. now apply in_map. }
    assert (alpha_bound : forall j, In j (seq 0 (S i)) -> 0 <= alpha (token tokens j) <= dispersion g / INR (S i)).
    { intros j inj.
      replace (INR (S i)) with (size (visible gpt_mask i tokens)) by (unfold size; now rewrite visible_length_gpt).
      apply (coefficient_dispersed theta heated P d h g); [easy | now apply all, token_in | | now apply member].
      intros z inz. apply all. now apply in_visible in inz. }
    assert (total : sum (map (fun j => alpha (token tokens j)) (seq 0 (S i))) = 1).
    { rewrite <- (sum_item_coefficients theta h (token tokens i) (visible gpt_mask i tokens))
        by now apply visible_not_nil.
      fold alpha. cbn [visible]. rewrite firstn_tokens by easy. now rewrite map_map. }
    apply Rle_trans with (sum (map (fun j => alpha (token tokens j) * (value_gain g * D j)) (seq 0 (S i)))).
    { eapply Rle_trans; [apply sum_map_abs|]. apply sum_map_le. intros j inj.
      rewrite Rabs_mult, Rabs_right by (apply Rle_ge; now apply alpha_bound).
      apply Rmult_le_compat_l; [now apply alpha_bound|]. apply in_seq in inj.
      apply (steep (token tokens j) y (D j)); [apply all, token_in; lia | easy | apply close; lia | easy]. }
    apply Rle_trans with (value_gain g * sum (map (fun j => alpha (token tokens j) * D j) (seq 0 (S i)))).
    { rewrite <- sum_map_mult_l. apply Req_le, sum_map_ext. intros. ring. } apply Rmult_le_compat_l; [easy|].
    apply Rmin_glb.
    - rewrite <- (Rmult_1_l (prefix_max D i)), <- total, <- sum_map_mult_r. apply sum_map_le. intros j inj.
      apply Rmult_le_compat_l; [now apply alpha_bound|]. apply prefix_max_ge. apply in_seq in inj. lia.
    - unfold prefix_sum.
      replace (dispersion g * sum (map D (seq 0 (S i))) / INR (S i))
      with (dispersion g / INR (S i) * sum (map D (seq 0 (S i)))) by (field; lra).
      rewrite <- sum_map_mult_l. apply sum_map_le. intros j inj.
      apply Rmult_le_compat_r; [apply in_seq in inj; apply (close j); lia | now apply alpha_bound].
  Qed.

  (** The differences of the heads add up. *)
  Lemma gpt_heads_difference P d heads gains tokens y D i :
    Forall2 (head_bounded P d) heads gains -> P y -> (forall z, In z tokens -> P z) -> (i < length tokens)%nat ->
    (forall j, (j < length tokens)%nat -> within d (D j) (token tokens j) y) ->
    within d
      (sum (map (fun g => value_gain g * Rmin (prefix_max D i) (dispersion g * prefix_sum D i / INR (S i))) gains))
      (fun c => sum (map (fun h => attend theta h (token tokens i) (visible gpt_mask i tokens) c) heads))
      (fun c => sum (map (fun h => attend theta h y [y] c) heads)).
  Proof.
    intros bounded iny all less close. induction bounded as [|h g heads gains one rest IH].
    - unfold sum. cbn. split; [lra|]. intros. rewrite Rminus_diag_eq, Rabs_R0 by easy. lra.
    - pose proof (gpt_head_difference P d h g tokens y D i one iny all less close) as first.
      pose proof (within_add _ _ _ _ _ _ _ first IH) as both.
      replace (fun c => sum (map (fun h => attend theta h y [y] c) (h :: heads)))
        with (add (value h y) (fun c => sum (map (fun h => attend theta h y [y] c) heads))).
      + exact both.
      + apply functional_extensionality. intros c. unfold add. cbn [map]. unfold sum at 2. cbn [fold_right].
        rewrite (attend_equal_items theta h y [y] y); [easy | easy |]. now intros z [<- | []].
  Qed.

  (** Layer by layer, with one recurrence step for each. *)
  Lemma gpt_from layers gains (P : vector -> Prop) d tokens y D :
    bounded_by gpt_mask P d layers gains -> P y -> (forall z, In z tokens -> P z) ->
    (forall i, (i < length tokens)%nat -> within d (D i) (token tokens i) y) ->
    forall i, (i < length tokens)%nat ->
    within (output_width d layers) (gpt_distance layers gains D i) (token (forward theta gpt_mask layers tokens) i)
      (alone layers y).
  Proof.
    revert gains P d tokens y D. induction layers as [|l rest IH];
      intros [|g gains] P d tokens y D bounded iny all close;
      try easy.
    cbn [layer_gains.bounded_by forward output_width gpt_distance layer_gains.alone] in *. destruct bounded as [here [P' [into there]]].
    rewrite <- (length_apply_layer theta gpt_mask l tokens). apply (IH gains P'); try easy.
    - now apply (alone_layer_inside theta gpt_mask P P').
    - now apply into.
    - intros i less. rewrite length_apply_layer in less.
      destruct l as [residual heads | width f], g as [head_gains | G]; try easy;
        cbn [layer_gains.layer_bounded gpt_step width_behind layer_gains.alone_layer] in *.
      + rewrite token_apply_attention by easy.
        pose proof (gpt_heads_difference P d heads head_gains tokens y D i here iny all less close) as difference.
        assert (kept : within d (keep residual * D i) (fun c => if residual then token tokens i c else 0)
                                (fun c => if residual then y c else 0)).
        { destruct residual; unfold keep; [rewrite Rmult_1_l; now apply close|]. rewrite Rmult_0_l. apply within_refl. }
        exact (within_add _ _ _ _ _ _ _ kept difference).
      + rewrite token_apply_feedforward by easy. apply here; [now apply all, token_in | easy | now apply close].
  Qed.

  (** D_0 = (|a - b|, 0, 0, ...). *)
  Definition first_token_only (r : R) (i : nat) : R := match i with O => r | S _ => 0 end.

  (** *** The closed form *)

  (** c' = c (r + sum ||V|| e^(delta/theta)), and c' = G c. *)
  Definition gpt_constant_step (l : layer) (g : layer_gain) (c : R) : R :=
    match l, g with
    | Attention residual _, AttentionGain gains =>
        c * (keep residual + sum (map (fun g => value_gain g * dispersion g) gains))
    | _, FeedforwardGain G => G * c
    | _, _ => 0
    end.

  Fixpoint gpt_constant (layers : list layer) (gains : list layer_gain) (c : R) : R :=
    match layers, gains with
    | l :: rest, g :: gains => gpt_constant rest gains (gpt_constant_step l g c)
    | _, _ => c
    end.

  Fixpoint attention_layers (layers : list layer) : nat :=
    match layers with
    | [] => 0
    | Attention _ _ :: rest => S (attention_layers rest)
    | Feedforward _ _ :: rest => attention_layers rest
    end.

  (** c (1 + ln i)^l / i at the position i, a real number >= 1. *)
  Definition closed_form (c : R) (l : nat) (position : R) : R := c * (1 + ln position) ^ l / position.

  Lemma ln_nonneg x : 1 <= x -> 0 <= ln x.
  Proof. intros. rewrite <- ln_1. apply ln_le; lra. Qed.

  Lemma position_ge_1 i : 1 <= INR (S i).
  Proof. rewrite S_INR. pose proof (pos_INR i). lra. Qed.

  (** 1/(k+1) <= ln((k+1)/k), since ln x <= x - 1 at x = k/(k+1). *)
  Lemma harmonic_sum i : sum (map (fun j => / INR (S j)) (seq 0 (S i))) <= 1 + ln (INR (S i)).
  Proof.
    induction i as [|i IH].
    - unfold sum. cbn. rewrite ln_1. lra.
    - rewrite seq_S, map_app, sum_app. unfold sum at 2. cbn [map fold_right Nat.add]. pose proof (position_ge_1 i).
      set (k := INR (S i)) in *. rewrite !(S_INR (S i)). fold k. assert (step : ln k <= ln (k + 1) - / (k + 1)).
      { replace (ln k) with (ln (k / (k + 1)) + ln (k + 1)).
        - enough (ln (k / (k + 1)) <= - / (k + 1)) by lra.
          replace (- / (k + 1)) with (k / (k + 1) - 1) by (field; lra).
          pose proof (exp_ineq1_le (ln (k / (k + 1)))) as above. rewrite exp_ln in above; [lra|]. monotone.
        - rewrite <- ln_mult; [f_equal; field; lra | monotone| lra]. }
      lra.
  Qed.

  (** The powers of 1 + ln j are at most that of 1 + ln i, and the harmonic sum is at most 1 + ln i. *)
  Lemma prefix_sum_closed_form D c l i :
    0 <= c -> (forall j, D j <= closed_form c l (INR (S j))) ->
    prefix_sum D i <= c * (1 + ln (INR (S i))) ^ S l.
  Proof.
    intros nonneg below. pose proof (position_ge_1 i). pose proof (ln_nonneg _ H).
    apply Rle_trans with (c * (1 + ln (INR (S i))) ^ l * sum (map (fun j => / INR (S j)) (seq 0 (S i)))).
    - unfold prefix_sum. rewrite <- sum_map_mult_l. apply sum_map_le. intros j inj. apply in_seq in inj.
      eapply Rle_trans; [apply below|]. unfold closed_form, Rdiv. pose proof (position_ge_1 j).
      apply Rmult_le_compat_r; [monotone|]. apply Rmult_le_compat_l; [easy|]. pose proof (ln_nonneg _ H1).
      apply pow_incr. split; [lra|]. apply Rplus_le_compat_l, ln_le; [lra|]. apply le_INR. lia.
    - replace (c * (1 + ln (INR (S i))) ^ S l) with (c * (1 + ln (INR (S i))) ^ l * (1 + ln (INR (S i))))
        by (cbn; ring).
      apply Rmult_le_compat_l; [|apply harmonic_sum]. apply Rmult_le_pos; [easy | apply pow_le; lra].
  Qed.

  (** Layer by layer: attention raises the exponent by one, a feedforward map multiplies c by G. *)
  Lemma gpt_closed_form_from layers gains (P : vector -> Prop) d D c l :
    bounded_by gpt_mask P d layers gains -> 0 <= c ->
    (forall j, D j <= closed_form c l (INR (S j))) ->
    0 <= gpt_constant layers gains c /\
    forall i, gpt_distance layers gains D i
              <= closed_form (gpt_constant layers gains c) (attention_layers layers + l) (INR (S i)).
  Proof.
    revert gains P d D c l.
    induction layers as [|layer rest IH]; intros [|g gains] P d D c l bounded nonneg below; try easy.
    cbn [layer_gains.bounded_by gpt_distance gpt_constant] in *. destruct bounded as [here [P' [_ there]]].
    destruct layer as [residual heads | width f], g as [head_gains | G]; try easy;
      cbn [layer_gains.layer_bounded gpt_step gpt_constant_step attention_layers] in *.
    - replace (S (attention_layers rest) + l)%nat with (attention_layers rest + S l)%nat by lia.
      assert (positive : forall g, In g head_gains -> 0 <= value_gain g /\ 0 <= dispersion g).
      { intros g ing. clear - here ing. induction here as [|h g' heads gains one all IH]; [easy|].
        destruct ing as [<- | ing]; [destruct one as [_ [[? _] [? _]]]; now split | now apply IH]. }
      apply (IH gains P' d); [easy | |].
      + apply Rmult_le_pos; [easy|]. apply Rplus_le_le_0_compat; [destruct residual; unfold keep; lra|].
        apply sum_map_nonneg. intros g ing. destruct (positive g ing). monotone.
      + intros i. unfold closed_form. pose proof (position_ge_1 i) as position. pose proof (ln_nonneg _ position).
        pose proof (prefix_sum_closed_form D c l i nonneg below) as sums. set (n := INR (S i)) in *.
        set (t := 1 + ln n) in *.
        replace (c * (keep residual + sum (map (fun g => value_gain g * dispersion g) head_gains)) * t ^ S l / n)
          with (keep residual * (c * t ^ S l / n)
                + sum (map (fun g => value_gain g * (dispersion g * (c * t ^ S l) / n)) head_gains)).
        2:{ rewrite (sum_map_ext (fun g => value_gain g * (dispersion g * (c * t ^ S l) / n))
                       (fun g => (value_gain g * dispersion g) * (c * t ^ S l / n))) by (intros; field; lra).
            rewrite sum_map_mult_r. field. lra. }
        apply Rplus_le_compat.
        * apply Rmult_le_compat_l; [destruct residual; unfold keep; lra|]. eapply Rle_trans; [apply below|].
          unfold closed_form. fold n t. unfold Rdiv. apply Rmult_le_compat_r; [monotone|].
          apply Rmult_le_compat_l; [easy|]. cbn [pow]. rewrite <- (Rmult_1_l (t ^ l)) at 1.
          apply Rmult_le_compat_r; [apply pow_le|]; unfold t; lra.
        * apply sum_map_le. intros g ing. destruct (positive g ing). apply Rmult_le_compat_l; [easy|].
          eapply Rle_trans; [apply Rmin_r|]. unfold Rdiv. apply Rmult_le_compat_r; [monotone|]. monotone.
    - destruct here as [nonneg' _]. apply (IH gains P' width); [easy | monotone|]. intros j.
      apply Rle_trans with (G * closed_form c l (INR (S j))); [now apply Rmult_le_compat_l|]. apply Req_le.
      unfold closed_form, Rdiv. ring.
  Qed.

  (** (1 + ln t)^l / t falls once ln t >= l - 1: its derivative is (1 + ln t)^(l-1) (l - 1 - ln t) / t^2. *)
  Lemma closed_form_falls c l s t :
    0 <= c -> 1 <= s -> INR l <= 1 + ln s -> s <= t -> closed_form c l t <= closed_form c l s.
  Proof.
    intros nonneg above far less. unfold closed_form. set (f := fun t => c * (1 + ln t) ^ l / t).
    set (slope := fun t => c * (INR l * (1 + ln t) ^ pred l - (1 + ln t) ^ l) / (t * t)).
    assert (derivative : forall u, 0 < u -> is_derive f u (slope u)).
    { intros u pos. unfold f, slope. auto_derive; [repeat split; lra|]. field. lra. }
    destruct (MVT_gen f s t slope) as [u [between difference]].
    - intros u between. rewrite Rmin_left in between by easy. apply derivative. lra.
    - intros u between. rewrite Rmin_left in between by easy. apply derivable_continuous_pt. exists (slope u).
      apply is_derive_Reals, derivative. lra.
    - rewrite Rmin_left, Rmax_right in between by easy. assert (ln s <= ln u) by (apply ln_le; lra).
      pose proof (ln_nonneg s above). assert (slope u <= 0).
      { unfold slope. assert (0 < / (u * u)) by monotone. unfold Rdiv.
        enough (0 <= c * ((1 + ln u) ^ l - INR l * (1 + ln u) ^ pred l)) as enough.
        { apply Rmult_le_compat_r with (r := / (u * u)) in enough; lra. } apply Rmult_le_pos; [easy|].
        destruct l as [|l]; [cbn; lra|]. cbn [pred pow]. assert (0 <= (1 + ln u) ^ l) by (apply pow_le; lra).
        assert (INR (S l) * (1 + ln u) ^ l <= (1 + ln u) * (1 + ln u) ^ l) by monotone. lra. }
      unfold f in difference. nra.
  Qed.

End Network.
