#include "judge/survivors/attention_case.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>

#include "judge/survivors/row_case.hpp"

namespace softcheck::proptests {
namespace {

using numerics::round_to;

using Row = std::span<const double>;

double dot(Row a, Row b) {
  double sum = 0;
  for (std::size_t t = 0; t < a.size(); ++t) sum += a[t] * b[t];
  return sum;
}

// One query of one head and batch, with the keys that it sees.
struct Query {
  Row query;             // (dim)
  Row keys;              // (visible, dim)
  Row values;            // (visible, dim)
  std::int64_t visible;  // number of keys
  std::int64_t own;      // index of its own key among those that it sees
  double slope;          // of ALiBi
};

// The values of q, k and v are row-major in (batch, heads, length, dim), whatever their strides are.
template <class Take>
void each_query(const PublishedTensors& tensors, const TensorCall& call, Take take) {
  const auto dim = static_cast<std::size_t>(tensors.dim);
  const auto length = static_cast<std::size_t>(tensors.keys) * dim;
  const Row q(call.inputs[0].values), k(call.inputs[1].values), v(call.inputs[2].values);
  for (std::int64_t head = 0; head < tensors.batch * tensors.heads; ++head) {
    const auto first = static_cast<std::size_t>(head) * length;
    const double slope = tensors.slopes.empty() ? 0 : tensors.slopes[static_cast<std::size_t>(head % tensors.heads)];
    for (std::int64_t i = 0; i < tensors.queries; ++i) {
      const auto row = static_cast<std::size_t>(head * tensors.queries + i) * dim;
      const std::int64_t own = tensors.keys - tensors.queries + i;
      const auto [from, end] = seen_keys(tensors, i);
      const auto skipped = static_cast<std::size_t>(from) * dim, seen = static_cast<std::size_t>(end - from) * dim;
      take(Query{q.subspan(row, dim), k.subspan(first + skipped, seen), v.subspan(first + skipped, seen), end - from,
                 own - from, slope});
    }
  }
}

// Applies the attributes to key j's score; `round` rounds each step.
template <class Round>
double attributed(const PublishedTensors& tensors, const Query& query, std::int64_t j, double score, Round round) {
  if (tensors.softcap > 0) score = round(tensors.softcap * round(std::tanh(round(score / tensors.softcap))));
  const auto distance = static_cast<double>(std::abs(query.own - j));
  return query.slope == 0 ? score : round(score - round(query.slope * distance));
}

// Writes sum p_j v_j to out; `round` rounds the coefficients.
template <class Round>
void weigh(const Query& query, const std::vector<double>& scores, Round round, std::vector<double>& out) {
  const std::vector<double> p = exact_coefficients(scores);
  const std::size_t dim = query.query.size();
  std::vector<double> sum(dim);
  for (std::size_t j = 0; j < p.size(); ++j) {
    const double weight = round(p[j]);
    for (std::size_t t = 0; t < dim; ++t) sum[t] += weight * query.values[j * dim + t];
  }
  out.insert(out.end(), sum.begin(), sum.end());
}

TensorPlace place_of(const PublishedTensors& tensors, std::int64_t length) {
  TensorPlace place = plain_place(tensors.format, {tensors.batch, tensors.heads, length, tensors.dim});
  if (tensors.heads_inside) {
    place.strides = {length * tensors.heads * tensors.dim, tensors.dim, tensors.heads * tensors.dim, 1};
  }
  return place;
}

// Appends (heads, length, dim) as (length, heads, dim).
void append_tokens(const std::vector<double>& values, const PublishedTensors& of, std::int64_t length,
                   std::vector<double>& tokens) {
  for (std::int64_t i = 0; i < length; ++i) {
    for (std::int64_t head = 0; head < of.heads; ++head) {
      const auto first = values.begin() + static_cast<std::ptrdiff_t>((head * length + i) * of.dim);
      tokens.insert(tokens.end(), first, first + static_cast<std::ptrdiff_t>(of.dim));
    }
  }
}

InputTensor integers(std::vector<std::int64_t> shape, std::vector<double> values) {
  return {plain_place(std::nullopt, std::move(shape)), std::move(values)};
}

void finish(const PublishedTensors& of, std::vector<Comparison> comparisons, CriterionCase& result) {
  result.call.op = SOFTCHECK_OP_ATTENTION;
  result.call.scale = of.scale;
  result.call.causal = of.causal;
  result.row_length = static_cast<std::size_t>(of.dim);
  result.comparisons = std::move(comparisons);
}

}  // namespace

SeenKeys seen_keys(const PublishedTensors& tensors, std::int64_t query) {
  const std::int64_t own = tensors.keys - tensors.queries + query;
  const std::int64_t from = tensors.window_left < 0 ? 0 : std::max<std::int64_t>(0, own - tensors.window_left);
  std::int64_t end = tensors.causal ? own + 1 : tensors.keys;
  if (tensors.window_right >= 0) end = std::min(end, own + tensors.window_right + 1);
  return {from, end};
}

InputTensor attention_input(const PublishedTensors& tensors, std::int64_t length,
                            const std::function<double()>& value) {
  InputTensor result{place_of(tensors, length), {}};
  for (std::size_t i = 0; i < result.place.elements(); ++i) result.values.push_back(round_to(tensors.format, value()));
  return result;
}

void add_attributes(const PublishedTensors& tensors, TensorCall& call) {
  if (tensors.softcap == 0 && tensors.slopes.empty() && tensors.window_left < 0 && tensors.window_right < 0) return;
  call.op = SOFTCHECK_OP_ATTENTION;
  call.roles = {Role::query, Role::key, Role::value};
  call.attributes.softcap = tensors.softcap;
  call.attributes.window_left_plus_1 = tensors.window_left + 1;
  call.attributes.window_right_plus_1 = tensors.window_right + 1;
  if (tensors.slopes.empty()) return;
  call.inputs.push_back({plain_place(numerics::Format::f32, {tensors.heads}), tensors.slopes});
  call.roles.push_back(Role::slopes);
}

PublishedTensors taken(PublishedTensors published) {
  constexpr std::int64_t most = std::int64_t{1} << 20;
  published.heads = std::min<std::int64_t>(published.heads, 2);
  const std::int64_t of_a_batch = published.heads * published.keys * published.dim;
  published.batch = std::min<std::int64_t>(published.batch, 2 * of_a_batch > most ? 1 : 2);
  published.queries = std::min(published.queries, std::max<std::int64_t>(2, most / (published.batch * of_a_batch)));
  return published;
}

CriterionCase attention_case(const PublishedTensors& tensors, const std::function<double()>& value,
                             std::vector<Comparison> comparisons) {
  CriterionCase result;
  for (const std::int64_t length : {tensors.queries, tensors.keys, tensors.keys}) {
    result.call.inputs.push_back(attention_input(tensors, length, value));
  }
  result.call.outputs.push_back({place_of(tensors, tensors.queries), {}});
  result.call.scale = tensors.scale;
  result.call.causal = tensors.causal;
  add_attributes(tensors, result.call);
  result.row_length = static_cast<std::size_t>(tensors.dim);
  result.comparisons = std::move(comparisons);
  each_query(tensors, result.call, [&](const Query& query) {
    std::vector<double> scores;
    for (std::int64_t j = 0; j < query.visible; ++j) {
      const auto first = static_cast<std::size_t>(j * tensors.dim);
      const double score = tensors.scale * dot(query.query, query.keys.subspan(first, query.query.size()));
      scores.push_back(attributed(tensors, query, j, score, [](double x) { return x; }));
    }
    weigh(
        query, scores, [](double p) { return p; }, result.expected);
  });
  for (double& exact : result.expected) exact = round_to(tensors.format, exact);
  return result;
}

double error_of_unfused(const PublishedTensors& tensors, const CriterionCase& criterion_case) {
  const auto round = [&](double x) { return round_to(tensors.format, x); };
  std::vector<double> out;
  each_query(tensors, criterion_case.call, [&](const Query& query) {
    std::vector<double> scores, key(query.query.size());
    for (std::int64_t j = 0; j < query.visible; ++j) {
      const Row plain = query.keys.subspan(static_cast<std::size_t>(j * tensors.dim), key.size());
      std::ranges::transform(plain, key.begin(), [&](double x) { return round(tensors.scale * x); });
      scores.push_back(attributed(tensors, query, j, round(dot(query.query, key)), round));
    }
    weigh(query, scores, round, out);
  });
  double largest = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    largest = std::max(largest, std::fabs(round(out[i]) - criterion_case.expected[i]));
  }
  return largest;
}

