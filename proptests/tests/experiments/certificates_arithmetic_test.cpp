// What the certificates compute with: exp, gelu and its slope, and products of balls, against MPFI; and for each a
// wrong version that the same check rejects.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <optional>

#include "certificates_oracle.hpp"
#include "experiments/certificates/gelu.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/matrices/ball_matrix.hpp"

namespace softcheck::experiments {
namespace {

using Eigen::MatrixXd;
using numerics::Decision;
using numerics::Enclosure;
using numerics::PrecisionScope;

double between(RandomWords& words, double low, double high) { return low + (high - low) * uniform(words); }

Enclosure slope_at(const Enclosure& x) {
  // gelu' = (1 + t)/2 + x/2 (1 - t^2) s (1 + 3 c x^2), 1 - t^2 = 4 e / (1 + e)^2 with e = exp(-2 |u|)
  const Enclosure s = sqrt(Enclosure(2) / Enclosure::pi()), c = Enclosure::decimal("0.044715");
  const Enclosure u = s * (x + c * pow(x, 3));
  const Enclosure e = exp(-Enclosure(2) * abs(u));
  const Enclosure one(1), two(2);
  return (one + tanh(u)) / two + two * x * e / square(one + e) * s * (one + Enclosure(3) * c * square(x));
}

// Points where something begins or ends, and random ones of all sizes.
std::vector<double> arguments() {
  std::vector<double> result{0,
                             -0.0,
                             0x1p-1074,
                             -0x1p-1022,
                             0x1p-500,
                             1e-20,
                             0.044715,
                             turn_begin,
                             turn_end,
                             -1.4185040087908284,
                             1.4185040087908284,
                             5.5,
                             31.999999999999996,
                             32,
                             -32,
                             32.000000000000007,
                             100,
                             -1e10,
                             1e100,
                             -1e150};
  RandomWords words(1);
  for (int i = 0; i < 2000; ++i) result.push_back(between(words, -8, 8));
  for (int i = 0; i < 500; ++i)
    result.push_back(std::ldexp(between(words, -1, 1), static_cast<int>(words() % 60) - 50));
  return result;
}

using Pointwise = std::function<Ball(double)>;
using Exact = std::function<Enclosure(const Enclosure&)>;

// The first argument whose ball misses the exact value.
std::optional<double> first_miss(const Pointwise& computed, const Exact& exact) {
  const PrecisionScope scope(256);
  for (const double x : arguments()) {
    const Ball ball = computed(x);
    const Enclosure off = abs(exact(Enclosure(x)) - Enclosure(ball.middle));
    if (!(Enclosure(ball.radius) - off).certainly_nonnegative()) return x;
  }
  return std::nullopt;
}

TEST(CertifiedArithmetic, ExpMinusIsWithinItsBound) {
  const PrecisionScope scope(256);
  RandomWords words(2);
  std::vector<double> places{0, 0x1p-1074, 0x1p-60, 0.34657359027997264, 0.34657359027997270, 0.6931471805599453, 700};
  for (int i = 0; i < 3000; ++i) places.push_back(between(words, 0, i % 2 == 0 ? 2 : 700));
  double worst = 0;
  for (const double t : places) {
    const Enclosure exact = exp(-Enclosure(t));
    const double error = (abs(Enclosure(exp_minus(t)) - exact) / exact).upper_double();
    ASSERT_LE(error, 0x1p-46) << t;
    worst = std::max(worst, error);
  }
  EXPECT_LT(worst, 0x1p-51) << "the bound of 2^-46 has room for the proof, not for the values";
}

TEST(CertifiedArithmetic, GeluAndItsSlopeAreEnclosed) {
  EXPECT_EQ(first_miss([](double x) { return gelu(x); }, [](const Enclosure& x) { return gelu(x); }), std::nullopt);
  EXPECT_EQ(first_miss([](double x) { return gelu(x); }, [](const Enclosure& x) { return real_gelu(x); }),
            std::nullopt);
  EXPECT_EQ(first_miss([](double x) { return gelu_slope(x); }, slope_at), std::nullopt);
  for (const double x : arguments()) {
    EXPECT_LE(gelu(x).radius, 0x1p-44 * std::fabs(x) + numerics::underflow_share);
    EXPECT_LE(gelu_slope(x).radius, 0x1p-42);
  }
}

TEST(CertifiedArithmetic, GeluOfABallHoldsWhereItIsSteeperThanOne) {
  const PrecisionScope scope(160);
  for (const double middle : {0.9, 1.2, 1.414, 1.8}) {
    const numerics::BallMatrix ball{Eigen::MatrixXd::Constant(1, 1, middle), Eigen::MatrixXd::Constant(1, 1, 0x1p-7)};
    const numerics::BallMatrix image = gelu(ball);
    for (const double x : {middle - 0x1p-7, middle + 0x1p-7}) {
      const Enclosure off = abs(gelu(Enclosure(x)) - Enclosure(image.middle(0, 0)));
      EXPECT_EQ(less_equal(off, Enclosure(image.radius(0, 0))), Decision::proved) << x;
    }
  }
}

// The sign of gelu''/(2 sech^2(u) s): 1 + 6 c x^2 - s x (1 + 3 c x^2)^2 tanh(u).
Enclosure bend_sign(const Enclosure& x) {
  const Enclosure s = sqrt(Enclosure(2) / Enclosure::pi()), c = Enclosure::decimal("0.044715");
  const Enclosure inner = Enclosure(1) + Enclosure(3) * c * square(x);
  return Enclosure(1) + Enclosure(6) * c * square(x) - s * x * square(inner) * tanh(s * (x + c * pow(x, 3)));
}

TEST(CertifiedArithmetic, TheSlopeTurnsWhereTheConstantsSay) {
  const PrecisionScope scope(113);
  constexpr int pieces = 512;
  for (int i = 0; i < pieces; ++i) {
    const Enclosure x = Enclosure::between(turn_begin * i / pieces, turn_begin * (i + 1) / pieces);
    ASSERT_TRUE(bend_sign(x).certainly_positive()) << "gelu' grows on [0, turn_begin]: " << x;
  }
  // Beyond turn_end tanh(u) >= t there, and s x (1 + 3 c x^2)^2 t >= s x t (1 + 6 c x^2): negative where s x t > 1; up
  // to 2 by pieces.
  for (int i = 0; i < pieces; ++i) {
    const double width = (2 - turn_end) / pieces;
    const Enclosure x = Enclosure::between(turn_end + width * i, turn_end + width * (i + 1));
    ASSERT_TRUE(bend_sign(x).certainly_negative()) << x;
  }
  const Enclosure two(2), s = sqrt(two / Enclosure::pi());
  const Enclosure t = tanh(s * (two + Enclosure::decimal("0.044715") * Enclosure(8)));
  ASSERT_TRUE((s * two * t - Enclosure(1)).certainly_positive());
  // Between the two.
  constexpr int finer = 16 * pieces;
  for (int i = 0; i < finer; ++i) {
    const double width = (turn_end - turn_begin) / finer;
    const Enclosure x = Enclosure::between(turn_begin + width * i, turn_begin + width * (i + 1));
    const Enclosure slope = slope_at(x);
    ASSERT_TRUE((slope - Enclosure(turn_lowest)).certainly_positive()) << slope;
    ASSERT_TRUE((Enclosure(turn_highest) - slope).certainly_positive()) << slope;
  }
}

// The first interval over which the slope leaves its ball.
std::optional<double> first_slope_miss(const std::function<Ball(double, double)>& over) {
  const PrecisionScope scope(113);
  RandomWords words(3);
  for (int i = 0; i < 400; ++i) {
    const double middle = between(words, -6, 6),
                 radius = std::ldexp(between(words, 0, 1), -static_cast<int>(words() % 12));
    const Ball ball = over(middle, radius);
    for (int j = 0; j <= 20; ++j) {
      const Enclosure slope = slope_at(Enclosure(middle - radius + 2 * radius * j / 20));
      if (!(Enclosure(ball.radius) - abs(slope - Enclosure(ball.middle))).certainly_nonnegative()) return middle;
    }
  }
  return std::nullopt;
}

TEST(CertifiedArithmetic, SlopesOverIntervalsAreEnclosed) {
  const auto ours = [](double middle, double radius) {
    const BallMatrix slope = gelu_slope(BallMatrix{MatrixXd::Constant(1, 1, middle), MatrixXd::Constant(1, 1, radius)});
    return Ball{slope.middle(0), slope.radius(0)};
  };
  EXPECT_EQ(first_slope_miss(ours), std::nullopt);
  const auto ends_alone = [](double middle, double radius) {
    const double a = gelu_slope(middle - radius).middle, b = gelu_slope(middle + radius).middle;
    return Ball{(a + b) / 2, std::fabs(a - b) / 2 + 0x1p-40};
  };
  EXPECT_NE(first_slope_miss(ends_alone), std::nullopt) << "the turns forgotten";
  const auto middle_alone = [](double middle, double) { return gelu_slope(middle); };
  EXPECT_NE(first_slope_miss(middle_alone), std::nullopt) << "the radius forgotten";
}

// Every corner of two small balls, multiplied exactly.
using Product = std::function<BallMatrix(const BallMatrix&, const BallMatrix&)>;
bool encloses_products(const Product& product, double cancellation) {
  const PrecisionScope scope(256);
  RandomWords words(4);
  for (int round = 0; round < 200; ++round) {
    constexpr Eigen::Index k = 7;
    BallMatrix a{MatrixXd(1, k), MatrixXd(1, k)}, b{MatrixXd(k, 1), MatrixXd(k, 1)};
    for (Eigen::Index i = 0; i < k; ++i) {
      const double size = std::pow(cancellation, between(words, -1, 1));
      a.middle(i) = size * between(words, -1, 1);
      b.middle(i) = between(words, -1, 1) / size * std::pow(cancellation, between(words, -0.5, 0.5));
      a.radius(i) = round % 2 == 0 ? 0 : std::fabs(a.middle(i)) * 1e-3;
      b.radius(i) = round % 3 == 0 ? 0 : std::fabs(b.middle(i)) * 1e-3;
    }
    const BallMatrix result = product(a, b);
    for (int corner = 0; corner < 8; ++corner) {
      Enclosure exact;
      for (Eigen::Index i = 0; i < k; ++i) {
        const double sign_a = corner == 0 ? 1 : words() % 2 == 0 ? 1 : -1, sign_b = words() % 2 == 0 ? 1 : -1;
        exact += (Enclosure(a.middle(i)) + Enclosure(sign_a * a.radius(i))) *
                 (Enclosure(b.middle(i)) + Enclosure(sign_b * b.radius(i)));
      }
      const Enclosure off = abs(exact - Enclosure(result.middle(0)));
      if (!(Enclosure(result.radius(0)) - off).certainly_nonnegative()) return false;
    }
  }
  return true;
}

TEST(CertifiedArithmetic, ProductsOfBallsAreEnclosed) {
  const Product ours = [](const BallMatrix& a, const BallMatrix& b) { return a * b; };
  const Product by_norms = [](const BallMatrix& a, const BallMatrix& b) { return inner_products(a.transpose(), b); };
  for (const double cancellation : {2.0, 1e8, 1e100}) {
    EXPECT_TRUE(encloses_products(ours, cancellation));
    EXPECT_TRUE(encloses_products(by_norms, cancellation));
  }
  const Product without_rounding = [](const BallMatrix& a, const BallMatrix& b) {
    const MatrixXd radius = a.middle.cwiseAbs() * b.radius + a.radius * (b.middle.cwiseAbs() + b.radius);
    return BallMatrix{a.middle * b.middle, radius};
  };
  const Product abs_forgotten = [](const BallMatrix& a, const BallMatrix& b) {
    BallMatrix product = a * b;
    product.radius =
        a.middle * (2 * numerics::rounding_share(7) * b.middle + b.radius) + a.radius * (b.middle + b.radius);
    return product;
  };
  const Product cross_term_forgotten = [](const BallMatrix& a, const BallMatrix& b) {
    return BallMatrix{a.middle * b.middle,
                      a.middle.cwiseAbs() * (numerics::rounding_share(7) * b.middle.cwiseAbs() + b.radius)};
  };
  EXPECT_FALSE(encloses_products(without_rounding, 1e8));
  EXPECT_FALSE(encloses_products(abs_forgotten, 2));
  EXPECT_FALSE(encloses_products(cross_term_forgotten, 2));
}

TEST(CertifiedArithmetic, SumsNormsAndReachesAreEnclosed) {
  const PrecisionScope scope(256);
  RandomWords words(5);
  for (int i = 0; i < 500; ++i) {
    const double scale = std::ldexp(1.0, static_cast<int>(words() % 200) - 100);
    const auto ball = [&] {
      return BallMatrix{MatrixXd::Constant(1, 1, scale * between(words, -1, 1)),
                        MatrixXd::Constant(1, 1, scale * 1e-9 * uniform(words))};
    };
    const BallMatrix a = ball(), b = ball();
    const auto holds = [&](const BallMatrix& x, const Enclosure& exact) {
      return (Enclosure(x.radius(0)) - abs(exact - Enclosure(x.middle(0)))).certainly_nonnegative();
    };
    for (const double sign : {-1.0, 1.0}) {
      const Enclosure at_a = Enclosure(a.middle(0)) + Enclosure(sign * a.radius(0));
      const Enclosure at_b = Enclosure(b.middle(0)) + Enclosure(b.radius(0));
      EXPECT_TRUE(holds(a + b, at_a + at_b));
      EXPECT_TRUE(holds(entrywise_product(a, b), at_a * at_b));
      const double half = 0.25;
      EXPECT_TRUE(holds(widened(a, b, Eigen::VectorXd::Constant(1, half)), at_a + Enclosure(sign * half) * at_b));
    }
    const MatrixXd column = MatrixXd::NullaryExpr(9, 1, [&] { return scale * between(words, -1, 1); });
    Enclosure squares;
    for (Eigen::Index j = 0; j < 9; ++j) squares += square(Enclosure(column(j)));
    EXPECT_TRUE((Enclosure(numerics::column_norms(column)(0)) - sqrt(squares)).certainly_nonnegative());
  }
}

}  // namespace
}  // namespace softcheck::experiments
