#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// What a folder has of a shard.
enum class ShardState {
  finished,
  missing,
  damaged,  // a file that was cut off or changed: judged again
  other,    // of another commit of softcheck, another file of the library or another checkpoint: judged again
};

const char* to_string(ShardState state);

/// JudgedAnswer::source_sha256 as this machine would give it; "" where it has no such source: nothing is compared.
using SourceDigest = std::function<std::string(const Question&)>;

/// The folder of a campaign: shards/KEY.jsonl for each shard that is finished.
class ShardFolder {
 public:
  explicit ShardFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path path_of(const Shard& shard) const;

  /// The state of each shard, in the plan's order.
  ///
  /// commit        of this program
  /// digest_here   asked of whole files of this commit alone
  std::vector<ShardState> states(const Plan& plan, const std::string& commit, const SourceDigest& digest_here) const;

  /// The whole files of the plan's shards, of any worker or machine, in the plan's order.
  std::vector<ShardFile> read(const Plan& plan) const;

 private:
  std::filesystem::path folder_;
};

/// The shards with these numbers from 1 that share I of N has: every N-th, so that long ones are spread.
std::vector<std::size_t> share_of(std::size_t shards, std::size_t share, std::size_t shares);

}  // namespace softcheck::proptests
