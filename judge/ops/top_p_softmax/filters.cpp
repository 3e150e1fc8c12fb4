#include "judge/ops/top_p_softmax/filters.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>

#include "judge/ops/rows/gradient_inputs.hpp"
#include "numerics/enclosures/decision.hpp"
#include "numerics/formats/format.hpp"
#include "numerics/formats/special_values.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// Bits of RowCase::auxiliary that all rows of a call share.
constexpr std::uint64_t min_p_bits = 7, top_p_bits = 56, first_top_p_bit = 3;
// 0 is off. Halves and quarters are masses of equal logits; 2^-20 is less than a single item's mass in most rows.
constexpr std::array<double, 8> top_ps{0, 0.9, 0.5, 1, 0.25, 0.95, 0x1p-20, 0.75};
constexpr std::array<double, 8> min_ps{0, 0.1, 0.5, 1, 0.05, 0.25, 0x1p-20, 0.02};

// Values of a row's own bits that change the drawn row; other values leave it as it is.
constexpr std::uint64_t equal_logits = 5, logits_at_the_level = 6, halves = 7;
std::uint64_t form_of(std::uint64_t auxiliary) { return auxiliary / 64 % 8; }

// Set by the domain's words: the call has k; each row its own numbers, but no temperature with theta=1; renormalize.
constexpr std::uint64_t top_k_bit = domain_bit, per_row_bit = 2 * domain_bit, unit_theta_bit = 4 * domain_bit,
                        joint_bit = 8 * domain_bit, first_bit = 16 * domain_bit;
constexpr std::array<double, 8> temperatures{1, 0.5, 0.7, 2, 0.25, 1.5, 0.8, 4};

// 1 to n; 0 if there are no items.
std::int32_t drawn_k(std::uint64_t code, std::size_t n) {
  const std::array<std::size_t, 8> choices{2, 1, 3, (n + 1) / 2, n - std::min<std::size_t>(n, 1), 8, 50, n};
  return static_cast<std::int32_t>(std::min(std::max<std::size_t>(choices[code % 8], 1), n));
}

// The number of the format this many steps above the value.
double neighbour(Format format, double value, int steps) {
  const double unit =
      properties(format).unit_roundoff * std::fmax(std::fabs(value), properties(format).smallest_normal);
  return into_format(format, value + steps * unit);
}

// Do the first `count` items of the order have top_p of the mass of the first `whole` ones?
bool reaches(const RowInputs& row, std::span<const std::size_t> order, std::size_t count, std::size_t whole_count) {
  if (count == whole_count) return true;
  const auto first_of = [&](std::size_t of) {
    std::vector<double> first(row.logits.size(), -infinity);
    for (const std::size_t i : order.first(of)) first[i] = row.logits[i];
    return first;
  };
  const std::vector<double> first = first_of(count), all = first_of(whole_count);
  return escalate([&] {
           const Enclosure part = RowOracle(first, row.theta).sum(), whole = RowOracle(all, row.theta).sum();
           return less(part, Enclosure(row.attributes.top_p) * whole);  // both relative to the row's maximum
         }) != Decision::proved;
}

// Length of the shortest such prefix: estimated in long double, decided by enclosures.
std::size_t shortest_prefix(const RowInputs& row, std::span<const std::size_t> order, std::size_t whole) {
  std::vector<long double> weights;
  for (const std::size_t i : order) {
    weights.push_back(std::exp((static_cast<long double>(row.logits[i]) - row.logits[order[0]]) / row.theta));
  }
  weights.resize(whole);
  const long double due = row.attributes.top_p * std::accumulate(weights.begin(), weights.end(), 0.0L);
  long double sum = 0;
  std::size_t count = 0;
  while (count < whole && (count == 0 || sum < due)) sum += weights[count++];
  while (count > 1 && reaches(row, order, count - 1, whole)) --count;
  while (!reaches(row, order, count, whole)) ++count;
  return count;
}

}  // namespace

Attributes drawn_filters(std::uint64_t auxiliary, std::size_t n) {
  const auto of_call = [&](FilterInput input) { return !has_filter_input(input, auxiliary); };
  Attributes attributes;
  if (of_call(FilterInput::top_p)) attributes.top_p = top_ps[(auxiliary & top_p_bits) >> first_top_p_bit];
  if (of_call(FilterInput::min_p)) attributes.min_p = min_ps[auxiliary & min_p_bits];
  if ((auxiliary & top_k_bit) == 0) return attributes;
  const std::uint64_t code = hashed(auxiliary & (min_p_bits | top_p_bits), n);
  if (of_call(FilterInput::top_k)) attributes.k = drawn_k(code, n);
  attributes.renormalize = (auxiliary & joint_bit) == 0 && ((auxiliary & first_bit) != 0 || code / 8 % 2 == 0);
  return attributes;
}

bool has_filter_input(FilterInput input, std::uint64_t auxiliary) {
  if (input == FilterInput::logits) return true;
  if ((auxiliary & per_row_bit) == 0) return false;
  if (input == FilterInput::top_k) return (auxiliary & top_k_bit) != 0;
  if (input == FilterInput::top_p) return (auxiliary & top_p_bits) != 0;
  if (input == FilterInput::min_p) return (auxiliary & min_p_bits) != 0;
  return (auxiliary & unit_theta_bit) == 0;
}

