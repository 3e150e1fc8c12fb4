(** The judge as an OCaml module. Trusted beside Coq's kernel: extraction itself, Zarith's integers in the place of Coq's
    binary ones, and extracted_judge.ml, which reads a contract, a row and values, and prints verdicts. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ZArith ClassicalDedekindReals.
From softcheck.oracle Require Import interval_oracle.
From softcheck.judge Require Import kept_contract declared_contract.

Definition precision_of_bits (bits : positive) : F.precision := F.PtoP bits.

(** Interval's modules name the axiom of the reals among things that are never called. *)
Extract Constant ClassicalDedekindReals.sig_forall_dec => "(fun _ -> assert false)".

Extraction "judge_of_values.ml" precision_of_bits declared_coefficient declared_logsumexp
  declared_entropy.
