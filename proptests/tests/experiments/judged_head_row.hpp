#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <utility>

#include "experiments/language/language_heads.hpp"
#include "judge/ops/attention/attention_thresholds.hpp"
#include "numerics/enclosures/enclosure.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/tests/kernels/zoo_row.hpp"

namespace softcheck::experiments {

/// The kernel's log-sum-exp and its entropy lie within what its contract grants (B9, of adaptive attention with B10),
/// and its largest score is one of the scores as the contract lets them err, and below none.
inline void judge_scalars(const HeadRow& row, bool adaptive) {
  const numerics::PrecisionScope scope(113);
  const proptests::AttentionTask task{
      .op = adaptive ? proptests::Op::adaptive_attention : proptests::Op::attention,
      .contract = numerics::parse_contract(kernel_tests::promised_words("softcheck_attention", "f32"),
                                           numerics::Format::f32, numerics::Format::f32)};
  proptests::AttentionRow attention;
  attention.query = row.query;
  attention.keys = row.keys;
  attention.scale = 1 / std::sqrt(static_cast<double>(row.query.size()));
  attention.visible.assign(row.scores.size(), 1);
  const proptests::VisibleKeys keys(task.contract, attention);
  const proptests::AttentionThresholds thresholds(task, attention, keys);
  ASSERT_TRUE(thresholds.usable());
  const auto distance = [](double got, const proptests::LongApproximation& exact) {
    return abs(numerics::Enclosure(got) - exact.enclosure()).upper_double();
  };
  for (const auto& [got, due] :
       {std::pair(row.log_sum, thresholds.logsumexp()), std::pair(row.entropy, thresholds.entropy())}) {
    EXPECT_FALSE(due.vacuous);
    EXPECT_LE(distance(got, due.exact), due.threshold) << row.scores.size() << " items";
  }
  bool is_one = false;
  for (std::size_t j = 0; j < keys.scores.size(); ++j) {
    const double error = upper(keys.score_errors[j]);
    const numerics::Enclosure beyond = keys.scores[j].enclosure() - numerics::Enclosure(row.largest_score);
    EXPECT_LE(beyond.upper_double(), error) << "item " << j << " of " << row.scores.size();
    is_one = is_one || distance(row.largest_score, keys.scores[j]) <= error;
  }
  EXPECT_TRUE(is_one) << row.scores.size() << " items";
}

}  // namespace softcheck::experiments
