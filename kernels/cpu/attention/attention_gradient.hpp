#pragma once

#include <vector>

#include "kernels/cpu/attention/attention_tile.hpp"
#include "kernels/cpu/rows/gradient_terms.hpp"

// The gradient of attention. With g_j = <dO, v_j> and dx the gradient with respect to a query's scores,
//
//   dq = scale sum_j dx_j k_j,   dk_j = scale sum over queries of dx_j q,   dv_j = sum over queries of p_j dO.
//
// dx is that of a row of (adaptive) softmax, adaptive_backward.hpp: it needs the row's GradientTerms beside its scores
// and g. A first pass over tiles of queries finds them and dq, a second one over blocks of keys dk and dv; both compute
// the scores anew, so that nothing of size queries times keys is kept.
namespace softcheck::kernels::cpu {

/// Rows whose contributions to dk and dv are added one after the other, docs/tolerances/attention_gradient.md.
inline constexpr std::size_t gradient_rows = 48;

/// A tile's scores and g against blocks of keys.
template <class T>
class GradientTile {
 public:
  /// capacity: rows of the largest tile, whole vectors.
  GradientTile(const AttentionViews& views, std::size_t capacity)
      : scores_(views, capacity, capacity),
        incoming_width_(rounded_up(views.value_dim(), column_group<T>)),
        keys_(key_stride<T> * views.dim()),
        values_(key_stride<T> * views.value_dim()),
        incoming_(capacity * incoming_width_, T(0)),
        maximum_(capacity),
        of_block_(2 * capacity * key_block),
        own_(of_block_),
        at_(own_.get()) {}

  /// twice: whether blocks will be scored again: their scores and g are then kept, where either fit into kept_bytes.
  void begin(const AttentionViews& views, const TilePlace& place, bool twice = false) {
    scores_.begin(views, place);
    scores_.load_rows(views.out, incoming_width_, incoming_.get());
    const std::size_t size = 2 * kept_size(of_block_ / (2 * key_block), scores_.seen_keys());
    keeps_ = twice && size * sizeof(T) <= 2 * kept_bytes;
    if (keeps_ && kept_size_ < size) {
      kept_size_ = size;
      kept_ = AlignedArray<T>(size);
    }
  }

  /// K and V of a block, for this tile and others of its key head.
  void load(const KeySpan& keys) {
    scores_.load_keys(scores_.views().k, keys, keys_.get());
    scores_.load_keys(scores_.views().v, keys, values_.get());
  }

  /// Scores and g against the loaded block.
  void score(const KeySpan& keys) {
    at_ = place_of(keys);
    width_ = rounded_up(keys.count, row_group<T>);
    scores_.score_all(keys_.get(), keys, at_, maximum_.get());
    tile_product(TileProduct<T>{incoming_.get(), incoming_width_, 1, values_.get(), key_stride<T>,
                                scores_.views().value_dim(), at_ + of_block_ / 2, key_block},
                 scores_.rows(), width_);
  }
  /// The same of a block that was scored before, since begin.
  void score_again(const KeySpan& keys) {
    if (keeps_) {
      at_ = place_of(keys);
      width_ = scores_.see(keys);
    } else {
      load(keys);
      score(keys);
    }
  }
  // Of a row against the block scored last: its largest score, its sums relative to m, and dx instead of g.
  T maximum(std::size_t row) const { return maximum_.get()[row]; }
  GradientSums<T> sums(std::size_t row, T m, T beta) const {
    return gradient_sums(scores() + row * key_block, gradients() + row * key_block, width_, m, beta);
  }
  void differentiate(std::size_t row, const GradientTerms<T>& terms, T* probabilities) {
    T* g = at_ + of_block_ / 2 + row * key_block;
    block_gradient(scores() + row * key_block, g, width_, terms, g, probabilities);
  }

  ScoreTile<T>& tile() { return scores_; }
  /// dO, (rows, value dim) filled up with 0.
  RowMajor<T> incoming() const { return {incoming_.get(), incoming_width_}; }
  /// (rows, key_block), of the block scored last.
  const T* scores() const { return at_; }
  /// (rows, key_block): g, then dx.
  const T* gradients() const { return at_ + of_block_ / 2; }

 private:
  T* place_of(const KeySpan& keys) const {
    return keeps_ ? kept_.get() + scores_.number_of(keys) * of_block_ : own_.get();
  }

