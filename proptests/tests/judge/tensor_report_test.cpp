// The report of judged tensors: which rows fail, the worst of them, and the picture of slack.
#include "judge/results/tensor_report.hpp"

#include <nlohmann/json.hpp>

#include "judge/ops/attention/query_oracles.hpp"
#include "proptests/tests/judge/tensor_samples.hpp"

namespace softcheck::proptests {
namespace {

TensorTask task_of(Shape shape) {
  TensorTask task;
  task.inputs.push_back({nullptr, Format::f32, std::move(shape), {}});
  return task;
}

// A judgement of these shares, one a row up to 512 rows.
TensorJudgement judgement_of(std::vector<double> profile, std::size_t failed) {
  TensorJudgement judgement;
  judgement.verdict = failed > 0 ? ReportVerdict::fail : ReportVerdict::pass;
  judgement.profile = std::move(profile);
  judgement.histogram.assign(41, 0);
  judgement.histogram[3] = 7;
  judgement.failed = failed;
  judgement.judged = judgement.profile.size();
  return judgement;
}

JudgedTensorRow failed_row(Shape index, std::size_t number) {
  JudgedTensorRow row{std::move(index), {}, 2, number};
  row.finding.claim = "kernel.softmax.element";
  row.finding.decision = Decision::violated;
  row.finding.threshold = 0.25;
  row.finding.got = 0.5;
  return row;
}

std::string runs_text(const std::vector<RowRun>& runs) {
  std::string text;
  for (const RowRun& run : runs) text += std::to_string(run.first) + "-" + std::to_string(run.last) + " ";
  return text;
}

TEST(TensorReport, NeighboursThatFailAreOneRun) {
  EXPECT_EQ(runs_text(failing_runs(judgement_of({0, 2, 2, 0.5, infinity, 1}, 3), task_of({6, 8}))), "1-2 4-4 ");
  EXPECT_EQ(runs_text(failing_runs(judgement_of({0, 0.5}, 0), task_of({2, 8}))), "");
}

TEST(TensorReport, AStretchOfManyRowsIsToldWhole) {
  std::vector<double> profile(512, 0.5);
  profile[1] = 3;
  const TensorJudgement judgement = judgement_of(profile, 1);
  // Row r stands in stretch r * 512 / 1000, rounded down: 2 and 3 in stretch 1.
  EXPECT_EQ(runs_text(failing_runs(judgement, task_of({1000, 8}))), "2-3 ");
  EXPECT_EQ(failing_text(judgement, task_of({1000, 8})), "1 of 1000 rows fail, all within rows 2 to 3");
}

TEST(TensorReport, RowsThatAreAllAmongTheWorstAreNamed) {
  TensorJudgement judgement = judgement_of(std::vector<double>(512, 2), 3);
  for (const Shape& index : {Shape{1, 5}, {0, 9}, {1, 4}}) {
    judgement.worst.push_back(failed_row(index, static_cast<std::size_t>(1000 * index[0] + index[1])));
  }
  EXPECT_EQ(failing_text(judgement, task_of({2, 1000, 8})),
            "3 of 2000 rows fail: rows 9 [0, 9], 1004 [1, 4] to 1005 [1, 5]");
}

TEST(TensorReport, ManyRunsAreCounted) {
  std::vector<double> profile(40, 0);
  for (std::size_t i = 0; i < profile.size(); i += 2) profile[i] = 2;
  EXPECT_THAT(failing_text(judgement_of(profile, 20), task_of({40, 8})),
              HasSubstr("20 of 40 rows fail: rows 0, 2, 4 and 17 more places"));
}

TEST(TensorReport, TheWorstRowsSayWhatWasGotAndDue) {
  const std::vector<float> logits{1, 2, 3, 4};
  TensorTask task = task_of({2, 2});
  task.inputs[0].first = reinterpret_cast<const std::byte*>(logits.data());
  task.inputs[0].strides = {2, 1};
  TensorJudgement judgement = judgement_of({0, 2}, 1);
  judgement.worst.push_back(failed_row({1}, 1));
  judgement.worst[0].finding.item = 1;
  judgement.worst[0].finding.expected = Enclosure(1);
  const Contract contract = numerics::default_contract(Format::f32, Format::f32);
  const std::string text = worst_text(judgement, task, contract, {}, 5);
  EXPECT_THAT(text, AllOf(HasSubstr("the worst row by kernel.softmax.element"), HasSubstr("[1]"), HasSubstr("0.5"),
                          HasSubstr("4.194e+06 ulp"), HasSubstr("fail")));
  EXPECT_EQ(worst_text(judgement, task, contract, {}, 0), "");
  const auto json = nlohmann::json::parse(tensors_json(judgement, task, contract, {}, {}, 5));
  EXPECT_EQ(json["worst"][0]["logit"], 4);
  EXPECT_EQ(json["worst"][0]["expected"], nlohmann::json::parse("[1.0, 1.0]"));
  EXPECT_EQ(json["rows"]["failing"], nlohmann::json::parse("[[1, 1]]"));
  EXPECT_EQ(json["histogram"]["rows"][3], 7);
}

// e^-1000 is enclosed by [0, 2^-1000], whose middle is none of its digits; of a row that is right by what it is the due
// value stands there.
TEST(TensorReport, WhatMayBeZeroIsShownAsZeroAndADueValueByName) {
  TensorJudgement judgement = judgement_of({2, 2}, 2);
  for (std::size_t row = 0; row < 2; ++row)
    judgement.worst.push_back(failed_row({static_cast<std::int64_t>(row)}, row));
  judgement.worst[0].finding.expected = Enclosure::between(0, 0x1p-1000);
  judgement.worst[1].finding.by_identity = true;
  judgement.worst[1].finding.due = "NaN";
  const Contract contract = numerics::default_contract(Format::f32, Format::f32);
  const std::string text = worst_text(judgement, task_of({2, 2}), contract, {}, 5);
  EXPECT_THAT(text, AllOf(HasSubstr("  0.5      0  "), HasSubstr("  0.5    NaN  "), Not(HasSubstr("e-302")))) << text;
  const auto json = nlohmann::json::parse(tensors_json(judgement, task_of({2, 2}), contract, {}, {}, 5));
  EXPECT_EQ(json["worst"][1]["due"], "NaN");
}

TEST(TensorReport, ThePictureIsDrawnOfAnyProfile) {
  const Contract contract = numerics::default_contract(Format::f32, Format::bf16);
  for (const std::vector<double>& profile :
       {std::vector<double>{}, {0}, {0.5, 1}, {1e-9}, {1e300, 0.1}, {infinity, 0.5}, std::vector<double>(512, 3)}) {
    const std::string svg = slack_picture(judgement_of(profile, 0), task_of({6, 8}), contract);
    EXPECT_THAT(svg, AllOf(HasSubstr("<svg "), HasSubstr("</svg>"), HasSubstr("softmax f32"),
                           HasSubstr("the threshold"), Not(HasSubstr("\"nan")), Not(HasSubstr("\"inf"))));
  }
  const auto marks = [&](std::vector<double> profile) {
    return slack_picture(judgement_of(std::move(profile), 1), task_of({6, 8}), contract);
  };
  EXPECT_THAT(marks({infinity, 0.5}), HasSubstr("no threshold excuses it"));
  EXPECT_THAT(marks({2, 0.5}), Not(HasSubstr("no threshold excuses it")));
}

// What cannot be judged is refused, with the tensor's name, what is needed and what was got.

struct Refused {
  StoredTensor logits = stored(Format::f32, {3, 7}, std::vector<double>(21, 0.5));
  StoredTensor output = stored(Format::f32, {3, 7}, std::vector<double>(21, 1.0 / 7));
  TensorTask task{.op = Op::softmax, .inputs = {logits.held()}};

