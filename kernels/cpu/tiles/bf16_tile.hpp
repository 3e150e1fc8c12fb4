#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/call/attention_views.hpp"
#include "kernels/cpu/attention/score_tile.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/tiles/flushing_scope.hpp"
#include "kernels/cpu/tiles/tile_lane.hpp"
#include "kernels/cpu/tiles/tile_states.hpp"

namespace softcheck::kernels::cpu {

/// Most rows of a tile: V of a block is turned for each tile.
inline constexpr std::size_t most_tile_rows = 512;

/// Keys whose blocks are added one after the other: 16 blocks of 4 tiles. Beyond, states are merged pairwise.
inline constexpr std::size_t chunk_keys = 16 * tile_keys;

inline std::size_t chunks_of(std::int64_t keys) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(keys, 1));
  return (count + chunk_keys - 1) / chunk_keys;
}

/// bf16 attention for one tile of rows after the other, as TilePlace numbers them, block of keys by block. Memory:
/// O(dim (rows + tile_keys) + rows dim log keys).
class Bf16Tile {
 public:
  /// views: of the call with the most keys. rows: the most of a tile, a multiple of unit_rows.
  Bf16Tile(const TileLane& lane, const AttentionViews& views, std::size_t rows)
      : lane_(lane),
        steps_(rounded_up(views.dim(), tile_depth) / tile_depth),
        width_(rounded_up(views.value_dim(), tile_depth)),
        queries_(rows * steps_ * tile_depth / 2),
        staging_(tile_keys * std::max(steps_ * tile_depth, width_)),
        values_staging_(tile_keys * width_),
        values_(tile_keys * width_),
        scores_(unit_rows * tile_keys),
        weights_(unit_rows * tile_keys / 2),
        visible_(unit_groups * tile_keys),
        limits_(rows),
        row_(width_),
        out_(width_),
        states_(chunks_of(views.keys()), rows, width_) {}

  void attend(const AttentionViews& views, const TilePlace& place) {
    views_ = &views;
    place_ = place;
    units_ = rounded_up(place.rows, unit_rows) / unit_rows;
    load_queries();
    const std::int64_t last = find_limits();
    const FlushingScope flushing;
    lane_.configure();
    states_.clear(units_);
    std::int64_t first = 0;
    do {
      const UnitStates& state = states_.next();
      const std::int64_t end = std::min(last, first + static_cast<std::int64_t>(chunk_keys));
      for (std::int64_t block = first; block < end; block += static_cast<std::int64_t>(tile_keys)) {
        attend_block(state, block, static_cast<std::size_t>(std::min(end - block, std::int64_t{tile_keys})));
      }
      states_.push(lane_);
      first = end;
    } while (first < last);
    const UnitStates& total = states_.total(lane_);
    lane_.release();
    finish(total);
  }

 private:
  std::int64_t head_of(std::size_t row) const {
    return place_.key_head * views_->group() + (place_.first + static_cast<std::int64_t>(row)) % views_->group();
  }
  std::int64_t query_of(std::size_t row) const {
    return (place_.first + static_cast<std::int64_t>(row)) / views_->group();
  }

  void load_queries() {
    const std::size_t width = steps_ * tile_depth;
    for (std::size_t first = 0; first < units_ * unit_rows; first += tile_lanes) {
      for (std::size_t i = 0; i < tile_lanes; ++i) {
        std::uint16_t* to = staging_.get() + i * width;
        const std::size_t row = first + i;
        if (row < place_.rows) {
          copy_bf16(views_->q.at(place_.batch, head_of(row), query_of(row)), views_->q.strides[3], views_->dim(), width,
                    to);
        } else {
          std::fill(to, to + width, std::uint16_t{0});
        }
      }
      lane_.pack_queries(staging_.get(), steps_, queries_.get() + first * width / 2);
    }
  }