  ScoreTile<T> scores_;
  std::size_t incoming_width_;
  AlignedArray<T> keys_, values_, incoming_, maximum_;
  std::size_t of_block_;  // numbers of a block: scores and g
  AlignedArray<T> own_, kept_{0};
  T* at_;  // of the block scored last
  std::size_t kept_size_ = 0;
  std::size_t width_ = 0;
  bool keeps_ = false;
};

/// to = scale from; -0 becomes 0, so that blocks of keys which a row does not see show in no bit.
template <class T>
void write_scaled(const View4& to, std::int64_t batch, std::int64_t head, std::int64_t row, const T* from, T scale) {
  for (std::int64_t c = 0; c < to.shape[3]; ++c) {
    store_element(to.at(batch, head, row, c), to.storage, scale * from[c] + T(0));
  }
}

/// The terms of queries, and dq.
template <class T>
class QueryGradient {
 public:
  /// views: of the call with the most keys.
  QueryGradient(const AttentionGradientViews& views, std::size_t capacity)
      : tile_(views.forward, capacity),
        statistics_(views.forward.keys(), capacity, 0),
        width_(tile_.tile().queries().stride),
        keys_(key_block * width_, T(0)),
        beta_(capacity, T(1)),
        sums_(static_cast<std::size_t>(views.forward.keys()) / key_block + 1, capacity * width_) {}

  /// terms: (rows)
  void run(const AttentionGradientViews& views, const TilePlace& place, bool adaptive, GradientTerms<T>* terms) {
    tile_.begin(views.forward, place, true);
    if (adaptive) {
      find_adaptive_terms(terms);
    } else {
      find_terms(views, place, terms);
    }
    ScoreTile<T>& scores = tile_.tile();
    sums_.clear();
    scores.each_block([&](const KeySpan& keys) {
      tile_.score_again(keys);
      for (std::size_t row = 0; row < place.rows; ++row) {
        tile_.differentiate(row, terms[row], nullptr);
      }
      const RowMajor<T> k = scores.keys_in_rows(views.forward.k, keys, width_, keys_.get());
      partial_product(
          TileProduct<T>{tile_.gradients(), key_block, 1, k.data, k.stride, keys.count, sums_.next(), width_},
          scores.partial(), tile_.scores(), place.rows, width_);
      sums_.push();
    });
    const T* dq = sums_.total();
    for (std::size_t row = 0; row < place.rows; ++row) {
      write_scaled(views.dq, place.batch, scores.head_of(row), scores.query_of(row), dq + row * width_,
                   static_cast<T>(views.forward.scale));
    }
  }

 private:
  void find_terms(const AttentionGradientViews& views, const TilePlace& place, GradientTerms<T>* terms) {
    const std::vector<GradientTotals> totals = gradient_totals(nullptr, beta_.get());
    const ScoreTile<T>& scores = tile_.tile();
    for (std::size_t row = 0; row < totals.size(); ++row) {
      const auto by_lse = [&] {
        const std::optional<View4>& all = views.by_lse;
        return all ? load_element<double>(all->at(place.batch, scores.head_of(row), scores.query_of(row)), all->storage)
                   : 0;
      };
      terms[row] =
          is_plain(row, totals[row]) ? gradient_terms<T>(totals[row], {1, 0}, 1, 0, by_lse()) : without_sum(row);
    }
  }

  void find_adaptive_terms(GradientTerms<T>* terms) {
    ScoreTile<T>& scores = tile_.tile();
    std::fill(beta_.get(), beta_.get() + scores.rows(), T(1));
    const TileState<T> state = statistics_.run(scores, nullptr, beta_.get());
    AdaptiveBeta betas[tile_rows];
    for (std::size_t row = 0; row < scores.rows(); ++row) {
      betas[row] = adaptive_beta_and_slope(entropy_of(state, row));
      beta_.get()[row] = static_cast<T>(betas[row].value);
    }
    const std::vector<GradientTotals> totals = gradient_totals(state.maximum, beta_.get());
    for (std::size_t row = 0; row < totals.size(); ++row) {
      terms[row] =
          is_plain(row, totals[row])
              ? gradient_terms<T>(totals[row], betas[row], 1 + sum_minus_one(state, row), mean_deviation(state, row))
              : without_sum(row);
    }
  }

  /// maximum: as of WeightPass.
  std::vector<GradientTotals> gradient_totals(const T* maximum, const T* beta) {
    std::vector<GradientTotals> totals(tile_.tile().rows());
    tile_.tile().each_block([&](const KeySpan& keys) {
      tile_.load(keys);
      tile_.score(keys);
      for (std::size_t row = 0; row < totals.size(); ++row) {
        if (tile_.maximum(row) != ScoreTile<T>::none) {
          const T m = maximum == nullptr ? tile_.maximum(row) : maximum[row];
          totals[row].add(m, tile_.sums(row, m, beta[row]));
        }
      }
    });
    return totals;
  }

