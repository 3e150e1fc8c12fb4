#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// SHA-256 of each library that the plan names, by the name there; of what cannot be read an empty text.
///
/// kernels   the folder that relative names begin at
std::map<std::string, std::string> library_digests(const Plan& plan, const std::filesystem::path& kernels);

struct ShardRun {
  std::string plan;                            // Plan::hash
  std::string version, commit;                 // of this program
  std::filesystem::path kernels;               // the folder that relative names of libraries begin at
  std::map<std::string, std::string> digests;  // library_digests
  std::function<bool()> interrupted = {};
  std::filesystem::path kept = {};     // an absolute folder where trainings leave what they have so far; empty: none
  std::filesystem::path network = {};  // the library of this project's kernels that language models are made of
};

/// JudgedAnswer::source_sha256 of this machine; "" where it has no such source, or the question has none. For a layer
/// all of its tensors are read.
std::string source_digest(const Question& asked, const ShardRun& run);

/// Answers all of a shard, one after the other. Seeds are the plan's and no time is limited but that of a call, so that
/// every machine of a class gives the same answers. This process's folder is `run.kernels` afterwards.
///
/// throws   as answer_of (shard_run.hpp)
ShardFile judge_shard(const Shard& shard, const ShardRun& run);

/// Removes what a shard's trainings have kept, once its file is written.
void forget_cached(const Shard& shard, const ShardRun& run);

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

/// Where a training leaves what it has so far, so that a later process goes on from there; empty where run.kept is.
/// Another commit and other vector instructions, which would train another network, have another name.
std::filesystem::path saved_training(const TrainingQuestion& asked, const ShardRun& run);

/// What of this machine a kernel's bits may depend on: its processor's name and the extensions that kernels choose
/// between. Two machines of one class give the same answers; it names no machine.
std::string host_class();

}  // namespace softcheck::proptests
