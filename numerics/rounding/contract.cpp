#include "numerics/rounding/contract.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace softcheck::numerics {
namespace {

[[noreturn]] void refuse(std::string_view need, std::string_view got) {
  throw ContractError("need " + std::string(need) + ", got '" + std::string(got) + "'");
}

template <class Value, std::size_t N>
using Names = std::array<std::pair<std::string_view, Value>, N>;

// In the order of the enumerations: to_string looks values up by number.
constexpr Names<Format, 4> accumulators{
    {{"f64", Format::f64}, {"f32", Format::f32}, {"f16", Format::f16}, {"bf16", Format::bf16}}};
// What 2^K an exponential may be multiplied with before it is stored: the power of 1 is a number of the format.
struct ByteWeights {
  std::string_view name;
  Format format;
  int largest_power;
};
constexpr std::string_view weights_formats = "f64|f32|f16|bf16|e4m3|e5m2|e4m3:2^K|e5m2:2^K";
constexpr ByteWeights byte_weights[]{{"e4m3", Format::e4m3, 8}, {"e5m2", Format::e5m2, 15}};
constexpr Names<MaskedRows, 3> masked_rows{
    {{"zero", MaskedRows::zero}, {"nan", MaskedRows::nan}, {"uniform", MaskedRows::uniform}}};
constexpr Names<Subnormals, 2> subnormals{{{"flushed", Subnormals::flushed}, {"kept", Subnormals::kept}}};
constexpr Names<EntropyForm, 3> entropy_forms{
    {{"any", EntropyForm::any}, {"exact", EntropyForm::exact}, {"paper", EntropyForm::paper}}};
constexpr Names<LseForm, 4> lse_forms{{{"centred", LseForm::centred},
                                       {"uncentred", LseForm::uncentred},
                                       {"running", LseForm::running},
                                       {"base2", LseForm::base2}}};
constexpr Names<GradientForm, 2> gradient_forms{{{"row", GradientForm::row}, {"jacobian", GradientForm::jacobian}}};
constexpr Names<SigmoidForm, 2> sigmoid_forms{{{"exp", SigmoidForm::exp}, {"tanh", SigmoidForm::tanh}}};
constexpr Names<ThetaUse, 2> theta_uses{{{"fused", ThetaUse::fused}, {"before", ThetaUse::before}}};
constexpr Names<EntropyFrom, 3> entropy_sources{{{"deviations", EntropyFrom::deviations},
                                                 {"logits", EntropyFrom::logits},
                                                 {"coefficients", EntropyFrom::coefficients}}};
constexpr Names<ScaleUse, 3> scale_uses{
    {{"whole", ScaleUse::whole}, {"split", ScaleUse::split}, {"stored", ScaleUse::stored}}};
constexpr Names<Ties, 2> tie_rules{{{"any", Ties::any}, {"lowest", Ties::lowest}}};

constexpr Names<InfiniteRows, 2> infinite_rows{{{"any", InfiniteRows::any}, {"limit", InfiniteRows::limit}}};

template <class Value, std::size_t N>
Value named(const Names<Value, N>& names, std::string_view word, std::string_view text) {
  std::string need(word);
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    need += need.size() == word.size() ? '=' : '|';
    need += name;
  }
  refuse(need, std::string(word) + "=" + std::string(text));
}

template <class Value, std::size_t N>
std::string name_of(const Names<Value, N>& names, Value value) {
  return std::string(names[static_cast<std::size_t>(value)].first);
}

// Parses the whole text as a finite number >= 0.
std::optional<double> read_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value < 0) return {};
  return value;
}

std::string write_number(double value) {
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value);
  return std::string(buffer.data(), result.ptr);
}

void read_exp(Contract& contract, std::string_view text) {
  constexpr std::string_view need = "exp=Kulp with K in (0, 2^1023) or exp=E:e,A:a with e, a >= 0";
  if (text.ends_with("ulp")) {
    const auto ulps = read_number(text.substr(0, text.size() - 3));
    if (!ulps || *ulps == 0 || !std::isfinite(2 * *ulps)) refuse(need, "exp=" + std::string(text));
    contract.exp_error = 2 * *ulps;  // an ulp is at most 2 u of the value
    contract.exp_argument_error = 1;
  } else {
    const std::size_t comma = text.find(",A:");
    if (!text.starts_with("E:") || comma == std::string_view::npos) refuse(need, "exp=" + std::string(text));
    const auto error = read_number(text.substr(2, comma - 2));
    const auto argument_error = read_number(text.substr(comma + 3));
    if (!error || !argument_error) refuse(need, "exp=" + std::string(text));
    contract.exp_error = *error;
    contract.exp_argument_error = *argument_error;
  }
  contract.log_error = contract.exp_error;
}

