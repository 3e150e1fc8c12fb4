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

/// A published test's rule for accepting a kernel's result: one rule over a whole tensor.
struct Comparison {
  enum class Rule {
    allclose,              // |got - expected| <= absolute + relative |expected|, each element (NumPy, PyTorch)
    allclose_or_equal,     // the same, or both NaN, or the same infinity
    allclose_of_got,       // |got - expected| <= absolute + relative |got|: torch.allclose(expected, got)
    squares,               // allclose of got^2 and expected^2
    larger_of_both,        // |got - expected| <= max(absolute, relative |expected|), each element (XNNPACK)
    square_sum,            // sum (got - expected)^2 <= absolute, over all
    saved_counts,          // the number of nonzero elements per row, within absolute, or relative to the largest number
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

/// Does the rule accept the result? Only allclose_or_equal accepts a NaN, where one is expected.
///
/// got, expected   same size, a multiple of row_length
bool accepts(const Comparison& comparison, std::span<const double> got, std::span<const double> expected,
             std::size_t row_length);

/// What a published test requires of one output.
struct OutputWanted {
  std::vector<double> expected;         // in the output's format
  std::vector<Comparison> comparisons;  // all must accept
};

/// One call of a published test, and what it requires of the outputs.
struct CriterionCase {
  TensorCall call;
  std::vector<double> expected;           // of the first output, in its format
  std::optional<std::size_t> same_as;     // in place of expected: the results of this earlier case
  std::size_t row_length = 1;             // of the first output
  std::vector<Comparison> comparisons;    // all must accept
  std::vector<OutputWanted> others = {};  // of the other outputs
};

struct Criterion;
using CriterionCases = std::function<std::vector<CriterionCase>(Draw&, const Criterion&)>;

/// A re-enacted published test of a kernel: its generator, shapes, dtype, tolerances and number of trials.
struct Criterion {
  std::string name;
  std::string source;  // repository, file and version
  std::string op = "softmax";
  numerics::Format format = numerics::Format::f32;
  std::string inputs;          // the generator, in words
  std::string shapes;          // in words; rows x columns
  std::string tolerance;       // in words
  bool checker = false;        // a tool that decides about any kernel, not a project's own test
  std::string attribute = {};  // for attention: the domain's word for its calls; empty: none
  /// For attention: the calls have fewer queries than keys, and causality or a window aligned to the last keys. Does
  /// not apply to kernels that align to the first keys.
  bool from_the_end = false;
  std::string deviation = {};  // differences between re-enactment and source, besides the general ones; may be empty
  CriterionCases cases;
};

/// The re-enacted criteria, each with its source. Everything is computed anew from published facts:
/// - expected values are exact up to 2^-45, then rounded to the dtype; the sources take another kernel's
/// - of more than max(2, 2^16 / columns) rows only that many are taken; of attention a few batches, heads and queries
///   (taken() in attention_case.hpp)
/// - random numbers are ours, from one seed
/// - rows of tensors with more dimensions are put one after the other
std::vector<Criterion> published_criteria();

/// The cases of a criterion for a seed. Criteria draw independently of each other.
std::vector<CriterionCase> draw_cases(const Criterion& criterion, std::uint64_t seed);

}  // namespace softcheck::proptests
