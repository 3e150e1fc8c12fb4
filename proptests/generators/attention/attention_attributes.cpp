#include "proptests/generators/attention/attention_attributes.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Format;

// How large added terms may make a score while thresholds stay meaningful.
double room_for_scores(const AttentionOptions& options) {
  return std::clamp(1 / (16 * options.score_unit * 8), 4.0, 0x1p16);
}

std::optional<std::size_t> draw_side(Draw& draw, std::size_t keys) {
  switch (draw.below(8)) {
    case 0:
      return std::nullopt;
    case 1:
      return 0;
    case 2:
      return 1;
    case 3:
      return keys - std::min<std::size_t>(keys, 1);
    case 4:
      return keys + draw.below(3);
    default:
      return draw.log_uniform(1, keys + 1);
  }
}

void draw_window(Draw& draw, AttentionCase& a) {
  AttentionAttributes& to = a.attributes;
  do {
    to.window_left = draw_side(draw, a.shape.keys);
    to.window_right = a.causal && draw.one_in(2) ? std::nullopt : draw_side(draw, a.shape.keys);
  } while (!to.window());
}

double draw_softcap(Draw& draw, const AttentionOptions& options) {
  static constexpr std::array<double, 6> caps{1, 30, 50, 0.125, 2, 0x1p-6};
  const double most = 1 / (16 * options.cap_unit);
  double cap = caps[draw.below(caps.size())];
  if (draw.one_in(4)) cap = into_format(Format::f32, 0.5 + 40 * draw.unit());
  while (cap > most) cap /= 8;
  return cap;
}

// Logits far above, far below, and among the scores.
double draw_sink(Draw& draw) {
  switch (draw.below(6)) {
    case 0:
      return 100;
    case 1:
      return -100;
    case 2:
      return 0;
    case 3:
      return static_cast<double>(draw.between(-8, 8)) / 2;
    default:
      return into_format(Format::f32, 2 * draw.normal());
  }
}

std::vector<double> draw_sinks(Draw& draw, const AttentionShape& s) {
  std::vector<double> sinks(s.heads());
  for (double& sink : sinks) sink = draw_sink(draw);
  return sinks;
}

// Powers of two as in ALiBi, from the ninth head on times 1 + k / 64, a different one per head; some have 24 bits.
std::vector<double> draw_slopes(Draw& draw, const AttentionShape& s, const AttentionOptions& options) {
  const double farthest = static_cast<double>(std::max(s.queries, s.keys));
  const bool odd = draw.one_in(4);
  std::vector<double> slopes;
  for (std::size_t h = 0; h < s.heads(); ++h) {
    const double own = odd ? 1 + draw.unit() : 1 + static_cast<double>(h / 8 % 64) / 64;
    slopes.push_back(into_format(Format::f32, std::ldexp(own, -static_cast<int>(h % 8))));
  }
  // All by the same factor, so that they stay different.
  double factor = std::ldexp(1.0, -draw.between(0, 4));
  while (*std::ranges::max_element(slopes) * factor * farthest > room_for_scores(options)) factor /= 2;
  for (double& slope : slopes) slope *= factor;
  return slopes;
}

void draw_bias(Draw& draw, AttentionCase& a) {
  const AttentionShape& s = a.shape;
  AttentionAttributes& to = a.attributes;
  to.bias_for_each_head = draw.one_in(2);
  to.bias.resize(s.batch * (to.bias_for_each_head ? s.heads() : 1) * s.queries * s.keys);
  const double size = std::ldexp(1.0, draw.between(-3, 2));
  const bool sparse = draw.one_in(3);
  for (double& x : to.bias) x = sparse && !draw.one_in(5) ? 0 : into_format(a.format, size * draw.normal());
}

