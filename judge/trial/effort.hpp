#pragma once

#include <cstdint>
#include <string_view>

namespace softcheck::proptests {

/// How many calls the judge makes. quick: seconds, for every change; normal ("default"): a first verdict within ten
/// seconds for an f32 softmax on one core; deep: at least a million rows of every kernel; exhaustive: not a sample, but
/// all arguments of the ops that RowOp::arguments has a form for (judge/exhaustive/).
enum class Effort { quick, normal, deep, exhaustive };

const char* to_string(Effort effort);  // "quick", "default", "deep", "exhaustive"

/// throws   std::invalid_argument naming what exists
Effort parse_effort(std::string_view word);

/// The effort in SOFTCHECK_EFFORT, or otherwise if it is not set. (`./run test --deep` sets it.)
/// throws   std::invalid_argument when it is not the name of an effort
Effort effort_from_environment(Effort otherwise = Effort::quick);

/// The sizes of an effort.
struct EffortSize {
  int cases;                 // of each property
  std::uint64_t max_length;  // of a row
  std::uint64_t rows;        // in calls of many rows, in all; 0: none
  /// Length of a row with one peak above very many items, for bugs that only the longest rows show.
  std::uint64_t max_edge_length;
  /// Logits of one call that covers classes.
  std::uint64_t cover_elements;
  /// Covering arrays of all pairs of classes; 0: each class once, in some call.
  int covers;
};

EffortSize size_of(Effort effort);

}  // namespace softcheck::proptests
