#pragma once

#include <string>

#include "judge/survivors/survivor_matrix.hpp"

namespace softcheck::proptests {

/// What made a matrix: stands in every file that shows it.
struct SurvivorOrigin {
  std::string version;  // "softcheck 0.1.0"
  std::string commit;
  std::string command;  // that makes it again
};

/// A line for each criterion: accepted bugs / bugs, rejected correct kernels / correct kernels, what it draws and
/// tolerates.
std::string to_table(const SurvivorMatrix& matrix);

/// The table, a matrix of bugs against criteria, the sources and what was left out: plain text.
std::string to_text(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// criterion,kernel,op,dtype,class,kind,verdict after three lines of origin that begin with #.
std::string to_csv(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// A picture of the matrix: criteria against bugs, grouped by class, with the shares beside it.
std::string to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// A picture for a page: a bar for each criterion, the share of the bugs that it accepts.
std::string shares_to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

}  // namespace softcheck::proptests
