#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "judge/ops/attention/bias_gradient.hpp"
#include "judge/ops/attention/sink_gradient.hpp"
#include "judge/results/given_tensor.hpp"
#include "judge/results/gradient_judge.hpp"
#include "judge/results/gradient_tensors.hpp"
#include "judge/results/task_checks.hpp"
#include "judge/results/tensor_tally.hpp"
#include "numerics/formats/special_values.hpp"

namespace softcheck::proptests {
namespace {

using numerics::nan;

// Indices of the op's outputs.
constexpr std::size_t by_sinks = 3, by_bias = 4;

// The pairs that share a number take some 300 bytes per score.
constexpr std::size_t most_shared_scores = std::size_t{1} << 24;

// The reason to skip a number or a row to which a query with undefined results contributes.
constexpr const char* met_infinity =
    "a sum over queries of which one meets an infinity, or sees no key and holds no number";

// A query that sees only its sink adds its gradient by the log-sum-exp to the sink's, for which there is no bound.
void require_sum(const TensorTask& task, std::size_t which) {
  if (which != by_sinks || input_of(task, Role::lse_gradient) == nullptr) return;
  throw std::invalid_argument("dsinks: need no lse_gradient beside it");
}

struct HeadAtHand {
  std::shared_ptr<const GradientTensors> tensors;  // of its key head
  std::size_t head = 0;                            // within its group

  std::size_t first_query() const { return head * tensors->shape().queries; }
  QueryKind kind(std::size_t query) const { return tensors->kind(first_query() + query); }
  bool sees(std::size_t query, std::size_t key) const { return tensors->sees(first_query() + query, key); }
};

// One dimension of a bias: the whole range, or one head or batch.
struct Range {
  std::size_t first = 0, count = 1;
};

std::vector<HeadAtHand> load_heads(const GradientTensors& all, Range batches, Range heads) {
  const std::size_t group = all.shape().group, scores = all.shape().queries * all.shape().keys;
  if (scores > 0 && batches.count * heads.count > most_shared_scores / scores) {
    throw std::invalid_argument(
        "dsinks, dbias: need at most 2^24 scores that share a sink or a head of the bias, got " +
        std::to_string(batches.count * heads.count) + " heads of " + std::to_string(scores));
  }
  std::vector<HeadAtHand> loaded;
  for (std::size_t b = batches.first; b < batches.first + batches.count; ++b) {
    std::shared_ptr<GradientTensors> of;
    for (std::size_t h = heads.first; h < heads.first + heads.count; ++h) {
      if (!of || h % group == 0) {
        of = std::make_shared<GradientTensors>(all);
        of->load(b, h / group);
      }
      loaded.push_back({of, h % group});
    }
  }
  return loaded;
}

std::vector<GradientGroup> groups_of(const std::vector<HeadAtHand>& heads) {
  std::vector<GradientGroup> groups;
  groups.reserve(heads.size());
  for (const HeadAtHand& one : heads) groups.push_back(one.tensors->head(one.head));
  return groups;
}

// The effect of NaNs and infinities on a sum over queries.
struct Special {
  bool nan = false, unasked = false;

  void meet(QueryKind kind) {
    nan = nan || kind == QueryKind::nan;
    unasked = unasked || kind == QueryKind::infinite || kind == QueryKind::unasked;
  }
  bool any() const { return nan || unasked; }
};

// The queries of one head in all batches.
class SinkAtHand {
 public:
  SinkAtHand(const GradientTensors& all, const AttentionTask& by, std::size_t head)
      : heads_(load_heads(all, {0, all.batches()}, {head, 1})) {
    for (const HeadAtHand& one : heads_) {
      for (std::size_t i = 0; i < one.tensors->shape().queries; ++i) special_.meet(one.kind(i));
    }
    if (!special_.any()) gradient_ = std::make_unique<SinkGradient>(by, groups_of(heads_));
  }

  const Special& special() const { return special_; }
  SinkGradient& gradient() { return *gradient_; }

