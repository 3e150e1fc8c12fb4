#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/attention/attention_nan.hpp"

namespace softcheck::proptests {

/// A case with one NaN in it, and the effect of the NaN.
struct PoisonedCase {
  AttentionCase attention;
  NanPlace place;
  std::size_t tensor = 0;   // which input of the call
  std::size_t element = 0;  // of it, row-major
  std::uint64_t bits = 0;
  std::optional<std::size_t> column;  // the NaN is in this one of a value, or of dout
  std::string remark;

  /// Is there a sequence of both queries and keys?
  static bool is_possible(const AttentionCase& original);
  /// The NaN that attention.nan numbers; without a number, one that the lengths choose.
  ///
  /// visible   a NaN in a key or value only where every query of its heads sees the key; else in a query
  explicit PoisonedCase(const AttentionCase& original, bool visible = false);

  /// Is the row NaN, or its column?
  bool meets(std::size_t b, std::size_t h, std::size_t i) const;
  /// Is the row independent of the NaN? For a NaN query that sees no key, both answers are false.
  bool leaves_alone(std::size_t b, std::size_t h, std::size_t i) const;
  /// Are the queries of the head, and the keys and values that they see, those of the original but for the NaN?
  bool keeps_numbers(std::size_t b, std::size_t h) const;

 private:
  bool is_of_a_query() const;
  bool is_its_query(std::size_t b, std::size_t h, std::size_t i) const;
  bool sees_a_key(std::size_t b, std::size_t h, std::size_t i) const;
  void keep_visible();
  bool is_its_head(std::size_t b, std::size_t h) const;
  void make_weights_known();

  std::size_t batch_, head_, query_, key_;
};

}  // namespace softcheck::proptests
