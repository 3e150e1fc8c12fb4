#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>

#include "kernels/arithmetic/aligned_array.hpp"
#include "kernels/call/attention_views.hpp"
#include "kernels/cpu/attention/attention_passes.hpp"
#include "kernels/cpu/attention/score_terms.hpp"
#include "kernels/cpu/attention/seen_keys.hpp"
#include "kernels/cpu/attention/tile_sizes.hpp"
#include "kernels/cpu/machine.hpp"
#include "kernels/cpu/rows/read_elements.hpp"

namespace softcheck::kernels::cpu {

/// Rows of one key head, (query, head) pairs numbered query by query, the heads of the group one after the other.
struct TilePlace {
  std::int64_t batch, key_head, first;
  std::size_t rows;  // at most tile_rows
};

/// (count, width) numbers of T.
template <class T>
struct RowMajor {
  const T* data;
  std::size_t stride;
};

/// The queries of a tile and their scores against blocks of keys. Memory: O(dim (capacity + key_block)).
template <class T>
class ScoreTile {
 public:
  static constexpr T none = -std::numeric_limits<T>::infinity();

  /// views: of the call, or of one with as many dimensions. capacity: rows of the largest tile, whole vectors. part:
  /// the most rows that are scored at once.
  ScoreTile(const AttentionViews& views, std::size_t capacity, std::size_t part)
      : capacity_(capacity),
        width_(rounded_up(views.dim(), column_group<T>)),
        queries_(capacity * width_, T(0)),
        keys_(key_stride<T> * views.dim()),
        staging_(key_block * std::max(views.dim(), views.value_dim())),
        scores_(part * key_block),
        mask_(part * key_block),
        undefined_(capacity) {
    if (!views.attributes.are_plain()) {
      terms_.emplace(views.attributes.bias ? part * key_block : 0);
    }
  }

  /// Takes the queries. views must outlive the work on this tile. twice: whether blocks will be taken again: then their
  /// scores are kept, if they fit into cached_bytes. For few rows they are always kept, O(keys) of them, because
  /// reading K again would cost more.
  void begin(const AttentionViews& views, const TilePlace& place, bool twice = false) {
    views_ = &views;
    place_ = place;
    load_rows(views.q, width_, queries_.get());
    seen_.clear();
    for (std::size_t row = 0; row < place.rows; ++row) {
      seen_.add(views, place_of(row));
    }
    std::fill(undefined_.get(), undefined_.get() + capacity_, T(0));
    const std::size_t size = cached_size(place.rows, seen_keys());
    const bool few = place.rows <= few_rows;
    keeps_ = twice && (few || size * sizeof(T) <= cached_bytes);
    if (keeps_ && cached_size_ < size) {
      // Allocates for all keys at once: each causal tile sees more keys than the one before.
      const std::size_t all = cached_size(place.rows, views.keys());
      cached_size_ = few ? all : std::min(all, cached_bytes / sizeof(T));
      cache_ = AlignedArray<T>(cached_size_);
    }
  }

  const AttentionViews& views() const { return *views_; }
  const TilePlace& place() const { return place_; }
  std::size_t rows() const { return place_.rows; }
  std::int64_t head_of(std::size_t row) const {
    return place_.key_head * views_->group() + (place_.first + static_cast<std::int64_t>(row)) % views_->group();
  }
  std::int64_t query_of(std::size_t row) const {
    return (place_.first + static_cast<std::int64_t>(row)) / views_->group();
  }
  /// The position of the row's query.
  std::int64_t place_of(std::size_t row) const { return query_of(row) + views_->diagonal(); }
  /// Whether a block scored since begin made the row undefined.
  bool undefined(std::size_t row) const { return undefined_.get()[row] != 0; }
  /// (rows, width), padded with 0.
  RowMajor<T> queries() const { return {queries_.get(), width_}; }

