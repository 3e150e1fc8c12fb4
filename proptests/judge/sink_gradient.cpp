#include "proptests/judge/sink_gradient.hpp"

#include <cmath>
#include <deque>
#include <vector>

#include "numerics/special_values.hpp"
#include "proptests/judge/claim_verdict.hpp"
#include "proptests/judge/group_oracles.hpp"
#include "proptests/judge/group_pairs.hpp"
#include "proptests/judge/softmax_bounds.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

// The queries of one head in one batch.
struct HeadOfBatch {
  HeadOfBatch(const AttentionTask& task, GradientGroup of)
      : group(std::move(of)), pairs(task, group), oracles(group, pairs.all()) {}

  GradientGroup group;
  GroupPairs pairs;
  GroupOracles oracles;
};

class SinkJudge {
 public:
  SinkJudge(const AttentionTask& task, const AttentionCase& attention, std::size_t h) : task_(task) {
    task_.contract.output = task.scalars;
    for (std::size_t b = 0; b < attention.shape.batch; ++b) {
      batches_.emplace_back(task, head_queries(attention, b, h));
      queries_ += batches_.back().pairs.size();
    }
  }

  RowVerdicts judge(double got) {
    RowVerdicts verdicts;
    ProductSum sum;
    double size = 0;
    bool unbounded = false, usable = true;
    std::vector<BackwardPairError> errors;
    each_seeing([&](HeadOfBatch& head, std::size_t i) {
      const QueryPairs& pairs = head.pairs[i];
      usable = usable && pairs.usable();
      if (!pairs.usable()) return;
      unbounded = unbounded || pairs.unbounded();
      sum.add(pairs.sink_gradient(), 1);
      size += pairs.sink_size();
      errors.push_back(pairs.sink_error());
    });
    if (usable && errors.empty()) return must_be_zero(got);
    verdicts.vacuity.add_row(!usable || unbounded);
    if (!usable) {  // the scores' own errors are that large
      ++verdicts.vacuity.judged;
      ++verdicts.vacuity.vacuous;
      return verdicts;
    }
    const LongApproximation exact = sum.total();
    const ScalarThreshold<UpperBound> threshold =
        sink_gradient_error(task_.contract, errors, summation_height(task_.contract, queries_), size_of(exact));
    ClaimVerdict verdict(
        task_.op->claims[3], task_.contract, [this](std::optional<std::size_t>) { return enclosed(); }, verdicts);
    verdict.add(std::nullopt, {exact, upper(threshold.total()), size, 0, is_vacuous(upper(threshold.rounding), size)},
                got);
    verdict.report();
    return verdicts;
  }

 private:
  // A query that sees no key has output 0: delta is 0, whatever its sink weighs.
  template <class Each>
  void each_seeing(Each each) {
    for (HeadOfBatch& head : batches_) {
      for (std::size_t i = 0; i < head.pairs.size(); ++i) {
        if (!head.pairs[i].keys().empty()) each(head, i);
      }
    }
  }

  Enclosure enclosed() {
    Enclosure sum;
    each_seeing([&](HeadOfBatch& head, std::size_t i) { sum += head.oracles.of(i).sink_gradient; });
    return sum;
  }

  static RowVerdicts must_be_zero(double got) {
    ValueFinding finding;
    finding.claim = "kernel.masked_row";
    finding.by_identity = true;
    finding.decision = got == 0 ? Decision::proved : Decision::violated;
    finding.got = got;
    RowVerdicts verdicts;
    verdicts.findings.push_back(std::move(finding));
    return verdicts;
  }

  AttentionTask task_;
  std::deque<HeadOfBatch> batches_;
  std::size_t queries_ = 0;
};

}  // namespace

std::optional<RowVerdicts> judge_sink_gradient(const AttentionTask& task, const AttentionCase& attention, std::size_t h,
                                               double got,
                                               const std::function<bool(std::size_t, std::size_t)>& chosen) {
  for (std::size_t b = 0; b < attention.shape.batch; ++b) {
    for (std::size_t i = 0; chosen && i < attention.queries_of(b); ++i) {
      if (!chosen(b, i)) return std::nullopt;
    }
  }
  const PrecisionScope precision(113);
  return SinkJudge(task, attention, h).judge(got);
}

}  // namespace softcheck::proptests
