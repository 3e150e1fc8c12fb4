#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <stdexcept>

#include "proptests/engine/property.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Certificate;
using numerics::Verdict;

Certificate certificate(std::string claim, Verdict verdict, double slack = 0.5) {
  Certificate result;
  result.claim = std::move(claim);
  result.verdict = verdict;
  result.slack = slack;
  return result;
}

/// A property over all rows whose single claim holds where holds(row) does.
PropertyOf<RowCase> rows_where(const std::function<bool(const RowCase&)>& holds,
                               Verdict otherwise = Verdict::violated) {
  return {"Toy", "Holds", {"toy.claim"}, row_cases(), [=](const RowCase& row_case) {
            return Certificates{certificate("toy.claim", holds(row_case) ? Verdict::proved : otherwise)};
          }};
}
Property toy(const std::function<bool(const RowCase&)>& holds, Verdict otherwise = Verdict::violated) {
  return rows_where(holds, otherwise);
}
bool is_short(const RowCase& row_case) { return row_case.row.size() < 3; }

Counterexample found(const Property& property, const RunOptions& options = {}) {
  const Outcome outcome = property.run(options);
  EXPECT_TRUE(outcome.counterexample.has_value());
  const Counterexample result = outcome.counterexample.value_or(Counterexample{});
  std::cout << "case " << outcome.cases << ", " << result.evaluations << " evaluations: " << result.case_text << "\n";
  return result;
}

TEST(PropertyRunner, ATrueToyPropertyHoldsInEveryCase) {
  const Outcome outcome = toy([](const RowCase& row_case) { return row_case.row.size() >= 1; }).run({});
  EXPECT_EQ(outcome.verdict, Verdict::proved);
  EXPECT_EQ(outcome.cases, 100);
  EXPECT_EQ(outcome.claims.at("toy.claim").decided, 100U);
  EXPECT_EQ(outcome.claims.at("toy.claim").tightest_slack, 0.5);
  EXPECT_FALSE(outcome.counterexample);
}

// A property of rows of at least three items.
PropertyOf<RowCase> of_three_items() {
  return {"Toy", "NeedsThree", {"toy.claim"}, row_cases(), [](const RowCase& row_case) {
            if (row_case.theta != 1) throw std::invalid_argument("toy: need theta = 1");
            return Certificates{certificate("toy.claim", Verdict::proved)};
          }};
}

TEST(PropertyRunner, AReplayOutsideTheDomainIsAWrongCallAndNoViolatedTheorem) {
  PropertyOf<RowCase> property = of_three_items();
  EXPECT_EQ(Property(property).replay("row f32 theta=0x1p+0 0x0p+0").verdict, Verdict::proved);
  property.admits = [](const RowCase& row_case) { return row_case.row.size() >= 3; };
  EXPECT_THROW(Property(property).replay("row f32 theta=0x1p+0 0x0p+0"), OutsideDomain);
  EXPECT_EQ(Property(property).replay("row f32 theta=0x1p+0 0x0p+0*3").verdict, Verdict::proved);
  // What the check itself cannot be asked of, too; where it was drawn, it is a failure as before.
  EXPECT_THROW(Property(property).replay("row f32 theta=0x1p+1 0x0p+0*3"), OutsideDomain);
  EXPECT_EQ(Property(property).run({}).verdict, Verdict::violated);
}

TEST(PropertyRunner, ShrinkingBeginsWithTheCaseThatTheFailureNames) {
  PropertyOf<RowCase> property = rows_where([](const RowCase& row_case) { return row_case.row.size() == 7; });
  property.pointed_at = [&](const RowCase&, const Certificates& failed) {
    EXPECT_EQ(failed.size(), 1U);
    std::vector<RowCase> named;
    for (const std::uint64_t n : {7, 2}) named.push_back({RunLengthRow({{1, n}}), 1, {}, ""});
    return named;
  };
  RunOptions options;
  options.shrinks = 2;  // what is named, and nothing else
  const Counterexample counterexample = found(Property(property), options);
  EXPECT_EQ(counterexample.size, 2U);  // the one of seven items holds
  EXPECT_EQ(counterexample.evaluations, 2);
}

TEST(PropertyRunner, AReplayShrinksWhereItIsAskedTo) {
  PropertyOf<RowCase> property = rows_where(is_short);
  property.shrinkable = [](const RowCase& row_case) {
    return rc::shrinkable::shrinkRecur(row_case, [](const RowCase& from) { return shrink_row_case(from, {}); });
  };
  const std::string text = "row f32 theta=0x1p+0 0x1p+0*50";
  EXPECT_EQ(Property(property).replay(text).counterexample->size, 50U);
  EXPECT_EQ(Property(property).replay(text, 600).counterexample->size, 3U);
}

