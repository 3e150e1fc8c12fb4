#include "proptests/generators/attention/linear_case.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {

std::int64_t label_of_row(const AttentionCase& a, std::size_t i) {
  const AttentionShape& s = a.shape;
  const std::span<const double> hidden = std::span(a.queries).subspan(i * s.dim, s.dim);
  std::uint64_t seed = a.gradients.empty() ? 0 : std::bit_cast<std::uint64_t>(a.gradients[i]);
  const auto mix = [&](double x) { seed = seed * 0xd1b54a32d192ed03u + std::bit_cast<std::uint64_t>(x); };
  std::ranges::for_each(hidden.first(std::min<std::size_t>(s.dim, 4)), mix);
  if (!a.keys.empty()) mix(a.keys.front());  // else all probes of --infer, with one hidden state, had one label
  Draw draw(seed);
  const std::uint64_t kind = draw.below(8);
  if (s.keys == 0 || (kind == 0 && !a.attributes.no_ignored)) return usual_ignore_index;
  if (kind == 1) return 0;
  if (kind == 2) return static_cast<std::int64_t>(s.keys) - 1;
  if (kind > 4) return static_cast<std::int64_t>(draw.below(s.keys));
  std::size_t found = 0;
  double most = 0;
  for (std::size_t j = 0; j < s.keys; ++j) {
    const double logit = std::inner_product(hidden.begin(), hidden.end(), a.keys.data() + j * s.dim, 0.0);
    if (j == 0 || (kind == 3 ? logit > most : logit < most)) found = j, most = logit;
  }
  return static_cast<std::int64_t>(found);
}

}  // namespace softcheck::proptests
