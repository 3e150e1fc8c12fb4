#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace softcheck::proptests {

/// A call of rows from a published program.
struct KnownRows {
  std::uint64_t rows, n;
  std::uint64_t k;  // for top-k; 0: not a router
  std::string_view source;
  std::uint64_t groups = 0, kept = 0, group_items = 0;  // of a router with groups
};

/// A call of attention from a published model or report. It has kv_heads times group query heads.
struct KnownAttention {
  std::uint64_t batch, kv_heads, group, queries, keys, dim, values;
  std::string_view source;
};

/// Calls with several sequences, windows and slopes at lengths from reports.
struct KnownAttributes {
  std::uint64_t batch, heads, queries, keys, dim;
  std::uint64_t window;  // visible keys to the left; 0: no window
  bool alibi;
  std::string_view source;
};

/// Published sizes with their sources: routers, vocabularies, rows that kernels are tuned for, and calls of many rows
/// with few columns.
std::span<const KnownRows> known_rows();
/// Heads, groups, dimensions and lengths.
std::span<const KnownAttention> known_attention();
std::span<const KnownAttributes> known_attributes();

}  // namespace softcheck::proptests
