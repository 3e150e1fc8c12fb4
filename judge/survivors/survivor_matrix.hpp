#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "judge/survivors/criterion_run.hpp"
#include "judge/trial/effort.hpp"
#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// The verdicts of a criterion, or of the judge itself, on all kernels of the matrix.
struct SurvivorLine {
  std::string name;
  std::vector<CriterionVerdict> verdicts;  // one per kernel
  std::size_t cases = 0;
  std::size_t uncounted_cases = 0;  // of bugs: cases that a correct kernel fails, too

  struct Count {
    std::size_t accepted = 0;
    std::size_t applicable = 0;
  };
};

struct SurvivorMatrix {
  std::vector<Criterion> criteria;
  std::vector<ZooKernel> kernels;     // bugs by class, then the correct ones
  std::vector<SurvivorLine> lines;    // tests before checkers, by op, most accepting first; the judge last
  std::vector<std::string> left_out;  // rows of the zoo of kind `neither`

  /// Number of kernels of this kind that the line accepts, of those that it applies to.
  SurvivorLine::Count count(const SurvivorLine& line, ZooKernelKind kind) const;
  /// The criteria of this op and dtype alone, and the judge.
  SurvivorMatrix of(std::string_view op, numerics::Format format) const;
  /// Does the judge, the last line, reject every bug, and accept every correct kernel that it applies to?
  bool judge_is_right() const;
};

struct SurvivorOptions {
  std::uint64_t seed = RunOptions{}.seed;
  bool judged = true;                              // false: the judge's line is not applicable everywhere
  Effort effort = Effort::quick;                   // of the judge
  double seconds_per_call = 3;                     // a slower kernel counts as hanging
  std::filesystem::path folder;                    // with the libraries
  unsigned workers = 0;                            // processes; 0: one per processor, at most 4
  std::function<void(std::string_view)> progress;  // receives what is being done; may be empty
};

/// The verdicts of every criterion, and of the judge, on every bug and correct kernel of the zoo (CriterionRun). The
/// same seed, effort and libraries give the same matrix with any number of workers.
/// throws   std::runtime_error if a kernel cannot be loaded, or a worker dies
SurvivorMatrix survivor_matrix(std::vector<Criterion> criteria, const std::vector<ZooKernel>& zoo,
                               const SurvivorOptions& options);

/// The origin of a matrix, for every file that shows it.
struct SurvivorOrigin {
  std::string version;  // "softcheck 0.1.0"
  std::string commit;
  std::string command;  // makes it again
};

/// One line per criterion: accepted bugs / bugs, rejected correct kernels / correct kernels, its inputs and its
/// tolerance.
std::string to_table(const SurvivorMatrix& matrix);

/// The figures of the table for pages, as tab-separated lines: two comment lines with the origin, then one line per
/// criterion.
std::string to_tsv(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// The table, a matrix of bugs against criteria, the sources, and what was left out, as plain text.
std::string to_text(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// criterion,kernel,op,dtype,class,kind,verdict, after three lines of origin that begin with #.
std::string to_csv(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// A picture of the matrix: criteria against bugs, grouped by class, and the shares.
std::string to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// A picture for a page: one bar per criterion, the share of the bugs that it accepts.
std::string shares_to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

}  // namespace softcheck::proptests
