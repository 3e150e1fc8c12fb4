#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "kernels/zoo/attention_attributed.hpp"
#include "kernels/zoo/attention_sequences.hpp"

// Packed sequences and pages with windows, softcap, sinks and ALiBi, which count within a sequence.
namespace softcheck::kernels::zoo::attention {

/// The attributes of a call, as far as such calls have them.
struct SequenceAttributes {
  std::optional<View> sinks, slopes;
  std::int64_t left = -1, right = -1;  // number of keys that a query sees on each side of its own position; -1: all
  bool top_left = false;
  double softcap = 0;

  explicit SequenceAttributes(const softcheck_call& call) {
    const softcheck_call_2* whole = softcheck_version_2(&call);
    if (whole == nullptr) return;
    for (std::uint32_t i = 3; i < call.n_inputs; ++i) {
      if (whole->input_roles[i] == SOFTCHECK_ROLE_SINKS) sinks.emplace(*call.inputs[i]);
      if (whole->input_roles[i] == SOFTCHECK_ROLE_SLOPES) slopes.emplace(*call.inputs[i]);
    }
    left = whole->attributes->window_left_plus_1 - 1;
    right = whole->attributes->window_right_plus_1 - 1;
    top_left = whole->attributes->causal_top_left != 0;
    softcap = whole->attributes->softcap;
  }
};

/// Query i of head h, at position place.
template <class Real>
AttributedRow<Real> gather(const SequenceCall& c, const SequenceAttributes& of, const Sequence& s, std::int64_t h,
                           std::int64_t i, std::int64_t place) {
  AttributedRow<Real> row;
  static_cast<Row<Real>&>(row) = gather<Real>(c, s, h, i);
  row.place = place;
  row.softcap = static_cast<Real>(of.softcap);
  if (of.slopes) row.slope = load<Real>(of.slopes->type, of.slopes->at(h, 0, 0));
  if (of.sinks) row.sink = load<Real>(of.sinks->type, of.sinks->at(h, 0, 0));
  for (std::int64_t j = 0; j < s.keys; ++j) {
    if (of.left >= 0 && place - j > of.left) row.visible[static_cast<std::size_t>(j)] = 0;
    if (of.right >= 0 && j - place > of.right) row.visible[static_cast<std::size_t>(j)] = 0;
  }
  return row;
}

/// Windows and slopes count from the position place_of(call, sequence, i); causality from the query's own position.
template <class Place>
int attend_sequences_from(const softcheck_call* call, Place place_of) {
  const std::optional<SequenceCall> c = unpack_sequences(*call);
  if (!c) return 1;
  const SequenceAttributes of(*call);
  const auto align = [&](const SequenceCall&, Sequence& s) { s.diagonal = of.top_left ? 0 : s.diagonal; };
  return in_format_of(c->q.type, [&]<class Real>(Real) {
    each_query_of_sequences(*c, align, [&](const Sequence& s, std::int64_t h, std::int64_t i) {
      AttributedRow<Real> row = gather<Real>(*c, of, s, h, i, place_of(*c, s, i));
      finish_attributed(row, scores_by(row, usual_score));
      scatter<Real>(*c, s, h, i, row);
    });
  });
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend_sequences_from(name) \
  SOFTCHECK_CALL_BODY(std::int64_t, name, [[maybe_unused]] const SequenceCall& c, const Sequence& s, std::int64_t i)
