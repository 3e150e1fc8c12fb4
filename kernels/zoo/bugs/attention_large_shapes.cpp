// C6, C10: sizes of trained models that small calls do not reach.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

// aiter #2273: a kernel for head dims below 256 that checks nothing; no product from the 256th number on is added.
SOFTCHECK_MUTANT mutant_attention_head_dim_from_257(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    for (std::size_t t = 256; t < row.query.size(); ++t) row.query[t] = 0;
  });
}

// Columns of the values from the 257th on are those of 256 columns before.
SOFTCHECK_MUTANT mutant_attention_value_dim_from_257(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention&, const Place&, Row<Real>& row) {
    const std::size_t size = row.out.size();
    for (std::size_t j = 0; j < row.items(); ++j) {
      for (std::size_t c = 256; c < size; ++c) row.values[j * size + c] = row.values[j * size + c - 256];
    }
  });
}

// The number of a query head is held in seven bits.
SOFTCHECK_MUTANT mutant_attention_head_in_seven_bits(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    take_query_of(a, {at.b, at.h & 127, at.i}, row);
  });
}

// The number of a query is held in twelve bits.
SOFTCHECK_MUTANT mutant_attention_query_in_twelve_bits(const softcheck_call* call) {
  return attend_changed_rows(call, []<class Real>(const Attention& a, const Place& at, Row<Real>& row) {
    take_query_of(a, {at.b, at.h, at.i & 4095}, row);
  });
}

// FreeToken PR 177, vLLM PR 40792: tiles of 16 query heads that stand in two groups read the first group's keys.
SOFTCHECK_MUTANT mutant_attention_tiles_of_sixteen_heads(const softcheck_call* call) {
  return attend(call, two_pass, [](Attention& a) {
    const std::size_t heads = a.key_head.size();
    const std::size_t group = a.k.shape[1] == 0 ? 1 : heads / static_cast<std::size_t>(a.k.shape[1]);
    if (group <= 16) return;
    for (std::size_t h = 0; h < heads; ++h) a.key_head[h] = a.key_head[h / 16 * 16];
  });
}

// flashinfer 3125, pytorch 142228: batch times heads stand on a grid of 65,535 blocks; the others are not written.
SOFTCHECK_MUTANT mutant_attention_grid_of_65535_heads(const softcheck_call* call) {
  if (!accepts(*call)) return 1;
  Attention a = unpack(*call);
  const auto attend_all = [&]<class Real>(Real) {
    for (std::int64_t at = 0; at < a.q.shape[0] * a.q.shape[1] && at < 65535; ++at) {
      for (std::int64_t i = 0; i < a.q.shape[2]; ++i) {
        Row<Real> row = gather<Real>(a, at / a.q.shape[1], at % a.q.shape[1], i);
        attend_two_pass(row);
        scatter(a, at / a.q.shape[1], at % a.q.shape[1], i, row);
      }
    }
    return 0;
  };
  return softcheck::kernels::zoo::is_f64(a.q.type) ? attend_all(double{}) : attend_all(float{});
}
