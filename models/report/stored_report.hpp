#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/report/checkpoint_report.hpp"

namespace softcheck::models {

/// A report as one line of JSON: what to_table, to_json, to_html and certify_report read of it, every double bit for
/// bit. Certificates, observations and seconds are left out.
std::string stored_report(const CheckpointReport& report);

/// The report that was stored; its heads have the members that are printed and no places of tensors.
///
/// throws   std::invalid_argument where the text is none
CheckpointReport report_from(std::string_view text);

/// The report of all layers of a checkpoint from reports of some of them: to_table, to_json and to_html say byte for
/// byte what one certification of these layers says.
///
/// parts     of one checkpoint and one question, in the order of their layers
/// fail_if   gates (gate.hpp), certified behind the claims
/// throws    std::invalid_argument where there is no part, two parts describe two models or a layer stands twice
CheckpointReport joined(std::vector<CheckpointReport> parts, const std::vector<std::string>& fail_if);

}  // namespace softcheck::models
