#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

#include "experiments/certificates/network_proof.hpp"
#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {
namespace {

// The layers that the logits depend on, and the later layers.
constexpr Layer logit_layers[] = {Layer::item_1,  Layer::item_2,          Layer::query_1,
                                  Layer::query_2, Layer::attention_query, Layer::attention_key};
constexpr Layer answer_layers[] = {Layer::attention_value, Layer::attention_output, Layer::head_1, Layer::head_2};

// Numbers as their bits, eight hexadecimal digits each, in one literal: Coq reads this form in seconds.
void append_words(std::string& text, const float* numbers, int count) {
  text += "0x";
  for (int i = 0; i < count; ++i) {
    fmt::format_to(std::back_inserter(text), "{:08x}", std::bit_cast<std::uint32_t>(numbers[i]));
  }
}

void append_layer(std::string& text, const Floats& parameters, const LayerPlace& layer) {
  text += fmt::format("Definition {}_weights : list Number.uint := [\n", layer.name);
  for (int row = 0; row < layer.outputs; ++row) {
    text += "  ";
    append_words(text, parameters.data() + layer.weights + static_cast<std::size_t>(row * layer.inputs), layer.inputs);
    text += row + 1 < layer.outputs ? ";\n" : "]%words.\n";
  }
  text += fmt::format("Definition {}_bias : Number.uint := (", layer.name);
  append_words(text, parameters.data() + layer.biases(), layer.outputs);
  text += ")%words.\n\n";
}

// One record of layers, and that all its numbers are finite.
void append_layers(std::string& text, const Floats& parameters, std::span<const Layer> of, std::string_view name,
                   std::string_view type, std::string_view module) {
  std::string fields, finite;
  for (const Layer layer : of) {
    append_layer(text, parameters, place_of(layer));
    const std::string_view own = place_of(layer).name;
    fields += fmt::format("{}  {}.{} := layer {}_weights {}_bias", fields.empty() ? "" : ";\n", module, own, own, own);
    finite += fmt::format("{}finite_layer {}_weights {}_bias", finite.empty() ? "" : "\n   && ", own, own);
  }
  text += fmt::format("Definition {} : {} := {{|\n{}\n|}}.\n\n", name, type, fields);
  text += fmt::format("Theorem {}_is_finite :\n  ({})%bool = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n\n",
                      name, finite);
}

void append_cells(std::string& text, const ProofClaims& claims) {
  text += "(** Priorities in units of 2^-14: class after class, what the checker takes as one ball. *)\n";
  text += "Definition cells : list (list cell) := ([\n";
  for (std::size_t c = 0; c < claims.cells.size(); ++c) {
    text += "  [";
    std::string row;
    for (const ProofCell& cell : claims.cells[c]) {
      row += fmt::format("{}{{| at_ := {}; half := {} |}}", row.empty() ? "" : "; ", cell.at, cell.half);
    }
    text += row + (c + 1 < claims.cells.size() ? "];\n" : "]\n");
  }
  text += "])%Z.\n\n";
}

constexpr const char* statements = R"(Theorem checked : spread_check trained cells {product} {folded} = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

(** Proposition 3.1's product of singular values, for every query in [0, 1] and every set of items. *)
Theorem norm_product y items :
  0 <= y <= 1 -> (forall x, In x items -> admissible x) -> product_form trained y items <= {product} / 1024.
Proof. exact (proj1 (product_proved _ _ _ _ checked) y items). Qed.

(** So no query spreads its logits further: *)
Theorem norm_product_spread : spread_bounded trained ({product} / 1024).
Proof. exact (proj2 (product_proved _ _ _ _ checked)). Qed.

(** The same with W_K^T W_Q folded into one matrix. *)
Theorem folded y items :
  0 <= y <= 1 -> (forall x, In x items -> admissible x) -> folded_form trained y items <= {folded} / 1024.
Proof. exact (proj1 (folded_proved _ _ _ _ checked) y items). Qed.

Theorem folded_spread : spread_bounded trained ({folded} / 1024).
Proof. exact (proj2 (folded_proved _ _ _ _ checked)). Qed.

(** Lemma 2.1's sharp form: the smallest length at which every row of that spread disperses. *)
Theorem length_checked : length_check {precision} {folded} {length} = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Theorem smallest n : (1 <= n)%nat ->
  (forall logits, length logits = n -> spread_at_most ({folded} / 1024) logits ->
     forall p, In p (softmax (tempered 1 logits)) -> p < 1 / 10)
  <-> ({length} <= Z.of_nat n)%Z.
Proof. exact (smallest_length _ _ _ n length_checked). Qed.

Theorem disperses y items :
  0 <= y <= 1 -> (forall x, In x items -> admissible x) -> ({length} <= Z.of_nat (length items))%Z ->
  forall p, In p (softmax (logits trained y items)) -> p < 1 / 10.
Proof. exact (disperses_from _ _ _ _ folded_spread length_checked y items). Qed.

Theorem entropy_beyond y items :
  0 <= y <= 1 -> (forall x, In x items -> admissible x) -> items <> [] -> ({length} <= Z.of_nat (length items))%Z ->
  ln 10 <= entropy (logits trained y items).
Proof. exact (entropy_from _ _ _ _ folded_spread length_checked y items). Qed.
)";

constexpr const char* floor_statement = R"(
(** The entropy of any {items} items, in nats. *)
Theorem floor_checked : floor_check 128 {folded} {items} {bits} {mantissa} = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Theorem entropy_at_least y items :
  0 <= y <= 1 -> (forall x, In x items -> admissible x) -> Z.of_nat (length items) = {items}%Z ->
  IZR {mantissa} / IZR (2 ^ {bits}) <= entropy (logits trained y items).
Proof. exact (entropy_of_set _ _ _ _ _ _ folded_spread floor_checked y items). Qed.
)";

constexpr const char* mistake_statement = R"(
(** Corollary B.1: a has the largest priority, b another class. With enough of b the network answers the class of b. *)
Definition case : mistake := {{|
  query_at := {query}; odd_at := {odd}; odd_class := {odd_class}; other_at := {other}; other_class := {other_class};
  wrong_from := {wrong_from}; alpha_cells := {cells}
|}}.

Theorem mistake_checked : mistake_check trained rest case = true.
Proof. vm_cast_no_check (eq_refl true). Qed.

Definition set_of (n : nat) : list item := ({odd} / 16384, {odd_class}%nat) :: repeat ({other} / 16384, {other_class}%nat) (n - 1).

Theorem set_admissible n x : In x (set_of n) -> admissible x.
Proof. exact (proj2 (mistake_check.set_admissible _ _ _ mistake_checked n) x). Qed.

Theorem right_of_set n : right_class (set_of n) {odd_class}.
Proof. exact (mistake_check.right_of_set _ _ _ mistake_checked n). Qed.

Theorem right_on_two : answers trained rest ({query} / 16384) (set_of 2) {odd_class}.
Proof. exact (mistake_check.right_on_two _ _ _ mistake_checked). Qed.

Theorem wrong_on_many n : ({wrong_from} <= Z.of_nat n)%Z -> answers trained rest ({query} / 16384) (set_of n) {other_class}.
Proof. exact (mistake_check.wrong_on_many _ _ _ mistake_checked n). Qed.
)";

