// Attention's gradient at hand: what an exact kernel returns passes, planted wrong gradients fail at their places, and
// saved tensors are granted their own errors and no more.
#include "judge/ops/attention/saved_outputs.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

using namespace numerics;

void change(StoredTensor& tensor, std::size_t elements, double (*change)(double)) {
  for (std::size_t i = 0; i < elements; ++i) tensor.set(i, change(tensor.at(i)));
}

TEST(TensorGradient, WhatIsRoundedCorrectlyPassesInEveryDtypeAndLayout) {
  for (const Format format : wide_formats) {
    for (const SampleLayout layout : sample_layouts) {
      GivenGradient sample(format, layout);
      sample.rewrite(layout);
      const TensorJudgement judgement = sample.judged();
      EXPECT_TRUE(passes(judgement));
      EXPECT_EQ(judgement.judged, 24u + 20u);
      sample.task.causal = true;
      sample.rewrite(layout);
      EXPECT_TRUE(passes(sample.judged()));
      sample.save();
      EXPECT_TRUE(passes(sample.judged()));
    }
  }
}

TEST(TensorGradient, WrongGradientsFailAsWhatTheyAre) {
  GivenGradient sample;
  sample.rewrite();
  const std::vector<StoredTensor> right = sample.outputs;
  const char* const claims[] = {"kernel.attention_backward.dq", "kernel.attention_backward.dk",
                                "kernel.attention_backward.dv"};
  const std::size_t counts[] = {96, 80, 60}, rows[] = {24, 20, 20};
  for (std::size_t which = 0; which < 3; ++which) {
    for (const auto wrong :
         {+[](double x) { return -x; }, +[](double x) { return 1000 * x; }, +[](double) { return 0.0; }}) {
      sample.outputs = right;
      change(sample.outputs[which], counts[which], wrong);
      const TensorJudgement judgement = sample.judged();
      EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
      EXPECT_EQ(judgement.failed, rows[which]);
      for (std::size_t other = 0; other < 3; ++other) {
        const ReportVerdict due = other == which ? ReportVerdict::fail : ReportVerdict::pass;
        EXPECT_EQ(row_of_claim(judgement, claims[other]).verdict, due);
      }
    }
  }
}

TEST(TensorGradient, AWrongValueIsShownAtItsPlace) {
  GivenGradient sample;
  sample.rewrite();
  // dk of batch 1, key head 0, key 3, component 2.
  const std::size_t element = ((1 * 2 + 0) * 5 + 3) * 4 + 2;
  sample.outputs[1].set(element, sample.outputs[1].at(element) + 0.25);
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 1u);
  const JudgedTensorRow& worst = judgement.worst.at(0);
  EXPECT_EQ(worst.finding.claim, "kernel.attention_backward.dk");
  EXPECT_EQ(worst.index, (Shape{1, 0, 3}));
  EXPECT_EQ(worst.finding.item, 2u);
  EXPECT_EQ(worst.row, 24u + 13u);
  EXPECT_GT(worst.share, 1);
}

TEST(TensorGradient, AQueryHeadThatIsLeftOutIsFound) {
  GivenGradient sample;
  sample.rewrite();
  // dk and dv as the sums over the first query head of each group alone.
  GivenGradient half = sample;
  for (std::size_t i = 0; i < 72; ++i) {
    if (i / 9 % 2 == 1) half.dout.set(i, 0);
  }
  half.hold();
  half.rewrite();
  sample.outputs[1] = half.outputs[1];
  sample.outputs[2] = half.outputs[2];
  const TensorJudgement judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 20u);
  EXPECT_EQ(row_of_claim(judgement, "kernel.attention_backward.dq").verdict, ReportVerdict::pass);
}

