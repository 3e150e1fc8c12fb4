#include "numerics/rounding/contract.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

namespace softcheck::numerics {
namespace {

constexpr std::string_view known_words =
    "acc=f64|f32|f16|bf16 exp=Kulp|E:e,A:a sum=sequential|lanes:K|blocks:K|tree masked=zero|nan|uniform "
    "subnormal=flushed|kept entropy=any|exact|paper lse=centred|uncentred theta=fused|before "
    "entropy_from=deviations|logits|coefficients scale=whole|split|stored "
    "weights|total|scores|values|products|ds=f64|f32|f16|bf16 tanh=Kulp ties=any|lowest infinity=any|limit";

[[noreturn]] void refuse(std::string_view need, std::string_view got) {
  throw ContractError("need " + std::string(need) + ", got '" + std::string(got) + "'");
}

template <class Value, std::size_t N>
using Names = std::array<std::pair<std::string_view, Value>, N>;

// The orders are those of the enumerations: to_string looks values up by their number.
constexpr Names<Format, 4> accumulators{
    {{"f64", Format::f64}, {"f32", Format::f32}, {"f16", Format::f16}, {"bf16", Format::bf16}}};
constexpr Names<MaskedRows, 3> masked_rows{
    {{"zero", MaskedRows::zero}, {"nan", MaskedRows::nan}, {"uniform", MaskedRows::uniform}}};
constexpr Names<Subnormals, 2> subnormals{{{"flushed", Subnormals::flushed}, {"kept", Subnormals::kept}}};
constexpr Names<EntropyForm, 3> entropy_forms{
    {{"any", EntropyForm::any}, {"exact", EntropyForm::exact}, {"paper", EntropyForm::paper}}};
constexpr Names<LseForm, 2> lse_forms{{{"centred", LseForm::centred}, {"uncentred", LseForm::uncentred}}};
constexpr Names<ThetaUse, 2> theta_uses{{{"fused", ThetaUse::fused}, {"before", ThetaUse::before}}};
constexpr Names<EntropyFrom, 3> entropy_sources{{{"deviations", EntropyFrom::deviations},
                                                 {"logits", EntropyFrom::logits},
                                                 {"coefficients", EntropyFrom::coefficients}}};
constexpr Names<ScaleUse, 3> scale_uses{
    {{"whole", ScaleUse::whole}, {"split", ScaleUse::split}, {"stored", ScaleUse::stored}}};
constexpr Names<Ties, 2> tie_rules{{{"any", Ties::any}, {"lowest", Ties::lowest}}};

constexpr Names<InfiniteRows, 2> infinite_rows{{{"any", InfiniteRows::any}, {"limit", InfiniteRows::limit}}};

// What is stored on its way: the word and the contract's field.
struct Stored {
  std::string_view word;
  std::optional<Format> Contract::*format;
};
constexpr std::array<Stored, 6> stored_words{{{"weights", &Contract::weights},
                                              {"total", &Contract::total},
                                              {"scores", &Contract::scores},
                                              {"values", &Contract::values},
                                              {"products", &Contract::products},
                                              {"ds", &Contract::score_gradients}}};

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

// A finite number > 0 (or >= 0) that is all of the text.
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

bool read_stored(Contract& contract, std::string_view word, std::string_view value) {
  const auto found =
      std::find_if(stored_words.begin(), stored_words.end(), [&](const Stored& stored) { return stored.word == word; });
  if (found == stored_words.end()) return false;
  contract.*(found->format) = named(accumulators, word, value);
  return true;
}

void read_word(Contract& contract, std::string_view word, std::string_view value) {
  if (word == "acc") {
    contract.accumulator = named(accumulators, word, value);
  } else if (word == "exp") {
    read_exp(contract, value);
  } else if (word == "sum") {
    contract.summation = read_summation(value);
  } else if (word == "masked") {
    contract.masked = named(masked_rows, word, value);
  } else if (word == "subnormal") {
    contract.subnormals = named(subnormals, word, value);
  } else if (word == "entropy") {
    contract.entropy = named(entropy_forms, word, value);
  } else if (word == "lse") {
    contract.lse = named(lse_forms, word, value);
  } else if (word == "theta") {
    contract.theta = named(theta_uses, word, value);
  } else if (word == "entropy_from") {
    contract.entropy_from = named(entropy_sources, word, value);
  } else if (word == "scale") {
    contract.scale = named(scale_uses, word, value);
  } else if (word == "ties") {
    contract.ties = named(tie_rules, word, value);
  } else if (word == "infinity") {
    contract.infinity = named(infinite_rows, word, value);
  } else if (word == "tanh") {
    read_tanh(contract, value);
  } else if (!read_stored(contract, word, value)) {
    refuse("words out of " + std::string(known_words), word);
  }
}

constexpr std::string_view separators = " \t\n,";

// The next word, taken off the front; empty at the end. The comma of exp=E:e,A:a separates nothing.
std::string_view take_word(std::string_view& words) {
  words.remove_prefix(std::min(words.size(), words.find_first_not_of(separators)));
  std::size_t end = words.find_first_of(separators);
  const bool goes_on = end != words.npos && words.starts_with("exp=E:") && words.substr(end).starts_with(",A:");
  if (goes_on) end = words.find_first_of(separators, end + 1);
  const std::string_view word = words.substr(0, end);
  words.remove_prefix(word.size());
  return word;
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
  // exp=Kulp stands for A = 1 alone.
  if (contract.exp_argument_error == 1 && contract.exp_error > 0) return write_number(contract.exp_error / 2) + "ulp";
  return "E:" + write_number(contract.exp_error) + ",A:" + write_number(contract.exp_argument_error);
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
    if (equals == std::string_view::npos) refuse("words out of " + std::string(known_words), token);
    const std::string_view word = token.substr(0, equals);
    if (std::find(seen.begin(), seen.end(), word) != seen.end()) refuse("each word once", token);
    seen.push_back(word);
    read_word(contract, word, token.substr(equals + 1));
  }
}

std::string to_string(const Contract& contract) {
  std::string text;
  for (const std::string_view key : {"acc", "exp", "sum", "masked", "subnormal", "entropy", "lse"}) {
    text += (text.empty() ? "" : " ") + word_of(contract, key);
  }
  if (contract.theta != ThetaUse::fused) text += " " + word_of(contract, "theta");
  if (contract.entropy_from != EntropyFrom::deviations) text += " " + word_of(contract, "entropy_from");
  if (contract.scale != ScaleUse::whole) text += " " + word_of(contract, "scale");
  for (const Stored& stored : stored_words) {
    if (contract.*(stored.format)) text += " " + word_of(contract, stored.word);
  }
  if (contract.ties != Ties::any) text += " " + word_of(contract, "ties");
  if (contract.infinity != InfiniteRows::any) text += " " + word_of(contract, "infinity");
  if (contract.tanh_error != default_tanh_error) text += " " + word_of(contract, "tanh");
  return text;
}

std::string word_of(const Contract& contract, std::string_view key) {
  const std::string prefix = std::string(key) + "=";
  if (key == "acc") return prefix + std::string(properties(contract.accumulator).name);
  if (key == "exp") return prefix + exponential_words(contract);
  if (key == "sum") return prefix + summation_words(contract.summation);
  if (key == "masked") return prefix + name_of(masked_rows, contract.masked);
  if (key == "subnormal") return prefix + name_of(subnormals, contract.subnormals);
  if (key == "entropy") return prefix + name_of(entropy_forms, contract.entropy);
  if (key == "lse") return prefix + name_of(lse_forms, contract.lse);
  if (key == "theta") return prefix + name_of(theta_uses, contract.theta);
  if (key == "entropy_from") return prefix + name_of(entropy_sources, contract.entropy_from);
  if (key == "scale") return prefix + name_of(scale_uses, contract.scale);
  if (key == "ties") return prefix + name_of(tie_rules, contract.ties);
  if (key == "infinity") return prefix + name_of(infinite_rows, contract.infinity);
  if (key == "tanh") return prefix + write_number(contract.tanh_error / 2) + "ulp";
  for (const Stored& stored : stored_words) {
    if (stored.word != key) continue;
    return prefix + std::string(properties((contract.*(stored.format)).value_or(contract.accumulator)).name);
  }
  throw std::invalid_argument("word_of: need a key out of " + std::string(known_words) + ", got '" + std::string(key) +
                              "'");
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
