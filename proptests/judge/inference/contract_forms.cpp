#include "proptests/judge/inference/contract_forms.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "proptests/judge/inference/contract_probes.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

bool stores(const Contract& contract) {
  return contract.weights || contract.total || contract.scores || contract.values || contract.products ||
         contract.score_gradients || contract.scale == ScaleUse::stored;
}

constexpr std::array exponential_words{"exp=1ulp",    "exp=2ulp",  "exp=4ulp",     "exp=E:2,A:3", "exp=8ulp",
                                       "exp=E:8,A:3", "exp=16ulp", "exp=E:32,A:3", "exp=64ulp"};

}  // namespace

ContractForms::ContractForms(Op op, Contract base) : op_(op), base_(std::move(base)) {}

bool ContractForms::has_word(std::string_view word) const {
  return std::ranges::find(op_->answers.words, word) != op_->answers.words.end();
}

std::vector<Format> ContractForms::accumulators() const {
  std::vector<Format> result{Format::f32, Format::f16, Format::bf16};
  // A result of 16 bits does not tell an f64 accumulator from an f32 one.
  const bool wide = properties(results()).precision >= properties(Format::f32).precision;
  if (wide) result.insert(result.begin(), Format::f64);
  return result;
}

Format ContractForms::results() const { return is_gradient(op_) ? base_.input : base_.output; }

std::span<const char* const> ContractForms::exponentials() const {
  return std::span(exponential_words).first(op_->answers.exponentials ? exponential_words.size() : 1);
}

const char* ContractForms::widest_exponential() { return exponential_words.back(); }

bool ContractForms::is_worse_than_narrower(const Contract& candidate) const {
  const std::vector<Format> all = accumulators();
  const auto next = std::ranges::find(all, candidate.accumulator) + 1;
  return next != all.end() &&
         candidate.exp_error * properties(candidate.accumulator).unit_roundoff > 2 * properties(*next).unit_roundoff;
}

// What is stored in 16 bits on its way: in the inputs' own format, or in bf16.
Format ContractForms::stored_format() const {
  return properties(base_.input).storage_bits == 16 ? base_.input : Format::bf16;
}

std::vector<ContractForms::Form> ContractForms::forms() const {
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

std::vector<std::string> ContractForms::words_set(const Contract& contract) const {
  std::vector<std::string> keys;
  for (const char* key :
       {"lse", "theta", "entropy_from", "scale", "weights", "ds", "total", "scores", "values", "products"}) {
    if (word_of(contract, key) != word_of(base_, key)) keys.emplace_back(key);
  }
  return keys;
}

std::vector<Contract> ContractForms::arithmetics(const Contract& contract) const {
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

Contract with_exponential(Contract contract, const char* word) {
  const Contract read = parse_contract(word, contract.input, contract.output);
  contract.exp_error = read.exp_error;
  contract.exp_argument_error = read.exp_argument_error;
  contract.log_error = read.log_error;
  return contract;
}

}  // namespace softcheck::proptests
