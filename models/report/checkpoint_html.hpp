#pragma once

#include <string>

#include "models/report/checkpoint_report.hpp"

namespace softcheck::models {

/// One page for a browser that loads nothing else: heat maps of the heads, the ladder of the head that is chosen (by
/// click, Enter or `#head-LAYER-HEAD`), and a table that sorts. The page's script draws from the members of to_json.
std::string to_html(const CheckpointReport& report);

}  // namespace softcheck::models
