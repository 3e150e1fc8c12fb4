#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "kernels/zoo/attention_gradients.hpp"
#include "kernels/zoo/attention_sequence_attributes.hpp"

// Gradients of attention whose sequences are packed: each sequence is computed like a call, one key head at a time.
namespace softcheck::kernels::zoo::attention {

using zoo::load;

/// A call, unpacked. A mutant changes a field. by_lse is (heads, total).
struct PackedGradientCall : GradientTensors {
  SequenceCall of;  // its out is the saved one
  std::optional<SequenceAttributes> attributes;
  bool clears = true;  // all results are set to 0 before any is added
};

inline bool unpack_packed_gradient(const softcheck_call& call, PackedGradientCall& a) {
  const softcheck_call_2* whole = softcheck_version_2(&call);
  if (whole == nullptr || whole->op != SOFTCHECK_OP_ATTENTION_BACKWARD || call.n_inputs < a.own + 2 ||
      call.n_outputs < 3 || call.n_outputs > 4 || whole->input_roles[a.own] != SOFTCHECK_ROLE_CU_Q) {
    return false;
  }
  ForwardPass pass(*whole, a);
  DLTensor out = *call.inputs[3];  // an input here: the forward pass's result
  DLTensor* outputs[] = {&out};
  pass.forward.call.outputs = outputs;
  const std::optional<SequenceCall> of = unpack_sequences(pass.forward.call);
  if (!of || !of->packed() || of->paged()) return false;
  a.of = *of;
  a.attributes.emplace(pass.forward.call);
  a.read(call);
  if (call.n_outputs > 3) a.dsinks.emplace(*call.outputs[3]);
  return !a.dsinks || a.attributes->sinks;
}

template <class Real>
GradientHead<Real> gather_head(const PackedGradientCall& a, const Sequence& s, std::int64_t kv) {
  const SequenceCall& c = a.of;
  const std::int64_t group = c.heads() / c.key_heads(), dim = c.q.shape[2], dv = c.v.shape[2];
  GradientHead<Real> head;
  head.items = static_cast<std::size_t>(s.keys);
  head.dim = static_cast<std::size_t>(dim);
  head.value_dim = static_cast<std::size_t>(dv);
  head.queries = static_cast<std::size_t>(s.queries);
  for (std::int64_t h = kv * group; h < (kv + 1) * group; ++h) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      head.rows.push_back(gather<Real>(c, *a.attributes, s, h, i, i + s.diagonal));
      head.saved_lse.push_back(load<Real>(a.saved_lse.type, scalar_at(c, a.saved_lse, s, h, i)));
      head.by_lse.push_back(a.by_lse ? load<Real>(a.by_lse->type, scalar_at(c, *a.by_lse, s, h, i)) : Real(0));
      for (std::int64_t t = 0; t < dv; ++t) {
        head.saved_out.push_back(load<Real>(c.out.type, query_at(c, c.out, s, h, i, t)));
        head.gradients.push_back(load<Real>(a.out_gradient.type, query_at(c, a.out_gradient, s, h, i, t)));
      }
    }
  }
  head.dq.resize(head.rows.size() * head.dim);
  head.dk.resize(head.items * head.dim);
  head.dv.resize(head.items * head.value_dim);
  return head;
}

inline void clear(const View& view) {
  for (std::int64_t i = 0; i < view.shape[0]; ++i) {
    for (std::int64_t h = 0; h < view.shape[1]; ++h) {
      for (std::int64_t t = 0; t < view.shape[2]; ++t) store(view.type, 0.0F, view.at(i, h, t));
    }
  }
}

