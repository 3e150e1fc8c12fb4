#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "proptests/campaigns/plan.hpp"
#include "proptests/campaigns/shard_file.hpp"

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
};

/// Judges all of a shard, one after the other. Seeds are the plan's and no time is limited but that of a call, so that
/// every machine of a class gives the same answers. This process's folder is `run.kernels` afterwards.
///
/// A library that dies while it loads, or lacks the symbol, is an answer: a row kernel.verdict.
///
/// throws   KernelLoadError where this machine has no such library; Interrupted, and then nothing is known
ShardFile judge_shard(const Shard& shard, const ShardRun& run);

}  // namespace softcheck::proptests