TEST(PropertyRunner, ListedCasesAreTakenInOrderAsTheyAre) {
  PropertyOf<RowCase> property = rows_where(is_short);
  for (const std::uint64_t n : {1, 2, 5, 4}) property.listed.push_back({RunLengthRow({{1, n}}), 1, {}, ""});
  const Outcome outcome = Property(property).run({});
  EXPECT_EQ(outcome.cases, 3);
  ASSERT_TRUE(outcome.counterexample);
  EXPECT_EQ(outcome.counterexample->size, 5U);
  EXPECT_EQ(outcome.counterexample->evaluations, 0);
  property.listed.resize(2);
  EXPECT_EQ(Property(property).run({}).verdict, Verdict::proved);
}

TEST(PropertyRunner, AFalseToyPropertyIsRejectedWithItsSmallestWitness) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    RunOptions options;
    options.seed = seed;
    // Two items and the simplest spread above 3 = 1.1b * 2: 4 or -4.
    const Counterexample spread =
        found(toy([](const RowCase& row_case) { return row_case.row.spread() <= 3; }), options);
    EXPECT_EQ(spread.size, 2U) << "seed " << seed;
    EXPECT_LT(spread.evaluations, options.shrinks);
    // A count is found by bisection.
    options.cases = 1000;
    const Counterexample length =
        found(toy([](const RowCase& row_case) { return row_case.row.size() < 100000; }), options);
    EXPECT_EQ(length.size, 100000U) << "seed " << seed;
    EXPECT_EQ(length.case_text.substr(length.case_text.find("theta")), "theta=0x1p+0 0x0p+0*100000");
    EXPECT_LT(length.evaluations, options.shrinks);
    // Five different values need five runs.
    const Counterexample levels =
        found(toy([](const RowCase& row_case) { return row_case.row.runs().size() < 5; }), options);
    EXPECT_EQ(levels.size, 5U) << "seed " << seed;
    EXPECT_LT(levels.evaluations, options.shrinks);
  }
}

TEST(PropertyRunner, ShrinkingStopsAtItsCap) {
  RunOptions options;
  options.shrinks = 5;
  int evaluations = 0;
  const Property property = toy([&](const RowCase& row_case) {
    ++evaluations;
    return row_case.row.spread() <= 3;
  });
  const Outcome outcome = property.run(options);
  ASSERT_TRUE(outcome.counterexample);
  EXPECT_EQ(outcome.counterexample->evaluations, 5);
  EXPECT_EQ(evaluations, outcome.cases + 5);
}

TEST(PropertyRunner, TheSameSeedGivesTheSameCasesAndAnotherSeedOthers) {
  const auto texts = [](std::uint64_t seed) {
    std::string all;
    RunOptions options;
    options.seed = seed;
    toy([&](const RowCase& row_case) {
      all += to_text(row_case) + "\n";
      return true;
    }).run(options);
    return all;
  };
  EXPECT_EQ(texts(7), texts(7));
  EXPECT_NE(texts(7), texts(8));
}

TEST(PropertyRunner, UndecidedAndVacuousAreFailuresUnderTheirOwnNames) {
  EXPECT_EQ(toy(is_short, Verdict::undecided).run({}).verdict, Verdict::undecided);
  EXPECT_EQ(toy(is_short, Verdict::vacuous).run({}).verdict, Verdict::vacuous);
  EXPECT_EQ(found(toy(is_short, Verdict::undecided)).size, 3U);
}

TEST(PropertyRunner, AThrownExceptionIsAFailureWithItsText) {
  const Property property(PropertyOf<RowCase>{"Toy", "Throws", {"toy.claim"}, row_cases(), [](const RowCase& row_case) {
                                                if (row_case.row.size() > 3) throw std::logic_error("toy: four items");
                                                return Certificates{certificate("toy.claim", Verdict::proved)};
                                              }});
  const Outcome outcome = property.run({});
  EXPECT_EQ(outcome.verdict, Verdict::violated);
  ASSERT_TRUE(outcome.counterexample);
  EXPECT_EQ(outcome.counterexample->error, "toy: four items");
  EXPECT_EQ(outcome.counterexample->size, 4U);
}

TEST(PropertyRunner, AShrinkThatFailsInAnotherWayIsNotTaken) {
  const Property property(PropertyOf<RowCase>{
      "Toy", "FailsTwice", {"toy.claim"}, row_cases(), [](const RowCase& row_case) {
        if (row_case.row.size() == 2) throw std::invalid_argument("other: two items are too few");
        return Certificates{certificate("toy.claim", row_case.row.size() > 4 ? Verdict::violated : Verdict::proved)};
      }});
  RunOptions options;
  for (options.seed = 1; options.seed <= 20; ++options.seed) {
    const Outcome outcome = property.run(options);
    ASSERT_TRUE(outcome.counterexample);
    if (outcome.counterexample->error.empty()) {
      EXPECT_EQ(outcome.counterexample->size, 5U);
    } else {
      EXPECT_EQ(outcome.counterexample->size, 2U);
    }
  }
}

