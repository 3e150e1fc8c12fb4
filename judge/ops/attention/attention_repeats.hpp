#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// The rows of a call that repeat an earlier one: the same query, the same keys and values, the same visible keys. The
/// judge judges the first of them. A later row with the same results, bit for bit, needs no more.
class RepeatedRows {
 public:
  /// got    out, lse and entropy, as far as there are any; both outlive this
  RepeatedRows(const AttentionCase& attention, const std::vector<std::vector<double>>& got);

  /// Does the row repeat one of an earlier call of this function? If not, the caller judges it.
  bool repeats(std::size_t b, std::size_t h, std::size_t i);
  /// The first row of this function's or that function's calls that asks the same; the row itself if none did.
  std::size_t first_like(std::size_t b, std::size_t h, std::size_t i);

 private:
  std::string question_of(std::size_t b, std::size_t h, std::size_t i) const;
  bool same_results(std::size_t row, std::size_t other) const;

  const AttentionCase& attention_;
  const std::vector<std::vector<double>>& got_;
  std::vector<std::size_t> head_like_;             // of each key head, the first that holds the same numbers
  std::map<std::string, std::size_t> first_rows_;  // the row that was first to ask
};

/// Queries of a causal call with very many visible keys that are judged: the first, the last, those about powers of two
/// and every 61st, as far as the work allows. All of them where there are few.
std::vector<bool> judged_queries(const AttentionCase& attention);

}  // namespace softcheck::proptests
