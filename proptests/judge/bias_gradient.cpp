#include "proptests/judge/bias_gradient.hpp"

#include <deque>
#include <optional>
#include <utility>
#include <vector>

#include "numerics/special_values.hpp"
#include "proptests/judge/claim_verdict.hpp"
#include "proptests/judge/group_oracles.hpp"
#include "proptests/judge/group_pairs.hpp"
#include "proptests/judge/softmax_bounds.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// The queries of one head.
struct BiasedHead {
  BiasedHead(const AttentionTask& task, GradientGroup of)
      : group(std::move(of)), pairs(task, group), oracles(group, pairs.all()) {}

  GradientGroup group;
  GroupPairs pairs;
  GroupOracles oracles;
};

// One head of the bias in one batch, and the heads that share it.
class BiasJudge {
 public:
  BiasJudge(const AttentionTask& task, const AttentionCase& attention, std::size_t b, std::size_t first,
            std::size_t count, const std::function<bool(std::size_t, std::size_t)>& chosen)
      : task_(task), keys_(attention.shape.keys) {
    for (std::size_t h = first; h < first + count; ++h)
      heads_.emplace_back(task, head_queries(attention, b, h, chosen));
  }

  RowVerdicts judge(std::size_t i, std::span<const double> got) {
    RowVerdicts verdicts;
    bool usable = true, unbounded = false;
    for (const BiasedHead& head : heads_) {
      const QueryPairs& pairs = head.pairs[i];
      if (pairs.keys().empty()) continue;
      usable = usable && pairs.usable();
      unbounded = unbounded || !usable || pairs.unbounded();
    }
    verdicts.vacuity.add_row(unbounded);
    if (!usable) {  // the scores' own errors are that large
      verdicts.vacuity.judged += keys_;
      verdicts.vacuity.vacuous += keys_;
      return verdicts;
    }
    ClaimVerdict verdict(
        task_.op->claims.back(), task_.contract,
        [this, i](std::optional<std::size_t> j) { return enclosed(i, j.value_or(0)); }, verdicts);
    std::optional<std::size_t> not_zero;
    bool any = false;
    for (std::size_t j = 0; j < keys_; ++j) {
      const std::optional<Judgeable> value = value_of(i, j);
      if (value) {
        verdict.add(j, *value, got[j]);
        any = true;
      } else if (got[j] != 0 && !not_zero) {
        not_zero = j;
      }
    }
    if (any) verdict.report();
    if (not_zero || !any) verdicts.findings.push_back(zero_is_due(not_zero, not_zero ? got[*not_zero] : 0));
    return verdicts;
  }

 private:
  // Nothing where no head's query sees the key.
  std::optional<Judgeable> value_of(std::size_t i, std::size_t j) const {
    ProductSum sum;
    double size = 0;
    std::vector<BackwardPairError> errors;
    for (const BiasedHead& head : heads_) {
      const QueryPairs& pairs = head.pairs[i];
      const std::optional<std::size_t> pair = pairs.pair_of(j);
      if (!pair) continue;
      sum.add(pairs.bias_gradient(*pair), 1);
      size += pairs.size(*pair);
      errors.push_back(pairs.bias_error(*pair));
    }
    if (errors.empty()) return std::nullopt;
    const LongApproximation exact = sum.total();
    const std::uint64_t height = summation_height(task_.contract, heads_.size());
    const ScalarThreshold<UpperBound> threshold = sink_gradient_error(task_.contract, errors, height, size_of(exact));
    return Judgeable{exact, upper(threshold.total()), size, 0, is_vacuous(upper(threshold.rounding), size)};
  }

  Enclosure enclosed(std::size_t i, std::size_t j) {
    Enclosure sum;
    for (BiasedHead& head : heads_) {
      if (const auto pair = head.pairs[i].pair_of(j)) sum += head.oracles.of(i).bias_gradients[*pair];
    }
    return sum;
  }

  static ValueFinding zero_is_due(std::optional<std::size_t> item, double got) {
    ValueFinding finding;
    finding.claim = "kernel.masked_row";
    finding.by_identity = true;
    finding.decision = item ? Decision::violated : Decision::proved;
    finding.item = item;
    finding.got = got;
    return finding;
  }

  const AttentionTask& task_;
  std::size_t keys_;
  std::deque<BiasedHead> heads_;
};

}  // namespace

void judge_bias_gradient(const AttentionTask& task, const AttentionCase& a, std::span<const double> got,
                         const std::function<bool(std::size_t, std::size_t, std::size_t)>& chosen,
                         const std::function<void(std::size_t, std::size_t, std::size_t, RowVerdicts)>& each) {
  const PrecisionScope precision(113);
  const AttentionShape& s = a.shape;
  const std::size_t sharing = a.attributes.bias_for_each_head ? 1 : s.heads();
  for (std::size_t b = 0; b < s.batch; ++b) {
    for (std::size_t h = 0; h < a.bias_heads(); ++h) {
      const auto is_chosen = [&](std::size_t i) {
        for (std::size_t of = h * sharing; chosen && of < (h + 1) * sharing; ++of) {
          if (!chosen(b, of, i)) return false;
        }
        return true;
      };
      std::function<bool(std::size_t, std::size_t)> of_batch;
      if (chosen) of_batch = [&, b](std::size_t of, std::size_t i) { return chosen(b, of, i); };
      std::optional<BiasJudge> judge;
      for (std::size_t i = 0; i < s.queries; ++i) {
        if (!is_chosen(i)) continue;
        if (!judge) judge.emplace(task, a, b, h * sharing, sharing, of_batch);
        each(b, h, i, judge->judge(i, got.subspan(a.bias_row(b, h * sharing, i), s.keys)));
      }
    }
  }
}

}  // namespace softcheck::proptests
