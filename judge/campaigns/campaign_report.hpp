#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "judge/campaigns/merge.hpp"

namespace softcheck::proptests {

// The views of a campaign. They depend only on the plan and the answers, and contain no time, machine or date.

/// As text: for each op a table of kernels and claims with the largest slack over seeds and efforts; for each model the
/// output of `softcheck model`; for each training the mean and spread over its seeds; then what does not pass.
std::string to_text(const MergedCampaign& campaign);

/// to_json of the report, preceded by "campaign": {"name", "plan", "version", "commit", "libraries"}, "models":
/// [model_json] and "trainings": [training_json].
std::string to_json(const MergedCampaign& campaign);

/// One page that loads no other file; links to adjacent_files.
std::string to_html(const MergedCampaign& campaign);

/// The files next to the report, by their paths in its folder: a page for each model, and the trained networks.
std::map<std::string, std::string> adjacent_files(const MergedCampaign& campaign);

/// What each class of machines did, tab-separated. Not part of the report.
std::string hosts_to_tsv(const MergedCampaign& campaign);

// Trainings in a campaign's report. `number` counts trainings from 1.

std::string training_text(const MergedTraining& training, std::size_t number);
std::string training_html(const MergedTraining& training, std::size_t number);
/// {"options", "verdict", "metrics": {NAME: {"mean", "deviation", "least", "largest"}}, "networks": [{"seed",
/// "verdict", "sha256", "file", "instructions", "metrics": {NAME: number}}]}
nlohmann::ordered_json training_json(const MergedTraining& training, std::size_t number);

/// The networks' files, by their paths next to the report: trained/1/seed-07.safetensors; for a language model
/// trained/1/seed-07/model.safetensors and trained/1/seed-07/config.json.
std::map<std::string, std::string> training_files(const MergedTraining& training, std::size_t number);

// Models in a campaign's report. `number` counts models from 1.

/// Name of the page that `softcheck model --html` writes, next to the report.
std::string model_page_name(std::size_t number);

std::string model_text(const MergedModel& model);
std::string model_html(const MergedModel& model, std::size_t number);
/// {"path", "command", "checkpoint", "verdict", "certificate": the output of `softcheck model --json` without claims}
nlohmann::ordered_json model_json(const MergedModel& model);

/// A number over the seeds of a training.
struct SeedSpread {
  double mean = 0;
  double deviation = 0;  // sample standard deviation (seeds - 1); NaN for one seed
  double least = 0, largest = 0;
};

/// values   at least one; added in order
SeedSpread spread_of(const std::vector<double>& values);

}  // namespace softcheck::proptests
