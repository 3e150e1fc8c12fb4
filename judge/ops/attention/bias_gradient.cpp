#include "judge/ops/attention/bias_gradient.hpp"

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

ValueFinding bias_zero_is_due(std::optional<std::size_t> item, double got) {
  ValueFinding finding;
  finding.claim = "kernel.masked_row";
  finding.by_identity = true;
  finding.due = "0";
  finding.decision = item ? Decision::violated : Decision::proved;
  finding.item = item;
  finding.got = got;
  return finding;
}

}  // namespace

BiasGradient::BiasGradient(const AttentionTask& task, std::vector<GradientGroup> heads, BiasSharing sharing)
    : task_(task), sharing_(sharing) {
  const PrecisionScope precision(113);
  for (GradientGroup& group : heads) heads_.emplace_back(task_, std::move(group));
}

// Calls each(head, query) for the queries that use row i of the bias.
template <class Each>
void BiasGradient::each_query(std::size_t i, Each each) const {
  for (std::size_t h = 0; h < heads_.size(); ++h) {
    const std::size_t last = sharing_.queries ? heads_[h].pairs.size() : i + 1;
    for (std::size_t q = sharing_.queries ? 0 : i; q < last; ++q) each(h, q);
  }
}

// Calls each(head, query, pair) for the pairs that use number j of row i.
template <class Each>
void BiasGradient::each_pair(std::size_t i, std::size_t j, Each each) const {
  each_query(i, [&](std::size_t h, std::size_t q) {
    const QueryPairs& pairs = heads_[h].pairs[q];
    if (sharing_.keys) {
      for (std::size_t pair = 0; pair < pairs.keys().size(); ++pair) each(h, q, pair);
    } else if (const std::optional<std::size_t> pair = pairs.pair_of(j)) {
      each(h, q, *pair);
    }
  });
}

BiasGradient::Number BiasGradient::number(std::size_t i, std::size_t j) const {
  Number result;
  ProductSum sum;
  double size = 0;
  bool overflow = false;
  std::vector<BackwardPairError> errors;
  each_pair(i, j, [&](std::size_t h, std::size_t q, std::size_t pair) {
    const QueryPairs& pairs = heads_[h].pairs[q];
    result.known = result.known && heads_[h].pairs.is_chosen(q);
    result.usable = result.usable && pairs.usable();
    if (!result.known || !result.usable) return;
    sum.add(pairs.bias_gradient(pair));
    size += pairs.size(pair);
    errors.push_back(pairs.bias_error(pair));
    overflow = overflow || pairs.may_overflow();
  });
  result.zero = result.known && result.usable && errors.empty();
  if (!result.known || !result.usable || result.zero) return result;
  const LongApproximation exact = sum.total();
  // As many terms as pairs that may use the number; masks remove some.
  std::uint64_t terms = 0;
  each_query(i, [&](std::size_t h, std::size_t) { terms += sharing_.keys ? heads_[h].group.keys : 1; });
  const ScalarThreshold<UpperBound> threshold =
      sink_gradient_error(task_.contract, errors, summation_height(task_.contract, terms), size_of(exact));
  result.value = {exact, upper(threshold.total()), size, 0, is_vacuous(upper(threshold.rounding), size)};
  result.value.limits.may_overflow = overflow;
  return result;
}

RowVerdicts BiasGradient::judge(std::size_t i, std::span<const double> got) {
  const PrecisionScope precision(113);
  RowVerdicts verdicts;
  bool unbounded = false;
  each_query(i, [&](std::size_t h, std::size_t q) {
    const QueryPairs& pairs = heads_[h].pairs[q];
    unbounded = unbounded || (!pairs.keys().empty() && (!pairs.usable() || pairs.unbounded()));
  });
  verdicts.vacuity.add_row(unbounded);
  ClaimVerdict verdict(
      task_.op->claims.back(), task_.contract,
      [this, i](std::optional<std::size_t> j) { return enclosed(i, j.value_or(0)); }, verdicts);
  std::optional<std::size_t> not_zero;
  bool any = false, any_other = false;
  for (std::size_t j = 0; j < got.size(); ++j) {
    const Number value = number(i, j);
    if (!value.usable) {  // the scores' errors are too large
      ++verdicts.vacuity.judged;
      ++verdicts.vacuity.vacuous;
    } else if (value.zero) {
      if (got[j] != 0 && !not_zero) not_zero = j;
    } else if (value.known) {
      verdict.add(j, value.value, got[j]);
      any = true;
    }
    any_other = any_other || !value.zero;
  }
  if (any) verdict.report();
  if (not_zero || !any_other) verdicts.findings.push_back(bias_zero_is_due(not_zero, not_zero ? got[*not_zero] : 0));
  return verdicts;
}

Enclosure BiasGradient::enclosed(std::size_t i, std::size_t j) {
  Enclosure sum;
  each_pair(i, j, [&](std::size_t h, std::size_t q, std::size_t pair) {
    sum += heads_[h].oracles.of(q).bias_gradients[pair];
  });
  return sum;
}

void BiasGradient::exact(std::size_t i, std::span<double> lower, std::span<double> upper) {
  const PrecisionScope precision(113);
  for (std::size_t j = 0; j < lower.size(); ++j) {
    lower[j] = upper[j] = nan;
    bool known = true;
    each_pair(i, j, [&](std::size_t h, std::size_t q, std::size_t) { known = known && heads_[h].pairs.is_chosen(q); });
    if (!known) continue;
    const Enclosure exact = refined(enclosed(i, j), [&] { return enclosed(i, j); });
    lower[j] = exact.lower_double();
    upper[j] = exact.upper_double();
  }
}

void BiasGradient::granted(std::size_t i, std::span<double> allowed) const {
  const PrecisionScope precision(113);
  for (std::size_t j = 0; j < allowed.size(); ++j) {
    const Number value = number(i, j);
    allowed[j] = !value.known    ? nan
                 : !value.usable ? infinity
                 : value.zero    ? 0
                                 : proptests::granted(task_.contract, value.value);
  }
}

void judge_bias_gradient(const AttentionTask& task, const AttentionCase& a, std::span<const double> got,
                         const std::function<bool(std::size_t, std::size_t, std::size_t)>& chosen,
                         const std::function<void(std::size_t, std::size_t, std::size_t, RowVerdicts)>& each) {
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
      std::optional<BiasGradient> gradient;
      for (std::size_t i = 0; i < s.queries; ++i) {
        if (!is_chosen(i)) continue;
        if (!gradient) {
          std::vector<GradientGroup> heads;
          for (std::size_t of = h * sharing; of < (h + 1) * sharing; ++of)
            heads.push_back(head_queries(a, b, of, of_batch));
          gradient.emplace(task, std::move(heads));
        }
        each(b, h, i, gradient->judge(i, got.subspan(a.bias_row(b, h * sharing, i), s.keys)));
      }
    }
  }
}

}  // namespace softcheck::proptests
