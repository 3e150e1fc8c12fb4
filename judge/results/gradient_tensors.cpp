#include "judge/results/gradient_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "judge/results/attention_tensors.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"

namespace softcheck::proptests {
namespace {

// The pairs of one key head take some 300 bytes per score.
constexpr std::size_t most_scores = std::size_t{1} << 24;

// The kinds of each row of a matrix.
std::vector<NumberKinds> kinds_of_rows(std::span<const double> numbers, std::size_t rows) {
  std::vector<NumberKinds> kinds(rows);
  const std::size_t n = rows == 0 ? 0 : numbers.size() / rows;
  for (std::size_t i = 0; i < rows; ++i) kinds[i] = kinds_of(numbers.subspan(i * n, n));
  return kinds;
}

// A scalar per query with shape (...) or (..., 1), as (..., 1).
GivenTensor as_column(GivenTensor tensor, const std::string& name, const Shape& queries) {
  Shape column = queries;
  column.push_back(1);
  if (tensor.shape == column) return tensor;
  require_shape(name, tensor.shape, queries);
  tensor.shape = column;
  tensor.strides.push_back(1);
  return tensor;
}

std::optional<std::size_t> window_of(std::int64_t plus_1) {
  return plus_1 == 0 ? std::nullopt : std::optional(static_cast<std::size_t>(plus_1 - 1));
}

}  // namespace

GradientTensors::GradientTensors(const TensorTask& task) : task_(task) {
  require_task(task);
  static constexpr std::array roles{Role::query, Role::key, Role::value, Role::out_gradient};
  for (std::size_t k = 0; k < roles.size(); ++k) {
    inputs_[k] = of_four(*input_of(task, roles[k]), std::string(to_string(roles[k])));
  }
  require_shapes();
  case_.scale = task.scale;
  case_.causal = task.causal;
  case_.format = input_format(task);
  case_.attributes.window_left = window_of(task.attributes.window_left_plus_1);
  case_.attributes.window_right = window_of(task.attributes.window_right_plus_1);
  case_.attributes.softcap = task.attributes.softcap;
  case_.attributes.top_left = task.attributes.causal_top_left;
  group_ = key_heads() == 0 ? 1 : size_of(inputs_[0], of_heads) / key_heads();
  case_.shape = {1,
                 1,
                 group_,
                 size_of(inputs_[0], of_length),
                 size_of(inputs_[1], of_length),
                 size_of(inputs_[0], of_dim),
                 size_of(inputs_[2], of_dim)};
  require_scores();
}

void GradientTensors::require_shapes() {
  const Shape &q = inputs_[0].shape, &k = inputs_[1].shape;
  require_size("k", inputs_[1], of_batch, q[of_batch], "q's batch");
  require_size("k", inputs_[1], of_dim, q[of_dim], "q's dim");
  require_size("v", inputs_[2], of_batch, q[of_batch], "q's batch");
  require_size("v", inputs_[2], of_heads, k[of_heads], "k's heads");
  require_size("v", inputs_[2], of_length, k[of_length], "k's length");
  require_heads("k", inputs_[1], q[of_heads]);
  Shape queries = input_of(task_, Role::query)->shape;
  queries.pop_back();
  Shape out = queries;
  out.push_back(inputs_[2].shape[of_dim]);
  require_shape("out_gradient", input_of(task_, Role::out_gradient)->shape, out);
  const GivenTensor *const saved_out = input_of(task_, Role::out), *const saved_lse = input_of(task_, Role::lse);
  saved_ = saved_out != nullptr;
  if (saved_) {
    require_shape("out", saved_out->shape, out);
    out_ = of_four(*saved_out, "out");
    lse_ = of_four(as_column(*saved_lse, "lse", queries), "lse");
  }
  const GivenTensor* const by_lse = input_of(task_, Role::lse_gradient);
  has_lse_gradient_ = by_lse != nullptr;
  if (has_lse_gradient_) by_lse_ = of_four(as_column(*by_lse, "lse_gradient", queries), "lse_gradient");
  Shape scores = q;
  scores.back() = k[of_length];
  masked_ = has_mask(task_);
  if (masked_) mask_ = broadcast_to(*input_of(task_, Role::mask), "mask", scores);
  const GivenTensor* const bias = input_of(task_, Role::bias);
  biased_ = bias != nullptr;
  if (biased_) bias_ = broadcast_to(*bias, "bias", scores);
  for (const Role role : {Role::sinks, Role::slopes}) {
    vector_of_heads(input_of(task_, role), std::string(to_string(role)), q[of_heads], 0,
                    static_cast<std::size_t>(q[of_heads]));
  }
}

void GradientTensors::require_scores() const {
  const AttentionShape& s = case_.shape;
  const std::size_t queries = group_ * s.queries;
  if (queries == 0 || s.keys <= most_scores / queries) return;
  throw std::invalid_argument("q: need at most 2^24 scores for each key head, got " + std::to_string(queries) +
                              " queries and " + std::to_string(s.keys) + " keys: judge some of the queries' tensors");
}

Shape GradientTensors::output_shape(std::size_t which) const {
  static constexpr std::array roles{Role::query, Role::key, Role::value, Role::sinks, Role::bias};
  return input_of(task_, roles.at(which))->shape;
}

void GradientTensors::require_outputs(std::span<const GivenTensor> outputs) const {
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::size_t which = number_of_output(task_, k);
    require_shape(output_name(task_.op, which), outputs[k].shape, output_shape(which));
  }
}

