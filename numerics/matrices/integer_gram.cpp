#include "numerics/matrices/integer_gram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "numerics/enclosures/ulp.hpp"

namespace softcheck::numerics {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

__extension__ typedef __int128 Wide;  // |entry| |component| < 2^106, in sums of at most 2^20 terms

constexpr std::int64_t largest_component = std::int64_t{1} << 52;

Enclosure enclosure_of(Wide value) {
  const bool negative = value < 0;
  const auto magnitude = static_cast<unsigned __int128>(negative ? -value : value);
  const Enclosure high = Enclosure::integer(static_cast<std::uint64_t>(magnitude >> 64));
  const Enclosure low = Enclosure::integer(static_cast<std::uint64_t>(magnitude));
  const Enclosure sum = high * Enclosure::power_of_two(64) + low;
  return negative ? -sum : sum;
}

}  // namespace

std::optional<int> exact_product_exponent(const MatrixXd& entries) {
  const double largest = entries.cwiseAbs().maxCoeff();
  int above = 0;  // every |entry| < 2^above
  std::frexp(largest, &above);
  // columns (2^(above - q))^2 <= 2^53 suffices, so one entry rules out most matrices.
  const int columns = std::bit_width(static_cast<std::uint64_t>(entries.cols()));
  int exponent = above;
  for (const double entry : entries.reshaped()) {
    if (entry == 0) continue;
    exponent = std::min(exponent, lowest_bit(entry));
    if (columns + 2 * (above - exponent) > 53) return std::nullopt;
  }
  return exponent;
}

IntegerGram::IntegerGram(const MatrixXd& gram, int exponent)
    : size_(gram.rows()), entries_(static_cast<std::size_t>(size_ * size_)) {
  const double factor = std::ldexp(1.0, -exponent);
  Wide trace = 0;
  for (Index j = 0; j < size_; ++j) {
    for (Index i = j; i < size_; ++i) {
      const auto entry = static_cast<std::int64_t>(gram(i, j) * factor);
      entries_[static_cast<std::size_t>(j * size_ + i)] = entries_[static_cast<std::size_t>(i * size_ + j)] = entry;
    }
    trace += entries_[static_cast<std::size_t>(j * size_ + j)];
  }
  upper_ = enclosure_of(trace);
}

void IntegerGram::try_structure() {
  const auto n = static_cast<std::size_t>(size_);
  std::size_t top = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (entries_[i * n + i] > entries_[top * n + top]) top = i;
  std::vector<std::int64_t> vector(n, 0);
  vector[top] = 1;  // diagonal
  try_integers(vector);
  std::fill(vector.begin(), vector.end(), 1);  // constant row sums
  try_integers(vector);
  vector.assign(entries_.begin() + static_cast<std::ptrdiff_t>(top * n),
                entries_.begin() + static_cast<std::ptrdiff_t>(top * n + n));  // rank one
  const std::int64_t bound = *std::max_element(vector.begin(), vector.end());
  if (bound <= largest_component) try_integers(vector);
}

void IntegerGram::try_vector(const VectorXd& eigenvector) {
  const double largest = eigenvector.cwiseAbs().maxCoeff();
  double smallest = largest;
  for (const double entry : eigenvector)
    if (std::abs(entry) > largest * 0x1p-20) smallest = std::min(smallest, std::abs(entry));
  if (!(smallest > 0)) return;
  std::vector<std::int64_t> vector;
  for (const double entry : eigenvector) vector.push_back(std::llround(entry / smallest));
  try_integers(vector);
}

void IntegerGram::try_integers(const std::vector<std::int64_t>& vector) {
  const auto n = static_cast<std::size_t>(size_);
  Enclosure numerator, denominator, ratio;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t* row = &entries_[i * n];
    Wide sum = 0, absolute_sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      sum += static_cast<Wide>(row[j]) * vector[j];
      absolute_sum += static_cast<Wide>(std::abs(row[j])) * std::max<std::int64_t>(std::abs(vector[j]), 1);
    }
    const Enclosure component = enclosure_of(vector[i]);
    numerator += component * enclosure_of(sum);
    denominator += square(component);
    const Enclosure weight = enclosure_of(std::max<std::int64_t>(std::abs(vector[i]), 1));
    ratio = maximum(ratio, enclosure_of(absolute_sum) / weight);
  }
  upper_ = minimum(upper_, ratio);
  lower_ = maximum(lower_, numerator / denominator);
}

void IntegerGram::raise_lower(const VectorXd& vector) {
  const auto n = static_cast<std::size_t>(size_);
  std::vector<Enclosure> components;
  for (const double entry : vector) components.emplace_back(entry);
  Enclosure numerator, denominator;
  for (std::size_t i = 0; i < n; ++i) {
    Enclosure sum;
    for (std::size_t j = 0; j < n; ++j) sum += enclosure_of(entries_[i * n + j]) * components[j];
    numerator += components[i] * sum;
    denominator += square(components[i]);
  }
  if (denominator.certainly_positive()) lower_ = maximum(lower_, numerator / denominator);
}

Decision IntegerGram::largest_at_most(const Enclosure& bound) const {
  const auto n = static_cast<std::size_t>(size_);
  std::vector<Enclosure> work(n * n);  // rows of the lower triangle, overwritten by the Schur complements
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      work[i * n + j] = (i == j ? bound : Enclosure(0)) - enclosure_of(entries_[i * n + j]);
  for (std::size_t p = 0; p < n; ++p) {
    const Enclosure pivot = work[p * n + p];
    if (pivot.certainly_negative()) return Decision::violated;  // the leading minor is negative
    if (!pivot.certainly_positive()) return Decision::undecided;
    for (std::size_t i = p + 1; i < n; ++i) {
      const Enclosure factor = work[i * n + p] / pivot;
      for (std::size_t j = p + 1; j <= i; ++j) work[i * n + j] -= factor * work[j * n + p];
    }
  }
  return Decision::proved;
}

Enclosure IntegerGram::eigenvalue() const { return hull(lower_, upper_); }

}  // namespace softcheck::numerics
