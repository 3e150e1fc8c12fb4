#include "judge/call/attention_call.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "judge/call/sequence_layout.hpp"
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/generators/attention/attention_second.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/text/case_text.hpp"

namespace softcheck::proptests {
namespace {

// The axes from the outermost in memory to the innermost, the step along the innermost axis, and gaps.
struct Order {
  std::vector<std::size_t> axes;
  std::int64_t step = 1;
  std::int64_t row_gap = 0;   // behind the innermost axis
  std::int64_t head_gap = 0;  // behind the axis around that one
};

std::vector<std::int64_t> strides_of(const std::vector<std::int64_t>& shape, const Order& order) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t next = order.step;
  for (std::size_t level = 0; level < shape.size(); ++level) {
    const std::size_t axis = order.axes[shape.size() - 1 - level];
    strides[axis] = next;
    next *= std::max<std::int64_t>(shape[axis], 1);
    if (level == 0) next += order.row_gap;
    if (level == 1) next += order.head_gap;
  }
  return strides;
}

// For integer tensors, whose innermost stride is 1: a gap behind each row of a table, and an offset.
void lay_out_integers(Draw& draw, TensorPlace& place) {
  if (place.shape.size() == 2 && draw.one_in(2)) {
    place.strides = {place.shape[1] + 1 + static_cast<std::int64_t>(draw.below(8)), 1};
  }
  place.offset = draw.one_in(2) ? 0 : 1 + static_cast<std::int64_t>(draw.below(7));
  place.against_the_end = !draw.one_in(4);
}

// Draws one of the layouts that kernels meet or get wrong, numbered like AttentionTrait::layout.
void lay_out(Draw& draw, std::optional<std::size_t> wanted, bool packed, TensorPlace& place) {
  Order order;
  for (std::size_t axis = 0; axis < place.shape.size(); ++axis) order.axes.push_back(axis);
  const std::uint64_t kind = wanted ? *wanted : draw.below(attention_layouts);
  if (place.shape.size() == 1) {  // one number per head
    if (kind > 1) place.strides = {static_cast<std::int64_t>(kind) - 1};
    place.offset = draw.one_in(2) ? 0 : 1 + static_cast<std::int64_t>(draw.below(7));
    return;
  }
  // (batch, length, heads, dim), as projections produce it; for packed tensors (heads, total, dim).
  const std::size_t outer = place.shape.size() == 2 || (packed && place.shape.size() < most_dimensions) ? 0 : 1;
  if (kind == 1) std::swap(order.axes[outer], order.axes[outer + 1]);
  if (kind == 2) order.step = 2 + static_cast<std::int64_t>(draw.below(2));
  if (kind == 3) std::swap(order.axes[place.shape.size() - 2], order.axes.back());
  if (kind == 4) order.row_gap = 1 + static_cast<std::int64_t>(draw.below(8));
  if (kind == 5) order.head_gap = draw.one_in(3) && place.shape[0] * place.shape[1] <= 12 ? 70001 : 3;
  // Layout 6 is compact with explicit strides; layout 0 passes none.
  if (kind != 0) place.strides = strides_of(place.shape, order);
  place.offset = draw.one_in(2) ? 0 : 1 + static_cast<std::int64_t>(draw.below(7));
  place.against_the_end = !draw.one_in(4);
}

// Where element n of a tensor of the case stands in one of the call: head (kv, g) of kv_heads * group moves from
// kv * group + g to g * kv_heads + kv.
std::size_t interleaved(const AttentionShape& s, const TensorPlace& place, std::size_t n) {
  const std::size_t axis = place.shape.size() <= 2 ? 0 : 1, heads = s.heads();
  if (place.shape[axis] != static_cast<std::int64_t>(heads)) return n;
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < place.shape.size(); ++d) inner *= static_cast<std::size_t>(place.shape[d]);
  const std::size_t h = n / inner % heads;
  return n + (h % s.group * s.kv_heads + h / s.group - h) * inner;
}

bool has_query_heads(Role role) {
  static constexpr std::array roles{Role::query,        Role::mask,    Role::out,          Role::lse,
                                    Role::out_gradient, Role::sinks,   Role::lse_gradient, Role::slopes,
                                    Role::bias,         Role::dropout, Role::second_query, Role::lambda};
  return std::ranges::find(roles, role) != roles.end();
}

void interleave_heads(const AttentionCase& a, TensorCall& call) {
  call.attributes.interleaved_heads = a.is_interleaved();
  for (std::size_t k = 0; a.is_interleaved() && k < call.inputs.size(); ++k) {
    const std::vector<double> numbers = call.inputs[k].values;
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      call.inputs[k].values[element_in_call(a, call, k, n)] = numbers[n];
    }
  }
}

}  // namespace

std::size_t element_in_call(const AttentionCase& a, const TensorCall& call, std::size_t input, std::size_t element) {
  if (!a.is_interleaved() || !has_query_heads(call.roles[input])) return element;
  return interleaved(a.shape, call.inputs[input].place, element);
}

