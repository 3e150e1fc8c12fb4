#include "numerics/enclosures/upper_bound.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace softcheck::numerics {
namespace {

// Our own functions, made of sums, products and quotients of doubles: the last bits of a C library's functions differ
// between architectures, and between processors with and without fused operations, and so would the thresholds.
//
// Each has a relative error below 2^-48 = 32 u, u = 2^-53, derived at each function.
UpperBound raised(double computed) { return UpperBound(computed) * UpperBound(1 + 0x1p-48); }

// ln 2 = first + rest: first has 42 bits, so that k first is exact for |k| <= 2^11.
constexpr double ln_2_first = 0x1.62e42fefa3800p-1, ln_2_rest = 0x1.ef35793c76730p-45;

// e^r - 1 for 0 <= |r| <= 0.35: r + r^2 q(r), q the Taylor polynomial of (e^r - 1 - r) / r^2, with a remainder below
// r^14 / 16! < 2^-65. Its even and odd terms are summed separately by Horner's rule in s = r^2, in half the time of one
// chain. q is at least 0.44. The even terms are at most 0.51 with a relative error of 2 u: 1 for the last sum, and 5 u
// of the rest, which is at most s / 23. The odd terms are at most 0.17 with the same error; times r they are 0.06. With
// the rounding of their sum q errs by 4 u, and r^2 q is at most 0.2 r: 3 u in all.
double expm1_of_small(double r) {
  constexpr double even[] = {0x1p-1,
                             0x1.5555555555555p-5,
                             0x1.6c16c16c16c17p-10,
                             0x1.a01a01a01a01ap-16,
                             0x1.27e4fb7789f5cp-22,
                             0x1.1eed8eff8d898p-29,
                             0x1.93974a8c07c9dp-37};
  constexpr double odd[] = {0x1.5555555555555p-3,  0x1.1111111111111p-7,  0x1.a01a01a01a01ap-13, 0x1.71de3a556c734p-19,
                            0x1.ae64567f544e4p-26, 0x1.6124613a86d09p-33, 0x1.ae7f3e733b81fp-41};
  const double s = r * r;
  double of_even = 0, of_odd = 0;
  for (std::size_t k = std::size(even); k-- > 0;) {
    of_even = of_even * s + even[k];
    of_odd = of_odd * s + odd[k];
  }
  return r + s * (of_even + r * of_odd);
}

// The same for 0 <= r <= tiny, as for nearly all roundoffs: the remainder is below r^5 / 119 < 2^-54 r, and all terms
// but r are below 2^-12 r: 2 u in all.
constexpr double tiny = 0x1p-12;
double expm1_of_tiny(double r) {
  const double s = r * r;
  return r + s * ((0.5 + s * 0x1.5555555555555p-5) + r * 0x1.5555555555555p-3);
}

// 2^k x for 0 <= k <= 1024.
double times_power(double x, int k) {
  const auto half = static_cast<std::uint64_t>(k / 2), rest = static_cast<std::uint64_t>(k) - half;
  return x * std::bit_cast<double>((1023 + half) << 52) * std::bit_cast<double>((1023 + rest) << 52);
}

struct Reduced {
  int exponent;
  double rest;  // |rest| <= 0.35
};

// x = exponent ln 2 + rest for 0 <= x < 710: two roundings of numbers up to 0.35, and that of k ln_2_rest: 2 u in all.
Reduced reduced(double x) {
  const double k = std::floor(x * 0x1.71547652b82fep+0 + 0.5);
  return {static_cast<int>(k), (x - k * ln_2_first) - k * ln_2_rest};
}

// 2 atanh(s) for 0 <= |s| <= 0.172: twice the odd Taylor polynomial, with a remainder below s^25 / 12 < 2^-66 s. 4 u
// from s, 1 u of s from Horner's rule, since the other terms are at most s / 100: 6 u.
double twice_atanh(double s) {
  const double square = s * s;
  double sum = 0;
  for (int k = 23; k > 1; k -= 2) sum = (sum + 1.0 / k) * square;
  return 2 * (s + s * sum);
}

// ln x for a normal x = m 2^e, m in [sqrt(1/2), sqrt 2): both terms err by at most 7 u, and if their signs differ the
// sum is at least half of either: 14 u, plus one for the sum.
double log_of(double x) {
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < 0x1.6a09e667f3bcdp-1) {
    mantissa *= 2;
    --exponent;
  }
  const double e = exponent;
  return e * ln_2_first + (e * ln_2_rest + twice_atanh((mantissa - 1) / (mantissa + 1)));
}

