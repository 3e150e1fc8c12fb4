#include "numerics/enclosures/enclosure.hpp"

#include <mpfr.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <new>
#include <ostream>
#include <stdexcept>
#include <vector>

#include "numerics/enclosures/interruption.hpp"

namespace softcheck::numerics {
namespace {

constexpr unsigned default_precision = 113;
thread_local unsigned thread_precision = default_precision;

// Intervals that this thread's enclosures returned, for reuse: most enclosures live for one operation, and allocating
// and freeing their ends took longer than a sum. Grouped by limbs per end: with equal limbs MPFR changes a precision in
// place.
class Spare {
 public:
  Spare() { is_there = true; }
  // Static enclosures outlive this object. Also frees MPFR's caches of the thread.
  ~Spare() {
    is_there = false;
    for (std::vector<__mpfi_struct>& kept : by_limbs_) {
      for (__mpfi_struct& interval : kept) mpfi_clear(&interval);
    }
    mpfr_free_cache2(MPFR_FREE_LOCAL_CACHE);
  }
  Spare(const Spare&) = delete;
  Spare& operator=(const Spare&) = delete;

  bool take(mpfi_ptr interval, mpfr_prec_t precision) {
    const std::size_t limbs = limbs_of(precision);
    if (limbs > by_limbs_.size() || by_limbs_[limbs - 1].empty()) return false;
    *interval = by_limbs_[limbs - 1].back();
    by_limbs_[limbs - 1].pop_back();
    if (mpfr_get_prec(&interval->left) != precision) mpfi_set_prec(interval, precision);
    return true;
  }
  bool keep(mpfi_srcptr interval) noexcept {
    const std::size_t limbs = limbs_of(mpfr_get_prec(&interval->left));
    if (limbs != limbs_of(mpfr_get_prec(&interval->right))) return false;
    if (limbs > by_limbs_.size() || by_limbs_[limbs - 1].size() == most) return false;
    try {
      by_limbs_[limbs - 1].push_back(*interval);
    } catch (const std::bad_alloc&) {
      return false;
    }
    return true;
  }

  static thread_local bool is_there;

