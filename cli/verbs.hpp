#pragma once

#include "cli/verb.hpp"

namespace softcheck::cli {

// Each adds its verb to the command line and, when the verb is given, does its job and sets exit_code.
void add_test_verb(Verb app, int& exit_code);
void add_kernel_verb(Verb app, int& exit_code);
void add_check_verb(Verb app, int& exit_code);
void add_model_verb(Verb app, int& exit_code);
void add_verify_verb(Verb app, int& exit_code);
void add_campaign_verb(Verb app, int& exit_code);
void add_run_verb(Verb app, int& exit_code);
void add_certificate_run(Verb run, int& exit_code);      // below `run`
void add_exhaustive_run(Verb run, int& exit_code);       // below `run`
void add_figure_runs(Verb run, int& exit_code);          // below `run`
void add_head_figure_run(Verb run, int& exit_code);      // below `run`
void add_table_runs(Verb run, int& exit_code);           // below `run`
void add_train_run(Verb run, int& exit_code);            // below `run`
void add_accuracy_figure_run(Verb run, int& exit_code);  // below `run`
void add_language_train_run(Verb run, int& exit_code);   // below `run`
void add_report_verb(Verb app, int& exit_code);
void add_version_verb(Verb app, int& exit_code);

}  // namespace softcheck::cli
