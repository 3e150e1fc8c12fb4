#pragma once

#include <utility>

#include "proptests/judge/attention/attention_gradient.hpp"
#include "proptests/judge/attention/group_oracles.hpp"
#include "proptests/judge/attention/group_pairs.hpp"

namespace softcheck::proptests {

/// The queries of one head in one batch, with their pairs. It stays where it is: its parts point into one another.
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
