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

/// What a line of a report comes to, in the order of importance: the first of them a report has is its own.
enum class ReportVerdict { fail, crash, timeout, refused, undecided, vacuous, pass };

const char* to_string(ReportVerdict verdict);
ReportVerdict report_verdict(numerics::Verdict verdict);

/// The errors of the values that one claim was decided by, all calls together: told of a pass, too.
struct ErrorStatistics {
  std::size_t values = 0;         // judged
  double largest_share = 0;       // of its threshold that any of them used
  double worst_ulps = 0;          // |got - exact| in ulps at the exact value, of values that have one: of the output's
                                  // format, or of the accumulator's where that has fewer digits
  double bias_ulps = 0;           // mean of got - exact in the same unit: 0 where errors of both signs are as frequent
  double worst_allowed_ulps = 0;  // the threshold of the value that has worst_ulps
  std::string worst_witness;      // that value
};

/// One claim about one subject.
struct ReportRow {
  std::string claim;                                        // its id
  std::string subject;                                      // the property, or the kernel that was judged
  std::size_t cases = 0;                                    // certificates decided
  double slack = std::numeric_limits<double>::quiet_NaN();  // the tightest; NaN where it means nothing
  ReportVerdict verdict = ReportVerdict::vacuous;
  double seconds = 0;                          // NaN: not part of this report
  std::vector<std::string> details;            // lines for a reader: why, the witness, how to replay it
  std::vector<std::string> verbose = {};       // and lines that a table has only if it is verbose
  Certificates failed;                         // the certificates behind the verdict
  std::optional<ErrorStatistics> errors = {};  // where values of a kernel were judged
  std::vector<std::string> not_tried = {};     // what the subject was not asked, and why
  std::vector<Coverage::Entry> coverage = {};  // what the calls of a kernel were made of
  int place = 0;                               // in a table among its subject's rows: the smallest first; where it
                                               // is not 0, a claim that passes beside one that fails has its name alone
};

struct Report {
  std::vector<ReportRow> rows;

  /// The most important verdict of its rows; vacuous where there are none.
  ReportVerdict verdict() const;
};

/// Exit code of a verdict, of every verb: 0 pass, 1 fail, 4 refused, 5 vacuous or undecided, 6 crash, 7 timeout.
int exit_code(ReportVerdict verdict);

/// A row for each claim of the property; what failed is told in the row of the claim that failed.
std::vector<ReportRow> rows_of(const Property& property, const Outcome& outcome);

/// A row for each claim of these certificates, in the order in which claims first appear. A line of details names each
/// certificate that does not hold.
std::vector<ReportRow> rows_of(const std::vector<numerics::Certificate>& certificates, const std::string& subject,
                               double seconds);

struct TableOptions {
  bool colour = false;   // ANSI escapes
  bool verbose = false;  // also what was not tried, and the classes that calls were made of
};

/// For reading: a heading for each subject, one line for each of its claims, and the details of what did not hold.
/// Files have all lines, in the rows' order.
std::string to_table(const Report& report, const TableOptions& options = {});

/// {"verdict": "pass", "claims": [{"claim", "subject", "cases", "slack", "verdict", "seconds", "details", "failed"}]};
/// where there is such, also "errors": {"values", "largest_share", "worst_ulps",
/// "worst_allowed_ulps", "bias_ulps", "worst_witness"},
/// "not_tried": [...] and "coverage": [{"dimension", "class", "calls", "refused", "why_not"}].
/// A failed certificate about a kernel has also "evidence": {"case", "remark", "row", "row_text", "value": {"item",
/// "expected", "due", "got", "got_text", "ulps", "format"}, "end", "death", "printed"}, as far as there is such.
/// A side of a failed certificate is {"enclosure": ["lower", "upper"], "lower": double, "upper": double}, its doubles
/// rounded outward. What is no number is null.
std::string to_json(const Report& report);

/// One `testsuite` a subject, one `testcase` a claim; refused is skipped, crash and timeout are errors. A testcase has
/// `slack`, and where values were judged `worst_ulps`, `worst_allowed_ulps` and `bias_ulps`, as properties: the numbers
/// of to_json. What is no finite number has no property.
std::string to_junit(const Report& report);

/// Four digits, upward: 1 means that a bound was attained or exceeded, never that it was nearly so; "-" for NaN.
std::string slack_text(double slack);

/// text with what is no UTF-8, and what XML does not allow, replaced by U+FFFD: kernels may print anything.
std::string printable_utf8(std::string_view text);

/// text on one line of a terminal: control characters and bytes that are no UTF-8 as `\xNN`.
std::string escaped_text(std::string_view text);

/// The same as XML and HTML have it between tags and between double quotes.
std::string xml_text(std::string_view text);

/// Writes the file beside its place and renames it: no reader sees half of it. What is no regular file, such as
/// /dev/stdout, is written to directly.
/// throws   std::runtime_error naming the path and the reason
void write_file_atomically(const std::filesystem::path& path, std::string_view text);

/// The begin of an HTML page up to `body`, with the style of all pages: it may load nothing and run no script, whatever
/// stands in it. The caller closes body and html. A cell has the class of its verdict, or `left`.
///
/// title   as text
std::string page_head(std::string_view title);
/// The same for a page that runs its own scripts.
std::string scripted_page_head(std::string_view title);

}  // namespace softcheck::proptests