 private:
  std::vector<HeadAtHand> heads_;
  Special special_;
  std::unique_ptr<SinkGradient> gradient_;
};

// The bias's shape in four dimensions: (batch, heads, queries, keys), each full or 1.
std::array<std::size_t, 4> shape_of_bias(const TensorTask& task) {
  const Shape& shape = input_of(task, Role::bias)->shape;
  std::array<std::size_t, 4> four{1, 1, 1, 1};
  for (std::size_t k = 0; k < shape.size(); ++k)
    four[four.size() - shape.size() + k] = static_cast<std::size_t>(shape[k]);
  return four;
}

// One head of the bias in one of its batches.
class BiasAtHand {
 public:
  BiasAtHand(const TensorTask& task, const GradientTensors& all, const AttentionTask& by, std::size_t b, std::size_t h)
      : keys_(all.keys()) {
    const std::array<std::size_t, 4> bias = shape_of_bias(task);
    const auto shared = [](std::size_t of_bias, std::size_t all_of_them, std::size_t one) {
      return of_bias == 1 ? Range{0, all_of_them} : Range{one, 1};
    };
    // A dimension of size 1 is shared only if the call has more than one.
    sharing_ = {bias[2] == 1 && all.shape().queries != 1, bias[3] == 1 && keys_ != 1};
    heads_ = load_heads(all, shared(bias[0], all.batches(), b), shared(bias[1], all.heads(), h));
    gradient_ = std::make_unique<BiasGradient>(by, groups_of(heads_), sharing_);
  }

  BiasGradient& gradient() { return *gradient_; }

  // The special values that contribute to number j of row i.
  Special special(std::size_t i, std::size_t j) const {
    Special result;
    for (const HeadAtHand& one : heads_) {
      const std::size_t queries = one.tensors->shape().queries;
      for (std::size_t q = sharing_.queries ? 0 : i; q < (sharing_.queries ? queries : i + 1); ++q) {
        const QueryKind kind = one.kind(q);
        if (kind == QueryKind::usual || kind == QueryKind::nothing || !sees_any(one, q, j)) continue;
        result.meet(kind);
      }
    }
    return result;
  }

 private:
  bool sees_any(const HeadAtHand& one, std::size_t q, std::size_t j) const {
    if (!sharing_.keys) return one.sees(q, j);
    for (std::size_t k = 0; k < keys_; ++k) {
      if (one.sees(q, k)) return true;
    }
    return false;
  }

