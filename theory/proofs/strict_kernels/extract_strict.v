(** The models of the strict kernels, and of what they share with attention, as an OCaml module. Trusted beside Coq's kernel:
    extraction itself, Zarith's integers in the place of Coq's binary ones, and strict_rows.ml, which reads words of memory and
    prints them. *)

From Coq Require Import Extraction ExtrOcamlBasic ExtrOcamlZBigInt ZArith List ClassicalDedekindReals.
From softcheck.strict_kernels Require Import machine_numbers tree_row.
Import ListNotations.

(** Words in, words out. *)
Definition tree_softmax_words (theta : Z) (row : list Z) : list Z :=
  map word_of_f32 (tree_softmax 2 (scale_of (f64_of_word theta)) (map f32_of_word row)).
Definition tree_logsumexp_word (theta : Z) (row : list Z) : Z :=
  word_of_f32 (tree_logsumexp 2 (f64_of_word theta) (map f32_of_word row)).
Definition tree_entropy_word (theta : Z) (row : list Z) : Z :=
  word_of_f32 (tree_entropy 2 (scale_of (f64_of_word theta)) (map f32_of_word row)).

(** ln (1 + s). *)
Definition logarithm_word (s : Z) : Z := word_of_f64 (logarithm_of_one_plus (f64_of_word s)).

(** The compensated sum of some numbers, and it times exp(z) added to it. *)
Definition compensated_words (z : Z) (items : list Z) : list Z :=
  let sum := fold_left plus_item (map f32_of_word items) no_sum in
  let all := plus_sum sum (times_parts sum (exponential_parts (f32_of_word z))) in
  [word_of_f32 (sum_value all); word_of_f32 (sum_rest all)].

Extract Constant ClassicalDedekindReals.sig_forall_dec => "(fun _ -> assert false)".

Extraction "strict_kernels.ml" tree_softmax_words tree_logsumexp_word tree_entropy_word logarithm_word compensated_words.
