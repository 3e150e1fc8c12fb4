(** Each check at what it claims, and at the least that makes the claim wrong; networks.sh adds those of a network. *)

From Coq Require Import List ZArith String.
From softcheck.certified_network Require Import spread_check set_sizes.
Import ListNotations.
Local Open Scope Z_scope.

Definition measured_once : norms := {| of_query_matrix := 65536; of_key_matrix := 65536; of_joint_matrix := 65536;
  of_query_bias := 65536; of_joint_bias := 65536; of_query := 16384; of_item := 16384; of_difference := 16384 |}.
Definition less (check : Z -> bool) (claimed : Z) := [check claimed; check (claimed - 1)].
Definition more (check : Z -> bool) (claimed : Z) := [check claimed; check (claimed + claimed / 2 ^ 20)].

(* (2 (1 + ...) + 1 + ...) / sqrt 128 and 2 / sqrt 128, in units of 2^-10, rounded up. *)
Eval vm_compute in ("product"%string, less (product_fits measured_once) 363).
Eval vm_compute in ("folded"%string, less (folded_fits measured_once) 182).
