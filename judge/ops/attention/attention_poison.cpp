#include "judge/ops/attention/attention_poison.hpp"

#include <algorithm>
#include <span>

#include "numerics/formats/special_values.hpp"
#include "proptests/generators/attention/attention_second.hpp"

namespace softcheck::proptests {
namespace {

NanPlace drawn_place(const AttentionCase& a) {
  if (a.nan != 0) return NanPlace::of(a.nan);
  const AttentionShape& s = a.shape;
  const std::size_t tensors = NanPlace::tensors + (a.gradients.empty() ? 0 : 1);
  return {static_cast<NanPlace::Tensor>(s.scores() % tensors),
          static_cast<NanPlace::Position>(s.keys % NanPlace::positions),
          static_cast<NanPlace::Bits>((s.queries + s.dim) % NanPlace::patterns)};
}

NanPlace place_in(const AttentionCase& a) {
  NanPlace place = drawn_place(a);
  // A linear layer's loss has no values.
  if (a.attributes.classes && place.tensor != NanPlace::Tensor::query) place.tensor = NanPlace::Tensor::key;
  return place;
}

bool has_both(const AttentionCase& a, std::size_t b) { return a.queries_of(b) > 0 && a.keys_of(b) > 0; }

}  // namespace

bool PoisonedCase::is_possible(const AttentionCase& original) {
  if (!original.sequences.any()) return true;
  for (std::size_t b = 0; b < original.shape.batch; ++b) {
    if (has_both(original, b)) return true;
  }
  return false;
}

PoisonedCase::PoisonedCase(const AttentionCase& original, bool visible)
    : attention(original), place(place_in(original)) {
  const AttentionShape& s = attention.shape;
  batch_ = place.along(s.batch);
  for (std::size_t tried = 0; tried < s.batch && !has_both(attention, batch_); ++tried) batch_ = (batch_ + 1) % s.batch;
  const std::size_t kv = place.along(s.kv_heads), in_key = place.along(s.dim);
  head_ = kv;
  query_ = place.along(attention.queries_of(batch_));
  key_ = place.along(attention.keys_of(batch_));
  if (visible) keep_visible();
  if (is_of_a_query()) head_ = kv * s.group + place.along(s.group);
  const bool cached = place.tensor == NanPlace::Tensor::key || place.tensor == NanPlace::Tensor::value;
  bits = nan_bits(cached ? attention.cache_format() : attention.format, place.bits);
  tensor = static_cast<std::size_t>(place.tensor);
  const bool of_vectors = place.tensor == NanPlace::Tensor::query || place.tensor == NanPlace::Tensor::key;
  constexpr std::size_t second_map = 3;  // its inputs follow q, k and v
  if (!attention.attributes.lambdas.empty() && of_vectors && is_of_second_map(in_key, s.dim)) tensor += second_map;
  const std::size_t key_row = (batch_ * s.kv_heads + kv) * s.keys + key_;
  if (place.tensor == NanPlace::Tensor::query) {
    element = ((batch_ * s.heads() + head_) * s.queries + query_) * s.dim + in_key;
    attention.queries[element] = numerics::nan;
    remark = (attention.attributes.classes ? " (a NaN in row " : " (a NaN in query ") + std::to_string(query_) + ")";
  } else if (place.tensor == NanPlace::Tensor::key) {
    element = key_row * s.dim + in_key;
    attention.keys[element] = numerics::nan;
    remark = (attention.attributes.classes ? " (a NaN in class " : " (a NaN in key ") + std::to_string(key_) + ")";
  } else if (place.tensor == NanPlace::Tensor::out_gradient) {
    constexpr std::size_t of_inputs = 5;  // after q, k, v, out and lse
    tensor = of_inputs;
    column = place.along(s.value_dim);
    element = ((batch_ * s.heads() + head_) * s.queries + query_) * s.value_dim + *column;
    attention.gradients[element] = numerics::nan;
    remark = " (a NaN in dout " + std::to_string(query_) + ")";
  } else {
    make_weights_known();
    column = place.along(s.value_dim);
    element = key_row * s.value_dim + *column;
    attention.values[element] = numerics::nan;
    remark = " (a NaN in value " + std::to_string(key_) + ")";
  }
}

// Fixes the weights that queries give the NaN's value: either all are equal, or the key's weight underflows to 0 (0
// times NaN is NaN). In the latter case all scores are 0 but the key's, which is as low as the format allows, or -2^20.
void PoisonedCase::make_weights_known() {
  const AttentionShape& s = attention.shape;
  const std::size_t head = batch_ * s.kv_heads + head_;
  const std::span queries =
      std::span(attention.queries).subspan(head * s.group * s.queries * s.dim, s.group * s.queries * s.dim);
  const std::span keys = std::span(attention.keys).subspan(head * s.keys * s.dim, s.keys * s.dim);
  std::ranges::fill(queries, 0.0);
  if (!attention.gradients.empty() || (s.keys + s.dim) % 2 != 0) return;
  const double most = numerics::properties(attention.format).largest, factor = most < 0x1p+17 ? 0x1p+7 : 0x1p+10;
  for (std::size_t at = 0; at < queries.size(); at += s.dim) queries[at] = factor;
  for (std::size_t at = 0; at < keys.size(); at += s.dim) keys[at] = 0;
  keys[key_ * s.dim] = attention.scale < 0 ? factor : -factor;
}

// Looks for a key, from key_ on, that all queries of its heads see.
void PoisonedCase::keep_visible() {
  if (is_of_a_query()) return;
  const AttentionShape& s = attention.shape;
  const std::size_t keys = attention.keys_of(batch_), queries = attention.queries_of(batch_);
  const auto seen_by_all = [&](std::size_t key) {
    for (std::size_t h = head_ * s.group; h < (head_ + 1) * s.group; ++h) {
      for (std::size_t i = 0; i < queries; ++i) {
        if (!attention.sees(batch_, h, i, key)) return false;
      }
    }
    return true;
  };
  for (std::size_t tried = 0; tried < keys; ++tried, key_ = (key_ + 1) % keys) {
    if (seen_by_all(key_)) return;
  }
  place.tensor = NanPlace::Tensor::query;
}

bool PoisonedCase::is_of_a_query() const {
  return place.tensor == NanPlace::Tensor::query || place.tensor == NanPlace::Tensor::out_gradient;
}

bool PoisonedCase::is_its_head(std::size_t b, std::size_t h) const {
  return b == batch_ && h / attention.shape.group == head_;
}

bool PoisonedCase::is_its_query(std::size_t b, std::size_t h, std::size_t i) const {
  return b == batch_ && h == head_ && i == query_;
}

bool PoisonedCase::sees_a_key(std::size_t b, std::size_t h, std::size_t i) const {
  for (std::size_t j = 0; j < attention.shape.keys; ++j) {
    if (attention.sees(b, h, i, j)) return true;
  }
  return false;
}

bool PoisonedCase::sees_it(std::size_t b, std::size_t h, std::size_t i) const {
  if (is_of_a_query()) return is_its_query(b, h, i) && sees_a_key(b, h, i);
  return is_its_head(b, h) && attention.sees(b, h, i, key_);
}

// A dropout may make a term 0 whatever its factors are.
bool PoisonedCase::meets(std::size_t b, std::size_t h, std::size_t i) const {
  const std::vector<double>& kept = attention.attributes.kept;
  if (kept.empty() || !sees_it(b, h, i)) return sees_it(b, h, i);
  if (column) return attention.gradients.empty() && kept[attention.kept_row(b, h, i) + key_] != 0;
  for (std::size_t j = 0; j < attention.shape.keys; ++j) {
    if (attention.sees(b, h, i, j) && kept[attention.kept_row(b, h, i) + j] != 0) return true;
  }
  return false;
}

bool PoisonedCase::leaves_alone(std::size_t b, std::size_t h, std::size_t i) const {
  return is_of_a_query() ? !is_its_query(b, h, i) : !sees_it(b, h, i);
}

bool PoisonedCase::keeps_numbers(std::size_t b, std::size_t h) const {
  return place.tensor != NanPlace::Tensor::value || !is_its_head(b, h);
}

}  // namespace softcheck::proptests
