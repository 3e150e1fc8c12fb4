// The arithmetics among which --infer looks for a kernel's own (contract_search.hpp).
#include <algorithm>

#include "proptests/judge/inference/contract_search.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

bool stores(const Contract& contract) {
  return contract.weights || contract.total || contract.scores || contract.values || contract.products ||
         contract.score_gradients || contract.scale == ScaleUse::stored;
}

}  // namespace

bool ContractSearch::has_word(std::string_view word) const {
  return std::ranges::find(op_->answers.words, word) != op_->answers.words.end();
}

std::vector<Format> ContractSearch::accumulators() const {
  std::vector<Format> result{Format::f32, Format::f16, Format::bf16};
  // A result of 16 bits does not tell an f64 accumulator from an f32 one.
  const bool wide = properties(results()).precision >= properties(Format::f32).precision;
  if (wide) result.insert(result.begin(), Format::f64);
  return result;
}

// What is stored in 16 bits on its way: in the inputs' own format, or in bf16.
Format ContractSearch::stored_format() const {
  return properties(base_.input).storage_bits == 16 ? base_.input : Format::bf16;
}

// What a kernel's arithmetic may look like beside its accumulator, exponential and order, as changes to a contract: the
// plain form, then those that differ in one word, then in more.
std::vector<ContractSearch::Form> ContractSearch::forms() const {
  std::vector<Form> forms{[](Contract&) {}};
  const Format stored = stored_format();
  const auto either = [&](const Form& form) {
    const std::size_t before = forms.size();
    for (std::size_t i = 0; i < before; ++i) {
      forms.push_back([first = forms[i], form](Contract& contract) {
        first(contract);
        form(contract);
      });
    }
  };
  if (has_word("lse")) either([](Contract& contract) { contract.lse = LseForm::uncentred; });
  if (has_word("entropy_from")) {
    forms.push_back([](Contract& contract) { contract.entropy_from = EntropyFrom::logits; });
    forms.push_back([](Contract& contract) {
      contract.entropy_from = EntropyFrom::coefficients;
      contract.lse = LseForm::uncentred;
    });
  }
  if (has_word("weights")) either([=](Contract& contract) { contract.weights = stored; });
  if (has_word("ds")) either([=](Contract& contract) { contract.score_gradients = stored; });
  if (has_word("total")) either([=](Contract& contract) { contract.total = stored; });
  if (has_word("values")) either([=](Contract& contract) { contract.values = stored; });
  if (has_word("scores")) either([=](Contract& contract) { contract.scores = stored; });
  if (has_word("products")) either([=](Contract& contract) { contract.products = stored; });
  if (has_word("scale")) {
    either([](Contract& contract) { contract.scale = ScaleUse::split; });
    if (stored == base_.input) either([](Contract& contract) { contract.scale = ScaleUse::stored; });
  }
  if (has_word("theta")) either([](Contract& contract) { contract.theta = ThetaUse::before; });
  // Fewest words first.
  std::ranges::stable_sort(forms, {}, [&](const Form& form) {
    Contract contract = base_;
    form(contract);
    return words_set(contract).size();
  });
  return forms;
}

// The keys of the words by which a form differs from the plain one.
std::vector<std::string> ContractSearch::words_set(const Contract& contract) const {
  std::vector<std::string> keys;
  for (const char* key :
       {"lse", "theta", "entropy_from", "scale", "weights", "ds", "total", "scores", "values", "products"}) {
    if (word_of(contract, key) != word_of(base_, key)) keys.emplace_back(key);
  }
  return keys;
}

// Accumulators and forms in the order that they are tried: what is stored in 16 bits grants more than f32 everywhere,
// and less than 16 bits everywhere.
std::vector<Contract> ContractSearch::arithmetics(const Contract& contract) const {
  std::vector<Contract> wide, stored, narrow;
  for (const Format accumulator : accumulators()) {
    const bool is_wide = properties(accumulator).precision >= properties(Format::f32).precision;
    for (const Form& form : forms()) {
      Contract candidate = contract;
      candidate.accumulator = accumulator;
      form(candidate);
      if (!stores(candidate)) {
        (is_wide ? wide : narrow).push_back(candidate);
      } else if (accumulator == base_.accumulator) {
        stored.push_back(candidate);
      }
    }
  }
  wide.insert(wide.end(), stored.begin(), stored.end());
  wide.insert(wide.end(), narrow.begin(), narrow.end());
  return wide;
}

}  // namespace softcheck::proptests
