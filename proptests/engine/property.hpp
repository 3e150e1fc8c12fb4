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

/// How many cases to draw and from which seed: the same options give the same cases on every machine.
struct RunOptions {
  std::uint64_t seed = 20241001;
  int cases = 100;
  int max_size = 100;  // RapidCheck's size of the last case; the first has size 0
  int shrinks = 600;   // evaluations at most that shrinking a failing case may take
  double seconds = std::numeric_limits<double>::infinity();  // no new case is begun after this time
  int most_cases = std::numeric_limits<int>::max();          // that are checked; of a longer list, see spread
  bool spread = true;  // chosen evenly from the whole list, its last one included; else the first of it
  /// CallDescription before each case and each shrink; true ends the run with what is known. A check may throw
  /// Interrupted, too.
  std::function<bool()> interrupted = {};
  /// CallDescription while a check works, too (numerics::InterruptionScope): true abandons the case. Empty: no check is
  /// abandoned.
  std::function<bool()> abandoned = {};
  std::function<void(int)> progress = {};  // told before each case how many have been
};

/// defaults, with what RC_PARAMS sets (seed, max_success, max_size) in their place.
/// throws   std::invalid_argument when RC_PARAMS does not parse
RunOptions options_from_environment(const RunOptions& defaults = {});

/// What was seen of one claim over all cases of a run, the shrinks of a failing case not counted.
struct ClaimSummary {
  std::size_t decided = 0;                                           // certificates proved or violated
  std::size_t undecided = 0;                                         // undecided or vacuous
  double tightest_slack = std::numeric_limits<double>::quiet_NaN();  // largest left / right; NaN where none has one
};

/// A failing case after shrinking.
struct Counterexample {
  std::string case_text;   // parses back: the argument of --replay
  std::size_t size = 0;    // logits, entries or nodes in it
  Certificates failed;     // the certificates that were not proved
  std::string error;       // what was thrown, where the check threw, or which unknown claim it returned
  int evaluations = 0;     // that shrinking took
  std::string first_text;  // the case as it was drawn
};

/// proved: every certificate of every case was. Otherwise the worst of the failing case (an exception or an unknown
/// claim counts as violated), vacuous where a listed claim was decided in no case at all, or undecided where the run
/// was interrupted.
struct Outcome {
  numerics::Verdict verdict = numerics::Verdict::undecided;
  int cases = 0;
  int wanted = 0;                              // cases that there would have been
  std::map<std::string, ClaimSummary> claims;  // by id, the listed ones that were never met included
  std::optional<Counterexample> counterexample;
  std::string note;  // why, where there is no counterexample to tell it
  double seconds = 0;
  bool interrupted = false;  // fewer cases, or fewer shrinks of the counterexample, than were asked for
};

/// A property: for every case that the generator draws, every certificate that check returns is proved.
///
/// Case needs, found by argument-dependent lookup: `std::string to_text(const Case&)` on one line,
/// `void from_text(std::string_view, Case&)` which throws std::invalid_argument, `std::size_t size_of(const Case&)` and
/// `void showValue(const Case&, std::ostream&)`. Shrinking follows the generator's own shrinks. Who makes one includes
/// <rapidcheck.h>.
template <class Case>
struct PropertyOf {
  std::string suite;                // "Lemma21"
  std::string sentence;             // "EveryCoefficientLiesWithinItsBounds"
  std::vector<std::string> claims;  // ids of the claims its check decides: "lemma_2_1.upper"
  rc::Gen<Case> generator;
  std::function<Certificates(const Case&)> check;
  /// Where there are any: these cases in this order, each as it is, and none drawn. Sorted by size, the first that
  /// fails is the smallest.
  std::vector<Case> listed{};
  /// Where it is set: whether the generator may draw or shrink to a case. A replay of any other is a wrong call, since
  /// the property says nothing about it.
  std::function<bool(const Case&)> admits{};
  /// Where it is set: a case that was not drawn, with the simpler ones that shrinking may try.
  std::function<rc::Shrinkable<Case>(const Case&)> shrinkable{};
  /// Where it is set: the simpler cases that a failure itself names, such as the one row of a thousand that is wrong.
  /// Shrinking tries them before all others.
  std::function<std::vector<Case>(const Case&, const Certificates&)> pointed_at{};
  /// Where it is set: makes the list of listed cases when the property is run, as it takes a while; throws Interrupted
  /// once it is asked to end.
  std::function<std::vector<Case>(const std::function<bool()>& stop_requested)> listed_later{};
};

/// A replay of a case that the property says nothing about.
class OutsideDomain : public std::invalid_argument {
 public:
  explicit OutsideDomain(const std::string& property)
      : std::invalid_argument(property + ": need a case that this property may draw, got one outside its domain") {}
};

namespace detail {

/// One drawn or shrunk case without its type.
class CaseNode {
 public:
  virtual ~CaseNode() = default;
  virtual std::string text() const = 0;
  virtual std::size_t size() const = 0;
  virtual Certificates check() const = 0;
  /// The next simpler case to try; null when there are no more.
  virtual std::unique_ptr<CaseNode> next_shrink() = 0;
  /// The simpler cases that these certificates of the case name.
  virtual std::vector<std::unique_ptr<CaseNode>> pointed_at(const Certificates& certificates) const = 0;
};

/// A property without its case type: all that running and shrinking need.
struct ErasedProperty {
  std::string suite;
  std::string sentence;
  std::vector<std::string> claims;
  std::function<std::unique_ptr<CaseNode>(const rc::Random&, int size)> draw;
  std::function<std::unique_ptr<CaseNode>(std::string_view text)> parse;
  std::size_t listed = 0;
  /// Makes the list and counts it, or throws Interrupted; empty: it is there.
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
  // Not before one is asked for: to make them took a fifth of the time of a judgement that finds nothing.
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

  /// How many cases run() will check.
  int cases(const RunOptions& options) const {
    return erased_.listed > 0 ? static_cast<int>(erased_.listed) : options.cases;
  }
  /// Draws cases (or takes those listed) until one fails, and shrinks it. A shrink is taken when it fails in the same
  /// way: the same claim with the same verdict, or an exception out of the same function.
  Outcome run(const RunOptions& options) const { return detail::run(erased_, options); }
  /// Goes on with a run that was interrupted: with the next case, or with shrinking its counterexample.
  ///
  /// earlier   of run() or resume(), with the same options but for what ends it
  Outcome resume(const RunOptions& options, Outcome earlier) const {
    return detail::resume(erased_, options, std::move(earlier));
  }
  /// The outcome of an interrupted run as if its cases were all there are.
  void conclude(Outcome& outcome) const { detail::conclude(erased_, outcome); }
  /// Calls each with the text of every case that run() would check, in their order; checks none.
  void each_case(const RunOptions& options, const std::function<void(const std::string&)>& each) const {
    detail::each_case(erased_, options, each);
  }
  /// Checks the one case that text describes.
  ///
  /// shrinks   evaluations at most that shrinking it may take where it fails; 0: it is told as it is
  /// throws    std::invalid_argument when it does not parse, OutsideDomain when the property says nothing about it
  Outcome replay(std::string_view text, int shrinks = 0) const {
    RunOptions options;
    options.shrinks = shrinks;
    return detail::replay(erased_, text, options);
  }
  /// The same, of whose options shrinks, interrupted and abandoned are read.
  Outcome replay(std::string_view text, const RunOptions& options) const {
    return detail::replay(erased_, text, options);
  }

 private:
  detail::ErasedProperty erased_;
};

}  // namespace softcheck::proptests
