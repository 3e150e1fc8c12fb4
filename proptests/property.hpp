#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/certificate.hpp"

namespace softcheck::proptests {

using Certificates = std::vector<numerics::Certificate>;

/// How many cases to draw and from which seed.
struct RunOptions {
  std::uint64_t seed = 20241001;
  int cases = 100;
  int max_size = 100;  // RapidCheck's size of the last case
};

/// What was seen of one claim over all cases of a run.
struct ClaimSummary {
  std::size_t decided = 0;    // certificates proved or violated
  std::size_t undecided = 0;  // undecided or vacuous
  double tightest_slack = 0;  // largest left / right
};

/// A failing case after shrinking.
struct Counterexample {
  std::string case_text;  // parses back: the argument of --replay
  std::size_t size = 0;   // logits, entries or nodes in it
  Certificates failed;    // the certificates that were not proved
  std::string error;      // what was thrown, where the check threw
};

struct Outcome {
  numerics::Verdict verdict = numerics::Verdict::undecided;
  int cases = 0;
  std::map<std::string, ClaimSummary> claims;
  std::optional<Counterexample> counterexample;
  double seconds = 0;
};

/// A property: for every case that the generator draws, every certificate that check returns is proved.
///
/// Case needs, found by argument-dependent lookup: `std::string to_text(const Case&)` on one line,
/// `void from_text(std::string_view, Case&)` which throws std::invalid_argument, `std::size_t size_of(const Case&)` and
/// `void showValue(const Case&, std::ostream&)`.
template <class Case>
struct PropertyOf {
  std::string suite;                // "Lemma21"
  std::string sentence;             // "EveryCoefficientLiesWithinItsBounds"
  std::vector<std::string> claims;  // ids of the claims its check decides: "lemma_2_1.upper"
  rc::Gen<Case> generator;
  std::function<Certificates(const Case&)> check;
};

/// A property of any case type.
class Property {
 public:
  template <class Case>
  Property(PropertyOf<Case> property);  // NOLINT: a list of properties reads as a list

  const std::string& suite() const { return suite_; }
  const std::string& sentence() const { return sentence_; }
  std::string name() const { return suite_ + "." + sentence_; }
  const std::vector<std::string>& claims() const { return claims_; }

  /// Draws cases until one fails, and shrinks it.
  Outcome run(const RunOptions& options) const { return run_(options); }
  /// Checks the one case that text describes; throws std::invalid_argument when it does not parse.
  Outcome replay(std::string_view text) const { return replay_(text); }

 private:
  std::string suite_;
  std::string sentence_;
  std::vector<std::string> claims_;
  std::function<Outcome(const RunOptions&)> run_;
  std::function<Outcome(std::string_view)> replay_;
};

}  // namespace softcheck::proptests
