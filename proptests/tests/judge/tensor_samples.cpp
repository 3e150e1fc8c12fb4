#include "proptests/tests/judge/tensor_samples.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

std::int64_t element_bytes(const StoredTensor& tensor) {
  return tensor.is_mask ? 1 : numerics::properties(tensor.format).storage_bits / 8;
}

StoredTensor laid_out(numerics::Format format, bool is_mask, const Shape& shape, SampleLayout layout) {
  StoredTensor tensor{format, is_mask, shape, {}, 0, {}};
  const std::size_t rank = shape.size();
  tensor.strides.assign(rank, 0);
  std::vector<std::size_t> order(rank);  // from the dimension that varies most quickly on
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (layout != SampleLayout::column_major) std::ranges::reverse(order);
  std::int64_t step = layout == SampleLayout::gaps ? 3 : 1;
  for (const std::size_t d : order) {
    tensor.strides[d] = step;
    step = step * std::max<std::int64_t>(shape[d], 1) + (layout == SampleLayout::gaps ? 2 : 0);
  }
  if (layout == SampleLayout::gaps) tensor.offset = 5;
  if (layout == SampleLayout::reversed) {
    for (std::size_t d = 0; d < rank; ++d) {
      tensor.offset += tensor.strides[d] * std::max<std::int64_t>(shape[d] - 1, 0);
      tensor.strides[d] = -tensor.strides[d];
    }
  }
  // What stands in a gap is 0xff: a NaN, or visible.
  tensor.memory.assign(static_cast<std::size_t>((step + 8) * element_bytes(tensor)), std::byte{0xff});
  return tensor;
}

}  // namespace

std::int64_t StoredTensor::place_of(std::size_t element) const {
  std::int64_t place = offset;
  for (std::size_t d = shape.size(); d-- > 0;) {
    const auto size = static_cast<std::size_t>(shape[d]);
    place += static_cast<std::int64_t>(element % size) * strides[d];
    element /= size;
  }
  return place * element_bytes(*this);
}

GivenTensor StoredTensor::held() const {
  const std::optional<numerics::Format> dtype = is_mask ? std::nullopt : std::optional(format);
  return {memory.data() + offset * element_bytes(*this), dtype, shape, strides};
}

void StoredTensor::set(std::size_t element, double value) {
  const std::uint64_t bits = is_mask ? static_cast<std::uint64_t>(value) : numerics::encode(format, value);
  std::memcpy(memory.data() + place_of(element), &bits, static_cast<std::size_t>(element_bytes(*this)));
}

double StoredTensor::at(std::size_t element) const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, memory.data() + place_of(element), static_cast<std::size_t>(element_bytes(*this)));
  return is_mask ? static_cast<double>(bits) : numerics::decode(format, bits);
}

StoredTensor stored(numerics::Format format, const Shape& shape, const std::vector<double>& values,
                    SampleLayout layout) {
  StoredTensor tensor = laid_out(format, false, shape, layout);
  for (std::size_t i = 0; i < values.size(); ++i) tensor.set(i, values[i]);
  return tensor;
}

StoredTensor stored_mask(const Shape& shape, const std::vector<std::uint8_t>& bytes, SampleLayout layout) {
  StoredTensor tensor = laid_out(numerics::Format::f32, true, shape, layout);
  for (std::size_t i = 0; i < bytes.size(); ++i) tensor.set(i, bytes[i]);
  return tensor;
}

std::vector<double> sample_numbers(numerics::Format format, std::size_t count, double spread, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(-spread, spread);
  std::vector<double> values(count);
  for (double& value : values) value = numerics::round_to(format, uniform(random));
  return values;
}

std::size_t elements_of(const Shape& shape) {
  std::size_t elements = 1;
  for (const std::int64_t size : shape) elements *= static_cast<std::size_t>(size);
  return elements;
}

ElementBounds::ElementBounds(const TensorTask& task, const numerics::Contract& contract, std::size_t which)
    : lower(elements_of(output_shape(task, which))), upper(lower), allowed(lower) {
  reference(task, contract, which, lower, upper);
  thresholds(task, contract, which, allowed);
}

std::vector<double> ideal_output(const TensorTask& task, const numerics::Contract& contract, std::size_t which,
                                 numerics::Format format) {
  std::vector<double> lower(elements_of(output_shape(task, which))), upper(lower);
  reference(task, contract, which, lower, upper);
  for (std::size_t i = 0; i < lower.size(); ++i) {
    const double middle = std::isfinite(lower[i]) ? lower[i] + 0.5 * (upper[i] - lower[i]) : lower[i];
    lower[i] = numerics::round_to(format, middle);
  }
  return lower;
}

