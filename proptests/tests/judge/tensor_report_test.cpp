// The report of judged tensors: which rows fail, the worst of them, and the picture of slack.
#include "judge/results/tensor_report.hpp"

#include <nlohmann/json.hpp>

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
              AllOf(HasSubstr("20 of 40 rows fail: rows 0, 2, 4"), HasSubstr(", 14 and 12 more places")));
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

}  // namespace
}  // namespace softcheck::proptests
