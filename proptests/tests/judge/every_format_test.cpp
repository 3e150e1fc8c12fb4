// Every op in every format that a right kernel of it takes: checked, inferred, judged at hand, replayed and
// exhaustively.
#include <cstring>

#include "judge/exhaustive/exhaustive_judge.hpp"
#include "judge/inference/contract_inference.hpp"
#include "judge/ops/rows/matrix_features.hpp"
#include "judge/ops/rows/row_op.hpp"
#include "judge/results/tensor_judge.hpp"
#include "proptests/tests/judge/row_samples.hpp"
#include "proptests/tests/judge/zoo_rows.hpp"

namespace softcheck::proptests {
namespace {

// A right kernel of each op and format: ours on the CPU where it takes them, else the zoo's first one.
std::vector<ZooRow> kernels_of_every_format() {
  std::map<std::pair<std::string, std::string>, ZooRow> rows;
  for (const ZooRow& row : read_zoo()) {
    const bool plain = row.exempt == "-" && !row.needs_effort() && row.contract.find("infinity=") == std::string::npos;
    if (row.is_planted() || row.expected != "pass" || !plain) continue;
    const auto [place, is_new] = rows.try_emplace({row.op, row.dtype}, row);
    const bool is_ours = row.library == "softcheck_cpu_kernels" && row.domain == "-";
    if (is_ours && (is_new || place->second.library != row.library)) place->second = row;
  }
  std::vector<ZooRow> result;
  for (const auto& [key, row] : rows) result.push_back(row);
  return result;
}

// Where each element of a tensor begins, row-major.
std::vector<char*> places_of(const DLTensor& tensor, const GivenTensor& held) {
  std::int64_t elements = 1;
  for (const std::int64_t size : held.shape) elements *= size;
  std::vector<char*> places;
  for (std::int64_t k = 0; k < elements; ++k) {
    std::int64_t place = 0, rest = k;
    for (std::size_t d = held.shape.size(); d-- > 0; rest /= held.shape[d]) {
      place += rest % held.shape[d] * held.strides[d];
    }
    places.push_back(static_cast<char*>(tensor.data) + tensor.byte_offset + place * (tensor.dtype.bits / 8));
  }
  return places;
}

/// A compact copy of a call's tensor.
class TensorCopy {
 public:
  explicit TensorCopy(const DLTensor& tensor) : view_(from_dlpack(tensor, "tensor")) {
    const std::size_t bytes = tensor.dtype.bits / 8;
    for (const char* place : places_of(tensor, view_)) memory_.insert(memory_.end(), place, place + bytes);
    view_.strides.clear();
    std::int64_t stride = 1;
    for (std::size_t d = view_.shape.size(); d-- > 0; stride *= view_.shape[d]) {
      view_.strides.insert(view_.strides.begin(), stride);
    }
  }
  GivenTensor held() const {
    GivenTensor held = view_;
    held.first = reinterpret_cast<const std::byte*>(memory_.data());
    return held;
  }

