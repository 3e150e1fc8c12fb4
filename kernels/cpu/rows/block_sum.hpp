#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/cpu/rows/row_access.hpp"
#include "kernels/cpu/rows/row_state.hpp"

namespace softcheck::kernels::cpu {

/// The block of RowReader::read, but padded with filling.
template <class T>
const T* read_filled(const RowReader<T>& row, std::int64_t index, T* buffer, T filling) {
  const T* values = row.read(index, buffer);
  const std::size_t count = row.length(index);
  std::fill(buffer + count, buffer + row.padded(count), filling);  // none of it where values are read in place
  return values;
}

/// Sums of blocks, sum_of(index) each, added in the tree of PairwiseStates. 0 of none.
template <class T, class SumOf>
T sum_of_blocks(std::int64_t blocks, SumOf sum_of) {
  PairwiseStates<T> states(T(1));
  for (std::int64_t index = 0; index < blocks; ++index) {
    states.add({T(0), {T(0), sum_of(index), T(0), T(0)}});
  }
  return blocks == 0 ? T(0) : states.total().sums.weights;
}

}  // namespace softcheck::kernels::cpu
