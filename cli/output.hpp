#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/verb.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

/// Where a report goes besides the terminal.
struct OutputFlags {
  std::string json;
  std::string junit;
  bool verbose = false;  // of the table; a flag of the verbs that judge kernels
};

/// The folder of each file must be there when the flags are read, not only after minutes of work.
void add_output_flags(Verb verb, OutputFlags& flags);

/// Prints the table (with colour on a terminal) and the closing line, writes the files that were asked for, and returns
/// the exit code. A file that cannot be written is reported and makes a pass a usage error; a file that has the report
/// makes up for a terminal that has not.
int publish(const proptests::Report& report, const OutputFlags& flags, std::string_view closing);

/// A file that a flag asks for.
struct OutputFile {
  std::string flag;
  std::string path;  // empty: not asked for; "-": standard output, in the text's place
  std::string text;
  bool has_report = true;  // the whole report: then it makes up for a terminal that has lost it
};

/// The same for a verb that writes its own text and files.
int publish(std::string_view text, proptests::ReportVerdict verdict, const std::vector<OutputFile>& files);

/// Is standard output a terminal whose user wants colour?
bool wants_colour();

/// What is wrong with a path as a file to write, empty where nothing is; for Flag::check.
std::string unwritable(const std::string& path);

/// A line on the terminal that says what is being done; silent when standard error is piped.
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
