#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/engine/interrupted.hpp"
#include "proptests/engine/rapidcheck_types.hpp"

namespace softcheck::proptests {

using Certificates = std::vector<numerics::Certificate>;

/// The number of cases and the seed. The same options give the same cases on every machine.
struct RunOptions {
  std::uint64_t seed = 20241001;
  int cases = 100;
  int max_size = 100;  // RapidCheck's size of the last case; the first one has size 0
  int shrinks = 600;   // most evaluations for shrinking a failing case
  double seconds = std::numeric_limits<double>::infinity();  // no new case begins after this time
  int most_cases = std::numeric_limits<int>::max();          // limit of checked cases, see `spread`
  bool spread = true;  // cases of a longer list are chosen evenly, including its last one; else the first ones
  /// Called before each case and each shrink; true ends the run with the results so far. A check may also throw
  /// Interrupted.
  std::function<bool()> interrupted = {};
  /// Also called while a check runs (numerics::InterruptionScope); true abandons the case. Empty: checks are not
  /// abandoned.
  std::function<bool()> abandoned = {};
  std::function<void(int)> progress = {};  // called before each case with the number of cases so far
};

/// The defaults, overridden by RC_PARAMS (seed, max_success, max_size).
/// throws   std::invalid_argument if RC_PARAMS does not parse
RunOptions options_from_environment(const RunOptions& defaults = {});

/// Results of one claim over all cases of a run, without the shrinks of a failing case.
struct ClaimSummary {
  std::size_t decided = 0;                                           // certificates proved or violated
  std::size_t undecided = 0;                                         // undecided or vacuous
  double tightest_slack = std::numeric_limits<double>::quiet_NaN();  // largest left / right; NaN if there is none
};

/// A failing case after shrinking.
struct Counterexample {
  std::string case_text;   // the argument of --replay
  std::size_t size = 0;    // logits, entries or nodes
  Certificates failed;     // the certificates that were not proved
  std::string error;       // what the check threw, or the unknown claim that it returned
  int evaluations = 0;     // number of evaluations for shrinking
  std::string first_text;  // the case before shrinking
};

/// proved: every certificate of every case is. Otherwise the worst verdict of the failing case (an exception or an
/// unknown claim counts as violated), vacuous if no case decided one of the listed claims, or undecided if the run was
/// interrupted.
struct Outcome {
  numerics::Verdict verdict = numerics::Verdict::undecided;
  int cases = 0;
  int wanted = 0;                              // cases of the complete run
  std::map<std::string, ClaimSummary> claims;  // by id, including listed claims that no certificate was about
  std::optional<Counterexample> counterexample;
  std::string note;  // the reason, if no counterexample shows it
  double seconds = 0;
  bool interrupted = false;  // fewer cases, or fewer shrinks of the counterexample, than requested
};

/// A property: for every case of the generator, every certificate that the check returns is proved.
///
/// Case needs these functions, found by argument-dependent lookup: `std::string to_text(const Case&)` in one line,
/// `void from_text(std::string_view, Case&)`, which throws std::invalid_argument, `std::size_t size_of(const Case&)`
/// and `void showValue(const Case&, std::ostream&)`. Shrinking uses the generator's shrinks. Files that construct a
/// property include <rapidcheck.h>.
template <class Case>
struct PropertyOf {
  std::string suite;                // "Lemma21"
  std::string sentence;             // "EveryCoefficientLiesWithinItsBounds"
  std::vector<std::string> claims;  // ids of the claims that the check decides: "lemma_2_1.upper"
  rc::Gen<Case> generator;
  std::function<Certificates(const Case&)> check;
  /// If not empty: check these cases in this order, without drawing or shrinking. If they are sorted by size, the first
  /// failing one is the smallest.
  std::vector<Case> listed{};
  /// If set: can the generator draw the case, or shrink to it? A replay of any other case is an error, because the
  /// property does not hold for it.
  std::function<bool(const Case&)> admits{};
  /// If set: makes a case that was not drawn shrinkable.
  std::function<rc::Shrinkable<Case>(const Case&)> shrinkable{};
  /// If set: the simpler cases that a failure names, such as the one wrong row of a thousand. Shrinking tries them
  /// first.
  std::function<std::vector<Case>(const Case&, const Certificates&)> pointed_at{};
  /// If set: makes the list of listed cases when the property runs, because that takes a while; throws Interrupted when
  /// asked to stop.
  std::function<std::vector<Case>(const std::function<bool()>& stop_requested)> listed_later{};
};

/// The error of a replay of a case outside the property's domain.
class OutsideDomain : public std::invalid_argument {
 public:
  explicit OutsideDomain(const std::string& property)
      : std::invalid_argument(property + ": need a case that this property may draw, got one outside its domain") {}
};

namespace detail {

/// A drawn or shrunk case without its type.
class CaseNode {
 public:
  virtual ~CaseNode() = default;
  virtual std::string text() const = 0;
  virtual std::size_t size() const = 0;
  virtual Certificates check() const = 0;
  /// The next simpler case to try; null if there are no more.
  virtual std::unique_ptr<CaseNode> next_shrink() = 0;
  /// The simpler cases that these certificates name.
  virtual std::vector<std::unique_ptr<CaseNode>> pointed_at(const Certificates& certificates) const = 0;
};

/// A property without its case type, for running and shrinking.
struct ErasedProperty {
  std::string suite;
  std::string sentence;
  std::vector<std::string> claims;
  std::function<std::unique_ptr<CaseNode>(const rc::Random&, int size)> draw;
  std::function<std::unique_ptr<CaseNode>(std::string_view text)> parse;
  std::size_t listed = 0;
  /// Makes the list and returns its size, or throws Interrupted; empty: the list exists.
  std::function<std::size_t(const std::function<bool()>& stop_requested)> list_now;
  std::function<std::unique_ptr<CaseNode>(std::size_t index)> list;
};

Outcome run(const ErasedProperty& property, const RunOptions& options);
Outcome resume(const ErasedProperty& property, const RunOptions& options, Outcome earlier);
void conclude(const ErasedProperty& property, Outcome& outcome);
void each_case(const ErasedProperty& property, const RunOptions& options,
               const std::function<void(const std::string&)>& each);
Outcome replay(const ErasedProperty& property, std::string_view text, const RunOptions& options);

template <class Case>
class NodeOf final : public CaseNode {
 public:
  using Shared = std::shared_ptr<const PropertyOf<Case>>;

