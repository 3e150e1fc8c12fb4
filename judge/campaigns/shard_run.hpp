#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// SHA-256 of each library of the plan by its name; "" for a library that cannot be read.
///
/// kernels   the folder of relative names
std::map<std::string, std::string> library_digests(const Plan& plan, const std::filesystem::path& kernels);

struct ShardRun {
  std::string plan;                            // Plan::hash
  std::string version, commit;                 // of this program
  std::filesystem::path kernels;               // the folder of relative library names
  std::map<std::string, std::string> digests;  // library_digests
  std::function<bool()> interrupted = {};
  std::filesystem::path kept = {};     // absolute folder for the intermediate states of trainings; empty: none
  std::filesystem::path network = {};  // the library of this project's kernels that language models use
};

/// JudgedAnswer::source_sha256 on this machine; "" if it does not have the source, or the question has none. Reads all
/// tensors of a layer.
std::string source_digest(const Question& asked, const ShardRun& run);

/// Answers all questions of a shard, one after the other. Seeds come from the plan, and only calls have a time limit,
/// so machines of one class give the same answers. Changes this process's working directory to run.kernels.
///
/// throws   as answer_of
ShardFile judge_shard(const Shard& shard, const ShardRun& run);

/// Removes the intermediate states of a shard's trainings after its file was written.
void forget_cached(const Shard& shard, const ShardRun& run);

// The answer to one question of each kind, without times. Names are relative to this process's folder. Each throws
// Interrupted if the run was interrupted; then nothing is known.

/// throws   KernelLoadError if this machine does not have the library
JudgedAnswer answer_of(const JudgementQuestion& asked, const ShardRun& run);

/// For an unsupported architecture the answer is a row model.certified.
///
/// throws   models::TensorFileError if this machine does not have the checkpoint, or it is damaged;
///          std::invalid_argument if the checkpoint does not have the layer or as many items
JudgedAnswer answer_of(const LayerQuestion& asked, const ShardRun& run);

/// If a training's numbers become infinite or NaN, the answer is a failed row training.finite, without a network.
///
/// throws   std::runtime_error if kernels are missing; std::system_error if the intermediate state cannot be saved
JudgedAnswer answer_of(const TrainingQuestion& asked, const ShardRun& run);

/// The file of a training's intermediate state, from which a later process continues; empty if run.kept is. The name
/// depends on the commit and the vector instructions, which change the network.
std::filesystem::path saved_training(const TrainingQuestion& asked, const ShardRun& run);

/// The properties of this machine that may affect a kernel's bits: the processor's name, and the extensions that
/// kernels choose between. Machines of one class give the same answers; the class does not identify a machine.
std::string host_class();

}  // namespace softcheck::proptests
