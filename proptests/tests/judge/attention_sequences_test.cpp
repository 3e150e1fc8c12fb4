// Packed sequences and pages: which number of a case stands where in a call, what lies in slots of no key, which
// lengths are drawn, and cases of theirs as text.
#include "proptests/generators/attention/attention_sequences.hpp"

#include "judge/call/sequence_layout.hpp"
#include "judge/trial/attention_trial.hpp"
#include "proptests/generators/attention/attention_known.hpp"
#include "proptests/tests/judge/attention_samples.hpp"
#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

AttentionOptions options_of(const std::string& words, bool blind) {
  AttentionOptions options = small_attention(70, std::size_t{1} << 14, words.c_str());
  options.blind_queries = blind;
  options.layouts = true;
  return options;
}

std::vector<AttentionCase> sequence_cases(const std::string& words, int count, bool blind = true) {
  return drawn_attention(options_of(words, blind), count, 5, 100);
}

const std::vector<std::string> all_words{"packed", "pages", "packed pages"};

AttentionCase by_hand() {
  AttentionCase a = packed_by_hand();
  a.outputs = 2;
  return a;
}

const InputTensor& input_of(const TensorCall& call, Role role) {
  const auto found = std::ranges::find(call.roles, role);
  if (found == call.roles.end()) throw std::logic_error("no such input");
  return call.inputs[static_cast<std::size_t>(found - call.roles.begin())];
}

TEST(AttentionSequences, APackedCallHoldsOneSequenceBehindTheOther) {
  const TensorCall call = attention_call(by_hand(), Format::f32);
  EXPECT_EQ(call.roles, (std::vector<Role>{Role::query, Role::key, Role::value, Role::cu_q, Role::cu_k}));
  EXPECT_EQ(call.inputs[0].place.shape, (Shape{3, 2, 1}));
  EXPECT_EQ(call.inputs[0].values, (std::vector<double>{1, 3, 5, 7, 6, 8}));
  EXPECT_EQ(call.inputs[1].place.shape, (Shape{3, 1, 1}));
  EXPECT_EQ(call.inputs[1].values, (std::vector<double>{10, 11, 12}));
  EXPECT_EQ(call.inputs[2].values, (std::vector<double>{20, 21, 22}));
  EXPECT_EQ(call.inputs[3].values, (std::vector<double>{0, 1, 3}));
  EXPECT_EQ(call.inputs[4].values, (std::vector<double>{0, 3, 3}));
  EXPECT_EQ(call.inputs[3].place.integer_bits, 32);
  EXPECT_EQ(call.outputs[0].place.shape, (Shape{3, 2, 1}));
  EXPECT_EQ(call.outputs[1].place.shape, (Shape{2, 3}));
}

TEST(AttentionSequences, ResultsComeBackToTheirQueries) {
  const AttentionCase a = by_hand();
  // out (total, heads, 1), lse (heads, total)
  const auto dense = SequenceLayout(a).dense({{1, 3, 5, 7, 6, 8}, {1, 5, 6, 3, 7, 8}});
  const std::vector<double> wanted{1, 0, 3, 0, 5, 6, 7, 8};  // where a sequence has no second query, 0
  EXPECT_EQ(dense[0], wanted);
  EXPECT_EQ(dense[1], wanted);
}

