#pragma once

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/formats/format.hpp"

namespace softcheck::numerics {

/// Order in which a kernel adds: its tree's height and rescalings enter the bounds (docs/kernels/judging.md).
struct Summation {
  enum class Kind { sequential, lanes, blocks, tree };
  Kind kind = Kind::sequential;
  std::uint64_t width = 1;  // K of lanes:K and blocks:K; 1 otherwise

  friend bool operator==(const Summation&, const Summation&) = default;
};

enum class MaskedRows { zero, nan, uniform };
enum class Subnormals { flushed, kept };
enum class EntropyForm { any, exact, paper };
enum class LseForm { centred, uncentred };
/// Where the temperature enters: (x - max) / theta, or x / theta before the maximum is taken.
enum class ThetaUse { fused, before };
/// The formula of an entropy: ln S + sum p D, m + ln S - sum p x, or -sum p ln p.
enum class EntropyFrom { deviations, logits, coefficients };
/// Attention's scale: one factor of the score; its square root a factor of query and key each; the same, and what
/// becomes of them rounded to the inputs' format.
enum class ScaleUse { whole, split, stored };
/// Which of several equal items top-k chooses first, and names first: any of them, or that of the lowest index.
enum class Ties { any, lowest };
/// What a visible logit of +inf gives: NaN or the limit, value by value, or the limit alone.
enum class InfiniteRows { any, limit };

/// In units of u: 2 ulp, as glibc documents its own.
inline constexpr double default_tanh_error = 4;

/// A kernel's promises about its arithmetic; every threshold follows from them (numerics/rounding/rounding.hpp).
///
/// u below is the unit roundoff of the accumulator. Errors are in units of u.
struct Contract {
  Format input = Format::f32;              // of the logits
  Format output = Format::f32;             // of the results
  Format accumulator = Format::f32;        // of exponentials, sums and ratios
  double exp_error = 2;                    // E: |computed exp(a) / exp(a) - 1| <= E u; 1 ulp = 2 u; exp(0) is 1
  double exp_argument_error = 1;           // A: the argument has relative error A u; 1 for x - max
  double log_error = 2;                    // E_l: |computed ln(a) / ln(a) - 1| <= E_l u; as exp_error
  double tanh_error = default_tanh_error;  // attention's softcap: |computed tanh(a) / tanh(a) - 1| <= that u
  Summation summation;
  MaskedRows masked = MaskedRows::nan;
  Subnormals subnormals = Subnormals::flushed;
  EntropyForm entropy = EntropyForm::any;
  LseForm lse = LseForm::centred;
  ThetaUse theta = ThetaUse::fused;
  EntropyFrom entropy_from = EntropyFrom::deviations;
  ScaleUse scale = ScaleUse::whole;
  Ties ties = Ties::any;
  InfiniteRows infinity = InfiniteRows::any;
  // Formats in which something is stored on its way; nothing: the accumulator.
  std::optional<Format> weights;          // exponentials, once they are computed; attention: as they meet the values
  std::optional<Format> total;            // S, before its logarithm is taken or something is divided by it
  std::optional<Format> scores;           // attention: the scores, before their softmax
  std::optional<Format> values;           // attention: the sums of weighted values
  std::optional<Format> products;         // gradients: the products that are added up, before they are
  std::optional<Format> score_gradients;  // attention's gradient: dS, as it meets queries and keys

  /// Nothing as large as the logits cancels in an entropy.
  bool has_centred_entropy() const { return entropy_from == EntropyFrom::deviations; }

  friend bool operator==(const Contract&, const Contract&) = default;
};

/// The contract of a kernel that declares nothing: acc=f32 (f64 for f64 logits), exp=1ulp, sum=sequential, masked=nan,
/// entropy=any, lse=centred; subnormal=flushed for f32 logits and kept for the others.
Contract default_contract(Format input, Format output);

/// A contract that cannot be read.
class ContractError : public std::invalid_argument {
 public:
  explicit ContractError(const std::string& problem)
      : std::invalid_argument("parse_contract: " + problem), problem(problem) {}
  std::string problem;  // what is needed and what was got, without the function's name
};

/// Reads the words a kernel declares, of contract_words(), over its defaults: `exp=1ulp sum=lanes:8 masked=nan`.
/// exp=Kulp means E = 2 K and A = 1; exp=E:e,A:a gives both. Words are separated by blanks or commas, each may come
/// once.
///
/// throws   ContractError naming the word and listing what exists
Contract parse_contract(std::string_view words, Format input, Format output);

/// A word of contracts: KEY=VALUES, alternatives by |, and what it grants.
struct ContractWord {
  std::string_view key, values, grants;
};

/// All words, in the order of to_string.
std::vector<ContractWord> contract_words();

/// All words that are set, so that parse_contract(to_string(c), c.input, c.output) == c.
std::string to_string(const Contract& contract);

/// One word of a contract, "sum=lanes:8"; of a format that is not set the accumulator's: "total=f32".
/// throws   std::invalid_argument when there is no word of that key
std::string word_of(const Contract& contract, std::string_view key);

/// Height of the tree that adds n items: the largest number of additions any item passes through.
/// sequential n - 1; lanes:K ceil(n / K) - 1 + ceil(log2 K); blocks:K K - 1 + ceil(log2(n / K)); tree ceil(log2 n);
/// never more than n - 1, as adding an absent item is exact.
std::uint64_t summation_height(const Contract& contract, std::uint64_t n);

}  // namespace softcheck::numerics
