#include "numerics/enclosures/enclosure.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "proptests/tests/numerics/fp_control.hpp"

namespace softcheck::numerics {
namespace {

template <class T>
concept HasRelations = requires(const T& a, const T& b) {
  a < b;
}
|| requires(const T& a, const T& b) { a <= b; }
|| requires(const T& a, const T& b) { a > b; }
|| requires(const T& a, const T& b) { a >= b; }
|| requires(const T& a, const T& b) { a == b; }
|| requires(const T& a, const T& b) { a != b; };
static_assert(HasRelations<double>);
static_assert(!HasRelations<Enclosure>);
static_assert(!std::is_convertible_v<double, Enclosure>, "0.1 must not become an enclosure unnoticed");
static_assert(std::is_nothrow_move_constructible_v<Enclosure>);

TEST(Enclosure, KnownConstantsLieInside) {
  // 120 digits of pi, e and ln 2 (OEIS A000796, A001113, A002162), cut off: the true value lies in the last digit.
  const struct {
    const char* low;
    const char* high;
    Enclosure (*evaluate)();
  } known[] = {
      {"3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117067",
       "3.141592653589793238462643383279502884197169399375105820974944592307816406286208998628034825342117068",
       [] { return Enclosure::pi(); }},
      {"2.718281828459045235360287471352662497757247093699959574966967627724076630353547594571382178525166427",
       "2.718281828459045235360287471352662497757247093699959574966967627724076630353547594571382178525166428",
       [] { return exp(Enclosure(1)); }},
      {"0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418687",
       "0.693147180559945309417232121458176568075500134360255254120680009493393621969694715605863326996418688",
       [] { return log(Enclosure(2)); }},
  };
  for (const auto& constant : known) {
    const PrecisionScope reference(1024);
    const Enclosure truth = hull(Enclosure::decimal(constant.low), Enclosure::decimal(constant.high));
    for (const unsigned bits : {53u, 64u, 113u, 256u}) {
      const PrecisionScope scope(bits);
      const Enclosure got = constant.evaluate();
      EXPECT_TRUE(got.contains(truth)) << got;
      EXPECT_LE(got.width(), std::ldexp(4.0, -static_cast<int>(bits) + 1)) << bits;
    }
  }
}

TEST(Enclosure, RationalsLieInside) {
  std::mt19937_64 engine(20241001);
  std::uniform_int_distribution<int> integer(-1000000, 1000000);
  for (int i = 0; i < 2000; ++i) {
    const int a = integer(engine), b = integer(engine), c = integer(engine) | 1;
    const PrecisionScope scope(64);
    const Enclosure quotient = Enclosure(a) / Enclosure(c);
    // c (a / c) = a and (a / c + b) c - b c = a exactly.
    EXPECT_TRUE((quotient * c).contains(static_cast<double>(a)));
    EXPECT_TRUE(((quotient + b) * c - Enclosure(b) * c).contains(static_cast<double>(a)));
    EXPECT_EQ(quotient.is_point(), a % c == 0 || (Enclosure(a) / c).is_point());
  }
  EXPECT_TRUE((Enclosure(1) / 3 * 3).contains(1.0));
  EXPECT_FALSE((Enclosure(1) / 3).contains(1.0 / 3));  // 64 bits tell a third from the nearest double
}

// One random expression, the same at every precision: the engine's copy replays its draws.
Enclosure expression(std::mt19937_64& engine, int depth) {
  const std::uint64_t draw = engine();
  if (depth == 0) {
    return draw % 2 ? Enclosure(static_cast<double>(static_cast<std::int64_t>(engine())) * 0x1p-61)
                    : Enclosure(static_cast<int>(engine() % 9)) / 7;
  }
  const Enclosure a = expression(engine, depth - 1);
  const Enclosure b = expression(engine, depth - 1);
  switch (draw % 16) {
    case 0:
      return a + b;
    case 1:
      return a - b;
    case 2:
      return a * b;
    case 3:
      return a / (square(b) + 1);
    case 4:
      return exp(-abs(a));
    case 5:
      return expm1(tanh(a));
    case 6:
      return log(square(a) + 1);
    case 7:
      return log1p(abs(b));
    case 8:
      return sqrt(abs(a));
    case 9:
      return maximum(a, b);
    case 10:
      return minimum(a, b);
    case 11:
      return pow(tanh(a), 5);
    case 12:
      return a * b - b;
    case 13:
      return -a;
    case 14:
      return square(tanh(a)) - b;
    default:
      return tanh(a) * b;
  }
}

TEST(Enclosure, LowPrecisionContainsWhatHighPrecisionFinds) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const auto at = [&](unsigned bits) {
      const PrecisionScope scope(bits);
      std::mt19937_64 engine(seed);
      return expression(engine, 5);
    };
    const Enclosure truth = at(1024);
    ASSERT_FALSE(truth.is_nan());
    for (const unsigned bits : {53u, 64u, 113u, 256u, 512u}) {
      // Far narrower than what is judged: that 1024 bits lie inside is what correctness means here.
      ASSERT_TRUE(at(bits).contains(truth)) << "seed " << seed << " at " << bits << " bits";
    }
  }
}

