From Coq Require Import NArith List String.
From softcheck.contract Require Import contract_table.
From softcheck.strict_kernels Require Import tree_row tree_order.
Import ListNotations.
Local Open Scope string_scope.
Set Printing Depth 1000000.

(** Rows of n items, in vectors of 2^vector: vector, n, the levels of its additions that may round, the bits of its order. *)
Definition order_of (vector : nat) (n : N) : string :=
  let order := canonical_order vector (N.to_nat (N.log2_up n) - (vector + 7)) in
  row_of [natural (N.of_nat vector); natural n; natural (N.of_nat (rounding_levels n order)); String.concat " " (map natural order)].
Definition sizes : list N :=
  [3; 4; 5; 7; 8; 9; 31; 32; 33; 63; 64; 65; 100; 127; 128; 129; 200; 255; 256; 257; 384; 500; 511; 512; 513; 640; 768; 777;
   1000; 1023; 1024; 1025; 1500; 1537; 2047; 2048; 2049; 2500; 3000; 3073; 4095; 4096; 4097; 5000]%N%list.
Eval vm_compute in (row_of ["vector"; "n"; "levels"; "order"] :: map (order_of 2) sizes ++ map (order_of 3) sizes)%list.