  /// Calls each(span) for the blocks of keys from the first to the last that any row sees, and at least once.
  template <class Each>
  void each_block(Each each) const {
    std::int64_t begin = seen_.first_block();
    do {
      each(block_at(begin));
      begin += static_cast<std::int64_t>(key_block);
    } while (begin < seen_.last());
  }
  /// The number of the call's blocks of keys before the seen ones.
  std::size_t skipped_blocks() const { return static_cast<std::size_t>(seen_.first_block()) / key_block; }
  /// From the first block's first key to the last one that any row sees.
  std::int64_t seen_keys() const { return seen_.last() - seen_.first_block(); }
  /// A block's number among the seen ones.
  std::size_t number_of(const KeySpan& keys) const {
    return static_cast<std::size_t>(keys.begin - seen_.first_block()) / key_block;
  }
  KeySpan block_at(std::int64_t begin) const {
    return {begin, static_cast<std::size_t>(std::min<std::int64_t>(key_block, views_->keys() - begin))};
  }

  /// Takes a block of keys, for score. again: whether it was already taken since begin. Returns the rows that see any
  /// of it.
  RowSpan take(const KeySpan& keys, bool again = false) {
    const std::size_t width = see(keys);
    cached_block_ = keeps_ ? cache_.get() + number_of(keys) * cache_of_block(place_.rows) : nullptr;
    scored_ = keeps_ && again;
    if (scored_) {
      return seen_rows_;
    }
    if (rows() > few_rows) {
      load_keys(views_->k, keys, keys_.get());
    } else {
      rows_at(views_->k, keys, width);
      known_ = known_rows(keys, width);
    }
    return seen_rows_;
  }

  /// Scores of some rows, at most row_part, against the block that was taken, and the largest of each row. The caller
  /// computes the weights.
  TileScores<T> score(const RowSpan& rows, T* maximum, RowsAhead* ahead = nullptr) {
    const TileScores<T> tile = scores_of(rows, keeps_ ? cached_block_ + rows.first * key_block : scores_.get());
    T* cached_maximum = keeps_ ? cached_block_ + place_.rows * key_block : nullptr;
    if (scored_) {
      std::copy(cached_maximum + rows.first, cached_maximum + rows.last, maximum + rows.first);
      return tile;
    }
    const T* queries = queries_.get() + rows.first * width_;
    if (place_.rows > few_rows) {
      tile_product(
          TileProduct<T>{queries, width_, 1, keys_.get(), key_stride<T>, views_->dim(), tile.scores, key_block, ahead},
          rows.count(), tile.width);
    } else {
      row_product(RowProduct<T>{queries, width_, key_rows_.data(), known_, views_->dim(), tile.scores, key_block},
                  rows.count(), tile.width);
    }
    mask(tile, maximum);
    if (keeps_) {
      std::copy(maximum + rows.first, maximum + rows.last, cached_maximum + rows.first);
    }
    return tile;
  }

  /// Computes the scores of the rows that see any of a block, against keys that load_keys has loaded, and -inf for the
  /// other rows. Calls each(part) for parts of at most row_part rows, after their scores. The constructor's part must
  /// be all rows. scores: (rows, key_block)
  template <class Each>
  void score_all(const T* transposed, const KeySpan& keys, T* scores, T* maximum, RowsAhead* ahead, Each each) {
    see(keys);
    const RowSpan seen = seen_rows_;
    std::fill(scores, scores + seen.first * key_block, none);
    std::fill(scores + seen.last * key_block, scores + rows() * key_block, none);
    std::fill(maximum, maximum + seen.first, none);
    std::fill(maximum + seen.last, maximum + rows(), none);
    for (std::size_t first = seen.first; first < seen.last; first += row_part) {
      const RowSpan part{first, std::min(first + row_part, seen.last)};
      const TileScores<T> tile = scores_of(part, scores + first * key_block);
      tile_product(TileProduct<T>{queries_.get() + first * width_, width_, 1, transposed, key_stride<T>, views_->dim(),
                                  tile.scores, key_block, ahead},
                   part.count(), tile.width);
      mask(tile, maximum);
      each(part);
    }
  }
  /// Rows that see any of the block of the last see().
  const RowSpan& seen_rows() const { return seen_rows_; }
  /// Finds which keys of a block the rows see. Returns the block's padded width.
  std::size_t see(const KeySpan& keys) {
    const SeenKeys::Seen seen = seen_.find_limits(keys, begins_.data(), limits_.data());
    partial_ = !seen.all || views_->mask.has_value();
    seen_rows_ = seen.rows;
    block_ = keys;
    return rounded_up(keys.count, row_group<T>);
  }
  /// Whether some row does not see all of the last scored block.
  bool partial() const { return partial_; }
  /// Whether scores are kept for a second pass.
  bool keeps() const { return keeps_; }

