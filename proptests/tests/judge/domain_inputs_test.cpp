// Domains whose words say what a call's inputs hold, and where they lie in memory.
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <memory>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "proptests/generators/rows/row.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

constexpr int refusal = 1;

// A row op whose kernel refuses calls with an input that is not as the words say.
struct RowWords {
  Op op;
  const char* domain;
  bool (*holds)(const softcheck_call& call);
};

double largest_of(const DLTensor& tensor, std::int64_t first, std::int64_t count, double sign) {
  double most = -infinity;
  for (std::int64_t i = first; i < first + count; ++i) most = std::fmax(most, sign * numbers_of(tensor)[i]);
  return most;
}

template <class Holds>
bool each_row_holds(const softcheck_call& call, Holds holds) {
  const DLTensor& logits = *call.inputs[0];
  for (std::int64_t r = 0; r < logits.shape[0]; ++r) {
    if (!holds(logits, r * logits.shape[1], logits.shape[1])) return false;
  }
  return true;
}

// Labelled full: DomainInputs.InputsOfRowsAreAsTheWordsSay
TEST(DomainInputs, InputsOfRowsAreAsTheWordsSay) {
  const RowWords all[]{{Op::softmax, "logits<=20 spread<=30",
                        [](const softcheck_call& call) {
                          return each_row_holds(call, [&](const DLTensor& logits, std::int64_t first, std::int64_t n) {
                            const double most = largest_of(logits, first, n, 1);
                            double least = infinity;
                            for (std::int64_t i = first; i < first + n; ++i) {
                              if (numbers_of(logits)[i] != -infinity) least = std::fmin(least, numbers_of(logits)[i]);
                            }
                            return most == -infinity || (most / call.theta <= 20 && least / call.theta >= -20 &&
                                                         (most - least) / call.theta <= 30);
                          });
                        }},
                       {Op::softmax, "visible>=1",
                        [](const softcheck_call& call) {
                          return each_row_holds(call, [](const DLTensor& logits, std::int64_t first, std::int64_t n) {
                            bool has_nan = false;
                            for (std::int64_t i = first; i < first + n; ++i)
                              has_nan |= std::isnan(numbers_of(logits)[i]);
                            return has_nan || largest_of(logits, first, n, 1) > -infinity;
                          });
                        }},
                       {Op::merge_states, "empty=zero", [](const softcheck_call& call) {
                          const DLTensor& parts = *call.inputs[0];
                          const std::int64_t count = parts.shape[0] * parts.shape[1] * parts.shape[2];
                          const float* numbers = numbers_of(parts);
                          return std::none_of(numbers, numbers + count, [](float x) { return std::isnan(x); });
                        }}};
  for (const auto& [op, domain, holds] : all) {
    const std::string symbol = "softcheck_" + std::string(to_string(op));
    const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), symbol.c_str());
    const auto keeping = [kernel, holds](const softcheck_call* call) { return holds(*call) ? kernel(call) : refusal; };
    const KernelJudgement judgement =
        judged(own_subject(keeping, {op, Format::f32, kernel_tests::promised_words(symbol, "f32"),
                                     std::string(domain) + " compact nomask n<=300 rows<=40"}));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << domain << ' ' << judgement.failed_property;
    EXPECT_EQ(judgement.refused, 0u) << domain;
    EXPECT_GT(judgement.calls, 100u) << domain;
  }
}

TEST(DomainInputs, EveryRowIsDrawnWithinItsBounds) {
  RowOptions options;
  options.formats = {Format::f32, Format::bf16};
  options.families.assign(kernel_row_families().begin(), kernel_row_families().end());
  options.max_length = options.max_literal = 100;
  options.domain = parse_domain("logits<=20 spread<=30", false);
  const rc::Gen<RowCase> rows = row_cases(options);
  double most = 0, widest = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const RowCase drawn = rows(rc::Random(seed), 100).value();
    if (drawn.row.visible() == 0) continue;
    most = std::fmax(most, std::fmax(drawn.row.maximum(), -drawn.row.minimum()) / drawn.theta);
    widest = std::fmax(widest, drawn.row.spread() / drawn.theta);
  }
  EXPECT_TRUE(most > 15 && most <= 20) << most;
  EXPECT_TRUE(widest > 20 && widest <= 30) << widest;
}