void read_tanh(Contract& contract, std::string_view text) {
  const auto ulps = text.ends_with("ulp") ? read_number(text.substr(0, text.size() - 3)) : std::nullopt;
  if (!ulps || !std::isfinite(2 * *ulps)) refuse("tanh=Kulp with K in [0, 2^1023)", "tanh=" + std::string(text));
  contract.tanh_error = 2 * *ulps;
}

// The bounds rescale by numbers below 1/4.
void read_least_exp(Contract& contract, std::string_view, std::string_view text) {
  const auto power = text.starts_with("2^-") ? read_number(text.substr(3)) : std::nullopt;
  if (!power || *power != std::floor(*power) || *power < 2 || *power > 1022) {
    refuse("exp_floor=2^-K with an integer K in [2, 1022]", "exp_floor=" + std::string(text));
  }
  contract.least_exp = std::ldexp(1.0, -static_cast<int>(*power));
}

std::string least_exp_word(const Contract& contract) {
  return contract.least_exp == 0 ? "0" : "2^" + std::to_string(std::ilogb(contract.least_exp));
}

Summation read_summation(std::string_view text) {
  constexpr std::string_view need = "sum=sequential|lanes:K|blocks:K|tree with an integer K in [1, 2^32]";
  if (text == "sequential") return {Summation::Kind::sequential, 1};
  if (text == "tree") return {Summation::Kind::tree, 1};
  for (const auto& [prefix, kind] : {std::pair{std::string_view("lanes:"), Summation::Kind::lanes},
                                     std::pair{std::string_view("blocks:"), Summation::Kind::blocks}}) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view digits = text.substr(prefix.size());
    std::uint64_t width = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), width);
    const bool whole = error == std::errc{} && end == digits.data() + digits.size();
    if (whole && width >= 1 && width <= std::uint64_t{1} << 32) return {kind, width};
  }
  refuse(need, "sum=" + std::string(text));
}

std::string summation_words(const Summation& summation) {
  switch (summation.kind) {
    case Summation::Kind::sequential:
      return "sequential";
    case Summation::Kind::tree:
      return "tree";
    case Summation::Kind::lanes:
      return "lanes:" + std::to_string(summation.width);
    case Summation::Kind::blocks:
      return "blocks:" + std::to_string(summation.width);
  }
  return {};
}

std::string exponential_words(const Contract& contract) {
  // exp=Kulp implies A = 1.
  if (contract.exp_argument_error == 1 && contract.exp_error > 0) return write_number(contract.exp_error / 2) + "ulp";
  return "E:" + write_number(contract.exp_error) + ",A:" + write_number(contract.exp_argument_error);
}

void read_exp_word(Contract& contract, std::string_view, std::string_view value) { read_exp(contract, value); }
void read_tanh_word(Contract& contract, std::string_view, std::string_view value) { read_tanh(contract, value); }
void read_sum_word(Contract& contract, std::string_view, std::string_view value) {
  contract.summation = read_summation(value);
}
std::string summation_word(const Contract& contract) { return summation_words(contract.summation); }
std::string tanh_word(const Contract& contract) { return write_number(contract.tanh_error / 2) + "ulp"; }

template <auto member, const auto& names>
void read_choice(Contract& contract, std::string_view key, std::string_view value) {
  contract.*member = named(names, key, value);
}
template <auto member, const auto& names>
std::string choice(const Contract& contract) {
  return name_of(names, contract.*member);
}
template <auto member>
bool differs(const Contract& contract) {
  return contract.*member != Contract{}.*member;
}
std::string accumulator_name(const Contract& contract) { return std::string(properties(contract.accumulator).name); }
// Without its word, an intermediate number is stored in the accumulator's format.
template <std::optional<Format> Contract::*member>
std::string stored_format(const Contract& contract) {
  return std::string(properties((contract.*member).value_or(contract.accumulator)).name);
}

void read_weights(Contract& contract, std::string_view key, std::string_view text) {
  const std::string got = std::string(key) + "=" + std::string(text);
  for (const auto& [name, format, largest_power] : byte_weights) {
    if (!text.starts_with(name)) continue;
    const std::string_view factor = text.substr(name.size());
    const auto power = factor.empty() ? 0.0 : factor.starts_with(":2^") ? read_number(factor.substr(3)) : std::nullopt;
    if (!power || *power != std::floor(*power) || *power > largest_power) {
      const std::string word = std::string(key) + "=" + std::string(name);
      refuse(word + " or " + word + ":2^K with an integer K in [0, " + std::to_string(largest_power) + "]", got);
    }
    contract.weights = format;
    contract.weights_power = static_cast<int>(*power);
    return;
  }
  for (const auto& [name, format] : accumulators) {
    if (name == text) return void(contract.weights = format);
  }
  refuse(std::string(key) + "=" + std::string(weights_formats), got);
}