  bool is_plain(std::size_t row, const GradientTotals& totals) {
    return !tile_.tile().undefined(row) && totals.sums.weights > 0;
  }
  /// Of a row that sees nothing: all 0; of one whose softmax is NaN: NaN wherever it sees.
  GradientTerms<T> without_sum(std::size_t row) {
    const T value = tile_.tile().undefined(row) ? std::numeric_limits<T>::quiet_NaN() : T(0);
    return {T(0), T(1), value, value, value, T(0), T(0)};
  }

  GradientTile<T> tile_;
  WeightPass<T> statistics_;
  std::size_t width_;  // of a query, with its padding
  AlignedArray<T> keys_, beta_;
  PairwiseSums<T> sums_;
};

/// dk and dv of a block of keys: sums over all rows of their key head, tile by tile, in an order that depends on the
/// shapes alone.
template <class T>
class KeyGradient {
 public:
  /// views: of the call with the most queries.
  explicit KeyGradient(const AttentionGradientViews& views)
      : tile_(views.forward, gradient_rows),
        probabilities_(gradient_rows * key_block),
        dk_(tiles_of(views.forward), key_block * tile_.tile().queries().stride),
        dv_(tiles_of(views.forward), key_block * tile_.incoming().stride) {}

  /// terms: of the key head's rows.
  void run(const AttentionGradientViews& views, std::int64_t batch, std::int64_t key_head, const KeySpan& keys,
           const GradientTerms<T>* terms) {
    const AttentionViews& forward = views.forward;
    dk_.clear();
    dv_.clear();
    const std::int64_t rows = rows_of(forward);
    const std::int64_t begin = first_row(forward, keys);
    for (std::int64_t first = begin; first < rows; first += most) {
      tile_.begin(forward, {batch, key_head, first, static_cast<std::size_t>(std::min(most, rows - first))});
      if (first == begin) {
        tile_.load(keys);
      }
      add_tile(keys, terms + first, views.dv.has_value());
    }
    write(views.dk, batch, key_head, keys, dk_.total(), tile_.tile().queries().stride, static_cast<T>(forward.scale));
    write(views.dv, batch, key_head, keys, dv_.total(), tile_.incoming().stride, T(1));
  }

 private:
  static constexpr auto most = static_cast<std::int64_t>(gradient_rows);

  static std::size_t tiles_of(const AttentionViews& views) {
    return static_cast<std::size_t>((rows_of(views) + most - 1) / most);
  }

  /// Of the first tile that sees any of the keys.
  static std::int64_t first_row(const AttentionViews& forward, const KeySpan& keys) {
    const std::int64_t diagonal = forward.keys() - forward.queries();
    const std::int64_t right = forward.causal ? 0 : forward.attributes.right;
    const std::int64_t first_query = std::max<std::int64_t>(keys.begin - diagonal - right, 0);
    return first_query * forward.group() / most * most;
  }

  void add_tile(const KeySpan& keys, const GradientTerms<T>* terms, bool of_values) {
    tile_.score(keys);
    ScoreTile<T>& scores = tile_.tile();
    for (std::size_t row = 0; row < scores.rows(); ++row) {
      tile_.differentiate(row, terms[row], probabilities_.get() + row * key_block);
    }
    add_product(keys, tile_.gradients(), scores.queries(), dk_);
    if (of_values) {
      add_product(keys, probabilities_.get(), tile_.incoming(), dv_);
    }
  }

  /// The next of sums: a^T b, a (rows, key_block).
  void add_product(const KeySpan& keys, const T* a, const RowMajor<T>& b, PairwiseSums<T>& sums) {
    ScoreTile<T>& scores = tile_.tile();
    partial_product(TileProduct<T>{a, 1, key_block, b.data, b.stride, scores.rows(), sums.next(), b.stride},
                    scores.partial(), tile_.scores(), keys.count, b.stride);
    sums.push();
  }

  static void write(const std::optional<View4>& to, std::int64_t batch, std::int64_t key_head, const KeySpan& keys,
                    const T* from, std::size_t stride, T scale) {
    for (std::size_t j = 0; to && j < keys.count; ++j) {
      write_scaled(*to, batch, key_head, keys.begin + static_cast<std::int64_t>(j), from + j * stride, scale);
    }
  }

  GradientTile<T> tile_;
  AlignedArray<T> probabilities_;
  PairwiseSums<T> dk_, dv_;
};

}  // namespace softcheck::kernels::cpu
