#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

/// Files for a report, in addition to the terminal.
struct OutputFlags {
  std::string json;
  std::string junit;
  bool verbose = false;  // for the table; a flag of the verbs that judge kernels
};

/// Adds --json and --junit. Checks at once that the folder of each file exists, not only after minutes of work.
void add_output_flags(Verb verb, OutputFlags& flags);

/// Prints the table (with colour on a terminal) and the closing line, writes the requested files, and returns the exit
/// code. A file that cannot be written is reported, and turns a pass into a usage error. Output lost on the terminal
/// does not, if a file has the report.
int publish(const proptests::Report& report, const OutputFlags& flags, std::string_view closing);

/// A file that a flag requests.
struct OutputFile {
  std::string flag;
  std::string path;  // empty: not requested; "-": standard output, instead of the text
  std::string text;
  bool has_report = true;  // the file has the whole report: then output lost on the terminal is no error
};

/// The same for a verb with its own text and files.
int publish(std::string_view text, proptests::ReportVerdict verdict, const std::vector<OutputFile>& files);

/// Is standard output a terminal whose user wants colour?
bool wants_colour();

/// Why a file cannot be written at a path; empty if it can. For the rule `checked`.
std::string unwritable(const std::string& path);

/// A line on the terminal with the current work; silent when standard error is piped.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::string_view text);

 private:
  bool terminal_;
};

}  // namespace softcheck::cli