// Calls our kernel for each query head of a group: query head h reads key head h % kv_heads.
int interleaved_attention(softcheck_kernel kernel, const softcheck_call& call) {
  const std::int64_t heads = call.inputs[0]->shape[1], kv_heads = call.inputs[1]->shape[1];
  for (std::int64_t g = 0; g < heads / kv_heads; ++g) {
    std::array<DLTensor, 4> views{};
    std::array<std::array<std::int64_t, 4>, 4> shapes{}, strides{};
    const auto view = [&](std::size_t k, const DLTensor& whole) {
      views[k] = whole;
      std::int64_t next = 1;
      for (int d = whole.ndim - 1; d >= 0; --d) {
        const auto axis = static_cast<std::size_t>(d);
        shapes[k][axis] = d == 1 ? kv_heads : whole.shape[d];
        strides[k][axis] = next;
        next *= std::max<std::int64_t>(whole.shape[d], 1);
      }
      views[k].shape = shapes[k].data();
      views[k].strides = strides[k].data();
      views[k].byte_offset += static_cast<std::uint64_t>(g * kv_heads * strides[k][1]) * sizeof(float);
      return &views[k];
    };
    const std::array<const DLTensor*, 3> inputs{view(0, *call.inputs[0]), call.inputs[1], call.inputs[2]};
    std::array<DLTensor*, 3> outputs{};
    for (std::size_t k = 0; k < call.n_outputs; ++k) outputs[k] = view(k + 1, *call.outputs[k]);
    softcheck_call part = call;
    part.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
    part.inputs = inputs.data();
    part.outputs = outputs.data();
    if (const int status = kernel(&part); status != 0) return status;
  }
  return 0;
}

// Labelled full: DomainInputs.HeadsOfGroupsAreInterleaved
TEST(DomainInputs, HeadsOfGroupsAreInterleaved) {
  const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
  const SubjectWords words{Op::attention, Format::f32, kernel_tests::promised_words("softcheck_attention", "f32"),
                           "heads=interleaved compact nomask keys<=40 queries<=9 batch<=3 group<=3 dim<=40"};
  const auto right = [kernel](const softcheck_call* call) {
    const softcheck_call_2* whole = softcheck_version_2(call);
    const std::int64_t heads = call->inputs[0]->shape[1], kv_heads = call->inputs[1]->shape[1];
    const bool says = whole != nullptr && whole->attributes->interleaved_heads != 0;
    return says == (kv_heads > 1 && heads > kv_heads) ? interleaved_attention(kernel, *call) : refusal;
  };
  const KernelJudgement judgement = judged(own_subject(right, words));
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << judgement.failed_property;
  EXPECT_EQ(judgement.refused, 0u);
  const KernelJudgement other = judged(own_subject(kernel, words));
  ASSERT_EQ(other.verdict, ReportVerdict::fail);
  AttentionCase smallest;
  from_text(other.counterexample->case_text, smallest);
  EXPECT_EQ(smallest.shape.kv_heads, 2u);
  EXPECT_EQ(smallest.shape.group, 2u);
}

bool is_expanded(const DLTensor& tensor) {
  return tensor.strides != nullptr &&
         std::find(tensor.strides, tensor.strides + tensor.ndim, 0) != tensor.strides + tensor.ndim;
}

// The elements of a tensor of four dimensions side by side.
std::vector<std::byte> dense_copy(const DLTensor& tensor) {
  const std::int64_t size = tensor.dtype.bits / 8;
  std::vector<std::byte> copy;
  const std::byte* const first = numbers_of<std::byte>(tensor);
  const std::int64_t *shape = tensor.shape, *step = tensor.strides;
  for (std::int64_t n = 0; n < shape[0] * shape[1] * shape[2] * shape[3]; ++n) {
    const std::int64_t d = n % shape[3], c = n / shape[3] % shape[2], b = n / shape[3] / shape[2] % shape[1],
                       a = n / shape[3] / shape[2] / shape[1];
    const std::byte* const from = first + (a * step[0] + b * step[1] + c * step[2] + d * step[3]) * size;
    copy.insert(copy.end(), from, from + size);
  }
  return copy;
}

// Labelled full: DomainInputs.InputsAreExpandedByStridesOfZero
TEST(DomainInputs, InputsAreExpandedByStridesOfZero) {
  const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
  SharedValues<std::atomic<int>, 2> expanded;
  const auto judged_with = [&](const char* domain, bool right) {
    const auto counting = [kernel, right, &expanded](const softcheck_call* call) {
      std::vector<DLTensor> copies;
      std::vector<std::vector<std::byte>> numbers;
      std::vector<const DLTensor*> inputs;
      for (std::uint32_t k = 0; k < call->n_inputs; ++k) {
        copies.push_back(*call->inputs[k]);
        expanded[is_expanded(copies.back()) ? 1 : 0] += 1;
        if (!is_expanded(copies.back())) continue;
        numbers.push_back(right ? dense_copy(copies.back()) : std::vector<std::byte>());
        if (right) {
          copies.back().data = numbers.back().data();
          copies.back().byte_offset = 0;
        }
        copies.back().strides = nullptr;
      }
      for (const DLTensor& copy : copies) inputs.push_back(&copy);
      softcheck_call other = *call;
      other.inputs = inputs.data();
      return kernel(&other);
    };
    return judged(
        own_subject(counting, {Op::attention, Format::f32, kernel_tests::promised_words("softcheck_attention", "f32"),
                               std::string(domain) + " keys<=40 queries<=9 dim<=40"}));
  };
  EXPECT_EQ(judged_with("", true).verdict, ReportVerdict::pass);
  EXPECT_EQ(expanded[1], 0);
  const KernelJudgement right = judged_with("expanded", true);
  EXPECT_EQ(right.verdict, ReportVerdict::pass) << right.failed_property;
  EXPECT_EQ(right.refused, 0u);
  EXPECT_GT(expanded[1], 100);
  EXPECT_NE(judged_with("expanded", false).verdict, ReportVerdict::pass);
}

