// Domains whose words tie what a call is made of: every call keeps to them, and there are as many as elsewhere.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <optional>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "proptests/generators/attention/attention_classes.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

constexpr int refused = 1;

std::int64_t size_along(const softcheck_call& call, std::size_t input, int from_last) {
  const DLTensor& tensor = *call.inputs[input];
  return tensor.shape[tensor.ndim - from_last];
}

// Of a packed or a dense call: q and k are (batch, heads, length, dim) or (all lengths, heads, dim).
bool has_equal_lengths(const softcheck_call& call) {
  const int length = call.inputs[0]->ndim == 4 ? 2 : 3;
  return size_along(call, 0, length) == size_along(call, 1, length);
}

const DLTensor* tensor_of(const softcheck_call& call, std::uint32_t role) {
  const softcheck_call_2* whole = softcheck_version_2(&call);
  for (std::uint32_t k = 0; whole != nullptr && k < call.n_inputs; ++k) {
    if (whole->input_roles[k] == role) return call.inputs[k];
  }
  return nullptr;
}

bool has_equal_sequences(const softcheck_call& call) {
  const DLTensor *q = tensor_of(call, SOFTCHECK_ROLE_CU_Q), *k = tensor_of(call, SOFTCHECK_ROLE_CU_K);
  const auto first = [](const DLTensor& tensor) { return static_cast<const char*>(tensor.data) + tensor.byte_offset; };
  return std::memcmp(first(*q), first(*k), static_cast<std::size_t>(q->shape[0] * (q->dtype.bits / 8))) == 0;
}

// Of a compact call: each(row, score) for each key that a query sees; for a query without keys once, with no score.
template <class Each>
void each_visible_score(const softcheck_call& call, Each each) {
  const DLTensor &q = *call.inputs[0], &k = *call.inputs[1];
  const std::int64_t heads = q.shape[1], queries = q.shape[2], keys = k.shape[2], dim = q.shape[3];
  const DLTensor* mask = call.n_inputs > 3 ? call.inputs[3] : nullptr;
  for (std::int64_t row = 0; row < q.shape[0] * heads * queries; ++row) {
    const std::int64_t i = row % queries, h = row / queries % heads, b = row / queries / heads;
    const std::int64_t key_head = b * k.shape[1] + h / (heads / k.shape[1]);
    bool sees = false;
    for (std::int64_t j = 0; j < keys; ++j) {
      const std::int64_t mask_row = mask == nullptr ? 0 : (b * mask->shape[1] + h % mask->shape[1]) * queries + i;
      if (mask != nullptr && numbers_of<std::uint8_t>(*mask)[mask_row * keys + j] == 0) continue;
      if (call.causal != 0 && j > i + keys - queries) continue;
      double score = 0;
      for (std::int64_t t = 0; t < dim; ++t) {
        score += double{numbers_of(q)[row * dim + t]} * numbers_of(k)[(key_head * keys + j) * dim + t];
      }
      each(row, std::optional(call.scale * score));
      sees = true;
    }
    if (!sees) each(row, std::optional<double>());
  }
}

bool has_small_scores(const softcheck_call& call) {
  std::map<std::int64_t, std::pair<double, double>> ranges;
  each_visible_score(call, [&](std::int64_t row, std::optional<double> score) {
    if (!score || std::isnan(*score)) return;
    auto& [least, most] = ranges.try_emplace(row, *score, *score).first->second;
    least = std::min(least, *score);
    most = std::max(most, *score);
  });
  return std::ranges::all_of(ranges, [](const auto& of_row) {
    const auto [least, most] = of_row.second;
    return least >= -8 && most <= 8 && most - least <= 12;
  });
}

bool shows_each_query_a_key(const softcheck_call& call) {
  bool all = true;
  each_visible_score(call, [&](std::int64_t, std::optional<double> score) { all &= score.has_value(); });
  return all;
}

struct Relation {
  const char* domain;
  const char* symbol;
  bool (*holds)(const softcheck_call& call);
};
void PrintTo(const Relation& relation, std::ostream* out) { *out << relation.domain; }

