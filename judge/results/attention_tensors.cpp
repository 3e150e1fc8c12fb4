#include "judge/results/attention_tensors.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "judge/results/given_tensor.hpp"
#include "judge/results/task_checks.hpp"
#include "proptests/generators/attention/attention_attributes.hpp"

namespace softcheck::proptests {
namespace {

std::array<GivenTensor, 3> inputs_of(const TensorTask& task) {
  require_task(task);
  std::array<GivenTensor, 3> all;
  static constexpr std::array roles{Role::query, Role::key, Role::value};
  for (std::size_t k = 0; k < roles.size(); ++k) {
    all[k] = of_four(*input_of(task, roles[k]), std::string(to_string(roles[k])));
  }
  const Shape &q = all[0].shape, &k = all[1].shape;
  require_size("k", all[1], of_batch, q[of_batch], "q's batch");
  require_size("k", all[1], of_dim, q[of_dim], "q's dim");
  require_size("v", all[2], of_batch, q[of_batch], "q's batch");
  require_size("v", all[2], of_length, k[of_length], "k's length");
  require_heads("k", all[1], q[of_heads]);
  require_heads("v", all[2], q[of_heads]);
  return all;
}

std::vector<double> decoded_head(const GivenTensor& tensor, std::int64_t batch, std::int64_t head) {
  std::vector<double> values(size_of(tensor, of_length) * size_of(tensor, of_dim));
  decode_head(tensor, batch, head, values);
  return values;
}

}  // namespace

NumberKinds kinds_of(std::span<const double> numbers) {
  NumberKinds kinds = 0;
  for (const double x : numbers) {
    if (std::isnan(x)) kinds |= has_nan;
    if (std::isinf(x)) kinds |= has_infinity;
  }
  return kinds;
}

QueryKind query_kind(NumberKinds own, NumberKinds met, bool sees_a_key) {
  if (!sees_a_key) return own == 0 ? QueryKind::nothing : QueryKind::unasked;
  if ((met & has_nan) != 0) return QueryKind::nan;
  return (met & has_infinity) != 0 ? QueryKind::infinite : QueryKind::usual;
}

AttentionTensors::AttentionTensors(const TensorTask& task)
    : task_(task),
      inputs_(inputs_of(task)),
      walk_({inputs_[0].shape.begin(), inputs_[0].shape.end() - 1}),
      dim_(size_of(inputs_[0], of_dim)),
      keys_(size_of(inputs_[1], of_length)),
      value_dim_(size_of(inputs_[2], of_dim)) {
  Shape scores = inputs_[0].shape;
  scores.back() = inputs_[1].shape[of_length];
  if (has_mask(task)) mask_ = broadcast_to(*input_of(task, Role::mask), "mask", scores);
  if (const GivenTensor* const kept = input_of(task, Role::dropout)) kept_ = broadcast_to(*kept, "dropout", scores);
  if (const GivenTensor* const bias = input_of(task, Role::bias)) bias_ = broadcast_to(*bias, "bias", scores);
  const std::int64_t heads = scores[of_heads];
  sinks_ = vector_of_heads(input_of(task, Role::sinks), "sinks", heads, 0, static_cast<std::size_t>(heads));
  slopes_ = vector_of_heads(input_of(task, Role::slopes), "slopes", heads, 0, static_cast<std::size_t>(heads));
  lambdas_ = vector_of_heads(input_of(task, Role::lambda), "lambdas", heads, 0, static_cast<std::size_t>(heads));
  for (std::size_t k = 0; k < 2 && task.op->differential; ++k) {
    const Role role = k == 0 ? Role::second_query : Role::second_key;
    const std::string name(to_string(role));
    require_shape(name, input_of(task, role)->shape, own_input(task, k).shape);
    second_.push_back(of_four(*input_of(task, role), name));
  }
  query_.resize(dim_);
  row_.value_size = value_dim_;
  row_.scale = task.scale;
  row_.softcap = task.attributes.softcap;
  if (kept_) row_.dropout_scale = task.attributes.dropout_scale;
  row_.sigmoid_bias = task.attributes.sigmoid_bias.value_or(usual_sigmoid_bias(keys_));
}

std::vector<std::int64_t> AttentionTensors::index(std::size_t row) const {
  const std::vector<std::int64_t> all = walk_.index(row);
  const auto used = static_cast<std::ptrdiff_t>(input_of(task_, Role::query)->shape.size()) - 1;
  return {all.end() - used, all.end()};
}

Shape AttentionTensors::output_shape(std::size_t which) const {
  Shape shape = input_of(task_, Role::query)->shape;
  shape.pop_back();
  if (which == 0) shape.push_back(static_cast<std::int64_t>(value_dim_));
  return shape;
}

void AttentionTensors::require_outputs(std::span<const GivenTensor> outputs) const {
  if (!sinks_.empty() && outputs.size() > 2) {
    throw std::invalid_argument("entropy: need none beside sinks, whose weights do not add up to 1");
  }
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const Shape need = output_shape(k);
    Shape column = need;
    column.push_back(1);
    if (k > 0 && outputs[k].shape == column) continue;
    require_shape(output_name(task_.op, k), outputs[k].shape, need);
  }
}

