#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <iterator>

#include "experiments/certificates/network_proof.hpp"
#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {
namespace {

// The layers that the logits depend on.
constexpr Layer proof_layers[] = {item_1, item_2, query_1, query_2, attention_query, attention_key};

// Numbers as their bits, eight hexadecimal digits each, in one literal: that is what Coq reads in seconds.
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

void append_network(std::string& text, const Floats& parameters) {
  std::string fields, finite;
  for (const Layer layer : proof_layers) {
    append_layer(text, parameters, layers.at(layer));
    const std::string_view name = layers.at(layer).name;
    fields +=
        fmt::format("{}  max_retrieval.{} := layer {}_weights {}_bias", fields.empty() ? "" : ";\n", name, name, name);
    finite += fmt::format("{}finite_layer {}_weights {}_bias", finite.empty() ? "" : "\n   && ", name, name);
  }
  text += fmt::format("Definition trained : network := {{|\n{}\n|}}.\n\n", fields);
  text += fmt::format(
      "Theorem numbers_are_finite :\n  ({})%bool = true.\nProof. vm_cast_no_check (eq_refl true). Qed.\n\n", finite);
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

std::string opening(const std::string& name) {
  return fmt::format(
      R"((* Theorems about one trained network, {}: the real function of its parameters, every number exact.
   Written by `softcheck model --prove`. Coq proves them by computing:
     coqc -Q PROOFS softcheck THIS_FILE     PROOFS: theory/proofs of softcheck, built
   A number is its binary32 word in hexadecimal, eight digits, as the network's file has it. *)

From Coq Require Import Reals List ZArith Bool.
From softcheck Require Import softmax.
From softcheck.certified_network Require Import fixed_point ball_layers binary32_words max_retrieval spread_check set_sizes.
Import ListNotations.
Local Open Scope R_scope.

)",
      name);
}

// A comment of Coq ends where the name says so.
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
  append_network(text, parameters);
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
  // What all of it rests on: the command reads the answer.
  text += fmt::format(
      "\nDefinition theorems := (norm_product, norm_product_spread, folded, folded_spread, smallest, disperses, "
      "entropy_beyond{}, numbers_are_finite).\nPrint Assumptions theorems.\n",
      claims.items >= 2 ? ", entropy_at_least" : "");
  return text;
}

}  // namespace softcheck::experiments
