#include "numerics/rows/arb_row_oracle.hpp"

#include <stdexcept>

#ifdef SOFTCHECK_HAS_ARB

#include <arb.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

namespace softcheck::numerics {
namespace {

constexpr double largest_unshifted = 0x1p20;
// 20 bits for the size of an unshifted exponent, 20 for the sums, and a reserve.
constexpr slong guard_bits = 64;

class Ball {
 public:
  Ball() { arb_init(ball_); }
  Ball(const Ball& other) {
    arb_init(ball_);
    arb_set(ball_, other.ball_);
  }
  Ball(Ball&& other) noexcept {
    arb_init(ball_);
    arb_swap(ball_, other.ball_);
  }
  Ball& operator=(Ball other) noexcept {
    arb_swap(ball_, other.ball_);
    return *this;
  }
  ~Ball() { arb_clear(ball_); }
  arb_ptr get() { return ball_; }
  arb_srcptr get() const { return ball_; }

 private:
  arb_t ball_;
};

Ball ball_of(double value) {
  // By bits: arf_set_d uses frexp, which denormals-are-zero would corrupt.
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto biased = static_cast<slong>((bits >> 52) & 0x7ff);
  auto significand = static_cast<slong>(bits & ((std::uint64_t{1} << 52) - 1));
  if (biased != 0) significand |= slong{1} << 52;
  Ball result;
  arb_set_si(result.get(), bits >> 63 ? -significand : significand);
  arb_mul_2exp_si(result.get(), result.get(), (biased == 0 ? 1 : biased) - 1075);
  return result;
}

Ball minus_p_log_p(const Ball& p, slong bits) {
  Ball result;
  if (arb_contains_zero(p.get())) {
    // Outside Arb's exponents p is a ball around 0. There 0 <= -p ln p <= (2 / e) sqrt(p) < sqrt(p).
    arb_get_abs_ubound_arf(arb_midref(result.get()), p.get(), bits);
    arb_sqrt(result.get(), result.get(), bits);
    Ball zero;
    arb_union(result.get(), result.get(), zero.get(), bits);
    return result;
  }
  arb_log(result.get(), p.get(), bits);
  arb_mul(result.get(), result.get(), p.get(), bits);
  arb_neg(result.get(), result.get());
  return result;
}

}  // namespace

struct ArbRowOracle::Values {
  unsigned precision = 0;
  std::vector<std::optional<Ball>> probabilities;
  Ball logsumexp, entropy, entropy_eps, sum_minus_one, weighted_deviation, second_moment;
  bool visible = false;

  // The ball as an interval, rounded outward to the precision of construction.
  Enclosure enclose(const Ball& ball) const {
    const PrecisionScope scope(precision);
    Enclosure result;
    arb_get_interval_mpfr(&result.data()->left, &result.data()->right, ball.get());
    return result;
  }
  void fill(std::span<const double> logits, double theta);
  void add_deviations(const std::vector<std::optional<Ball>>& scaled, std::size_t argmax, slong bits);
};

void ArbRowOracle::Values::fill(std::span<const double> logits, double theta) {
  const slong bits = static_cast<slong>(precision) + guard_bits;
  const Ball temperature = ball_of(theta);
  std::vector<std::optional<Ball>> scaled(logits.size());
  std::size_t argmax = 0;
  bool shifted = false;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isinf(logits[i])) continue;
    if (!visible || logits[i] > logits[argmax]) argmax = i;
    visible = true;
    shifted = shifted || std::abs(logits[i] / theta) > largest_unshifted;
    scaled[i] = ball_of(logits[i]);
    arb_div(scaled[i]->get(), scaled[i]->get(), temperature.get(), bits);
  }
  if (!visible) return;

  Ball shift, sum, term, epsilon;
  if (shifted) shift = *scaled[argmax];
  probabilities.resize(logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (!scaled[i]) continue;
    term = *scaled[i];
    if (shifted) {
      // Subtract before dividing: the difference of a ball and itself would not be 0.
      arb_sub(term.get(), ball_of(logits[i]).get(), ball_of(logits[argmax]).get(), bits);
      arb_div(term.get(), term.get(), temperature.get(), bits);
    }
    arb_exp(term.get(), term.get(), bits);
    arb_add(sum.get(), sum.get(), term.get(), bits);
    probabilities[i] = term;
  }
  arb_log(logsumexp.get(), sum.get(), bits);
  arb_add(logsumexp.get(), logsumexp.get(), shift.get(), bits);
  arb_set_str(epsilon.get(), "1e-9", bits);
  for (auto& p : probabilities) {
    if (!p) continue;
    arb_div(p->get(), p->get(), sum.get(), bits);
    arb_add(term.get(), p->get(), epsilon.get(), bits);
    arb_log(term.get(), term.get(), bits);
    arb_submul(entropy_eps.get(), p->get(), term.get(), bits);
    term = minus_p_log_p(*p, bits);
    arb_add(entropy.get(), entropy.get(), term.get(), bits);
  }
  add_deviations(scaled, argmax, bits);
}

