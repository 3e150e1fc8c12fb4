// Attention, adaptive, sigmoid and differential attention: judged query by query (attention_judge.hpp).
#include <array>
#include <utility>

#include "judge/call/attention_call.hpp"
#include "judge/call/sequence_layout.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/attention/attention_repeats.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "judge/sandbox/watched_kernel.hpp"
#include "proptests/generators/attention/attention_second.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::array<std::string_view, 3> plain_claims{"kernel.attention.output", "kernel.attention.lse",
                                                       "kernel.attention.entropy"};
constexpr std::array<std::string_view, 3> adaptive_claims{
    "kernel.adaptive_attention.output", "kernel.adaptive_attention.lse", "kernel.adaptive_attention.entropy"};

constexpr std::array<std::string_view, 1> sigmoid_claims{"kernel.sigmoid_attention.output"};
constexpr std::array<std::string_view, 1> differential_claims{"kernel.differential_attention.output"};

enum class Weights { softmax, adaptive, sigmoid, differential };

class Attention final : public AttentionOp {
  static constexpr std::array inputs{OpInput{Role::query},        OpInput{Role::key},        OpInput{Role::value},
                                     OpInput{Role::second_query}, OpInput{Role::second_key}, OpInput{Role::lambda}};
  static constexpr std::array<std::string_view, 3> outputs{"output", "lse", "entropy"};
  static constexpr std::array<std::string_view, 8> words{"weights",     "values",  "scores", "scale",
                                                         "differences", "softcap", "sinks",  "lse=base2"};
  static constexpr std::array<std::string_view, 6> sigmoid_words{"weights", "values",  "scores",
                                                                 "scale",   "softcap", "sigmoid"};

 public:
  constexpr Attention(std::string_view name, std::span<const std::string_view> claims, Weights weights)
      : AttentionOp({.name = name,
                     .inputs = std::span(inputs).first(weights == Weights::differential ? inputs.size() : 3),
                     .outputs = std::span(outputs).first(claims.size()),
                     .claims = claims,
                     .attributes = weights != Weights::adaptive,
                     .packed = weights == Weights::softmax,
                     .pages = weights == Weights::softmax,
                     .all_outputs = claims.size() == 1,
                     .has_theta = false,
                     .adaptive = weights == Weights::adaptive,
                     .sigmoid = weights == Weights::sigmoid,
                     .differential = weights == Weights::differential,
                     .answers = {.words = weights == Weights::sigmoid ? std::span<const std::string_view>(sigmoid_words)
                                                                      : std::span<const std::string_view>(words),
                                 .coefficients = true,
                                 .expensive = true,
                                 .masked_rows = weights != Weights::sigmoid}}) {}

  AttentionCase completed(AttentionCase attention) const override {
    if (!traits.all_outputs) return attention;
    attention.outputs = 1;
    std::vector<double>& lambdas = attention.attributes.lambdas;
    if (traits.differential && lambdas.empty()) lambdas = usual_lambdas(attention);
    if (traits.sigmoid && !attention.attributes.sigmoid_bias) {
      attention.attributes.sigmoid_bias = usual_sigmoid_bias(attention.shape.keys);
    }
    return attention;
  }

  TensorCall call(const AttentionTask& task, const AttentionCase& attention) const override {
    return attention_call(traits.all_outputs ? completed(attention) : attention, task.scalars);
  }

  Outputs dense(const AttentionCase& attention, Outputs got) const override {
    return attention.sequences.any() && !got.empty() ? SequenceLayout(attention).dense(got) : std::move(got);
  }

  void judge(const AttentionTask& task, const AttentionCase& attention, const Outputs& got, const Chosen& chosen,
             const std::function<void(std::size_t, RowVerdicts)>& each) const override {
    RepeatedRows repeated(attention, got);
    const std::vector<bool> judged = judged_queries(attention);
    HeadNumbers of_head;
    each_row(attention.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
      if (i >= attention.queries_of(b) || (chosen && !chosen(b, h, i)) || !judged[i]) return;
      const std::size_t row = row_number(attention.shape, b, h, i);
      if (chosen.before != nullptr && chosen.unchanged(b, h, i) &&
          same_bits(results_of_query(attention, got, row), results_of_query(attention, *chosen.before, row))) {
        return;
      }
      if (repeated.repeats(b, h, i)) return each(row, {});
      each(row, judge_attention(task, row_of(attention, b, h, i, of_head), values_of(attention, got, row)));
    });
  }

  void reached(const AttentionTask& task, const PoisonedCase& poisoned, const Outputs& got,
               const std::function<void(const Reached&)>& each) const override {
    const AttentionCase& attention = poisoned.attention;
    each_row(attention.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
      if (!poisoned.meets(b, h, i)) return;
      const std::size_t row = row_number(attention.shape, b, h, i);
      const AttentionValues values = values_of(attention, got, row);
      for (std::size_t c = 0; c < values.out.size(); ++c) {
        if (!poisoned.column || c == *poisoned.column) each({row, c, values.out[c], task.contract.output});
      }
      if (poisoned.column) return;
      if (values.lse) each({row, std::nullopt, *values.lse, task.scalars});
      if (values.entropy) each({row, std::nullopt, *values.entropy, task.scalars});
    });
  }

  std::vector<double> results_of_query(const AttentionCase& attention, const Outputs& got,
                                       std::size_t row) const override {
    const AttentionValues values = values_of(attention, got, row);
    std::vector<double> results(values.out.begin(), values.out.end());
    if (values.lse) results.push_back(*values.lse);
    if (values.entropy) results.push_back(*values.entropy);
    return results;
  }
};

constinit const Attention plain_op("attention", plain_claims, Weights::softmax);
constinit const Attention adaptive_op("adaptive_attention", adaptive_claims, Weights::adaptive);
constinit const Attention sigmoid_op("sigmoid_attention", sigmoid_claims, Weights::sigmoid);
constinit const Attention differential_op("differential_attention", differential_claims, Weights::differential);

}  // namespace

constinit const Op Op::attention = plain_op;
constinit const Op Op::adaptive_attention = adaptive_op;
constinit const Op Op::sigmoid_attention = sigmoid_op;
constinit const Op Op::differential_attention = differential_op;

}  // namespace softcheck::proptests
