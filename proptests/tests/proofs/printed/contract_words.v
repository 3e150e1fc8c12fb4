From Coq Require Import String List.
From softcheck.contract Require Import contract_table.
Local Open Scope string_scope.
Set Printing Depth 1000000.
Eval vm_compute in table.
