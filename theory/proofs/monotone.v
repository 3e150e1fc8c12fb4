(** * A tactic for inequalities that follow from the signs of factors.

    [monotone] closes 0 <= a b, a c <= b c, e^a <= e^b and the like, by what the context and lra know of their parts.
    [triangle] leaves |x| + |y| <= z of |x + y| <= z. *)

From Coq Require Import Reals Lra.
Local Open Scope R_scope.

Lemma exp_le x y : x <= y -> exp x <= exp y.
Proof. intros [lt| ->]; [left; now apply exp_increasing | lra]. Qed.

Ltac monotone := first
  [ assumption
  | match goal with
    | |- _ /\ _ => split; monotone
    | |- ?a * ?c <= ?b * ?c => apply Rmult_le_compat_r; monotone
    | |- ?c * ?a <= ?c * ?b => apply Rmult_le_compat_l; monotone
    | |- _ * _ <= _ * _ => apply Rmult_le_compat; monotone
    | |- exp _ <= exp _ => apply exp_le; monotone
    | |- 1 <= exp _ => rewrite <- exp_0; apply exp_le; monotone
    | |- / _ <= / _ => apply Rinv_le_contravar; monotone
    | |- 0 <= _ * _ => apply Rmult_le_pos; monotone
    | |- 0 < _ * _ => apply Rmult_lt_0_compat; monotone
    | |- 0 <= _ / _ => apply Rmult_le_pos; monotone
    | |- 0 < _ / _ => apply Rdiv_lt_0_compat; monotone
    | |- 0 < / _ => apply Rinv_0_lt_compat; monotone
    | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat; monotone
    | |- 0 < exp _ => apply exp_pos
    | |- 0 <= exp _ => apply Rlt_le, exp_pos
    | |- 0 <= Rabs _ => apply Rabs_pos
    | |- 0 <= INR _ => apply pos_INR
    | |- 0 <= sqrt _ => apply sqrt_pos
    end
  | lra
  | match goal with
    | |- _ + _ <= _ + _ => apply Rplus_le_compat; monotone
    | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; monotone
    | |- Rabs (_ * _) <= _ * _ => rewrite Rabs_mult; monotone
    | |- Rabs (_ + _) <= _ + _ => eapply Rle_trans; [apply Rabs_triang|]; monotone
    | |- 0 <= _ => apply pos_INR
    end ].

Ltac triangle := eapply Rle_trans; [apply Rabs_triang|].