std::string weights_word(const Contract& contract) {
  const std::string name = stored_format<&Contract::weights>(contract);
  return contract.weights_power == 0 ? name : name + ":2^" + std::to_string(contract.weights_power);
}

struct ContractRow {
  ContractWord described;
  void (*read)(Contract& contract, std::string_view key, std::string_view value);
  std::string (*write)(const Contract& contract);
  bool (*is_written)(const Contract& contract);  // null: always
};

template <auto member, const auto& names>
constexpr ContractRow choice_word(std::string_view key, std::string_view values, std::string_view grants, bool always) {
  return {{key, values, grants}, read_choice<member, names>, choice<member, names>, always ? nullptr : differs<member>};
}
template <std::optional<Format> Contract::*member>
constexpr ContractRow stored_word(std::string_view key, std::string_view grants) {
  return {{key, "f64|f32|f16|bf16", grants}, read_choice<member, accumulators>, stored_format<member>, differs<member>};
}

// In the order of to_string.
constexpr ContractRow words_of_contracts[]{
    {{"acc", "f64|f32|f16|bf16", "the format of every operation"},
     read_choice<&Contract::accumulator, accumulators>,
     accumulator_name,
     nullptr},
    {{"exp", "Kulp|E:e,A:a", "exp(a) errs by E units of roundoff, its argument by A; exp(0) is 1"},
     read_exp_word,
     exponential_words,
     nullptr},
    {{"sum", "sequential|lanes:K|blocks:K|tree", "the height of the tree that adds"},
     read_sum_word,
     summation_word,
     nullptr},
    choice_word<&Contract::masked, masked_rows>("masked", "zero|nan|uniform", "the result of a fully masked row", true),
    choice_word<&Contract::subnormals, subnormals>("subnormal", "flushed|kept",
                                                   "whether a number below the smallest normal one may be 0", true),
    choice_word<&Contract::entropy, entropy_forms>("entropy", "any|exact|paper",
                                                   "adaptive ops: with or without the paper's 1e-9", true),
    choice_word<&Contract::lse, lse_forms>("lse", "centred|uncentred|running|base2",
                                           "log_softmax: x - max - ln S, or x - lse; lse: by logaddexp, or in base 2",
                                           true),
    choice_word<&Contract::theta, theta_uses>("theta", "fused|before",
                                              "before: x / theta is rounded before the maximum is taken", false),
    choice_word<&Contract::entropy_from, entropy_sources>(
        "entropy_from", "deviations|logits|coefficients",
        "the entropy is ln S + sum p D, m + ln S - sum p x, or -sum p ln p", false),
    choice_word<&Contract::scale, scale_uses>(
        "scale", "whole|split|stored",
        "attention: sqrt(scale) a factor of query and key each; and the product stored in the inputs' format", false),
    {{"weights", weights_formats, "the format in which exponentials are stored, those of 8 bits times 2^K"},
     read_weights,
     weights_word,
     differs<&Contract::weights>},
    stored_word<&Contract::total>("total", "the format in which their sum is stored"),
    stored_word<&Contract::scores>("scores", "attention: the format in which scores are stored"),
    stored_word<&Contract::values>("values", "attention: the format in which sums of weighted values are stored"),
    stored_word<&Contract::products>("products", "gradients: the format of the products that are added up"),
    stored_word<&Contract::score_gradients>("ds",
                                            "attention's gradient: the format in which the scores' gradient is stored"),
    stored_word<&Contract::differences>("differences", "the format in which x - max is stored"),
    stored_word<&Contract::softcap>("softcap", "the format of each step of a softcap"),
    stored_word<&Contract::sinks>("sinks", "attention: the format in which sinks are stored"),
    choice_word<&Contract::gradient, gradient_forms>(
        "gradient", "row|jacobian", "softmax's gradient: y (g - sum y g), or the Jacobian matrix times g", false),
    choice_word<&Contract::sigmoid, sigmoid_forms>(
        "sigmoid", "exp|tanh", "sigmoid attention: from one exponential, or (1 + tanh(x / 2)) / 2", false),
    {{"exp_floor", "2^-K", "computed exponentials are at least 2^-K, also those of -inf"},
     read_least_exp,
     least_exp_word,
     differs<&Contract::least_exp>},
    choice_word<&Contract::ties, tie_rules>("ties", "any|lowest", "top-k: of equal logits any, or the lowest index",
                                            false),
    choice_word<&Contract::infinity, infinite_rows>("infinity", "any|limit",
                                                    "a visible +inf gives NaN or the limit, or the limit alone", false),
    {{"tanh", "Kulp", "the tanh of a softcap and of sigmoid=tanh errs by K ulp of its value"},
     read_tanh_word,
     tanh_word,
     [](const Contract& contract) { return contract.tanh_error != default_tanh_error; }},
};