std::vector<double> GradientTensors::heads_of(const GivenTensor& tensor, std::size_t first, std::size_t count) const {
  const std::size_t values = size_of(tensor, of_length) * size_of(tensor, of_dim);
  std::vector<double> result(count * values);
  for (std::size_t h = 0; h < count; ++h) {
    decode_head(tensor, static_cast<std::int64_t>(batch_), static_cast<std::int64_t>(first + h),
                std::span(result).subspan(h * values, values));
  }
  return result;
}

void GradientTensors::load(std::size_t batch, std::size_t key_head) {
  const AttentionShape& s = case_.shape;
  batch_ = batch;
  key_head_ = key_head;
  const std::size_t first = key_head * group_, heads = group_ * key_heads();
  first_query_ = (batch * heads + first) * s.queries;
  first_key_ = batches() * heads * s.queries + (batch * key_heads() + key_head) * s.keys;
  case_.queries = heads_of(inputs_[0], first, group_);
  case_.keys = heads_of(inputs_[1], key_head, 1);
  case_.values = heads_of(inputs_[2], key_head, 1);
  case_.gradients = heads_of(inputs_[3], first, group_);
  if (saved_) {
    saved_out_ = heads_of(out_, first, group_);
    saved_lse_ = heads_of(lse_, first, group_);
  }
  if (has_lse_gradient_) {
    case_.attributes.lse_gradients = heads_of(by_lse_, first, group_);
    require_finite("lse_gradient", case_.attributes.lse_gradients);
  }
  load_terms(batch, key_head);
  classify();
}

void GradientTensors::load_terms(std::size_t batch, std::size_t key_head) {
  const AttentionShape& s = case_.shape;
  const std::size_t first = key_head * group_;
  const std::int64_t heads = inputs_[0].shape[of_heads];
  case_.attributes.sinks = vector_of_heads(input_of(task_, Role::sinks), "sinks", heads, first, group_);
  case_.attributes.slopes = vector_of_heads(input_of(task_, Role::slopes), "slopes", heads, first, group_);
  const auto row_in = [&](const GivenTensor& tensor, std::size_t row) {
    return offset_of_row(tensor, batch, first + row / s.queries, row % s.queries);
  };
  case_.mask.assign(masked_ ? group_ * s.queries * s.keys : 0, 0);
  case_.attributes.bias.assign(biased_ ? group_ * s.queries * s.keys : 0, 0);
  for (std::size_t row = 0; row < group_ * s.queries; ++row) {
    for (std::size_t j = 0; masked_ && j < s.keys; ++j) {
      const std::int64_t at = row_in(mask_, row) + static_cast<std::int64_t>(j) * mask_.strides[3];
      case_.mask[row * s.keys + j] = mask_shows(mask_, at) ? 1 : 0;
    }
    if (!biased_) continue;
    const auto bias = std::span(case_.attributes.bias).subspan(row * s.keys, s.keys);
    decode_elements(bias_, row_in(bias_, row), bias_.strides[3], bias);
    require_finite("bias", bias);
  }
}

