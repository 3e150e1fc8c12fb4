#include "judge/ops/attention/attention_gradient.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "judge/ops/attention/claim_verdict.hpp"
#include "judge/ops/attention/group_pairs.hpp"
#include "judge/ops/attention/query_gradient.hpp"
#include "judge/ops/rows/long_error.hpp"
#include "judge/ops/rows/product_sums.hpp"
#include "judge/ops/rows/row_elements.hpp"
#include "judge/ops/rows/softmax_bounds.hpp"
#include "numerics/enclosures/interruption.hpp"
#include "numerics/formats/next_double.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

using Part = GradientPart;

class GroupJudge {
 public:
  GroupJudge(const AttentionTask& task, const GradientGroup& group)
      : task_(task), group_(group), pairs_(task, group), oracles_(group, pairs_.all()) {
    if (task.contract.masked != MaskedRows::uniform || group.own_keys == 0) return;
    for (std::size_t i = 0; i < group.rows.size(); ++i) {
      if (!group.absent.empty() && group.absent[i]) continue;
      if (pairs_[i].keys().empty() && !group.rows[i].sink) blind_.push_back(i);
    }
    if (!blind_.empty()) even_ = even_pairs();
  }

  bool is_chosen(std::size_t query) const { return pairs_.is_chosen(query); }

  // Judges dq of query i.
  RowVerdicts of_query(std::size_t i, std::span<const double> got) {
    RowVerdicts verdicts;
    if (pairs_[i].keys().empty()) return must_be_zero({got});
    if (!pairs_[i].usable()) return by_limits({{Part::queries, i, {}, got}});
    verdicts.vacuity.add_row(pairs_[i].unbounded(), !overflows(Part::queries, i, {}) && resolved(Part::queries, i, {}));
    judge_part(Part::queries, i, {}, got, verdicts);
    return verdicts;
  }

  // Judges dk and dv of key j; nothing if a query that sees the key was not chosen.
  std::optional<RowVerdicts> of_key(std::size_t j, std::span<const double> dk, std::span<const double> dv) {
    const Seers seers = seers_of(j);
    if (!seers.all_chosen) return std::nullopt;
    if (seers.pairs.empty() && (blind_.empty() || j >= group_.own_keys)) return must_be_zero({dk, dv});
    RowVerdicts verdicts;
    if (!seers.usable) return by_limits({{Part::keys, j, seers.pairs, dk}, {Part::values, j, seers.pairs, dv}});
    if (seers.pairs.empty()) verdicts = must_be_zero({dk});
    verdicts.vacuity.add_row(seers.unbounded,
                             !overflows(Part::keys, j, seers.pairs) && resolved(Part::keys, j, seers.pairs));
    if (!seers.pairs.empty()) judge_part(Part::keys, j, seers.pairs, dk, verdicts);
    if (!dv.empty()) judge_part(Part::values, j, seers.pairs, dv, verdicts);
    return verdicts;
  }

  void exact(Part part, std::size_t row, std::span<double> lower, std::span<double> upper) {
    if (!is_known(part, row)) {
      std::ranges::fill(lower, nan);
      std::ranges::fill(upper, nan);
      return;
    }
    for (std::size_t item = 0; item < lower.size(); ++item) {
      const auto value = [&] { return enclosed(part, row, item); };
      const Enclosure exact = refined(value(), value);
      lower[item] = exact.lower_double();
      upper[item] = exact.upper_double();
    }
  }

  void granted(Part part, std::size_t row, std::span<double> allowed) {
    const Seers seers = part == Part::queries ? Seers{} : seers_of(row);
    const bool of_query = part == Part::queries, by_blind = part == Part::values && !blind_.empty();
    const bool seen = of_query ? !pairs_[row].keys().empty() : !seers.pairs.empty() || by_blind;
    const bool usable = of_query ? pairs_[row].usable() : seers.usable;
    std::ranges::fill(allowed, !is_known(part, row) ? nan : !seen ? 0 : infinity);
    if (!is_known(part, row) || !seen || !usable) return;
    each_value(part, row, seers.pairs,
               [&](std::size_t t, const Judgeable& value) { allowed[t] = proptests::granted(task_.contract, value); });
  }

 private:
  struct Seen {
    std::size_t query, pair;
  };
  // The queries that see a key.
  struct Seers {
    std::vector<Seen> pairs;
    bool all_chosen = true, usable = true, unbounded = false;
  };