  /// A block of K or V, transposed: (dim, key_block) at key_stride, 0 beyond its count.
  void load_keys(const View4& view, const KeySpan& keys, T* to) {
    const std::size_t width = rounded_up(keys.count, row_group<T>);
    transpose_rows(rows_at(view, keys, width), width, static_cast<std::size_t>(view.shape[3]), to);
  }

  /// A block of K or V in place, if it is row-major with width columns; else copied to buffer, whose further columns
  /// are 0.
  RowMajor<T> keys_in_rows(const View4& view, const KeySpan& keys, std::size_t width, T* buffer) const {
    const auto dim = static_cast<std::size_t>(view.shape[3]);
    const auto row_stride = static_cast<std::size_t>(view.strides[2]);
    const T* first = elements(view, place_.key_head, keys.begin, keys.count == 0 ? 0 : dim, buffer);
    if (first != buffer && dim == width && row_stride % sizeof(T) == 0) {
      return {first, row_stride / sizeof(T)};
    }
    for (std::size_t j = 0; j < keys.count; ++j) {
      T* to = buffer + j * width;
      const T* from = elements(view, place_.key_head, keys.begin + static_cast<std::int64_t>(j), dim, to);
      if (from != to) {
        std::copy(from, from + dim, to);
      }
    }
    return {buffer, width};
  }

  /// The block after some keys.
  KeySpan next_block(const KeySpan& keys) const {
    const std::int64_t next = keys.begin + static_cast<std::int64_t>(keys.count);
    return next < seen_.last() ? block_at(next) : KeySpan{next, 0};
  }
  /// The rows of K or V in a block, for prefetching; no rows if a row's numbers are not contiguous.
  RowsAhead rows_ahead(const View4& view, const KeySpan& keys) const {
    const std::int64_t stride = view.strides[3];
    if (stride <= 0 || stride > static_cast<std::int64_t>(sizeof(double))) {
      return {};
    }
    return {view.at(place_.batch, place_.key_head, keys.begin), view.strides[2],
            static_cast<std::size_t>(view.shape[3] * stride), keys.count};
  }

  /// Copies the tile's rows of a view like q: (rows, width); does not write further columns.
  void load_rows(const View4& view, std::size_t width, T* to) const {
    const auto dim = static_cast<std::size_t>(view.shape[3]);
    for (std::size_t row = 0; row < rows(); ++row, to += width) {
      const T* read = elements(view, head_of(row), query_of(row), dim, to);
      if (read != to) {
        std::copy(read, read + dim, to);
      }
    }
  }

  /// Stores a row's number, if the call has that output.
  void store(const std::optional<View4>& to, std::size_t row, double value) const {
    if (to) {
      store_element(to->at(place_.batch, head_of(row), query_of(row)), to->storage, value);
    }
  }

 private:
  /// So few rows that K is not worth turning for them.
  static constexpr std::size_t few_rows = 4;

  /// What ScoreTerms points to.
  struct TermRows {
    explicit TermRows(std::size_t biases) : bias(biases) {}
    AlignedArray<T> bias;
    std::array<std::int64_t, tile_rows> offsets;
    std::array<T, tile_rows> slopes;
  };

  /// count elements of the last dimension: in place where they lie as T, else in buffer.
  const T* elements(const View4& view, std::int64_t head, std::int64_t row, std::size_t count, T* buffer) const {
    return read_elements(view.at(place_.batch, head, row), view.storage, view.strides[3], count, buffer);
  }

  /// The addresses of a block's rows: in place, or copied to staging if they cannot be read in place; zeros beyond its
  /// count.
  const T* const* rows_at(const View4& view, const KeySpan& keys, std::size_t width) {
    const auto dim = static_cast<std::size_t>(view.shape[3]);
    const std::byte* from = view.at(place_.batch, place_.key_head, keys.begin);
    const bool in_place = lie_in_place<T>(from, view.storage, view.strides[3]) && view.strides[2] % alignof(T) == 0;
    for (std::size_t j = 0; j < keys.count; ++j, from += view.strides[2]) {
      key_rows_[j] = reinterpret_cast<const T*>(from);
      if (!in_place) {
        T* buffer = staging_.get() + j * dim;
        key_rows_[j] = read_elements(from, view.storage, view.strides[3], dim, buffer);
      }
    }
    for (std::size_t j = keys.count; j < width; ++j) {
      T* buffer = staging_.get() + j * dim;
      std::fill(buffer, buffer + dim, T(0));
      key_rows_[j] = buffer;
    }
    return key_rows_.data();
  }

