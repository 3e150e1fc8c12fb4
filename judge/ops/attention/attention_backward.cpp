// The gradient of attention. Judged per key head for queries, keys and values (attention_gradient.hpp), per head for
// sinks (sink_gradient.hpp), and per row for the bias (bias_gradient.hpp).
#include <array>
#include <functional>
#include <optional>
#include <utility>

#include "judge/call/attention_call.hpp"
#include "judge/call/sequence_layout.hpp"
#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/ops/attention/bias_gradient.hpp"
#include "judge/ops/attention/saved_outputs.hpp"
#include "judge/ops/attention/sink_gradient.hpp"
#include "judge/sandbox/watched_kernel.hpp"

namespace softcheck::proptests {
namespace {

// Calls callback(b, kv, first) for each key head of each batch; `first` is the number of the first query that uses it.
// The queries of a key head's group have consecutive numbers.
template <class Callback>
void each_group(const AttentionShape& s, Callback callback) {
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t kv = 0; kv < s.kv_heads; ++kv) callback(b, kv, row_number(s, b, kv * s.group, 0));
  }
}

class AttentionBackward final : public AttentionOp {
  static constexpr std::array inputs{OpInput{Role::query}, OpInput{Role::key}, OpInput{Role::value},
                                     OpInput{Role::out},   OpInput{Role::lse}, OpInput{Role::out_gradient}};
  static constexpr std::array<std::string_view, 5> outputs{"dq", "dk", "dv", "dsinks", "dbias"},
      claims{"kernel.attention_backward.dq", "kernel.attention_backward.dk", "kernel.attention_backward.dv",
             "kernel.attention_backward.dsinks", "kernel.attention_backward.dbias"};
  static constexpr std::array extents{Extent::vectors, Extent::vectors, Extent::vectors, Extent::rows, Extent::vectors};

  static constexpr std::array optional_output_inputs{Role::sinks, Role::bias};
  static constexpr std::array<std::string_view, 3> words{"weights", "ds", "scale"};

 public:
  constexpr AttentionBackward()
      : AttentionOp({.name = "attention_backward",
                     .inputs = inputs,
                     .outputs = outputs,
                     .extents = extents,
                     .claims = claims,
                     .attributes = true,
                     .packed = true,
                     .optional_outputs = optional_output_inputs.size(),
                     .optional_output_inputs = optional_output_inputs,
                     .all_outputs = true,
                     .has_theta = false,
                     .number = SOFTCHECK_OP_ATTENTION_BACKWARD,
                     .answers = {.words = words,
                                 .coefficients = true,
                                 .expensive = true,
                                 .at_the_logits = true,
                                 .masked_rows = false}}) {}

  TensorCall call(const AttentionTask& task, const AttentionCase& a) const override {
    SavedOutputs saved = saved_outputs(task, a);
    TensorCall call;
    call.scale = a.scale;
    call.causal = a.causal;
    call.op = traits.number;
    call.roles = {Role::query, Role::key, Role::value, Role::out, Role::lse, Role::out_gradient};
    if (a.sequences.any()) {
      add_packed(task, a, saved, call);
    } else {
      add_dense(task, a, std::move(saved), call);
    }
    add_attributes(a, call);
    for (const std::size_t tensor : {0, 1, 2}) {
      TensorPlace place = call.inputs[tensor].place;
      call.outputs.push_back({std::move(place), std::nullopt});
    }
    if (a.asks_sink_gradients()) {
      call.outputs.push_back({compact_place(task.scalars, {a.shape.heads()}), std::nullopt});
    }
    if (a.asks_bias_gradient()) {
      const AttentionShape& s = a.shape;
      call.outputs.push_back({compact_place(a.format, {s.batch, a.bias_heads(), s.queries, s.keys}), std::nullopt});
    }
    lay_out(a, call);
    return call;
  }

  Outputs dense(const AttentionCase& a, Outputs got) const override {
    if (!a.sequences.any() || got.empty()) return got;
    const SequenceLayout layout(a);
    got[0] = layout.dense_queries(got[0], a.shape.dim);
    got[1] = layout.dense_keys(got[1], a.shape.dim);
    got[2] = layout.dense_keys(got[2], a.shape.value_dim);
    return got;
  }

  void judge(const AttentionTask& task, const AttentionCase& a, const Outputs& got, const Chosen& chosen,
             const std::function<void(std::size_t, RowVerdicts)>& each) const override {
    const AttentionShape& s = a.shape;
    const std::size_t m = s.group * s.queries;
    each_group(s, [&](std::size_t b, std::size_t kv, std::size_t first) {
      if (chosen.before != nullptr && chosen.unchanged(b, kv * s.group, 0) &&
          group_repeats(a, got, *chosen.before, b, kv)) {
        return;
      }
      std::function<bool(std::size_t, std::size_t)> of_batch;
      if (chosen) of_batch = [&](std::size_t h, std::size_t i) { return chosen(b, h, i); };
      const GradientGroup group = gradient_group(a, b, kv, of_batch);
      const std::size_t head = b * s.kv_heads + kv;
      const GradientValues values{std::span(got[0]).subspan(first * s.dim, m * s.dim),
                                  std::span(got[1]).subspan(head * s.keys * s.dim, s.keys * s.dim),
                                  std::span(got[2]).subspan(head * s.keys * s.value_dim, s.keys * s.value_dim)};
      judge_attention_gradient(
          task, group, values,
          [&](std::size_t q, RowVerdicts verdicts) {
            if (q % s.queries < a.queries_of(b)) each(first + q, std::move(verdicts));
          },
          [&](std::size_t j, RowVerdicts verdicts) {
            if (j < a.keys_of(b)) each(key_number(s, b, kv, j), std::move(verdicts));
          });
    });
    for (std::size_t h = 0; h < s.heads() && a.asks_sink_gradients(); ++h) {
      std::function<bool(std::size_t, std::size_t)> of_head;
      if (chosen) of_head = [&](std::size_t b, std::size_t i) { return chosen(b, h, i); };
      std::optional<RowVerdicts> verdicts = judge_sink_gradient(task, a, h, got[3][h], of_head);
      if (verdicts) each(sink_number(s, h), std::move(*verdicts));
    }
    if (!a.asks_bias_gradient()) return;
    judge_bias_gradient(task, a, got.back(), chosen.queries,
                        [&](std::size_t b, std::size_t h, std::size_t i, RowVerdicts verdicts) {
                          each(bias_number(a, b, h, i), std::move(verdicts));
                        });
  }

