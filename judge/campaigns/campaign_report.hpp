#pragma once

#include <map>
#include <string>

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

}  // namespace softcheck::proptests