void AttentionTensors::load_head(std::size_t batch, std::size_t head) {
  const auto head_in = [&](const GivenTensor& tensor) {
    return static_cast<std::int64_t>(head * size_of(tensor, of_heads) / size_of(inputs_[0], of_heads));
  };
  const std::array<std::int64_t, 4> wanted{static_cast<std::int64_t>(batch), head_in(inputs_[1]),
                                           static_cast<std::int64_t>(batch), head_in(inputs_[2])};
  if (wanted == loaded_) return;
  loaded_ = wanted;
  head_keys_ = decoded_head(inputs_[1], wanted[0], wanted[1]);
  head_values_ = decoded_head(inputs_[2], wanted[2], wanted[3]);
  key_kinds_.resize(keys_);
  for (std::size_t j = 0; j < keys_; ++j) {
    key_kinds_[j] = kinds_of(std::span<const double>(head_keys_).subspan(j * dim_, dim_));
  }
  if (!second_.empty()) {
    second_keys_ = decoded_head(second_[1], wanted[0], wanted[1]);
    row_.second_keys = second_keys_;
    for (std::size_t j = 0; j < keys_; ++j) {
      key_kinds_[j] |= kinds_of(row_.second_keys.subspan(j * dim_, dim_));
    }
  }
  values_finite_ = kinds_of(head_values_) == 0;
}

void AttentionTensors::load_visible(std::size_t batch, std::size_t head, std::size_t query) {
  row_.visible.assign(keys_, 1);
  if (has_mask(task_)) {
    const std::int64_t first = offset_of_row(mask_, batch, head, query);
    for (std::size_t j = 0; j < keys_; ++j) {
      row_.visible[j] = mask_shows(mask_, first + static_cast<std::int64_t>(j) * mask_.strides[3]) ? 1 : 0;
    }
  }
  const std::int64_t place = place_of(query), left = task_.attributes.window_left_plus_1,
                     right = task_.attributes.window_right_plus_1;
  for (std::size_t j = 0; j < keys_; ++j) {
    const std::int64_t before = place - static_cast<std::int64_t>(j);  // keys from j to the query's position
    const bool hidden =
        (task_.causal && before < 0) || (left != 0 && before >= left) || (right != 0 && -before >= right);
    if (hidden) row_.visible[j] = 0;
  }
}

// The query's position among the keys: the last query stands at the last key, or with top-left alignment the first at
// the first.
std::int64_t AttentionTensors::place_of(std::size_t query) const {
  const auto place = static_cast<std::int64_t>(query);
  if (task_.attributes.causal_top_left) return place;
  return place + static_cast<std::int64_t>(keys_) - inputs_[0].shape[of_length];
}

void AttentionTensors::load_terms(std::size_t batch, std::size_t head, std::size_t query) {
  if (!sinks_.empty()) row_.sink = sinks_[head];
  row_.distances.clear();
  if (!slopes_.empty()) row_.slope = slopes_[head];
  if (row_.slope != 0) {
    for (std::size_t j = 0; j < keys_; ++j) {
      row_.distances.push_back(std::fabs(static_cast<double>(place_of(query) - static_cast<std::int64_t>(j))));
    }
  }
  if (kept_) {
    const std::int64_t first = offset_of_row(*kept_, batch, head, query);
    row_.kept.resize(keys_);
    for (std::size_t j = 0; j < keys_; ++j) {
      row_.kept[j] = mask_shows(*kept_, first + static_cast<std::int64_t>(j) * kept_->strides[3]) ? 1 : 0;
    }
  }
  if (!bias_) return;
  row_.bias.resize(keys_);
  decode_elements(*bias_, offset_of_row(*bias_, batch, head, query), bias_->strides[3], row_.bias);
  require_finite("bias", row_.bias);
}

void AttentionTensors::find_columns() {
  columns_.clear();
  if (values_finite_) return;
  columns_.assign(value_dim_, ColumnKind::usual);
  for (std::size_t j = 0; j < keys_; ++j) {
    if (row_.visible[j] == 0) continue;
    for (std::size_t c = 0; c < value_dim_; ++c) {
      const double value = head_values_[j * value_dim_ + c];
      if (std::isnan(value)) columns_[c] = ColumnKind::nan;
      if (std::isinf(value) && columns_[c] == ColumnKind::usual) columns_[c] = ColumnKind::infinite;
    }
  }
  const bool usual = std::ranges::all_of(columns_, [](ColumnKind kind) { return kind == ColumnKind::usual; });
  if (usual) columns_.clear();
}

