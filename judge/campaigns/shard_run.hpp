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
/// throws   as answer_of (answers.hpp)
ShardFile judge_shard(const Shard& shard, const ShardRun& run);

/// Removes what a shard's trainings have kept, once its file is written.
void forget_cached(const Shard& shard, const ShardRun& run);

}  // namespace softcheck::proptests
