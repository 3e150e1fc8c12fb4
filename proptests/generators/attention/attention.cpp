#include "proptests/generators/attention/attention.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <ostream>
#include <utility>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {

bool sizes_agree(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  return a.queries.size() == s.batch * s.heads() * s.queries * s.dim &&
         a.keys.size() == s.batch * s.kv_heads * s.keys * s.dim &&
         a.values.size() == s.batch * s.kv_heads * s.keys * s.value_dim &&
         (a.gradients.empty() || a.gradients.size() == s.batch * s.heads() * s.queries * s.value_dim) &&
         (a.mask.empty() || a.mask.size() == s.batch * a.mask_heads() * s.queries * s.keys) &&
         (a.attributes.sinks.empty() || a.attributes.sinks.size() == s.heads()) &&
         (a.attributes.slopes.empty() || a.attributes.slopes.size() == s.heads()) &&
         (a.attributes.bias.empty() || a.attributes.bias.size() == s.batch * a.bias_heads() * s.queries * s.keys) &&
         (a.attributes.lambdas.empty() || a.attributes.lambdas.size() == s.heads()) &&
         (a.attributes.kept.empty() || a.attributes.kept.size() == s.scores()) &&
         (a.attributes.lse_gradients.empty() ||
          (!a.gradients.empty() && a.attributes.lse_gradients.size() == s.batch * s.heads() * s.queries)) &&
         sequences_agree(a);
}

std::uint8_t AttentionCase::byte_of(std::size_t entry) const {
  if (mask[entry] == 0) return 0;
  return static_cast<std::uint8_t>(mask_byte < 256 ? mask_byte : 1 + (entry + mask_byte) % 255);
}

std::int64_t AttentionCase::place_of(std::size_t b, std::size_t i) const {
  const auto own = static_cast<std::int64_t>(i);
  if (attributes.top_left) return own;
  return own + static_cast<std::int64_t>(keys_of(b)) - static_cast<std::int64_t>(queries_of(b));
}

std::size_t AttentionCase::reported_keys(std::size_t b, std::size_t i) const {
  const std::size_t keys_there = keys_of(b);
  if (!causal) return keys_there;
  return static_cast<std::size_t>(
      std::clamp<std::int64_t>(place_of(b, i) + 1, 0, static_cast<std::int64_t>(keys_there)));
}

bool AttentionCase::is_top_left() const {
  const bool places_matter = causal || attributes.window() || !attributes.slopes.empty();
  if (!attributes.top_left || !places_matter) return false;
  if (!sequences.any()) return shape.queries != shape.keys;
  return sequences.queries != sequences.keys;
}

bool AttentionCase::holds_values_in_keys() const {
  const std::size_t columns = shape.value_dim;
  for (std::size_t n = 0; n < values.size(); ++n) {
    if (columns > shape.dim || !same_bits(values[n], keys[n / columns * shape.dim + n % columns])) return false;
  }
  return true;
}

bool AttentionCase::needs_version_2() const {
  return has_attributes() || sequences.any() || attributes.sigmoid_bias || !attributes.lambdas.empty();
}

bool AttentionCase::has_attributes() const {
  const AttentionAttributes& a = attributes;
  return is_top_left() || is_interleaved() || a.window() || a.softcap != 0 || !a.sinks.empty() || !a.slopes.empty() ||
         !a.bias.empty() || !a.kept.empty() || !a.lse_gradients.empty();
}

std::size_t AttentionCase::bias_row(std::size_t b, std::size_t h, std::size_t i) const {
  const std::size_t head = attributes.bias_for_each_head ? h : 0;
  return ((b * bias_heads() + head) * shape.queries + i) * shape.keys;
}

bool AttentionCase::sees(std::size_t b, std::size_t h, std::size_t i, std::size_t j) const {
  if (j >= reported_keys(b, i) || i >= queries_of(b)) return false;
  const std::int64_t auxiliary = static_cast<std::int64_t>(j) - place_of(b, i);
  const auto within = [](const std::optional<std::size_t>& window, std::int64_t keys) {
    return !window || keys <= static_cast<std::int64_t>(*window);
  };
  if (!within(attributes.window_left, -auxiliary) || !within(attributes.window_right, auxiliary)) return false;
  if (mask.empty()) return true;
  const std::size_t head = mask_for_each_head ? h : 0;
  return mask[((b * mask_heads() + head) * shape.queries + i) * shape.keys + j] != 0;
}

