#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/block/context.hpp"
#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// Items that a thread reads together, side by side.
inline constexpr int items_at_once = 4;
/// How many of them one instruction moves.
template <class Element>
inline constexpr int items_of_vector = sizeof(Element) == 8 ? 2 : items_at_once;

/// A matrix in global memory; strides in elements.
template <class View>
struct Matrix {
  View elements;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  SOFTCHECK_BODY std::int64_t place(std::int64_t row, std::int64_t column) const {
    return row * row_stride + column * column_stride;
  }
  /// Whether a row's items from any multiple of items_at_once on can be moved by vectors.
  SOFTCHECK_BODY bool moves_by_vectors(std::int64_t row) const {
    using Element = std::remove_cvref_t<decltype(elements.load(0))>;
    return column_stride == 1 && elements.template aligned<items_of_vector<Element>>(place(row, 0));
  }
  /// Where moves_by_vectors(row): items_at_once items from a multiple of that on, all of them in the row.
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

template <BlockContext B, class Element>
using ReadMatrix = Matrix<typename B::template Global<const Element>>;
template <BlockContext B, class Element>
using WrittenMatrix = Matrix<typename B::template Global<Element>>;

/// rows x columns logits and, where masked, as many bytes: 0 hides an item.
template <BlockContext B, class Element>
struct Logits {
  ReadMatrix<B, Element> values;
  ReadMatrix<B, std::uint8_t> mask;
  bool masked = false;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

template <BlockContext B, class Element>
struct LogitsRow {
  const Logits<B, Element>& logits;
  std::int64_t row;
  std::int64_t columns;
  bool by_vectors;

  SOFTCHECK_BODY LogitsRow(const Logits<B, Element>& all, std::int64_t r)
      : logits(all), row(r), columns(all.columns), by_vectors(!all.masked && all.values.moves_by_vectors(r)) {}

  /// The logit as the accumulator holds it; -inf where it is masked or the row has ended.
  SOFTCHECK_BODY Accumulator<Element> visible(std::int64_t column) const {
    if (column >= columns) return minus_infinity<Accumulator<Element>>();
    if (logits.masked && logits.mask.elements.load(logits.mask.place(row, column)) == 0) {
      return minus_infinity<Accumulator<Element>>();
    }
    return widened(logits.values.elements.load(logits.values.place(row, column)));
  }
  /// visible() of items_at_once columns, the first of them a multiple of that.
  SOFTCHECK_BODY void load_group(std::int64_t column, Accumulator<Element> (&x)[items_at_once]) const {
    if (by_vectors && column + items_at_once <= columns) {
      logits.values.load_vectors(row, column, x);
    } else {
      SOFTCHECK_UNROLL
      for (int i = 0; i < items_at_once; ++i) x[i] = visible(column + i);
    }
  }
};

/// What the kernels of the softmax family get: one block computes a row, blocks take rows in turn. scale is 1 / theta,
/// rounded. results: rows x columns, or rows x 1.
template <BlockContext B, class Element, class Result>
struct RowArguments {
  Logits<B, Element> logits;
  WrittenMatrix<B, Result> results;
  Accumulator<Element> scale = 1;
  double theta = 1;

  SOFTCHECK_BODY void store(std::int64_t row, std::int64_t column, Accumulator<Result> value) const {
    results.elements.store(results.place(row, column), narrowed<Result>(value));
  }
  /// As many of items_at_once results as there are columns. by_vectors: results.moves_by_vectors(row)
  SOFTCHECK_BODY void store_group(std::int64_t row, std::int64_t column, bool by_vectors,
                                  const Accumulator<Result> (&values)[items_at_once]) const {
    constexpr int n = items_of_vector<Result>;
    if (by_vectors && column + items_at_once <= logits.columns) {
      SOFTCHECK_UNROLL
      for (int i = 0; i < items_at_once; i += n) {
        Vector<Result, n> items;
        SOFTCHECK_UNROLL
        for (int j = 0; j < n; ++j) items.entry[j] = narrowed<Result>(values[i + j]);
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

/// Calls one(column) for the first of each items_at_once columns that are this thread's.
template <BlockContext B, class One>
SOFTCHECK_BODY void each_group_of_columns(B& block, std::int64_t columns, One one) {
  const std::int64_t step = std::int64_t{items_at_once} * block.size();
  for (std::int64_t begin = std::int64_t{items_at_once} * block.rank(); begin < columns; begin += step) one(begin);
}

/// Calls one(column, items) for each of these groups of a row.
template <BlockContext B, class Element, class One>
SOFTCHECK_BODY void each_group(B& block, const LogitsRow<B, Element>& logits, One one) {
  each_group_of_columns(block, logits.columns, [&](std::int64_t begin) {
    Accumulator<Element> x[items_at_once];
    logits.load_group(begin, x);
    one(begin, x);
  });
}

}  // namespace softcheck::kernels
