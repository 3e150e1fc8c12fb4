#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "kernels/zoo/attention_states.hpp"

// Attention whose sequences are packed, lie in pages, or both: version 2 of a call with its roles cu_q, cu_k,
// block_table and lengths.
namespace softcheck::kernels::zoo::attention {

/// A call, unpacked. A mutant changes a field.
struct SequenceCall {
  View q, k, v, out, lse, entropy;
  std::uint32_t outputs = 1;
  double scale = 1;
  bool causal = false;
  std::vector<std::int64_t> cu_q, cu_k;  // (sequences + 1); none: q is dense, k and v lie in pages
  std::vector<std::int64_t> lengths;     // (sequences) of keys
  std::vector<std::int64_t> table;       // (sequences, columns), pages; none: keys are packed
  std::int64_t columns = 0, page = 1;

  bool packed() const { return !cu_q.empty(); }
  bool paged() const { return cu_k.empty(); }
  std::int64_t heads() const { return q.shape[1]; }
  std::int64_t key_heads() const { return paged() ? k.shape[2] : k.shape[1]; }
};

/// One sequence. A mutant changes a field.
struct Sequence {
  std::int64_t index = 0;
  std::int64_t first_query = 0, queries = 0, first_key = 0, keys = 0;
  std::int64_t diagonal = 0;           // causal: query i sees the keys up to i + diagonal
  std::int64_t table_row = 0;          // of the table, if there is one
  std::int64_t hidden_from = 1 << 30;  // keys from this one on are masked
  bool left_out = false;
};

inline std::vector<std::int64_t> integers_of(const DLTensor& t) {
  std::vector<std::int64_t> numbers;
  const View view(t);
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    for (std::int64_t j = 0; j < view.shape[1]; ++j) {
      numbers.push_back(*reinterpret_cast<const std::int32_t*>(view.at(i, j, 0)));
    }
  }
  return numbers;
}

inline bool is_one_dtype(const softcheck_call& call) {
  const DLTensor& q = *call.inputs[0];
  for (const DLTensor* t : {&q, call.inputs[1], call.inputs[2], static_cast<const DLTensor*>(call.outputs[0])}) {
    if (!is_float(*t) || t->dtype.code != q.dtype.code || t->dtype.bits != q.dtype.bits) return false;
  }
  return true;
}

inline std::optional<SequenceCall> unpack_sequences(const softcheck_call& call) {
  const softcheck_call_2* whole = softcheck_version_2(&call);
  if (whole == nullptr || whole->op != SOFTCHECK_OP_ATTENTION || call.n_inputs < 5 || !is_one_dtype(call)) {
    return std::nullopt;
  }
  SequenceCall c;
  for (std::uint32_t i = 3; i < call.n_inputs; ++i) {
    const bool whole_numbers = call.inputs[i]->dtype.code == kDLInt;
    const std::vector<std::int64_t> numbers =
        whole_numbers ? integers_of(*call.inputs[i]) : std::vector<std::int64_t>();
    switch (whole->input_roles[i]) {
      case SOFTCHECK_ROLE_CU_Q:
        c.cu_q = numbers;
        break;
      case SOFTCHECK_ROLE_CU_K:
        c.cu_k = numbers;
        for (std::size_t b = 1; b < numbers.size(); ++b) c.lengths.push_back(numbers[b] - numbers[b - 1]);
        break;
      case SOFTCHECK_ROLE_BLOCK_TABLE:
        c.table = numbers;
        c.columns = call.inputs[i]->shape[1];
        c.page = whole->attributes->page_size;
        break;
      case SOFTCHECK_ROLE_LENGTHS:
        c.lengths = numbers;
        break;
      case SOFTCHECK_ROLE_SINKS:
      case SOFTCHECK_ROLE_SLOPES:
        break;  // attention_sequence_attributes.hpp
      default:
        return std::nullopt;
    }
  }
  c.q = View(*call.inputs[0]);
  c.k = View(*call.inputs[1]);
  c.v = View(*call.inputs[2]);
  c.outputs = call.n_outputs;
  c.out = View(*call.outputs[0]);
  if (c.outputs > 1) c.lse = View(*call.outputs[1]);
  if (c.outputs > 2) c.entropy = View(*call.outputs[2]);
  c.scale = call.scale;
  c.causal = call.causal != 0;
  return c;
}

inline Sequence sequence_of(const SequenceCall& c, std::int64_t b) {
  const auto at = static_cast<std::size_t>(b);
  Sequence s;
  s.index = s.table_row = b;
  s.first_query = c.packed() ? c.cu_q[at] : 0;
  s.queries = c.packed() ? c.cu_q[at + 1] - c.cu_q[at] : c.q.shape[2];
  s.first_key = c.paged() ? 0 : c.cu_k[at];
  s.keys = c.lengths[at];
  s.diagonal = s.keys - s.queries;
  return s;
}

inline char* query_at(const SequenceCall& c, const View& of, const Sequence& s, std::int64_t h, std::int64_t i,
                      std::int64_t t) {
  return c.packed() ? of.at(s.first_query + i, h, t) : of.at(s.index, h, i, t);
}