constexpr Relation relations[]{
    {"causal keys<=40", "softcheck_attention", [](const softcheck_call& call) { return call.causal != 0; }},
    {"queries=keys keys<=40", "softcheck_attention", has_equal_lengths},
    {"causal queries=keys values=dim keys<=40 nomask", "softcheck_attention",
     [](const softcheck_call& call) {
       return call.causal != 0 && has_equal_lengths(call) && size_along(call, 0, 1) == size_along(call, 2, 1);
     }},
    {"queries<=keys keys<=40", "softcheck_attention",
     [](const softcheck_call& call) { return size_along(call, 0, 2) <= size_along(call, 1, 2); }},
    {"packed causal queries=keys keys<=40", "softcheck_attention_varlen",
     [](const softcheck_call& call) {
       return call.causal != 0 && has_equal_lengths(call) && has_equal_sequences(call);
     }},
    {"logits<=8 spread<=12 compact keys<=40", "softcheck_attention", has_small_scores},
    {"visible>=1 compact keys<=40", "softcheck_attention", shows_each_query_a_key},
    {"values=dim values<=80 keys<=20 nocausal", "softcheck_attention",
     [](const softcheck_call& call) { return size_along(call, 0, 1) == size_along(call, 2, 1); }}};

class Relations : public ::testing::TestWithParam<Relation> {
 protected:
  // Our kernel, which refuses the calls that break the relation.
  KernelSubject subject() const {
    const Relation& relation = GetParam();
    const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), relation.symbol);
    const auto keeping = [kernel, holds = relation.holds](const softcheck_call* call) {
      return holds(*call) ? kernel(call) : refused;
    };
    return own_subject(keeping, {Op::attention, Format::f32, kernel_tests::promised_words("softcheck_attention", "f32"),
                                 std::string(relation.domain) + " batch<=3 heads<=4 group<=2 dim<=80"});
  }
};

// Labelled full: Words/Relations.*
TEST_P(Relations, HoldInEveryCall) {
  const KernelJudgement judgement = judged(subject());
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << judgement.failed_property;
  EXPECT_EQ(judgement.refused, 0u);
  EXPECT_GT(judgement.calls, 300u);
}

TEST_P(Relations, AreDrawnWithManyLengths) {
  AttentionOptions options = small_attention(40, AttentionOptions().max_work, GetParam().domain);
  std::set<std::size_t> queries, keys;
  std::size_t inside = 0;
  const std::vector<AttentionCase> cases = drawn_attention(options, 200, 5);
  for (const AttentionCase& a : cases) {
    queries.insert(a.shape.queries);
    keys.insert(a.shape.keys);
    inside += lies_in(options.domain, a, traits_of(a)) ? 1 : 0;
  }
  EXPECT_GT(inside, 180u);
  EXPECT_GT(queries.size(), 10u);
  EXPECT_GT(keys.size(), 10u);
}

INSTANTIATE_TEST_SUITE_P(Words, Relations, ::testing::ValuesIn(relations));

// Designs choose dimensions in random order. A dead end would make them backtrack, in exponential time: with a scale of
// 1 / sqrt(dim) chosen first, the lengths must leave work for dim >= 2.
TEST(DomainWords, APossibleChoiceIsNeverADeadEnd) {
  Draw draw(7);
  for (const char* words : {"", "causal", "values=dim", "queries=keys", "scale=1/sqrt(dim)"}) {
    const AttentionOptions options = small_attention(1024, AttentionOptions().max_work, words);
    for (int chosen = 0; chosen < 200; ++chosen) {
      std::vector<std::size_t> order(attention_traits);
      std::iota(order.begin(), order.end(), std::size_t{0});
      for (std::size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[draw.below(k)]);
      ClassChoice choice(attention_traits);
      for (const std::size_t d : order) {
        const std::size_t classes = attention_dimensions()[d].classes.size(), turn = draw.below(classes);
        bool possible = false;
        for (std::size_t k = 0; k < classes && !possible; ++k) {
          choice[d] = (turn + k) % classes;
          possible = is_possible(choice, options, {});
        }
        ASSERT_TRUE(possible) << words << ": " << attention_dimensions()[d].name;
      }
    }
  }
}