bool GradientTensors::sees(std::size_t query, std::size_t key) const {
  return case_.sees(0, query / case_.shape.queries, query % case_.shape.queries, key);
}

void GradientTensors::classify() {
  const AttentionShape& s = case_.shape;
  const std::size_t m = group_ * s.queries;
  of_query_ = kinds_of_rows(case_.queries, m);
  of_gradient_ = kinds_of_rows(case_.gradients, m);
  of_key_ = kinds_of_rows(case_.keys, s.keys);
  of_value_ = kinds_of_rows(case_.values, s.keys);
  kinds_.assign(m, QueryKind::usual);
  for (std::size_t q = 0; q < m; ++q) {
    const auto own = static_cast<NumberKinds>(of_query_[q] | of_gradient_[q]);
    NumberKinds met = own;
    bool sees_a_key = false;
    for (std::size_t j = 0; j < s.keys; ++j) {
      if (!sees(q, j)) continue;
      sees_a_key = true;
      met |= of_key_[j] | of_value_[j];
    }
    kinds_[q] = query_kind(own, met, sees_a_key);
  }
}

NanOfKey GradientTensors::nan_of_key(std::size_t key) const {
  const std::size_t dv = case_.shape.value_dim;
  NanOfKey result;
  for (std::size_t q = 0; q < kinds_.size(); ++q) {
    const bool of_numbers = kinds_[q] == QueryKind::usual || kinds_[q] == QueryKind::nothing;
    if (of_numbers || !sees(q, key)) continue;
    result.reached = true;
    if (kinds_[q] != QueryKind::nan) continue;
    result.keys = true;
    // p is NaN if a score is; a NaN in a value does not affect p.
    bool scores = (of_query_[q] & has_nan) != 0;
    for (std::size_t j = 0; j < case_.shape.keys && !scores; ++j) scores = (of_key_[j] & has_nan) != 0 && sees(q, j);
    if (result.columns.empty()) result.columns.assign(dv, false);
    for (std::size_t c = 0; c < dv; ++c) {
      if (scores || std::isnan(case_.gradients[q * dv + c])) result.columns[c] = true;
    }
  }
  return result;
}

// Selects the queries of the group that thresholds can judge.
std::function<bool(std::size_t, std::size_t)> GradientTensors::judged_queries() const {
  return [this](std::size_t h, std::size_t i) {
    const QueryKind kind = kinds_[h * case_.shape.queries + i];
    return kind == QueryKind::usual || kind == QueryKind::nothing;
  };
}

GradientGroup GradientTensors::group() const {
  GradientGroup group = gradient_group(case_, 0, 0, judged_queries());
  group.saved = saved_ ? SavedForward::Kind::given : SavedForward::Kind::own;
  group.saved_out = saved_out_;
  group.saved_lse = saved_lse_;
  return group;
}

GradientGroup GradientTensors::head(std::size_t head) const {
  const AttentionShape& s = case_.shape;
  GradientGroup group = head_queries(case_, 0, head, judged_queries());
  group.saved = saved_ ? SavedForward::Kind::given : SavedForward::Kind::own;
  if (!saved_) return group;
  const std::size_t first = head * s.queries;
  group.saved_out = std::span(saved_out_).subspan(first * s.value_dim, s.queries * s.value_dim);
  group.saved_lse = std::span(saved_lse_).subspan(first, s.queries);
  return group;
}

std::size_t GradientTensors::first_value(std::size_t which) const {
  const AttentionShape& s = case_.shape;
  const std::size_t heads = group_ * key_heads();
  if (which == 0) return (batch_ * heads + key_head_ * group_) * s.queries * s.dim;
  return (batch_ * key_heads() + key_head_) * s.keys * (which == 1 ? s.dim : s.value_dim);
}

std::size_t GradientTensors::values(std::size_t which) const {
  const AttentionShape& s = case_.shape;
  return which == 0 ? queries() * s.dim : s.keys * (which == 1 ? s.dim : s.value_dim);
}

std::vector<double> GradientTensors::load_output(const GivenTensor& output, std::size_t which) const {
  const GivenTensor four = of_four(output, output_name(task_.op, which));
  return which == 0 ? heads_of(four, key_head_ * group_, group_) : heads_of(four, key_head_, 1);
}

}  // namespace softcheck::proptests