 private:
  static constexpr std::size_t most = 1024;
  static std::size_t limbs_of(mpfr_prec_t precision) { return (static_cast<std::size_t>(precision) + 63) / 64; }
  std::array<std::vector<__mpfi_struct>, 8> by_limbs_;
};

thread_local bool Spare::is_there = false;
thread_local Spare spare;

// value == integer * 2^exponent, by bits.
void set_by_bits(mpfi_ptr target, double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto biased = static_cast<int>((bits >> 52) & 0x7ff);
  auto significand = static_cast<std::int64_t>(bits & ((std::uint64_t{1} << 52) - 1));
  if (biased == 0x7ff) {
    throw std::invalid_argument("Enclosure: need a finite value, got " + std::string(significand ? "nan" : "inf"));
  }
  if (biased != 0) significand |= std::int64_t{1} << 52;
  const long exponent = (biased == 0 ? 1 : biased) - 1075;
  if (bits >> 63) significand = -significand;
  mpfr_set_sj_2exp(&target->left, significand, exponent, MPFR_RNDD);
  mpfr_set_sj_2exp(&target->right, significand, exponent, MPFR_RNDU);
}

template <class Operation>
Enclosure unary(Operation operation, const Enclosure& x) {
  Enclosure result;
  operation(result.data(), x.data());
  return result;
}

template <class Operation>
Enclosure binary(Operation operation, const Enclosure& a, const Enclosure& b) {
  Enclosure result;
  operation(result.data(), a.data(), b.data());
  return result;
}

std::string endpoint_text(mpfr_srcptr endpoint, mpfr_rnd_t rounding, int digits) {
  char* text = nullptr;
  const char* layout = rounding == MPFR_RNDD ? "%.*RDg" : "%.*RUg";
  if (mpfr_asprintf(&text, layout, digits, endpoint) < 0) throw std::bad_alloc();
  std::string result(text);
  mpfr_free_str(text);
  return result;
}

}  // namespace

PrecisionScope::PrecisionScope(unsigned bits) : saved_(thread_precision) {
  if (bits < 53 || bits > 65536) {
    throw std::invalid_argument("PrecisionScope: bits must be in [53, 65536], got " + std::to_string(bits));
  }
  thread_precision = bits;
}

PrecisionScope::~PrecisionScope() { thread_precision = saved_; }

unsigned working_precision() { return thread_precision; }

void Enclosure::take(unsigned precision) {
  throw_if_interrupted();
  if (!spare.take(interval_, precision)) mpfi_init2(interval_, precision);
}

void Enclosure::give_back() noexcept {
  if (!Spare::is_there || !spare.keep(interval_)) mpfi_clear(interval_);
}

Enclosure::Enclosure() {
  take(thread_precision);
  mpfr_set_zero(&interval_->left, 1);
  mpfr_set_zero(&interval_->right, 1);
}

Enclosure::Enclosure(double value) : Enclosure() { set_by_bits(data(), value); }

Enclosure::Enclosure(const Enclosure& other) {
  take(static_cast<unsigned>(mpfi_get_prec(other.interval_)));
  mpfi_set(interval_, other.interval_);
}

Enclosure& Enclosure::operator=(const Enclosure& other) { return *this = Enclosure(other); }

void Enclosure::set(std::int64_t value) {
  mpfr_set_sj(&data()->left, value, MPFR_RNDD);
  mpfr_set_sj(&data()->right, value, MPFR_RNDU);
}

void Enclosure::set(std::uint64_t value) {
  mpfr_set_uj(&data()->left, value, MPFR_RNDD);
  mpfr_set_uj(&data()->right, value, MPFR_RNDU);
}

Enclosure Enclosure::integer(std::uint64_t value) { return {value}; }

Enclosure Enclosure::between(double lower, double upper) {
  const FpEnvironmentGuard guard;
  if (!(lower <= upper)) {
    throw std::invalid_argument("Enclosure::between: need lower <= upper, got " + std::to_string(lower) + " and " +
                                std::to_string(upper));
  }
  Enclosure result;
  const auto set_end = [&](mpfr_ptr end, double value) {
    if (std::isinf(value)) return mpfr_set_inf(end, value < 0 ? -1 : 1);
    const Enclosure number(value);  // not a temporary, since mpfr_set is a macro that may use it after its lifetime
    mpfr_set(end, &number.data()->left, MPFR_RNDN);  // exact: every precision is at least a double's
  };
  set_end(&result.data()->left, lower);
  set_end(&result.data()->right, upper);
  return result;
}

Enclosure Enclosure::decimal(std::string_view text) {
  Enclosure result;
  const std::string copy(text);
  const bool bad = mpfr_set_str(&result.data()->left, copy.c_str(), 10, MPFR_RNDD) != 0 ||
                   mpfr_set_str(&result.data()->right, copy.c_str(), 10, MPFR_RNDU) != 0 ||
                   !mpfr_number_p(&result.data()->left) || !mpfr_number_p(&result.data()->right);
  if (bad) throw std::invalid_argument("Enclosure::decimal: need a decimal number, got '" + copy + "'");
  return result;
}

Enclosure Enclosure::power_of_two(long exponent) {
  Enclosure result;
  mpfr_set_ui_2exp(&result.data()->left, 1, exponent, MPFR_RNDD);
  mpfr_set_ui_2exp(&result.data()->right, 1, exponent, MPFR_RNDU);
  return result;
}

Enclosure Enclosure::pi() {
  Enclosure result;
  mpfi_const_pi(result.data());
  return result;
}

Enclosure operator+(const Enclosure& a, const Enclosure& b) { return binary(mpfi_add, a, b); }
Enclosure operator-(const Enclosure& a, const Enclosure& b) { return binary(mpfi_sub, a, b); }
Enclosure operator*(const Enclosure& a, const Enclosure& b) { return binary(mpfi_mul, a, b); }
Enclosure operator/(const Enclosure& a, const Enclosure& b) { return binary(mpfi_div, a, b); }
Enclosure operator-(const Enclosure& a) { return unary(mpfi_neg, a); }

Enclosure& Enclosure::operator+=(const Enclosure& other) { return *this = *this + other; }
Enclosure& Enclosure::operator-=(const Enclosure& other) { return *this = *this - other; }
Enclosure& Enclosure::operator*=(const Enclosure& other) { return *this = *this * other; }
Enclosure& Enclosure::operator/=(const Enclosure& other) { return *this = *this / other; }

double Enclosure::lower_double() const {
  const FpEnvironmentGuard guard;
  return mpfr_get_d(&data()->left, MPFR_RNDD);
}

double Enclosure::upper_double() const {
  const FpEnvironmentGuard guard;
  return mpfr_get_d(&data()->right, MPFR_RNDU);
}

double Enclosure::width() const {
  const FpEnvironmentGuard guard;
  mpfr_t difference;
  mpfr_init2(difference, 53);
  mpfr_sub(difference, &data()->right, &data()->left, MPFR_RNDU);
  const double result = mpfr_get_d(difference, MPFR_RNDU);
  mpfr_clear(difference);
  return result;
}

double Enclosure::midpoint() const {
  const FpEnvironmentGuard guard;
  return mpfi_get_d(data());
}

bool Enclosure::is_nan() const { return mpfi_nan_p(data()) != 0; }
bool Enclosure::is_point() const { return mpfr_equal_p(&data()->left, &data()->right) != 0; }

bool Enclosure::contains(double value) const { return std::isfinite(value) && !is_nan() && contains(Enclosure(value)); }

bool Enclosure::contains(const Enclosure& inner) const {
  return mpfr_lessequal_p(&data()->left, &inner.data()->left) &&
         mpfr_greaterequal_p(&data()->right, &inner.data()->right);
}

bool Enclosure::overlaps(const Enclosure& other) const {
  return mpfr_lessequal_p(&data()->left, &other.data()->right) && mpfr_lessequal_p(&other.data()->left, &data()->right);
}

// MPFR's comparisons are false for NaN; so are these for an enclosure that is NaN.
bool Enclosure::certainly_nonnegative() const { return !is_nan() && mpfr_sgn(&data()->left) >= 0; }
bool Enclosure::certainly_positive() const { return !is_nan() && mpfr_sgn(&data()->left) > 0; }
bool Enclosure::certainly_nonpositive() const { return !is_nan() && mpfr_sgn(&data()->right) <= 0; }
bool Enclosure::certainly_negative() const { return !is_nan() && mpfr_sgn(&data()->right) < 0; }

unsigned Enclosure::precision() const { return static_cast<unsigned>(mpfi_get_prec(data())); }

std::string Enclosure::to_string(int digits) const {
  if (is_nan()) return "[nan]";
  std::string text = "[";
  text += endpoint_text(&data()->left, MPFR_RNDD, digits);
  text += ", ";
  text += endpoint_text(&data()->right, MPFR_RNDU, digits);
  return text += "]";
}

Enclosure exp(const Enclosure& x) { return unary(mpfi_exp, x); }
Enclosure expm1(const Enclosure& x) { return unary(mpfi_expm1, x); }
Enclosure log(const Enclosure& x) { return unary(mpfi_log, x); }
Enclosure log1p(const Enclosure& x) { return unary(mpfi_log1p, x); }
Enclosure sqrt(const Enclosure& x) { return unary(mpfi_sqrt, x); }
Enclosure tanh(const Enclosure& x) { return unary(mpfi_tanh, x); }
Enclosure cos(const Enclosure& x) { return unary(mpfi_cos, x); }
Enclosure sin(const Enclosure& x) { return unary(mpfi_sin, x); }
Enclosure square(const Enclosure& x) { return unary(mpfi_sqr, x); }
Enclosure abs(const Enclosure& x) { return unary(mpfi_abs, x); }

Enclosure pow(const Enclosure& x, unsigned exponent) {
  if (exponent == 0) return Enclosure(1);
  const Enclosure half = pow(x, exponent / 2);
  return exponent % 2 ? square(half) * x : square(half);
}

Enclosure maximum(const Enclosure& a, const Enclosure& b) {
  // mpfr_max would return the number instead of the NaN.
  if (a.is_nan()) return a;
  if (b.is_nan()) return b;
  Enclosure result;
  mpfr_max(&result.data()->left, &a.data()->left, &b.data()->left, MPFR_RNDD);
  mpfr_max(&result.data()->right, &a.data()->right, &b.data()->right, MPFR_RNDU);
  return result;
}

Enclosure minimum(const Enclosure& a, const Enclosure& b) { return -maximum(-a, -b); }

Enclosure hull(const Enclosure& a, const Enclosure& b) { return binary(mpfi_union, a, b); }

Enclosure intersection(const Enclosure& a, const Enclosure& b) {
  if (!a.overlaps(b)) {
    throw std::logic_error("intersection: two enclosures of one number share nothing: " + a.to_string(20) + " and " +
                           b.to_string(20));
  }
  return binary(mpfi_intersect, a, b);
}

std::ostream& operator<<(std::ostream& stream, const Enclosure& x) { return stream << x.to_string(); }

}  // namespace softcheck::numerics