  std::string with(const std::vector<GivenTensor>& outputs) const {
    return refusal_of([&] { judge_tensors(task, contract_for(task, ""), outputs); });
  }
  std::string with_output(const StoredTensor& tensor) const { return with({tensor.held()}); }
};

TEST(TensorErrors, NameTheTensorTheNeedAndWhatWasGot) {
  Refused sample;
  EXPECT_EQ(sample.with_output(sample.output), "not refused");
  EXPECT_EQ(sample.with_output(stored(Format::f32, {3, 8}, {})), "output: need shape (3, 7), got (3, 8)");
  EXPECT_EQ(sample.with_output(stored(Format::f32, {21}, {})), "output: need shape (3, 7), got (21,)");
  EXPECT_EQ(sample.with_output(stored(Format::f16, {3, 7}, {})),
            "output: need dtype f32, as the contract has it, got f16");
  EXPECT_EQ(sample.with({}), "outputs: need one tensor, got 0 tensors");
  EXPECT_EQ(sample.with({sample.output.held(), sample.output.held()}), "outputs: need one tensor, got 2 tensors");
  GivenTensor nowhere = sample.output.held();
  nowhere.first = nullptr;
  EXPECT_EQ(sample.with({nowhere}), "output: need data for 21 elements, got NULL");
  sample.task.theta = 0;
  EXPECT_EQ(sample.with_output(sample.output), "theta: need a temperature in [2^-1000, 2^1000], got 0");
  sample.task.theta = 2;
  sample.task.op = Op::adaptive_softmax;
  EXPECT_EQ(sample.with_output(sample.output), "theta: need 1, as adaptive_softmax has no temperature, got 2");
}

TEST(TensorErrors, ATensorOfNoDimensionHasNoRow) {
  Refused sample;
  const StoredTensor scalar = stored(Format::f32, {}, {1});
  sample.task.inputs = {scalar.held()};
  EXPECT_EQ(sample.with_output(scalar), "logits: need shape (..., n), got ()");
}

TEST(TensorErrors, MasksAreBytesThatBroadcast) {
  Refused sample;
  const StoredTensor wrong = stored_mask({2, 7}, {});
  sample.task.inputs = {sample.logits.held(), wrong.held()};
  EXPECT_EQ(sample.with_output(sample.output), "mask: need a shape that broadcasts to (3, 7), got (2, 7)");
  sample.task.inputs = {sample.logits.held(), sample.logits.held()};
  EXPECT_EQ(sample.with_output(sample.output), "mask: need dtype uint8 or bool, got f32");
  sample.task.inputs = {wrong.held()};
  EXPECT_EQ(refusal_of([&] { contract_for(sample.task, ""); }),
            "logits: need dtype " + numerics::format_names() + ", got a mask of bytes");
}

TEST(TensorErrors, OfAttention) {
  const StoredTensor q = stored(Format::f32, {2, 4, 5, 3}, std::vector<double>(120, 0.5));
  const StoredTensor k = stored(Format::f32, {2, 2, 6, 3}, std::vector<double>(72, 0.5));
  const StoredTensor three = stored(Format::f32, {2, 3, 6, 3}, std::vector<double>(108, 0.5));
  const StoredTensor half = stored(Format::f16, {2, 2, 6, 3}, std::vector<double>(72, 0.5));
  const auto refused = [](const std::vector<GivenTensor>& inputs, std::size_t which = 0) {
    const TensorTask task{.op = Op::attention, .inputs = inputs};
    return refusal_of([&] { output_shape(task, which); });
  };
  EXPECT_EQ(refused({q.held(), k.held(), k.held()}), "not refused");
  EXPECT_EQ(refused({q.held(), k.held(), k.held()}, 3), "which: need an output from 0 to 2, got 3");
  EXPECT_EQ(refused({q.held(), k.held()}), "inputs: need q, k, v[, mask], got 2 tensors");
  EXPECT_EQ(refused({q.held(), three.held(), k.held()}), "k: need heads that divide q's 4, got 3");
  EXPECT_EQ(refused({q.held(), k.held(), half.held()}), "v: need dtype f32, as q has it, got f16");
  const StoredTensor flat = stored(Format::f32, {7}, std::vector<double>(7, 0.5));
  EXPECT_EQ(refused({flat.held(), k.held(), k.held()}),
            "q: need two to four dimensions (batch, heads, length, dim), got shape (7,)");
  const StoredTensor longer = stored(Format::f32, {2, 2, 7, 3}, std::vector<double>(84, 0.5));
  EXPECT_EQ(refused({q.held(), k.held(), longer.held()}),
            "v: need k's length 6, got shape (2, 2, 7, 3) (batch, heads, length, dim)");
}

TEST(TensorErrors, ADLTensorIsTakenAsItLies) {
  std::vector<float> numbers{0, 1, 2, 3, 4, 5};
  std::int64_t shape[] = {2, 3}, strides[] = {1, 2};
  DLTensor tensor{};
  tensor.data = numbers.data();
  tensor.device = {kDLCPU, 0};
  tensor.ndim = 2;
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.shape = shape;
  EXPECT_EQ(from_dlpack(tensor, "x").strides, (Shape{3, 1}));
  tensor.strides = strides;
  tensor.byte_offset = 4;
  EXPECT_EQ(from_dlpack(tensor, "x").strides, (Shape{1, 2}));
  EXPECT_EQ(from_dlpack(tensor, "x").first, reinterpret_cast<const std::byte*>(numbers.data() + 1));
  EXPECT_EQ(from_dlpack(tensor, "x").format, Format::f32);
  tensor.dtype = {6, 8, 1};
  EXPECT_EQ(from_dlpack(tensor, "x").format, std::nullopt);
  tensor.dtype = {kDLFloat, 32, 4};
  EXPECT_EQ(refusal_of([&] { from_dlpack(tensor, "x"); }),
            "x: need dtype " + numerics::format_names() +
                ", int32, int64, uint8 or bool on the CPU, got float32 in lanes of 4");
  tensor.dtype = {kDLInt, 16, 1};
  EXPECT_EQ(refusal_of([&] { from_dlpack(tensor, "x"); }),
            "x: need dtype " + numerics::format_names() + ", int32, int64, uint8 or bool on the CPU, got int16");
  tensor.dtype = {10, 8, 1};
  EXPECT_EQ(from_dlpack(tensor, "x").format, Format::e4m3);
  for (const Format format : numerics::all_formats()) {
    const numerics::FormatProperties& p = numerics::properties(format);
    tensor.dtype = {static_cast<std::uint8_t>(p.dlpack_code), static_cast<std::uint8_t>(p.storage_bits), 1};
    if (p.storage_bits <= 32) {
      EXPECT_EQ(from_dlpack(tensor, "x").format, format) << p.name;
    }
  }
  tensor.dtype = {kDLInt, 64, 1};
  EXPECT_EQ(from_dlpack(tensor, "x").integer_bits, 64u);
  tensor.dtype = {kDLFloat, 32, 1};
  tensor.data = nullptr;
  EXPECT_EQ(refusal_of([&] { from_dlpack(tensor, "x"); }), "x: need data for 6 elements, got NULL");
  shape[0] = -1;
  EXPECT_EQ(refusal_of([&] { from_dlpack(tensor, "x"); }), "x: need sizes >= 0, got shape (-1, 3)");
  tensor.device.device_type = kDLCUDA;
  EXPECT_EQ(refusal_of([&] { from_dlpack(tensor, "x"); }),
            "x: need a tensor in the CPU's memory, got one on device type 2");
}

using namespace numerics;

// Results at hand of calls with parameters: attention with its attributes, and what top-p and min-p keep.

std::vector<AttentionCase> forward_cases() {
  AttentionOptions options = small_attention(12, 256, forward_attributes);
  options.blind_queries = true;
  return whole_cases(options, 80, 29);
}

// Every value of reference() is that of the query's own oracle, whose row attention_rows.hpp puts together.
TEST(TensorTerms, AttentionHasItsAttributes) {
  for (const AttentionCase& a : forward_cases()) {
    std::vector<StoredTensor> memory;
    CaseTensors tensors(a, Op::attention, memory);
    tensors.add_mask();
    const TensorTask& task = tensors.task;
    const AttentionTask by = attention_task(Op::attention);
    const AttentionShape& s = a.shape;
    std::vector<StoredTensor> outputs;
    for (std::size_t which = 0; which < 2; ++which) {
      const std::vector<double> ideal = ideal_output(task, by.contract, which, Format::f32);
      outputs.push_back(stored(Format::f32, output_shape(task, which), ideal));
      each_row(s, [&](std::size_t b, std::size_t h, std::size_t i) {
        const AttentionRow row = row_of(a, b, h, i);
        const std::vector<std::size_t> items = visible_items(row);
        const double got = ideal[row_number(s, b, h, i) * (which == 0 ? s.value_dim : 1)];
        if (items.empty()) {
          EXPECT_EQ(got, which == 0 ? 0 : row.sink ? *row.sink : -infinity) << to_text(a);
          return;
        }
        const numerics::PrecisionScope precision(113);
        QueryOracles oracles(by, row, items);
        const Enclosure exact = oracles.value(which == 0 ? AttentionClaim::output : AttentionClaim::lse, 0);
        EXPECT_EQ(got, round_to(Format::f32, exact.midpoint())) << to_text(a);
      });
    }
    std::vector<GivenTensor> held{outputs[0].held(), outputs[1].held()};
    EXPECT_EQ(judge_tensors(task, by.contract, held).verdict, ReportVerdict::pass) << to_text(a);
    outputs[1].set(0, outputs[1].at(0) == -infinity ? 0 : outputs[1].at(0) + 1 + 0x1p-8 * std::fabs(outputs[1].at(0)));
    held[1] = outputs[1].held();
    EXPECT_EQ(judge_tensors(task, by.contract, held).verdict, ReportVerdict::fail) << to_text(a);
  }
}

TEST(TensorTerms, WhatAttentionCannotHaveIsRefused) {
  const StoredTensor q = stored(Format::f32, {1, 2, 3, 2}, sample_numbers(Format::f32, 12, 1, 1));
  const StoredTensor sinks = stored(Format::f32, {2}, {0, 1}), wrong = stored(Format::f32, {3}, {0, 1, 2});
  const StoredTensor scores = stored(Format::f32, {1, 2, 3}, {0, 1, 2, 3, 4, 5});
  const StoredTensor endless = stored(Format::f32, {1}, {infinity});
  TensorTask task;
  task.op = Op::attention;
  task.inputs = {q.held(), q.held(), q.held(), sinks.held()};
  task.roles = {Role::query, Role::key, Role::value, Role::sinks};
  const Contract contract = contract_for(task, "");
  const auto judged = [&](std::size_t count) {
    std::vector<GivenTensor> outputs{q.held(), scores.held(), scores.held()};
    outputs.resize(count);
    return refusal_of([&] { judge_tensors(task, contract, outputs); });
  };
  EXPECT_EQ(judged(2), "not refused");
  EXPECT_EQ(judged(3), "entropy: need none beside sinks, whose weights do not add up to 1");
  task.inputs[3] = wrong.held();
  EXPECT_EQ(judged(2), "sinks: need shape (2,), got (3,)");
  task.roles[3] = Role::bias;
  task.inputs[3] = endless.held();
  EXPECT_EQ(judged(1).substr(0, 25), "bias: need finite numbers");
  task.op = Op::adaptive_attention;
  EXPECT_EQ(judged(1), "bias: need no such input, as adaptive_attention at hand has none");
  task.roles.clear();
  task.inputs.pop_back();
  task.attributes.softcap = 2;
  EXPECT_EQ(judged(1), "softcap: need 0, as adaptive_attention has none, got 2");
}

TEST(TensorTerms, TopPKeepsWhatItMust) {
  // Coefficients of 1/2, 1/4, 1/8, 1/8, nearly.
  const double two = round_to(Format::f32, 0x1.62e42fefa39efp-1);
  const StoredTensor logits = stored(Format::f32, {2, 4}, {3 * two, 2 * two, two, two, 0, 0, 0, -infinity});
  TensorTask task;
  task.op = Op::top_p_softmax;
  task.inputs = {logits.held()};
  task.attributes.top_p = 0.6;
  const Contract contract = contract_for(task, "masked=zero");
  StoredTensor got = stored(Format::f32, {2, 4}, ideal_output(task, contract, 0, Format::f32));
  EXPECT_EQ(got.at(2), 0);
  EXPECT_NEAR(got.at(0), 2.0 / 3, 1e-6);
  EXPECT_EQ(got.at(4), 0.5);  // of three equal items two reach 0.6
  const auto verdict = [&] { return judge_tensors(task, contract, std::vector{got.held()}).verdict; };
  EXPECT_EQ(verdict(), ReportVerdict::pass);
  const std::vector<double> all{0.5, 0.25, 0.125, 0.125, 1.0 / 3, 1.0 / 3, 1.0 / 3, 0};
  got = stored(Format::f32, {2, 4}, all);
  TensorJudgement judgement = judge_tensors(task, contract, std::vector{got.held()});
  EXPECT_EQ(judgement.failed, 1u);  // of equal items all may stay
  EXPECT_EQ(row_of_claim(judgement, "kernel.top_p_softmax.kept").verdict, ReportVerdict::fail);
  task.attributes.top_p = 0;
  EXPECT_EQ(verdict(), ReportVerdict::pass);
  task.attributes.min_p = 0.4;
  EXPECT_EQ(verdict(), ReportVerdict::fail);
  std::vector<double> allowed(8);
  thresholds(task, contract, 0, allowed);
  EXPECT_EQ(allowed[2], 0);
  EXPECT_GT(allowed[1], 0);
  task.attributes.min_p = 1.5;
  EXPECT_EQ(refusal_of(verdict), "min_p: need a number in (0, 1], or 0 for none, got 1.5");
  task.attributes = {};
  task.op = Op::softmax;
  task.attributes.top_p = 0.5;
  EXPECT_EQ(refusal_of(verdict), "top_p: need 0, as softmax has none, got 0.5");
}

}  // namespace
}  // namespace softcheck::proptests
