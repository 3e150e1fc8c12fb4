#include "proptests/generators/row_matrices/row_matrix_classes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

std::size_t range_of(std::span<const NamedRange> ranges, std::uint64_t value) {
  std::size_t k = 0;
  while (k + 1 < ranges.size() && value > ranges[k].most) ++k;
  return k;
}

std::vector<std::string> names_of(std::span<const NamedRange> ranges) {
  std::vector<std::string> names;
  for (const NamedRange& range : ranges) names.emplace_back(range.name);
  return names;
}

bool beside_or_power_of_ten(std::uint64_t n) {
  for (std::uint64_t power = 10; power <= n + 1; power *= 10) {
    if (n + 1 >= power && n <= power + 1) return true;
  }
  return false;
}

MaskClass mask_of(const RowMatrixCase& matrix) {
  const bool hidden =
      std::ranges::any_of(matrix.rows.cycle(), [](const auto& row) { return row.visible() < row.size(); });
  if (matrix.mask == MaskUse::none) return hidden ? MaskClass::infinite : MaskClass::none;
  const bool whole = std::ranges::any_of(matrix.rows.cycle(), [](const auto& row) { return row.visible() == 0; });
  if (whole && matrix.mask == MaskUse::tensor) return MaskClass::whole;
  return matrix.mask == MaskUse::tensor ? MaskClass::tensor : MaskClass::mixed;
}

bool has_quiet_bit(const RowMatrixCase& matrix, std::uint64_t bits) {
  return (bits >> (numerics::properties(matrix.format).precision - 2) & 1) != 0;
}

NanClass nan_of(const RowMatrixCase& matrix) {
  if (matrix.specials.empty()) return NanClass::none;
  const auto infinite = [&](const SpecialLogit& one) { return is_infinite(one, matrix.format); };
  if (std::ranges::all_of(matrix.specials, infinite)) return NanClass::infinite;
  if (matrix.specials.size() > 1) return NanClass::several;
  const std::uint64_t bits = matrix.specials[0].bits;
  const numerics::FormatProperties& facts = numerics::properties(matrix.format);
  const bool negative = (bits >> (facts.storage_bits - 1) & 1) != 0, quiet = has_quiet_bit(matrix, bits);
  if (!facts.has_infinity) return negative ? NanClass::quiet_negative : NanClass::quiet;
  const std::uint64_t payload = bits & ((std::uint64_t{1} << (facts.precision - 2)) - 1);
  if (quiet && payload != 0) return NanClass::payload;
  return quiet ? (negative ? NanClass::quiet_negative : NanClass::quiet)
               : (negative ? NanClass::signalling_negative : NanClass::signalling);
}

std::size_t nan_place_of(const RowMatrixCase& matrix) {
  if (matrix.specials.empty()) return 0;
  const std::uint64_t item = matrix.specials[0].item;
  if (item == 0) return 1;
  if (item + 1 == matrix.columns) return nan_places.size() - 1;
  std::size_t k = 2;
  while (k + 2 < nan_places.size() && item > nan_places[k].most) ++k;
  return k;
}

std::size_t family_of(const RowMatrixCase& matrix) {
  const auto families = kernel_row_families();
  for (std::size_t k = 0; k < families.size(); ++k) {
    if (matrix.family == to_string(families[k])) return k;
  }
  return families.size();  // listed, or parsed from a text
}

}  // namespace

LengthClass length_class(std::uint64_t n) {
  if (std::has_single_bit(n)) return LengthClass::power_of_two;
  if (std::has_single_bit(n + 1) || std::has_single_bit(n - 1)) return LengthClass::beside_power_of_two;
  if (beside_or_power_of_ten(n)) return LengthClass::about_power_of_ten;
  if (n % 16 == 0) return LengthClass::multiple_of_sixteen;
  if (n % 16 == 1 || n % 16 == 15) return LengthClass::beside_multiple_of_sixteen;
  return LengthClass::other;
}