CriterionCase packed_case(const std::vector<PublishedTensors>& sequences, const std::function<double()>& value,
                          std::vector<Comparison> comparisons, double factor) {
  const PublishedTensors& first = sequences.front();
  CriterionCase result;
  std::vector<double> tokens[3], starts_q{0}, starts_k{0};
  double error = 0;
  for (const PublishedTensors& sequence : sequences) {
    const CriterionCase alone = attention_case(sequence, value, {});
    const std::int64_t lengths[] = {sequence.queries, sequence.keys, sequence.keys};
    for (std::size_t t = 0; t < 3; ++t) append_tokens(alone.call.inputs[t].values, sequence, lengths[t], tokens[t]);
    append_tokens(alone.expected, sequence, sequence.queries, result.expected);
    starts_q.push_back(starts_q.back() + static_cast<double>(sequence.queries));
    starts_k.push_back(starts_k.back() + static_cast<double>(sequence.keys));
    if (factor > 0) error = std::max(error, error_of_unfused(sequence, alone));
  }
  for (std::size_t t = 0; t < 3; ++t) {
    const auto total = static_cast<std::int64_t>(t == 0 ? starts_q.back() : starts_k.back());
    result.call.inputs.push_back({plain_place(first.format, {total, first.heads, first.dim}), std::move(tokens[t])});
  }
  result.call.outputs = {{result.call.inputs[0].place, {}}};
  const auto starts = static_cast<std::int64_t>(starts_q.size());
  result.call.inputs.push_back(integers({starts}, std::move(starts_q)));
  result.call.inputs.push_back(integers({starts}, std::move(starts_k)));
  result.call.roles = {Role::query, Role::key, Role::value, Role::cu_q, Role::cu_k};
  if (factor > 0) comparisons = {{Comparison::Rule::allclose, factor * error, 0}};
  finish(first, std::move(comparisons), result);
  return result;
}

