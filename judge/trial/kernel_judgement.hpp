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

/// Properties that the judge reports for every kernel, and judges if required: the same bits from a second call; the
/// same bits for a row with any neighbours and any layout. In-place is tried only if required: the same thresholds
/// where the output is the view of the first input, or of the upstream gradient.
struct Requirements {
  bool deterministic = false;
  bool batch_invariant = false;
  bool in_place = false;
  bool over_out_gradient = false;
};

/// Reads "deterministic,batch-invariant,in-place,in-place=out_gradient"; throws std::invalid_argument naming what
/// exists.
Requirements parse_requirements(std::string_view words);

/// Why no kernel of the op can be required to write over that input; empty where one can.
std::string refused_place(const Requirements& required, Op op);

/// parse_domain of an op's words; attention's attributes for attention alone: adaptive attention has none.
/// throws   std::invalid_argument
Domain domain_of(std::string_view words, Op op);

/// A kernel, its op and its contract.
struct KernelSubject {
  KernelSource source;
  Op op = Op::softmax;
  numerics::Contract contract;  // carries the formats of input and output
  Requirements required;
  std::set<std::string> exempt;  // claims it is known to break: noted where it does, and judged no further
  Domain domain;                 // the calls it is made for; no other is made
};

/// How far a judgement is.
struct JudgeProgress {
  std::string property;   // that is being run
  std::size_t done = 0;   // cases of all properties
  std::size_t cases = 0;  // that there will be, if none fails
  double seconds = 0;     // so far
};

/// Part of the arguments of exhaustive effort, for tests: numbers from first to before last, by their bits. Of formats
/// of 32 bits and more these are those of -x, of others those of a row's first logit. Widths are then left out.
struct ArgumentRange {
  std::uint64_t first = 0;
  std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  bool everything() const { return *this == ArgumentRange{}; }
  friend bool operator==(const ArgumentRange&, const ArgumentRange&) = default;
};

struct JudgeOptions {
  RunOptions run;                                     // cases of each property
  std::uint64_t max_length = std::uint64_t{1} << 17;  // of a row
  KernelLimits limits;
  Effort effort = Effort::normal;  // decides what is tried at all: huge tensors, calls of many rows
  std::uint64_t rows = 0;          // in calls of many rows, in all; 0: no such calls
  // EffortSize says what these are.
  std::uint64_t max_edge_length = std::uint64_t{1} << 17;
  std::uint64_t cover_elements = std::uint64_t{1} << 17;
  int covers = 0;
  ArgumentRange arguments = {};  // of exhaustive effort
  /// Of exhaustive effort: a file that keeps what is known, and that a second judgement goes on from; empty: none. It
  /// stays, also of a judgement that is done.
  std::string resume = {};
  /// Only the properties of these names, "EveryWidthIsComputed"; empty: all.
  std::vector<std::string> only = {};
  std::function<void(const JudgeProgress&)> progress = {};  // told before each case
  /// At this time, or when interrupted() returns true, the judge ends the current call. The judgement then has the
  /// results so far: undecided unless something failed.
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::function<bool()> interrupted = {};
  /// After this time, where there is no deadline, the judge leaves out the cases that are left, and names them.
  std::chrono::steady_clock::duration enough = std::chrono::steady_clock::duration::max();
  /// Calls of the kernel, all properties together; 0: any number. The judge chooses cases so that each property has
  /// some, and names what it left out.
  std::uint64_t max_calls = 0;
};

/// Cases, longest row and rows of an effort, the rest at its default.
JudgeOptions judge_options(Effort effort);

/// The same, with calls, cases and shrinks that its deadline or the user can end.
JudgeOptions interruptible(JudgeOptions options);

struct PropertyFinding {
  std::string name;
  Outcome outcome;
  ReportVerdict verdict;
  bool found_by_another = false;  // its case is one that another property drew
};

struct KernelJudgement {
  ReportVerdict verdict = ReportVerdict::undecided;
  std::vector<PropertyFinding> properties;  // in the order they were run
  std::string failed_property;              // of the counterexample
  std::optional<Counterexample> counterexample;
  std::shared_ptr<const TensorCall> passed;  // the call of it that failed, as the kernel got it; null: not known
  VacuityCount vacuity;
  std::size_t calls = 0;
  std::size_t refused = 0;
  std::size_t rows = 0;  // judged
  std::size_t printed_bytes = 0;
  std::vector<std::string> printed_lines;         // the last of them
  std::vector<std::string> notes;                 // what was seen and is no verdict: output, reruns that differ
  std::vector<std::string> refusals = {};         // "refused 3 calls with a mask", by the kind of call
  std::map<std::string, ErrorStatistics> errors;  // by claim
  std::string isolation;                          // what kept the kernel from the judge: docs/security.md
  std::string ended_early;                        // by what; empty: it was not
  std::vector<std::string> not_tried;             // "indices beyond 2^31: need --effort deep": what, and why
  Coverage coverage;                              // what the judged calls were made of
  double seconds = 0;
};

}  // namespace softcheck::proptests
