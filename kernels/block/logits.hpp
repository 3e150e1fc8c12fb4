#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block/context.hpp"
#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// Consecutive items of a row that a thread reads as one group.
inline constexpr int items_at_once = 4;
/// How many of them one instruction moves: all four, or two of f64.
template <class Element>
inline constexpr int items_of_vector = sizeof(Element) == 8 ? 2 : items_at_once;

/// A matrix in global memory, without its numbers of rows and columns: the caller must stay inside. Strides count
/// elements.
template <class View>
struct Matrix {
  View elements;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  /// The index of (row, column) in elements.
  SOFTCHECK_BODY std::int64_t place(std::int64_t row, std::int64_t column) const {
    return row * row_stride + column * column_stride;
  }
  /// Whether a thread may move the row's groups, which begin at multiples of items_at_once, by load_vector and
  /// store_vector: the columns are contiguous and the row is aligned.
  SOFTCHECK_BODY bool moves_by_vectors(std::int64_t row) const {
    using Element = std::remove_cvref_t<decltype(elements.load(0))>;
    return column_stride == 1 && elements.template aligned<items_of_vector<Element>>(place(row, 0));
  }
  /// x = items_at_once items of a row from column on, widened. The caller has made sure of moves_by_vectors(row), and
  /// that column is a multiple of items_at_once and all of the items are in the row.
  template <class T>
  SOFTCHECK_BODY void load_vectors(std::int64_t row, std::int64_t column, T (&x)[items_at_once]) const {
    constexpr int n = items_of_vector<std::remove_cvref_t<decltype(elements.load(0))>>;
    SOFTCHECK_UNROLL
    for (int i = 0; i < items_at_once; i += n) {
      const auto items = elements.template load_vector<n>(place(row, column + i));
      SOFTCHECK_UNROLL
      for (int j = 0; j < n; ++j) x[i + j] = widened(items.entry[j]);
    }
  }
};

/// A matrix that a body reads, and one that it writes.
template <BlockContext B, class Element>
using ReadMatrix = Matrix<typename B::template Global<const Element>>;
template <BlockContext B, class Element>
using WrittenMatrix = Matrix<typename B::template Global<Element>>;

/// The logits of a call, which the launcher fills in.
///
/// values   (rows, columns)
/// mask     (rows, columns) of bytes, read where masked is true; an item of byte 0 is masked
template <BlockContext B, class Element>
struct Logits {
  ReadMatrix<B, Element> values;
  ReadMatrix<B, std::uint8_t> mask;
  bool masked = false;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// One row of the logits, as a thread reads it.
template <BlockContext B, class Element>
struct LogitsRow {
  const Logits<B, Element>& logits;
  std::int64_t row;
  std::int64_t columns;
  bool by_vectors;

  SOFTCHECK_BODY LogitsRow(const Logits<B, Element>& all, std::int64_t r)
      : logits(all), row(r), columns(all.columns), by_vectors(!all.masked && all.values.moves_by_vectors(r)) {}

  /// The logit of a column, widened; -inf if it is masked and beyond the last column. Every column >= 0 is allowed.
  SOFTCHECK_BODY Accumulator<Element> visible(std::int64_t column) const {
    if (column >= columns) return minus_infinity<Accumulator<Element>>();
    if (logits.masked && logits.mask.elements.load(logits.mask.place(row, column)) == 0) {
      return minus_infinity<Accumulator<Element>>();
    }
    return widened(logits.values.elements.load(logits.values.place(row, column)));
  }
  /// x = visible() of items_at_once columns from column on, a multiple of items_at_once. The thread loads them by
  /// vectors where the call has no mask, the row is aligned and all of these columns exist; else one by one.
  SOFTCHECK_BODY void load_group(std::int64_t column, Accumulator<Element> (&x)[items_at_once]) const {
    if (by_vectors && column + items_at_once <= columns) {
      logits.values.load_vectors(row, column, x);
    } else {
      SOFTCHECK_UNROLL
      for (int i = 0; i < items_at_once; ++i) x[i] = visible(column + i);
    }
  }
};

/// The arguments of the row kernels. A block computes one row at a time: rows index(), index() + count(), and so on.
///
/// results   (rows, columns), or (rows, 1) of the kernels with one result a row
/// scale     1 / theta, rounded to the accumulator
/// theta     the temperature in double, > 0: logsumexp divides by it
template <BlockContext B, class Element>
struct RowArguments {
  Logits<B, Element> logits;
  WrittenMatrix<B, Element> results;
  Accumulator<Element> scale = 1;
  double theta = 1;

  /// Writes one result, rounded to its format.
  SOFTCHECK_BODY void store(std::int64_t row, std::int64_t column, Accumulator<Element> value) const {
    results.elements.store(results.place(row, column), narrowed<Element>(value));
  }
  /// Writes the results of items_at_once columns from column on, but none beyond the last column. The caller passes
  /// by_vectors = results.moves_by_vectors(row).
  SOFTCHECK_BODY void store_group(std::int64_t row, std::int64_t column, bool by_vectors,
                                  const Accumulator<Element> (&values)[items_at_once]) const {
    constexpr int n = items_of_vector<Element>;
    if (by_vectors && column + items_at_once <= logits.columns) {
      SOFTCHECK_UNROLL
      for (int i = 0; i < items_at_once; i += n) {
        Vector<Element, n> items;
        SOFTCHECK_UNROLL
        for (int j = 0; j < n; ++j) items.entry[j] = narrowed<Element>(values[i + j]);
        results.elements.store_vector(results.place(row, column + i), items);
      }
    } else {
      SOFTCHECK_UNROLL
      for (int i = 0; i < items_at_once; ++i) {
        if (column + i < logits.columns) store(row, column + i, values[i]);
      }
    }
  }
};

/// Calls one(first column) for each of this thread's groups of a row: group t of every 4 block.size() columns is thread
/// t's.
template <BlockContext B, class One>
SOFTCHECK_BODY void each_group_of_columns(B& block, std::int64_t columns, One one) {
  const std::int64_t step = std::int64_t{items_at_once} * block.size();
  for (std::int64_t begin = std::int64_t{items_at_once} * block.rank(); begin < columns; begin += step) one(begin);
}

/// Calls one(first column, x) for each of this thread's groups, x the group's items by load_group.
template <BlockContext B, class Element, class One>
SOFTCHECK_BODY void each_group(B& block, const LogitsRow<B, Element>& logits, One one) {
  each_group_of_columns(block, logits.columns, [&](std::int64_t begin) {
    Accumulator<Element> x[items_at_once];
    logits.load_group(begin, x);
    one(begin, x);
  });
}

}  // namespace softcheck::kernels