const ReportRow& row_of_claim(const TensorJudgement& judgement, const std::string& claim) {
  for (const ReportRow& row : judgement.rows) {
    if (row.claim == claim) return row;
  }
  throw std::out_of_range("no row of the claim " + claim);
}

std::string details_text(const TensorJudgement& judgement) {
  std::string text;
  for (const ReportRow& row : judgement.rows) {
    for (const std::string& line : row.details) text += row.claim + ": " + line + "\n";
  }
  return text;
}

::testing::AssertionResult passes(const TensorJudgement& judgement) {
  if (judgement.verdict == ReportVerdict::pass) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_string(judgement.verdict) << "\n" << details_text(judgement);
}

StoredTensor TensorSample::filled(numerics::Format format, const Shape& shape, double spread, unsigned seed,
                                  SampleLayout layout) {
  return stored(format, shape, sample_numbers(format, elements_of(shape), spread, seed), layout);
}

void TensorSample::add(Role role, const StoredTensor& tensor) {
  task.roles.push_back(role);
  task.inputs.push_back(tensor.held());
}

void TensorSample::rewrite(SampleLayout layout) {
  outputs.clear();
  for (const std::size_t which : numbers()) {
    outputs.push_back(stored(format_of(which), output_shape(task, which),
                             ideal_output(task, contract, which, format_of(which)), layout));
  }
}

TensorJudgement TensorSample::judged(const TensorOptions& options) const {
  std::vector<GivenTensor> held;
  for (const StoredTensor& output : outputs) held.push_back(output.held());
  return judge_tensors(task, contract, held, options);
}

std::string TensorSample::refusal() const {
  return refusal_of([&] { judged(); });
}

CaseTensors::CaseTensors(const AttentionCase& attention, Op op, std::vector<StoredTensor>& memory)
    : task{.op = op, .inputs = {}, .scale = attention.scale, .causal = attention.causal},
      attention_(attention),
      memory_(memory) {
  const AttentionShape& s = attention.shape;
  const AttentionAttributes& of = attention.attributes;
  const numerics::Format wide = wide_format(attention.format);
  add(Role::bias, {s.batch, attention.bias_heads(), s.queries, s.keys}, of.bias);
  add(Role::value, {s.batch, s.kv_heads, s.keys, s.value_dim}, attention.values);
  add(Role::query, {s.batch, s.heads(), s.queries, s.dim}, attention.queries);
  add(Role::key, {s.batch, s.kv_heads, s.keys, s.dim}, attention.keys);
  add(Role::sinks, {s.heads()}, of.sinks, wide);
  add(Role::slopes, {s.heads()}, of.slopes, wide);
  const auto plus_1 = [](const std::optional<std::size_t>& window) {
    return window ? static_cast<std::int64_t>(*window) + 1 : 0;
  };
  task.attributes.window_left_plus_1 = plus_1(of.window_left);
  task.attributes.window_right_plus_1 = plus_1(of.window_right);
  task.attributes.softcap = of.softcap;
  if (!of.kept.empty()) task.attributes.dropout_scale = of.dropout_scale;
  add_bytes(Role::dropout, s.heads(), {of.kept.begin(), of.kept.end()});
  task.attributes.causal_top_left = of.top_left;
}

void CaseTensors::add(Role role, const std::vector<std::size_t>& shape, const std::vector<double>& values,
                      std::optional<numerics::Format> format) {
  if (values.empty()) return;
  memory_.push_back(stored(format.value_or(attention_.format), {shape.begin(), shape.end()}, values));
  task.inputs.push_back(memory_.back().held());
  task.roles.push_back(role);
}

void CaseTensors::add_bytes(Role role, std::size_t heads, const std::vector<std::uint8_t>& bytes) {
  if (bytes.empty()) return;
  const AttentionShape& s = attention_.shape;
  const std::vector<std::size_t> shape{s.batch, heads, s.queries, s.keys};
  memory_.push_back(stored_mask({shape.begin(), shape.end()}, bytes));
  task.inputs.push_back(memory_.back().held());
  task.roles.push_back(role);
}

void CaseTensors::add_mask() { add_bytes(Role::mask, attention_.mask_heads(), attention_.mask); }

}  // namespace softcheck::proptests
