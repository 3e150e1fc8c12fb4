#pragma once

#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/enclosures/certificate.hpp"
#include "proptests/engine/property.hpp"
#include "proptests/report/coverage.hpp"

namespace softcheck::proptests {

/// The verdict of a line, in order of importance: a report's verdict is the first of these that any line has.
enum class ReportVerdict { fail, crash, timeout, refused, undecided, vacuous, pass };

const char* to_string(ReportVerdict verdict);
ReportVerdict report_verdict(numerics::Verdict verdict);

/// The errors of the values that decided one claim, over all calls; reported also for a pass.
struct ErrorStatistics {
  std::size_t values = 0;    // judged
  double largest_share = 0;  // of a threshold that any of them used
  // |got - exact| in ulps at the exact value, of the output's format or of the accumulator's if that has fewer digits
  double worst_ulps = 0;
  double bias_ulps = 0;           // mean of got - exact in the same unit; near 0 if both signs are equally frequent
  double worst_allowed_ulps = 0;  // the threshold of the value with worst_ulps
  std::string worst_witness;      // the case of that value
};

/// One claim about one subject.
struct ReportRow {
  std::string claim;                                        // its id
  std::string subject;                                      // the property, or the judged kernel
  std::size_t cases = 0;                                    // number of decided certificates
  double slack = std::numeric_limits<double>::quiet_NaN();  // the tightest; NaN if it has no meaning
  ReportVerdict verdict = ReportVerdict::vacuous;
  double seconds = 0;                          // NaN: not reported
  std::vector<std::string> details;            // lines for a reader: the reason, the witness, the replay
  std::vector<std::string> verbose = {};       // further lines for verbose tables
  Certificates failed;                         // the certificates behind the verdict
  std::optional<ErrorStatistics> errors = {};  // if values of a kernel were judged
  std::vector<std::string> not_tried = {};     // what was not tested, and why
  std::vector<Coverage::Entry> coverage = {};  // the classes of a kernel's calls
  // sort key among the subject's rows, smallest first; if not 0, a passing claim next to a failing one shows only its
  // name
  int place = 0;
};

struct Report {
  std::vector<ReportRow> rows;

  /// The most important verdict of its rows; vacuous if there are none.
  ReportVerdict verdict() const;
};

/// Exit code of a verdict, for every verb: 0 pass, 1 fail, 4 refused, 5 vacuous or undecided, 6 crash, 7 timeout.
int exit_code(ReportVerdict verdict);

/// One row per claim of the property; the row of a failed claim describes the failure.
std::vector<ReportRow> rows_of(const Property& property, const Outcome& outcome);

/// One row per claim of these certificates, in order of first appearance. Each certificate that does not hold adds a
/// line of details.
std::vector<ReportRow> rows_of(const std::vector<numerics::Certificate>& certificates, const std::string& subject,
                               double seconds);

struct TableOptions {
  bool colour = false;   // ANSI escapes
  bool verbose = false;  // also what was not tested, and the classes of the calls
};

/// For reading: a heading per subject, a line per claim, and the details of failures. Files contain all lines, in the
/// rows' order.
std::string to_table(const Report& report, const TableOptions& options = {});

/// {"verdict": "pass", "claims": [{"claim", "subject", "cases", "slack", "verdict", "seconds", "details", "failed"}]};
/// optionally also "errors": {"values", "largest_share", "worst_ulps", "worst_allowed_ulps", "bias_ulps",
/// "worst_witness"}, "not_tried": [...] and "coverage": [{"dimension", "class", "calls", "refused", "why_not"}]. A
/// failed certificate of a kernel optionally has "evidence": {"case", "remark", "row", "row_text", "value": {"item",
/// "expected", "due", "got", "got_text", "ulps", "format"}, "end", "death", "printed"}. A side of a failed certificate
/// is {"enclosure": ["lower", "upper"], "lower": double, "upper": double}, with doubles rounded outward. NaN and
/// infinities are null.
std::string to_json(const Report& report);

/// One `testsuite` per subject, one `testcase` per claim; refused is skipped, crash and timeout are errors. A testcase
/// has the property `slack` and, if values were judged, `worst_ulps`, `worst_allowed_ulps` and `bias_ulps`, with the
/// numbers of to_json. Numbers that are not finite have no property.
std::string to_junit(const Report& report);

/// Four digits, rounded upward: 1 means that the bound was attained or exceeded, never nearly attained; "-" for NaN.
std::string slack_text(double slack);

/// The text with invalid UTF-8, and characters that XML does not allow, replaced by U+FFFD: kernels may print anything.
std::string printable_utf8(std::string_view text);

/// The text as one line for a terminal: control characters and invalid UTF-8 become `\xNN`.
std::string escaped_text(std::string_view text);

/// The same, escaped for XML and HTML text and double-quoted attributes.
std::string xml_text(std::string_view text);

/// Writes a temporary file and renames it, so that readers never see a part of it. Writes directly to a path that is
/// not a regular file, such as /dev/stdout.
/// throws   std::runtime_error with the path and the reason
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// The beginning of an HTML page up to `body`, with the common style. The page may load nothing and run no script,
/// whatever it contains. The caller closes body and html. A cell has the class of its verdict, or `left`.
///
/// title   plain text
std::string page_head(std::string_view title);
/// The same for a page that runs its own scripts.
std::string scripted_page_head(std::string_view title);

}  // namespace softcheck::proptests