// Labelled full: DomainInputs.ValuesAreAViewOfTheirKeys
TEST(DomainInputs, ValuesAreAViewOfTheirKeys) {
  const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
  const auto viewing = [kernel](const softcheck_call* call) {
    const DLTensor &k = *call->inputs[1], &v = *call->inputs[2];
    return k.data == v.data && k.byte_offset == v.byte_offset && v.shape[3] <= k.shape[3] ? kernel(call) : refusal;
  };
  for (const char* domain :
       {"values=view keys<=40 dim<=40 queries<=9", "values=view compact dim=576 values=512 keys<=9 queries<=3"}) {
    const KernelJudgement judgement = judged(own_subject(
        viewing, {Op::attention, Format::f32, kernel_tests::promised_words("softcheck_attention", "f32"), domain}));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << judgement.failed_property << joined(judgement.notes);
    EXPECT_EQ(judgement.refused, 0u) << domain;
    EXPECT_GT(judgement.calls, 100u) << domain;
  }
}

// Labelled full: DomainInputs.AMergeMayOverwriteItsFirstPart
TEST(DomainInputs, AMergeMayOverwriteItsFirstPart) {
  const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_merge_states");
  const auto judged_with = [&](bool in_place, bool right) {
    const auto merging = [kernel, in_place, right](const softcheck_call* call) {
      const DLTensor &parts = *call->inputs[1], &lse = *call->outputs[1];
      if (!in_place && lse.data == parts.data && lse.data != nullptr) return refusal;
      if (!right && lse.shape[0] > 0) *numbers_of(lse) = -infinity;
      return kernel(call);
    };
    KernelSubject subject =
        own_subject(merging, {Op::merge_states, Format::f32,
                              kernel_tests::promised_words("softcheck_merge_states", "f32"), "n<=40 rows<=40"});
    subject.required.in_place = in_place;
    return judged(subject);
  };
  for (const bool in_place : {false, true}) {
    const KernelJudgement right = judged_with(in_place, true);
    EXPECT_EQ(right.verdict, ReportVerdict::pass) << right.failed_property;
    EXPECT_EQ(right.refused, 0u);
    EXPECT_EQ(judged_with(in_place, false).verdict, in_place ? ReportVerdict::fail : ReportVerdict::pass);
  }
}

// Document k has the keys [3 k, 3 k + 3); each query sees its own and key 0.
std::vector<std::uint8_t> of_documents(const std::array<std::size_t, 4>& lengths) {
  std::vector<std::uint8_t> mask(lengths[0] * lengths[1] * lengths[2] * lengths[3]);
  for (std::size_t n = 0; n < mask.size(); ++n) {
    const std::size_t j = n % lengths[3], i = n / lengths[3] % lengths[2];
    mask[n] = j == 0 || i / 3 == j / 3 ? 1 : 0;
  }
  return mask;
}

// Labelled full: DomainInputs.AFixedMaskIsThatOfEachCall
TEST(DomainInputs, AFixedMaskIsThatOfEachCall) {
  const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
  const auto judged_with = [&](bool right) {
    const auto knowing = [kernel, right](const softcheck_call* call) {
      const bool none = call->n_inputs != 4;
      const DLTensor& k = *call->inputs[1];
      if (none) return call->inputs[0]->shape[2] * k.shape[2] * k.shape[0] == 0 ? kernel(call) : refusal;
      const DLTensor& mask = *call->inputs[3];
      std::array<std::size_t, 4> lengths{};
      for (std::size_t d = 0; d < 4; ++d) lengths[d] = static_cast<std::size_t>(mask.shape[d]);
      const std::vector<std::uint8_t> expected = of_documents(lengths);
      if (!std::equal(expected.begin(), expected.end(), numbers_of<std::uint8_t>(mask))) return refusal;
      softcheck_call whole = *call;
      if (!right) whole.n_inputs = 3;
      return kernel(&whole);
    };
    KernelSubject subject =
        own_subject(knowing, {Op::attention, Format::f32, kernel_tests::promised_words("softcheck_attention", "f32"),
                              "compact nomask nocausal keys<=40 queries<=40 dim<=40 batch<=3 heads<=4"});
    auto fixed = std::make_shared<FixedTerms>();
    fixed->mask = of_documents;
    subject.domain.fixed = fixed;
    return judged(subject);
  };
  const KernelJudgement right = judged_with(true);
  EXPECT_EQ(right.verdict, ReportVerdict::pass) << right.failed_property << joined(right.notes);
  EXPECT_EQ(right.refused, 0u);
  EXPECT_GT(right.calls, 300u);
  const KernelJudgement wrong = judged_with(false);
  ASSERT_EQ(wrong.verdict, ReportVerdict::fail);
  AttentionCase smallest;
  from_text(wrong.counterexample->case_text, smallest);
  EXPECT_LE(smallest.shape.keys, 6u);
  EXPECT_EQ(smallest.mask, of_documents({1, 1, smallest.shape.queries, smallest.shape.keys}));
}

}  // namespace
}  // namespace softcheck::proptests
