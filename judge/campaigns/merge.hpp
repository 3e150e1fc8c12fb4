#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"
#include "models/report/checkpoint_report.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// What a class of machines did. It stays out of the report.
struct HostShare {
  std::string host;
  std::size_t answers = 0;
  double seconds = 0;
};

/// A checkpoint whose layers were certified shard by shard.
struct MergedModel {
  std::string path;        // as the plan names it
  std::string asked;       // the command that certifies it in one process, without its layers
  std::string checkpoint;  // SHA-256, checkpoint_digests(); "" where it was refused
  std::optional<models::CheckpointReport> report = {};  // as that command's; none where it was refused
  std::vector<ReportRow> rows;                          // of all its layers together
};

/// Networks that differ in their seed alone.
struct MergedTraining {
  std::string asked;  // TrainingQuestion::question()
  bool is_language = false;
  struct Network {
    std::uint64_t seed = 0;
    std::vector<ReportRow> rows;
    std::optional<TrainedNetwork> made = {};  // none where the training left the finite numbers
  };
  std::vector<Network> networks;  // in the plan's order
};

/// The answers of a plan. All but `hosts` depends on the plan and the answers alone: not on who judged what, or when.
struct MergedCampaign {
  std::string name, plan, version, commit;
  std::vector<std::pair<std::string, std::string>> libraries;  // as the plan names them, and their SHA-256

  struct Answer {
    std::string kernel;            // "lib.so:f"
    std::string op, dtype, asked;  // asked: the contract, and the domain
    std::vector<ReportRow> rows;
  };
  std::vector<Answer> answers;  // in the plan's order
  std::vector<MergedModel> models;
  std::vector<MergedTraining> trainings;

  std::vector<std::string> missing;  // keys of the shards without a file, in the plan's order
  std::vector<HostShare> hosts;      // by name

  /// All rows: of kernels, models and trainings, each in the plan's order.
  Report report() const;
};

/// Files that do not belong together: of two commits of softcheck, or of two files of one library or checkpoint.
class MergeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Each shard of the plan once. Of two files of one shard that agree, one counts. Where they do not, the answer with
/// the worse verdict counts (of those the first by its text), and a row campaign.same_answer fails.
///
/// files    in any order; those of shards that the plan does not have are left out
/// throws   MergeError
MergedCampaign merge(const Plan& plan, const std::vector<ShardFile>& files);

}  // namespace softcheck::proptests
