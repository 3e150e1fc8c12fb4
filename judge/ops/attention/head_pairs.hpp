#pragma once

#include <utility>

#include "judge/ops/attention/attention_gradient.hpp"
#include "judge/ops/attention/group_oracles.hpp"
#include "judge/ops/attention/group_pairs.hpp"

namespace softcheck::proptests {

/// The queries of one head in one batch, with their pairs. Not movable, because its parts point to each other.
struct HeadPairs {
  HeadPairs(const AttentionTask& task, GradientGroup of)
      : group(std::move(of)), pairs(task, group), oracles(group, pairs.all()) {}
  HeadPairs(const HeadPairs&) = delete;
  HeadPairs& operator=(const HeadPairs&) = delete;

  GradientGroup group;
  GroupPairs pairs;
  GroupOracles oracles;
};

}  // namespace softcheck::proptests
