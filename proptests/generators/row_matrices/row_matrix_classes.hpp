#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "proptests/generators/row_matrices/row_matrix.hpp"

// The classes of row_matrix_classes.hpp by number, for finding them and for drawing from them.

namespace softcheck::proptests {

/// One dimension of a call and its classes: lengths, parameters, layouts, kinds of values.
struct MatrixDimension {
  std::string name;
  std::vector<std::string> classes;
};

/// The dimension of the kinds of numbers.
inline constexpr const char* values_dimension = "values";

/// The dimensions and classes by which calls of logits are covered. The classes of a dimension are disjoint: every call
/// has one class of each dimension.
const std::vector<MatrixDimension>& matrix_dimensions();

/// The matrix's class in each dimension, in the order of matrix_dimensions().
std::vector<std::size_t> classes_of(const RowMatrixCase& matrix);

/// Matrices that cover every pair of classes that a call within the options can have: a covering array; the rest of
/// each call is random.
struct MatrixCover {
  std::vector<RowMatrixCase> matrices;      // in ascending order of size
  std::vector<std::vector<bool>> possible;  // per class of each dimension: can a call have it?
};

/// options.rows gives the format, the domain and the longest row; options.most_rows and max_elements limit the calls.
///
/// pairs            cover all pairs of classes; else each single class
/// stop_requested   polled if set
/// throws           Interrupted if it returns true
MatrixCover covering_matrices(const RowMatrixOptions& options, bool pairs, std::uint64_t seed,
                              const std::function<bool()>& stop_requested = {});

/// A class of numbers: [least, most].
struct NamedRange {
  const char* name;
  std::uint64_t least;
  std::uint64_t most;
};

inline constexpr std::uint64_t unlimited = std::numeric_limits<std::uint64_t>::max();

// Indices may have 8, 9, 10, 12 or 16 bits, and a grid may be limited to 65,535 blocks.
inline constexpr std::array<NamedRange, 10> row_ranges{{{"1", 0, 1},
                                                        {"2 to 3", 2, 3},
                                                        {"4 to 9", 4, 9},
                                                        {"10 to 63", 10, 63},
                                                        {"64 to 511", 64, 511},
                                                        {"512 to 4095", 512, 4095},
                                                        {"4096 to 65534", 4096, 65534},
                                                        {"65535", 65535, 65535},
                                                        {"65536", 65536, 65536},
                                                        {"more than 65536", 65537, 131072}}};
inline constexpr std::array<NamedRange, 12> column_ranges{{{"1", 0, 1},
                                                           {"2 to 3", 2, 3},
                                                           {"4 to 15", 4, 15},
                                                           {"16 to 63", 16, 63},
                                                           {"64 to 255", 64, 255},
                                                           {"256 to 511", 256, 511},
                                                           {"512 to 1023", 512, 1023},
                                                           {"1024 to 4095", 1024, 4095},
                                                           {"4096 to 16383", 4096, 16383},
                                                           {"16384 to 65535", 16384, 65535},
                                                           {"65536 to 131072", 65536, 131072},
                                                           {"more than 131072", 131073, std::uint64_t{1} << 20}}};
/// The position of a call's first NaN or +inf in its row; all classes but the first and the last two are ranges.
inline constexpr std::array<NamedRange, 8> nan_places{{{"neither", 0, 0},
                                                       {"the first item", 0, 0},
                                                       {"items 1 to 63", 1, 63},
                                                       {"items 64 to 299", 64, 299},
                                                       {"items 300 to 1023", 300, 1023},
                                                       {"items 1024 to 65535", 1024, 65535},
                                                       {"items from 65536 on", 65536, unlimited},
                                                       {"the last item", 1, unlimited}}};

enum class LengthClass : std::size_t {
  power_of_two,
  beside_power_of_two,
  about_power_of_ten,
  multiple_of_sixteen,
  beside_multiple_of_sixteen,
  other
};
inline constexpr std::size_t length_classes = 6;
/// The first class that fits; n >= 1.
LengthClass length_class(std::uint64_t n);

enum class ThetaClass : std::size_t { one, power_of_two, few_bits, bits_of_f32, full, full_small, full_large, extreme };
inline constexpr std::size_t theta_classes = 8;
ThetaClass theta_class(double theta);

enum class MaskClass : std::size_t { none, infinite, tensor, mixed, whole };

/// The special number in place of a visible logit; infinite is one or two +inf in a row.
enum class NanClass : std::size_t {
  none,
  quiet,
  quiet_negative,
  signalling,
  signalling_negative,
  payload,
  several,
  infinite
};

inline constexpr std::size_t layout_classes = 8;
/// With the numbers of draw_layout_of.
std::size_t layout_class(const MatrixLayout& layout, std::uint64_t columns);

}  // namespace softcheck::proptests
