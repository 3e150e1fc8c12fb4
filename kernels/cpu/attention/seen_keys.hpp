#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "kernels/call/attention_views.hpp"
#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/machine.hpp"

namespace softcheck::kernels::cpu {

/// A range of keys.
struct KeySpan {
  std::int64_t begin;
  std::size_t count;  // at most key_block
};

/// Rows of a tile.
struct RowSpan {
  std::size_t first, last;  // [first, last)

  std::size_t count() const { return last - first; }
};

/// The keys that the rows of a tile see by causality and windows: for each row one contiguous range.
class SeenKeys {
 public:
  void clear() {
    rows_ = 0;
    first_ = last_ = 0;
  }
  /// Adds a row whose query has this position.
  void add(const AttentionViews& views, std::int64_t place) {
    const AttentionAttributes& of = views.attributes;
    const std::int64_t keys = views.keys(), right = views.causal ? std::min<std::int64_t>(of.right, 0) : of.right;
    const std::int64_t end = std::clamp<std::int64_t>(place + right + 1, 0, keys);
    const std::int64_t begin = std::clamp<std::int64_t>(place - of.left, 0, end);
    begins_[rows_] = begin;
    ends_[rows_] = end;
    if (begin < end) {
      first_ = last_ == 0 ? begin : std::min(first_, begin);
      last_ = std::max(last_, end);
    }
    ++rows_;
  }

  /// The first key of the first block that some row sees; last() ends the range.
  std::int64_t first_block() const { return first_ / block * block; }
  std::int64_t last() const { return last_; }

  /// The rows that see a block, and whether each of them sees all of it; rows outside see none of it.
  struct Seen {
    bool all = true;
    RowSpan rows{0, 0};
  };

  /// Where the rows' keys begin and end in a block.
  Seen find_limits(const KeySpan& keys, std::uint32_t* begin, std::uint32_t* end) const {
    Seen seen;
    for (std::size_t row = 0; row < rows_; ++row) {
      const auto count = static_cast<std::int64_t>(keys.count);
      begin[row] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(begins_[row] - keys.begin, 0, count));
      end[row] = static_cast<std::uint32_t>(std::clamp<std::int64_t>(ends_[row] - keys.begin, 0, count));
      seen.all = seen.all && begin[row] == 0 && end[row] == keys.count;
      if (begin[row] < end[row]) {
        seen.rows = {seen.rows.last == 0 ? row : seen.rows.first, row + 1};
      }
    }
    return seen;
  }

 private:
  static constexpr auto block = static_cast<std::int64_t>(key_block);

  std::array<std::int64_t, tile_rows> begins_, ends_;  // of the rows added
  std::size_t rows_ = 0;
  std::int64_t first_ = 0, last_ = 0;  // 0, 0: no row sees a key
};

}  // namespace softcheck::kernels::cpu
