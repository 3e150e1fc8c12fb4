#pragma once

#include <vector>

#include "cli/output.hpp"
#include "experiments/certificates/certify_model.hpp"
#include "experiments/trained_models.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

/// Certifies one network. Returns a row for each claim, with the network's name.
///
/// throws   InputError (unsupported) when its activations leave the range of double
std::vector<proptests::ReportRow> rows_of_model(const experiments::TrainedModel& model,
                                                const experiments::ModelOptions& options, Progress& progress);

}  // namespace softcheck::cli