  std::size_t keys_;
  BiasSharing sharing_;
  std::vector<HeadAtHand> heads_;
  std::unique_ptr<BiasGradient> gradient_;
};

std::size_t rows_before(const TensorTask& task, std::size_t which) {
  const std::vector<RowBlock> blocks = row_blocks(task);
  std::size_t rows = 0;
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    if (k >= 2 && task.asked[k - 2] == which) break;
    rows += elements_of(blocks[k].shape, "rows");
  }
  return rows;
}

bool judge_sinks(const TensorTask& task, const GradientTensors& all, const AttentionTask& by, const GivenTensor& output,
                 TensorTally& tally) {
  const std::vector<double> got = decoded(output);
  const std::size_t first = rows_before(task, by_sinks);
  for (std::size_t h = 0; h < got.size(); ++h) {
    SinkAtHand sink(all, by, h);
    if (sink.special().nan) {
      tally.add(first + h, {{identity_finding("kernel.nan_row", std::isnan(got[h]), got[h], std::nullopt,
                                              "a NaN is in a query of the head, its gradient, or a key or value that "
                                              "it sees, so that NaN is due in dsinks")},
                            {}});
    } else if (sink.special().unasked) {
      tally.skip(met_infinity);
    } else {
      tally.add(first + h, sink.gradient().judge(got[h]));
    }
    if (!tally.goes_on(first + h + 1)) return false;
  }
  return true;
}

// Judges row i: by thresholds, or as NaN if a NaN contributes.
RowVerdicts judge_bias_row(BiasAtHand& bias, std::size_t i, std::span<const double> got) {
  RowVerdicts verdicts = bias.gradient().judge(i, got);
  bool due = false, holds = true;
  for (std::size_t j = 0; j < got.size() && holds; ++j) {
    if (!bias.special(i, j).nan) continue;
    due = true;
    holds = std::isnan(got[j]);
    if (holds) continue;
    verdicts.findings.push_back(identity_finding("kernel.nan_row", false, got[j], j,
                                                 "a NaN is in a query that sees the key, its gradient, or a key or "
                                                 "value that it sees, so that NaN is due in dbias"));
  }
  if (due && holds) verdicts.findings.push_back(identity_finding("kernel.nan_row", true, nan, std::nullopt, ""));
  return verdicts;
}

template <class Each>
bool over_bias(const TensorTask& task, const GradientTensors& all, const AttentionTask& by, Each&& each) {
  const auto [batches, heads, queries, keys] = shape_of_bias(task);
  for (std::size_t b = 0; b < batches; ++b) {
    for (std::size_t h = 0; h < heads; ++h) {
      BiasAtHand bias(task, all, by, b, h);
      for (std::size_t i = 0; i < queries; ++i) {
        const std::size_t row = (b * heads + h) * queries + i;
        if (!each(bias, i, row, row * keys, keys)) return false;
      }
    }
  }
  return true;
}

bool judge_bias(const TensorTask& task, const GradientTensors& all, const AttentionTask& by, const GivenTensor& output,
                TensorTally& tally) {
  const std::vector<double> got = decoded(output);
  const std::size_t first = rows_before(task, by_bias);
  return over_bias(task, all, by,
                   [&](BiasAtHand& bias, std::size_t i, std::size_t row, std::size_t at, std::size_t keys) {
                     RowVerdicts verdicts = judge_bias_row(bias, i, std::span<const double>(got).subspan(at, keys));
                     if (verdicts.findings.empty() && verdicts.vacuity.judged == 0) {
                       tally.skip(met_infinity);
                     } else {
                       tally.add(first + row, std::move(verdicts));
                     }
                     return tally.goes_on(first + row + 1);
                   });
}

}  // namespace

bool is_gradient_sum(const TensorTask& task, std::size_t which) {
  return which >= task.op->outputs.size() - task.op->optional_outputs;
}

bool judge_gradient_sums(const TensorTask& task, const AttentionTask& by, std::span<const GivenTensor> outputs,
                         TensorTally& tally) {
  const GradientTensors all(task);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::size_t which = number_of_output(task, k);
    require_sum(task, which);
    if (which == by_sinks && !judge_sinks(task, all, by, outputs[k], tally)) return false;
    if (which == by_bias && !judge_bias(task, all, by, outputs[k], tally)) return false;
  }
  return true;
}

void reference_of_sum(const TensorTask& task, const AttentionTask& by, std::size_t which, std::span<double> lower,
                      std::span<double> upper) {
  require_sum(task, which);
  const GradientTensors all(task);
  for (std::size_t h = 0; which == by_sinks && h < lower.size(); ++h) {
    SinkAtHand sink(all, by, h);
    lower[h] = upper[h] = nan;
    if (!sink.special().any()) sink.gradient().exact(lower[h], upper[h]);
  }
  if (which != by_bias) return;
  over_bias(task, all, by, [&](BiasAtHand& bias, std::size_t i, std::size_t, std::size_t at, std::size_t keys) {
    bias.gradient().exact(i, lower.subspan(at, keys), upper.subspan(at, keys));
    return true;
  });
}

void thresholds_of_sum(const TensorTask& task, const AttentionTask& by, std::size_t which, std::span<double> allowed) {
  require_sum(task, which);
  const GradientTensors all(task);
  for (std::size_t h = 0; which == by_sinks && h < allowed.size(); ++h) {
    SinkAtHand sink(all, by, h);
    allowed[h] = sink.special().any() ? nan : sink.gradient().granted();
  }
  if (which != by_bias) return;
  over_bias(task, all, by, [&](BiasAtHand& bias, std::size_t i, std::size_t, std::size_t at, std::size_t keys) {
    bias.gradient().granted(i, allowed.subspan(at, keys));
    return true;
  });
}

}  // namespace softcheck::proptests