std::vector<std::vector<double>> filter_inputs(Format format, std::span<const double> logits, std::uint64_t auxiliary) {
  const std::uint64_t seed = hashed((auxiliary & most_auxiliary) / 64, 0);
  // A rounded x / theta of large logits has no digits left to judge: one row in sixteen has such a temperature.
  const bool is_large = std::ranges::any_of(logits, [](double x) { return std::isfinite(x) && std::fabs(x) > 1024; });
  const bool is_one = is_large && seed / 4096 % 16 != 0;
  std::vector<std::vector<double>> inputs(4);
  const auto give = [&](FilterInput input, double value) {
    if (has_filter_input(input, auxiliary)) inputs[static_cast<std::size_t>(input) - 1] = {value};
  };
  // Without the 0 of top_p: samplers switch it off by 1.
  give(FilterInput::top_k, drawn_k(seed, logits.size()));
  give(FilterInput::top_p, round_to(wide_format(format), top_ps[1 + seed / 8 % 7]));
  give(FilterInput::min_p, round_to(wide_format(format), min_ps[seed / 64 % 8]));
  give(FilterInput::temperature, is_one ? 1 : round_to(wide_format(format), temperatures[seed / 512 % 8]));
  return inputs;
}

RowInputs with_own_filters(RowInputs row) {
  const auto own = [&](FilterInput input) -> std::optional<double> {
    const std::size_t k = static_cast<std::size_t>(input) - 1;
    if (k >= row.auxiliary.size() || row.auxiliary[k].empty()) return std::nullopt;
    return row.auxiliary[k][0];
  };
  if (const auto k = own(FilterInput::top_k)) row.attributes.k = static_cast<std::int32_t>(*k);
  row.attributes.top_p = own(FilterInput::top_p).value_or(row.attributes.top_p);
  row.attributes.min_p = own(FilterInput::min_p).value_or(row.attributes.min_p);
  row.theta = own(FilterInput::temperature).value_or(row.theta);
  return row;
}

std::uint64_t set_filters(const Domain& domain) {
  std::uint64_t bits = 0;
  if (domain.top_k) bits |= top_k_bit | (domain.plain_weights ? joint_bit : 0) | (domain.renormalized ? first_bit : 0);
  if (domain.per_row) bits |= per_row_bit | (domain.unit_theta ? unit_theta_bit : 0);
  return bits;
}

std::uint64_t closed_filters(const Domain& domain) {
  return (domain.no_top_p ? top_p_bits : 0) | (domain.no_min_p ? min_p_bits : 0);
}

std::vector<double> filtered_logits(Format format, std::span<const double> logits, std::uint64_t auxiliary) {
  std::vector<double> values(logits.begin(), logits.end());
  const std::uint64_t form = form_of(auxiliary);
  if (form < equal_logits || values.empty()) return values;
  const double maximum = *std::ranges::max_element(values);
  if (!std::isfinite(maximum)) return values;
  const std::vector<std::vector<double>> own = filter_inputs(format, values, auxiliary);
  const double min_p = own[2].empty() ? drawn_filters(auxiliary, values.size()).min_p : own[2][0];
  const double theta = own[3].empty() ? 1 : own[3][0];
  const double level = maximum + (min_p == 0 ? 0 : theta * std::log(min_p));
  std::size_t place = 0;
  for (double& x : values) {
    if (!std::isfinite(x)) continue;
    const std::size_t k = place++;
    if (form == equal_logits) x = maximum;
    // The row's maximum first; the others lie within four steps of the level.
    if (form == logits_at_the_level && k > 0) {
      x = std::min(maximum, neighbour(format, level, static_cast<int>(k % 9) - 4));
    }
    if (form == logits_at_the_level && k == 0) x = maximum;
    if (form == halves)
      x = into_format(format, maximum - std::log(2.0) * static_cast<double>(std::min<std::size_t>(k, 64)));
  }
  return values;
}

std::vector<std::size_t> by_descending_logits(std::span<const double> logits) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isfinite(logits[i])) order.push_back(i);
  }
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return logits[a] > logits[b]; });
  return order;
}

std::vector<bool> exactly_selected(const RowInputs& row) {
  const std::vector<std::size_t> order = by_descending_logits(row.logits);
  const auto k = static_cast<std::size_t>(row.attributes.k);
  const std::size_t most = k == 0 ? order.size() : std::min(k, order.size());
  const std::size_t whole = row.attributes.renormalize ? most : order.size();
  const std::size_t count = row.attributes.top_p == 0 ? most : std::min(most, shortest_prefix(row, order, whole));
  std::vector<bool> kept(row.logits.size());
  for (std::size_t k = 0; k < count; ++k) {
    const Decision below = escalate([&] {
      if (row.attributes.min_p == 0 || row.logits[order[k]] == row.logits[order[0]]) return Decision::violated;
      const Enclosure gap = Enclosure(row.logits[order[0]]) - Enclosure(row.logits[order[k]]);
      return less(exp(-(gap / Enclosure(row.theta))), Enclosure(row.attributes.min_p));
    });
    if (below == Decision::proved) break;
    kept[order[k]] = true;
  }
  return kept;
}

}  // namespace softcheck::proptests
