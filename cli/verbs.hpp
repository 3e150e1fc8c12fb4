#pragma once

namespace CLI {
class App;
}

namespace softcheck::cli {

// Each adds its verb to the command line and, when the verb is given, does its job and sets exit_code.
void add_test_verb(CLI::App& app, int& exit_code);
void add_kernel_verb(CLI::App& app, int& exit_code);
void add_model_verb(CLI::App& app, int& exit_code);
void add_verify_verb(CLI::App& app, int& exit_code);
void add_run_verb(CLI::App& app, int& exit_code);
void add_certificate_run(CLI::App& run, int& exit_code);  // below `run`
void add_figure_runs(CLI::App& run, int& exit_code);      // below `run`
void add_table_runs(CLI::App& run, int& exit_code);       // below `run`
void add_train_run(CLI::App& run, int& exit_code);        // below `run`
void add_report_verb(CLI::App& app, int& exit_code);
void add_version_verb(CLI::App& app, int& exit_code);

}  // namespace softcheck::cli
