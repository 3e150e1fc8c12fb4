(** The oracle as an OCaml module. Trusted beside Coq's kernel: extraction itself, Zarith's integers in the place of Coq's
    binary ones, and verified_oracle.ml, which reads a row and prints an enclosure. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ZArith ClassicalDedekindReals.
From softcheck Require Import oracle.interval_oracle.

Definition precision_of_bits (bits : positive) : F.precision := F.PtoP bits.

(** Interval's modules name the axiom of the reals among things that are never called. *)
Extract Constant ClassicalDedekindReals.sig_forall_dec => "(fun _ -> assert false)".

Extraction "interval_oracle.ml" precision_of_bits bounds logsumexp row_entropy coefficients.
