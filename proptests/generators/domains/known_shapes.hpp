#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace softcheck::proptests {

/// A call of rows as a published program makes it.
struct KnownRows {
  std::uint64_t rows, n;
  std::uint64_t k;  // of top-k; 0: the rows are of no router
  std::string_view source;
};

/// A call of attention as a published model, or a report about one, has it. Query heads are kv_heads times group.
struct KnownAttention {
  std::uint64_t batch, kv_heads, group, queries, keys, dim, values;
  std::string_view source;
};

/// Sequences of one call, windows and slopes at lengths that reports name.
struct KnownAttributes {
  std::uint64_t batch, heads, queries, keys, dim;
  std::uint64_t window;  // keys to the left; 0: none
  bool alibi;
  std::string_view source;
};

/// Sizes of the field, with their sources: routers, vocabularies, rows that kernels are tuned for, and calls of many
/// rows of few columns.
std::span<const KnownRows> known_rows();
/// Heads, groups, dimensions and lengths.
std::span<const KnownAttention> known_attention();
std::span<const KnownAttributes> known_attributes();

}  // namespace softcheck::proptests
