#include <rapidcheck.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/drawing/lazy_shrinks.hpp"
#include "proptests/generators/rows/row_families.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

using numerics::infinity;
constexpr std::uint64_t most_runs = 64;  // of a row that is too long for independent items
// from here on attention is expected to have dispersed
constexpr std::uint64_t dispersing_length = std::uint64_t{1} << 16;

void require_possible(const RowOptions& options) {
  if (options.formats.empty() || options.min_length < 1 || options.min_length > options.max_length ||
      !(options.max_spread >= 0) || !(options.max_deviation >= 0) || options.theta_exponent < 0 ||
      options.theta_exponent > 1000 || options.max_literal < 1) {
    throw std::invalid_argument(
        "row_cases: need a format, 1 <= min_length <= max_length, max_literal >= 1, max_spread and max_deviation >= 0 "
        "and theta_exponent in [0, 1000]");
  }
}

/// Full-precision doubles, as people write temperatures: 0.7, 1/sqrt(d), sqrt(d), 1e-3, or anything between.
double full_theta(Draw& draw) {
  static constexpr double written[] = {0.7, 0.1, 0.3, 1.3, 1e-3, 1e-2, 0.05};
  static constexpr double dims[] = {32, 80, 96, 128, 192};
  switch (draw.below(4)) {
    case 0:
      return written[draw.below(std::size(written))];
    case 1: {
      const double root = std::sqrt(dims[draw.below(std::size(dims))]);
      return draw.one_in(2) ? root : 1 / root;
    }
    default:
      return std::pow(10.0, 8 * draw.unit() - 4);
  }
}

double draw_theta(Draw& draw, int exponent) {
  if (exponent == 0) return 1;
  const double limit = std::ldexp(1.0, exponent);
  const auto within = [&](double theta) { return std::clamp(theta, 1 / limit, limit); };
  switch (draw.below(8)) {
    case 0: {
      const int reach = std::min(exponent, 10);
      return std::ldexp(1.0, draw.between(-reach, reach));
    }
    case 1:
      return within(full_theta(draw));
    case 2: {  // 0.1 to 10 with six bits, or with f32's
      const int bits = draw.one_in(2) ? 6 : 24;
      return within(round_to_bits(std::pow(10.0, 2 * draw.unit() - 1), bits));
    }
    case 3:
      return draw.one_in(2) ? 1 / limit : limit;
    case 4:
      return within(draw.one_in(2) ? full_theta(draw) : std::ldexp(1.0, draw.between(-10, 10)));
    default:
      return 1;
  }
}

/// A length of full_sum_lengths() that the options allow; 0 if there is none.
std::uint64_t draw_full_sum_length(Draw& draw, const RowOptions& options) {
  std::vector<std::uint64_t> lengths = full_sum_lengths();
  std::erase_if(lengths, [&](std::uint64_t n) { return n < options.min_length || n > options.max_length; });
  return lengths.empty() ? 0 : lengths[draw.below(lengths.size())];
}

std::uint64_t draw_length(Draw& draw, RowFamily family, const RowOptions& options, int size) {
  // Half of the time any listed length: taking the nearest to a drawn one would rarely reach isolated ones.
  const std::vector<std::uint64_t> listed =
      options.domain.length("n").listed_within(options.min_length, options.max_length);
  if (!listed.empty() && draw.one_in(2)) return listed[draw.below(listed.size())];
  if (family == RowFamily::full_sum) {
    if (const std::uint64_t length = draw_full_sum_length(draw, options)) return length;
  }
  if ((family == RowFamily::resolution || family == RowFamily::far_mass) && draw.one_in(2)) {
    const std::uint64_t longest =
        draw.one_in(4) ? std::max(options.max_length, options.max_edge_length) : options.max_length;
    // The longest rows show most.
    const std::uint64_t shortest = draw.one_in(2) ? std::min(dispersing_length, longest) : 1;
    return draw.log_uniform(std::max(options.min_length, shortest), longest);
  }
  const bool disperse = family == RowFamily::dispersing && draw.one_in(2);
  if ((disperse || draw.one_in(16)) && options.max_length > options.max_literal) {
    const std::uint64_t lowest = std::max(options.min_length, std::min(dispersing_length, options.max_length));
    return disperse ? draw.log_uniform(lowest, options.max_length)
                    : draw.log_uniform(std::max(options.min_length, options.max_literal), options.max_length);
  }
  // 2 items at size 0, max_literal at size 100.
  const std::uint64_t cap = std::max(options.min_length, std::min(options.max_literal, options.max_length));
  const double share = std::min(size, rc::kNominalSize) / static_cast<double>(rc::kNominalSize);
  const auto highest = static_cast<std::uint64_t>(std::exp2(1 + share * std::log2(static_cast<double>(cap) / 2)));
  const std::uint64_t longest = std::clamp(highest, options.min_length, cap);
  // A log-uniform length is rarely near the longest: in a quarter of the cases draw from the upper half.
  if (draw.one_in(4)) return std::max(options.min_length, longest - draw.below(longest / 2 + 1));
  return draw.log_uniform(options.min_length, longest);
}

