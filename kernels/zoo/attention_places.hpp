#pragma once

#include "kernels/zoo/attention_states.hpp"

// For planted bugs that depend on a query's position.
namespace softcheck::kernels::zoo::attention {

/// Batch, head and query of a row.
struct Place {
  std::int64_t b, h, i;
};

/// Correct attention of rows that change(const Attention&, Place, Row<Real>&) has changed.
template <class Change>
int attend_changed_rows(const softcheck_call* call, Change change) {
  if (!accepts(*call)) return 1;
  const Attention a = unpack(*call);
  return in_format_of(a.q.type, [&]<class Real>(Real) {
    LastHead<Real> last;
    each_place(a.q, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      Row<Real> row = gather(a, b, h, i, last);
      change(a, Place{b, h, i}, row);
      attend_two_pass(row);
      scatter(a, b, h, i, row);
    });
  });
}

/// Replaces the query's numbers by those of the query at another place.
template <class Real>
void take_query_of(const Attention& a, const Place& at, Row<Real>& row) {
  for (std::size_t t = 0; t < row.query.size(); ++t) {
    row.query[t] = load<Real>(a.q.type, a.q.at(at.b, at.h, at.i, static_cast<std::int64_t>(t)));
  }
}

/// Replaces the keys and values [first, items) by those of other keys.
template <class Real, class Other>
void take_keys_of(Row<Real>& row, std::size_t first, Other other) {
  const std::size_t d = row.query.size(), size = row.out.size();
  for (std::size_t j = first; j < row.items(); ++j) {
    const std::size_t from = other(j);
    for (std::size_t t = 0; t < d; ++t) row.keys[j * d + t] = row.keys[from * d + t];
    for (std::size_t c = 0; c < size; ++c) row.values[j * size + c] = row.values[from * size + c];
  }
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend_changed_rows(name) \
  SOFTCHECK_BODY(void, name, [[maybe_unused]] const Attention& a, [[maybe_unused]] const Place& at, Row<Real>& row)
