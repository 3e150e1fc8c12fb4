#pragma once

#include <filesystem>

#include "judge/campaigns/shard_run.hpp"
#include "judge/campaigns/training_question.hpp"

namespace softcheck::proptests {

/// Where a training leaves what it has so far, so that a later process goes on from there; empty where run.kept is.
/// Another commit and other vector instructions, which would train another network, have another name.
std::filesystem::path saved_training(const TrainingQuestion& asked, const ShardRun& run);

}  // namespace softcheck::proptests
