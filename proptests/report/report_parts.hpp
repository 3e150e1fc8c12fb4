#pragma once

#include <functional>
#include <vector>

#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// Rows of a report that a process can make by itself.
struct ReportPart {
  std::function<std::vector<ReportRow>()> rows;
  int weight = 0;  // heavier parts begin first: the processes then end together
};

/// The rows of all parts, in the parts' order, whatever the number of processes. This process makes some; forks of it
/// make the others.
///
/// Certificates do not cross from process to process. So this process makes a part again that did not pass in a fork,
/// or that a fork threw in or died of. A part that passes only when it is made again keeps the fork's rows: they say
/// what did not hold, without its certificates.
///
/// processes  >= 1; where it is more than one, no other thread may run
/// throws     std::invalid_argument when processes == 0, std::system_error where there can be no fork, and what the
///            first part throws that throws in this process
std::vector<ReportRow> rows_of_parts(const std::vector<ReportPart>& parts, unsigned processes);

}  // namespace softcheck::proptests
