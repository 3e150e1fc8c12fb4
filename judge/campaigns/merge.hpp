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

/// The share of a class of machines. Not part of the report.
struct HostShare {
  std::string host;
  std::size_t answers = 0;
  double seconds = 0;
};

/// A checkpoint whose layers were certified shard by shard.
struct MergedModel {
  std::string path;        // as in the plan
  std::string asked;       // the command that certifies it in one process, without its layers
  std::string checkpoint;  // SHA-256 from checkpoint_digests(); "" if the model was refused
  std::optional<models::CheckpointReport> report = {};  // equal to that command's; none if the model was refused
  std::vector<ReportRow> rows;                          // over all its layers
};

/// Networks that differ only in their seed.
struct MergedTraining {
  std::string asked;  // TrainingQuestion::question()
  bool is_language = false;
  struct Network {
    std::uint64_t seed = 0;
    std::vector<ReportRow> rows;
    std::optional<TrainedNetwork> made = {};  // none if the training's numbers became infinite or NaN
  };
  std::vector<Network> networks;  // in the plan's order
};

/// The answers of a plan. Everything except `hosts` depends only on the plan and the answers, and not on when or where
/// they were judged.
struct MergedCampaign {
  std::string name, plan, version, commit;
  std::vector<std::pair<std::string, std::string>> libraries;  // names from the plan, and SHA-256

  struct Answer {
    std::string kernel;            // "lib.so:f"
    std::string op, dtype, asked;  // asked: contract and domain
    std::vector<ReportRow> rows;
  };
  std::vector<Answer> answers;  // in the plan's order
  std::vector<MergedModel> models;
  std::vector<MergedTraining> trainings;

  std::vector<std::string> missing;  // keys of shards without a file, in the plan's order
  std::vector<HostShare> hosts;      // by name

  /// All rows: of kernels, models and trainings, each in the plan's order.
  Report report() const;
};

/// Files of different commits of softcheck, or of different versions of a library or checkpoint.
class MergeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Merges each shard of the plan once. If two files of a shard disagree, the answer with the worse verdict counts (then
/// the first by its text), and a row campaign.same_answer fails.
///
/// files    in any order; files of other shards are ignored
/// throws   MergeError
MergedCampaign merge(const Plan& plan, const std::vector<ShardFile>& files);

}  // namespace softcheck::proptests
