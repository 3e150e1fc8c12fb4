// What the efforts ask: default effort makes every call of quick effort, and a pass names its largest calls.
#include <cstring>

#include "judge/call/call_sizes.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

/// Numbers that child processes leave for this one.
class SharedNumbers {
 public:
  void add(std::uint64_t number) { numbers_[1 + count_->fetch_add(1) % most] = number; }
  std::set<std::uint64_t> take() {
    const std::uint64_t* first = &numbers_[1];
    std::set<std::uint64_t> result(first, first + std::min<std::size_t>(count_->load(), most));
    count_->store(0);
    return result;
  }

 private:
  static constexpr std::size_t most = std::size_t{1} << 17;
  SharedValues<std::uint64_t, 1 + most> numbers_;
  std::atomic<std::size_t>* count_ = new (&numbers_[0]) std::atomic<std::size_t>(0);
};

class CallHash : public Hash {
 public:
  using Hash::add;
  void add(const DLTensor& tensor) {
    add(&tensor.dtype, sizeof tensor.dtype);
    add(tensor.shape, static_cast<std::size_t>(tensor.ndim) * 8);
    if (tensor.strides != nullptr) add(tensor.strides, static_cast<std::size_t>(tensor.ndim) * 8);
  }
  void add_numbers(const DLTensor& tensor) {
    std::int64_t count = 1;
    for (int d = 0; d < tensor.ndim; ++d) count *= tensor.shape[d];
    const auto size = static_cast<std::size_t>(tensor.dtype.bits / 8);
    for (std::int64_t k = 0; k < count; ++k) {
      std::int64_t offset = 0, rest = k, compact = 1;
      for (int d = tensor.ndim - 1; d >= 0; --d) {
        offset += rest % tensor.shape[d] * (tensor.strides != nullptr ? tensor.strides[d] : compact);
        compact *= tensor.shape[d];
        rest /= tensor.shape[d];
      }
      add(static_cast<const char*>(tensor.data) + tensor.byte_offset + offset * static_cast<std::int64_t>(size), size);
    }
  }
};

std::uint64_t hash_of(const softcheck_call& call) {
  CallHash hash;
  for (std::uint32_t k = 0; k < call.n_inputs; ++k) {
    hash.add(*call.inputs[k]);
    hash.add_numbers(*call.inputs[k]);
  }
  for (std::uint32_t k = 0; k < call.n_outputs; ++k) hash.add(*call.outputs[k]);
  hash.add(&call.theta, sizeof call.theta);
  hash.add(&call.scale, sizeof call.scale);
  hash.add(&call.causal, sizeof call.causal);
  return hash.value();
}

struct CalledKernel {
  const char* symbol;
  Op op;
  const char* domain;
};

// In ctest's name of the test, which would have the addresses of one run.
void PrintTo(const CalledKernel& kernel, std::ostream* out) { *out << kernel.symbol; }

class EffortCalls : public ::testing::TestWithParam<CalledKernel> {
 protected:
  std::set<std::uint64_t> calls_of(Effort effort) {
    SharedNumbers numbers;
    const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_zoo"), GetParam().symbol);
    const auto counted = [&numbers, kernel](const softcheck_call* call) {
      numbers.add(hash_of(*call));
      return kernel(call);
    };
    const SubjectWords words{GetParam().op, Format::f32, "exp=1ulp sum=sequential", GetParam().domain};
    const KernelJudgement judgement = judge_kernel(own_subject(counted, words), judge_options(effort));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << (judgement.notes.empty() ? "" : judgement.notes.front());
    return numbers.take();
  }
};

// Labelled full: Ops/EffortCalls.*
TEST_P(EffortCalls, DefaultMakesEveryCallOfQuick) {
  const std::set<std::uint64_t> quick = calls_of(Effort::quick), normal = calls_of(Effort::normal);
  EXPECT_GT(quick.size(), 300u);
  EXPECT_GT(normal.size(), quick.size());
  std::vector<std::uint64_t> missing;
  std::ranges::set_difference(quick, normal, std::back_inserter(missing));
  EXPECT_TRUE(missing.empty()) << missing.size() << " of " << quick.size() << " calls of quick effort are missing";
}

INSTANTIATE_TEST_SUITE_P(Ops, EffortCalls,
                         ::testing::Values(CalledKernel{"correct_two_pass", Op::softmax, "n<=600 rows<=9"},
                                           CalledKernel{"correct_topk_softmax", Op::topk_softmax, "n<=200 rows<=40"},
                                           CalledKernel{"attention_correct_two_pass", Op::attention,
                                                        "batch<=2 queries<=33 keys<=70 dim<=32 values<=32"}),
                         [](const auto& info) { return std::string(info.param.symbol); });

TEST(CallSizes, SayWhatIsBeyondTheLargestCall) {
  CallSizes sizes({{"rows", 65537}, {"n", 1'000'000}, {"|logit|", 0x1p126}});
  sizes.reach("rows", 65537);
  sizes.reach("n", 4097);
  sizes.reach("n", 128);
  sizes.reach("k", 9);  // which these calls lack
  EXPECT_EQ(sizes.largest_called(),
            "largest called: rows 65537, n 4097 (not tried: up to 1000000), |logit| 0 (not tried: up to 8.507e+37)");
  EXPECT_EQ(sizes.not_tried(), (std::vector<std::string>{"n beyond 4097, up to 1000000: no judged call had it",
                                                         "|logit| beyond 0, up to 8.507e+37: no judged call had it"}));
}

// Labelled full: CallSizes.StandInEveryReport
TEST(CallSizes, StandInEveryReport) {
  KernelSubject subject = cpu_subject("softcheck_softmax", {.domain = "n<=4097 rows<=3"});
  const KernelJudgement judgement = judged(subject);
  ASSERT_EQ(judgement.verdict, ReportVerdict::pass);
  EXPECT_TRUE(std::ranges::any_of(judgement.notes, [](const std::string& note) {
    return note.starts_with("largest called: rows 3, n 4097, |logit| ");
  }));
  const auto names_n = [](const std::string& line) { return line.starts_with("n beyond "); };
  EXPECT_TRUE(std::ranges::none_of(judgement.not_tried, names_n));
  subject.domain = parse_domain("rows<=3", false);
  EXPECT_TRUE(std::ranges::any_of(judged(subject).not_tried, names_n));
}

}  // namespace
}  // namespace softcheck::proptests