  /// Finds how many keys causality lets each row see, with the padding rows like the last row. Returns the largest
  /// number.
  std::int64_t find_limits() {
    const std::int64_t right = views_->causal ? 0 : AttentionAttributes::all;
    std::int64_t last = 0;
    for (std::size_t row = 0; row < units_ * unit_rows; ++row) {
      const std::int64_t stands = views_->diagonal() + query_of(std::min(row, place_.rows - 1));
      limits_[row] = std::clamp<std::int64_t>(stands + right + 1, 0, views_->keys());
      last = std::max(last, limits_[row]);
    }
    return last;
  }

  void attend_block(const UnitStates& state, std::int64_t first, std::size_t count) {
    const std::size_t keys = rounded_up(count, tile_depth), dim = steps_ * tile_depth;
    const Bf16Rows values =
        rows_of_keys(views_->v, place_.batch, place_.key_head, first, count, keys, width_, values_staging_.get());
    const bool finite = lane_.pack_values(values.data, values.stride, keys, width_, values_.get());
    if (!finite) {
      const Bf16Rows clean = finite_rows(values, keys, width_, values_staging_.get());
      lane_.pack_values(clean.data, clean.stride, keys, width_, values_.get());
    }
    const Bf16Rows rows =
        rows_of_keys(views_->k, place_.batch, place_.key_head, first, count, keys, dim, staging_.get());
    UnitBlock block{
        rows.data,     rows.stride,   steps_,         nullptr, keys, nullptr, static_cast<float>(views_->scale),
        values_.get(), scores_.get(), weights_.get(), {}};
    for (std::size_t unit = 0; unit < units_; ++unit) {
      const std::int64_t* limits = limits_.data() + unit * unit_rows;
      if (*std::max_element(limits, limits + unit_rows) <= first) {
        continue;
      }
      const bool all = *std::min_element(limits, limits + unit_rows) >= first + static_cast<std::int64_t>(keys);
      block.visible = all && !views_->mask ? nullptr : find_visible(unit, first, count, keys);
      block.queries = queries_.get() + unit * unit_rows * dim / 2;
      block.state = state.unit(unit);
      lane_.attend(block);
      if (!finite) {
        add_what_is_not_finite(block, first, count);
      }
    }
  }

  /// A bit for each row of a unit that sees the key.
  const std::uint16_t* find_visible(std::size_t unit, std::int64_t first, std::size_t count, std::size_t keys) {
    std::uint16_t* const visible = visible_.get();
    std::fill_n(visible, unit_groups * tile_keys, std::uint16_t{0});
    for (std::size_t i = 0; i < unit_rows; ++i) {
      const std::size_t row = unit * unit_rows + i;
      const auto seen = static_cast<std::size_t>(
          std::clamp<std::int64_t>(limits_[row] - first, 0, static_cast<std::int64_t>(std::min(count, keys))));
      std::uint16_t* to = visible + i / tile_lanes * tile_keys;
      const auto bit = static_cast<std::uint16_t>(1u << i % tile_lanes);
      if (!views_->mask || row >= place_.rows) {
        for (std::size_t j = 0; j < seen; ++j) to[j] = static_cast<std::uint16_t>(to[j] | bit);
        continue;
      }
      const View4& mask = *views_->mask;
      add_mask(mask.at(place_.batch, mask.shape[1] == 1 ? 0 : head_of(row), query_of(row), first), mask.strides[3],
               seen, bit, to);
    }
    return visible;
  }
  static void add_mask(const std::byte* mask, std::int64_t stride, std::size_t count, std::uint16_t bit,
                       std::uint16_t* to) {
    if (stride == 1) {
      for (std::size_t j = 0; j < count; ++j) {
        to[j] = static_cast<std::uint16_t>(to[j] | (mask[j] == std::byte{0} ? 0 : bit));
      }
      return;
    }
    for (std::size_t j = 0; j < count; ++j, mask += stride) {
      to[j] = static_cast<std::uint16_t>(to[j] | (*mask == std::byte{0} ? 0 : bit));
    }
  }