TEST(TensorGradient, AttributesAreThoseOfTheTask) {
  GivenGradient plain;
  plain.rewrite();
  const std::vector<void (*)(GivenGradient&)> attributes{
      [](GivenGradient& s) { s.task.attributes.window_left_plus_1 = 1; },
      [](GivenGradient& s) { s.task.attributes.window_right_plus_1 = 2; },
      [](GivenGradient& s) { s.task.attributes.softcap = 0.5; },
      [](GivenGradient& s) { s.task.causal = true; },
      [](GivenGradient& s) { s.task.causal = s.task.attributes.causal_top_left = true; },
      [](GivenGradient& s) {
        s.sinks = stored(Format::f32, {4}, {0.5, -1, 2, 0});
        s.add(Role::sinks, s.sinks);
      },
      [](GivenGradient& s) {
        s.slopes = stored(Format::f32, {4}, {0.5, 0.25, 0.125, 1});
        s.add(Role::slopes, s.slopes);
      },
      [](GivenGradient& s) {
        s.bias = stored(Format::f32, {1, 3, 5}, sample_numbers(Format::f32, 15, 1, 9));
        s.add(Role::bias, s.bias);
      },
      [](GivenGradient& s) {
        s.mask = stored_mask({3, 5}, {1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 0});
        s.add(Role::mask, s.mask);
      }};
  std::set<std::vector<std::byte>> different;
  for (std::size_t k = 0; k < attributes.size(); ++k) {
    GivenGradient sample;
    attributes[k](sample);
    sample.outputs = plain.outputs;
    EXPECT_EQ(sample.judged().verdict, ReportVerdict::fail) << k;
    sample.rewrite();
    EXPECT_TRUE(passes(sample.judged())) << k;
    different.insert(sample.outputs[1].memory);
  }
  EXPECT_EQ(different.size(), attributes.size());
}

TEST(TensorGradient, SavedTensorsAreGrantedTheirOwnErrors) {
  GivenGradient sample;
  sample.save();
  sample.rewrite();
  EXPECT_TRUE(passes(sample.judged()));
  const std::vector<double> exact = ElementBounds(sample.task, sample.contract, 2).allowed;
  // A log-sum-exp that is off by 2^-10 moves p, and so dv, by that much of p.
  for (std::size_t i = 0; i < 24; ++i) sample.lse.set(i, sample.lse.at(i) + 0x1p-10);
  GivenGradient off = sample;
  off.hold();
  off.add(Role::out, off.out);
  off.add(Role::lse, off.lse);
  change(off.outputs[2], 60, [](double x) { return x * std::exp(-0x1p-10); });
  EXPECT_TRUE(passes(off.judged()));
  const std::vector<double> moved = ElementBounds(off.task, off.contract, 2).allowed;
  for (std::size_t i = 0; i < 60; ++i) EXPECT_GT(moved[i], exact[i]);
  // An output that is off by 2^-6 moves delta, and so dq and dk.
  GivenGradient other;
  other.save();
  const std::vector<double> of_exact = ElementBounds(other.task, other.contract).allowed;
  for (std::size_t i = 0; i < 72; ++i) other.out.set(i, other.out.at(i) + 0x1p-6);
  other.hold();
  other.add(Role::out, other.out);
  other.add(Role::lse, other.lse);
  const std::vector<double> of_moved = ElementBounds(other.task, other.contract).allowed;
  for (std::size_t i = 0; i < 96; ++i) EXPECT_GT(of_moved[i], 100 * of_exact[i]);
  // No kernel that computes it again may be off by that, nor one that read the right one.
  off.hold();
  EXPECT_EQ(row_of_claim(off.judged(), "kernel.attention_backward.dv").verdict, ReportVerdict::fail);
}

TEST(TensorGradient, ALogSumExpOfBase2SaysNothing) {
  GivenGradient sample;
  sample.save();
  sample.rewrite();
  for (std::size_t i = 0; i < 24; ++i) sample.lse.set(i, sample.lse.at(i) * 1.4426950408889634 + 1);
  sample.hold();
  sample.add(Role::out, sample.out);
  sample.add(Role::lse, sample.lse);
  change(sample.outputs[1], 80, [](double x) { return -x; });
  EXPECT_NE(sample.judged().verdict, ReportVerdict::pass);
}