  void reached(const AttentionTask& task, const PoisonedCase& poisoned, const Outputs& got,
               const std::function<void(const Reached&)>& each) const override {
    const AttentionCase& a = poisoned.attention;
    const AttentionShape& s = a.shape;
    const auto all_of = [&](std::size_t output, std::size_t row, std::size_t in_output, std::size_t size,
                            std::optional<std::size_t> only) {
      for (std::size_t c = 0; c < size; ++c) {
        if (!only || c == *only) each({row, c, got[output][in_output * size + c], task.contract.output});
      }
    };
    std::vector<bool> keys(s.batch * s.kv_heads * s.keys);  // seen by a query that the NaN reached
    each_row(s, [&](std::size_t b, std::size_t h, std::size_t i) {
      if (!poisoned.meets(b, h, i)) return;
      const std::size_t row = row_number(s, b, h, i);
      all_of(0, row, row, s.dim, {});
      if (a.asks_sink_gradients()) each({sink_number(s, h), std::nullopt, got[3][h], task.scalars});
      for (std::size_t j = 0; j < s.keys; ++j) {
        if (!a.sees(b, h, i, j)) continue;
        if (a.asks_bias_gradient()) {
          const std::size_t of = a.attributes.bias_for_each_head ? h : 0;
          each({bias_number(a, b, of, i), j, got.back()[a.bias_row(b, h, i) + j], task.contract.output});
        }
        keys[(b * s.kv_heads + h / s.group) * s.keys + j] = true;
      }
    });
    // p and dO do not depend on it; a dropped weight may be 0 whatever p is.
    const bool of_value = poisoned.place.tensor == NanPlace::Tensor::value || !a.attributes.kept.empty();
    for (std::size_t k = 0; k < keys.size(); ++k) {
      if (!keys[k]) continue;
      const std::size_t row = s.batch * s.heads() * s.queries + k;
      all_of(1, row, k, s.dim, {});
      if (!of_value) all_of(2, row, k, s.value_dim, poisoned.column);
    }
  }

  std::vector<double> results_of_query(const AttentionCase& attention, const Outputs& got,
                                       std::size_t row) const override {
    const auto first = got[0].begin() + static_cast<std::ptrdiff_t>(row * attention.shape.dim);
    return {first, first + static_cast<std::ptrdiff_t>(attention.shape.dim)};
  }

 private:
  // Compares the gradients of a group of queries, and of their keys.
  static bool group_repeats(const AttentionCase& a, const Outputs& got, const Outputs& before, std::size_t b,
                            std::size_t kv) {
    const AttentionShape& s = a.shape;
    const std::size_t head = b * s.kv_heads + kv;
    const std::size_t sizes[] = {s.group * s.queries * s.dim, s.keys * s.dim, s.keys * s.value_dim};
    for (std::size_t k = 0; k < std::size(sizes); ++k) {
      const auto part = [&](const Outputs& of) { return std::span(of[k]).subspan(head * sizes[k], sizes[k]); };
      if (!same_bits(part(got), part(before))) return false;
    }
    return true;
  }

  static void add_dense(const AttentionTask& task, const AttentionCase& a, SavedOutputs saved, TensorCall& call) {
    const AttentionShape& s = a.shape;
    const auto add = [&](numerics::Format format, std::initializer_list<std::size_t> shape,
                         std::vector<double> values) {
      call.inputs.push_back({compact_place(format, shape), std::move(values)});
    };
    add(a.format, {s.batch, s.heads(), s.queries, s.dim}, a.queries);
    add(a.format, {s.batch, s.kv_heads, s.keys, s.dim}, a.keys);
    add(a.format, {s.batch, s.kv_heads, s.keys, s.value_dim}, a.values);
    add(a.format, {s.batch, s.heads(), s.queries, s.value_dim}, std::move(saved.out));
    add(task.scalars, {s.batch, s.heads(), s.queries}, std::move(saved.lse));
    add(a.format, {s.batch, s.heads(), s.queries, s.value_dim}, a.gradients);
    if (a.mask.empty()) return;
    call.inputs.push_back(mask_tensor(a));
    call.roles.push_back(Role::mask);
  }

  static void add_packed(const AttentionTask& task, const AttentionCase& a, const SavedOutputs& saved,
                         TensorCall& call) {
    const AttentionShape& s = a.shape;
    const SequenceLayout layout(a);
    call.inputs = {layout.of_queries(a.queries, s.dim),        layout.of_keys(a.keys, s.dim),
                   layout.of_keys(a.values, s.value_dim),      layout.of_queries(saved.out, s.value_dim),
                   layout.of_scalars(saved.lse, task.scalars), layout.of_queries(a.gradients, s.value_dim)};
    layout.add_sequences(call);
  }
};

constinit const AttentionBackward backward_op;

}  // namespace

constinit const Op Op::attention_backward = backward_op;

}  // namespace softcheck::proptests
