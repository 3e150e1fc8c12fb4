#pragma once

#include "judge/campaigns/shard_file.hpp"
#include "judge/campaigns/shard_run.hpp"

namespace softcheck::proptests {

// The answer to one question of each kind. They do not measure time; names are relative to this process's folder. Each
// throws Interrupted where the run was: then nothing is known.

/// throws   KernelLoadError where this machine has no such library
JudgedAnswer answer_of(const JudgementQuestion& asked, const ShardRun& run);

/// An architecture that is not supported is an answer: a row model.certified.
///
/// throws   models::TensorFileError where this machine has no such checkpoint, or a damaged one; std::invalid_argument
///          where the checkpoint has no such layer, or not so many items
JudgedAnswer answer_of(const LayerQuestion& asked, const ShardRun& run);

/// A training that leaves the finite numbers is an answer: a row training.finite fails, and there is no network.
///
/// throws   std::runtime_error where kernels are missing, std::system_error where what was trained so far cannot be
/// kept
JudgedAnswer answer_of(const TrainingQuestion& asked, const ShardRun& run);

}  // namespace softcheck::proptests
