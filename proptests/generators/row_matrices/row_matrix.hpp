#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/engine/rapidcheck_types.hpp"
#include "proptests/generators/domains/domain.hpp"
#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

class Draw;

/// A matrix's layout in memory, in elements. Strides of 0 mean compact, passed as NULL.
struct MatrixLayout {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t offset = 0;      // byte_offset in elements, in front of the view
  bool against_the_end = true;  // the view ends at an inaccessible page; else it begins at one

  bool compact() const { return row_stride == 0 && column_stride == 0; }
  friend bool operator==(const MatrixLayout&, const MatrixLayout&) = default;
};

/// How a call marks masked items.
enum class MaskUse {
  none,    // no mask: logits of -inf
  tensor,  // all by the mask; other numbers stand in their places
  mixed    // every second one by the mask, the others by visible logits of -inf
};

/// A logit outside the runs: +inf, or a NaN, quiet or signalling, of either sign, with any payload.
struct SpecialLogit {
  std::uint64_t row = 0;
  std::uint64_t item = 0;
  std::uint64_t bits = 0;  // of the matrix's format

  friend bool operator==(const SpecialLogit&, const SpecialLogit&) = default;
};

/// One call: rows of one length, a temperature, and their layouts.
struct RowMatrixCase {
  RowCycle rows;
  std::vector<SpecialLogit> specials;  // each replaces a visible logit; in ascending order of row and item
  std::uint64_t columns = 0;
  double theta = 1;
  numerics::Format format = numerics::Format::f64;  // format of every logit
  MaskUse mask = MaskUse::none;
  MatrixLayout in;
  MatrixLayout out;
  MatrixLayout visible;  // of the mask, or of the other per-item inputs; compact if there are none
  std::string family;    // how it was drawn; not part of its text
  /// RowCase::auxiliary of row 0; auxiliary_of_row() gives the others'.
  std::uint64_t auxiliary = 0;

  friend bool operator==(const RowMatrixCase& a, const RowMatrixCase& b) {
    return a.rows == b.rows && a.specials == b.specials && a.columns == b.columns && a.theta == b.theta &&
           a.format == b.format && a.mask == b.mask && a.in == b.in && a.out == b.out && a.visible == b.visible &&
           a.auxiliary == b.auxiliary;
  }
};

/// Restricts the matrices that a property draws.
struct RowMatrixOptions {
  RowOptions rows;  // for each row; rows.masks says whether items may be masked
  std::uint64_t least_rows = 1;
  std::uint64_t most_rows = 9;
  /// Rows are reversed and negated copies of each other, so that one stray element shows; else independent.
  bool alike = true;
  bool layouts = true;        // strides, offsets and both ends of a page; else all compact
  bool mask_patterns = true;  // masks prefixes, suffixes, blocks and strides, differently in each row
  bool shifts = true;         // shifts some rows as a whole, by up to the format's largest number
  bool nans = false;          // some visible logits are NaN
  bool infinities = false;    // some are +inf
  std::uint64_t max_elements = std::uint64_t{1} << 22;  // rows times columns
};

/// Do strides keep elements apart, and are all numbers in the format and all lengths within the options?
bool admits(const RowMatrixOptions& options, const RowMatrixCase& matrix);

/// Matrices with the rows of row_cases(options.rows).
rc::Gen<RowMatrixCase> row_matrices(const RowMatrixOptions& options);

/// Simpler matrices within the options: fewer rows, compact layouts, no mask, fewer columns, simpler numbers.
rc::Seq<RowMatrixCase> shrink_row_matrix(const RowMatrixCase& matrix, const RowMatrixOptions& options);

/// Layouts that kernels get wrong: gaps, column strides, offsets, either end of a page, explicit compact strides, and
/// columns closer together than rows.
MatrixLayout draw_layout(Draw& draw, std::int64_t rows, std::int64_t columns);

/// A layout of this kind: 0 compact, 1 at the front of a page, 2 explicit compact strides, 3 a row gap, 4 a column
/// stride, 5 a byte offset, 6 columns closer together than rows, 7 all of these.
MatrixLayout draw_layout_of(Draw& draw, std::uint64_t kind, std::int64_t rows, std::int64_t columns);

/// The row with some items masked, as by padding, causality, windows and sparse blocks.
///
/// may_hide_all   else a row of which no item would be left stays unchanged
RunLengthRow masked_row(Draw& draw, const RunLengthRow& row, bool may_hide_all);

/// The bits of a NaN: quiet or signalling, of either sign, half of them with a payload.
std::uint64_t draw_nan_bits(Draw& draw, numerics::Format format);
/// One to three NaNs in place of visible logits, as likely near a row's ends as in its middle.
std::vector<SpecialLogit> draw_nans(Draw& draw, const RowMatrixCase& matrix);

/// Matrices of every width, ascending: rows whose last item is the largest, whose first is, steps up and down; all far
/// below 0, so that a padding of 0 shows. Widths up to 129 have calls of one, two and three rows, longer ones have one
/// of these numbers in turn.
///
/// all_counts   every width has calls of one, two and three rows
std::vector<RowMatrixCase> width_sweep(numerics::Format format, const std::vector<std::uint64_t>& widths,
                                       bool all_counts = false);

/// 1 to dense, then k W - 1, k W, k W + 1 up to `most`, for powers of two W from dense / 2 on; ascending.
std::vector<std::uint64_t> swept_widths(std::uint64_t dense, std::uint64_t most);

/// No rows, no columns, or neither.
std::vector<RowMatrixCase> empty_matrices(numerics::Format format);

/// Two or three rows or columns 2^15 to 2^32 elements apart, nearest first.
std::vector<RowMatrixCase> distant_matrices(numerics::Format format);

/// One row each: a maximum, and columns - 1 items with weight c 2^-k, none of which a sum may lose. Near half an ulp of
/// 1 in f64, f32, f16 and bf16, c takes several values above and below it, since leaving out smaller weights gives an
/// error of c times that of rounding them away; elsewhere only k varies, up to 149.
std::vector<RowMatrixCase> far_mass_matrices(numerics::Format format, std::uint64_t columns);

/// "matrix f32 columns=3 theta=0x1p+0 mask=none in=5,1,0,end rows=7 nan=1,2,0x7fc00000 inf=4,0 ; 0x1p+0*3 ; -inf
/// 0x0p+0*2". Compact layouts are omitted, and rows= if the listed rows do not repeat.
std::string to_text(const RowMatrixCase& matrix);
void from_text(std::string_view text, RowMatrixCase& matrix);
/// Number of logits.
std::size_t size_of(const RowMatrixCase& matrix);
/// The row as a compact matrix without a mask.
RowMatrixCase matrix_of(const RowCase& row_case);
/// Row r alone.
RowCase case_of(const RowMatrixCase& matrix, std::size_t row);
/// The traits of the matrix's call for domains, without the tensors' alignment, which the caller chooses.
CallTraits traits_of(const RowMatrixCase& matrix);
/// Does row r hold a NaN or +inf, so that its logits are not those of its runs?
bool is_special(const RowMatrixCase& matrix, std::size_t row);
/// Is the special logit +inf, and not a NaN?
bool is_infinite(const SpecialLogit& logit, numerics::Format format);
void showValue(const RowMatrixCase& matrix, std::ostream& stream);

}  // namespace softcheck::proptests
