#include "cli/model_rows.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "cli/exit_code.hpp"

namespace softcheck::cli {

using namespace experiments;
using proptests::ReportRow;

std::vector<ReportRow> rows_of_model(const TrainedModel& model, const ModelOptions& options, Progress& progress) {
  std::vector<ModelClaim> claims = as_input_error<std::range_error>(unsupported, model.name + ": ", [&] {
    return certify_model(model.parameters, options,
                         [&](const std::string& what) { progress.show(fmt::format("{}: {}", model.name, what)); });
  });
  std::vector<ReportRow> rows;
  for (ModelClaim& claim : claims) {
    ReportRow row = std::move(proptests::rows_of(claim.certificates, model.name, claim.seconds).front());
    row.details.insert(row.details.begin(), claim.lines.begin(), claim.lines.end());
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace softcheck::cli