TEST(TensorGradient, WhatTakesNoPartIsZero) {
  GivenGradient sample;
  sample.mask = stored_mask({3, 5}, {0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1});
  sample.add(Role::mask, sample.mask);
  sample.rewrite();
  TensorJudgement judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(row_of_claim(judgement, "kernel.masked_row").cases, 8u + 4u);  // query 0 of each head, key 2
  const std::vector<double> allowed = ElementBounds(sample.task, sample.contract, 1).allowed;
  EXPECT_EQ(allowed[2 * 4], 0);
  EXPECT_GT(allowed[0], 0);
  sample.outputs[1].set(2 * 4 + 1, 0x1p-140);
  judgement = sample.judged();
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
  EXPECT_EQ(judgement.worst.at(0).index, (Shape{0, 0, 2}));
}

TEST(TensorGradient, ANanReachesWhatItMustAndNothingElse) {
  GivenGradient sample;
  sample.task.causal = true;
  sample.rewrite();
  // A NaN in the last query of batch 1, head 1: its dq, and dk and dv of all keys of key head 0.
  sample.q.set(((1 * 4 + 1) * 3 + 2) * 4, nan);
  sample.hold();
  for (std::size_t t = 0; t < 4; ++t) sample.outputs[0].set(((1 * 4 + 1) * 3 + 2) * 4 + t, nan);
  for (std::size_t t = 0; t < 20; ++t) sample.outputs[1].set(2 * 20 + t, nan);
  for (std::size_t c = 0; c < 15; ++c) sample.outputs[2].set(2 * 15 + c, nan);
  TensorJudgement judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").cases, 1u + 5u);
  sample.outputs[2].set(2 * 15 + 7, 0);
  judgement = sample.judged();
  EXPECT_EQ(judgement.failed, 1u);
  EXPECT_EQ(judgement.worst.at(0).index, (Shape{1, 0, 2}));
  EXPECT_EQ(judgement.worst.at(0).finding.item, 1u);
  // A NaN in a value is no part of p: dv is not reached.
  GivenGradient value;
  value.rewrite();
  value.v.set(2, nan);  // batch 0, key head 0, key 0
  value.hold();
  for (std::size_t i = 0; i < 2 * 12; ++i) value.outputs[0].set(i, nan);
  for (std::size_t i = 0; i < 20; ++i) value.outputs[1].set(i, nan);
  judgement = value.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(row_of_claim(judgement, "kernel.nan_row").cases, 6u + 5u);
  value.outputs[0].set(5, 0);
  EXPECT_EQ(value.judged().verdict, ReportVerdict::fail);
  // An infinity promises nothing of what it meets.
  sample.q.set(((1 * 4 + 1) * 3 + 2) * 4, infinity);
  sample.hold();
  judgement = sample.judged();
  EXPECT_TRUE(passes(judgement));
  EXPECT_EQ(judgement.judged, 44u - 6u);
}

// The tensors of a case, with what its forward pass returns, as the kernel judge hands it over.
TensorTask task_of_case(const AttentionCase& a, const AttentionTask& by, std::vector<StoredTensor>& memory) {
  const AttentionShape& s = a.shape;
  const SavedOutputs saved = saved_outputs(by, a);
  CaseTensors tensors(a, Op::attention_backward, memory);
  tensors.add(Role::lse, {s.batch, s.heads(), s.queries, 1}, saved.lse, wide_format(a.format));
  tensors.add(Role::out, {s.batch, s.heads(), s.queries, s.value_dim}, saved.out);
  tensors.add(Role::out_gradient, {s.batch, s.heads(), s.queries, s.value_dim}, a.gradients);
  tensors.add_mask();
  return tensors.task;
}

// The rows of a case that fail, as the kernel judge finds them.
std::set<std::size_t> failed_of_call(const AttentionTask& by, const AttentionCase& a,
                                     const std::vector<std::vector<double>>& got) {
  std::set<std::size_t> failed;
  Op::attention_backward.attention_op().judge(by, a, got, {}, [&](std::size_t row, const RowVerdicts& verdicts) {
    for (const ValueFinding& finding : verdicts.findings) {
      if (finding.decision == Decision::violated) failed.insert(row);
    }
  });
  return failed;
}