void restore_heads(const AttentionCase& a, const TensorCall& call, std::vector<std::vector<double>>& outputs) {
  for (std::size_t k = 0; a.is_interleaved() && k < outputs.size(); ++k) {
    const std::vector<double> got = outputs[k];
    for (std::size_t n = 0; n < got.size(); ++n) outputs[k][n] = got[interleaved(a.shape, call.outputs[k].place, n)];
  }
}

TensorPlace compact_place(std::optional<numerics::Format> format, std::initializer_list<std::size_t> shape) {
  TensorPlace place;
  place.format = format;
  for (const std::size_t size : shape) place.shape.push_back(static_cast<std::int64_t>(size));
  return place;
}

InputTensor mask_tensor(const AttentionCase& a) {
  InputTensor mask{compact_place(std::nullopt, {a.shape.batch, a.mask_heads(), a.shape.queries, a.shape.keys}), {}};
  mask.values.reserve(a.mask.size());
  for (std::size_t entry = 0; entry < a.mask.size(); ++entry) mask.values.push_back(a.byte_of(entry));
  return mask;
}

void add_attributes(const AttentionCase& a, TensorCall& call) {
  const AttentionShape& s = a.shape;
  const AttentionAttributes& of = a.attributes;
  const auto plus_1 = [](const std::optional<std::size_t>& keys) {
    return keys ? static_cast<std::int64_t>(*keys) + 1 : 0;
  };
  call.attributes.window_left_plus_1 = plus_1(of.window_left);
  call.attributes.window_right_plus_1 = plus_1(of.window_right);
  call.attributes.softcap = of.softcap;
  call.attributes.causal_top_left = a.is_top_left();
  call.attributes.sigmoid_bias = of.sigmoid_bias;
  const auto add = [&](Role role, TensorPlace place, const std::vector<double>& values) {
    if (values.empty()) return;
    call.inputs.push_back({std::move(place), values});
    call.roles.push_back(role);
  };
  add(Role::sinks, compact_place(scalars_of(a.format), {s.heads()}), of.sinks);
  add(Role::slopes, compact_place(scalars_of(a.format), {s.heads()}), of.slopes);
  add(Role::bias, compact_place(a.format, {s.batch, a.bias_heads(), s.queries, s.keys}), of.bias);
  std::vector<double> kept = of.kept;
  for (double& byte : kept) byte *= 1 + static_cast<double>(a.layout % 255);  // any nonzero byte keeps a weight
  add(Role::dropout, compact_place(std::nullopt, {s.batch, s.heads(), s.queries, s.keys}), kept);
  call.attributes.dropout_scale = of.kept.empty() ? 0 : of.dropout_scale;
  if (of.lse_gradients.empty()) return;
  if (a.sequences.any()) {
    call.inputs.push_back(SequenceLayout(a).of_scalars(of.lse_gradients, scalars_of(a.format)));
    call.roles.push_back(Role::lse_gradient);
  } else {
    add(Role::lse_gradient, compact_place(scalars_of(a.format), {s.batch, s.heads(), s.queries}), of.lse_gradients);
  }
}

namespace {

// Do the numbers repeat along this dimension?
bool repeats(const InputTensor& tensor, std::size_t axis) {
  const std::vector<std::int64_t>& shape = tensor.place.shape;
  std::size_t inner = 1;
  for (std::size_t d = axis + 1; d < shape.size(); ++d) inner *= static_cast<std::size_t>(shape[d]);
  const auto count = static_cast<std::size_t>(shape[axis]);
  for (std::size_t n = 0; n < tensor.values.size(); ++n) {
    const std::size_t first = n - n / inner % count * inner;
    if (!same_bits(tensor.values[n], tensor.values[first])) return false;
  }
  return true;
}

// Keys, values, masks and biases whose numbers repeat along batch or heads.
void expand(TensorCall& call) {
  for (std::size_t k = 1; k < call.inputs.size(); ++k) {
    TensorPlace& place = call.inputs[k].place;
    for (std::size_t axis = 0; place.shape.size() == most_dimensions && axis < 2; ++axis) {
      if (place.shape[axis] < 2 || !repeats(call.inputs[k], axis)) continue;
      place.strides = place.strides_in_use();
      place.strides[axis] = 0;
    }
  }
}

void lay_out_each(const AttentionCase& a, TensorCall& call);

}  // namespace

void lay_out(const AttentionCase& a, TensorCall& call) {
  interleave_heads(a, call);
  lay_out_each(a, call);
  if (a.attributes.expanded && !a.sequences.any()) expand(call);
  if (!a.attributes.values_view) return;
  constexpr std::size_t of_keys = 1, of_values = 2;
  TensorPlace view = call.inputs[of_keys].place;
  view.strides = view.strides_in_use();
  view.shape.back() = call.inputs[of_values].place.shape.back();
  call.inputs[of_values].place = view;
  call.inputs[of_values].view_of = of_keys;
}