TEST(AttentionSequences, PagesHoldEveryKeyWhereTheTableSays) {
  for (const std::string words : {"pages", "packed pages"}) {
    for (const AttentionCase& a : sequence_cases(words, 60)) {
      const AttentionShape& s = a.shape;
      const TensorCall call = SequenceLayout(a).call(Format::f32);
      const InputTensor &keys = input_of(call, Role::key), &table = input_of(call, Role::block_table);
      const std::size_t columns = static_cast<std::size_t>(table.place.shape[1]), size = a.sequences.page_size;
      ASSERT_EQ(call.attributes.page_size, static_cast<std::int64_t>(size));
      ASSERT_EQ(keys.place.shape[1], static_cast<std::int64_t>(size));
      std::set<std::size_t> held;  // rows of the cache that some sequence has
      for (std::size_t b = 0; b < s.batch; ++b) {
        ASSERT_EQ(input_of(call, Role::lengths).values[b], static_cast<double>(a.sequences.keys[b]));
        for (std::size_t j = 0; j < a.sequences.keys[b]; ++j) {
          const auto page = static_cast<std::size_t>(table.values[b * columns + j / size]);
          for (std::size_t kv = 0; kv < s.kv_heads; ++kv) {
            const std::size_t row = (page * size + j % size) * s.kv_heads + kv;
            EXPECT_TRUE(held.insert(row).second);
            for (std::size_t t = 0; t < s.dim; ++t) {
              ASSERT_EQ(keys.values[row * s.dim + t], a.keys[((b * s.kv_heads + kv) * s.keys + j) * s.dim + t]);
            }
          }
        }
        // Behind the last page the table names one that is no sequence's, and at least once but in every fourth order.
        const std::size_t pages = (a.sequences.keys[b] + size - 1) / size;
        ASSERT_LE(pages + (a.sequences.order % 4 == 3 ? 0 : 1), columns);
        for (std::size_t c = pages; c < columns; ++c) {
          const auto first = static_cast<std::size_t>(table.values[b * columns + c]) * size * s.kv_heads * s.dim;
          EXPECT_TRUE(std::isnan(keys.values[first]));
        }
      }
      for (std::size_t row = 0; row < keys.values.size() / s.dim; ++row) {
        EXPECT_TRUE(held.contains(row) || std::isnan(keys.values[row * s.dim]));
      }
    }
  }
}

TEST(AttentionSequences, PagesAreShuffledAndSlotsOfNoKeyMayBeFinite) {
  std::size_t shuffled = 0, cases = 0;
  for (const AttentionCase& a : sequence_cases("pages finite", 80)) {
    const TensorCall call = SequenceLayout(a).call(Format::f32);
    for (const double x : input_of(call, Role::value).values) ASSERT_TRUE(std::isfinite(x));
    const std::vector<double>& table = input_of(call, Role::block_table).values;
    ++cases;
    shuffled += std::ranges::is_sorted(table) ? 0 : 1;
  }
  EXPECT_GT(shuffled, cases / 2);
}

// The judge's question about a query is that of the dense call that its sequence is.
TEST(AttentionSequences, AQuerySeesTheKeysOfItsSequenceAlone) {
  for (const std::string& words : all_words) {
    for (const AttentionCase& a : sequence_cases(words + " window causal=either", 60)) {
      each_row(a.shape, [&](std::size_t b, std::size_t h, std::size_t i) {
        if (i >= a.queries_of(b)) return;
        AttentionCase own;
        own.shape = {1, 1, 1, a.queries_of(b), a.keys_of(b), 1, 1};
        own.causal = a.causal;
        own.attributes = a.attributes;
        for (std::size_t j = 0; j < a.shape.keys; ++j) {
          EXPECT_EQ(a.sees(b, h, i, j), j < a.keys_of(b) && own.sees(0, 0, i, j));
        }
      });
    }
  }
}

TEST(AttentionSequences, LengthsAreDrawnWithTheirEdges) {
  std::size_t no_queries = 0, no_keys = 0, one = 0, more_queries = 0, below = 0, whole_page = 0, above = 0;
  for (const AttentionCase& a : sequence_cases("packed pages", 300)) {
    const std::size_t page = a.sequences.page_size;
    for (std::size_t b = 0; b < a.shape.batch; ++b) {
      const std::size_t queries = a.queries_of(b), keys = a.keys_of(b);
      no_queries += queries == 0 ? 1 : 0;
      no_keys += keys == 0 ? 1 : 0;
      one += queries == 1 && keys == 1 ? 1 : 0;
      more_queries += queries > keys && a.causal ? 1 : 0;
      if (page < 3) continue;
      below += keys % page == page - 1 ? 1 : 0;
      whole_page += keys > 0 && keys % page == 0 ? 1 : 0;
      above += keys > page && keys % page == 1 ? 1 : 0;
    }
  }
  for (const std::size_t count : {no_queries, no_keys, one, more_queries, below, whole_page, above}) {
    EXPECT_GT(count, 20u);
  }
}

