#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "proptests/generators/rows/row.hpp"

namespace softcheck::proptests {

/// The rows of a matrix: a few that stand in turn, row r being cycle[r % cycle.size()]. 65,536 rows are as short to
/// write, to shrink and to judge as three: what a kernel returns for a row it returns for each that repeats it.
class RowCycle {
 public:
  RowCycle() = default;
  /// Each row once.
  RowCycle(std::vector<RunLengthRow> rows)  // NOLINT: a list of rows reads as a matrix
      : cycle_(std::move(rows)), size_(cycle_.size()) {}
  RowCycle(std::initializer_list<RunLengthRow> rows) : RowCycle(std::vector<RunLengthRow>(rows)) {}
  /// So many rows in all; those of the cycle that are not reached are dropped.
  /// throws   std::invalid_argument when there are rows but no cycle
  RowCycle(std::vector<RunLengthRow> cycle, std::uint64_t size);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const RunLengthRow& operator[](std::size_t r) const { return cycle_[r % cycle_.size()]; }
  const RunLengthRow& back() const { return (*this)[size_ - 1]; }
  /// The first row with the logits of row r.
  std::size_t first_like(std::size_t r) const { return r % cycle_.size(); }
  /// The rows that stand in turn.
  const std::vector<RunLengthRow>& cycle() const { return cycle_; }
  bool repeats() const { return size_ > cycle_.size(); }

  /// Puts change(row) in each row's place.
  template <class Change>
  void replace_each(Change change) {
    for (RunLengthRow& row : cycle_) row = change(row);
  }
  /// Row r alone; it must not repeat.
  void replace(std::size_t r, RunLengthRow row) { cycle_[r] = std::move(row); }

  friend bool operator==(const RowCycle&, const RowCycle&) = default;

 private:
  std::vector<RunLengthRow> cycle_;
  std::uint64_t size_ = 0;
};

}  // namespace softcheck::proptests