ThetaClass theta_class(double theta) {
  if (theta == 1) return ThetaClass::one;
  int exponent = 0;
  const double significand = std::frexp(theta, &exponent);
  const bool extreme = exponent > 30 || exponent < -30;
  if (extreme) return ThetaClass::extreme;
  if (significand == 0.5) return ThetaClass::power_of_two;
  const auto fits = [&](int bits) {
    return std::ldexp(significand, bits) == std::trunc(std::ldexp(significand, bits));
  };
  if (fits(8)) return ThetaClass::few_bits;
  if (fits(24)) return ThetaClass::bits_of_f32;
  return theta < 0x1p-4 ? ThetaClass::full_small : theta > 0x1p4 ? ThetaClass::full_large : ThetaClass::full;
}

std::size_t layout_class(const MatrixLayout& layout, std::uint64_t columns) {
  const auto apart = static_cast<std::int64_t>(std::max<std::uint64_t>(columns, 1));
  if (layout.compact()) return layout.offset > 0 ? 5 : layout.against_the_end ? 0 : 1;
  if (layout.row_stride == 1 && apart > 1) return 6;
  if (layout.offset > 0) return 7;
  if (layout.column_stride > 1) return 4;
  return layout.row_stride > apart ? 3 : 2;
}

const std::vector<MatrixDimension>& matrix_dimensions() {
  static const std::vector<MatrixDimension> dimensions = [] {
    std::vector<std::string> families;
    for (const RowFamily family : kernel_row_families()) families.emplace_back(to_string(family));
    families.emplace_back("listed");
    const std::vector<std::string> layouts{
        "NULL strides", "at the front of a page", "compact strides", "row gap", "column stride",
        "byte offset",  "columns first",          "all at once"};
    std::vector<std::string> mask_layouts = layouts;
    mask_layouts.insert(mask_layouts.begin(), "no mask");
    return std::vector<MatrixDimension>{
        {"rows", names_of(row_ranges)},
        {"n", names_of(column_ranges)},
        {"n is",
         {"a power of 2", "beside a power of 2", "a power of 10 or beside it", "a multiple of 16",
          "beside a multiple of 16", "another number"}},
        {"theta",
         {"1", "a power of 2", "of at most 8 bits", "a number of f32", "of 53 bits, 1/16 to 16",
          "of 53 bits, below 1/16", "of 53 bits, above 16", "beyond 2^-30 or 2^30"}},
        {"hidden by", {"nothing", "-inf logits", "a mask", "a mask and -inf logits", "a mask, whole rows too"}},
        {"input layout", layouts},
        {"output layout", layouts},
        {"mask layout", mask_layouts},
        {"NaN or +inf",
         {"neither", "quiet", "quiet, negative", "signalling", "signalling, negative", "with a payload", "several",
          "+inf"}},
        {"NaN or +inf at", names_of(nan_places)},
        {values_dimension, families}};
  }();
  return dimensions;
}

std::vector<std::size_t> classes_of(const RowMatrixCase& matrix) {
  const MaskClass mask = mask_of(matrix);
  const std::size_t mask_layout = matrix.mask == MaskUse::none && matrix.visible == MatrixLayout{}
                                      ? 0
                                      : 1 + layout_class(matrix.visible, matrix.columns);
  return {range_of(row_ranges, matrix.rows.size()),
          range_of(column_ranges, matrix.columns),
          static_cast<std::size_t>(length_class(std::max<std::uint64_t>(matrix.columns, 1))),
          static_cast<std::size_t>(theta_class(matrix.theta)),
          static_cast<std::size_t>(mask),
          layout_class(matrix.in, matrix.columns),
          layout_class(matrix.out, matrix.columns),
          mask_layout,
          static_cast<std::size_t>(nan_of(matrix)),
          nan_place_of(matrix),
          family_of(matrix)};
}

}  // namespace softcheck::proptests
