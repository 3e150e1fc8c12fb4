#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "cli/verb.hpp"
#include "experiments/certificates/certify_model.hpp"
#include "experiments/trained_models.hpp"
#include "judge/trial/effort.hpp"
#include "proptests/engine/corpus.hpp"
#include "proptests/engine/property.hpp"
#include "proptests/report/report.hpp"
#include "proptests/report/report_parts.hpp"

namespace softcheck::cli {

/// Which properties to run, and on how many cases.
struct CaseFlags {
  std::optional<std::uint64_t> seed;
  std::optional<int> cases;
  std::string corpus;  // empty: the project's corpus
};

void add_case_flags(Verb verb, CaseFlags& flags);

/// The effort named by the word after --effort.
/// throws   InputError when the word is unknown
proptests::Effort effort_of(const std::string& word);

/// The options of RC_PARAMS; the flags override them.
proptests::RunOptions run_options(const CaseFlags& flags, int default_cases);

/// The cases of the file or folder that flags.corpus names; if it is empty, those of the project's corpus.
/// throws   InputError naming the flag
std::vector<proptests::CorpusEntry> corpus_of(const CaseFlags& flags);

/// A part for every property whose name contains filter: the corpus first, then random cases. progress shows the
/// current property, and must outlive the parts. throws   InputError when no property's name contains filter
std::vector<proptests::ReportPart> claim_parts(const CaseFlags& flags, const proptests::RunOptions& options,
                                               const std::string& filter, Progress& progress);

/// --processes: how many processes share the work; by default one for each core, and at most eight.
void add_processes_flag(Verb verb, unsigned& processes);

/// Certifies one network. Returns a row for each claim, with the network's name.
///
/// throws   InputError (unsupported) when its activations leave the range of double
std::vector<proptests::ReportRow> rows_of_model(const experiments::TrainedModel& model,
                                                const experiments::ModelOptions& options, Progress& progress);

}  // namespace softcheck::cli