// Usual probabilities, and one of a half. The weights may be kept one by one, or by keys; in one case in four all are.
void draw_dropout(Draw& draw, AttentionCase& a) {
  static constexpr std::array<double, 4> dropped{0.5, 0.1, 0.25, 0.9};
  const double p = dropped[draw.below(dropped.size())];
  a.attributes.dropout_scale = numerics::round_to(Format::f32, 1 / (1 - p));
  const std::uint64_t kind = draw.below(4);
  std::vector<double>& kept = a.attributes.kept;
  kept.resize(a.shape.scores());
  for (std::size_t n = 0; n < kept.size(); ++n) {
    kept[n] = kind == 0 || (kind == 1 && n >= a.shape.keys ? kept[n - a.shape.keys] != 0 : draw.unit() >= p) ? 1 : 0;
  }
}

// Gradients around the size of g - delta, far above it and far below; one query in three may have none.
void draw_lse_gradients(Draw& draw, AttentionCase& a) {
  const AttentionShape& s = a.shape;
  std::vector<double>& to = a.attributes.lse_gradients;
  to.resize(s.batch * s.heads() * s.queries);
  const double size = std::ldexp(1.0, draw.between(-6, 8));
  const bool alike = draw.one_in(4), sparse = draw.one_in(3);
  for (double& x : to) {
    x = sparse && draw.one_in(3) ? 0 : numerics::round_to(scalars_of(a.format), alike ? size : size * draw.normal());
  }
}

// The nearest number of the format.
double saturated(Format format, double x) {
  const double largest = numerics::properties(format).largest;
  return numerics::round_to(format, std::isnan(x) ? x : std::clamp(x, -largest, largest));
}

}  // namespace

Format scalars_of(Format format) { return format == Format::f64 ? Format::f64 : Format::f32; }

std::string head_text(const AttentionAttributes& a) {
  const auto side = [](const std::optional<std::size_t>& keys) { return keys ? std::to_string(*keys) : "all"; };
  std::string text;
  if (a.window()) text += " window=" + side(a.window_left) + ":" + side(a.window_right);
  if (a.top_left) text += " alignment=top-left";
  if (a.interleaved) text += " heads=interleaved";
  if (a.expanded) text += " expanded";
  if (a.values_view) text += " values=view";
  if (a.softcap != 0) text += " softcap=" + numerics::hex_float(a.softcap);
  if (!a.sinks.empty()) text += " sinks";
  if (!a.slopes.empty()) text += " slopes";
  if (!a.bias.empty()) text += a.bias_for_each_head ? " bias=heads" : " bias=shared";
  if (!a.kept.empty()) text += " dropout=" + numerics::hex_float(a.dropout_scale);
  if (a.cache) text += " cache=" + std::string(numerics::properties(*a.cache).name);
  if (!a.lse_gradients.empty()) text += " dlse";
  if (a.sigmoid_bias) text += " sigmoid_bias=" + numerics::hex_float(*a.sigmoid_bias);
  if (a.no_ignored) text += " noignored";
  if (a.one_lambda) text += " lambda=shared";
  for (std::size_t h = 0; h < a.lambdas.size(); ++h) {
    text += (h == 0 ? " lambda=" : ",") + numerics::hex_float(a.lambdas[h]);
  }
  return text;
}

void draw_attributes(Draw& draw, AttentionCase& a, const AttentionOptions& options) {
  const Domain& domain = options.domain;
  const std::array<bool, 7> named{domain.window, domain.softcap,       domain.sinks,  domain.alibi,
                                  domain.bias,   domain.lse_gradients, domain.dropout};
  const auto count = static_cast<std::uint64_t>(std::ranges::count(named, true));
  std::uint64_t certain = count == 0 ? 0 : draw.below(count);
  std::array<bool, 7> chosen{};
  for (std::size_t k = 0; k < named.size(); ++k) {
    if (named[k]) chosen[k] = certain-- == 0 || draw.one_in(3);
  }
  if (domain.causal == CausalAlignment::either) a.attributes.top_left = draw.one_in(2);
  if (chosen[0]) draw_window(draw, a);
  if (chosen[1]) a.attributes.softcap = draw_softcap(draw, options);
  if (chosen[2]) {
    a.attributes.sinks = draw_sinks(draw, a.shape);
    a.outputs = std::min(a.outputs, 2);  // weights that do not sum to 1 have no entropy
  }
  if (chosen[3]) a.attributes.slopes = draw_slopes(draw, a.shape, options);
  if (chosen[4]) draw_bias(draw, a);
  if (chosen[5]) draw_lse_gradients(draw, a);
  if (chosen[6]) draw_dropout(draw, a);
  if (options.gradients) {
    a.outputs = 1 + (chosen[2] && domain.sink_gradients ? 1 : 0) + (chosen[4] && domain.bias_gradient ? 2 : 0);
  }
}

