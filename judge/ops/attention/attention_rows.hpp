#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "judge/call/evidence.hpp"
#include "judge/ops/attention/attention_judge.hpp"
#include "proptests/engine/property.hpp"
#include "proptests/generators/attention/attention.hpp"

namespace softcheck::proptests {

/// Number of a query among those of all heads and batches.
std::size_t row_number(const AttentionShape& shape, std::size_t b, std::size_t h, std::size_t i);
/// Number of a key among those of all heads and batches; the queries come before the keys.
std::size_t key_number(const AttentionShape& shape, std::size_t b, std::size_t kv, std::size_t j);
/// Number of a query head, of its sink; behind the keys.
std::size_t sink_number(const AttentionShape& shape, std::size_t h);
/// Number of a row of the bias, of which there is one a query for each of its heads; behind the sinks.
std::size_t bias_number(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i);
/// " at batch=0 head=1 query=2", the same with "bias head" of a bias, " at head=1" of a sink, or " at batch=0 key
/// head=0 key=1"; of packed sequences and of pages " at sequence=0
/// ..."
std::string place_of(const AttentionCase& attention, std::size_t row);
/// The case without its numbers (the replay line has them), a remark on the judge's changes to it, and the row of the
/// certificate.
CallDescription describe_call(const AttentionCase& attention, const std::string& remark,
                              std::optional<std::size_t> row = {});

/// Query i of head h, which points into the case.
AttentionRow row_of(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i);
/// Query i of head h as the only one of a compact case, with the keys up to the last that causality shows it; none
/// where there is no such key.
std::optional<AttentionCase> query_alone(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i);
/// Simpler cases that hold the query which a failure names: it alone, alone in the case's layout, and its head up to
/// it.
std::vector<AttentionCase> cases_named_by(const AttentionCase& attention, const Certificates& failed,
                                          const Domain& domain);

/// The results for a row: out, and lse and entropy if there are any.
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