std::string opening(const std::string& name) {
  return fmt::format(
      R"((* Theorems about one trained network, {}: the real function of its parameters, every number exact.
   Written by `softcheck model --prove`. Coq proves them by computing:
     coqc -Q PROOFS softcheck THIS_FILE     PROOFS: theory/proofs of softcheck, built
   A number is its binary32 word in hexadecimal, eight digits, as the network's file has it. *)

From Coq Require Import Reals List ZArith Bool.
From softcheck Require Import softmax.
From softcheck.certified_network Require Import fixed_point ball_layers binary32_words max_retrieval spread_check set_sizes
  network_answers answer_check mistake_check.
Import ListNotations.
Local Open Scope R_scope.

)",
      name);
}

void append_mistake(std::string& text, const ProofMistake& mistake) {
  text += fmt::format(fmt::runtime(mistake_statement), fmt::arg("query", mistake.query), fmt::arg("odd", mistake.odd),
                      fmt::arg("odd_class", mistake.odd_class), fmt::arg("other", mistake.other),
                      fmt::arg("other_class", mistake.other_class), fmt::arg("wrong_from", mistake.wrong_from),
                      fmt::arg("cells", mistake.cells));
}

// The name without characters that could end Coq's comment.
std::string harmless(const std::string& name) {
  std::string result;
  for (const char c : name) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
    result += plain ? c : '_';
  }
  return result;
}

}  // namespace

std::string proof_text(const Floats& parameters, const ProofClaims& claims, const std::string& name) {
  std::string text = opening(harmless(name));
  append_layers(text, parameters, logit_layers, "trained", "network", "max_retrieval");
  append_cells(text, claims);
  // Enough bits for the length's digits and 2^-64 of one.
  const auto precision = static_cast<std::int64_t>(folded_bound(claims) * 1.4427) + 100;
  text += fmt::format(fmt::runtime(statements), fmt::arg("product", claims.product), fmt::arg("folded", claims.folded),
                      fmt::arg("precision", precision), fmt::arg("length", claims.length));
  if (claims.items >= 2) {
    text +=
        fmt::format(fmt::runtime(floor_statement), fmt::arg("folded", claims.folded), fmt::arg("items", claims.items),
                    fmt::arg("bits", claims.floor_bits), fmt::arg("mantissa", claims.floor_mantissa));
  }
  std::string names = claims.items >= 2 ? ", entropy_at_least" : "";
  if (claims.mistake) {
    append_layers(text, parameters, answer_layers, "rest", "answer_layers", "network_answers");
    append_mistake(text, *claims.mistake);
    names += ", set_admissible, right_of_set, right_on_two, wrong_on_many, rest_is_finite";
  }
  // Prints the axioms of all theorems; the command reads this output.
  text += fmt::format(
      "\nDefinition theorems := (norm_product, norm_product_spread, folded, folded_spread, smallest, disperses, "
      "entropy_beyond, trained_is_finite{}).\nPrint Assumptions theorems.\n",
      names);
  return text;
}

}  // namespace softcheck::experiments
