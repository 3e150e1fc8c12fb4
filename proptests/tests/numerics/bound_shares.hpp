// One harness for bounds: simulated kernels on rows x contracts x lengths, each result against its bound. The largest
// share of each bound is printed; it must be at most 1, and reach what the test asks for.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numerics/enclosures/decision.hpp"
#include "numerics/rounding/flushed_output.hpp"
#include "numerics/rounding/rounding.hpp"
#include "proptests/tests/numerics/simulated_softmax.hpp"

namespace softcheck::numerics::simulated {

/// |got - exact|; got is finite.
inline Enclosure error_of(double got, const Enclosure& exact) { return abs(Enclosure(got) - exact); }

/// Does a bound hold for what a simulation computed? An infinite bound always does.
inline bool holds(const Enclosure& error, double bound) {
  return std::isinf(bound) || less_equal(error, Enclosure(bound)) == Decision::proved;
}

inline bool holds(double got, const Enclosure& exact, double bound) {
  if (std::isinf(bound)) return true;
  return std::isfinite(got) && holds(error_of(got, exact), bound);
}

/// Is it certain that the bound is exceeded?
inline bool exceeds(double got, const Enclosure& exact, double bound) {
  return !std::isfinite(got) || less_equal(error_of(got, exact), Enclosure(bound)) == Decision::violated;
}

/// The same of a result that is rightly infinite where the real, or one that the bound allows, rounds to infinity.
inline bool holds_or_overflows(Format output, double got, const Enclosure& exact, double bound) {
  if (std::isinf(bound)) return true;
  const bool beyond = less(abs(exact) + Enclosure(bound), Enclosure(infinity_from(output))) != Decision::proved;
  return holds(got, exact, bound) || (beyond && !std::isfinite(got));
}

/// Share of the bound that an error certainly uses.
inline double used(double got, const Enclosure& exact, double bound) {
  if (!(bound > 0) || std::isinf(bound) || !std::isfinite(got)) return 0;
  return std::max(0.0, (error_of(got, exact) / Enclosure(bound)).lower_double());
}

/// A contract under which a bound is tested, and the share of the bound that its kernels must exceed.
struct BoundSetting {
  Format input, output;
  const char* words;
  double least_share = 0;

  Contract contract() const { return parse_contract(words, input, output); }
};

inline Contract f32_contract(std::string_view words) { return parse_contract(words, Format::f32, Format::f32); }

inline UpperBound above(const Enclosure& x) { return UpperBound(std::max(x.upper_double(), 0.0)); }

/// 1 followed by terms a little above half of its last place, e^-D = 2^-precision (1 + beyond): every addition rounds
/// up by nearly as much as it can.
inline std::vector<double> half_ulp_row(std::size_t others, int precision, double beyond) {
  std::vector<double> logits(others + 1, static_cast<float>(-precision * std::log(2.0) + beyond));
  logits.front() = 0;
  return logits;
}

/// One item at 0 and others at -deviation.
inline std::vector<double> peak_over(std::size_t others, double deviation) {
  std::vector<double> logits(others + 1, static_cast<float>(-deviation));
  logits.front() = 0;
  return logits;
}

/// The largest share of each bound that simulated kernels used, and how often a wrong bound was exceeded.
class BoundShares {
 public:
  /// The result must be within its bound.
  void judge(std::string_view bound_name, double got, const Enclosure& exact, double bound) {
    raise(bound_name, used(got, exact, bound));
    EXPECT_TRUE(holds(got, exact, bound))
        << bound_name << ": got " << got << ", exact " << exact.to_string() << ", bound " << bound;
  }
  /// The same of an error that may be negative.
  void judge(std::string_view bound_name, const Enclosure& error, double bound) {
    raise(bound_name, share_of(error, bound));
    EXPECT_TRUE(holds(error, bound)) << bound_name << ": error " << error.to_string() << ", bound " << bound;
  }
  void judge_wrong(double got, const Enclosure& exact, double wrong) {
    exceeded_ += exceeds(got, exact, wrong) ? 1 : 0;
  }

  void raise(std::string_view bound_name, double share) {
    const auto found = std::ranges::find(shares_, bound_name, &std::pair<std::string_view, double>::first);
    if (found == shares_.end()) {
      shares_.emplace_back(bound_name, share);
    } else {
      found->second = std::max(found->second, share);
    }
  }

  double of(std::string_view bound_name) const {
    const auto found = std::ranges::find(shares_, bound_name, &std::pair<std::string_view, double>::first);
    return found == shares_.end() ? 0 : found->second;
  }
  double largest() const {
    double most = 0;
    for (const auto& [name, share] : shares_) most = std::max(most, share);
    return most;
  }
  std::size_t exceeded() const { return exceeded_; }

  void print(std::string_view what) const {
    std::cout << what << ": largest error/bound";
    for (const auto& [name, share] : shares_) std::cout << ' ' << name << ' ' << share;
    if (exceeded_ > 0) std::cout << ", wrong bounds exceeded " << exceeded_ << " times";
    std::cout << '\n';
  }
  void expect(std::string_view what, double least) const {
    print(what);
    EXPECT_LE(largest(), 1) << what;
    EXPECT_GT(largest(), least) << what;
  }

  static double share_of(const Enclosure& error, double bound) {
    return bound > 0 && std::isfinite(bound) ? std::max(0.0, (error / Enclosure(bound)).lower_double()) : 0;
  }

 private:
  std::vector<std::pair<std::string_view, double>> shares_;
  std::size_t exceeded_ = 0;
};

/// Kernels of each contract on rows of each length: check(contract, row, shares) judges those of one row.
template <class Settings, class RowsOf, class Check>
void expect_bounds(const Settings& settings, std::initializer_list<std::size_t> lengths, const RowsOf& rows_of,
                   const Check& check) {
  const PrecisionScope scope(113);
  for (const BoundSetting& setting : settings) {
    const Contract contract = setting.contract();
    BoundShares shares;
    for (const std::size_t n : lengths) {
      for (const auto& row : rows_of(setting.input, n)) {
        check(contract, row, shares);
        if (testing::Test::HasFailure()) FAIL() << setting.words << ", n = " << n;
      }
    }
    shares.expect(setting.words, setting.least_share);
  }
}

/// A kernel that keeps its contract uses more than a share of its bound.
inline void expect_reached(std::string_view what, double got, const Enclosure& exact, double bound, double least) {
  BoundShares shares;
  shares.judge(what, got, exact, bound);
  shares.expect("witness", least);
}

/// And it exceeds what is left of the bound without one of its terms.
inline void expect_needed(std::string_view what, double got, const Enclosure& exact, double right, double wrong,
                          double least = 0) {
  expect_reached(what, got, exact, right, least);
  EXPECT_TRUE(std::isfinite(right)) << what;
  EXPECT_LT(wrong, right) << what;
  EXPECT_TRUE(exceeds(got, exact, wrong)) << what << ": the planted bound holds";
}

/// Registers a test of a suite whose tests are the rows of a table.
///
/// theory/proofs/TRUST.md may name such a test: proptests/tests/proofs/trust.sh reads `rejected("NAME"` in the source.
inline void add_test(const char* suite, const char* name, std::function<void()> body) {
  class TableTest : public testing::Test {
   public:
    explicit TableTest(std::function<void()> body) : body_(std::move(body)) {}
    void TestBody() override { body_(); }

   private:
    std::function<void()> body_;
  };
  testing::RegisterTest(suite, name, nullptr, nullptr, __FILE__, __LINE__,
                        [body = std::move(body)]() -> testing::Test* { return new TableTest(body); });
}

}  // namespace softcheck::numerics::simulated
