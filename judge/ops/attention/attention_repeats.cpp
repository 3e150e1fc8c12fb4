#include "judge/ops/attention/attention_repeats.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <span>
#include <string_view>

#include "judge/ops/attention/attention_rows.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "numerics/enclosures/interruption.hpp"

namespace softcheck::proptests {
namespace {

bool same_bytes(const std::vector<double>& numbers, std::size_t a, std::size_t b, std::size_t size) {
  return std::memcmp(numbers.data() + a * size, numbers.data() + b * size, size * sizeof(double)) == 0;
}

std::size_t hash_of(const std::vector<double>& numbers, std::size_t a, std::size_t size) {
  return std::hash<std::string_view>()(
      {reinterpret_cast<const char*>(numbers.data() + a * size), size * sizeof(double)});
}

template <class Number>
void append(std::string& text, const Number* first, std::size_t count) {
  text.append(reinterpret_cast<const char*>(first), count * sizeof(Number));
}

}  // namespace

RepeatedRows::RepeatedRows(const AttentionCase& attention, const std::vector<std::vector<double>>& got)
    : attention_(attention), got_(got) {
  const AttentionShape& s = attention.shape;
  const std::size_t of_keys = s.keys * s.dim, of_values = s.keys * s.value_dim;
  std::unordered_multimap<std::size_t, std::size_t> firsts;  // by hash
  for (std::size_t head = 0; head < s.batch * s.kv_heads; ++head) {
    numerics::throw_if_interrupted();
    const std::size_t hash = 31 * hash_of(attention.keys, head, of_keys) + hash_of(attention.values, head, of_values);
    const auto [begin, end] = firsts.equal_range(hash);
    const auto like = std::find_if(begin, end, [&](const auto& first) {
      return same_bytes(attention.keys, first.second, head, of_keys) &&
             same_bytes(attention.values, first.second, head, of_values);
    });
    head_like_.push_back(like == end ? head : like->second);
    if (like == end) firsts.emplace(hash, head);
  }
}

std::string RepeatedRows::question_of(std::size_t b, std::size_t h, std::size_t i) const {
  const AttentionShape& s = attention_.shape;
  const std::size_t seen = attention_.reported_keys(b, i);
  const std::size_t numbers[] = {head_like_[b * s.kv_heads + h / s.group], seen};
  std::string text;
  append(text, numbers, std::size(numbers));
  append(text, attention_.queries.data() + row_number(s, b, h, i) * s.dim, s.dim);
  const std::vector<double>& lambdas = attention_.attributes.lambdas;
  if (!lambdas.empty()) append(text, &lambdas[h], 1);
  if (!attention_.mask.empty()) {
    const std::size_t row = (b * attention_.mask_heads() + (attention_.mask_for_each_head ? h : 0)) * s.queries + i;
    append(text, attention_.mask.data() + row * s.keys, seen);
  }
  return text;
}

bool RepeatedRows::same_results(std::size_t row, std::size_t other) const {
  for (std::size_t k = 0; k < got_.size(); ++k) {
    const std::size_t size = k == 0 ? attention_.shape.value_dim : 1;
    const std::span<const double> values(got_[k]);
    if (!same_bits(values.subspan(row * size, size), values.subspan(other * size, size))) return false;
  }
  return true;
}

std::size_t RepeatedRows::first_like(std::size_t b, std::size_t h, std::size_t i) {
  const std::size_t row = row_number(attention_.shape, b, h, i);
  if (attention_.has_attributes()) return row;  // rows with attributes are not compared
  return first_rows_.try_emplace(question_of(b, h, i), row).first->second;
}

bool RepeatedRows::repeats(std::size_t b, std::size_t h, std::size_t i) {
  const std::size_t row = row_number(attention_.shape, b, h, i), first = first_like(b, h, i);
  return first != row && same_results(row, first);
}

std::vector<bool> judged_queries(const AttentionCase& attention) {
  constexpr std::size_t few = std::size_t{1} << 20, judged = std::size_t{1} << 18;
  const AttentionShape& s = attention.shape;
  if (!attention.causal || s.scores() <= few) return std::vector<bool>(s.queries, true);
  std::vector<std::size_t> wanted{0, s.queries - 1};
  for (std::size_t power = 1; power / 2 < s.queries; power *= 2) {
    for (const std::size_t i : {power, power + 1, power - 1}) wanted.push_back(i);
  }
  for (std::size_t i = 0; i < s.queries; i += 61) wanted.push_back(i);
  std::size_t left = std::max<std::size_t>(8, judged / (s.batch * s.heads() * s.keys));
  std::vector<bool> result(s.queries);
  for (const std::size_t i : wanted) {
    if (left == 0) break;
    if (i >= s.queries || result[i]) continue;
    result[i] = true;
    --left;
  }
  return result;
}

}  // namespace softcheck::proptests
