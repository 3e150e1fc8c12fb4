#include <algorithm>
#include <numeric>

#include "judge/survivors/attention_case.hpp"
#include "judge/survivors/row_case.hpp"

namespace softcheck::proptests {
namespace {

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
