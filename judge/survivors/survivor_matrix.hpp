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

/// A criterion, or the judge itself, over all kernels of the matrix.
struct SurvivorLine {
  std::string name;
  std::vector<CriterionVerdict> verdicts;  // of each kernel
  std::size_t cases = 0;
  std::size_t uncounted_cases = 0;  // of bugs: where a correct kernel fails as well

  struct Count {
    std::size_t accepted = 0;
    std::size_t applicable = 0;
  };
};

struct SurvivorMatrix {
  std::vector<Criterion> criteria;
  std::vector<ZooKernel> kernels;  // bugs by class, then the correct ones
  std::vector<SurvivorLine>
      lines;  // as criteria, checkers behind tests, by op, the most accepting first; the judge last
  std::vector<std::string> left_out;  // rows of the zoo that are neither

  /// Of the kernels of one kind that a line applies to, how many it accepts.
  SurvivorLine::Count count(const SurvivorLine& line, ZooKernelKind kind) const;
  /// Does the judge, the last line, accept no bug, and every correct kernel that it applies to?
  bool judge_is_right() const;
};

struct SurvivorOptions {
  std::uint64_t seed = RunOptions{}.seed;
  bool judged = true;                              // false: the judge's own line says that it does not apply
  Effort effort = Effort::quick;                   // of the judge
  double seconds_per_call = 3;                     // a kernel that takes longer hangs
  std::filesystem::path folder;                    // of the libraries
  unsigned workers = 0;                            // processes; 0: one for each processor, at most 4
  std::function<void(std::string_view)> progress;  // told what is being done; may be empty
};

/// Every criterion, and the judge, over every bug and every correct kernel of the zoo (CriterionRun). The same seed,
/// effort and libraries give the same matrix, with any number of workers.
/// throws   std::runtime_error when a kernel cannot be loaded, or a worker dies
SurvivorMatrix survivor_matrix(std::vector<Criterion> criteria, const std::vector<ZooKernel>& zoo,
                               const SurvivorOptions& options);

/// What made a matrix: stands in every file that shows it.
struct SurvivorOrigin {
  std::string version;  // "softcheck 0.1.0"
  std::string commit;
  std::string command;  // that makes it again
};

/// A line for each criterion: accepted bugs / bugs, rejected correct kernels / correct kernels, what it draws and
/// tolerates.
std::string to_table(const SurvivorMatrix& matrix);

/// The table's figures for pages: a line for each criterion after two lines of origin that begin with #.
std::string to_tsv(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// The table, a matrix of bugs against criteria, the sources and what was left out: plain text.
std::string to_text(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// criterion,kernel,op,dtype,class,kind,verdict after three lines of origin that begin with #.
std::string to_csv(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// A picture of the matrix: criteria against bugs, grouped by class, with the shares beside it.
std::string to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

/// A picture for a page: a bar for each criterion, the share of the bugs that it accepts.
std::string shares_to_svg(const SurvivorMatrix& matrix, const SurvivorOrigin& origin);

}  // namespace softcheck::proptests
