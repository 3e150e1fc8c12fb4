#include "proptests/engine/property.hpp"

#include <rapidcheck.h>
#include <rapidcheck/detail/Configuration.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <stdexcept>

namespace softcheck::proptests {

RunOptions options_from_environment(const RunOptions& defaults) {
  const char* text = std::getenv("RC_PARAMS");
  if (text == nullptr) return defaults;
  rc::detail::Configuration configuration;
  configuration.testParams.seed = defaults.seed;
  configuration.testParams.maxSuccess = defaults.cases;
  configuration.testParams.maxSize = defaults.max_size;
  try {
    configuration = rc::detail::configFromString(text, configuration);
  } catch (const std::exception& error) {
    throw std::invalid_argument(
        "options_from_environment: RC_PARAMS must hold seed=, max_success= or max_size=, got \"" + std::string(text) +
        "\": " + error.what());
  }
  RunOptions options = defaults;
  options.seed = configuration.testParams.seed;
  options.cases = configuration.testParams.maxSuccess;
  options.max_size = configuration.testParams.maxSize;
  return options;
}

namespace detail {
namespace {

using numerics::Certificate;
using numerics::Verdict;

struct Evaluation {
  Certificates certificates;
  std::string error;         // empty: the check returned, and only listed claims
  bool wrong_call = false;   // the check threw this error because the case is invalid for it
  bool interrupted = false;  // the check was abandoned

  Verdict verdict() const { return error.empty() ? numerics::worst(certificates) : Verdict::violated; }
  bool holds() const { return verdict() == Verdict::proved; }
};

Evaluation evaluate(const CaseNode& node, const std::vector<std::string>& claims, const RunOptions& options) {
  Evaluation result;
  try {
    const numerics::InterruptionScope scope(options.abandoned);
    result.certificates = node.check();
    for (const Certificate& certificate : result.certificates) {
      if (std::find(claims.begin(), claims.end(), certificate.claim) == claims.end()) {
        result.error = "property: check returned the claim \"" + certificate.claim + "\", which is not in its list";
      }
    }
  } catch (const std::exception& error) {
    result.error = error.what();
    result.wrong_call = dynamic_cast<const std::invalid_argument*>(&error) != nullptr;
    if (result.error.empty()) result.error = "an exception without a text";
  } catch (const Interrupted&) {
    result.interrupted = true;
  } catch (...) {
    result.error = "something that is no std::exception was thrown";
  }
  return result;
}

/// The kind of a failure. A shrunk case that fails differently has another cause, often an invalid call.
struct Failure {
  Verdict verdict;
  std::string claim;    // the first claim with this verdict; empty if the check threw
  std::string thrower;  // "function" in "function: need, got"

  explicit Failure(const Evaluation& evaluation)
      : verdict(evaluation.verdict()), thrower(evaluation.error.substr(0, evaluation.error.find(':'))) {
    if (!evaluation.error.empty()) return;
    for (const Certificate& certificate : evaluation.certificates) {
      if (certificate.verdict == verdict) {
        claim = certificate.claim;
        return;
      }
    }
  }

