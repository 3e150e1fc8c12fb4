#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "proptests/campaigns/plan.hpp"
#include "proptests/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// What a folder has of a shard.
enum class ShardState {
  finished,
  missing,
  damaged,  // a file that was cut off or changed: judged again
  other,    // judged by another commit of softcheck, or with another file of the library: judged again
};

const char* to_string(ShardState state);

/// The folder of a campaign: shards/KEY.jsonl for each shard that is finished.
class ShardFolder {
 public:
  explicit ShardFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path path_of(const Shard& shard) const;

  /// The state of each shard, in the plan's order.
  ///
  /// commit    of this program
  /// digests   library_digests; a library that this machine does not have is not compared
  std::vector<ShardState> states(const Plan& plan, const std::string& commit,
                                 const std::map<std::string, std::string>& digests) const;

  /// The whole files of the plan's shards, of any worker or machine, in the plan's order.
  std::vector<ShardFile> read(const Plan& plan) const;

 private:
  std::filesystem::path folder_;
};

/// The shards with these numbers from 1 that share I of N has: every N-th, so that long ones are spread.
std::vector<std::size_t> share_of(std::size_t shards, std::size_t share, std::size_t shares);

}  // namespace softcheck::proptests