void ArbRowOracle::Values::add_deviations(const std::vector<std::optional<Ball>>& scaled, std::size_t argmax,
                                          slong bits) {
  Ball deviation, term;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    if (!scaled[i] || i == argmax) continue;
    arb_add(sum_minus_one.get(), sum_minus_one.get(), probabilities[i]->get(), bits);
    arb_sub(deviation.get(), scaled[argmax]->get(), scaled[i]->get(), bits);
    arb_mul(term.get(), probabilities[i]->get(), deviation.get(), bits);
    arb_add(weighted_deviation.get(), weighted_deviation.get(), term.get(), bits);
    arb_addmul(second_moment.get(), term.get(), deviation.get(), bits);
  }
  for (Ball* total : {&sum_minus_one, &weighted_deviation, &second_moment}) {
    arb_div(total->get(), total->get(), probabilities[argmax]->get(), bits);
  }
}

bool arb_available() { return true; }

ArbRowOracle::ArbRowOracle(std::span<const double> logits, double theta) : values_(std::make_unique<Values>()) {
  const FpEnvironmentGuard environment;
  if (!(theta > 0) || !std::isfinite(theta)) {
    throw std::invalid_argument("ArbRowOracle: theta must be > 0 and finite, got " + std::to_string(theta));
  }
  for (const double logit : logits) {
    if (std::isnan(logit) || logit == std::numeric_limits<double>::infinity()) {
      throw std::invalid_argument("ArbRowOracle: logits must be finite or -inf, got " + std::to_string(logit));
    }
  }
  values_->precision = working_precision();
  values_->fill(logits, theta);
}

const ArbRowOracle::Values& ArbRowOracle::row() const {
  if (!values_->visible) throw std::logic_error("ArbRowOracle: need a visible item, got a fully masked row");
  return *values_;
}

ArbRowOracle::~ArbRowOracle() = default;
ArbRowOracle::ArbRowOracle(ArbRowOracle&&) noexcept = default;
ArbRowOracle& ArbRowOracle::operator=(ArbRowOracle&&) noexcept = default;

Enclosure ArbRowOracle::softmax(std::size_t i) const {
  const auto& probability = row().probabilities.at(i);
  return probability ? row().enclose(*probability) : Enclosure(0);
}

Enclosure ArbRowOracle::log_softmax(std::size_t i) const {
  const auto& probability = row().probabilities.at(i);
  if (!probability) throw std::invalid_argument("ArbRowOracle::log_softmax: need a visible item");
  Ball logarithm;
  arb_log(logarithm.get(), probability->get(), static_cast<slong>(row().precision) + guard_bits);
  return row().enclose(logarithm);
}

Enclosure ArbRowOracle::logsumexp() const { return row().enclose(row().logsumexp); }
Enclosure ArbRowOracle::entropy() const { return row().enclose(row().entropy); }
Enclosure ArbRowOracle::entropy_eps() const { return row().enclose(row().entropy_eps); }
Enclosure ArbRowOracle::sum_minus_one() const { return row().enclose(row().sum_minus_one); }
Enclosure ArbRowOracle::weighted_deviation() const { return row().enclose(row().weighted_deviation); }
Enclosure ArbRowOracle::second_moment() const { return row().enclose(row().second_moment); }

}  // namespace softcheck::numerics

#else

namespace softcheck::numerics {

struct ArbRowOracle::Values {};

namespace {
[[noreturn]] void absent() { throw std::logic_error("ArbRowOracle: need Arb, got a library built without it"); }
}  // namespace

bool arb_available() { return false; }
const ArbRowOracle::Values& ArbRowOracle::row() const { absent(); }
ArbRowOracle::ArbRowOracle(std::span<const double>, double) { absent(); }
ArbRowOracle::~ArbRowOracle() = default;
ArbRowOracle::ArbRowOracle(ArbRowOracle&&) noexcept = default;
ArbRowOracle& ArbRowOracle::operator=(ArbRowOracle&&) noexcept = default;
Enclosure ArbRowOracle::softmax(std::size_t) const { absent(); }
Enclosure ArbRowOracle::log_softmax(std::size_t) const { absent(); }
Enclosure ArbRowOracle::logsumexp() const { absent(); }
Enclosure ArbRowOracle::entropy() const { absent(); }
Enclosure ArbRowOracle::entropy_eps() const { absent(); }
Enclosure ArbRowOracle::sum_minus_one() const { absent(); }
Enclosure ArbRowOracle::weighted_deviation() const { absent(); }
Enclosure ArbRowOracle::second_moment() const { absent(); }

}  // namespace softcheck::numerics

#endif
