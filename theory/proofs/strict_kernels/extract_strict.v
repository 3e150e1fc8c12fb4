(** The strict kernels' models as an OCaml module. Trusted beside Coq's kernel: extraction itself, Zarith's integers in
    the place of Coq's binary ones, and strict_rows.ml, which reads words of memory and prints them. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ZArith List ClassicalDedekindReals.
From softcheck.strict_kernels Require Import machine_numbers block_row tree_row.

(** Words in, words out. *)
Definition softmax_words (theta : Z) (row : list Z) : list Z :=
  map word_of_f32 (strict_softmax (scale_of (f64_of_word theta)) (map f32_of_word row)).
Definition tree_softmax_words (theta : Z) (row : list Z) : list Z :=
  map word_of_f32 (tree_softmax 2 (scale_of (f64_of_word theta)) (map f32_of_word row)).
Definition tree_logsumexp_word (theta : Z) (row : list Z) : Z :=
  word_of_f32 (tree_logsumexp 2 (f64_of_word theta) (map f32_of_word row)).
Definition tree_entropy_word (theta : Z) (row : list Z) : Z :=
  word_of_f32 (tree_entropy 2 (scale_of (f64_of_word theta)) (map f32_of_word row)).
Definition logsumexp_word (theta : Z) (row : list Z) : Z :=
  word_of_f32 (strict_logsumexp (f64_of_word theta) (map f32_of_word row)).
Definition entropy_word (theta : Z) (row : list Z) : Z :=
  word_of_f32 (strict_entropy (scale_of (f64_of_word theta)) (map f32_of_word row)).

Extract Constant ClassicalDedekindReals.sig_forall_dec => "(fun _ -> assert false)".

Extraction "strict_kernels.ml" softmax_words tree_softmax_words tree_logsumexp_word tree_entropy_word logsumexp_word entropy_word.
