#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
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

/// Call at the start of the program. Opens a failing stream for each standard stream that the caller closed, so that no
/// file opened later gets its descriptor. A write to a pipe without a reader, or to a file that may not grow, then
/// fails instead of ending the program.
void prepare_streams();

/// Prints to standard output and flushes. Reports the first lost text on standard error.
void say_text(std::string_view text);

template <class... Arguments>
void say(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  say_text(fmt::format(pattern, std::forward<Arguments>(arguments)...));
}

/// Prints to standard error; ignores a failure.
void complain_text(std::string_view text);

template <class... Arguments>
void complain(fmt::format_string<Arguments...> pattern, Arguments&&... arguments) {
  complain_text(fmt::format(pattern, std::forward<Arguments>(arguments)...));
}

/// Has standard output lost text, since the last forgive_lost_output?
bool has_lost_output();

/// Call when a file has the lost text.
void forgive_lost_output();

}  // namespace softcheck::cli
