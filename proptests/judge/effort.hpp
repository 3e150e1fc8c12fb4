#pragma once

#include <cstdint>
#include <string_view>

namespace softcheck::proptests {

/// How long to look. quick: seconds, for every change; normal ("default"): a first verdict within ten seconds for an
/// f32 softmax on one core; deep: at least a million rows of every kernel.
enum class Effort { quick, normal, deep };

const char* to_string(Effort effort);  // "quick", "default", "deep"

/// throws   std::invalid_argument naming what exists
Effort parse_effort(std::string_view word);

/// What SOFTCHECK_EFFORT says (`./run test --deep` sets it), otherwise where it is not set.
/// throws   std::invalid_argument when it holds no such word
Effort effort_from_environment(Effort otherwise = Effort::quick);

/// What an effort comes to.
struct EffortSize {
  int cases;                 // of each property
  std::uint64_t max_length;  // of a row
  std::uint64_t rows;        // in calls of many rows, in all; 0: none
  /// Of a row with one peak above very many items: what only the longest rows show.
  std::uint64_t max_edge_length;
  /// Logits of one call that covers classes.
  std::uint64_t cover_elements;
  /// Covering arrays of all pairs of classes; 0: each class once, in some call.
  int covers;
};

EffortSize size_of(Effort effort);

}  // namespace softcheck::proptests
