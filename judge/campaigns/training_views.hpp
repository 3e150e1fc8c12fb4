#pragma once

#include <cstddef>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "judge/campaigns/merge.hpp"

namespace softcheck::proptests {

// How a campaign's report shows networks that differ in their seed alone. number counts the trainings from 1.

std::string training_text(const MergedTraining& training, std::size_t number);
std::string training_html(const MergedTraining& training, std::size_t number);
/// {"options", "verdict", "metrics": {NAME: {"mean", "deviation", "least", "largest"}}, "networks": [{"seed",
/// "verdict", "sha256", "file", "instructions", "metrics": {NAME: number}}]}
nlohmann::ordered_json training_json(const MergedTraining& training, std::size_t number);

/// The networks' files by their path beside the report: trained/1/seed-07.safetensors; of a language model
/// trained/1/seed-07/model.safetensors and trained/1/seed-07/config.json.
std::map<std::string, std::string> training_files(const MergedTraining& training, std::size_t number);

}  // namespace softcheck::proptests
