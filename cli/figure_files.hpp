#pragma once

#include <string>
#include <vector>

#include "cli/output_folder.hpp"
#include "experiments/figures/gnuplot.hpp"
#include "experiments/trained_models.hpp"

namespace softcheck::cli {

/// "models (sha256): NAME HASH ...": whoever has them can check them with sha256sum.
std::string hashes_of(const std::string& folder, const std::vector<experiments::TrainedModel>& models);

/// Writes the tables as CSV, origin first, then the pictures as SVG and PNG, and prints what is where: the data are
/// there even when nothing can draw them.
///
/// throws   InputError when gnuplot is missing
void publish_figure(const experiments::Figure& figure, const OutputFolder& folder, const std::string& origin);

}  // namespace softcheck::cli
