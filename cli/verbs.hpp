#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/verb.hpp"

namespace softcheck::cli {

/// Adds a verb to the command line.
using AddVerb = void (*)(Verb app);

/// The whole command: reads the verb and its flags, does the job, and returns the exit code (docs/design.md). An error
/// is reported as one line on standard error.
///
/// arguments   without the program's own name
/// verbs       the program's verbs, in the order of its help
int run_command(const std::vector<std::string>& arguments, std::span<const AddVerb> verbs);

// Each is an AddVerb.
void add_test_verb(Verb app);
void add_kernel_verb(Verb app);
void add_check_verb(Verb app);
void add_model_verb(Verb app);
void add_verify_verb(Verb app);
void add_campaign_verb(Verb app);
void add_run_verb(Verb app);
void add_certificate_run(Verb run);  // below `run`
void add_exhaustive_run(Verb run);   // below `run`
void add_growth_run(Verb run);
void add_figure_runs(Verb run);          // below `run`
void add_head_figure_run(Verb run);      // below `run`
void add_table_runs(Verb run);           // below `run`
void add_train_run(Verb run);            // below `run`
void add_accuracy_figure_run(Verb run);  // below `run`
void add_language_train_run(Verb run);   // below `run`
void add_real_model_runs(Verb run);      // below `run`
void add_report_verb(Verb app);
void add_version_verb(Verb app);

/// The verbs of `softcheck`.
inline constexpr AddVerb every_verb[] = {add_test_verb,  add_kernel_verb, add_check_verb,
                                         add_model_verb, add_verify_verb, add_campaign_verb,
                                         add_run_verb,   add_report_verb, add_version_verb};

}  // namespace softcheck::cli
