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

/// What an exhaustive judgement knows between two calls: enough to go on from, with the same report at its end but for
/// times and what the kernel printed.
struct ExhaustiveState {
  std::string subject;          // of which kernel, by which contract, over which enumerations
  std::size_t enumeration = 0;  // that is being asked
  std::uint64_t block = 0;      // of it, the next
  std::vector<ExhaustiveStatement> statements;
  ClaimTallies::Sums sums;
  std::set<std::string> refused;  // names of enumerations
  std::set<std::string> notes;    // on calls
  struct Ladder {
    std::size_t rung = 0;
    std::string broken_at;
  };
  std::optional<Ladder> ladder;  // of the enumeration that is being asked, once it has one
  std::map<std::pair<std::size_t, int>, ArgumentError> places;
  std::size_t calls = 0, refused_calls = 0;
  double seconds = 0, processor_seconds = 0;
};

/// What is wrong with a file of --resume.
class ResumeError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The kernel with its library's size and time, the contract, the domain and the enumerations: a judgement of another
/// identity cannot go on from this one's state.
///
/// throws   std::invalid_argument when the kernel is a function of this program
std::string identity_of(const KernelSubject& subject, const std::vector<std::unique_ptr<Enumeration>>& enumerations);

/// Whether a state's statements are those of the enumerations, and have judged every row before the next block.
bool is_of(const ExhaustiveState& state, const std::vector<std::unique_ptr<Enumeration>>& enumerations);

/// Writes beside the file, then renames: an interrupted write leaves the file as it was.
///
/// throws   ResumeError when the file cannot be written
void write_state(const ExhaustiveState& state, const std::string& file);

/// nothing where there is no such file
///
/// subject   of the judgement that wants to go on
/// throws    ResumeError when the file cannot be read, or is another judgement's
std::optional<ExhaustiveState> read_state(const std::string& file, const std::string& subject);

}  // namespace softcheck::proptests