inline char* key_at(const SequenceCall& c, const View& of, const Sequence& s, std::int64_t head, std::int64_t j,
                    std::int64_t t) {
  if (!c.paged()) return of.at(s.first_key + j, head, t);
  const auto entry = static_cast<std::size_t>(s.table_row * c.columns + j / c.page);
  return of.at(c.table[entry], j % c.page, head, t);
}

inline char* scalar_at(const SequenceCall& c, const View& of, const Sequence& s, std::int64_t h, std::int64_t i) {
  return c.packed() ? of.at(h, s.first_query + i, 0) : of.at(s.index, h, i);
}

template <class Real>
Row<Real> gather(const SequenceCall& c, const Sequence& s, std::int64_t h, std::int64_t i) {
  Row<Real> row;
  row.type = c.q.type;
  row.scale = static_cast<Real>(c.scale);
  const std::int64_t head = h / (c.heads() / c.key_heads());
  const std::int64_t dim = c.q.shape[c.packed() ? 2 : 3], columns = c.out.shape[c.packed() ? 2 : 3];
  append(row.query, c.q, dim, [&](std::int64_t t) { return query_at(c, c.q, s, h, i, t); });
  for (std::int64_t j = 0; j < s.keys; ++j) {
    append(row.keys, c.k, dim, [&](std::int64_t t) { return key_at(c, c.k, s, head, j, t); });
    append(row.values, c.v, columns, [&](std::int64_t t) { return key_at(c, c.v, s, head, j, t); });
    row.visible.push_back(j < s.hidden_from && (!c.causal || j <= i + s.diagonal));
  }
  row.out.resize(static_cast<std::size_t>(columns));
  return row;
}

template <class Real>
void scatter(const SequenceCall& c, const Sequence& s, std::int64_t h, std::int64_t i, const Row<Real>& row) {
  for (std::size_t t = 0; t < row.out.size(); ++t) {
    store(c.out.type, row.out[t], query_at(c, c.out, s, h, i, static_cast<std::int64_t>(t)));
  }
  if (c.outputs > 1) store(c.lse.type, row.lse, scalar_at(c, c.lse, s, h, i));
  if (c.outputs > 2) store(c.entropy.type, row.entropy, scalar_at(c, c.entropy, s, h, i));
}

/// Calls at(sequence, head, query) for every query of the sequences that change(call, Sequence&) does not leave out.
template <class Change, class At>
void each_query_of_sequences(const SequenceCall& c, Change& change, At at) {
  for (std::int64_t b = 0; b < static_cast<std::int64_t>(c.lengths.size()); ++b) {
    Sequence s = sequence_of(c, b);
    change(c, s);
    for (std::int64_t h = 0; h < c.heads() && !s.left_out; ++h) {
      for (std::int64_t i = 0; i < s.queries; ++i) at(s, h, i);
    }
  }
}

/// Calls compute(Row<Real>&) for every query. Before that, change(SequenceCall&) may change the call, and
/// change_sequence(call, Sequence&) a sequence.
template <class Change, class ChangeSequence, class Compute>
int attend_sequences(const softcheck_call* call, Change change, ChangeSequence change_sequence, Compute compute) {
  std::optional<SequenceCall> c = unpack_sequences(*call);
  if (!c) return 1;
  change(*c);
  return in_format_of(c->q.type, [&]<class Real>(Real) {
    each_query_of_sequences(*c, change_sequence, [&](const Sequence& s, std::int64_t h, std::int64_t i) {
      Row<Real> row = gather<Real>(*c, s, h, i);
      compute(row);
      scatter<Real>(*c, s, h, i, row);
    });
  });
}

inline constexpr auto unchanged = [](SequenceCall&) {};
inline constexpr auto unchanged_sequence = [](const SequenceCall&, Sequence&) {};

/// Two passes over a sequence that change_sequence has changed.
template <class ChangeSequence>
int attend_changed_sequences(const softcheck_call* call, ChangeSequence change_sequence) {
  return attend_sequences(call, unchanged, change_sequence, two_pass);
}

/// Two passes over a call that change(SequenceCall&) has changed.
template <class Change>
int attend_changed_sequence_call(const softcheck_call* call, Change change) {
  return attend_sequences(call, change, unchanged_sequence, two_pass);
}

/// Calls compute(Row<Real>&) for every query.
template <class Compute>
int attend_rows_of_sequences(const softcheck_call* call, Compute compute) {
  return attend_sequences(call, unchanged, unchanged_sequence, compute);
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend_changed_sequences(name) \
  SOFTCHECK_CALL_BODY(void, name, [[maybe_unused]] const SequenceCall& c, Sequence& s)
#define SOFTCHECK_BODY_attend_changed_sequence_call(name) SOFTCHECK_CALL_BODY(void, name, SequenceCall& c)
#define SOFTCHECK_BODY_attend_rows_of_sequences(name) SOFTCHECK_BODY(void, name, Row<Real>& row)
