#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "judge/campaigns/merge.hpp"

namespace softcheck::proptests {

// The views of a campaign. Each depends on the plan and the answers alone; none has a time, a machine or a date.

/// For reading: for each op a table of kernels and claims with the worst slack over seeds and efforts; for each model
/// what `softcheck model` prints of it; for each training mean and spread over its seeds; then what does not hold.
std::string to_text(const MergedCampaign& campaign);

/// to_json of the report, and in front of that "campaign": {"name", "plan", "version", "commit", "libraries"},
/// "models": [model_json] and "trainings": [training_json].
std::string to_json(const MergedCampaign& campaign);

/// One page, which loads no other file; it has links to adjacent_files.
std::string to_html(const MergedCampaign& campaign);

/// What stands beside the report, by paths in its folder: a page for each model and the networks that were trained.
std::map<std::string, std::string> adjacent_files(const MergedCampaign& campaign);

/// What each class of machines did: tab-separated, and no part of the report.
std::string hosts_to_tsv(const MergedCampaign& campaign);

// How a campaign's report shows networks that differ in their seed alone. number counts the trainings from 1.

std::string training_text(const MergedTraining& training, std::size_t number);
std::string training_html(const MergedTraining& training, std::size_t number);
/// {"options", "verdict", "metrics": {NAME: {"mean", "deviation", "least", "largest"}}, "networks": [{"seed",
/// "verdict", "sha256", "file", "instructions", "metrics": {NAME: number}}]}
nlohmann::ordered_json training_json(const MergedTraining& training, std::size_t number);

/// The networks' files by their path beside the report: trained/1/seed-07.safetensors; of a language model
/// trained/1/seed-07/model.safetensors and trained/1/seed-07/config.json.
std::map<std::string, std::string> training_files(const MergedTraining& training, std::size_t number);

// How a campaign's report shows one model. number counts the models from 1.

/// The page that `softcheck model --html` writes of it stands beside the report under this name.
std::string model_page_name(std::size_t number);

std::string model_text(const MergedModel& model);
std::string model_html(const MergedModel& model, std::size_t number);
/// {"path", "command", "checkpoint", "verdict", "certificate": what `softcheck model --json` writes, without claims}
nlohmann::ordered_json model_json(const MergedModel& model);

/// A number over the seeds of a training.
struct SeedSpread {
  double mean = 0;
  double deviation = 0;  // of a sample: divided by the seeds less one; NaN of one seed
  double least = 0, largest = 0;
};

/// values   at least one; added in their order
SeedSpread spread_of(const std::vector<double>& values);

}  // namespace softcheck::proptests