namespace {

void lay_out_each(const AttentionCase& a, TensorCall& call) {
  if (a.layout == 0) return;
  Draw draw(a.layout);
  constexpr std::size_t of_mask = 3, first_output = 4;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (!call.inputs[i].place.format && call.inputs[i].place.integer_bits == 32) {
      lay_out_integers(draw, call.inputs[i].place);
      continue;
    }
    const bool is_mask = !call.inputs[i].place.format && call.inputs[i].place.integer_bits == 8;
    const auto kind = is_mask ? layout_kind(a.layout, of_mask) : i < of_mask ? layout_kind(a.layout, i) : std::nullopt;
    lay_out(draw, kind, a.sequences.packed, call.inputs[i].place);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    lay_out(draw, layout_kind(a.layout, first_output + i), a.sequences.packed, call.outputs[i].place);
  }
}

}  // namespace

namespace {

// Splits queries and keys into those of both maps, and adds the second one's and lambda.
void add_second_map(const AttentionCase& a, TensorCall& call) {
  call.op = SOFTCHECK_OP_DIFFERENTIAL_ATTENTION;
  for (const auto& [input, role] : {std::pair{0, Role::second_query}, {1, Role::second_key}}) {
    InputTensor& first = call.inputs[static_cast<std::size_t>(input)];
    TwoMaps maps = two_maps(first.values, a.shape.dim, *first.place.format);
    first.values = std::move(maps.first);
    InputTensor second{first.place, std::move(maps.second)};
    call.inputs.push_back(std::move(second));
    call.roles.push_back(role);
  }
  call.inputs.push_back({compact_place(scalars_of(a.format), {a.shape.heads()}), a.attributes.lambdas});
  call.roles.push_back(Role::lambda);
}

}  // namespace

TensorCall attention_call(const AttentionCase& a, numerics::Format scalars) {
  if (a.sequences.any()) {
    TensorCall sequences = SequenceLayout(a).call(scalars);
    lay_out(a, sequences);
    return sequences;
  }
  const AttentionShape& s = a.shape;
  TensorCall call;
  call.scale = a.scale;
  call.causal = a.causal;
  call.inputs.push_back({compact_place(a.format, {s.batch, s.heads(), s.queries, s.dim}), a.queries});
  call.inputs.push_back({compact_place(a.cache_format(), {s.batch, s.kv_heads, s.keys, s.dim}), a.keys});
  call.inputs.push_back({compact_place(a.cache_format(), {s.batch, s.kv_heads, s.keys, s.value_dim}), a.values});
  if (a.needs_version_2()) {
    call.op = a.attributes.sigmoid_bias ? SOFTCHECK_OP_SIGMOID_ATTENTION : SOFTCHECK_OP_ATTENTION;
    call.roles = {Role::query, Role::key, Role::value};
  }
  if (!a.attributes.lambdas.empty()) add_second_map(a, call);
  if (!a.mask.empty()) call.inputs.push_back(mask_tensor(a));
  if (a.needs_version_2()) {
    if (!a.mask.empty()) call.roles.push_back(Role::mask);
    add_attributes(a, call);
  }
  call.outputs.push_back({compact_place(a.format, {s.batch, s.heads(), s.queries, s.value_dim}), std::nullopt});
  for (int i = 1; i < a.outputs; ++i) {
    call.outputs.push_back({compact_place(scalars, {s.batch, s.heads(), s.queries}), std::nullopt});
  }
  lay_out(a, call);
  return call;
}

TensorCall far_apart(TensorCall call) {
  // Around 2^31 and 2^32, where a 32-bit index turns negative or wraps around; byte offsets exceed 32 bits, too.
  static constexpr std::array<std::int64_t, 7> distances{(std::int64_t{1} << 31) + 3, (std::int64_t{1} << 31) - 1,
                                                         (std::int64_t{1} << 32) + 5, (std::int64_t{1} << 30) + 1,
                                                         (std::int64_t{1} << 31) + 1, (std::int64_t{1} << 30) + 7,
                                                         (std::int64_t{3} << 29) + 11};
  std::size_t next = 0;
  const auto spread = [&](TensorPlace& place) {
    place.strides = place.strides_in_use();
    // The outermost axis with more than one element.
    const auto axis = std::ranges::find_if(place.shape, [](std::int64_t size) { return size > 1; });
    if (axis == place.shape.end()) return;
    const std::int64_t hops = *axis - 1;
    place.strides[static_cast<std::size_t>(axis - place.shape.begin())] = distances[next++ % distances.size()] / hops;
  };
  for (InputTensor& input : call.inputs) {
    const bool is_index = !input.place.format && input.place.integer_bits == 32;
    if (input.view_of) {
      input.place.strides = call.inputs[*input.view_of].place.strides;
    } else if (!is_index) {
      spread(input.place);
    }
  }
  for (OutputTensor& output : call.outputs) spread(output.place);
  return call;
}

}  // namespace softcheck::proptests
