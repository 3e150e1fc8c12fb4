#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "judge/call/tensor_call.hpp"
#include "proptests/generators/drawing/draw.hpp"

namespace softcheck::proptests {

/// How a published test decides whether what a kernel returned will do: one rule over a whole tensor.
struct Comparison {
  enum class Rule {
    allclose,              // |got - expected| <= absolute + relative |expected|, each element (NumPy, PyTorch)
    allclose_or_equal,     // the same, or both NaN, or the same infinity
    allclose_of_got,       // |got - expected| <= absolute + relative |got|: torch.allclose(expected, got)
    squares,               // allclose of got^2 and expected^2
    larger_of_both,        // |got - expected| <= max(absolute, relative |expected|), each element (XNNPACK)
    square_sum,            // sum (got - expected)^2 <= absolute, over all
    saved_counts,          // of each row as many elements other than 0, to within absolute, or relative of the most
    mean_square,           // sum (got - expected)^2 / sum got^2 <= relative, nothing NaN or infinite (ggml)
    relative_or_epsilon,   // benchdnn: relative where |expected| > 1e-5, absolute below; or within an f32 epsilon
    row_sums,              // |sum of a row - 1| <= absolute + relative
    total,                 // |sum of all - rows| <= absolute
    between_zero_and_one,  // each element
    first_takes_all        // the first of each row > 1 - absolute, the others < absolute
  };
  Rule rule = Rule::allclose;
  double absolute = 0;
  double relative = 0;
};

/// Does the rule accept? A NaN is accepted by allclose_or_equal alone, where one is expected.
///
/// got, expected   as many; row_length divides them
bool accepts(const Comparison& comparison, std::span<const double> got, std::span<const double> expected,
             std::size_t row_length);

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

struct Criterion;
using CriterionCases = std::function<std::vector<CriterionCase>(Draw&, const Criterion&)>;

/// A published test of a kernel, re-enacted: its generator, shapes, dtype, tolerances and number of trials.
struct Criterion {
  std::string name;
  std::string source;  // repository, file and version that the facts are from
  std::string op = "softmax";
  numerics::Format format = numerics::Format::f32;
  std::string inputs;          // the generator, in words
  std::string shapes;          // in words; rows x columns
  std::string tolerance;       // in words
  bool checker = false;        // a tool that decides about any kernel, not a project's test of its own
  std::string attribute = {};  // of attention: the domain's word for what its calls have; empty: calls have none
  /// Of attention: fewer queries than keys, and causality or a window that counts from the last ones. It says nothing
  /// of a kernel that counts from the first ones.
  bool from_the_end = false;
  std::string deviation =
      {};  // where the re-enactment differs from the source, beyond what holds for all; may be empty
  CriterionCases cases;
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
