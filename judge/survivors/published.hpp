#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "judge/survivors/criterion.hpp"

// The parts of published_criteria(): cases by the name of their line in published.tsv.
namespace softcheck::proptests {

struct NamedCases {
  std::string_view name;
  CriterionCases cases;
};

std::vector<NamedCases> softmax_cases();     // of softmax, log-softmax and log-sum-exp
std::vector<NamedCases> row_cases_of_ops();  // other row ops: gradients, merges, routers, top-p, sparsemax
std::vector<NamedCases> loss_cases();        // of cross-entropy and its gradient
std::vector<NamedCases> attention_cases();   // of attention and its gradient
std::vector<NamedCases> checker_cases();     // of tools that decide about any kernel; their lines are in checkers.tsv

using Rules = std::vector<Comparison>;
Rules allclose(double absolute, double relative);
Rules allclose_of_got(double absolute, double relative);

/// Draws one number.
using Value = std::function<double(Draw&)>;
Value normal(double deviation = 1);
Value uniform(double low, double high);

struct MatrixShape {
  std::int64_t rows, columns;
};
/// All combinations of rows and columns; columns vary fastest.
std::vector<MatrixShape> shapes_of(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns);
/// One case per shape, with rows_taken() rows and independently drawn logits.
CriterionCases matrices(std::vector<MatrixShape> shapes, Value value, Rules rules);

}  // namespace softcheck::proptests