std::vector<AttentionCase> whole_gradients() {
  AttentionOptions options = small_attention(12, 512, all_attributes);
  options.gradients = options.blind_queries = true;
  return whole_cases(options, 40, 23);
}

TEST(TensorGradient, EachRowIsJudgedAsTheKernelJudgeJudgesIt) {
  for (const AttentionCase& a : whole_gradients()) {
    const AttentionTask by = gradient_task(Format::f32, "");
    std::vector<StoredTensor> memory;
    const TensorTask task = task_of_case(a, by, memory);
    std::vector<std::vector<double>> got;
    for (std::size_t which = 0; which < 3; ++which) {
      got.push_back(ideal_output(task, by.contract, which, Format::f32));
    }
    const auto failed_at_hand = [&] {
      std::vector<StoredTensor> results;
      for (std::size_t which = 0; which < 3; ++which) {
        results.push_back(stored(Format::f32, output_shape(task, which), got[which]));
      }
      const std::vector<GivenTensor> held{results[0].held(), results[1].held(), results[2].held()};
      std::set<std::size_t> failed;
      for (const JudgedTensorRow& row : judge_tensors(task, by.contract, held, {.worst = 10'000}).worst) {
        if (row.finding.decision == Decision::violated) failed.insert(row.row);
      }
      return failed;
    };
    EXPECT_EQ(failed_of_call(by, a, got), std::set<std::size_t>{}) << to_text(a);
    EXPECT_EQ(failed_at_hand(), std::set<std::size_t>{}) << to_text(a);
    // One value of each output far away, in the last of its rows.
    for (std::vector<double>& values : got) values.back() += 1e6 * (1 + std::fabs(values.back()));
    EXPECT_EQ(failed_at_hand(), failed_of_call(by, a, got)) << to_text(a);
  }
}

TEST(TensorGradient, WhatDoesNotFitIsRefused) {
  GivenGradient sample;
  sample.rewrite();
  EXPECT_EQ(sample.refusal(), "not refused");
  const StoredTensor three = TensorSample::filled(Format::f32, {2, 4, 3, 5}, 2, 7);
  sample.task.inputs[3] = three.held();
  EXPECT_EQ(sample.refusal(), "out_gradient: need shape (2, 4, 3, 3), got (2, 4, 3, 5)");
  const StoredTensor half = TensorSample::filled(Format::f16, {2, 4, 3, 3}, 2, 7);
  sample.task.inputs[3] = half.held();
  EXPECT_EQ(sample.refusal(), "out_gradient: need dtype f32, as q has it, got f16");
  sample.hold();
  sample.add(Role::out, sample.dout);
  EXPECT_EQ(sample.refusal(), "inputs: need q, k, v, out_gradient[, out, lse][, mask], got q, k, v, out_gradient, out");
  sample.hold();
  sample.task.roles.clear();
  sample.task.inputs.pop_back();
  EXPECT_EQ(sample.refusal(), "inputs: need q, k, v, out_gradient[, out, lse][, mask], got 3 tensors");
  sample.hold();
  sample.bias = stored(Format::f32, {3, 5}, std::vector<double>(15, -infinity));
  sample.add(Role::bias, sample.bias);
  EXPECT_EQ(sample.refusal(), "bias: need finite numbers (a mask hides keys), got -inf");
  sample.hold();
  const StoredTensor one = TensorSample::filled(Format::f32, {2, 1, 5, 3}, 2, 7);
  sample.task.inputs[2] = one.held();
  EXPECT_EQ(sample.refusal(), "v: need k's heads 2, got shape (2, 1, 5, 3) (batch, heads, length, dim)");
  sample.hold();
  sample.outputs[2] = one;
  EXPECT_EQ(sample.refusal(), "dv: need shape (2, 2, 5, 3), got (2, 1, 5, 3)");
  sample.task.attributes.k = 2;
  EXPECT_EQ(sample.refusal(), "k: need 0, as attention_backward has none, got 2");
  const TensorTask attention{.op = Op::attention, .inputs = {sample.q.held()}, .attributes = {.softcap = 2}};
  EXPECT_THROW(output_shape(attention), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