  NodeOf(Shared property, rc::Shrinkable<Case> shrinkable)
      : property_(std::move(property)), value_(shrinkable.value()), drawn_(std::move(shrinkable)) {}
  NodeOf(Shared property, Case value) : property_(std::move(property)), value_(std::move(value)) {}

  std::string text() const override { return to_text(value_); }
  std::size_t size() const override { return size_of(value_); }
  Certificates check() const override { return property_->check(value_); }
  std::unique_ptr<CaseNode> next_shrink() override {
    if (!shrinks_) shrinks_ = begin_shrinks();
    const rc::Maybe<rc::Shrinkable<Case>> next = shrinks_->next();
    return next ? std::make_unique<NodeOf>(property_, *next) : nullptr;
  }
  std::vector<std::unique_ptr<CaseNode>> pointed_at(const Certificates& certificates) const override {
    std::vector<std::unique_ptr<CaseNode>> nodes;
    if (!property_->pointed_at) return nodes;
    for (Case& simpler : property_->pointed_at(value_, certificates)) {
      nodes.push_back(std::make_unique<NodeOf>(property_, std::move(simpler)));
    }
    return nodes;
  }

 private:
  // Made on first use: making shrinks took a fifth of the time of a judgement without failures.
  rc::Seq<rc::Shrinkable<Case>> begin_shrinks() const {
    if (drawn_) return drawn_->shrinks();
    return property_->shrinkable ? property_->shrinkable(value_).shrinks() : rc::Seq<rc::Shrinkable<Case>>();
  }

