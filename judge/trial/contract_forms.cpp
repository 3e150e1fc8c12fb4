#include "judge/trial/contract_forms.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace softcheck::proptests {

using namespace numerics;

namespace {

// The words of intermediate numbers in a 16-bit format.
constexpr std::array<std::pair<const char*, std::optional<Format> Contract::*>, 9> stored_words{
    {{"weights", &Contract::weights},
     {"ds", &Contract::score_gradients},
     {"total", &Contract::total},
     {"values", &Contract::values},
     {"scores", &Contract::scores},
     {"products", &Contract::products},
     {"differences", &Contract::differences},
     {"softcap", &Contract::softcap},
     {"sinks", &Contract::sinks}}};

bool stores(const Contract& contract) {
  const auto is_set = [&](const auto& word) { return (contract.*word.second).has_value(); };
  return std::ranges::any_of(stored_words, is_set) || contract.scale == ScaleUse::stored;
}

// The floor of an exponential without subnormal numbers: subnormal=flushed grants visible items as much.
constexpr double least_normal = 0x1p-126;

constexpr std::array exponential_words{"exp=1ulp",    "exp=2ulp",  "exp=4ulp",     "exp=E:2,A:3", "exp=8ulp",
                                       "exp=E:8,A:3", "exp=16ulp", "exp=E:32,A:3", "exp=64ulp"};
// A table of 32 entries with linear interpolation errs by (ln 2 / 32)^2 / 8 = 985 u of f32.
constexpr std::array coarse_words{"exp=128ulp", "exp=256ulp", "exp=512ulp", "exp=1024ulp", "exp=2048ulp"};
// OpenCL allows f32's exp an error of 3 ulp, and CUDA's expf has 2: the next standard word is exp=4ulp. A log2(e)
// folded into the argument rounds it three times.
constexpr const char* worst_own_exponential = "exp=E:8,A:3";

bool is_own_exponential(const Contract& contract) {
  const Contract worst = with_exponential(contract, worst_own_exponential);
  return contract.exp_error <= worst.exp_error && contract.exp_argument_error <= worst.exp_argument_error;
}

}  // namespace

bool is_gradient(Op op) {
  return op->is_attention() && std::ranges::find(op->inputs, Role::out_gradient, &OpInput::role) != op->inputs.end();
}

ContractForms::ContractForms(Op op, Contract base) : op_(op), base_(std::move(base)) {}

bool ContractForms::has_word(std::string_view word) const {
  return std::ranges::find(op_->answers.words, word) != op_->answers.words.end();
}

std::vector<Format> ContractForms::accumulators() const {
  std::vector<Format> result{Format::f32, Format::f16, Format::bf16};
  // A 16-bit result does not distinguish an f64 accumulator from an f32 one.
  const bool wide = properties(results()).precision >= properties(Format::f32).precision;
  if (wide) result.insert(result.begin(), Format::f64);
  return result;
}

Format ContractForms::results() const {
  return is_gradient(op_) || (op_->is_linear() && !op_->extents.empty()) ? base_.input : base_.output;
}

std::span<const char* const> ContractForms::exponentials() const {
  return std::span(exponential_words).first(op_->answers.exponentials ? exponential_words.size() : 1);
}

std::span<const char* const> ContractForms::coarse_exponentials() const {
  if (!op_->answers.exponentials) return {};
  // A pair of logits has the error of an item and of the sum: together at most half of what 16-bit storage is granted.
  const double most = properties(stored_format()).unit_roundoff / 4;
  const auto grants_less = [&](const char* word) {
    return with_exponential(base_, word).exp_error * properties(base_.accumulator).unit_roundoff <= most;
  };
  const auto end = std::ranges::find_if_not(coarse_words, grants_less);
  return std::span(coarse_words).first(static_cast<std::size_t>(end - coarse_words.begin()));
}

const char* ContractForms::coarsest_exponential() const {
  const std::span<const char* const> coarse = coarse_exponentials();
  return coarse.empty() ? widest_exponential() : coarse.back();
}

const char* ContractForms::widest_exponential() { return exponential_words.back(); }

bool ContractForms::is_worse_than_narrower(const Contract& candidate) const {
  const std::vector<Format> all = accumulators();
  const auto next = std::ranges::find(all, candidate.accumulator) + 1;
  return next != all.end() &&
         candidate.exp_error * properties(candidate.accumulator).unit_roundoff > 2 * properties(*next).unit_roundoff;
}

