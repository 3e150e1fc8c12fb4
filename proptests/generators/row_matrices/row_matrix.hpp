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

/// How a matrix lies in memory, in elements. Strides of 0 stand for the compact ones, passed as NULL.
struct MatrixLayout {
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t offset = 0;      // of byte_offset in front of the view
  bool against_the_end = true;  // the view ends (else begins) at a page that cannot be touched

  bool compact() const { return row_stride == 0 && column_stride == 0; }
  friend bool operator==(const MatrixLayout&, const MatrixLayout&) = default;
};

/// How a kernel is told of the items that are not there.
enum class MaskUse {
  none,    // no mask is passed: -inf logits
  tensor,  // all through the mask, junk in their places
  mixed    // every second one through the mask, the others as visible logits of -inf
};

/// A logit that no run of a row has: +inf, or a NaN, quiet or signalling, of either sign, with some payload.
struct SpecialLogit {
  std::uint64_t row = 0;
  std::uint64_t item = 0;
  std::uint64_t bits = 0;  // of the matrix's format

  friend bool operator==(const SpecialLogit&, const SpecialLogit&) = default;
};

/// Rows of one length and a temperature, and how they are handed to a kernel: one call.
struct RowMatrixCase {
  RowCycle rows;
  std::vector<SpecialLogit> specials;  // each in place of a visible logit, in ascending order of row and item
  std::uint64_t columns = 0;
  double theta = 1;
  numerics::Format format = numerics::Format::f64;  // every logit is one of its numbers
  MaskUse mask = MaskUse::none;
  MatrixLayout in;
  MatrixLayout out;
  MatrixLayout visible;  // of the mask, or of what stands beside the logits item by item; compact where neither is
  std::string family;    // how it was drawn; no part of its text
  /// As RowCase's, of row 0; auxiliary_of_row() gives that of the others.
  std::uint64_t auxiliary = 0;

  friend bool operator==(const RowMatrixCase& a, const RowMatrixCase& b) {
    return a.rows == b.rows && a.specials == b.specials && a.columns == b.columns && a.theta == b.theta &&
           a.format == b.format && a.mask == b.mask && a.in == b.in && a.out == b.out && a.visible == b.visible &&
           a.auxiliary == b.auxiliary;
  }
};

/// What a property needs of its matrices.
struct RowMatrixOptions {
  RowOptions rows;  // of each row; its masks say whether there may be items that are not there
  std::uint64_t least_rows = 1;
  std::uint64_t most_rows = 9;
  /// Rows that are one another's mirror image and negative, so that one stray element shows; else each its own.
  bool alike = true;
  bool layouts = true;        // strides, offsets and both ends; else all compact
  bool mask_patterns = true;  // prefixes, suffixes, blocks and strides of every row masked, each row otherwise
  bool shifts = true;         // some rows shifted as a whole, by up to the format's largest number
  bool nans = false;          // some visible logits are NaN
  bool infinities = false;    // or +inf
  std::uint64_t max_elements = std::uint64_t{1} << 22;  // rows times columns
};

/// Do strides keep elements apart, and is everything a number of the format and within the options' lengths?
bool admits(const RowMatrixOptions& options, const RowMatrixCase& matrix);

/// Matrices of rows as row_cases(options.rows) draws them.
rc::Gen<RowMatrixCase> row_matrices(const RowMatrixOptions& options);

/// Simpler matrices that keep to the options: fewer rows, compact layouts, no mask, fewer columns, simpler numbers.
rc::Seq<RowMatrixCase> shrink_row_matrix(const RowMatrixCase& matrix, const RowMatrixOptions& options);

/// Layouts that kernels get wrong: gaps, column strides, offsets, either end of a page, compact strides that are not
/// NULL, and columns that lie closer together than rows.
MatrixLayout draw_layout(Draw& draw, std::int64_t rows, std::int64_t columns);

/// The kind of that number: 0 compact, 1 at the front of a page, 2 compact strides that are not NULL, 3 a row gap, 4 a
/// column stride, 5 a byte offset, 6 columns closer together than rows, 7 all at once.
MatrixLayout draw_layout_of(Draw& draw, std::uint64_t kind, std::int64_t rows, std::int64_t columns);

/// The row with some items hidden, as padding, causality, windows and sparse blocks hide them.
///
/// may_hide_all   else a row of which nothing would be left stays as it is
RunLengthRow masked_row(Draw& draw, const RunLengthRow& row, bool may_hide_all);

/// The bits of a NaN: quiet or signalling, of either sign, every second time with a payload.
std::uint64_t draw_nan_bits(Draw& draw, numerics::Format format);
/// One to three NaNs in place of visible logits, as likely near the ends of a row as in its middle.
std::vector<SpecialLogit> draw_nans(Draw& draw, const RowMatrixCase& matrix);

/// Matrices of every width, ascending: rows whose last item is their largest, rows whose first is, steps up and down,
/// all far below 0, where a pad of 0 is seen. Widths of up to 129 have calls of one, two and three rows, longer ones of
/// one of these numbers, in turn.
///
/// all_counts   each width has calls of one, two and three rows
std::vector<RowMatrixCase> width_sweep(numerics::Format format, const std::vector<std::uint64_t>& widths,
                                       bool all_counts = false);

/// 1 to dense, then k W - 1, k W, k W + 1 for powers of two W from dense / 2 on, up to most; ascending.
std::vector<std::uint64_t> swept_widths(std::uint64_t dense, std::uint64_t most);

/// No rows, no columns, neither.
std::vector<RowMatrixCase> empty_matrices(numerics::Format format);

/// Two or three rows or columns 2^15 to 2^32 elements apart, the nearest first.
std::vector<RowMatrixCase> distant_matrices(numerics::Format format);

/// One row each: a maximum, and columns - 1 items of the weight c 2^-k, of which a sum may lose none. Next to the half
/// unit of the last place of 1 in f64, f32, f16 and bf16 c takes several values above and below it, since a sum that
/// leaves out smaller weights errs by c times what one that rounds them away may; elsewhere k alone rises, to 149.
std::vector<RowMatrixCase> far_mass_matrices(numerics::Format format, std::uint64_t columns);

/// "matrix f32 columns=3 theta=0x1p+0 mask=none in=5,1,0,end rows=7 nan=1,2,0x7fc00000 inf=4,0 ; 0x1p+0*3 ; -inf
/// 0x0p+0*2". Compact layouts are left out, and rows= where the rows that follow stand once each.
std::string to_text(const RowMatrixCase& matrix);
void from_text(std::string_view text, RowMatrixCase& matrix);
/// Logits in all rows.
std::size_t size_of(const RowMatrixCase& matrix);
/// A row alone, compact and without a mask.
RowMatrixCase matrix_of(const RowCase& row_case);
/// Row r alone.
RowCase case_of(const RowMatrixCase& matrix, std::size_t row);
/// What of the matrix's call a domain speaks of; where its tensors begin is up to who makes the call.
CallTraits traits_of(const RowMatrixCase& matrix);
/// Does row r hold a NaN or +inf? Its values are then not what its numbers give.
bool is_special(const RowMatrixCase& matrix, std::size_t row);
/// Is it +inf? Else it is a NaN.
bool is_infinite(const SpecialLogit& logit, numerics::Format format);
void showValue(const RowMatrixCase& matrix, std::ostream& stream);

}  // namespace softcheck::proptests
