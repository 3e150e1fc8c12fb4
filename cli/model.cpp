#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/figure_files.hpp"
#include "cli/model_rows.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/streams.hpp"
#include "cli/trained_inputs.hpp"
#include "cli/verbs.hpp"
#include "experiments/attention_kernels.hpp"
#include "experiments/safetensors.hpp"
#include "experiments/trained_models.hpp"

namespace softcheck::cli {

using namespace experiments;
using proptests::Report;
using proptests::ReportRow;

namespace {

struct ModelFlags {
  std::vector<std::string> files;
  ModelOptions options;
  OutputFlags output;
};

// All files before the first certificate: what cannot be read gets one line and nothing else.
std::vector<TrainedModel> read(const std::vector<std::string>& files) {
  std::vector<TrainedModel> models;
  for (const std::string& file : files) {
    std::error_code error;
    if (!std::filesystem::exists(file, error)) {
      throw InputError(usage, fmt::format("model: need a safetensors file, '{}' is not there", file));
    }
    try {
      models.push_back(read_model(file));
    } catch (const models::TensorFileError& refusal) {
      throw InputError(malformed, refusal.what());
    }
    models.back().name = file;
    const std::string head = option_of(models.back(), "head");
    if (!head.empty() && head != "softmax") {
      throw InputError(unsupported,
                       fmt::format("{}: need a network with softmax attention, its head is {}", file, head));
    }
  }
  return models;
}

int run_model(const ModelFlags& flags) {
  const std::vector<TrainedModel> models = read(flags.files);
  const AttentionKernels kernels(kernel_folder() / "libsoftcheck_cpu_kernels.so");
  ModelOptions options = flags.options;
  options.attention = kernels.plain();
  Report report;
  {
    Progress progress;
    for (const TrainedModel& model : models) {
      for (ReportRow& row : rows_of_model(model, options, progress)) report.rows.push_back(std::move(row));
    }
  }
  std::size_t proved = 0;
  for (const ReportRow& row : report.rows) proved += row.verdict == proptests::ReportVerdict::pass;
  return publish(
      report, flags.output,
      fmt::format("{}: {} of {} claims about {} proved, over priorities and queries in [0, 1] and all "
                  "classes (seed {})",
                  to_string(report.verdict()), proved, report.rows.size(),
                  models.size() == 1 ? "one network" : fmt::format("{} networks", models.size()), options.seed));
}

struct CertificateFlags {
  std::string models = model_folder().string();
  std::string out = "results/certificates";
};

// The certificates of a folder of networks as a text, for the page of results.
int run_certificates(const CertificateFlags& flags) {
  const std::vector<TrainedModel> models = models_in("--models", flags.models);
  const OutputFolder folder(flags.out);
  ModelOptions options;
  options.attention = attention_kernels().plain();
  Report report;
  {
    Progress progress;
    for (const TrainedModel& model : models) {
      for (ReportRow& row : rows_of_model(model, options, progress)) report.rows.push_back(std::move(row));
    }
  }
  folder.write("certificates.txt", origin_lines("softcheck run certificates", hashes_of(flags.models, models)) +
                                       proptests::to_table(report));
  say("{}: the certificates of {} networks; in {}: certificates.txt\n", to_string(report.verdict()), models.size(),
      folder.path().string());
  return proptests::exit_code(report.verdict());
}

}  // namespace

std::vector<ReportRow> rows_of_model(const TrainedModel& model, const ModelOptions& options, Progress& progress) {
  std::vector<ModelClaim> claims;
  try {
    claims = certify_model(model.parameters, options,
                           [&](const std::string& what) { progress.show(fmt::format("{}: {}", model.name, what)); });
  } catch (const std::range_error& error) {
    throw InputError(unsupported, fmt::format("{}: {}", model.name, error.what()));
  }
  std::vector<ReportRow> rows;
  for (ModelClaim& claim : claims) {
    ReportRow row;
    row.claim = claim.claim;
    row.subject = model.name;
    row.cases = claim.certificates.size();
    row.verdict = proptests::report_verdict(numerics::worst(claim.certificates));
    row.seconds = claim.seconds;
    row.details = std::move(claim.lines);
    for (numerics::Certificate& certificate : claim.certificates) {
      if (!std::isnan(certificate.slack) && !(row.slack >= certificate.slack)) row.slack = certificate.slack;
      if (certificate.verdict == numerics::Verdict::proved) continue;
      row.details.push_back(fmt::format("{}: {} {} {}; {}", numerics::to_string(certificate.verdict),
                                        certificate.left.to_string(), numerics::to_string(certificate.relation),
                                        certificate.right.to_string(), certificate.witness));
      row.failed.push_back(std::move(certificate));
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

void add_certificate_run(Verb run, int& exit_code) {
  Verb certificates = run.add_subcommand("certificates", "What softcheck model certifies of the shipped networks");
  const auto flags = std::make_shared<CertificateFlags>();
  certificates.add_option("--models", flags->models, "Folder of trained models, *.safetensors").type_name("DIR");
  certificates.add_option("--out", flags->out, "Folder for certificates.txt").type_name("DIR").capture_default_str();
  certificates.callback([flags, &exit_code] { exit_code = run_certificates(*flags); });
}

void add_model_verb(Verb app, int& exit_code) {
  Verb verb = app.add_subcommand("model", "Certify trained max-retrieval networks: spread, dispersion, overflow");
  const auto flags = std::make_shared<ModelFlags>();
  verb.add_option("files", flags->files, "Networks as `softcheck run train` writes them")
      .type_name("FILE...")
      .required();
  verb.add_option("--eps", flags->options.eps, "What a dispersed coefficient is below")
      .within(1e-300, 1 - 1e-9)
      .capture_default_str();
  verb.add_option("--n", flags->options.items, "Set size of the entropy floor")
      .within(std::uint64_t{1}, std::uint64_t{1} << 62)
      .capture_default_str();
  verb.add_option("--seed", flags->options.seed, "Seed of what is sampled").capture_default_str();
  add_output_flags(verb, flags->output);
  verb.callback([flags, &exit_code] { exit_code = run_model(*flags); });
}

}  // namespace softcheck::cli