// The 16-bit format of intermediate storage: the inputs' own, or bf16.
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
  if (has_word("lse=base2")) either([](Contract& contract) { contract.lse = LseForm::base2; });
  if (has_word("lse=running")) forms.push_back([](Contract& contract) { contract.lse = LseForm::running; });
  if (has_word("entropy_from")) {
    forms.push_back([](Contract& contract) { contract.entropy_from = EntropyFrom::logits; });
    forms.push_back([](Contract& contract) {
      contract.entropy_from = EntropyFrom::coefficients;
      contract.lse = LseForm::uncentred;
    });
  }
  if (has_word("gradient")) either([](Contract& contract) { contract.gradient = GradientForm::jacobian; });
  if (has_word("sigmoid")) either([](Contract& contract) { contract.sigmoid = SigmoidForm::tanh; });
  for (const auto& [key, word] : stored_words) {
    if (has_word(key)) either([=, word = word](Contract& contract) { contract.*word = stored; });
  }
  if (has_word("scale")) {
    either([](Contract& contract) { contract.scale = ScaleUse::split; });
    if (stored == base_.input) either([](Contract& contract) { contract.scale = ScaleUse::stored; });
  }
  if (has_word("theta")) either([](Contract& contract) { contract.theta = ThetaUse::before; });
  if (op_->is_attention() && has_word("weights") && properties(base_.input).storage_bits == 8) {
    const numerics::FormatProperties& of = properties(base_.input);
    const auto stored = [&](int power) {
      forms.push_back([=, format = base_.input](Contract& contract) {
        contract.weights = format;
        contract.weights_power = power;
      });
    };
    // Multiplied, so that a weight of 1 is as large as can be. Where weights of 2^-14 are normal numbers without it,
    // too few calls show it.
    if (of.min_exponent > -14) stored(of.max_exponent);
    stored(0);
  }
  if (has_word("exp_floor")) forms.push_back([](Contract& contract) { contract.least_exp = least_normal; });
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
  const auto add = [&](const char* key) {
    if (word_of(contract, key) != word_of(base_, key)) keys.emplace_back(key);
  };
  for (const char* key : {"lse", "theta", "entropy_from", "scale", "gradient", "sigmoid", "exp_floor"}) add(key);
  for (const auto& [key, word] : stored_words) {
    if (contract.*word != base_.*word) keys.emplace_back(key);
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

std::vector<ContractForms::Arithmetic> ContractForms::with_exponentials(const Contract& contract) const {
  std::vector<Arithmetic> result, coarse;
  const std::vector<Contract> all = arithmetics(contract);
  const auto end = std::ranges::find_if(all, [&](const Contract& one) { return stores(one) || is_narrow(one); });
  for (const Contract& one : std::span(all.begin(), end)) {
    result.push_back({one, exponentials()});
    if (one.accumulator == base_.accumulator) coarse.push_back({one, coarse_exponentials()});
  }
  result.insert(result.end(), coarse.begin(), coarse.end());
  for (const Contract& one : std::span(end, all.end())) result.push_back({one, exponentials()});
  return result;
}

bool ContractForms::is_narrow(const Contract& contract) const {
  return properties(contract.accumulator).precision < properties(base_.accumulator).precision;
}

std::vector<std::string> ContractForms::weaker_words(const Contract& contract) const {
  std::vector<std::string> words;
  if (is_narrow(contract)) words.push_back(word_of(contract, "acc"));
  if (op_->answers.exponentials && !is_own_exponential(contract)) words.push_back(word_of(contract, "exp"));
  for (const auto& [key, word] : stored_words) {
    if (contract.*word != base_.*word) words.push_back(word_of(contract, key));
  }
  if (contract.scale == ScaleUse::stored) words.push_back(word_of(contract, "scale"));
  return words;
}

Contract ContractForms::without_weaker_words(const Contract& contract) const {
  Contract own = contract;
  if (is_narrow(contract)) own.accumulator = base_.accumulator;
  if (!is_own_exponential(contract)) own = with_exponential(own, worst_own_exponential);
  for (const auto& [key, word] : stored_words) own.*word = base_.*word;
  own.weights_power = base_.weights_power;
  if (own.scale == ScaleUse::stored) own.scale = base_.scale;
  return own;
}

Contract with_exponential(Contract contract, const char* word) {
  const Contract read = parse_contract(word, contract.input, contract.output);
  contract.exp_error = read.exp_error;
  contract.exp_argument_error = read.exp_argument_error;
  contract.log_error = read.log_error;
  return contract;
}

}  // namespace softcheck::proptests
