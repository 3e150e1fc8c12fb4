#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// A case with one NaN, and the effect of the NaN.
struct PoisonedCase {
  AttentionCase attention;
  NanPlace place;
  std::size_t tensor = 0;   // index of the call's input
  std::size_t element = 0;  // index in that input, row-major
  std::uint64_t bits = 0;
  std::optional<std::size_t> column;  // column of a value or of dout that holds the NaN
  std::string remark;

  /// Does a sequence with both queries and keys exist?
  static bool is_possible(const AttentionCase& original);
  /// Places the NaN that attention.nan selects; without it, one that the lengths select.
  ///
  /// visible   put a NaN into a key or value only if every query of its heads sees the key; else into a query
  explicit PoisonedCase(const AttentionCase& original, bool visible = false);

  /// Must the row, or its column, be NaN?
  bool meets(std::size_t b, std::size_t h, std::size_t i) const;
  /// Is the row independent of the NaN? For a NaN query that sees no key, neither function returns true.
  bool leaves_alone(std::size_t b, std::size_t h, std::size_t i) const;
  /// Except for the NaN, are the head's queries, and the keys and values that they see, those of the original case?
  bool keeps_numbers(std::size_t b, std::size_t h) const;

 private:
  bool is_of_a_query() const;
  bool is_its_query(std::size_t b, std::size_t h, std::size_t i) const;
  bool sees_a_key(std::size_t b, std::size_t h, std::size_t i) const;
  bool sees_it(std::size_t b, std::size_t h, std::size_t i) const;
  void keep_visible();
  bool is_its_head(std::size_t b, std::size_t h) const;
  void make_weights_known();

  std::size_t batch_, head_, query_, key_;
};

}  // namespace softcheck::proptests