TEST(Enclosure, EndpointsRoundOutwardToDoubles) {
  const Enclosure third = Enclosure(1) / 3;
  EXPECT_EQ(std::nextafter(third.lower_double(), 1), third.upper_double());
  EXPECT_LT(third.lower_double() * 3.0L, 1.0L);
  EXPECT_GT(third.upper_double() * 3.0L, 1.0L);
  EXPECT_EQ((-third).upper_double(), -third.lower_double());
  const Enclosure tiny = Enclosure::power_of_two(-2000), huge = Enclosure::power_of_two(2000);
  EXPECT_EQ(tiny.lower_double(), 0);
  EXPECT_EQ(tiny.upper_double(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(huge.lower_double(), std::numeric_limits<double>::max());
  EXPECT_EQ(huge.upper_double(), HUGE_VAL);
  EXPECT_EQ(Enclosure(0.1).lower_double(), 0.1);
  EXPECT_EQ(Enclosure(0.1).upper_double(), 0.1);
  EXPECT_GE(third.width(), third.upper_double() * 0x1p-114);
}

TEST(Enclosure, EveryKindOfDoubleIsAPoint) {
  std::mt19937_64 engine(20241001);
  for (int i = 0; i < 20000; ++i) {
    std::uint64_t bits = engine();
    if (i % 4 == 0) bits &= 0x800fffffffffffffu;  // subnormal
    const double value = std::bit_cast<double>(bits);
    if (!std::isfinite(value)) {
      EXPECT_THROW(Enclosure{value}, std::invalid_argument);
      continue;
    }
    const PrecisionScope scope(53);
    const Enclosure point(value);
    ASSERT_TRUE(point.is_point());
    ASSERT_EQ(point.lower_double(), value);
    ASSERT_EQ(point.upper_double(), value);
  }
}

TEST(Enclosure, DecimalsAreEnclosedTightly) {
  const Enclosure coefficient = Enclosure::decimal("0.481");
  EXPECT_TRUE((coefficient * 1000).contains(481.0));
  EXPECT_FALSE(coefficient.contains(0.481));  // the double beside it
  EXPECT_TRUE((Enclosure::decimal("1e-9") * 1000000000).contains(1.0));
  EXPECT_TRUE(Enclosure::decimal("-2.25").is_point());
  for (const char* bad : {"", "x", "1.5y", "inf", "nan", "1 2"}) {
    EXPECT_THROW(Enclosure::decimal(bad), std::invalid_argument) << bad;
  }
}

TEST(Enclosure, IntegersAreExactWhereTheyFit) {
  EXPECT_TRUE(Enclosure::integer(~std::uint64_t{0}).is_point());
  const PrecisionScope scope(53);
  const Enclosure rounded = Enclosure::integer(~std::uint64_t{0});
  EXPECT_FALSE(rounded.is_point());
  EXPECT_TRUE(rounded.contains(0x1p64));
}

TEST(Enclosure, NotANumberSpreadsAndIsCertainlyNothing) {
  const Enclosure bad = log(Enclosure(-1));
  ASSERT_TRUE(bad.is_nan());
  for (const Enclosure& value : {bad, bad + 1, bad * 0, maximum(bad, Enclosure(1)), maximum(Enclosure(1), bad),
                                 minimum(bad, Enclosure(1)), -bad, exp(bad), hull(bad, Enclosure(1)), abs(bad)}) {
    EXPECT_TRUE(value.is_nan());
    EXPECT_FALSE(value.is_point());
    EXPECT_FALSE(value.contains(0.0));
    EXPECT_FALSE(value.certainly_nonnegative() || value.certainly_nonpositive());
  }
  EXPECT_TRUE(log(Enclosure::between(-1, 2)).is_nan());
  EXPECT_TRUE(sqrt(Enclosure(-1)).is_nan());
}

TEST(Enclosure, DivisionByWhatMayBeZeroSaysNothingFalse) {
  const Enclosure around = Enclosure(1) / Enclosure::between(-1, 1);
  EXPECT_FALSE(around.is_nan());
  for (const double value : {-1e300, -1.0, 0.0, 1.0, 1e300}) EXPECT_TRUE(around.contains(value));
  const Enclosure half_line = Enclosure(1) / Enclosure::between(0, 2);
  for (const double value : {0.5, 1.0, 1e300}) EXPECT_TRUE(half_line.contains(value));
}

TEST(Enclosure, SetOperationsMeanWhatTheySay) {
  const Enclosure a = Enclosure::between(1, 3), b = Enclosure::between(2, 5);
  EXPECT_TRUE(a.overlaps(b));
  EXPECT_EQ(intersection(a, b).lower_double(), 2);
  EXPECT_EQ(intersection(a, b).upper_double(), 3);
  EXPECT_EQ(hull(a, b).upper_double(), 5);
  EXPECT_EQ(maximum(a, b).lower_double(), 2);
  EXPECT_EQ(minimum(a, b).upper_double(), 3);
  EXPECT_THROW(intersection(a, Enclosure(4)), std::logic_error);
  EXPECT_THROW(Enclosure::between(2, 1), std::invalid_argument);
  EXPECT_TRUE(abs(Enclosure::between(-2, 1)).contains(0.0));
  EXPECT_TRUE(square(Enclosure::between(-2, 1)).certainly_nonnegative());
  EXPECT_FALSE((a * 0 - a * 0).certainly_positive());
}

TEST(Enclosure, EndsMayBeInfinite) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (const double lower : {-infinite, -3.0, 3.0}) {
    for (const double upper : {-2.0, 4.0, infinite}) {
      if (lower > upper) continue;
      const Enclosure between = Enclosure::between(lower, upper);
      EXPECT_EQ(between.lower_double(), lower);
      EXPECT_EQ(between.upper_double(), upper);
    }
  }
  const Enclosure line = Enclosure(1) + Enclosure::between(-infinite, infinite);
  EXPECT_TRUE(line.contains(1e300) && line.contains(-1e300));
  EXPECT_THROW((void)Enclosure::between(1, -infinite), std::invalid_argument);
  EXPECT_THROW((void)Enclosure::between(std::nan(""), infinite), std::invalid_argument);
}

TEST(Enclosure, CopiesAndMovedFromValuesAreUsable) {
  Enclosure first(7);
  Enclosure second = std::move(first);
  first = Enclosure(5);  // NOLINT(bugprone-use-after-move): that this is allowed is the point
  EXPECT_TRUE(first.contains(5.0));
  Enclosure third = std::move(second);
  const Enclosure source(9);
  second = source;  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(second.contains(9.0));
  EXPECT_TRUE(third.contains(7.0));
  third = *&third;
  EXPECT_TRUE(third.contains(7.0));
  std::vector<Enclosure> many(3, Enclosure(1));
  many.erase(many.begin());
  many.resize(10, third);
  EXPECT_TRUE(many.back().contains(7.0));
}

TEST(Enclosure, PrecisionBelongsToTheThreadAndTheScope) {
  EXPECT_EQ(working_precision(), 113u);
  const PrecisionScope outer(256);
  {
    const PrecisionScope inner(64);
    EXPECT_EQ((Enclosure(1) / 3).precision(), 64u);
  }
  EXPECT_EQ((Enclosure(1) / 3).precision(), 256u);
  const Enclosure wide = Enclosure(1) / 3;
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&wrong, &wide, t] {
      for (int i = 0; i < 2000; ++i) {
        const unsigned bits = 64 + 32 * t;
        const PrecisionScope scope(bits);
        const Enclosure value = exp(Enclosure(1) / 3);
        if (value.precision() != bits || !value.overlaps(exp(wide))) ++wrong[t];
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_EQ(wide.precision(), 256u);
  EXPECT_THROW(const PrecisionScope scope(52), std::invalid_argument);
  EXPECT_THROW(const PrecisionScope scope(65537), std::invalid_argument);
}

TEST(Enclosure, SubnormalNumbersComeInWholeUnderDenormalsAreZero) {
  if (!has_fp_control) GTEST_SKIP() << "the register that controls this processor's rounding is not known";
  const double subnormal = 0x0.8p-1022;
  const std::uint64_t saved = fp_control();
  set_fp_control(power_on | fast_math_bits);
  const Enclosure point(subnormal);
  const Enclosure interval = Enclosure::between(-subnormal, subnormal);
  const bool contains = point.contains(subnormal);
  const auto low = std::bit_cast<std::uint64_t>(point.lower_double());
  mpfr_t unguarded;
  mpfr_init2(unguarded, 53);
  mpfr_set_d(unguarded, subnormal, MPFR_RNDN);
  const bool corrupted = mpfr_zero_p(unguarded) != 0;
  set_fp_control(saved);
  mpfr_clear(unguarded);
  EXPECT_TRUE(corrupted) << "this processor did not flush: nothing was tested";
  EXPECT_TRUE(contains);
  EXPECT_EQ(low, std::bit_cast<std::uint64_t>(subnormal));
  EXPECT_EQ(interval.upper_double(), subnormal);
}

// What an enclosure is made of is used again: here it comes from another thread, from one that has ended, and from
// enclosures of another precision.
TEST(Enclosure, ValuesSurviveWhateverMadeAndEndedTheOnesBefore) {
  std::vector<Enclosure> from_thread;
  std::thread([&from_thread] {
    for (int i = 0; i < 200; ++i) from_thread.push_back(Enclosure(i) + Enclosure(0.5));
  }).join();
  std::vector<Enclosure> here;
  for (int i = 0; i < 200; ++i) here.push_back(from_thread[static_cast<std::size_t>(i)] - Enclosure(0.5));
  std::thread([from_thread = std::move(from_thread)]() mutable { from_thread.clear(); }).join();
  {
    const PrecisionScope precision(300);
    for (Enclosure& number : here) number = number + Enclosure::power_of_two(-250);
  }
  std::vector<Enclosure> after;
  for (int i = 0; i < 200; ++i) after.push_back(here[static_cast<std::size_t>(i)] * Enclosure(2));
  for (int i = 0; i < 200; ++i) {
    const Enclosure& number = here[static_cast<std::size_t>(i)];
    EXPECT_EQ(number.precision(), 300U);
    EXPECT_TRUE(number.is_point());
    EXPECT_FALSE(number.contains(i));
    EXPECT_EQ(std::round(number.midpoint()), i);
    EXPECT_EQ(after[static_cast<std::size_t>(i)].precision(), working_precision());
    EXPECT_TRUE((after[static_cast<std::size_t>(i)] - Enclosure(2 * i)).upper_double() < 0x1p-100);
  }
}

TEST(Enclosure, TextRoundsOutward) {
  EXPECT_EQ((Enclosure(1) / 3).to_string(3), "[0.333, 0.334]");
  EXPECT_EQ((Enclosure(-1) / 3).to_string(3), "[-0.334, -0.333]");
  EXPECT_EQ(log(Enclosure(-1)).to_string(), "[nan]");
}

}  // namespace
}  // namespace softcheck::numerics
