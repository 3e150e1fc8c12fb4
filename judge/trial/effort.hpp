#pragma once

#include <cstdint>
#include <string_view>

namespace softcheck::proptests {

/// How many calls the judge makes. quick: seconds, for every change; normal ("default"): a first verdict within ten
/// seconds for an f32 softmax on one core; deep: at least a million rows of every kernel; exhaustive: all arguments
/// instead of a sample, for ops with RowOp::arguments (judge/exhaustive/).
enum class Effort { quick, normal, deep, exhaustive };

const char* to_string(Effort effort);  // "quick", "default", "deep", "exhaustive"

/// throws   std::invalid_argument with the list of efforts
Effort parse_effort(std::string_view word);

/// The effort in SOFTCHECK_EFFORT, or `otherwise` if it is not set. `./run test --deep` sets it.
/// throws   std::invalid_argument if it does not name an effort
Effort effort_from_environment(Effort otherwise = Effort::quick);

/// The sizes of an effort.
struct EffortSize {
  int cases;                 // per property
  std::uint64_t max_length;  // of a row
  std::uint64_t rows;        // total in calls of many rows; 0: none
  /// Length of a row with one peak above very many items, for bugs that appear only in the longest rows.
  std::uint64_t max_edge_length;
  /// Most logits of one call that covers classes.
  std::uint64_t cover_elements;
  /// Covering arrays of all pairs of classes; 0: cover each single class in some call.
  int covers;
};

EffortSize size_of(Effort effort);

}  // namespace softcheck::proptests