  Shared property_;
  Case value_;
  std::optional<rc::Shrinkable<Case>> drawn_;  ///< none: the value was listed, parsed or named
  std::optional<rc::Seq<rc::Shrinkable<Case>>> shrinks_;
};

template <class Case>
ErasedProperty erase(PropertyOf<Case> property) {
  const auto listing = std::make_shared<std::vector<Case>>(std::move(property.listed));
  std::function<std::size_t(const std::function<bool()>&)> list_now;
  if (property.listed_later) {
    list_now = [listing, later = std::move(property.listed_later)](const std::function<bool()>& stop_requested) {
      if (listing->empty()) *listing = later(stop_requested);
      return listing->size();
    };
  }
  const auto shared = std::make_shared<const PropertyOf<Case>>(std::move(property));
  return {shared->suite,
          shared->sentence,
          shared->claims,
          [shared](const rc::Random& random, int size) -> std::unique_ptr<CaseNode> {
            return std::make_unique<NodeOf<Case>>(shared, shared->generator(random, size));
          },
          [shared](std::string_view text) -> std::unique_ptr<CaseNode> {
            Case value;
            from_text(text, value);
            if (shared->admits && !shared->admits(value)) throw OutsideDomain(shared->suite + "." + shared->sentence);
            return std::make_unique<NodeOf<Case>>(shared, std::move(value));
          },
          listing->size(),
          std::move(list_now),
          [shared, listing](std::size_t index) -> std::unique_ptr<CaseNode> {
            return std::make_unique<NodeOf<Case>>(shared, (*listing)[index]);
          }};
}

}  // namespace detail

/// A property of any case type.
class Property {
 public:
  template <class Case>
  Property(PropertyOf<Case> property)  // NOLINT: a list of properties reads as a list
      : erased_(detail::erase(std::move(property))) {}

  const std::string& suite() const { return erased_.suite; }
  const std::string& sentence() const { return erased_.sentence; }
  std::string name() const { return suite() + "." + sentence(); }
  const std::vector<std::string>& claims() const { return erased_.claims; }

  /// The number of cases that run() checks.
  int cases(const RunOptions& options) const {
    return erased_.listed > 0 ? static_cast<int>(erased_.listed) : options.cases;
  }
  /// Draws cases, or takes the listed ones, until one fails, and shrinks it. A shrunk case must fail in the same way:
  /// the same claim with the same verdict, or an exception from the same function.
  Outcome run(const RunOptions& options) const { return detail::run(erased_, options); }
  /// Continues an interrupted run, with its next case or with shrinking its counterexample.
  ///
  /// earlier   from run() or resume(), with the same options except for limits and interruptions
  Outcome resume(const RunOptions& options, Outcome earlier) const {
    return detail::resume(erased_, options, std::move(earlier));
  }
  /// Turns the outcome of an interrupted run into that of a complete run with these cases.
  void conclude(Outcome& outcome) const { detail::conclude(erased_, outcome); }
  /// Calls `each` with the text of every case that run() would check, in order, without checking it.
  void each_case(const RunOptions& options, const std::function<void(const std::string&)>& each) const {
    detail::each_case(erased_, options, each);
  }
  /// Checks the case with this text.
  ///
  /// shrinks   most evaluations for shrinking it if it fails; 0: no shrinking
  /// throws    std::invalid_argument if the text does not parse, OutsideDomain if the property does not hold for the
  ///           case
  Outcome replay(std::string_view text, int shrinks = 0) const {
    RunOptions options;
    options.shrinks = shrinks;
    return detail::replay(erased_, text, options);
  }
  /// The same; reads the options shrinks, interrupted and abandoned.
  Outcome replay(std::string_view text, const RunOptions& options) const {
    return detail::replay(erased_, text, options);
  }

 private:
  detail::ErasedProperty erased_;
};

}  // namespace softcheck::proptests
