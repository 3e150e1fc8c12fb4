#include "theory/differential_attention.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

#include "theory/lemma_2_1.hpp"
#include "theory/tempered_row.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_agreement;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

void require(const char* function, bool fine, const char* need, double got) {
  if (fine) return;
  throw std::invalid_argument(std::string(function) + ": need " + need + ", got " + std::to_string(got));
}

std::string witness(const LevelRow& row, double lambda) {
  return "lambda=" + numerics::hex_float(lambda) + " " + witness_text(row, 1);
}

}  // namespace

std::vector<Certificate> certify_differential_bounds(const LevelRow& first, const LevelRow& second, double lambda) {
  const char* const function = "certify_differential_bounds";
  require(function, std::isfinite(lambda) && lambda >= 0, "a finite lambda >= 0", lambda);
  require(function, first.visible() == second.visible(), "as many items as the first row has",
          static_cast<double>(second.visible()));
  auto of_first = at_each_precision([&] { return sharp_sides(first, 1); });
  auto of_second = at_each_precision([&] { return sharp_sides(second, 1); });
  const std::string what = witness(first, lambda) + " " + witness_text(second, 1);
  // Both gaps are of one sign: each is a gap of Lemma 2.1's.
  const auto sides = [lambda](const Sides& one, const Sides& other) {
    const Enclosure factor(lambda);
    return Sides{one.left - factor * other.right, one.right - factor * other.left, *one.gap + factor * *other.gap};
  };
  return {certify_less_equal("differential_attention.bounds", what,
                             [&] { return sides(of_first().lower, of_second().upper); }),
          certify_less_equal("differential_attention.bounds", what,
                             [&] { return sides(of_first().upper, of_second().lower); })};
}

std::vector<Certificate> certify_differential_share(const LevelRow& row, double lambda) {
  require("certify_differential_share", std::isfinite(lambda) && lambda > 0 && lambda != 1,
          "a finite lambda > 0, not 1", lambda);
  return {certify_less_equal("differential_attention.share", witness(row, lambda), [&] {
    const TemperedRow first(row, Enclosure(1)), second(row.mirrored(), Enclosure(1));
    const std::size_t last = first.levels() - 1;
    Enclosure largest, magnitude;
    for (std::size_t k = 0; k <= last; ++k) {
      const Enclosure size = abs(first.coefficient(k) - Enclosure(lambda) * second.coefficient(last - k));
      largest = maximum(largest, size);
      magnitude += first.count(k) * size;
    }
    const Enclosure sum = abs(1 - Enclosure(lambda)), most = (1 + Enclosure(lambda)) / (first.items() * sum);
    const Enclosure share = largest / maximum(magnitude, sum);
    // The gap times e^-d, as e^d may overflow.
    return Sides{share, exp(first.spread()) * most, most - exp(-first.spread()) * share};
  })};
}

std::vector<Certificate> certify_differential_half(std::uint64_t others, double above) {
  const char* const function = "certify_differential_half";
  require(function, others >= 1, "others >= 1", static_cast<double>(others));
  require(function, std::isfinite(above) && above > 0, "a finite above > 0", above);
  const LevelRow row({{above, 1}, {0, others}});
  return {certify_agreement("differential_attention.half", witness(row, 1), [&] {
    const TemperedRow first(row, Enclosure(1));
    // softmax(first)_k - 1/n = sum_j (w_k - w_j) / (n S)
    const auto coefficient = [&](std::size_t k) {
      Enclosure sum;
      for (std::size_t j = 0; j < first.levels(); ++j) {
        const Enclosure fall = -expm1(-abs(first.deviation(j) - first.deviation(k)));
        if (j > k) sum += first.count(j) * first.weight(k) * fall;
        if (j < k) sum -= first.count(j) * first.weight(j) * fall;
      }
      return sum / (first.items() * first.sum());
    };
    const Enclosure item = coefficient(0);
    return Sides{item / (item + first.count(1) * abs(coefficient(1))), Enclosure(1) / 2};
  })};
}

}  // namespace softcheck::theory