double usual_sigmoid_bias(std::size_t keys) { return keys == 0 ? 0 : -std::log(static_cast<double>(keys)); }

void take_conventions(AttentionCase& a, const Domain& domain) {
  if (domain.causal != CausalAlignment::either) a.attributes.top_left = domain.causal == CausalAlignment::top_left;
  a.attributes.interleaved = domain.interleaved;
  a.attributes.values_view = domain.values_view;
  a.attributes.cache = domain.cache;
  a.attributes.no_ignored = domain.no_ignored;
  a.attributes.classes = domain.classes;
  if (domain.classes) {
    std::ranges::fill(a.values, 0);
    a.outputs = 1;
  }
  a.attributes.one_lambda = domain.one_lambda;
  for (std::vector<double>* numbers : {&a.keys, &a.values}) {
    for (double& x : *numbers) x = domain.cache ? saturated(*domain.cache, x) : x;
  }
  const AttentionShape& s = a.shape;
  for (std::size_t n = 0; domain.values_view && s.value_dim <= s.dim && n < a.values.size(); ++n) {
    a.values[n] = a.keys[n / s.value_dim * s.dim + n % s.value_dim];
  }
  const std::array<std::size_t, 4> lengths{s.batch, s.heads(), s.queries, s.keys};
  if (domain.has_fixed_mask()) {
    a.mask_for_each_head = true;
    a.mask_byte = 1;
    a.mask = domain.fixed->mask(lengths);
  }
  if (!domain.has_fixed_bias()) return;
  a.attributes.bias_for_each_head = true;
  a.attributes.bias = domain.fixed->bias(lengths);
}

void draw_gradients(Draw& draw, AttentionCase& a, std::size_t distinct) {
  const AttentionShape& s = a.shape;
  const std::size_t rows = s.batch * s.heads() * s.queries;
  const std::uint64_t kind = draw.below(8);
  const double smallest = numerics::properties(a.format).smallest_normal;
  const auto number = [&](std::size_t row, std::size_t c) -> double {
    switch (kind) {
      case 0:  // one column: <dO, v> is that column of the values
        return c == row % s.value_dim ? 1 : 0;
      case 1:  // all equal, like a sum's gradient
        return 1;
      case 2:  // far from 0: dO v is nearly equal for all keys, so that g - delta cancels
        return 64 + 0.25 * draw.normal();
      case 3:  // one row in four: the other rows' gradients are 0
        return row % 4 == 0 ? draw.normal() : 0;
      case 4:  // rows of very different magnitudes
        return std::ldexp(draw.normal(), static_cast<int>(row % 9) * 2 - 8);
      case 5:  // small, but products with coefficients do not lose digits to underflow
        return std::fmin(std::ldexp(smallest, 12 + static_cast<int>(row % 13)), 1) * draw.normal();
      default:
        return draw.normal();
    }
  };
  const std::size_t drawn = std::min(rows, std::max<std::size_t>(distinct, 1));
  a.gradients.clear();
  a.gradients.reserve(rows * s.value_dim);
  for (std::size_t k = 0; k < drawn * s.value_dim; ++k) {
    a.gradients.push_back(into_format(a.format, number(k / s.value_dim, k % s.value_dim)));
  }
  for (std::size_t k = drawn * s.value_dim; k < rows * s.value_dim; ++k) {
    a.gradients.push_back(a.gradients[k - drawn * s.value_dim]);
  }
}

}  // namespace softcheck::proptests
