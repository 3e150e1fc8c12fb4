#pragma once

#include "judge/call/attention_call.hpp"
#include "judge/ops/attention/attention_op.hpp"
#include "judge/ops/attention/attention_rows.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/tests/judge/row_samples.hpp"

// Cases of attention that tests judge without a kernel.
namespace softcheck::proptests {

inline constexpr numerics::Format wide_formats[] = {numerics::Format::f64, numerics::Format::f32, numerics::Format::f16,
                                                    numerics::Format::bf16};

/// Every attribute of attention but the gradients'.
inline constexpr const char* all_attributes = "window softcap sinks alibi bias causal=either";
/// Those of the forward pass.
inline constexpr const char* forward_attributes = "window softcap sinks alibi bias dropout causal=either";

/// Cases of up to so many keys and so much work, with the attributes of the words; none: with no attributes.
inline AttentionOptions small_attention(std::size_t keys, std::size_t work = AttentionOptions().max_work,
                                        const char* words = nullptr) {
  AttentionOptions options;
  options.max_keys = options.long_keys = keys;
  options.max_work = work;
  options.attributes = words != nullptr;
  if (words != nullptr) options.domain = parse_domain(words, true);
  return options;
}

inline std::vector<AttentionCase> drawn_attention(const AttentionOptions& options, int count, std::uint64_t seed,
                                                  int sizes = 0) {
  return drawn(attention_cases(options), count, seed, sizes);
}

/// Cases of which no tensor is empty; all are of size 100.
inline std::vector<AttentionCase> whole_cases(const AttentionOptions& options, std::size_t count, std::uint64_t seed) {
  const auto generator = attention_cases(options);
  rc::Random random(seed);
  std::vector<AttentionCase> cases;
  while (cases.size() < count) {
    AttentionCase one = generator(random.split(), 100).value();
    const AttentionShape& s = one.shape;
    if (s.batch * s.kv_heads * s.group * s.queries * s.keys * s.dim * s.value_dim != 0) cases.push_back(std::move(one));
  }
  return cases;
}

/// The case that its text reads back as.
inline AttentionCase read_back(const AttentionCase& a) {
  AttentionCase read;
  from_text(to_text(a), read);
  return read;
}

inline AttentionTask attention_task(Op op, numerics::Format format = numerics::Format::f32,
                                    const std::string& words = "masked=zero") {
  return {op, numerics::parse_contract(words, format, format), wide_format(format)};
}
inline AttentionTask gradient_task(numerics::Format format = numerics::Format::f32,
                                   const std::string& words = "masked=zero") {
  return attention_task(Op::attention_backward, format, words);
}
/// The call of the gradient that a case is.
inline TensorCall gradient_call(const AttentionCase& a, numerics::Format format = numerics::Format::f32) {
  return Op::attention_backward.attention_op().call(gradient_task(format), a);
}

/// What is found of all results of a case, in order.
inline std::vector<ValueFinding> all_findings(const AttentionTask& task, const AttentionCase& a,
                                              const AttentionOp::Outputs& got) {
  std::vector<ValueFinding> all;
  task.op.attention_op().judge(task, a, got, {}, [&](std::size_t, const RowVerdicts& verdicts) {
    all.insert(all.end(), verdicts.findings.begin(), verdicts.findings.end());
  });
  return all;
}

/// The claim of every one of them that does not hold.
inline std::vector<std::string> broken_claims(const AttentionTask& task, const AttentionCase& a,
                                              const AttentionOp::Outputs& got) {
  std::vector<std::string> broken;
  for (const ValueFinding& finding : all_findings(task, a, got)) {
    if (finding.decision != Decision::proved) broken.emplace_back(finding.claim);
  }
  return broken;
}

/// The keys that a row sees, by their numbers.
inline std::vector<std::size_t> visible_items(const AttentionRow& row) {
  std::vector<std::size_t> items;
  for (std::size_t j = 0; j < row.visible.size(); ++j) {
    if (row.visible[j] != 0) items.push_back(j);
  }
  return items;
}

/// Two packed sequences of 1 and 2 queries, 3 and 0 keys; two query heads over one key head; numbers tell where they
/// stand.
inline AttentionCase packed_by_hand() {
  AttentionCase a;
  a.shape = {2, 1, 2, 2, 3, 1, 1};
  a.queries = {1, 2, 3, 4, 5, 6, 7, 8};  // (batch, heads, queries)
  a.keys = {10, 11, 12, 13, 14, 15};
  a.values = {20, 21, 22, 23, 24, 25};
  a.sequences.packed = true;
  a.sequences.queries = {1, 2};
  a.sequences.keys = {3, 0};
  return a;
}

}  // namespace softcheck::proptests
