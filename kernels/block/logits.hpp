#pragma once

#include <cstdint>

#include "kernels/block/context.hpp"
#include "kernels/block/formats.hpp"

namespace softcheck::kernels {

/// A matrix in global memory; strides in elements.
template <class View>
struct Matrix {
  View elements;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 1;

  SOFTCHECK_BODY std::int64_t place(std::int64_t row, std::int64_t column) const {
    return row * row_stride + column * column_stride;
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

  SOFTCHECK_BODY LogitsRow(const Logits<B, Element>& all, std::int64_t r) : logits(all), row(r), columns(all.columns) {}

  /// The logit as the accumulator holds it; -inf where it is masked or the row has ended.
  SOFTCHECK_BODY Accumulator<Element> visible(std::int64_t column) const {
    if (column >= columns) return minus_infinity<Accumulator<Element>>();
    if (logits.masked && logits.mask.elements.load(logits.mask.place(row, column)) == 0) {
      return minus_infinity<Accumulator<Element>>();
    }
    return widened(logits.values.elements.load(logits.values.place(row, column)));
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
};

/// Items that a thread reads together, side by side.
inline constexpr int items_at_once = 4;

/// Calls one(column) for the first of each items_at_once columns that are this thread's.
template <BlockContext B, class One>
SOFTCHECK_BODY void each_group_of_columns(B& block, std::int64_t columns, One one) {
  const std::int64_t step = std::int64_t{items_at_once} * block.size();
  for (std::int64_t begin = std::int64_t{items_at_once} * block.rank(); begin < columns; begin += step) one(begin);
}

/// Calls one(column) for each column that is this thread's.
template <BlockContext B, class One>
SOFTCHECK_BODY void each_column(B& block, std::int64_t columns, One one) {
  each_group_of_columns(block, columns, [&](std::int64_t begin) {
    for (int i = 0; i < items_at_once; ++i) {
      if (begin + i < columns) one(begin + i);
    }
  });
}

}  // namespace softcheck::kernels