CriterionCase paged_case(const std::vector<PublishedTensors>& sequences, std::int64_t page_size, Draw& draw,
                         const std::function<double()>& value, std::vector<Comparison> comparisons) {
  const PublishedTensors& first = sequences.front();
  const auto batch = static_cast<std::int64_t>(sequences.size());
  std::int64_t used = 0, columns = 0;
  for (const PublishedTensors& sequence : sequences) {
    const std::int64_t own = (sequence.keys + page_size - 1) / page_size;
    used += own;
    columns = std::max(columns, own);
  }
  const std::int64_t pages = 2 * used, page = page_size * first.heads * first.dim;
  std::vector<std::int64_t> order(static_cast<std::size_t>(pages));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i-- > 1;) std::swap(order[i], order[draw.below(i + 1)]);

  CriterionCase result;
  InputTensor q{plain_place(first.format, {batch, first.heads, first.queries, first.dim}), {}};
  InputTensor cache{plain_place(first.format, {pages, page_size, first.heads, first.dim}), {}};
  for (std::int64_t i = 0; i < pages * page; ++i) cache.values.push_back(numerics::round_to(first.format, value()));
  InputTensor caches[] = {cache, std::move(cache)};
  std::vector<double> table, lengths;
  std::size_t next = 0;
  for (const PublishedTensors& sequence : sequences) {
    const CriterionCase alone = attention_case(sequence, value, {});
    q.values.insert(q.values.end(), alone.call.inputs[0].values.begin(), alone.call.inputs[0].values.end());
    result.expected.insert(result.expected.end(), alone.expected.begin(), alone.expected.end());
    for (std::size_t t = 0; t < 2; ++t) {
      std::vector<double> tokens;
      append_tokens(alone.call.inputs[t + 1].values, sequence, sequence.keys, tokens);
      for (std::size_t at = 0, k = next; at < tokens.size(); at += static_cast<std::size_t>(page), ++k) {
        const std::size_t count = std::min(static_cast<std::size_t>(page), tokens.size() - at);
        std::copy_n(tokens.begin() + static_cast<std::ptrdiff_t>(at), count,
                    caches[t].values.begin() + static_cast<std::ptrdiff_t>(order[k] * page));
      }
    }
    // After a sequence's own pages its table row names arbitrary ones.
    const auto own = static_cast<std::size_t>((sequence.keys + page_size - 1) / page_size);
    for (std::size_t c = 0; c < static_cast<std::size_t>(columns); ++c) {
      const std::size_t any = draw.below(static_cast<std::uint64_t>(pages));
      table.push_back(static_cast<double>(c < own ? order[next + c] : static_cast<std::int64_t>(any)));
    }
    next += own;
    lengths.push_back(static_cast<double>(sequence.keys));
  }
  result.call.outputs = {{q.place, {}}};
  result.call.inputs = {std::move(q), std::move(caches[0]), std::move(caches[1]),
                        integers({batch, columns}, std::move(table)), integers({batch}, std::move(lengths))};
  result.call.roles = {Role::query, Role::key, Role::value, Role::block_table, Role::lengths};
  result.call.attributes.page_size = page_size;
  finish(first, std::move(comparisons), result);
  return result;
}

}  // namespace softcheck::proptests
