#include "proptests/generators/rows/row_cycle.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace softcheck::proptests {

RowCycle::RowCycle(std::vector<RunLengthRow> cycle, std::uint64_t size) : cycle_(std::move(cycle)), size_(size) {
  if (size > 0 && cycle_.empty()) {
    throw std::invalid_argument("RowCycle: need a row to repeat, got none for " + std::to_string(size) + " rows");
  }
  if (cycle_.size() > size) cycle_.resize(size);
}

}  // namespace softcheck::proptests