 private:
  GivenTensor view_;
  std::vector<char> memory_;
};

/// A call with its results.
struct RecordedCall {
  TensorTask task;
  std::vector<TensorCopy> inputs, outputs;
};

RecordedCall kept_inputs(Op op, const softcheck_call& call) {
  RecordedCall kept;
  kept.task.op = op;
  kept.task.theta = call.theta;
  kept.task.scale = call.scale;
  kept.task.causal = call.causal != 0;
  for (std::uint32_t k = 0; k < call.n_inputs; ++k) kept.inputs.emplace_back(*call.inputs[k]);
  if (const softcheck_call_2* second = softcheck_version_2(&call)) {
    const softcheck_attributes& sent = *second->attributes;
    for (std::uint32_t k = 0; k < call.n_inputs; ++k) {
      kept.task.roles.push_back(static_cast<Role>(second->input_roles[k]));
    }
    kept.task.attributes = {.label_smoothing = sent.label_smoothing,
                            .z_loss = sent.z_loss,
                            .ignore_index = sent.ignore_index,
                            .lse_base2 = sent.lse_base2 != 0,
                            .softcap = sent.softcap,
                            .window_left_plus_1 = sent.window_left_plus_1,
                            .window_right_plus_1 = sent.window_right_plus_1,
                            .causal_top_left = sent.causal_top_left != 0,
                            .page_size = sent.page_size,
                            .k = sent.k,
                            .renormalize = sent.renormalize != 0,
                            .mean = sent.mean != 0,
                            .reverse = sent.reverse != 0,
                            .top_p = sent.top_p,
                            .min_p = sent.min_p};
    if (op->sigmoid) kept.task.attributes.sigmoid_bias = sent.sigmoid_bias;
  }
  return kept;
}

// All bits: a NaN of every format, and no item's index.
void write_nan(const DLTensor& tensor) {
  for (char* place : places_of(tensor, from_dlpack(tensor, "output"))) std::memset(place, 0xff, tensor.dtype.bits / 8);
}

KernelSubject small_subject(const ZooRow& row) {
  KernelSubject subject = subject_of(row);
  std::string domain = "n<=24 rows<=8";
  if (subject.op->is_attention()) {
    domain = "batch<=2 heads<=2 group<=2 queries<=4 keys<=12 dim<=8 values<=8";
    if (row.domain != "-") domain += " " + row.domain;
  }
  subject.domain = domain_of(domain, subject.op);
  subject.required = {};
  return subject;
}

JudgeOptions few_calls(std::uint64_t most) {
  JudgeOptions options = quick_options({}, 4);
  options.max_calls = most;
  options.max_length = 256;
  options.limits.seconds_per_call = 20;
  return options;
}

std::string story_of(const std::vector<ReportRow>& rows) { return ("\n" + details_of(rows)).substr(0, 2000); }

ForwardedEnd end_of(int returned) { return {returned == 0 ? CallEnd::done : CallEnd::refused, returned, {}, {}}; }

/// By the name of an op.
class EveryFormat : public ::testing::TestWithParam<std::string> {
 protected:
  /// Calls check with the op's kernel of each format.
  template <class Check>
  static void for_each_format(const Check& check) {
    for (const ZooRow& row : kernels_of_every_format()) {
      if (row.op != GetParam()) continue;
      SCOPED_TRACE(row.symbol + " " + row.dtype);
      check(row, small_subject(row));
    }
  }
};

// Labelled full: Ops/EveryFormat.*
TEST_P(EveryFormat, IsChecked) {
  for_each_format([](const ZooRow&, const KernelSubject& subject) {
    const KernelJudgement judgement = judge_kernel(subject, few_calls(120));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << story_of(rows_of(subject, judgement));
  });
}

TEST_P(EveryFormat, IsInferred) {
  for_each_format([](const ZooRow&, const KernelSubject& subject) {
    const Inference inference = infer_contract(subject, few_calls(0));
    ASSERT_TRUE(inference.contract) << inference.failure;
    EXPECT_EQ(inference.verdict(), ReportVerdict::pass) << inference.summary() << story_of(rows_of(inference));
  });
}

// The calls of a judgement are kept with their results.
TEST_P(EveryFormat, IsJudgedAtHand) {
  for_each_format([](const ZooRow& row, KernelSubject subject) {
    const softcheck_kernel kernel = loaded_kernel(subject.source.library, subject.source.symbol);
    std::vector<RecordedCall> calls;
    subject.source.forwarded = [&](const softcheck_call* call) {
      RecordedCall kept = kept_inputs(subject.op, *call);
      const int returned = kernel(call);
      for (std::uint32_t k = 0; k < call->n_outputs; ++k) kept.outputs.emplace_back(*call->outputs[k]);
      if (returned == 0) calls.push_back(std::move(kept));
      return end_of(returned);
    };
    judge_kernel(subject, few_calls(80));
    EXPECT_GT(calls.size(), 40U);
    for (RecordedCall& call : calls) {
      for (const TensorCopy& input : call.inputs) call.task.inputs.push_back(input.held());
      std::vector<GivenTensor> outputs;
      for (const TensorCopy& output : call.outputs) outputs.push_back(output.held());
      const Contract contract = contract_for(call.task, row.contract, outputs.front().format);
      const TensorJudgement judgement = judge_tensors(call.task, contract, outputs);
      ASSERT_NE(judgement.verdict, ReportVerdict::fail) << story_of(judgement.rows);
    }
  });
}

// A case that a wrong kernel fails in fails again, and the right kernel passes it.
TEST_P(EveryFormat, IsReplayed) {
  for_each_format([](const ZooRow&, const KernelSubject& subject) {
    const softcheck_kernel kernel = loaded_kernel(subject.source.library, subject.source.symbol);
    KernelSubject wrong = subject;
    wrong.source.forwarded = [&](const softcheck_call* call) {
      const int returned = kernel(call);
      if (returned == 0) write_nan(*call->outputs[0]);
      return end_of(returned);
    };
    JudgeOptions options = few_calls(20);
    options.run.shrinks = 8;
    options.run.max_size = 20;
    options.only = {"EveryValueLiesWithinItsThreshold"};
    const KernelJudgement judgement = judge_kernel(wrong, options);
    ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
    const std::string& text = judgement.counterexample->case_text;
    const auto replayed = [&](const KernelSubject& by) {
      return replay_kernel(by, judgement.failed_property, text, options).verdict;
    };
    EXPECT_EQ(replayed(wrong), ReportVerdict::fail) << text;
    EXPECT_EQ(replayed(subject), ReportVerdict::pass) << text;
  });
}

// Two items a row, and the keys of one call.
TEST_P(EveryFormat, IsJudgedExhaustively) {
  std::size_t judged = 0;
  for_each_format([&](const ZooRow&, KernelSubject subject) {
    const bool has_products = subject.op->is_attention();
    subject.domain = domain_of(has_products ? "keys=64 dim=1 values=64 finite" : "n=2 theta=1", subject.op);
    try {
      EXPECT_EQ(judge_exhaustively(subject, exhaustive_options(100, 2)).judgement.verdict, ReportVerdict::pass);
      ++judged;
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(std::string(error.what()), HasSubstr("effort: exhaustive needs ")) << error.what();
    }
  });
  const Op op = parse_op(GetParam());
  const bool has_form = !op->is_attention() && op.rows().arguments() != nullptr;
  EXPECT_EQ(judged, has_form ? 6U : op == Op::attention ? 4U : 0U);
}

INSTANTIATE_TEST_SUITE_P(Ops, EveryFormat, ::testing::ValuesIn([] {
                           std::set<std::string> ops;
                           for (const ZooRow& row : kernels_of_every_format()) ops.insert(row.op);
                           return ops;
                         }()),
                         [](const auto& info) { return info.param; });

TEST(EveryFormatOf, EveryOpIsThere) {
  std::set<std::string> formats_of_ops;
  for (const ZooRow& row : kernels_of_every_format()) formats_of_ops.insert(row.op + " " + row.dtype);
  for (const Op op : all_ops()) {
    for (const Format format : numerics::all_formats()) {
      const std::string name = std::string(to_string(op)) + " " + std::string(numerics::properties(format).name);
      const bool is_missing = op == Op::adaptive_attention && numerics::properties(format).storage_bits == 8;
      EXPECT_EQ(formats_of_ops.contains(name), !is_missing) << name;
    }
  }
}

using namespace numerics;

// Calls of rows: the plainest one that a failing one becomes, and what words of --domain leave of them.

struct RequestedAttribute {
  Op op;
  const char* kernel;
  const char* contract;
  const char* word;

