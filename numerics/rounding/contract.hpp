#pragma once

#include <cstdint>
#include <numbers>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::numerics {

/// The order of a kernel's additions: the height and the rescalings of its tree enter the bounds
/// (docs/kernels/judging.md).
struct Summation {
  enum class Kind { sequential, lanes, blocks, tree };
  Kind kind = Kind::sequential;
  std::uint64_t width = 1;  // K of lanes:K and blocks:K; 1 otherwise

  friend bool operator==(const Summation&, const Summation&) = default;
};

enum class MaskedRows { zero, nan, uniform };
enum class Subnormals { flushed, kept };
enum class EntropyForm { any, exact, paper };
/// log_softmax: x - max - ln S, or x - L. L: a running total of logarithms, or given in base 2.
enum class LseForm { centred, uncentred, running, base2 };
/// Where the temperature is applied: (x - max) / theta, or x / theta before the maximum.
enum class ThetaUse { fused, before };
/// The formula of an entropy: ln S + sum p D, m + ln S - sum p x, or -sum p ln p.
enum class EntropyFrom { deviations, logits, coefficients };
/// Attention's scale: one factor of the score; its square root as a factor of query and key; the same, with the scaled
/// query and key rounded to the inputs' format.
enum class ScaleUse { whole, split, stored };
/// Softmax's gradient: y (g - M), M = sum y g; or the product of g with the matrix of y_i [i = j] - y_i y_j.
enum class GradientForm { row, jacobian };
/// A sigmoid from one exponential, or (1 + tanh(x / 2)) / 2.
enum class SigmoidForm { exp, tanh };
/// Which of equal items top-k chooses and lists first: any, or the one with the lowest index.
enum class Ties { any, lowest };
/// The result of a visible logit of +inf: NaN or the limit for each value, or only the limit.
enum class InfiniteRows { any, limit };

/// In units of u: 2 ulp, as glibc documents.
inline constexpr double default_tanh_error = 4;

/// A kernel's promises about its arithmetic; all thresholds follow from them (numerics/rounding/rounding.hpp).
///
/// u is the unit roundoff of the accumulator. Errors are in units of u.
struct Contract {
  Format input = Format::f32;              // of the logits
  Format output = Format::f32;             // of the results
  Format accumulator = Format::f32;        // of exponentials, sums and ratios
  double exp_error = 2;                    // E: |computed exp(a) / exp(a) - 1| <= E u; 1 ulp = 2 u; exp(0) is 1
  double exp_argument_error = 1;           // A: the argument has relative error A u; 1 for x - max
  double log_error = 2;                    // E_l: |computed ln(a) / ln(a) - 1| <= E_l u; as exp_error
  double tanh_error = default_tanh_error;  // of softcaps and sigmoid=tanh: |computed tanh(a) / tanh(a) - 1| <= that u
  double least_exp = 0;                    // a computed exponential is at least this; 0: no such floor
  Summation summation;
  MaskedRows masked = MaskedRows::nan;
  Subnormals subnormals = Subnormals::flushed;
  EntropyForm entropy = EntropyForm::any;
  LseForm lse = LseForm::centred;
  ThetaUse theta = ThetaUse::fused;
  EntropyFrom entropy_from = EntropyFrom::deviations;
  ScaleUse scale = ScaleUse::whole;
  GradientForm gradient = GradientForm::row;
  SigmoidForm sigmoid = SigmoidForm::exp;
  Ties ties = Ties::any;
  InfiniteRows infinity = InfiniteRows::any;
  // Formats of stored intermediate numbers; nothing: the accumulator's.
  std::optional<Format> weights;          // computed exponentials; attention: before they multiply the values
  int weights_power = 0;                  // of 8-bit weights, which are stored times 2^weights_power
  std::optional<Format> total;            // S, before its logarithm or a division by it
  std::optional<Format> scores;           // attention: the scores before the softmax
  std::optional<Format> values;           // attention: the sums of weighted values
  std::optional<Format> products;         // gradients: products before they are added
  std::optional<Format> score_gradients;  // attention's gradient: dS before it multiplies queries and keys
  std::optional<Format> differences;      // x - max, before its exponential
  std::optional<Format> softcap;          // a softcap's quotient, tanh and product
  std::optional<Format> sinks;            // attention: sinks as they are read

  /// Nothing as large as the logits cancels in an entropy.
  bool has_centred_entropy() const { return entropy_from == EntropyFrom::deviations; }
  bool has_entropy_of_coefficients() const { return entropy_from == EntropyFrom::coefficients; }
  /// A computed log-sum-exp in nats.
  double in_nats(double computed) const { return lse == LseForm::base2 ? computed * std::numbers::ln2 : computed; }
  /// Nothing as large as the logits cancels in a log-softmax.
  bool has_centred_lse() const { return lse == LseForm::centred || lse == LseForm::base2; }

  friend bool operator==(const Contract&, const Contract&) = default;
};

/// The contract of a kernel that declares nothing: acc=f32 (f64 for f64 logits), exp=1ulp, sum=sequential, masked=nan,
/// entropy=any, lse=centred; subnormal=flushed for f32 logits, else kept.
Contract default_contract(Format input, Format output);

/// The error of an invalid contract.
class ContractError : public std::invalid_argument {
 public:
  explicit ContractError(const std::string& problem)
      : std::invalid_argument("parse_contract: " + problem), problem(problem) {}
  std::string problem;  // what is needed and what was given, without the function's name
};

/// Parses a kernel's words, those of contract_words(), starting from the default contract:
/// `exp=1ulp sum=lanes:8 masked=nan`. exp=Kulp means E = 2 K and A = 1; exp=E:e,A:a gives both. Blanks or commas
/// separate words; each may appear once.
///
/// throws   ContractError with the word and the list of words
Contract parse_contract(std::string_view words, Format input, Format output);

/// A word of contracts: KEY=VALUES with alternatives separated by |, and what it grants.
struct ContractWord {
  std::string_view key, values, grants;
};

/// All words, in the order of to_string.
std::vector<ContractWord> contract_words();

/// All words of the contract, such that parse_contract(to_string(c), c.input, c.output) == c.
std::string to_string(const Contract& contract);

/// One word of a contract, "sum=lanes:8"; for an unset format the accumulator's: "total=f32".
/// throws   std::invalid_argument if there is no word with this key
std::string word_of(const Contract& contract, std::string_view key);

/// Height of the tree that adds n items: the largest number of additions on any item's path. sequential n - 1; lanes:K
/// ceil(n / K) - 1 + ceil(log2 K); blocks:K K - 1 + ceil(log2(n / K)); tree ceil(log2 n); never more than n - 1, since
/// adding an absent item is exact.
std::uint64_t summation_height(const Contract& contract, std::uint64_t n);

}  // namespace softcheck::numerics