/// One count per value, with sum `length`.
std::vector<Run> spread_over(Draw& draw, const std::vector<double>& values, std::uint64_t length) {
  std::vector<Run> runs;
  std::uint64_t left = length - values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool last = i + 1 == values.size();
    // Runs of very different lengths: some take most of the rest, most a single item.
    const std::uint64_t extra = last ? left : draw.one_in(2) ? 0 : draw.log_uniform(1, left + 1) - 1;
    runs.push_back({values[i], 1 + extra});
    left -= extra;
  }
  std::swap(runs.back().count, runs[draw.below(runs.size())].count);
  return runs;
}

void limit_spread(Draw& draw, std::vector<double>& values, const RowOptions& options, const RowCase& row_case) {
  const double most = std::min(options.max_spread, options.max_deviation * row_case.theta);
  const double top = *std::max_element(values.begin(), values.end());
  for (double& value : values) {
    const auto too_far = [&] {
      return !(top - value <= most && (top - value) / row_case.theta <= options.max_deviation);
    };
    if (too_far()) value = numerics::round_to(row_case.format, top - draw.unit() * most);
    if (too_far()) value = top;  // rounding exceeded the limit
  }
}

/// Masks some runs, all only if the options allow it.
void mask(Draw& draw, std::vector<Run>& runs, const RowOptions& options) {
  if (options.fully_masked && (!options.masks || draw.one_in(8))) {
    for (Run& run : runs) run.value = -infinity;
    return;
  }
  const std::size_t spared = draw.below(runs.size());
  switch (draw.below(3)) {
    case 0:  // padding at the end
      for (std::size_t i = spared + 1; i < runs.size(); ++i) runs[i].value = -infinity;
      break;
    case 1:  // at the beginning: the first blocks see nothing
      for (std::size_t i = 0; i < spared; ++i) runs[i].value = -infinity;
      break;
    default:
      for (std::size_t i = 0; i < runs.size(); ++i) {
        if (i != spared && draw.one_in(2)) runs[i].value = -infinity;
      }
  }
}

/// The family of a masked row's visible items.
RowFamily unmasked(Draw& draw, RowFamily family) {
  static constexpr RowFamily under[] = {RowFamily::normal,  RowFamily::ties,    RowFamily::plateau,
                                        RowFamily::ramp_up, RowFamily::one_hot, RowFamily::late_peak,
                                        RowFamily::sharp};
  return family == RowFamily::masked ? under[draw.below(std::size(under))] : family;
}

