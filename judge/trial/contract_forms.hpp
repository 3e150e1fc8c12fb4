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

/// Is the op attention's gradient? Its results show coefficients in dv, and have the inputs' format.
bool is_gradient(Op op);

/// The arithmetics that are tried for a kernel (by --infer, and if calls or given results fail): accumulators, and
/// forms that store or compute intermediate numbers differently.
class ContractForms {
 public:
  /// base   the op's plain contract with its formats
  ContractForms(Op op, numerics::Contract base);

  /// Is the word part of the op's arithmetic?
  bool has_word(std::string_view word) const;
  /// The accumulators that the results can distinguish, widest first.
  std::vector<numerics::Format> accumulators() const;
  /// Changes to a contract: first none, then in one word, then in several.
  using Form = std::function<void(numerics::Contract&)>;
  std::vector<Form> forms() const;
  /// The keys of the words in which a contract's form differs from the plain one.
  std::vector<std::string> words_set(const numerics::Contract& contract) const;
  /// The contract with each accumulator in each form, in the order of the search: 16-bit storage grants more than f32
  /// everywhere, and less than 16 bits everywhere.
  std::vector<numerics::Contract> arithmetics(const numerics::Contract& contract) const;
  /// The same, each with the exponentials to try. Coarse ones (tables, short polynomials) come after the others and
  /// before 16-bit storage, as long as they grant less than that.
  struct Arithmetic {
    numerics::Contract contract;
    std::span<const char* const> exponentials;
  };
  std::vector<Arithmetic> with_exponentials(const numerics::Contract& contract) const;
  /// Is its exponential worse than the best one of the next narrower accumulator? Then it explains nothing that the
  /// narrower one would not.
  bool is_worse_than_narrower(const numerics::Contract& candidate) const;
  /// The words of exp= in the order of the search: errors first, then arguments with two more roundings. Only one word
  /// if the op's results do not distinguish them.
  std::span<const char* const> exponentials() const;
  /// The last of exponentials().
  static const char* widest_exponential();
  /// The last coarse exponential of with_exponentials(), if there is one.
  const char* coarsest_exponential() const;
  /// The format of the results: the search cannot see differences below its last place.
  numerics::Format results() const;

  /// The words by which a contract grants more than the dtype's own arithmetic: narrower intermediate storage, a
  /// narrower accumulator, an exponential worse than OpenCL allows.
  std::vector<std::string> weaker_words(const numerics::Contract& contract) const;
  /// The contract without these words.
  numerics::Contract without_weaker_words(const numerics::Contract& contract) const;

 private:
  numerics::Format stored_format() const;
  std::span<const char* const> coarse_exponentials() const;
  bool is_narrow(const numerics::Contract& contract) const;

  Op op_;
  numerics::Contract base_;
};

/// The contract with this word of exp=.
numerics::Contract with_exponential(numerics::Contract contract, const char* word);

}  // namespace softcheck::proptests