  /// The number of rows that rows_at has returned, plus those of the next block if these are also read in place.
  std::size_t known_rows(const KeySpan& keys, std::size_t width) {
    const T* staged = staging_.get();
    const std::int64_t next = keys.begin + static_cast<std::int64_t>(keys.count);
    if (width != key_block || next >= seen_.last() || key_rows_[0] == staged) {
      return width;
    }
    const auto more = static_cast<std::size_t>(
        std::min<std::int64_t>(static_cast<std::int64_t>(fetched_rows<T>), views_->keys() - next));
    for (std::size_t j = 0; j < more; ++j) {
      const std::byte* row = views_->k.at(place_.batch, place_.key_head, next + static_cast<std::int64_t>(j));
      key_rows_[width + j] = reinterpret_cast<const T*>(row);
    }
    return width + more;
  }

  TileScores<T> scores_of(const RowSpan& rows, T* scores) {
    return {rows.first, rows.last,        rounded_up(block_.count, row_group<T>),
            scores,     nullptr,          limits_.data(),
            nullptr,    undefined_.get(), begins_.data()};
  }

  void mask(TileScores<T> tile, T* maximum) {
    if (views_->mask) {
      load_mask(tile);
      tile.mask = mask_.get();
    }
    const auto scale = static_cast<T>(views_->scale);
    if (views_->attributes.are_plain()) {
      mask_scores(tile, scale, maximum);
    } else {
      attribute_scores(tile, terms_of(tile), scale, maximum);
    }
  }

  void load_mask(const TileScores<T>& tile) {
    const View4& mask = *views_->mask;
    for (std::size_t row = tile.first; row < tile.rows; ++row) {
      const std::int64_t head = mask.shape[1] == 1 ? 0 : head_of(row);
      copy_mask(mask.at(place_.batch, head, query_of(row), block_.begin), mask.strides[3], block_.count, tile.width,
                mask_.get() + (row - tile.first) * key_block);
    }
  }

  /// The terms for the scores of a block.
  ScoreTerms<T> terms_of(const TileScores<T>& tile) {
    const AttentionAttributes& of = views_->attributes;
    TermRows& to = *terms_;
    for (std::size_t row = tile.first; row < tile.rows; ++row) {
      to.offsets[row] = block_.begin - place_of(row);
      to.slopes[row] = of.slopes ? load_element<T>(of.slopes->at(head_of(row), 0), of.slopes->storage) : T(0);
      if (of.bias) {
        load_bias(*of.bias, row, tile.width, to.bias.get() + (row - tile.first) * key_block);
      }
    }
    return {static_cast<T>(of.softcap), of.slopes ? to.slopes.data() : nullptr, to.offsets.data(),
            of.bias ? to.bias.get() : nullptr};
  }

  void load_bias(const View4& bias, std::size_t row, std::size_t width, T* buffer) {
    const std::int64_t head = bias.shape[1] == 1 ? 0 : head_of(row);
    copy_elements(bias.at(place_.batch, head, query_of(row), block_.begin), bias.storage, bias.strides[3], block_.count,
                  width, buffer);
  }

  const AttentionViews* views_ = nullptr;
  TilePlace place_{};
  std::size_t capacity_;
  std::size_t width_;  // of a query, with its padding
  AlignedArray<T> queries_, keys_, staging_, scores_, mask_, undefined_;
  std::array<const T*, key_block + fetched_rows<T>> key_rows_{};
  SeenKeys seen_;
  std::array<std::uint32_t, tile_rows> begins_{}, limits_{};
  std::optional<TermRows> terms_;
  AlignedArray<T> cache_{0};
  std::size_t cached_size_ = 0;
  T* cached_block_ = nullptr;  // of the block that was taken
  KeySpan block_{};
  RowSpan seen_rows_{};
  std::size_t known_ = 0;
  bool partial_ = false;
  bool keeps_ = false;
  bool scored_ = false;
};

}  // namespace softcheck::kernels::cpu