// A row that a mask hides whole, not causality.
TEST(DomainWords, AMaskHidesWholeRowsOfCausalCalls) {
  const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
  const auto wrong_where_masked = [kernel](const softcheck_call* call) {
    const int status = kernel(call);
    if (status != 0 || call->n_inputs != 4) return status;
    const DLTensor &mask = *call->inputs[3], &out = *call->outputs[0];
    const auto stride = [](const DLTensor& tensor, int d) {
      std::int64_t result = 1;
      for (int e = d + 1; e < tensor.ndim; ++e) result *= tensor.shape[e];
      return tensor.strides != nullptr ? tensor.strides[d] : result;
    };
    for (std::int64_t i = 0; i < mask.shape[2]; ++i) {
      const char* row = static_cast<const char*>(mask.data) + mask.byte_offset + i * stride(mask, 2);
      bool hidden = mask.shape[0] > 0;
      for (std::int64_t j = 0; j < mask.shape[3] && hidden; ++j) hidden = row[j * stride(mask, 3)] == 0;
      char* place = static_cast<char*>(out.data) + out.byte_offset + 4 * i * stride(out, 2);
      const float wrong = 7;
      if (hidden && mask.shape[3] > 0) std::memcpy(place, &wrong, sizeof wrong);
    }
    return 0;
  };
  const KernelJudgement judgement = judged(
      own_subject(wrong_where_masked, {Op::attention, Format::f32, "masked=zero", "causal queries=keys keys<=16"}),
      {"AFullyMaskedRowIsAsDeclared"});
  EXPECT_EQ(judgement.verdict, ReportVerdict::fail);
}

// A kernel that never hides a key: the smallest failing call has two of everything that the relation ties.
TEST(DomainWords, ShrunkCallsKeepTheRelations) {
  const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), "softcheck_attention");
  const auto never_causal = [kernel](const softcheck_call* call) {
    softcheck_call other = *call;
    other.causal = 0;
    return kernel(&other);
  };
  const KernelJudgement judgement =
      judged(own_subject(never_causal, {Op::attention, Format::f32, "", "causal queries=keys values=dim nomask"}));
  ASSERT_EQ(judgement.verdict, ReportVerdict::fail);
  ASSERT_TRUE(judgement.counterexample);
  AttentionCase smallest;
  from_text(judgement.counterexample->case_text, smallest);
  EXPECT_TRUE(smallest.causal);
  EXPECT_EQ(smallest.shape.queries, 2u);
  EXPECT_EQ(smallest.shape.keys, 2u);
  EXPECT_EQ(smallest.shape.dim, 1u);
  EXPECT_EQ(smallest.shape.value_dim, 1u);
}

// Labelled full: DomainWords.NoLabelIsTheOneToIgnore
TEST(DomainWords, NoLabelIsTheOneToIgnore) {
  for (const Op op : {Op::cross_entropy, Op::cross_entropy_backward, Op::cross_entropy_mean}) {
    const std::string symbol = "softcheck_" + std::string(to_string(op));
    const softcheck_kernel kernel = loaded_kernel(library_path("softcheck_cpu_kernels"), symbol.c_str());
    const auto counting = [kernel](const softcheck_call* call) {
      const DLTensor& labels = *tensor_of(*call, SOFTCHECK_ROLE_LABELS);
      const std::int64_t stride = labels.strides != nullptr ? labels.strides[0] : 1, bytes = labels.dtype.bits / 8;
      for (std::int64_t r = 0; r < labels.shape[0]; ++r) {
        std::int64_t label = 0;
        std::int32_t narrow = 0;
        const char* place = static_cast<const char*>(labels.data) + labels.byte_offset + r * stride * bytes;
        std::memcpy(bytes == 8 ? static_cast<void*>(&label) : &narrow, place, static_cast<std::size_t>(bytes));
        if ((bytes == 8 ? label : narrow) == softcheck_version_2(call)->attributes->ignore_index) return refused;
      }
      return kernel(call);
    };
    const KernelJudgement judgement = judged(own_subject(
        counting, {op, Format::f32, kernel_tests::promised_words(symbol, "f32"), "n<=300 rows<=40 noignored"}));
    EXPECT_EQ(judgement.verdict, ReportVerdict::pass) << symbol << ' ' << judgement.failed_property;
    EXPECT_EQ(judgement.refused, 0u) << symbol;
    EXPECT_GT(judgement.calls, 100u) << symbol;
  }
}

}  // namespace
}  // namespace softcheck::proptests
