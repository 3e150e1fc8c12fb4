#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "judge/call/evidence.hpp"
#include "judge/ops/attention/attention_judge.hpp"
#include "proptests/engine/property.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Number of a query over all batches and heads.
std::size_t row_number(const AttentionShape& shape, std::size_t b, std::size_t h, std::size_t i);
/// Number of a key over all batches and key heads; key numbers follow the queries'.
std::size_t key_number(const AttentionShape& shape, std::size_t b, std::size_t kv, std::size_t j);
/// Number of a query head's sink; follows the keys'.
std::size_t sink_number(const AttentionShape& shape, std::size_t h);
/// Number of a row of the bias (one per query and bias head); follows the sinks'.
std::size_t bias_number(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i);
/// " at batch=0 head=1 query=2", for a bias with "bias head", for a sink " at head=1", for a key " at batch=0 key
/// head=0 key=1"; for packed or paged sequences " at sequence=0 ...".
std::string place_of(const AttentionCase& attention, std::size_t row);
/// The case without its numbers, which the replay line has, the remark on the judge's changes to it, and the
/// certificate's row.
CallDescription describe_call(const AttentionCase& attention, const std::string& remark,
                              std::optional<std::size_t> row = {});

/// Numbers of a key head that the case does not hold. The queries of a head have the same ones.
struct HeadNumbers {
  std::optional<std::size_t> head;  // of which they are
  std::shared_ptr<const std::vector<double>> second_keys;
};

/// Query i of head h; points into the case.
///
/// last    computed again only if it is of another head
AttentionRow row_of(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i, HeadNumbers& last);
AttentionRow row_of(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i);
/// Query i of head h as a compact case of its own, with the keys up to the last one that causality shows it. Nothing if
/// there is no such key.
std::optional<AttentionCase> query_alone(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i);
/// Simpler cases that contain the failing query: the query alone, alone in the case's layout, and its head up to the
/// query.
std::vector<AttentionCase> cases_named_by(const AttentionCase& attention, const Certificates& failed,
                                          const Domain& domain);

/// The results for a row: out, and lse and entropy if present.
AttentionValues values_of(const AttentionCase& attention, const std::vector<std::vector<double>>& got, std::size_t row);

/// Calls callback(b, h, i) for every query.
template <class Callback>
void each_row(const AttentionShape& s, Callback callback) {
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < s.heads(); ++h) {
      for (std::size_t i = 0; i < s.queries; ++i) callback(b, h, i);
    }
  }
}

}  // namespace softcheck::proptests