// As their texts, without writing a number.
bool operator==(const AttentionCase& a, const AttentionCase& b) {
  const AttentionAttributes &of_a = a.attributes, &of_b = b.attributes;
  if (of_a.classes || of_b.classes) return to_text(a) == to_text(b);
  const auto same = [](const std::vector<double>& x, const std::vector<double>& y) {
    return std::ranges::equal(x, y, same_bits);
  };
  const bool same_mask =
      a.mask == b.mask &&
      (a.mask.empty() || (a.mask_for_each_head == b.mask_for_each_head && a.mask_byte == b.mask_byte));
  return same_mask && a.nan == b.nan && head_text(a) == head_text(b) && head_text(of_a) == head_text(of_b) &&
         head_text(a.sequences) == head_text(b.sequences) && same(a.queries, b.queries) && same(a.keys, b.keys) &&
         same(a.values, b.values) && same(a.gradients, b.gradients) && same(of_a.sinks, of_b.sinks) &&
         same(of_a.slopes, of_b.slopes) && same(of_a.bias, of_b.bias) && same(of_a.kept, of_b.kept) &&
         same(of_a.lse_gradients, of_b.lse_gradients);
}

bool admits(const AttentionOptions& options, const AttentionCase& attention) {
  const AttentionShape& s = attention.shape;
  if (attention.format != options.format || !sizes_agree(attention)) return false;
  const bool of_nothing = attention.shape.batch * attention.shape.queries == 0;
  if (attention.gradients.empty() == options.gradients && !of_nothing) return false;
  if (s.batch == 0 || s.kv_heads == 0 || s.group == 0 || s.dim == 0 || s.value_dim == 0) return false;
  if (!std::isfinite(attention.scale)) return false;
  if (!options.domain.everything()) {
    CallTraits traits = traits_of(attention);
    traits.alignment = options.domain.alignment;
    if (!lies_in(options.domain, attention, std::move(traits))) return false;
  }
  if (options.blind_queries) return true;
  if (s.queries == 0 || s.keys == 0) return false;
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < s.heads(); ++h) {
      for (std::size_t i = 0; i < attention.queries_of(b); ++i) {
        bool any = false;
        for (std::size_t j = 0; j < s.keys && !any; ++j) any = attention.sees(b, h, i, j);
        if (!any) return false;
      }
    }
  }
  return true;
}

namespace {

// The traits that depend on what each query sees.
void add_scores(const Domain& domain, const AttentionCase& a, CallTraits& traits) {
  if (!domain.bounds_logits() && !domain.all_see) return;
  const AttentionShape& s = a.shape;
  for (std::size_t row = 0; row < s.batch * s.heads() * s.queries; ++row) {
    const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
    if (i >= a.queries_of(b)) continue;
    double least = numerics::infinity, most = -numerics::infinity;
    bool blind = true;
    for (std::size_t j = 0; j < s.keys; ++j) {
      if (!a.sees(b, h, i, j)) continue;
      blind = false;
      if (!domain.bounds_logits()) break;
      const double* key = a.keys.data() + ((b * s.kv_heads + h / s.group) * s.keys + j) * s.dim;
      const double* query = a.queries.data() + row * s.dim;
      const double score = a.scale * std::inner_product(query, query + s.dim, key, 0.0);
      if (std::isnan(score)) continue;
      least = std::min(least, score);
      most = std::max(most, score);
    }
    traits.blind |= blind;
    if (least > most) continue;
    traits.logits = std::max({traits.logits, std::fabs(least), std::fabs(most)});
    traits.spread = std::max(traits.spread, most - least);
  }
}

}  // namespace

bool lies_in(const Domain& domain, const AttentionCase& attention, CallTraits traits) {
  add_scores(domain, attention, traits);
  if (domain.fixed != nullptr) {
    AttentionCase fixed = attention;
    take_conventions(fixed, domain);
    if (fixed.mask != attention.mask || fixed.attributes.bias != attention.attributes.bias) return false;
    const auto is_number = [&](double x) { return numerics::round_to(fixed.format, x) == x; };
    if (domain.has_fixed_bias() && !std::ranges::all_of(fixed.attributes.bias, is_number)) return false;
    traits.masked = traits.masked && !domain.has_fixed_mask();
  }
  if (!domain.admits(traits)) return false;
  for (std::size_t b = 0; b < attention.sequences.keys.size(); ++b) {
    traits.lengths["queries"] = attention.queries_of(b);
    traits.lengths["keys"] = attention.keys_of(b);
    if (!domain.admits(traits)) return false;
  }
  return true;
}

