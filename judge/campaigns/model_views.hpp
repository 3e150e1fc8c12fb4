#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "judge/campaigns/merge.hpp"

namespace softcheck::proptests {

// How a campaign's report shows one model. number counts the models from 1.

/// The page that `softcheck model --html` writes of it stands beside the report under this name.
std::string model_page_name(std::size_t number);

std::string model_text(const MergedModel& model);
std::string model_html(const MergedModel& model, std::size_t number);
/// {"path", "command", "checkpoint", "verdict", "certificate": what `softcheck model --json` writes, without claims}
nlohmann::ordered_json model_json(const MergedModel& model);

}  // namespace softcheck::proptests
