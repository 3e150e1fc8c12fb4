#include "judge/ops/attention/attention_rows.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "proptests/generators/attention/attention_second.hpp"

namespace softcheck::proptests {

std::size_t row_number(const AttentionShape& s, std::size_t b, std::size_t h, std::size_t i) {
  return (b * s.heads() + h) * s.queries + i;
}

std::size_t key_number(const AttentionShape& s, std::size_t b, std::size_t kv, std::size_t j) {
  return s.batch * s.heads() * s.queries + (b * s.kv_heads + kv) * s.keys + j;
}

std::size_t sink_number(const AttentionShape& s, std::size_t h) { return key_number(s, s.batch, 0, h); }

std::size_t bias_number(const AttentionCase& a, std::size_t b, std::size_t h, std::size_t i) {
  return sink_number(a.shape, a.shape.heads()) + (b * a.bias_heads() + h) * a.shape.queries + i;
}

std::string place_of(const AttentionCase& attention, std::size_t row) {
  const AttentionShape& s = attention.shape;
  if (attention.attributes.classes) {
    return row < s.queries ? " at row=" + std::to_string(row) : " at class=" + std::to_string(row - s.queries);
  }
  const std::string at = attention.sequences.any() ? " at sequence=" : " at batch=";
  if (const std::size_t first = bias_number(attention, 0, 0, 0); row >= first) {
    const std::size_t head = (row - first) / s.queries, heads = attention.bias_heads();
    return at + std::to_string(head / heads) + " bias head=" + std::to_string(head % heads) +
           " query=" + std::to_string((row - first) % s.queries);
  }
  if (row >= sink_number(s, 0)) return " at head=" + std::to_string(row - sink_number(s, 0));
  if (const std::size_t queries = s.batch * s.heads() * s.queries; row >= queries) {
    const std::size_t j = (row - queries) % s.keys, head = (row - queries) / s.keys;
    return at + std::to_string(head / s.kv_heads) + " key head=" + std::to_string(head % s.kv_heads) +
           " key=" + std::to_string(j);
  }
  const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
  return at + std::to_string(b) + " head=" + std::to_string(h) + " query=" + std::to_string(i);
}

CallDescription describe_call(const AttentionCase& attention, const std::string& remark,
                              std::optional<std::size_t> row) {
  std::string text = head_text(attention);
  if (!attention.mask.empty()) text += attention.mask_for_each_head ? " mask=heads" : " mask=shared";
  if (!attention.mask.empty() && attention.mask_byte != 1) text += " byte=" + std::to_string(attention.mask_byte);
  text += head_text(attention.attributes) + head_text(attention.sequences);
  CallDescription asked{text, remark, row, row ? place_of(attention, *row) : ""};
  const auto holds_nan = [](const std::vector<double>& numbers) {
    return std::ranges::any_of(numbers, [](double number) { return std::isnan(number); });
  };
  asked.hides_nan = holds_nan(attention.keys) || holds_nan(attention.values);
  return asked;
}

AttentionRow row_of(const AttentionCase& a, std::size_t b, std::size_t h, std::size_t i) {
  HeadNumbers none;
  return row_of(a, b, h, i, none);
}

AttentionRow row_of(const AttentionCase& a, std::size_t b, std::size_t h, std::size_t i, HeadNumbers& last) {
  const AttentionShape& s = a.shape;
  const std::size_t head = b * s.kv_heads + h / s.group;
  const auto own = [](std::vector<double> numbers) {
    return std::make_shared<const std::vector<double>>(std::move(numbers));
  };
  AttentionRow row;
  row.query = std::span(a.queries).subspan(row_number(s, b, h, i) * s.dim, s.dim);
  row.keys = std::span(a.keys).subspan(head * s.keys * s.dim, s.keys * s.dim);
  row.values = std::span(a.values).subspan(head * s.keys * s.value_dim, s.keys * s.value_dim);
  row.value_size = s.value_dim;
  row.scale = a.scale;
  for (std::size_t j = 0; j < s.keys; ++j) row.visible.push_back(a.sees(b, h, i, j) ? 1 : 0);
  const AttentionAttributes& of = a.attributes;
  row.softcap = of.softcap;
  row.sigmoid_bias = of.sigmoid_bias.value_or(usual_sigmoid_bias(s.keys));
  if (!of.lambdas.empty()) {
    if (last.head != head) last = {head, own(two_maps(row.keys, s.dim, a.cache_format()).second)};
    row.numbers = {own(two_maps(row.query, s.dim, a.format).second), last.second_keys};
    row.second_query = *row.numbers[0];
    row.second_keys = *row.numbers[1];
    row.lambda = of.lambdas[h];
  }
  if (!of.sinks.empty()) row.sink = of.sinks[h];
  if (!of.slopes.empty()) {
    row.slope = of.slopes[h];
    const auto place = static_cast<double>(a.place_of(b, i));
    for (std::size_t j = 0; j < s.keys; ++j) row.distances.push_back(std::fabs(place - static_cast<double>(j)));
  }
  if (!of.bias.empty()) {
    const auto first = of.bias.begin() + static_cast<std::ptrdiff_t>(a.bias_row(b, h, i));
    row.bias.assign(first, first + static_cast<std::ptrdiff_t>(s.keys));
  }
  if (!of.kept.empty()) {
    const auto first = of.kept.begin() + static_cast<std::ptrdiff_t>(a.kept_row(b, h, i));
    row.kept.assign(first, first + static_cast<std::ptrdiff_t>(s.keys));
    row.dropout_scale = of.dropout_scale;
  }
  return row;
}

namespace {

/// Do queries up to number i keep their positions in a call of their own with the keys that causality shows them? Only
/// if positions are counted from the last key and the last query stands there, or if positions do not matter.
bool keeps_places(const AttentionCase& a, std::size_t b, std::size_t i) {
  const AttentionAttributes& of = a.attributes;
  if (of.top_left && (a.causal || of.window() || !of.slopes.empty())) return false;
  if (!of.window() && of.slopes.empty()) return true;
  return a.place_of(b, i) + 1 == static_cast<std::int64_t>(a.reported_keys(b, i));
}

/// Queries first to last of one head, with this many keys.
AttentionCase part_of(const AttentionCase& a, std::size_t b, std::size_t h, std::size_t first, std::size_t last,
                      std::size_t keys) {
  const AttentionShape& s = a.shape;
  AttentionCase part = a;
  part.shape = {1, 1, 1, last - first + 1, keys, s.dim, s.value_dim};
  const auto cut = [](const std::vector<double>& numbers, std::size_t from, std::size_t count) {
    const std::span<const double> kept = std::span(numbers).subspan(from, count);
    return std::vector<double>(kept.begin(), kept.end());
  };
  const std::size_t head = (b * s.kv_heads + h / s.group) * s.keys;
  part.queries = cut(a.queries, row_number(s, b, h, first) * s.dim, part.shape.queries * s.dim);
  part.keys = cut(a.keys, head * s.dim, keys * s.dim);
  part.values = cut(a.values, head * s.value_dim, keys * s.value_dim);
  if (!a.gradients.empty()) {
    part.gradients = cut(a.gradients, row_number(s, b, h, first) * s.value_dim, part.shape.queries * s.value_dim);
  }
  if (a.sequences.any()) {
    part.sequences.queries = {part.shape.queries};
    part.sequences.keys = {keys};
  }
  AttentionAttributes& of = part.attributes;
  if (!of.sinks.empty()) of.sinks = {a.attributes.sinks[h]};
  if (!of.slopes.empty()) of.slopes = {a.attributes.slopes[h]};
  if (!of.lambdas.empty()) of.lambdas = {a.attributes.lambdas[h]};
  if (!of.lse_gradients.empty()) {
    of.lse_gradients = cut(a.attributes.lse_gradients, row_number(s, b, h, first), part.shape.queries);
  }
  of.bias.clear();
  of.kept.clear();
  for (std::size_t i = first; i <= last; ++i) {
    const auto add = [&](std::vector<double>& to, const std::vector<double>& from, std::size_t at) {
      if (from.empty()) return;
      const std::vector<double> row = cut(from, at, keys);
      to.insert(to.end(), row.begin(), row.end());
    };
    add(of.bias, a.attributes.bias, a.bias_row(b, h, i));
    add(of.kept, a.attributes.kept, a.kept_row(b, h, i));
  }
  if (a.mask.empty()) return part;
  const std::size_t mask_row = (b * a.mask_heads() + (a.mask_for_each_head ? h : 0)) * s.queries;
  part.mask.clear();
  for (std::size_t i = first; i <= last; ++i) {
    const std::span<const std::uint8_t> row = std::span(a.mask).subspan((mask_row + i) * s.keys, keys);
    part.mask.insert(part.mask.end(), row.begin(), row.end());
  }
  return part;
}

}  // namespace

std::optional<AttentionCase> query_alone(const AttentionCase& attention, std::size_t b, std::size_t h, std::size_t i) {
  const std::size_t keys = attention.reported_keys(b, i);
  if (keys == 0 || !keeps_places(attention, b, i)) return std::nullopt;
  AttentionCase alone = part_of(attention, b, h, i, i, keys);
  alone.layout = 0;
  return alone;
}

std::vector<AttentionCase> cases_named_by(const AttentionCase& attention, const Certificates& failed,
                                          const Domain& domain) {
  const AttentionShape& s = attention.shape;
  const std::size_t rows = s.batch * s.heads() * s.queries;
  for (const numerics::Certificate& certificate : failed) {
    const KernelEvidence* evidence = evidence_of(certificate);
    if (certificate.verdict == numerics::Verdict::proved || evidence == nullptr || !evidence->asked.row) continue;
    const std::size_t row = *evidence->asked.row;
    if (row >= rows || rows == 1) continue;
    const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
    const std::optional<AttentionCase> alone = query_alone(attention, b, h, i);
    if (!alone) continue;
    AttentionCase strided = *alone;
    strided.layout = attention.layout;
    std::vector<AttentionCase> named{*alone, strided, part_of(attention, b, h, 0, i, attention.reported_keys(b, i))};
    std::erase_if(named, [&](const AttentionCase& one) { return !lies_in(domain, one, traits_of(one)); });
    return named;
  }
  return {};
}

AttentionValues values_of(const AttentionCase& a, const std::vector<std::vector<double>>& got, std::size_t row) {
  AttentionValues values;
  values.out = std::span(got[0]).subspan(row * a.shape.value_dim, a.shape.value_dim);
  if (got.size() > 1) values.lse = got[1][row];
  if (got.size() > 2) values.entropy = got[2][row];
  return values;
}

}  // namespace softcheck::proptests