CallTraits traits_of(const AttentionCase& a) {
  const AttentionShape& s = a.shape;
  const auto all_finite = [](const std::vector<double>& numbers) {
    return std::ranges::all_of(numbers, [](double x) { return std::isfinite(x); });
  };
  CallTraits traits;
  traits.lengths = {{"batch", s.batch}, {"heads", s.heads()}, {"group", s.group},     {"queries", s.queries},
                    {"keys", s.keys},   {"dim", s.dim},       {"values", s.value_dim}};
  traits.scale = a.scale;
  traits.compact = a.layout == 0 && !a.attributes.expanded;
  traits.values_view = a.attributes.values_view && a.holds_values_in_keys();
  const auto any_infinite = [](const std::vector<double>& numbers) {
    return std::ranges::any_of(numbers, [](double x) { return std::isinf(x); });
  };
  for (const std::vector<double>* numbers : {&a.queries, &a.keys, &a.values, &a.gradients}) {
    traits.finite &= all_finite(*numbers);
    traits.infinite |= any_infinite(*numbers);
  }
  traits.masked = !a.mask.empty();
  traits.causal = a.causal;
  traits.window = a.attributes.window();
  traits.softcap = a.attributes.softcap != 0;
  traits.sinks = !a.attributes.sinks.empty();
  traits.sink_gradients = a.asks_sink_gradients();
  traits.bias_gradient = a.asks_bias_gradient();
  traits.alibi = !a.attributes.slopes.empty();
  traits.bias = !a.attributes.bias.empty();
  traits.dropout = !a.attributes.kept.empty();
  traits.cache = a.attributes.cache;
  traits.lse_gradients = !a.attributes.lse_gradients.empty();
  traits.other_sigmoid_bias =
      a.attributes.sigmoid_bias.value_or(usual_sigmoid_bias(s.keys)) != usual_sigmoid_bias(s.keys);
  traits.other_lambdas =
      std::ranges::any_of(a.attributes.lambdas, [&](double x) { return x != a.attributes.lambdas.front(); });
  traits.top_left = a.attributes.top_left;
  traits.interleaved = a.is_interleaved();
  traits.packed = a.sequences.packed;
  traits.pages = a.sequences.page_size > 0;
  if (traits.pages) traits.lengths["page"] = a.sequences.page_size;
  return traits;
}

std::size_t size_of(const AttentionCase& attention) { return attention.shape.scores(); }

void showValue(const AttentionCase& attention, std::ostream& stream) { stream << to_text(attention); }

std::uint64_t NanPlace::number() const {
  return 1 + static_cast<std::uint64_t>(tensor) +
         tensors * (static_cast<std::uint64_t>(position) + positions * static_cast<std::uint64_t>(bits));
}

NanPlace NanPlace::of(std::uint64_t number) {
  const std::uint64_t rest = number - 1;
  return {static_cast<Tensor>(rest % tensors), static_cast<Position>(rest / tensors % positions),
          static_cast<Bits>(rest / tensors / positions % patterns)};
}

std::size_t NanPlace::along(std::size_t extent) const {
  switch (position) {
    case Position::first:
      return 0;
    case Position::middle:
      return extent / 2;
    case Position::last:
      break;
  }
  return extent - 1;
}

std::uint64_t nan_bits(numerics::Format format, NanPlace::Bits bits) {
  const numerics::FormatProperties& facts = numerics::properties(format);
  const std::uint64_t sign = std::uint64_t{1} << (facts.storage_bits - 1);
  const std::uint64_t quiet = std::uint64_t{1} << (facts.precision - 2);  // highest bit of the significand
  const std::uint64_t exponent = sign - 2 * quiet;                        // all bits between
  const bool negative = bits == NanPlace::Bits::quiet_negative || bits == NanPlace::Bits::signalling_negative ||
                        bits == NanPlace::Bits::payload_negative;
  std::uint64_t pattern = exponent | (negative ? sign : 0);
  if (!facts.has_infinity) return pattern | (2 * quiet - 1);  // the only NaN of its sign
  if (bits == NanPlace::Bits::signalling || bits == NanPlace::Bits::signalling_negative) return pattern | (quiet >> 1);
  pattern |= quiet;
  const bool payload = bits == NanPlace::Bits::payload || bits == NanPlace::Bits::payload_negative;
  return payload ? pattern | (quiet >> 1) | 1 : pattern;
}

}  // namespace softcheck::proptests