// The sum of terms 0 to n - 1 in four independent parts, so that additions do not wait for each other.
template <class Term>
UpperBound added(std::size_t n, Term term) {
  std::array<double, 4> parts{};
  std::size_t i = 0;
  for (; i + 4 <= n; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) parts[k] += term(i + k).first * term(i + k).second;
  }
  for (; i < n; ++i) parts[0] += term(i).first * term(i).second;
  if (const auto bound = bound_of_sum((parts[0] + parts[1]) + (parts[2] + parts[3]), n)) return *bound;
  UpperBound sum;
  for (i = 0; i < n; ++i) sum = sum + UpperBound(term(i).first) * UpperBound(term(i).second);
  return sum;
}

}  // namespace

void UpperBound::refuse(double value) {
  throw std::invalid_argument("UpperBound: need a value >= 0, got " + std::to_string(value));
}

// In units of the smallest subnormal number, so that no operand or result of the processor is subnormal. If product >=
// k + 1 for an integer k < 2^52, a double, then rounded >= k + 1: the next integer above the rounded product is above
// the product.
UpperBound UpperBound::small_product(double a, double b) {
  constexpr double smallest_normal = std::numeric_limits<double>::min();
  constexpr double half_way = 0x1p537;  // its square is 2^1074
  const auto units = [](double x) { return static_cast<double>(std::bit_cast<std::uint64_t>(x)); };
  if (a > b) std::swap(a, b);
  if (b < smallest_normal) return UpperBound(std::numeric_limits<double>::denorm_min());
  const double product = a < smallest_normal ? units(a) * b : (a * half_way) * (b * half_way);
  if (!(product < 0x1p52)) return UpperBound(a * b).next();
  return UpperBound(std::bit_cast<double>(static_cast<std::uint64_t>(product) + 1));  // the bits of this many units
}

// e^709.7 is still a double.
UpperBound exp(UpperBound x) {
  if (x.value() == 0) return UpperBound(1);
  if (x.value() <= tiny) return raised(1 + expm1_of_tiny(x.value()));
  if (x.value() > 709.7) return UpperBound::infinity();
  const auto [exponent, rest] = reduced(x.value());
  return raised(times_power(1 + expm1_of_small(rest), exponent));
}

// For x >= 0.35 e^x is at least 1.41: its error is at most 3.5 times as large relative to e^x - 1.
UpperBound expm1(UpperBound x) {
  if (x.value() == 0) return UpperBound();
  if (x.value() <= tiny) return raised(expm1_of_tiny(x.value()));
  if (x.value() < 0.35) return raised(expm1_of_small(x.value()));
  if (x.value() > 709.7) return UpperBound::infinity();
  const auto [exponent, rest] = reduced(x.value());
  return raised(times_power(1 + expm1_of_small(rest), exponent) - 1);
}

UpperBound log(UpperBound x) {
  if (x.value() <= 1 || std::isinf(x.value())) return x.value() <= 1 ? UpperBound() : x;
  return raised(log_of(x.value()));
}

// For x >= 0.4 the rounding of 1 + x is at most 3 u of the logarithm.
UpperBound log1p(UpperBound x) {
  if (x.value() == 0 || std::isinf(x.value())) return x;
  if (x.value() < 0.4) return raised(twice_atanh(x.value() / (2 + x.value())));
  return raised(log_of(1 + x.value()));
}

UpperBound minus_log1m(UpperBound x) {
  if (x.value() >= 1) return UpperBound::infinity();
  if (x.value() == 0) return x;
  if (x.value() < 0.29) return raised(twice_atanh(x.value() / (2 - x.value())));
  return raised(-log_of(1 - x.value()));
}

UpperBound over_one_minus(UpperBound x) {
  if (x.value() >= 1) return UpperBound::infinity();
  if (x.value() == 0) return UpperBound(1);
  return UpperBound(1 / std::nextafter(1 - x.value(), 0.0)).next();
}

// IEEE 754 requires a correctly rounded square root.
UpperBound sqrt(UpperBound x) { return x.value() == 0 ? UpperBound() : UpperBound(std::sqrt(x.value())).next(); }

UpperBound maximum(UpperBound a, UpperBound b) { return a.value() >= b.value() ? a : b; }

UpperBound minimum(UpperBound a, UpperBound b) { return a.value() <= b.value() ? a : b; }

// At most n + 1 roundings of 2^-53, and 2^-1075 for each subnormal product, which for a sum above 2^-900 is less than
// one more rounding.
std::optional<UpperBound> bound_of_sum(double computed, std::size_t n) {
  if (!(computed > 0x1p-900 && computed < std::numeric_limits<double>::infinity())) return std::nullopt;
  return UpperBound(computed) * UpperBound(1 + static_cast<double>(n + 4) * 0x1p-52);
}

UpperBound sum(std::span<const UpperBound> a) {
  return added(a.size(), [&](std::size_t i) { return std::pair(a[i].value(), 1.0); });
}

UpperBound dot(std::span<const UpperBound> a, std::span<const UpperBound> b) {
  return added(a.size(), [&](std::size_t i) { return std::pair(a[i].value(), b[i].value()); });
}

}  // namespace softcheck::numerics
