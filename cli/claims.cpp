#include "cli/claims.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cli/exit_code.hpp"
#include "proptests/engine/corpus.hpp"
#include "proptests/registry.hpp"

namespace softcheck::cli {

using namespace proptests;

void add_case_flags(Verb verb, CaseFlags& flags) {
  verb.add_option("--seed", flags.seed, "Seed of the random cases (default 20241001, or RC_PARAMS)");
  verb.add_option("--cases", flags.cases, "Random cases of each property", within(1, 10'000'000));
  verb.add_option("--corpus", flags.corpus, "File or folder of cases that are replayed first", typed("PATH"));
}

Effort effort_of(const std::string& word) {
  return as_input_error<std::invalid_argument>(usage, "--", [&] { return parse_effort(word); });
}

RunOptions run_options(const CaseFlags& flags, int default_cases) {
  RunOptions options;
  options.cases = default_cases;
  options = options_from_environment(options);
  if (flags.seed) options.seed = *flags.seed;
  if (flags.cases) options.cases = *flags.cases;
  return options;
}

std::vector<CorpusEntry> corpus_of(const CaseFlags& flags) {
  if (!flags.corpus.empty()) {
    try {
      return read_corpus(flags.corpus);
    } catch (const std::invalid_argument& error) {
      throw InputError(malformed, fmt::format("--corpus: {}", error.what()));
    } catch (const std::runtime_error& error) {
      throw InputError(usage, fmt::format("--corpus: {}", error.what()));
    }
  }
  std::error_code error;
  if (!std::filesystem::exists(SOFTCHECK_SOURCE_CORPUS, error)) return {};
  return read_corpus(SOFTCHECK_SOURCE_CORPUS);
}

std::vector<ReportPart> claim_parts(const CaseFlags& flags, const RunOptions& options, const std::string& filter,
                                    Progress& progress) {
  const std::vector<CorpusEntry> corpus = corpus_of(flags);
  std::vector<ReportPart> parts;
  for (const Property& property : all_properties()) {
    if (property.name().find(filter) == std::string::npos) continue;
    parts.push_back({[&property, &progress, entries = entries_of(corpus, property), options] {
      progress.show(property.name());
      return rows_of(property, run_with_corpus(property, entries, options));
    }});
  }
  if (parts.empty()) {
    throw InputError(
        usage, fmt::format("--filter: no property's name contains '{}'; softcheck test --list shows them", filter));
  }
  return parts;
}

void add_processes_flag(Verb verb, unsigned& processes) {
  // The longest part of `softcheck verify` is a fifth of its work, so more processes gain nothing. And a container may
  // have fewer cores than it reports; then calls of kernels would exceed their time limit.
  constexpr unsigned most = 8;
  processes = std::clamp(std::thread::hardware_concurrency(), 1U, most);
  verb.add_option("--processes", processes,
                  "Processes that share the work [one a core, at most 8]; no result depends on it", within(1, 1024));
}

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
