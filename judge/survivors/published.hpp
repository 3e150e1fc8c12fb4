#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "judge/survivors/criterion.hpp"

// The parts of published_criteria(): the cases of each, by the name of its line in published.tsv.
namespace softcheck::proptests {

struct NamedCases {
  std::string_view name;
  CriterionCases cases;
};

std::vector<NamedCases> softmax_cases();     // of softmax, log-softmax and log-sum-exp
std::vector<NamedCases> row_cases_of_ops();  // of other ops of rows: gradients, merges, routers, top-p, sparsemax
std::vector<NamedCases> loss_cases();        // of cross-entropy and its gradient
std::vector<NamedCases> attention_cases();   // of attention and its gradient
std::vector<NamedCases> checker_cases();     // of tools that decide about any kernel; their lines are in checkers.tsv

using Rules = std::vector<Comparison>;
Rules allclose(double absolute, double relative);
Rules allclose_of_got(double absolute, double relative);

/// How one number is drawn.
using Value = std::function<double(Draw&)>;
Value normal(double deviation = 1);
Value uniform(double low, double high);

struct MatrixShape {
  std::int64_t rows, columns;
};
/// Each of the rows with each of the columns; the latter run fastest.
std::vector<MatrixShape> shapes_of(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns);
/// A case of each shape, of as many rows as are taken (rows_taken), its logits drawn one by one.
CriterionCases matrices(std::vector<MatrixShape> shapes, Value value, Rules rules);

}  // namespace softcheck::proptests
