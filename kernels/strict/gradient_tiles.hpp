#pragma once

#include "kernels/strict/gradient_passes.hpp"
#include "kernels/strict/query_tile.hpp"

// Attention backward: the bodies of kernels/block/attention_backward.hpp. Differentiate computes dq by tiles of
// queries, then dk and dv by tiles of keys.
namespace softcheck::kernels::strict {

/// The QueryGradient of all queries of a call: the queries' tiles write it, the keys' tiles read it. Memory: seven
/// numbers a query.
template <class T>
class CachedQueries {
 public:
  explicit CachedQueries(const AttentionViews& views)
      : heads_(views.heads()),
        blocks_((views.queries() + std::int64_t{block_keys} - 1) / std::int64_t{block_keys}),
        all_(static_cast<std::size_t>(views.batch() * heads_ * blocks_)) {}

  /// The block of queries that query is in: entry t is that of query / block_keys * block_keys + t.
  QueryGradients<T>& block_of(std::int64_t batch, std::int64_t head, std::int64_t query) {
    return all_[static_cast<std::size_t>((batch * heads_ + head) * blocks_ + query / std::int64_t{block_keys})];
  }

 private:
  std::int64_t heads_, blocks_;
  std::vector<QueryGradients<T>> all_;
};

/// query_backward_body(), one tile of queries at a time. Memory: O((dim + value_dim) block_keys).
template <class T>
class QueryGradientTile {
 public:
  QueryGradientTile(const AttentionGradientViews& views, CachedQueries<T>& kept)
      : views_(views),
        cache_(kept),
        tile_(views.forward),
        incoming_(tile_rows, views.forward.value_dim(), 1),
        values_(views.forward.value_dim()),
        scores_(tile_rows * block_keys, T(0)),
        products_(tile_rows * block_keys, T(0)),
        columns_(tile_rows, views.forward.dim()),
        sums_(tile_rows),
        queries_(tile_rows) {}

  /// Computes the queries of the tile at place: writes dq, and their QueryGradient into kept.
  void differentiate(const TilePlace& place, bool adaptive) {
    tile_.begin(place);
    incoming_.load(views_.forward.out, place.batch, place.head, place.first);
    find_gradients(adaptive);
    columns_.clear();
    QueryGradients<T> of;
    T weights[block_keys], slopes[block_keys];
    for (std::int64_t key = 0; key < tile_.columns(); key += std::int64_t{block_keys}) {
      score(key);
      for (std::size_t i = 0; i < place.count; ++i) {
        of.fill(0, threads, queries_[i]);
        gradient_passes<T>().differentiate(scores_of(i), products_of(i), of, adaptive, weights, slopes);
        const Rows<T>& keys = tile_.keys();
        attention_passes<T>().add_rows(weights, slopes, keys.data(), keys.count(), columns_.row(i));
      }
    }
    for (std::size_t i = 0; i < place.count; ++i) {
      write_columns(columns_.row(i), static_cast<T>(views_.forward.scale), views_.dq, place.batch, place.head,
                    place.row(i));
      cache_.block_of(place.batch, place.head, place.row(i))
          .fill(static_cast<std::size_t>(place.row(i)) % block_keys, 1, queries_[i]);
    }
  }

 private:
  const T* scores_of(std::size_t i) const { return scores_.get() + i * block_keys; }
  const T* products_of(std::size_t i) const { return products_.get() + i * block_keys; }

  /// Computes the scores of a block of keys, and d_out v of each.
  void score(std::int64_t key) {
    tile_.score(key, scores_.get());
    values_.load(views_.forward.v, tile_.place().batch, tile_.key_head(), key);
    attention_passes<T>().score(incoming_.data(), tile_.place().count, incoming_.dim(), values_.turned(), T(1),
                                products_.get(), block_keys);
  }

  /// query_gradient() of each query of the tile.
  void find_gradients(bool adaptive) {
    const auto all = tile_.statistics(0, tile_.columns());
    const std::size_t count = tile_.place().count;
    std::array<AdaptiveBeta, tile_rows> betas;
    for (std::size_t i = 0; i < count; ++i) {
      sums_[i] = {};
      betas[i] = {1, 0};
      const bool sees = all[i].maximum > minus_infinity<T>();
      if (adaptive && sees) betas[i] = adaptive_beta_and_slope(entropy_of(all[i]));
      queries_[i] = {all[i].maximum, static_cast<T>(betas[i].value), 0, 0, 0, 0, 0};
    }
    for (std::int64_t key = 0; key < tile_.columns(); key += std::int64_t{block_keys}) {
      score(key);
      for (std::size_t i = 0; i < count; ++i) {
        const QueryGradient<T>& of = queries_[i];
        if (!(of.maximum > minus_infinity<T>())) continue;
        gradient_passes<T>().add_gradients(scores_of(i), products_of(i), threads, of.maximum, of.beta, adaptive,
                                           sums_[i]);
      }
    }
    const auto merged = row_passes<T>().merge_sums;
    for (std::size_t i = 0; i < count; ++i) {
      if (!(all[i].maximum > minus_infinity<T>())) continue;
      ThreadGradients<T>& of = sums_[i];
      const GradientSums<T> sums = {merged(of.weights, threads), merged(of.gradients, threads),
                                    merged(of.deviations, threads), merged(of.products, threads)};
      adaptive ? complete<true>(queries_[i], all[i], sums, betas[i].slope)
               : complete<false>(queries_[i], all[i], sums, betas[i].slope);
    }
  }

