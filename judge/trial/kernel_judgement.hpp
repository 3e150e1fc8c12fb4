#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/ops/rows/row_judge.hpp"
#include "judge/sandbox/isolated_kernel.hpp"
#include "judge/trial/effort.hpp"
#include "numerics/rounding/contract.hpp"
#include "proptests/engine/property.hpp"
#include "proptests/generators/domains/domain.hpp"
#include "proptests/report/coverage.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {

/// Properties that the judge reports for every kernel, and judges if required: the same bits from a second call, and
/// the same bits for a row with any neighbours and layout. In-place calls are made only if required: the thresholds
/// must hold when the output is the first input's memory, or the upstream gradient's.
struct Requirements {
  bool deterministic = false;
  bool batch_invariant = false;
  bool in_place = false;
  bool over_out_gradient = false;
};

/// Parses "deterministic,batch-invariant,in-place,in-place=out_gradient".
/// throws   std::invalid_argument with the list of words
Requirements parse_requirements(std::string_view words);

/// The reason why the op's kernels cannot be required to write over that input; empty if they can.
std::string refused_place(const Requirements& required, Op op);

/// parse_domain with the op's words. Attention's attributes are for attention only, not for adaptive attention.
/// throws   std::invalid_argument
Domain domain_of(std::string_view words, Op op);

/// A kernel, its op and its contract.
struct KernelSubject {
  KernelSource source;
  Op op = Op::softmax;
  numerics::Contract contract;  // including the formats of input and output
  Requirements required;
  std::set<std::string> exempt;  // claims that it is known to break: noted, not judged
  Domain domain;                 // the judge makes only these calls
};

/// The progress of a judgement.
struct JudgeProgress {
  std::string property;   // the running property
  std::size_t done = 0;   // over all properties
  std::size_t cases = 0;  // the total, if none fails
  double seconds = 0;     // elapsed
};

/// A part of the arguments of exhaustive effort, for tests: bit patterns in [first, last), of -x for formats of 32 bits
/// and more, else of a row's first logit. Widths are then not tested.
struct ArgumentRange {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  bool everything() const { return *this == ArgumentRange{}; }
  friend bool operator==(const ArgumentRange&, const ArgumentRange&) = default;
};

struct JudgeOptions {
  RunOptions run;                                     // number of cases per property
  std::uint64_t max_length = std::uint64_t{1} << 17;  // of a row
  KernelLimits limits;
  Effort effort = Effort::normal;  // decides which checks run at all: huge tensors, calls of many rows
  std::uint64_t rows = 0;          // total in calls of many rows; 0: no such calls
  // See EffortSize.
  std::uint64_t max_edge_length = std::uint64_t{1} << 17;
  std::uint64_t cover_elements = std::uint64_t{1} << 17;
  int covers = 0;
  ArgumentRange arguments = {};  // for exhaustive effort
  /// For exhaustive effort: the file that keeps intermediate results, from which a later judgement continues; empty:
  /// none. It is never deleted.
  std::string resume = {};
  /// Only properties with these names, such as "EveryWidthIsComputed"; empty: all.
  std::vector<std::string> only = {};
  std::function<void(const JudgeProgress&)> progress = {};  // called before each case
  /// At this time, or when interrupted() returns true, the judge ends the current call and returns the results so far:
  /// undecided unless something failed.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::function<bool()> interrupted = {};
  /// After this time, unless there is a deadline, the judge skips the remaining cases and names them.
  std::chrono::steady_clock::duration enough = std::chrono::steady_clock::duration::max();
  /// Most calls of the kernel over all properties; 0: no limit. The judge distributes them over all properties, and
  /// names what it skipped.
  std::uint64_t max_calls = 0;
};

/// An effort's number of cases, longest row and number of rows; the other options have their defaults.
JudgeOptions judge_options(Effort effort);

/// The same options, such that the deadline or the user can end calls, cases and shrinks.
JudgeOptions interruptible(JudgeOptions options);

struct PropertyFinding {
  std::string name;
  Outcome outcome;
  ReportVerdict verdict;
  bool found_by_another = false;  // another property drew its case
};

struct KernelJudgement {
  ReportVerdict verdict = ReportVerdict::undecided;
  std::vector<PropertyFinding> properties;  // in the order in which they ran
  std::string failed_property;              // of the counterexample
  std::optional<Counterexample> counterexample;
  std::shared_ptr<const TensorCall> passed;  // its failing call as the kernel got it; null: unknown
  VacuityCount vacuity;
  std::size_t calls = 0;
  std::size_t refused = 0;
  std::size_t rows = 0;  // judged
  std::size_t printed_bytes = 0;
  std::vector<std::string> printed_lines;         // the last ones
  std::vector<std::string> notes;                 // observations that are not judged: output, reruns that differ
  std::vector<std::string> refusals = {};         // by kind of call: "refused 3 calls with a mask"
  std::map<std::string, ErrorStatistics> errors;  // by claim
  std::string isolation;                          // what isolated the kernel from the judge: docs/security.md
  std::string ended_early;                        // the reason; empty if it was not
  std::vector<std::string> not_tried;             // "indices beyond 2^31: need --effort deep": what, and why
  Coverage coverage;                              // the classes of the judged calls
  double seconds = 0;
};

}  // namespace softcheck::proptests