  Seers seers_of(std::size_t j) const {
    Seers seers;
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      throw_if_interrupted();
      const std::optional<std::size_t> pair = pairs_[i].pair_of(j);
      if (!pair) continue;
      seers.all_chosen = seers.all_chosen && is_chosen(i);
      seers.usable = seers.usable && pairs_[i].usable();
      seers.unbounded = seers.unbounded || pairs_[i].unbounded();
      seers.pairs.push_back({i, *pair});
    }
    for (const std::size_t i : blind_) seers.all_chosen = seers.all_chosen && is_chosen(i);
    return seers;
  }

  // With masked=uniform a query that sees no key weighs all keys equally, and adds dO / keys to each dv. Its scores are
  // masked, so they have no gradient.
  QueryPairs even_pairs() const {
    AttentionRow even = group_.rows.front();
    const std::vector<double> keys(even.keys.size()), values(even.values.size()), query(even.query.size()),
        none(even.value_size);
    even.query = query;
    even.keys = keys;
    even.values = values;
    even.softcap = even.slope = 0;
    even.sink.reset();
    even.bias.clear();
    even.distances.clear();
    even.kept.clear();
    even.visible.assign(group_.keys, 0);
    std::fill_n(even.visible.begin(), group_.own_keys, std::uint8_t{1});
    return {task_, even, none, pairs_.arithmetic()};
  }

  bool is_known(Part part, std::size_t row) const {
    return part == Part::queries ? is_chosen(row) : seers_of(row).all_chosen;
  }

  struct PartOfRow {
    Part part;
    std::size_t row;
    std::vector<Seen> seen;
    std::span<const double> got;
  };

  // The scores' errors are too large for a finite threshold: the results must be finite numbers, and nothing else is
  // known.
  RowVerdicts by_limits(const std::vector<PartOfRow>& parts) const {
    RowVerdicts verdicts;
    const bool overflow = overflows(parts.front().part, parts.front().row, parts.front().seen);
    verdicts.vacuity.add_row(true, !overflow);
    for (const auto& [part, row, seen, got] : parts) {
      verdicts.vacuity.judged += overflow ? 0 : got.size();
      verdicts.vacuity.vacuous += overflow ? 0 : got.size();
      const double most = largest_of(part, row, seen);
      const ResultLimits limits{.may_overflow = overflow || may_overflow(task_.contract.accumulator, most)};
      const Enclosure exact = Enclosure::between(-most, most);
      for (std::size_t t = 0; t < got.size(); ++t) {
        const std::string_view claim = task_.op->claims[static_cast<std::size_t>(part)];
        if (const auto found = broken_limit(claim, t, task_.contract, got[t], exact, limits)) {
          verdicts.findings.push_back(*found);
          break;
        }
      }
    }
    return verdicts;
  }

  bool overflows(Part part, std::size_t row, const std::vector<Seen>& seen) const {
    if (part == Part::queries) return pairs_[row].may_overflow();
    return std::ranges::any_of(seen, [&](const Seen& one) { return pairs_[one.query].may_overflow(); });
  }

  bool resolved(Part part, std::size_t row, const std::vector<Seen>& seen) const {
    if (part == Part::queries) return pairs_[row].resolved();
    return std::ranges::all_of(seen, [&](const Seen& one) { return pairs_[one.query].resolved(); });
  }

  // An upper bound of the magnitude of the part's values: p <= 1 and sum p = 1.
  double largest_of(Part part, std::size_t row, const std::vector<Seen>& seen) const {
    const auto largest = [](std::span<const double> numbers) {
      double most = 0;
      for (const double x : numbers) most = std::fmax(most, std::fabs(x));
      return most;
    };
    const double scale = std::fabs(pairs_.arithmetic().scale);
    double sum = 0;
    if (part == Part::queries) {
      double key = 0;
      for (const std::size_t j : pairs_[row].keys()) {
        const std::size_t d = group_.rows[row].query.size();
        key = std::fmax(key, largest(group_.rows[row].keys.subspan(j * d, d)));
      }
      return next_above(next_above(scale * pairs_[row].largest_difference()) * key);
    }
    for (const Seen& one : seen) {
      sum += part == Part::values
                 ? largest(pairs_.gradient_of(one.query))
                 : scale * pairs_[one.query].largest_difference() * largest(group_.rows[one.query].query);
    }
    if (part == Part::values) {
      for (const std::size_t i : blind_) sum += largest(pairs_.gradient_of(i));
    }
    if (part == Part::values) sum *= std::fmax(1, group_.rows.front().dropout_scale);
    return sum * (1 + 0x1p-20);  // fewer than 2^30 roundings of doubles
  }

  // Gradients that no query-key pair contributes to.
  static RowVerdicts must_be_zero(std::initializer_list<std::span<const double>> parts) {
    RowVerdicts verdicts;
    ValueFinding finding;
    finding.claim = "kernel.masked_row";
    finding.by_identity = true;
    finding.decision = Decision::proved;
    finding.due = "0";
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

  void judge_part(Part part, std::size_t row, const std::vector<Seen>& seen, std::span<const double> got,
                  RowVerdicts& verdicts) {
    ClaimVerdict verdict(
        task_.op->claims[static_cast<std::size_t>(part)], task_.contract,
        [this, part, row](std::optional<std::size_t> item) { return enclosed(part, row, *item); }, verdicts);
    const bool overflow = overflows(part, row, seen), keeps_digits = resolved(part, row, seen);
    each_value(part, row, seen, [&](std::size_t t, Judgeable value) {
      value.limits.may_overflow = overflow;
      if (!keeps_digits) value.resolution = infinity;
      verdict.add(t, value, got[t]);
    });
    verdict.report();
  }

  // Calls each(t, value) for the values of a part's row; `seen` are the pairs of a key.
  template <class Each>
  void each_value(Part part, std::size_t row, const std::vector<Seen>& seen, Each each) {
    const std::size_t d = group_.rows.front().query.size();
    if (part == Part::queries) {
      const QueryPairs& pairs = pairs_[row];
      const auto key = [&](std::size_t k) { return group_.rows[row].keys.subspan(pairs.keys()[k] * d, d); };
      const auto term = [&](std::size_t k) { return ScoreTerm{pairs, k, key(k)}; };
      return each_scaled(pairs.errors(), pairs_.arithmetic().key_sum_height, term, each);
    }
    std::vector<BackwardPairError> errors;
    for (const Seen& one : seen) errors.push_back(pairs_[one.query].errors()[one.pair]);
    if (part == Part::keys) {
      const auto term = [&](std::size_t k) {
        return ScoreTerm{pairs_[seen[k].query], seen[k].pair, group_.rows[seen[k].query].query};
      };
      return each_scaled(std::span(errors), pairs_.arithmetic().query_sum_height, term, each);
    }
    for (std::size_t k = 0; k < blind_.size(); ++k) errors.push_back(even_->errors()[0]);
    each_of_value(row, seen, errors, each);
  }

  struct ScoreTerm {
    const QueryPairs& pairs;
    std::size_t pair;
    std::span<const double> vector;  // the pair's key for dq, its query for dk
  };

  // dq or dk: the sum of terms, the gradient of a score times a vector, times the scale.
  template <class Term, class Each>
  void each_scaled(std::span<const BackwardPairError> errors, std::uint64_t height, Term term_of, Each each) {
    const ScoreGradientSum threshold(task_.contract, pairs_.arithmetic(), errors, height);
    const std::size_t d = group_.rows.front().query.size();
    ProductSums sums(d, digits_for(task_.contract));
    for (std::size_t k = 0; k < errors.size(); ++k) {
      const auto [pairs, pair, vector] = term_of(k);
      sums.add({pairs.score_gradient(pair), pairs.size(pair), threshold.errors()[k], threshold.floors()[k]}, vector);
    }
    const double scale = pairs_.arithmetic().scale;
    for (std::size_t t = 0; t < d; ++t) {
      const LongApproximation exact = times(sums.total(t), scale);
      each(t, judgeable(exact, threshold.error(sums.error(t), sums.floor(t), size_of(exact)),
                        std::fabs(scale) * sums.size(t)));
    }
  }

  template <class Each>
  void each_of_value(std::size_t j, const std::vector<Seen>& seen, const std::vector<BackwardPairError>& errors,
                     Each each) {
    const ValueGradientSum threshold(task_.contract, pairs_.arithmetic(), errors);
    ProductSums sums(pairs_.arithmetic().value_size, digits_for(task_.contract));
    std::size_t k = 0;
    const auto add = [&](const LongApproximation& coefficient, std::size_t query) {
      const ProductSums::Factor weight{coefficient, 0, threshold.errors()[k], threshold.floors()[k]};
      const AttentionRow& row = group_.rows[query];
      ++k;
      if (row.factor(j) == 0) return;
      sums.add(row.kept.empty() ? weight : kept_weight(task_.contract, row.dropout_scale, weight),
               pairs_.gradient_of(query));
    };
    for (const Seen& one : seen) add(pairs_[one.query].coefficient(one.pair), one.query);
    for (const std::size_t i : blind_) add(even_->coefficient(0), i);
    for (std::size_t c = 0; c < pairs_.arithmetic().value_size; ++c) {
      const LongApproximation exact = sums.total(c);
      each(c, judgeable(exact, threshold.error(sums.error(c), sums.floor(c), size_of(exact)), sums.size(c)));
    }
  }

  Enclosure enclosed(Part part, std::size_t row, std::size_t item) {
    Enclosure sum;
    if (group_.rows.empty()) return sum;
    const AttentionRow& first = group_.rows.front();
    const std::size_t d = first.query.size();
    if (part == Part::queries) {
      // A query that sees no key has no softmax.
      if (pairs_[row].keys().empty()) return sum;
      const QueryGradient& query = oracles_.of(row);
      for (std::size_t k = 0; k < query.score_gradients.size(); ++k) {
        sum += query.score_gradients[k] * Enclosure(first.keys[pairs_[row].keys()[k] * d + item]);
      }
      return Enclosure(first.scale) * sum;
    }
    for (std::size_t i = 0; i < pairs_.size(); ++i) {
      const std::optional<std::size_t> pair = pairs_[i].pair_of(row);
      if (!pair) continue;
      const QueryGradient& query = oracles_.of(i);
      sum += part == Part::keys ? query.score_gradients[*pair] * Enclosure(group_.rows[i].query[item])
                                : Enclosure(group_.rows[i].factor(row)) * query.coefficients[*pair] *
                                      Enclosure(pairs_.gradient_of(i)[item]);
    }
    if (part == Part::keys) return Enclosure(first.scale) * sum;
    for (const std::size_t i : blind_) {
      const Enclosure weight = Enclosure(group_.rows[i].factor(row)) / Enclosure(static_cast<double>(group_.keys));
      sum += weight * Enclosure(pairs_.gradient_of(i)[item]);
    }
    return sum;
  }

  const AttentionTask& task_;
  const GradientGroup& group_;
  GroupPairs pairs_;
  GroupOracles oracles_;
  std::vector<std::size_t> blind_;  // queries that see no key, with masked=uniform
  std::optional<QueryPairs> even_;  // the pairs of any of them
};