TEST(AttentionSequences, PagesHaveTheSizesThatKernelsHave) {
  std::set<std::size_t> sizes;
  for (const AttentionCase& a : sequence_cases("pages", 400)) sizes.insert(a.sequences.page_size);
  EXPECT_EQ(sizes, (std::set<std::size_t>{1, 2, 3, 4, 8, 16, 32, 64, 128, 256}));
}

TEST(AttentionSequences, NoQueryIsBlindUnlessItMayBe) {
  for (const std::string& words : all_words) {
    std::size_t uneven = 0;
    for (const AttentionCase& a : sequence_cases(words, 200, false)) {
      ASSERT_TRUE(admits(options_of(words, false), a)) << to_text(a);
      uneven += std::ranges::count(a.sequences.keys, a.shape.keys) < static_cast<long>(a.shape.batch) ? 1 : 0;
    }
    EXPECT_GT(uneven, 50u);
  }
}

TEST(AttentionSequences, CasesAreTextAndBack) {
  for (const std::string& words : all_words) {
    for (const AttentionCase& a : sequence_cases(words + " sinks alibi", 100)) {
      const AttentionCase read = read_back(a);
      EXPECT_EQ(to_text(read), to_text(a));
      EXPECT_EQ(head_text(read.sequences), head_text(a.sequences));
    }
  }
  AttentionCase unused;
  const std::string head = "attention f32 batch=1 kv=1 group=1 queries=1 keys=1 dim=1 values=1 scale=0x1p+0 causal=0 ";
  const std::string numbers = " q 0x0p+0 k 0x0p+0 v 0x0p+0";
  for (const std::string wrong : {"packed", "packed lengths=1:2", "packed lengths=1:1,1:1", "pages=4 lengths=0:1",
                                  "lengths=1:1", "packed lengths=1", "pages=0 lengths=1:1"}) {
    EXPECT_THROW(from_text(head + "outputs=1 layout=0 mask=none " + wrong + numbers, unused), std::invalid_argument)
        << wrong;
  }
  EXPECT_NO_THROW(from_text(head + "outputs=1 layout=0 mask=none packed lengths=1:1" + numbers, unused));
}

TEST(AttentionSequences, EveryShrunkCaseIsACaseAndAnEmptySequenceGoes) {
  for (const std::string& words : all_words) {
    const AttentionOptions options = options_of(words, true);
    AttentionCase a = sequence_cases(words, 40).back();
    const auto fails = [&](const AttentionCase& one) { return one.shape.keys >= 2 && one.keys_of(0) >= 2; };
    if (!fails(a)) a.sequences.keys[0] = a.shape.keys = std::max<std::size_t>(a.shape.keys, 2);
    if (!sizes_agree(a)) continue;
    for (bool smaller = true; smaller;) {
      smaller = false;
      auto shrinks = shrink_attention_case(a, options);
      while (const auto next = shrinks.next()) {
        ASSERT_TRUE(sequences_agree(*next) && sizes_agree(*next));
        if (!fails(*next)) continue;
        a = *next;
        smaller = true;
        break;
      }
    }
    EXPECT_EQ(a.shape.batch, 1u);
    EXPECT_EQ(a.keys_of(0), 2u);
    EXPECT_EQ(a.shape.keys, 2u);
    EXPECT_EQ(a.sequences.order, 0u);
    EXPECT_LE(a.sequences.page_size, 1u);
  }
}