  /// The products used 0 for infinite or NaN values; this adds these values for the rows that see them.
  void add_what_is_not_finite(const UnitBlock& block, std::int64_t first, std::size_t count) {
    for (std::size_t j = 0; j < count; ++j) {
      copy_bf16(views_->v.at(place_.batch, place_.key_head, first + static_cast<std::int64_t>(j)), views_->v.strides[3],
                views_->value_dim(), width_, row_.get());
      for (std::size_t c = 0; c < views_->value_dim(); ++c) {
        if (!is_finite_bf16(row_.get()[c])) {
          add_value(block, j, c, bf16_to_f32(row_.get()[c]));
        }
      }
    }
  }
  static void add_value(const UnitBlock& block, std::size_t key, std::size_t column, float value) {
    for (std::size_t i = 0; i < unit_rows; ++i) {
      const std::size_t group = i / tile_lanes, lane = i % tile_lanes;
      if (block.visible != nullptr && (block.visible[group * tile_keys + key] >> lane & 1u) == 0) {
        continue;
      }
      const std::uint32_t pair = block.weights[(group * tile_keys + key) / 2 * tile_lanes + lane];
      const float weight = bf16_to_f32(static_cast<std::uint16_t>(key % 2 == 0 ? pair & 0xffffu : pair >> 16));
      block.state.values_of(group)[column * tile_lanes + lane] += weight * value;
    }
  }

  void finish(const UnitStates& total) {
    for (std::size_t row = 0; row < place_.rows; ++row) {
      const UnitState state = total.unit(row / unit_rows);
      const std::size_t at = row % unit_rows;
      const float* values = state.values_of(at / tile_lanes) + at % tile_lanes;
      const float sum = state.sum[at];
      float* out = out_.get();
      double lse = -std::numeric_limits<double>::infinity(), entropy = 0, maximum = lse;
      if (std::isnan(sum)) {
        lse = entropy = maximum = std::numeric_limits<double>::quiet_NaN();
        std::fill(out, out + width_, std::numeric_limits<float>::quiet_NaN());
      } else if (state.maximum[at] == -std::numeric_limits<float>::infinity()) {
        std::fill(out, out + width_, 0.0f);  // contract masked=zero
      } else {
        for (std::size_t c = 0; c < width_; ++c) {
          out[c] = values[c * tile_lanes] / sum + 0.0f;  // no -0 of a negative sum that was flushed
        }
        maximum = double{state.maximum[at]} + 0.0;
        lse = maximum + std::log(double{sum});
        entropy = std::log(double{sum}) + double{state.deviations[at]} / double{sum};
      }
      write(row, out, lse, entropy, maximum);
    }
  }
  void write(std::size_t row, const float* out, double lse, double entropy, double maximum) const {
    const std::int64_t head = head_of(row), query = query_of(row);
    store_elements(out, views_->value_dim(), views_->out.at(place_.batch, head, query), views_->out.storage,
                   views_->out.strides[3]);
    const auto store = [&](const std::optional<View4>& to, double value) {
      if (to) store_element(to->at(place_.batch, head, query), to->storage, value);
    };
    store(views_->lse, lse);
    store(views_->entropy, entropy);
    store(views_->maximum, maximum);
  }

  const TileLane& lane_;
  const AttentionViews* views_ = nullptr;
  TilePlace place_{};
  std::size_t units_ = 0;
  std::size_t steps_, width_;  // of a key, in tile_depth; of a value, with its padding
  AlignedArray<std::uint32_t> queries_;
  AlignedArray<std::uint16_t> staging_, values_staging_, values_;
  AlignedArray<float> scores_;
  AlignedArray<std::uint32_t> weights_;
  AlignedArray<std::uint16_t> visible_;
  std::vector<std::int64_t> limits_;
  AlignedArray<std::uint16_t> row_;
  AlignedArray<float> out_;
  ChunkStates states_;
};

}  // namespace softcheck::kernels::cpu