QueryKind AttentionTensors::load(std::size_t number) {
  const std::vector<std::int64_t> at = walk_.index(number);
  const auto batch = static_cast<std::size_t>(at[0]), head = static_cast<std::size_t>(at[1]);
  load_head(batch, head);
  load_visible(batch, head, static_cast<std::size_t>(at[2]));
  load_terms(batch, head, static_cast<std::size_t>(at[2]));
  decode_elements(inputs_[0], walk_.offset(number, inputs_[0].strides), inputs_[0].strides[of_dim], query_);
  row_.query = query_;
  if (!second_.empty()) {
    second_query_.resize(dim_);
    decode_elements(second_[0], walk_.offset(number, second_[0].strides), second_[0].strides[of_dim], second_query_);
    row_.second_query = second_query_;
    row_.lambda = lambdas_[head];
  }
  row_.keys = head_keys_;
  row_.values = head_values_;
  find_columns();
  const NumberKinds own = kinds_of(query_) | kinds_of(row_.second_query);
  NumberKinds met = own;
  bool sees = false;
  for (std::size_t j = 0; j < keys_; ++j) {
    if (row_.visible[j] == 0) continue;
    met |= key_kinds_[j];
    sees = true;
  }
  return query_kind(own, met, sees);
}

AttentionRow AttentionTensors::usual_row(std::vector<std::size_t>& left) {
  left.clear();
  for (std::size_t c = 0; c < value_dim_; ++c) {
    if (columns_.empty() || columns_[c] == ColumnKind::usual) left.push_back(c);
  }
  AttentionRow result = row_;
  if (columns_.empty()) return result;
  usual_values_.clear();
  for (std::size_t j = 0; j < keys_; ++j) {
    for (const std::size_t c : left) usual_values_.push_back(head_values_[j * value_dim_ + c]);
  }
  result.values = usual_values_;
  result.value_size = left.size();
  return result;
}

void AttentionTensors::load_output(const GivenTensor& output, std::size_t which, std::size_t row,
                                   std::span<double> values) const {
  GivenTensor four = output;
  // Skip a scalar's last dimension of size 1, if it has one.
  if (which > 0 && output.shape.size() == input_of(task_, Role::query)->shape.size()) four.strides.pop_back();
  const std::size_t wanted = which == 0 ? 4 : 3;
  four.strides.insert(four.strides.begin(), wanted - four.strides.size(), 0);
  decode_elements(four, walk_.offset(row, four.strides), which == 0 ? four.strides.back() : 0, values);
}

GivenTensor of_four(const GivenTensor& tensor, const std::string& name) {
  if (tensor.shape.size() < 2 || tensor.shape.size() > 4) {
    throw std::invalid_argument(name + ": need two to four dimensions (batch, heads, length, dim), got shape " +
                                shape_text(tensor.shape));
  }
  GivenTensor result = tensor;
  result.shape.insert(result.shape.begin(), 4 - tensor.shape.size(), 1);
  result.strides.insert(result.strides.begin(), 4 - tensor.shape.size(), 0);
  return result;
}

void require_size(const std::string& name, const GivenTensor& tensor, std::size_t dimension, std::int64_t need,
                  const char* what) {
  if (tensor.shape[dimension] == need) return;
  throw std::invalid_argument(name + ": need " + what + " " + std::to_string(need) + ", got shape " +
                              shape_text(tensor.shape) + " (batch, heads, length, dim)");
}

void require_heads(const std::string& name, const GivenTensor& tensor, std::int64_t heads) {
  const std::int64_t own = tensor.shape[of_heads];
  if (own == heads || (own > 0 && heads % own == 0)) return;
  throw std::invalid_argument(name + ": need heads that divide q's " + std::to_string(heads) + ", got " +
                              std::to_string(own));
}

void decode_head(const GivenTensor& tensor, std::int64_t batch, std::int64_t head, std::span<double> values) {
  const std::size_t length = size_of(tensor, of_length), dim = size_of(tensor, of_dim);
  const std::int64_t first = batch * tensor.strides[of_batch] + head * tensor.strides[of_heads];
  for (std::size_t j = 0; j < length; ++j) {
    const std::int64_t offset = first + static_cast<std::int64_t>(j) * tensor.strides[of_length];
    decode_elements(tensor, offset, tensor.strides[of_dim], values.subspan(j * dim, dim));
  }
}

void require_finite(const std::string& name, std::span<const double> numbers) {
  const auto wrong = std::ranges::find_if(numbers, [](double x) { return !std::isfinite(x); });
  if (wrong == numbers.end()) return;
  throw std::invalid_argument(name + ": need finite numbers (a mask hides keys), got " + std::to_string(*wrong));
}

GivenTensor broadcast_to(const GivenTensor& tensor, const std::string& name, const Shape& shape) {
  GivenTensor result = tensor;
  result.strides = broadcast_strides(name, tensor.shape, tensor.strides, shape);
  result.shape = shape;
  return result;
}

std::vector<double> vector_of_heads(const GivenTensor* tensor, const std::string& name, std::int64_t heads,
                                    std::size_t first, std::size_t count) {
  if (tensor == nullptr) return {};
  require_shape(name, tensor->shape, Shape{heads});
  std::vector<double> values(count);
  decode_elements(*tensor, static_cast<std::int64_t>(first) * tensor->strides[0], tensor->strides[0], values);
  require_finite(name, values);
  return values;
}

}  // namespace softcheck::proptests
