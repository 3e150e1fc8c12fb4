#include "proptests/judge/attention_gradient.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "numerics/attention_gradient_oracle.hpp"
#include "numerics/rounding_score_terms.hpp"
#include "numerics/special_values.hpp"
#include "proptests/judge/claim_verdict.hpp"
#include "proptests/judge/query_gradient.hpp"
#include "proptests/judge/softmax_bounds.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

enum class Part : std::size_t { queries, keys, values };  // dq, dk, dv: the order of outputs and claims

// The exact p and dS of a group's queries by enclosures, at each working precision made when first asked for.
class GroupOracles {
 public:
  GroupOracles(const GradientGroup& group, const std::vector<std::shared_ptr<const QueryPairs>>& pairs)
      : group_(group), pairs_(pairs) {}

  const QueryGradient& of(std::size_t query) {
    std::unique_ptr<QueryGradient>& made = made_[{working_precision(), query}];
    if (!made) made = std::make_unique<QueryGradient>(make(query));
    return *made;
  }

 private:
  QueryGradient make(std::size_t query) const {
    const AttentionRow& row = group_.rows[query];
    std::vector<double> keys, values, distances, bias;  // the visible ones: others may be NaN
    for (const std::size_t j : pairs_[query]->keys()) {
      const auto take = [j](std::vector<double>& to, std::span<const double> from, std::size_t size) {
        const std::span<const double> taken = from.subspan(j * size, size);
        to.insert(to.end(), taken.begin(), taken.end());
      };
      take(keys, row.keys, row.query.size());
      take(values, row.values, row.value_size);
      if (row.slope != 0) take(distances, row.distances, 1);
      if (!row.bias.empty()) take(bias, row.bias, 1);
    }
    const AttentionInputs inputs{.query = row.query,
                                 .keys = keys,
                                 .values = values,
                                 .value_size = row.value_size,
                                 .scale = row.scale,
                                 .items = pairs_[query]->keys().size(),
                                 .softcap = row.softcap,
                                 .slope = row.slope,
                                 .distances = distances,
                                 .bias = bias,
                                 .sink = row.sink};
    return query_gradient(inputs, group_.out_gradients.subspan(query * row.value_size, row.value_size));
  }

  const GradientGroup& group_;
  const std::vector<std::shared_ptr<const QueryPairs>>& pairs_;
  std::map<std::pair<unsigned, std::size_t>, std::unique_ptr<QueryGradient>> made_;
};

UpperBound magnitude(double x) { return UpperBound(std::fabs(x)); }

LongApproximation scaled(const LongApproximation& x, double scale) {
  const long double value = static_cast<long double>(scale) * x.value;
  return {value, 1.01 * (std::fabs(scale) * x.error + 0x1p-63 * std::fabs(static_cast<double>(value))) + 0x1p-1040};
}

class GroupJudge {
 public:
  GroupJudge(const AttentionTask& task, const GradientGroup& group, const GradientValues& got)
      : task_(task), group_(group), got_(got), oracles_(group, pairs_) {
    if (group.rows.empty()) return;
    const AttentionRow& first = group.rows.front();
    arithmetic_.value_size = first.value_size;
    arithmetic_.scale = first.scale;
    arithmetic_.out_saved = task.contract.input;
    arithmetic_.lse_saved = task.scalars;
    const std::uint64_t summed = first.sink ? size_with_sink(task.contract, group.keys) : group.keys;
    arithmetic_.key_sum_height = summation_height(task.contract, summed);
    arithmetic_.query_sum_height = summation_height(task.contract, group.rows.size());
    for (std::size_t i = 0; i < group.rows.size(); ++i) add_pairs(i);
  }

  bool is_chosen(std::size_t query) const { return group_.chosen.empty() || group_.chosen[query]; }

  RowVerdicts of_query(std::size_t i) {
    const AttentionRow& row = group_.rows[i];
    const std::size_t d = row.query.size();
    const std::span<const double> got = got_.queries.subspan(i * d, d);
    RowVerdicts verdicts;
    if (pairs_[i]->keys().empty()) return must_be_zero({got});
    if (!promised(pairs_[i]->usable(), d, verdicts)) return verdicts;
    verdicts.vacuity.add_row(pairs_[i]->unbounded());
    const ScoreGradientSum threshold(task_.contract, arithmetic_, pairs_[i]->errors(), arithmetic_.key_sum_height);
    ClaimVerdict verdict = verdict_of(Part::queries, i, verdicts);
    std::vector<UpperBound> factors(pairs_[i]->keys().size());
    for (std::size_t t = 0; t < d; ++t) {
      ProductSum sum;
      double size = 0;
      for (std::size_t k = 0; k < factors.size(); ++k) {
        const double key = row.keys[pairs_[i]->keys()[k] * d + t];
        sum.add(pairs_[i]->score_gradient(k), key);
        size += std::fabs(key) * pairs_[i]->size(k);
        factors[k] = magnitude(key);
      }
      const LongApproximation exact = scaled(sum.total(), row.scale);
      verdict.add(t, judgeable(exact, threshold.error(factors, size_of(exact)), std::fabs(row.scale) * size), got[t]);
    }
    verdict.report();
    return verdicts;
  }