  bool is_shown_by(const Evaluation& evaluation) const {
    if (evaluation.verdict() != verdict) return false;
    if (!thrower.empty() || !evaluation.error.empty()) return Failure(evaluation).thrower == thrower;
    return std::any_of(evaluation.certificates.begin(), evaluation.certificates.end(),
                       [&](const Certificate& c) { return c.claim == claim && c.verdict == verdict; });
  }
};

Counterexample counterexample_of(const CaseNode& node, const Evaluation& evaluation) {
  Counterexample result;
  result.case_text = node.text();
  result.size = node.size();
  result.error = evaluation.error;
  for (const Certificate& certificate : evaluation.certificates) {
    if (certificate.verdict != Verdict::proved) result.failed.push_back(certificate);
  }
  return result;
}

bool asks_to_end(const RunOptions& options) { return options.interrupted && options.interrupted(); }

/// Moves to the first simpler case that still fails, until there is none or the evaluations are used up.
Counterexample shrink(const ErasedProperty& property, std::unique_ptr<CaseNode> node, Evaluation evaluation,
                      const RunOptions& options) {
  const Failure failure(evaluation);
  const std::string first_text = node->text();
  int evaluations = 0;
  for (std::unique_ptr<CaseNode>& named : node->pointed_at(evaluation.certificates)) {
    if (evaluations == options.shrinks || asks_to_end(options)) break;
    Evaluation tried = evaluate(*named, property.claims, options);
    if (tried.interrupted) break;
    ++evaluations;
    if (!failure.is_shown_by(tried)) continue;
    node = std::move(named);
    evaluation = std::move(tried);
    break;
  }
  while (evaluations < options.shrinks && !asks_to_end(options)) {
    std::unique_ptr<CaseNode> simpler = node->next_shrink();
    if (!simpler) break;
    Evaluation tried = evaluate(*simpler, property.claims, options);
    if (tried.interrupted) break;
    ++evaluations;
    if (!failure.is_shown_by(tried)) continue;
    node = std::move(simpler);
    evaluation = std::move(tried);
  }
  Counterexample result = counterexample_of(*node, evaluation);
  result.evaluations = evaluations;
  result.first_text = first_text;
  return result;
}

void record(const Certificates& certificates, std::map<std::string, ClaimSummary>& claims) {
  for (const Certificate& certificate : certificates) {
    ClaimSummary& summary = claims[certificate.claim];
    const bool decided = certificate.verdict == Verdict::proved || certificate.verdict == Verdict::violated;
    ++(decided ? summary.decided : summary.undecided);
    // fmax ignores a NaN.
    summary.tightest_slack = std::fmax(summary.tightest_slack, certificate.slack);
  }
}

Outcome started(const ErasedProperty& property) {
  Outcome outcome;
  for (const std::string& claim : property.claims) outcome.claims[claim];
  return outcome;
}

/// The outcome of a run that was ended from outside before any failure.
Outcome cut_short(Outcome outcome, double seconds) {
  outcome.verdict = Verdict::undecided;
  outcome.interrupted = true;
  outcome.note = "ended after " + std::to_string(outcome.cases) + " of " + std::to_string(outcome.wanted) + " cases";
  outcome.seconds = seconds;
  return outcome;
}

class Stopwatch {
 public:
  /// before   seconds of an earlier run
  explicit Stopwatch(double before = 0) : before_(before) {}
  double seconds() const {
    return before_ + std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  double before_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

int size_of_case(int index, int cases, int max_size) {
  return cases <= 1 ? max_size : static_cast<int>(static_cast<long long>(max_size) * index / (cases - 1));
}

/// The index of a listed case if `cases` of `all` are chosen.
std::size_t listed_index(int index, int cases, int all, bool spread) {
  if (cases == all || !spread) return static_cast<std::size_t>(index);
  return cases == 1 ? static_cast<std::size_t>(all - 1)
                    : static_cast<std::size_t>(static_cast<long long>(all - 1) * index / (cases - 1));
}

void require_valid(const RunOptions& options) {
  if (options.cases < 1 || options.most_cases < 1 || options.max_size < 0 || options.shrinks < 0) {
    throw std::invalid_argument("Property::run: cases and most_cases must be >= 1, max_size and shrinks >= 0, got " +
                                std::to_string(options.cases) + ", " + std::to_string(options.most_cases) + ", " +
                                std::to_string(options.max_size) + " and " + std::to_string(options.shrinks));
  }
}

/// Continues shrinking a run's counterexample.
Outcome shrunk_further(const ErasedProperty& property, const RunOptions& options, Outcome outcome,
                       const Stopwatch& stopwatch) {
  const Counterexample& known = *outcome.counterexample;
  RunOptions left = options;
  left.shrinks = options.shrinks - known.evaluations;
  outcome.interrupted = false;
  if (left.shrinks <= 0) return outcome;
  Outcome again = replay(property, known.case_text, left);
  outcome.interrupted = again.interrupted || asks_to_end(options);
  outcome.seconds = stopwatch.seconds();
  if (!again.counterexample) return outcome;
  again.counterexample->evaluations += known.evaluations;
  again.counterexample->first_text = known.first_text;
  outcome.counterexample = std::move(again.counterexample);
  return outcome;
}

}  // namespace

/// Concludes a run without failures. A claim that no case decided makes it vacuous.
void conclude(const ErasedProperty& property, Outcome& outcome) {
  outcome.verdict = Verdict::proved;
  outcome.interrupted = false;
  outcome.note.clear();
  for (const std::string& claim : property.claims) {
    if (outcome.claims[claim].decided > 0) continue;
    outcome.verdict = Verdict::vacuous;
    outcome.note = claim + " was decided in none of " + std::to_string(outcome.cases) + " cases";
  }
  if (property.claims.empty()) {
    outcome.verdict = Verdict::vacuous;
    outcome.note = "the property lists no claim";
  }
}

Outcome run(const ErasedProperty& property, const RunOptions& options) {
  return resume(property, options, started(property));
}

Outcome resume(const ErasedProperty& property, const RunOptions& options, Outcome outcome) {
  require_valid(options);
  const Stopwatch stopwatch(outcome.seconds);
  if (outcome.counterexample) return shrunk_further(property, options, std::move(outcome), stopwatch);
  outcome.interrupted = false;
  rc::Random random(options.seed);
  for (int i = 0; i < outcome.cases; ++i) random.split();
  std::size_t listed = property.listed;
  try {
    if (property.list_now) listed = property.list_now([&] { return asks_to_end(options); });
  } catch (const Interrupted&) {
    outcome.wanted = options.cases;
    return cut_short(outcome, stopwatch.seconds());
  }
  outcome.wanted = listed > 0 ? static_cast<int>(listed) : options.cases;
  const int cases = std::min(outcome.wanted, options.most_cases);
  for (int i = outcome.cases; i < cases && (i == 0 || stopwatch.seconds() < options.seconds); ++i) {
    std::unique_ptr<CaseNode> node;
    if (options.progress) options.progress(i);
    if (asks_to_end(options)) return cut_short(outcome, stopwatch.seconds());
    ++outcome.cases;
    try {
      const numerics::InterruptionScope scope(options.abandoned);
      node = listed > 0 ? property.list(listed_index(i, cases, outcome.wanted, options.spread))
                        : property.draw(random.split(), size_of_case(i, cases, options.max_size));
    } catch (const std::exception& error) {
      outcome.verdict = Verdict::violated;
      outcome.note = std::string("the generator threw: ") + error.what();
      outcome.seconds = stopwatch.seconds();
      return outcome;
    } catch (const Interrupted&) {
      --outcome.cases;
      return cut_short(outcome, stopwatch.seconds());
    }
    Evaluation evaluation = evaluate(*node, property.claims, options);
    if (evaluation.interrupted) {
      --outcome.cases;
      return cut_short(outcome, stopwatch.seconds());
    }
    record(evaluation.certificates, outcome.claims);
    if (!evaluation.holds()) {
      outcome.verdict = evaluation.verdict();
      outcome.counterexample = shrink(property, std::move(node), std::move(evaluation), options);
      outcome.interrupted = asks_to_end(options);
      outcome.seconds = stopwatch.seconds();
      return outcome;
    }
  }
  conclude(property, outcome);
  outcome.seconds = stopwatch.seconds();
  return outcome;
}

void each_case(const ErasedProperty& property, const RunOptions& options,
               const std::function<void(const std::string&)>& each) {
  rc::Random random(options.seed);
  const std::size_t listed = property.list_now ? property.list_now([] { return false; }) : property.listed;
  const int wanted = listed > 0 ? static_cast<int>(listed) : options.cases;
  const int cases = std::min(wanted, options.most_cases);
  for (int i = 0; i < cases; ++i) {
    each((listed > 0 ? property.list(listed_index(i, cases, wanted, options.spread))
                     : property.draw(random.split(), size_of_case(i, cases, options.max_size)))
             ->text());
  }
}

Outcome replay(const ErasedProperty& property, std::string_view text, const RunOptions& options) {
  const Stopwatch stopwatch;
  Outcome outcome = started(property);
  std::unique_ptr<CaseNode> node = property.parse(text);
  Evaluation evaluation = evaluate(*node, property.claims, options);
  outcome.wanted = 1;
  if (evaluation.interrupted) return cut_short(outcome, stopwatch.seconds());
  // A drawn case must be valid for the check, but a caller may replay any case.
  if (evaluation.wrong_call) throw OutsideDomain(property.suite + "." + property.sentence + ": " + evaluation.error);
  outcome.cases = 1;
  outcome.verdict = evaluation.verdict();
  record(evaluation.certificates, outcome.claims);
  if (!evaluation.holds()) {
    outcome.counterexample = shrink(property, std::move(node), std::move(evaluation), options);
  } else if (evaluation.certificates.empty()) {
    outcome.verdict = Verdict::vacuous;
    outcome.note = "the check decides nothing about this case";
  }
  outcome.seconds = stopwatch.seconds();
  return outcome;
}

}  // namespace detail
}  // namespace softcheck::proptests
