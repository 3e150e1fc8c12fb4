#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Finds the rows of a call that repeat an earlier one: same query, keys, values and visible keys. The judge judges the
/// first of them; a later row needs no verdict if its results are the same bit for bit.
class RepeatedRows {
 public:
  /// got    out, lse and entropy, if present; both must outlive this object
  RepeatedRows(const AttentionCase& attention, const std::vector<std::vector<double>>& got);

  /// Does the row repeat an earlier row given to this function, results included? If not, the caller judges it.
  bool repeats(std::size_t b, std::size_t h, std::size_t i);
  /// The first row given to either function with the same inputs; the row itself if there is none.
  std::size_t first_like(std::size_t b, std::size_t h, std::size_t i);

 private:
  std::string question_of(std::size_t b, std::size_t h, std::size_t i) const;
  bool same_results(std::size_t row, std::size_t other) const;

  const AttentionCase& attention_;
  const std::vector<std::vector<double>>& got_;
  std::vector<std::size_t> head_like_;             // per key head, the first one with the same numbers
  std::map<std::string, std::size_t> first_rows_;  // the first row with these inputs
};

/// The queries to judge in a causal call with very many visible keys: the first, the last, those near powers of two and
/// every 61st, up to a limit of work. All if there are few.
std::vector<bool> judged_queries(const AttentionCase& attention);

}  // namespace softcheck::proptests
