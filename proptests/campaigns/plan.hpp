#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/judge/kernel_judge.hpp"

namespace softcheck::proptests {

/// One kernel, judged once: what a line of a campaign is about.
struct AskedJudgement {
  KernelSubject subject;  // its library as the plan names it: relative to a folder that each machine chooses
  Effort effort = Effort::quick;
  std::uint64_t seed = RunOptions{}.seed;
  std::optional<int> cases = {};  // of each property; none: the effort's
  double seconds_per_call = KernelLimits{}.seconds_per_call;

  /// All that decides the answer, on one line: the command that judges again. Two judgements with one text are the
  /// same.
  std::string text() const;
};

/// Judgements that one process makes and one file holds.
struct Shard {
  std::string key;  // of its judgements' texts alone: 16 hexadecimal digits
  std::vector<AskedJudgement> judgements;
};

/// A campaign. Its shards depend on the plan alone: not on machines, workers, or what has been judged already.
struct Plan {
  std::string name;           // a title; empty: none
  std::string hash;           // of all judgements and how they are split, in 64 hexadecimal digits
  std::vector<Shard> shards;  // in the plan's order
  std::size_t judgements() const;
};

/// A plan that cannot be read: "plan.toml:3: need ..., got ...".
class PlanError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// Reads a plan in TOML; docs/campaigns.md lists its keys. A judgement that the plan names twice is made once.
///
/// name     of the file, for messages
/// throws   PlanError
Plan parse_plan(std::string_view text, std::string_view name);

}  // namespace softcheck::proptests
