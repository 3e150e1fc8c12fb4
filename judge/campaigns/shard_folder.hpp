#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// The state of a shard in a folder.
enum class ShardState {
  finished,
  missing,
  damaged,  // cut off or changed: will be judged again
  other,    // of another commit of softcheck, or another version of the library or checkpoint: will be judged again
};

const char* to_string(ShardState state);

/// Computes JudgedAnswer::source_sha256 on this machine; "" if the machine does not have the source, which skips the
/// comparison.
using SourceDigest = std::function<std::string(const Question&)>;

/// A campaign's folder: shards/KEY.jsonl for each finished shard.
class ShardFolder {
 public:
  explicit ShardFolder(std::filesystem::path folder) : folder_(std::move(folder)) {}

  std::filesystem::path path_of(const Shard& shard) const;

  /// The state of each shard, in the plan's order.
  ///
  /// commit        of this program
  /// digest_here   called only for complete files of this commit
  std::vector<ShardState> states(const Plan& plan, const std::string& commit, const SourceDigest& digest_here) const;

  /// The complete files of the plan's shards, in the plan's order, whichever machine wrote them.
  std::vector<ShardFile> read(const Plan& plan) const;

 private:
  std::filesystem::path folder_;
};

/// The numbers, from 1, of the shards in share I of N: every N-th shard, which spreads long ones.
std::vector<std::size_t> share_of(std::size_t shards, std::size_t share, std::size_t shares);

}  // namespace softcheck::proptests