/// Adds one sequence's gradients to the results.
template <class Real>
void add_head(const PackedGradientCall& a, const Sequence& s, std::int64_t kv, const GradientHead<Real>& head) {
  const SequenceCall& c = a.of;
  const std::int64_t group = c.heads() / c.key_heads();
  const auto add = [&](const View& view, char* to, Real x) {
    store(view.type, a.clears ? load<Real>(view.type, to) + x : x, to);
  };
  for (std::size_t k = 0; k < head.dq.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k / head.dim), t = static_cast<std::int64_t>(k % head.dim);
    add(a.dq, query_at(c, a.dq, s, kv * group + row / s.queries, row % s.queries, t), head.dq[k]);
  }
  for (std::size_t k = 0; k < head.dk.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k / head.dim), t = static_cast<std::int64_t>(k % head.dim);
    add(a.dk, key_at(c, a.dk, s, kv, row, t), head.dk[k]);
  }
  for (std::size_t k = 0; k < head.dv.size(); ++k) {
    const auto row = static_cast<std::int64_t>(k / head.value_dim), t = static_cast<std::int64_t>(k % head.value_dim);
    add(a.dv, key_at(c, a.dv, s, kv, row, t), head.dv[k]);
  }
}

template <class Real, class ChangeSequence, class Change>
void each_packed_key_head(const PackedGradientCall& a, ChangeSequence& change_sequence, Change& change) {
  const SequenceCall& c = a.of;
  const std::int64_t group = c.heads() / c.key_heads();
  if (a.clears) {
    for (const View* view : {&a.dq, &a.dk, &a.dv}) clear(*view);
  }
  std::vector<Real> dsinks(static_cast<std::size_t>(c.heads()));
  for (std::int64_t b = 0; b < static_cast<std::int64_t>(c.lengths.size()); ++b) {
    Sequence s = sequence_of(c, b);
    if (a.attributes->top_left) s.diagonal = 0;
    change_sequence(a, s);
    if (s.left_out) continue;
    for (std::int64_t kv = 0; kv < c.key_heads(); ++kv) {
      GradientHead<Real> head = gather_head<Real>(a, s, kv);
      change(a, s, kv, head);
      Gradients<Real> kernel(head);
      kernel.run(static_cast<Real>(c.scale));
      for (std::int64_t g = 0; g < group && a.dsinks; ++g) {
        kernel.add_sink(static_cast<std::size_t>(g), dsinks[static_cast<std::size_t>(kv * group + g)]);
      }
      add_head(a, s, kv, head);
    }
  }
  for (std::int64_t h = 0; h < c.heads() && a.dsinks; ++h) {
    store(a.dsinks->type, dsinks[static_cast<std::size_t>(h)], a.dsinks->at(h, 0, 0));
  }
}

/// A right kernel of sum=sequential. Before it begins, of_call(PackedGradientCall&) may change the call, then
/// change_sequence(call, Sequence&) a sequence, and change(call, sequence, kv, GradientHead<Real>&) the values that are
/// read for a key head.
template <class OfCall, class ChangeSequence, class Change>
int packed_gradients(const softcheck_call* call, OfCall of_call, ChangeSequence change_sequence, Change change) {
  PackedGradientCall a;
  if (!unpack_packed_gradient(*call, a)) return 1;
  of_call(a);
  return in_format_of(a.of.q.type, [&]<class Real>(Real) { each_packed_key_head<Real>(a, change_sequence, change); });
}

inline constexpr auto unchanged_gradients = [](PackedGradientCall&) {};
inline constexpr auto unchanged_gradient_sequence = [](const PackedGradientCall&, Sequence&) {};
inline constexpr auto unchanged_head = [](const PackedGradientCall&, const Sequence&, std::int64_t, auto&) {};

/// The kernel with only one of the two changes.
template <class Change>
int packed_gradients_of_changed_sequences(const softcheck_call* call, Change change) {
  return packed_gradients(call, unchanged_gradients, change, unchanged_head);
}
template <class Change>
int packed_gradients_of_changed_heads(const softcheck_call* call, Change change) {
  return packed_gradients(call, unchanged_gradients, unchanged_gradient_sequence, change);
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_packed_gradients_of_changed_sequences(name) \
  SOFTCHECK_CALL_BODY(void, name, const PackedGradientCall& a, Sequence& s)
#define SOFTCHECK_BODY_packed_gradients_of_changed_heads(name)                                                 \
  SOFTCHECK_BODY(void, name, const PackedGradientCall& a, const Sequence& s, [[maybe_unused]] std::int64_t kv, \
                 GradientHead<Real>& head)