// Calls each(judge, row, first value, values) for every row of a part.
template <class Each>
void over_part(const AttentionTask& task, const GradientGroup& group, GradientPart part, std::size_t values,
               Each each) {
  const PrecisionScope precision(113);
  GroupJudge judge(task, group);
  const std::size_t rows = part == GradientPart::queries ? group.rows.size() : group.keys;
  for (std::size_t row = 0; row < rows; ++row) each(judge, row, row * values / rows, values / rows);
}

}  // namespace

void judge_attention_gradient(const AttentionTask& task, const GradientGroup& group, const GradientValues& got,
                              const std::function<void(std::size_t, RowVerdicts)>& of_query,
                              const std::function<void(std::size_t, RowVerdicts)>& of_key) {
  const PrecisionScope precision(113);
  GroupJudge judge(task, group);
  const auto row_of_part = [](std::span<const double> values, std::size_t row, std::size_t rows) {
    return values.subspan(row * (values.size() / rows), values.size() / rows);
  };
  for (std::size_t i = 0; i < group.rows.size(); ++i) {
    if (judge.is_chosen(i)) of_query(i, judge.of_query(i, row_of_part(got.queries, i, group.rows.size())));
  }
  for (std::size_t j = 0; j < group.keys; ++j) {
    std::optional<RowVerdicts> verdicts =
        judge.of_key(j, row_of_part(got.keys, j, group.keys), row_of_part(got.values, j, group.keys));
    if (verdicts) of_key(j, std::move(*verdicts));
  }
}

void exact_attention_gradient(const AttentionTask& task, const GradientGroup& group, GradientPart part,
                              std::span<double> lower, std::span<double> upper) {
  over_part(task, group, part, lower.size(), [&](GroupJudge& judge, std::size_t row, std::size_t at, std::size_t n) {
    judge.exact(part, row, lower.subspan(at, n), upper.subspan(at, n));
  });
}

void granted_attention_gradient(const AttentionTask& task, const GradientGroup& group, GradientPart part,
                                std::span<double> allowed) {
  over_part(task, group, part, allowed.size(), [&](GroupJudge& judge, std::size_t row, std::size_t at, std::size_t n) {
    judge.granted(part, row, allowed.subspan(at, n));
  });
}

}  // namespace softcheck::proptests