  // Nothing where a query that sees the key was not chosen.
  std::optional<RowVerdicts> of_key(std::size_t j) {
    const std::size_t d = got_.keys.size() / group_.keys, dv = got_.values.size() / group_.keys;
    std::vector<Seen> seen;
    bool usable = true, unbounded = false;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const std::optional<std::size_t> pair = pairs_[i]->pair_of(j);
      if (!pair) continue;
      if (!is_chosen(i)) return std::nullopt;
      usable = usable && pairs_[i]->usable();
      unbounded = unbounded || pairs_[i]->unbounded();
      seen.push_back({i, *pair});
    }
    const std::span<const double> dk = got_.keys.subspan(j * d, d), dv_got = got_.values.subspan(j * dv, dv);
    if (seen.empty()) return must_be_zero({dk, dv_got});
    RowVerdicts verdicts;
    if (!promised(usable, d + dv, verdicts)) return verdicts;
    verdicts.vacuity.add_row(unbounded);
    std::vector<BackwardPairError> errors;
    for (const Seen& one : seen) errors.push_back(pairs_[one.query]->errors()[one.pair]);
    judge_key(j, seen, errors, dk, verdicts);
    judge_value(j, seen, errors, dv_got, verdicts);
    return verdicts;
  }

 private:
  struct Seen {
    std::size_t query, pair;
  };

  // Queries that repeat another share its pairs: in long calls most of them do.
  void add_pairs(std::size_t i) {
    const AttentionRow& row = group_.rows[i];
    const std::size_t dv = arithmetic_.value_size;
    const auto gradient = group_.out_gradients.subspan(i * dv, dv);
    std::string question(is_chosen(i) ? "c" : "u");
    const auto append = [&](const auto& numbers) {
      question.append(reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0]));
    };
    append(row.query);
    append(gradient);
    append(row.visible);
    append(row.distances);
    append(row.bias);
    append(std::array{row.softcap, row.slope, row.sink.value_or(0)});
    std::shared_ptr<const QueryPairs>& known = known_[question];
    if (!known) known = std::make_shared<const QueryPairs>(pairs(i));
    pairs_.push_back(known);
  }

  QueryPairs pairs(std::size_t i) const {
    const std::size_t dv = arithmetic_.value_size;
    const auto gradient = group_.out_gradients.subspan(i * dv, dv);
    if (is_chosen(i)) return {task_, group_.rows[i], gradient, arithmetic_};
    // Of a query that is not judged only which keys it sees counts: its numbers may be NaN.
    AttentionRow even = group_.rows[i];
    const std::vector<double> keys(even.keys.size()), values(even.values.size()), query(even.query.size()), none(dv);
    even.query = query;
    even.keys = keys;
    even.values = values;
    return {task_, even, none, arithmetic_};
  }

  // False where the scores' own errors are that large: no contract promises anything.
  static bool promised(bool usable, std::size_t values, RowVerdicts& verdicts) {
    if (usable) return true;
    verdicts.vacuity.judged += values;
    verdicts.vacuity.vacuous += values;
    verdicts.vacuity.add_row(true);
    return false;
  }

  // The gradients of what takes no part.
  static RowVerdicts must_be_zero(std::initializer_list<std::span<const double>> parts) {
    RowVerdicts verdicts;
    ValueFinding finding;
    finding.claim = "kernel.masked_row";
    finding.by_identity = true;
    finding.decision = Decision::proved;
    for (const std::span<const double> part : parts) {
      const auto wrong = std::ranges::find_if(part, [](double value) { return value != 0; });
      if (wrong == part.end()) continue;
      finding.decision = Decision::violated;
      finding.got = *wrong;
      break;
    }
    verdicts.findings.push_back(std::move(finding));
    return verdicts;
  }

  static Judgeable judgeable(const LongApproximation& exact, const ScalarThreshold<UpperBound>& threshold,
                             double size) {
    return {exact, upper(threshold.total()), size, 0, is_vacuous(upper(threshold.rounding), size)};
  }

  ClaimVerdict verdict_of(Part part, std::size_t row, RowVerdicts& verdicts) {
    return {task_.op->claims[static_cast<std::size_t>(part)], task_.contract,
            [this, part, row](std::optional<std::size_t> item) { return enclosed(part, row, *item); }, verdicts};
  }

  void judge_key(std::size_t j, const std::vector<Seen>& seen, const std::vector<BackwardPairError>& errors,
                 std::span<const double> got, RowVerdicts& verdicts) {
    const double scale = arithmetic_.scale;
    const ScoreGradientSum threshold(task_.contract, arithmetic_, errors, arithmetic_.query_sum_height);
    ClaimVerdict verdict = verdict_of(Part::keys, j, verdicts);
    std::vector<UpperBound> factors(seen.size());
    for (std::size_t t = 0; t < got.size(); ++t) {
      ProductSum sum;
      double size = 0;
      for (std::size_t k = 0; k < seen.size(); ++k) {
        const double query = group_.rows[seen[k].query].query[t];
        sum.add(pairs_[seen[k].query]->score_gradient(seen[k].pair), query);
        size += std::fabs(query) * pairs_[seen[k].query]->size(seen[k].pair);
        factors[k] = magnitude(query);
      }
      const LongApproximation exact = scaled(sum.total(), scale);
      verdict.add(t, judgeable(exact, threshold.error(factors, size_of(exact)), std::fabs(scale) * size), got[t]);
    }
    verdict.report();
  }

  void judge_value(std::size_t j, const std::vector<Seen>& seen, const std::vector<BackwardPairError>& errors,
                   std::span<const double> got, RowVerdicts& verdicts) {
    const ValueGradientSum threshold(task_.contract, arithmetic_, errors);
    ClaimVerdict verdict = verdict_of(Part::values, j, verdicts);
    std::vector<UpperBound> gradients(seen.size());
    for (std::size_t c = 0; c < got.size(); ++c) {
      ProductSum sum;
      for (std::size_t k = 0; k < seen.size(); ++k) {
        const double gradient = group_.out_gradients[seen[k].query * arithmetic_.value_size + c];
        sum.add(pairs_[seen[k].query]->coefficient(seen[k].pair), gradient);
        gradients[k] = magnitude(gradient);
      }
      const LongApproximation exact = sum.total();
      verdict.add(c, judgeable(exact, threshold.error(gradients, size_of(exact)), sum.size()), got[c]);
    }
    verdict.report();
  }

  Enclosure enclosed(Part part, std::size_t row, std::size_t item) {
    const AttentionRow& first = group_.rows.front();
    const std::size_t d = first.query.size();
    Enclosure sum;
    if (part == Part::queries) {
      const QueryGradient& query = oracles_.of(row);
      for (std::size_t k = 0; k < query.score_gradients.size(); ++k) {
        sum += query.score_gradients[k] * Enclosure(first.keys[pairs_[row]->keys()[k] * d + item]);
      }
      return Enclosure(first.scale) * sum;
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const std::optional<std::size_t> pair = pairs_[i]->pair_of(row);
      if (!pair) continue;
      const QueryGradient& query = oracles_.of(i);
      if (part == Part::keys) {
        sum += query.score_gradients[*pair] * Enclosure(group_.rows[i].query[item]);
      } else {
        sum += query.coefficients[*pair] * Enclosure(group_.out_gradients[i * arithmetic_.value_size + item]);
      }
    }
    return part == Part::keys ? Enclosure(first.scale) * sum : sum;
  }

  const AttentionTask& task_;
  const GradientGroup& group_;
  const GradientValues& got_;
  AttentionBackwardArithmetic arithmetic_;
  std::map<std::string, std::shared_ptr<const QueryPairs>> known_;
  std::vector<std::shared_ptr<const QueryPairs>> pairs_;
  GroupOracles oracles_;
};

}  // namespace

void judge_attention_gradient(const AttentionTask& task, const GradientGroup& group, const GradientValues& got,
                              const std::function<void(std::size_t, RowVerdicts)>& of_query,
                              const std::function<void(std::size_t, RowVerdicts)>& of_key) {
  const PrecisionScope precision(113);
  GroupJudge judge(task, group, got);
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    if (judge.is_chosen(i)) of_query(i, judge.of_query(i));
  }
  for (std::size_t j = 0; j < group.keys; ++j) {
    if (std::optional<RowVerdicts> verdicts = judge.of_key(j)) of_key(j, std::move(*verdicts));
  }
}

}  // namespace softcheck::proptests
