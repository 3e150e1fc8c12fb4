#pragma once

#include <functional>
#include <vector>

#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// Rows of a report that any one process can make alone.
struct ReportPart {
  std::function<std::vector<ReportRow>()> rows;
  int weight = 0;  // heavier parts begin first, so that the processes end at about the same time
};

/// The rows of all parts, in the parts' order for any number of processes. This process makes some parts; its forks
/// make the others.
///
/// A fork cannot pass certificates to this process. So this process makes a part again if the part did not pass in a
/// fork, threw there or killed it. If the part passes the second time, its rows are still the fork's: they say what
/// failed, but without certificates.
///
/// processes  >= 1; no other thread may run if it is more than one
/// throws     std::invalid_argument when processes == 0, std::system_error if a fork fails, and the first exception
///            that a part throws in this process
std::vector<ReportRow> rows_of_parts(const std::vector<ReportPart>& parts, unsigned processes);

}  // namespace softcheck::proptests
