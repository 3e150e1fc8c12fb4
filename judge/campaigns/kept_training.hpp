#pragma once

#include <filesystem>

#include "judge/campaigns/asked_training.hpp"
#include "judge/campaigns/shard_run.hpp"

namespace softcheck::proptests {

/// Where a training leaves what it has so far, so that a later process goes on from there; empty where run.kept is.
/// Another commit and other vector instructions, which would train another network, have another name.
std::filesystem::path kept_training(const AskedTraining& asked, const ShardRun& run);

}  // namespace softcheck::proptests