// "acc=f64|f32|f16|bf16 ... weights|total=f64|...": groups words with the same values.
std::string known_words() {
  std::string text;
  std::string_view values;
  for (const ContractRow& word : words_of_contracts) {
    if (word.described.values == values) {
      text.insert(text.size() - values.size() - 1, "|" + std::string(word.described.key));
      continue;
    }
    values = word.described.values;
    text += (text.empty() ? "" : " ") + std::string(word.described.key) + "=" + std::string(values);
  }
  return text;
}

const ContractRow* find_word(std::string_view key) {
  const auto found =
      std::ranges::find(words_of_contracts, key, [](const ContractRow& word) { return word.described.key; });
  return found == std::end(words_of_contracts) ? nullptr : &*found;
}

void read_word(Contract& contract, std::string_view key, std::string_view value) {
  const ContractRow* word = find_word(key);
  if (word == nullptr) refuse("words out of " + known_words(), key);
  word->read(contract, key, value);
}

constexpr std::string_view separators = " \t\n,";

// Removes the next word from the front; empty at the end. The comma in exp=E:e,A:a is no separator.
std::string_view take_word(std::string_view& words) {
  words.remove_prefix(std::min(words.size(), words.find_first_not_of(separators)));
  std::size_t end = words.find_first_of(separators);
  const bool goes_on = end != words.npos && words.starts_with("exp=E:") && words.substr(end).starts_with(",A:");
  if (goes_on) end = words.find_first_of(separators, end + 1);
  const std::string_view word = words.substr(0, end);
  words.remove_prefix(word.size());
  return word;
}

std::uint64_t ceil_log2(std::uint64_t n) { return n <= 1 ? 0 : static_cast<std::uint64_t>(std::bit_width(n - 1)); }

std::uint64_t ceil_divide(std::uint64_t n, std::uint64_t by) { return n / by + (n % by ? 1 : 0); }

}  // namespace

Contract default_contract(Format input, Format output) {
  Contract contract;
  contract.input = input;
  contract.output = output;
  contract.accumulator = input == Format::f64 ? Format::f64 : Format::f32;
  contract.subnormals = input == Format::f32 ? Subnormals::flushed : Subnormals::kept;
  return contract;
}

Contract parse_contract(std::string_view words, Format input, Format output) {
  Contract contract = default_contract(input, output);
  std::vector<std::string_view> seen;
  while (true) {
    const std::string_view token = take_word(words);
    if (token.empty()) return contract;
    const std::size_t equals = token.find('=');
    if (equals == std::string_view::npos) refuse("words out of " + known_words(), token);
    const std::string_view word = token.substr(0, equals);
    if (std::find(seen.begin(), seen.end(), word) != seen.end()) refuse("each word once", token);
    seen.push_back(word);
    read_word(contract, word, token.substr(equals + 1));
  }
}

std::string to_string(const Contract& contract) {
  std::string text;
  for (const ContractRow& word : words_of_contracts) {
    if (word.is_written != nullptr && !word.is_written(contract)) continue;
    text += (text.empty() ? "" : " ") + std::string(word.described.key) + "=" + word.write(contract);
  }
  return text;
}

std::string word_of(const Contract& contract, std::string_view key) {
  const ContractRow* word = find_word(key);
  if (word == nullptr) {
    throw std::invalid_argument("word_of: need a key out of " + known_words() + ", got '" + std::string(key) + "'");
  }
  return std::string(key) + "=" + word->write(contract);
}

std::vector<ContractWord> contract_words() {
  std::vector<ContractWord> words;
  for (const ContractRow& word : words_of_contracts) words.push_back(word.described);
  return words;
}

std::uint64_t summation_height(const Contract& contract, std::uint64_t n) {
  if (n <= 1) return 0;
  const std::uint64_t width = std::max<std::uint64_t>(contract.summation.width, 1);
  switch (contract.summation.kind) {
    case Summation::Kind::sequential:
      return n - 1;
    case Summation::Kind::tree:
      return ceil_log2(n);
    case Summation::Kind::lanes:
      return std::min(n - 1, ceil_divide(n, width) - 1 + ceil_log2(width));
    case Summation::Kind::blocks:
      // 2^k >= n / K exactly when 2^k >= ceil(n / K).
      return std::min(n - 1, width - 1 + ceil_log2(ceil_divide(n, width)));
  }
  return n - 1;
}

}  // namespace softcheck::numerics