  friend std::ostream& operator<<(std::ostream& out, const RequestedAttribute& one) { return out << one.word; }
};

/// A word of --domain that asks for an attribute of a call leaves no other kind of call out.
class DomainWords : public ::testing::TestWithParam<RequestedAttribute> {};

TEST_P(DomainWords, ThatAskForAnAttributeKeepNansAndLayouts) {
  const RequestedAttribute& asked = GetParam();
  const KernelJudgement judgement =
      judged(zoo_subject(asked.kernel, {.op = asked.op, .contract = asked.contract, .domain = asked.word}),
             {"ANanLogitMakesItsRowNan", "LayoutsAndNeighboursDoNotMatter"});
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
  std::size_t nans = 0, strided = 0;
  for (const PropertyFinding& property : judgement.properties) {
    const auto found = property.outcome.claims.find("kernel.nan_row");
    if (found != property.outcome.claims.end()) nans += found->second.decided;
  }
  for (const Coverage::Entry& entry : judgement.coverage.entries()) {
    if (entry.dimension == "input layout" && entry.name == "column stride") strided += entry.calls;
  }
  EXPECT_GT(nans, 0U);
  EXPECT_GT(strided, 0U);
}

INSTANTIATE_TEST_SUITE_P(Ops, DomainWords,
                         ::testing::Values(RequestedAttribute{Op::cross_entropy_mean, "correct_cross_entropy_mean",
                                                              "sum=sequential masked=nan", "reduction=mean"},
                                           RequestedAttribute{Op::cross_entropy_mean, "correct_cross_entropy_mean",
                                                              "sum=sequential masked=nan", "reduction=sum"},
                                           RequestedAttribute{Op::merge_states, "correct_merge_states",
                                                              "sum=sequential masked=zero", "base=2"},
                                           RequestedAttribute{Op::topk_softmax, "correct_topk_softmax",
                                                              "sum=sequential masked=nan ties=lowest",
                                                              "renormalize=1"}));

/// Is a tensor contiguous, and compact where the call is?
void expect_strides_of(const TensorPlace& place, bool compact_call, const std::string& called) {
  const std::vector<std::int64_t> strides = place.strides_in_use();
  std::int64_t compact = 1;
  for (std::size_t d = place.shape.size(); d-- > 0;) {
    const bool innermost = d + 1 == place.shape.size();
    if (place.shape[d] > 1 && (compact_call || innermost)) {
      EXPECT_EQ(strides[d], compact) << called << ", dimension " << d;
    }
    compact *= place.shape[d];
  }
}

TEST(DomainWordsOfStrides, HoldForEveryTensorOfACall) {
  for (const Op op : row_ops()) {
    for (const MatrixLayout& layout : {MatrixLayout{}, MatrixLayout{3, 1}, MatrixLayout{8, 1}, MatrixLayout{8, 1, 1}}) {
      RowMatrixCase matrix = matrix_of_rows(RowMatrixCase().format, {Row(3, 0.5), Row(3, 1), Row(3, 2), Row(3, 4)});
      matrix.in = matrix.out = matrix.visible = layout;
      const CallTraits traits = traits_of(matrix, op);
      ASSERT_TRUE(traits.contiguous);
      ASSERT_EQ(traits.compact, layout.row_stride != 8);
      const TensorCall call = call_of(matrix, op, {Format::f32, output_format(op, Format::f32)});
      const std::string called = std::string(op->name) + " with rows " + std::to_string(layout.row_stride) + " apart: ";
      for (std::size_t k = 0; k < call.inputs.size(); ++k) {
        expect_strides_of(call.inputs[k].place, traits.compact, called + "input " + std::to_string(k));
      }
      for (std::size_t k = 0; k < call.outputs.size(); ++k) {
        expect_strides_of(call.outputs[k].place, traits.compact, called + "output " + std::to_string(k));
      }
    }
  }
}

// A call's rows and their auxiliary inputs decide whose inputs they are, not the matrix's address.
TEST(InputsOfRows, AreThoseOfTheirMatrixAlone) {
  for (const Op op : row_ops()) {
    RowMatrixCase matrix = matrix_of_rows(Format::f32, {{1, 2, 3}, {4, 5, 6}});
    InputsOfRows inputs(matrix, op, Format::f32);
    for (std::size_t r = 0; r < 2; ++r) {
      EXPECT_EQ(inputs.at(r), inputs_of(matrix, op, Format::f32, r)) << op->name;
      EXPECT_EQ(inputs.at(r), inputs_of(matrix, op, Format::f32, r)) << op->name << ", read again";
    }
    EXPECT_TRUE(inputs.are_of(RowMatrixCase(matrix))) << op->name;
    RowMatrixCase other = matrix;
    ++other.auxiliary;
    EXPECT_FALSE(inputs.are_of(other)) << op->name;
    other = matrix_of_rows(Format::f32, {{1, 2, 3}, {4, 5, 7}});
    other.auxiliary = matrix.auxiliary;
    EXPECT_FALSE(inputs.are_of(other)) << op->name;
  }
}

// Compact, without a mask, nothing hidden.
TEST(PlainForm, HiddenItemsBecomeTheLowestOfTheirRow) {
  constexpr double hidden = -infinity;
  const Row blind(4, hidden), plain{1, 2, 3, 4};
  RowMatrixCase matrix = matrix_of_rows(Format::f64, {{hidden, 3, -2, hidden}, blind, plain});
  matrix.mask = MaskUse::tensor;
  const RowMatrixCase form = plain_form(matrix);
  EXPECT_EQ(form.mask, MaskUse::none);
  EXPECT_EQ(form.rows[0].expand(), (Row{-2, 3, -2, -2}));
  EXPECT_EQ(form.rows[1].expand(), blind);  // a row without a number has none to take
  EXPECT_EQ(form.rows[2].expand(), plain);
}

}  // namespace
}  // namespace softcheck::proptests
