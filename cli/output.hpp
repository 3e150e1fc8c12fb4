#pragma once

#include <string>
#include <string_view>

#include "cli/verb.hpp"
#include "proptests/report.hpp"

namespace softcheck::cli {

/// Where a report goes besides the terminal.
struct OutputFlags {
  std::string json;
  std::string junit;
  bool verbose = false;  // the classes of calls in the table, too; a flag of the verbs that have them
};

/// The folder of each file must be there when the flags are read, not only after minutes of work.
void add_output_flags(Verb verb, OutputFlags& flags);

/// Prints the table (with colour on a terminal) and the closing line, writes the files that were asked for, and returns
/// the exit code. A file that cannot be written is reported and makes a pass a usage error; a file that has the report
/// makes up for a terminal that has not.
int publish(const proptests::Report& report, const OutputFlags& flags, std::string_view closing);

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
