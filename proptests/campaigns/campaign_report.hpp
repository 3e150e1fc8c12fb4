#pragma once

#include <string>

#include "proptests/campaigns/merge.hpp"

namespace softcheck::proptests {

// The views of a campaign. Each depends on the plan and the answers alone; none has a time, a machine or a date.

/// For reading: for each op a table of kernels and claims with the worst slack over seeds and efforts, then what does
/// not hold.
std::string to_text(const MergedCampaign& campaign);

/// to_json of the report, and in front of that "campaign": {"name", "plan", "version", "commit", "libraries"}.
std::string to_json(const MergedCampaign& campaign);

/// One page, which needs no other file and no network.
std::string to_html(const MergedCampaign& campaign);

/// What each class of machines did: tab-separated, and no part of the report.
std::string hosts_to_tsv(const MergedCampaign& campaign);

}  // namespace softcheck::proptests
