#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "judge/exhaustive/claim_tallies.hpp"
#include "judge/exhaustive/enumeration.hpp"
#include "judge/exhaustive/exhaustive_judge.hpp"

namespace softcheck::proptests {

/// The state of an exhaustive judgement between two calls. A judgement that continues from it ends with the same
/// report, except for times and printed output.
struct ExhaustiveState {
  std::string subject;          // kernel, contract and enumerations
  std::size_t enumeration = 0;  // the current one
  std::uint64_t block = 0;      // its next block
  std::vector<ExhaustiveStatement> statements;
  ClaimTallies::Sums sums;
  std::set<std::string> refused;  // names of enumerations
  std::set<std::string> notes;    // about calls
  struct Ladder {
    std::size_t rung = 0;
    std::string broken_at;
  };
  std::optional<Ladder> ladder;  // of the current enumeration; nothing if it has none yet
  std::map<std::pair<std::size_t, int>, ArgumentError> places;
  std::size_t calls = 0, refused_calls = 0;
  double seconds = 0, processor_seconds = 0;
};

/// The error of a file of --resume.
class ResumeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Identifies the judgement: the kernel with its library's size and time, the contract, the domain and the
/// enumerations. A judgement can only resume from a state with the same identity.
///
/// throws   std::invalid_argument if the kernel is a function of this program
std::string identity_of(const KernelSubject& subject, const std::vector<std::unique_ptr<Enumeration>>& enumerations);

/// Do a state's statements belong to these enumerations, and cover every row before the next block?
bool is_of(const ExhaustiveState& state, const std::vector<std::unique_ptr<Enumeration>>& enumerations);

/// Writes to a temporary file and renames it: an interrupted write leaves the file unchanged.
///
/// throws   ResumeError if the file cannot be written
void write_state(const ExhaustiveState& state, const std::string& file);

/// Nothing if there is no such file.
///
/// subject   of the judgement that continues
/// throws    ResumeError if the file cannot be read, or belongs to another judgement
std::optional<ExhaustiveState> read_state(const std::string& file, const std::string& subject);

}  // namespace softcheck::proptests
