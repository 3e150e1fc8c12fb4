#pragma once

#include <string>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// A plan of some shards with two judgements each, and a file for each shard whose answers are made up.
struct SampleCampaign {
  Plan plan;
  std::vector<ShardFile> files;
};
SampleCampaign sample_campaign(int kernels);

}  // namespace softcheck::proptests
