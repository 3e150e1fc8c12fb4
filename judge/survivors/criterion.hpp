#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "judge/survivors/comparison.hpp"
#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {

/// What a published test asks of one output.
struct OutputWanted {
  std::vector<double> expected;         // values of the output's format
  std::vector<Comparison> comparisons;  // all must accept
};

/// One call that a published test makes, and what it asks of the outputs.
struct CriterionCase {
  TensorCall call;
  std::vector<double> expected;           // of the first output, values of its format
  std::optional<std::size_t> same_as;     // in place of expected: what an earlier case's call returned
  std::size_t row_length = 1;             // of the first output
  std::vector<Comparison> comparisons;    // all must accept
  std::vector<OutputWanted> others = {};  // of the outputs behind the first
};

/// A published test of a kernel, re-enacted: its generator, shapes, dtype, tolerances and number of trials.
struct Criterion {
  std::string name;
  std::string source;  // repository, file and version that the facts are from
  std::string op = "softmax";
  numerics::Format format = numerics::Format::f32;
  std::string inputs;          // the generator, in words
  std::string shapes;          // in words; rows x columns
  std::string tolerance;       // in words
  std::string attribute = {};  // of attention: the domain's word for what its calls have; empty: calls have none
  /// Of attention: fewer queries than keys, and causality or a window that counts from the last ones. It says nothing
  /// of a kernel that counts from the first ones.
  bool from_the_end = false;
  std::string deviation =
      {};  // where the re-enactment differs from the source, beyond what holds for all; may be empty
  std::function<std::vector<CriterionCase>(Draw&)> cases;
};

/// The re-enacted criteria, each cited. Everything is computed anew from published facts:
/// - expected values are the exact ones, to within 2^-45, rounded to the dtype: the sources take another kernel's
/// - where a source takes more than max(2, 2^16 / columns) rows, that many are taken; of attention a few
///   batches, heads and queries (taken() in attention_case.hpp)
/// - random numbers are ours, from one seed
/// - rows of tensors with more dimensions are laid one after the other
std::vector<Criterion> published_criteria();

/// The cases of a criterion for a seed; criteria draw independently of one another.
std::vector<CriterionCase> draw_cases(const Criterion& criterion, std::uint64_t seed);

}  // namespace softcheck::proptests