// Each step costs a call of all sequences, so most of them must be empty after a few steps.
TEST(AttentionSequences, ACallOfManySequencesShrinksInParts) {
  AttentionOptions options;
  options.format = Format::f32;
  options.domain = parse_domain("packed", true);
  options.blind_queries = true;
  AttentionCase a = long_cases(options, true).back();
  constexpr std::size_t last = 1024;
  ASSERT_GT(a.shape.batch, last);
  const auto fails = [&](const AttentionCase& one) { return one.shape.batch > last && one.keys_of(last) > 1; };
  ASSERT_TRUE(fails(a));
  std::size_t tried = 0;
  const auto filled = [&] { return std::ranges::count_if(a.sequences.keys, [](std::size_t n) { return n > 0; }); };
  for (bool smaller = true; smaller && filled() > 1;) {
    smaller = false;
    auto shrinks = shrink_attention_case(a, options);
    for (auto next = shrinks.next(); next && !smaller; next = shrinks.next()) {
      ++tried;
      if (!fails(*next)) continue;
      a = *next;
      smaller = true;
    }
  }
  EXPECT_EQ(filled(), 1);
  EXPECT_LE(tried, 300u);
}

TEST(AttentionSequences, TheDomainsWordsReadBackAndHaveNoMask) {
  for (const std::string& words : all_words) {
    const Domain domain = parse_domain(words + " page=16 window", true);
    EXPECT_EQ(parse_domain(to_string(domain), true), domain);
    EXPECT_TRUE(domain.has_sequences() && domain.no_mask);
    CallTraits dense;
    EXPECT_FALSE(domain.admits(dense));
  }
  EXPECT_FALSE(parse_domain("window", true).has_sequences());
  EXPECT_THROW(parse_domain("packed bias", true), std::invalid_argument);
  EXPECT_THROW(parse_domain("packed", false), std::invalid_argument);
  EXPECT_THROW(domain_of("packed", Op::adaptive_attention), std::invalid_argument);
  EXPECT_THROW(domain_of("pages", Op::attention_backward), std::invalid_argument);
  EXPECT_NO_THROW(domain_of("packed pages window", Op::attention));
}

TEST(AttentionSequences, WithoutTheirWordsNoneIsDrawn) {
  for (const AttentionCase& a : sequence_cases("", 60)) {
    EXPECT_FALSE(a.sequences.any());
    EXPECT_FALSE(a.needs_version_2());
  }
}

// Of three queries of two heads the first sequence's one has its numbers.
TEST(AttentionSequences, AllNumbersOfOtherSequencesAreNan) {
  const Shared shared;
  const auto counting = [&](const softcheck_call* call) {
    const DLTensor& query = *call->inputs[0];
    const float* numbers = numbers_of(query);
    for (std::int64_t i = 0; i < query.shape[0] * query.shape[1]; ++i) ++shared[std::isnan(numbers[i]) ? 1 : 0];
    return 0;
  };
  const KernelSubject subject = own_subject(counting, {.op = Op::attention, .domain = "packed"});
  AttentionTrial(subject, limits_of()).other_sequences(by_hand());
  EXPECT_EQ(shared[0], 2);
  EXPECT_EQ(shared[1], 4);
}

// Where no sequence has a query the sinks' gradients are 0, and NaN beyond the sequences says nothing about them.
TEST(AttentionSequences, SinkGradientsOfNoQueriesAreJudged) {
  const KernelSubject subject = zoo_subject("attention_packed_backward_correct",
                                            {Op::attention_backward, Format::f64, "masked=zero", "packed dsinks"});
  const KernelJudgement judgement = replay_kernel(
      subject, "Kernel.AnotherSequenceIsNotThere",
      "attention f64 batch=2 kv=1 group=1 queries=1 keys=1 dim=1 values=1 scale=1 causal=0 outputs=2 layout=0 "
      "mask=none sinks packed lengths=0:0,0:0 q 0*2 k 0*2 v 0*2 sinks -0.5 dout 0*2",
      quick_options());
  EXPECT_EQ(judgement.verdict, ReportVerdict::pass);
}

TEST(AttentionSequences, AFailureNamesItsSequence) {
  const AttentionCase a = by_hand();
  EXPECT_EQ(place_of(a, row_number(a.shape, 1, 1, 0)), " at sequence=1 head=1 query=0");
  EXPECT_THAT(describe_call(a, "").text(), HasSubstr("packed lengths=1:3,2:0"));
}

}  // namespace
}  // namespace softcheck::proptests