TEST(PropertyRunner, AReplayedFailureIsShrunkToNoOtherFailure) {
  PropertyOf<RowCase> property{"Toy", "FailsTwice", {"toy.claim"}, row_cases(), [](const RowCase& row_case) {
                                 if (row_case.row.size() < 5) throw std::invalid_argument("other: too few items");
                                 return Certificates{certificate("toy.claim", Verdict::violated)};
                               }};
  property.shrinkable = [](const RowCase& row_case) {
    return rc::shrinkable::shrinkRecur(row_case, [](const RowCase& from) { return shrink_row_case(from, {}); });
  };
  const std::string text = "row f32 theta=0x1p+0 0x1p+0*50";
  Counterexample smallest = Property(property).replay(text, 600).counterexample.value();
  EXPECT_EQ(smallest.error, "");
  EXPECT_EQ(smallest.size, 5U);
  // Nor is the case that a failure names taken where it fails otherwise.
  property.pointed_at = [](const RowCase&, const Certificates&) {
    return std::vector<RowCase>{{RunLengthRow({{1, 2}}), 1, {}, ""}};
  };
  smallest = Property(property).replay(text, 600).counterexample.value();
  EXPECT_EQ(smallest.error, "");
  EXPECT_EQ(smallest.size, 5U);
}

TEST(PropertyRunner, AClaimOutsideTheListIsAnError) {
  const Property property(PropertyOf<RowCase>{"Toy", "Strays", {"toy.claim"}, row_cases(), [](const RowCase&) {
                                                return Certificates{certificate("toy.other", Verdict::proved)};
                                              }});
  const Outcome outcome = property.run({});
  EXPECT_EQ(outcome.verdict, Verdict::violated);
  ASSERT_TRUE(outcome.counterexample);
  EXPECT_NE(outcome.counterexample->error.find("toy.other"), std::string::npos);
}

TEST(PropertyRunner, AListedClaimThatNoCaseDecidesMakesThePropertyVacuous) {
  const Property property(
      PropertyOf<RowCase>{"Toy", "Forgets", {"toy.claim", "toy.forgotten"}, row_cases(), [](const RowCase&) {
                            return Certificates{certificate("toy.claim", Verdict::proved)};
                          }});
  const Outcome outcome = property.run({});
  EXPECT_EQ(outcome.verdict, Verdict::vacuous);
  EXPECT_NE(outcome.note.find("toy.forgotten"), std::string::npos);
  EXPECT_EQ(outcome.claims.at("toy.forgotten").decided, 0U);
  EXPECT_TRUE(std::isnan(outcome.claims.at("toy.forgotten").tightest_slack));
}

TEST(PropertyRunner, AReplayChecksTheOneCaseOfItsText) {
  const Property property = toy([](const RowCase& row_case) { return row_case.row.spread() <= 3; });
  EXPECT_EQ(property.replay("row f32 theta=0x1p+0 0x1p+0*5 0x0p+0").verdict, Verdict::proved);
  const Outcome outcome = property.replay("row f32 theta=0x1p+0 0x1p+2 0x0p+0");
  EXPECT_EQ(outcome.verdict, Verdict::violated);
  ASSERT_TRUE(outcome.counterexample);
  EXPECT_EQ(outcome.counterexample->case_text, "row f32 theta=0x1p+0 0x1p+2 0x0p+0");
  EXPECT_THROW(property.replay("row f32 theta=0x1p+0 three"), std::invalid_argument);
}

TEST(PropertyRunner, NoCaseIsBegunBehindTheTimeLimit) {
  RunOptions options;
  options.seconds = 0;
  EXPECT_EQ(toy([](const RowCase&) { return true; }).run(options).cases, 1);
  options.cases = 0;
  EXPECT_THROW(toy([](const RowCase&) { return true; }).run(options), std::invalid_argument);
}

/// Sets an environment variable for as long as it lives.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value, 1);
  }
  ~ScopedVariable() { old_ ? ::setenv(name_, old_->c_str(), 1) : ::unsetenv(name_); }
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

TEST(PropertyRunner, RcParamsSetWhatTheyNameAndLeaveTheRest) {
  RunOptions defaults;
  defaults.cases = 7;
  {
    const ScopedVariable parameters("RC_PARAMS", "seed=42 max_size=13");
    const RunOptions options = options_from_environment(defaults);
    EXPECT_EQ(options.seed, 42U);
    EXPECT_EQ(options.max_size, 13);
    EXPECT_EQ(options.cases, 7);
  }
  {
    const ScopedVariable parameters("RC_PARAMS", "max_success=1000");
    const RunOptions options = options_from_environment(defaults);
    EXPECT_EQ(options.cases, 1000);
    EXPECT_EQ(options.seed, defaults.seed);
  }
  const ScopedVariable parameters("RC_PARAMS", "max_success=many");
  EXPECT_THROW(options_from_environment(defaults), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
