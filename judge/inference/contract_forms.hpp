#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "judge/op/op.hpp"
#include "numerics/formats/format.hpp"
#include "numerics/rounding/contract.hpp"

namespace softcheck::proptests {

/// The arithmetics among which a kernel's own is looked for (--infer, and where results at hand fail): accumulators,
/// and what is stored or computed otherwise on the way.
class ContractForms {
 public:
  /// base   the plain contract of the op and its formats
  ContractForms(Op op, numerics::Contract base);

  /// Is it a word of the op's arithmetic?
  bool has_word(std::string_view word) const;
  /// Those that the results could tell apart, from wide to narrow.
  std::vector<numerics::Format> accumulators() const;
  /// Changes to a contract: the plain form, then those that differ in one word, then in more.
  using Form = std::function<void(numerics::Contract&)>;
  std::vector<Form> forms() const;
  /// The keys of the words by which a contract's form differs from the plain one.
  std::vector<std::string> words_set(const numerics::Contract& contract) const;
  /// The contract with each accumulator in each form, in the order that they are tried: what is stored in 16 bits
  /// grants more than f32 everywhere, and less than 16 bits everywhere.
  std::vector<numerics::Contract> arithmetics(const numerics::Contract& contract) const;
  /// The same, each with the exponentials to try it with. Coarse ones, of tables and short polynomials, come behind the
  /// others and before what is stored in 16 bits, as long as they grant less than that.
  struct Arithmetic {
    numerics::Contract contract;
    std::span<const char* const> exponentials;
  };
  std::vector<Arithmetic> with_exponentials(const numerics::Contract& contract) const;
  /// Has it an exponential worse than the best one of the next narrower accumulator? It explains nothing that this
  /// would not.
  bool is_worse_than_narrower(const numerics::Contract& candidate) const;
  /// What exp may be promised, in the order that it is tried: errors first, then arguments with two roundings more. One
  /// word where the op's results do not tell them apart.
  std::span<const char* const> exponentials() const;
  /// The last of these.
  static const char* widest_exponential();
  /// The last of the coarse ones, where there are any: with_exponentials.
  const char* coarsest_exponential() const;
  /// The format of the results: arithmetic that differs by less than its last place looks the same.
  numerics::Format results() const;

  /// The words by which a contract grants more than the dtype's own arithmetic: what is stored in fewer bits on the
  /// way, a narrower accumulator, an exponential worse than any that OpenCL calls conformant.
  std::vector<std::string> weaker_words(const numerics::Contract& contract) const;
  /// The contract without them.
  numerics::Contract without_weaker_words(const numerics::Contract& contract) const;

 private:
  numerics::Format stored_format() const;
  std::span<const char* const> coarse_exponentials() const;
  bool is_narrow(const numerics::Contract& contract) const;

  Op op_;
  numerics::Contract base_;
};

/// The contract with what a word of exp= grants.
numerics::Contract with_exponential(numerics::Contract contract, const char* word);

}  // namespace softcheck::proptests
