#include "numerics/rows/deviation_sums.hpp"

#include <bit>

namespace softcheck::numerics {
namespace {

Enclosure zero_with_precision(unsigned bits) {
  const PrecisionScope scope(bits);
  return Enclosure(0);
}

// term *= factor in place, for a term >= 0 or a factor of one sign. Exponents are <= 0, except from overlapping
// enclosures of logits.
void multiply_weight(Enclosure& term, const Enclosure& weight, const Enclosure& exponent) {
  const mpfr_srcptr low = &exponent.data()->left;
  const mpfr_srcptr high = &exponent.data()->right;
  if (mpfr_sgn(high) <= 0) {
    mpfr_mul(&term.data()->left, &weight.data()->right, low, MPFR_RNDD);
    mpfr_mul(&term.data()->right, &weight.data()->left, high, MPFR_RNDU);
  } else {
    mpfi_mul(term.data(), weight.data(), exponent.data());
  }
}

}  // namespace

void set_upper_weight(Enclosure& weight, const Enclosure& exponent) {
  const mpfr_srcptr low = &exponent.data()->left;
  const mpfr_srcptr high = &exponent.data()->right;
  const mpfr_ptr upper = &weight.data()->right;
  mpfr_set(upper, &weight.data()->left, MPFR_RNDU);
  // exp of a nonzero binary fraction is irrational, so the exact value lies strictly between two neighbours.
  if (!mpfr_zero_p(low)) mpfr_nextabove(upper);
  if (mpfr_equal_p(low, high)) return;
  mpfr_t width, increase;
  mpfr_inits2(32, width, increase, static_cast<mpfr_ptr>(nullptr));
  mpfr_sub(width, high, low, MPFR_RNDU);
  if (mpfr_cmp_ui(width, 1) <= 0) {
    // exp(width) <= 1 + 2 width on [0, 1]: exp is convex and e <= 3.
    mpfr_mul(increase, upper, width, MPFR_RNDU);
    mpfr_mul_2ui(increase, increase, 1, MPFR_RNDU);
    mpfr_add(upper, upper, increase, MPFR_RNDU);
  } else {
    mpfr_exp(upper, high, MPFR_RNDU);
  }
  mpfr_clears(width, increase, static_cast<mpfr_ptr>(nullptr));
}

Enclosure weight_of(const Enclosure& exponent) {
  Enclosure weight;
  mpfr_exp(&weight.data()->left, &exponent.data()->left, MPFR_RNDD);
  set_upper_weight(weight, exponent);
  return weight;
}

DeviationSums::DeviationSums(std::size_t items)
    : precision_(working_precision()),
      guarded_precision_(precision_ + 4 + static_cast<unsigned>(std::bit_width(items))),
      sum_(zero_with_precision(guarded_precision_)),
      first_(sum_),
      second_(sum_),
      term_(sum_),
      run_(sum_) {}

void DeviationSums::add_term(Enclosure& total, unsigned long count) {
  const mpfi_ptr sum = total.data();
  mpfi_srcptr term = term_.data();
  if (count != 1) {
    mpfi_mul_ui(run_.data(), term, count);
    term = run_.data();
  }
  mpfr_add(&sum->left, &sum->left, &term->left, MPFR_RNDD);
  mpfr_add(&sum->right, &sum->right, &term->right, MPFR_RNDU);
}

void DeviationSums::add(const Enclosure& exponent, const Enclosure& weight, unsigned long count) {
  if (count == 0) return;
  mpfi_set(term_.data(), weight.data());
  add_term(sum_, count);
  multiply_weight(term_, weight, exponent);
  add_term(first_, count);
  if (mpfr_sgn(&exponent.data()->right) <= 0) {
    mpfr_swap(&term_.data()->left, &term_.data()->right);
    mpfr_mul(&term_.data()->left, &term_.data()->left, &exponent.data()->right, MPFR_RNDD);
    mpfr_mul(&term_.data()->right, &term_.data()->right, &exponent.data()->left, MPFR_RNDU);
  } else {
    mpfi_sqr(term_.data(), exponent.data());
    mpfi_mul(term_.data(), term_.data(), weight.data());
  }
  add_term(second_, count);
}

Enclosure DeviationSums::rounded(const Enclosure& guarded) const {
  const PrecisionScope scope(precision_);
  Enclosure result;
  mpfi_set(result.data(), guarded.data());
  return result;
}

Enclosure DeviationSums::sum() const { return rounded(sum_); }
Enclosure DeviationSums::weighted_deviation() const { return -rounded(first_); }
Enclosure DeviationSums::second_moment() const { return rounded(second_); }

}  // namespace softcheck::numerics