  const AttentionGradientViews& views_;
  CachedQueries<T>& cache_;
  QueryTile<T> tile_;
  Rows<T> incoming_;
  TurnedRows<T> values_;
  AlignedArray<T> scores_, products_;
  ColumnSums<T> columns_;
  std::vector<ThreadGradients<T>> sums_;
  std::vector<QueryGradient<T>> queries_;
};

/// key_backward_body(), one tile of keys at a time, after all queries. Memory: O((dim + value_dim) block_keys). The
/// call asks for dk, and may ask for dv.
template <class T>
class KeyGradientTile {
 public:
  KeyGradientTile(const AttentionGradientViews& views, CachedQueries<T>& kept)
      : views_(views),
        cache_(kept),
        keys_(tile_rows, views.forward.dim(), 1),
        values_(tile_rows, views.forward.value_dim(), 1),
        queries_(views.forward.dim()),
        incoming_(views.forward.value_dim()),
        scores_(tile_rows * block_keys, T(0)),
        products_(tile_rows * block_keys, T(0)),
        of_keys_(tile_rows, views.forward.dim()),
        of_values_(tile_rows, views.forward.value_dim()) {}

  /// Computes the keys of the tile at place: writes dk and, if the call has it, dv.
  void differentiate(const TilePlace& place, bool adaptive) {
    place_ = place;
    const AttentionViews& from = views_.forward;
    keys_.load(from.k, place.batch, place.head, place.first);
    values_.load(from.v, place.batch, place.head, place.first);
    of_keys_.clear();
    of_values_.clear();
    for (std::int64_t head = place.head * from.group(); head < (place.head + 1) * from.group(); ++head) {
      const std::int64_t first = first_query(0) / std::int64_t{block_keys} * std::int64_t{block_keys};
      for (std::int64_t query = first; query < from.queries(); query += std::int64_t{block_keys}) {
        add(head, query, adaptive);
      }
    }
    for (std::size_t i = 0; i < place.count; ++i) {
      const auto scale = static_cast<T>(from.scale);
      write_columns(of_keys_.row(i), scale, *views_.dk, place.batch, place.head, place.row(i));
      if (views_.dv) write_columns(of_values_.row(i), T(1), *views_.dv, place.batch, place.head, place.row(i));
    }
  }

 private:
  /// The first query that causality lets see key i of the tile; under a causal mask the last query sees the last key.
  /// It never decreases from one key to the next.
  std::int64_t first_query(std::size_t i) const {
    const std::int64_t from = place_.row(i) - (views_.forward.keys() - views_.forward.queries());
    return views_.forward.causal ? std::max<std::int64_t>(from, 0) : 0;
  }

  /// Adds the block of queries from query on, of one head, to the sums of each key of the tile.
  void add(std::int64_t head, std::int64_t query, bool adaptive) {
    const AttentionViews& from = views_.forward;
    queries_.load(from.q, place_.batch, head, query);
    incoming_.load(from.out, place_.batch, head, query);
    const AttentionPasses<T>& passes = attention_passes<T>();
    passes.score(keys_.data(), place_.count, keys_.dim(), queries_.turned(), static_cast<T>(from.scale), scores_.get(),
                 block_keys);
    passes.score(values_.data(), place_.count, values_.dim(), incoming_.turned(), T(1), products_.get(), block_keys);
    const std::size_t count = queries_.rows().count();
    T weights[block_keys], slopes[block_keys];
    for (std::size_t i = 0; i < place_.count; ++i) {
      T* scores = scores_.get() + i * block_keys;
      hide(i, head, query, scores);
      gradient_passes<T>().differentiate(scores, products_.get() + i * block_keys,
                                         cache_.block_of(place_.batch, head, query), adaptive, weights, slopes);
      passes.add_rows(weights, slopes, queries_.rows().data(), count, of_keys_.row(i));
      passes.add_rows(weights, weights, incoming_.rows().data(), count, of_values_.row(i));
    }
  }

  void hide(std::size_t i, std::int64_t head, std::int64_t query, T* scores) const {
    const auto count = static_cast<std::int64_t>(queries_.rows().count());
    for (std::int64_t j = 0; j < count; ++j) {
      const bool seen =
          query + j >= first_query(i) && visible(views_.forward, place_.batch, head, query + j, place_.row(i));
      if (!seen) scores[j] = minus_infinity<T>();
    }
  }

  const AttentionGradientViews& views_;
  CachedQueries<T>& cache_;
  TilePlace place_{};
  Rows<T> keys_, values_;
  TurnedRows<T> queries_, incoming_;
  AlignedArray<T> scores_, products_;
  ColumnSums<T> of_keys_, of_values_;
};

}  // namespace softcheck::kernels::strict