RowCase draw_case(const rc::Random& random, int size, const RowOptions& options) {
  Draw draw(random);
  const RowFamily family = options.families[draw.below(options.families.size())];
  RowCase result;
  result.family = to_string(family);
  result.format = options.formats[draw.below(options.formats.size())];
  result.theta = draw_theta(draw, options.theta_exponent);
  const std::uint64_t length = draw_length(draw, family, options, size);
  if (options.auxiliaries != 0) {
    result.auxiliary = ((draw.log_uniform(1, most_auxiliary + 1) - 1) & options.auxiliaries) | options.auxiliaries_set;
  }
  if (draws_runs(family)) {
    result.row = RunLengthRow(draw_runs(draw, family, result.format, result.theta, length));
    return conformed(options, std::move(result));
  }
  const std::uint64_t slots = length <= options.max_literal ? length : 1 + draw.below(std::min(most_runs, length));
  std::vector<double> values = draw_values(draw, unmasked(draw, family), result.format, slots);
  limit_spread(draw, values, options, result);
  std::vector<Run> runs = spread_over(draw, values, length);
  if (family == RowFamily::masked) mask(draw, runs, options);
  result.row = RunLengthRow(std::move(runs));
  return conformed(options, std::move(result));
}

}  // namespace

RunLengthRow resized(const RunLengthRow& row, std::uint64_t length) {
  std::vector<Run> runs;
  std::uint64_t left = length;
  for (const Run& run : row.runs()) {
    if (left == 0) break;
    runs.push_back({run.value, std::min(run.count, left)});
    left -= runs.back().count;
  }
  if (left > 0) runs.push_back({runs.empty() ? 0.0 : runs.back().value, left});
  return RunLengthRow(std::move(runs));
}

RunLengthRow bounded(RunLengthRow row, const Domain& domain, double theta, numerics::Format format) {
  if (!domain.bounds_logits()) return row;
  const auto excess = [&] {
    const double logits = row.visible() == 0 ? 0 : std::max(std::fabs(row.maximum()), std::fabs(row.minimum())) / theta;
    return std::max(logits / domain.most_logit, row.spread() / theta / domain.most_spread);
  };
  for (double ratio = excess(); ratio > 1; ratio = excess()) {
    const int halvings = std::max(1, static_cast<int>(std::ceil(std::log2(std::min(ratio, 0x1p1000)))));
    std::vector<Run> runs = row.runs();
    for (Run& run : runs) run.value = numerics::round_to(format, std::ldexp(run.value, -halvings));
    row = RunLengthRow(std::move(runs));
  }
  return row;
}

namespace {

// The nearest length; for a list not 0, since no row is empty.
std::uint64_t fitting_length(const LengthRange& range, std::uint64_t length) {
  const std::uint64_t nearest = range.nearest(length);
  return nearest == 0 && !range.listed.empty() ? range.listed[1] : nearest;
}

}  // namespace

RowCase conformed(const RowOptions& options, RowCase row_case) {
  const Domain& domain = options.domain;
  if (domain.everything()) return row_case;
  if (domain.unit_theta) row_case.theta = 1;
  RunLengthRow fitting = resized(row_case.row, fitting_length(domain.length("n"), row_case.row.size()));
  if (fitting.visible() == 0 && row_case.row.visible() > 0) {
    fitting = RunLengthRow({{row_case.row.maximum(), std::max<std::uint64_t>(fitting.size(), 1)}});
  }
  row_case.row = std::move(fitting);
  if (!domain.hides_by_infinity() && row_case.row.visible() < row_case.row.size()) {
    const double lowest = row_case.row.visible() == 0 ? 0 : row_case.row.minimum();
    std::vector<Run> runs = row_case.row.runs();
    for (Run& run : runs) run.value = std::isinf(run.value) ? lowest : run.value;
    row_case.row = RunLengthRow(std::move(runs));
  }
  row_case.row = bounded(std::move(row_case.row), domain, row_case.theta, row_case.format);
  return row_case;
}

rc::Gen<RowCase> row_cases(const RowOptions& options) {
  require_possible(options);
  RowOptions complete = options;
  if (options.families.empty()) complete.families.assign(all_row_families().begin(), all_row_families().end());
  if (!options.masks && !options.fully_masked) std::erase(complete.families, RowFamily::masked);
  if (complete.families.empty()) throw std::invalid_argument("row_cases: the masked family needs masks");
  return shrinking_cases([=](const rc::Random& random, int size) { return draw_case(random, size, complete); },
                         [=](const RowCase& from) { return shrink_row_case(from, complete); });
}

}  // namespace softcheck::proptests
