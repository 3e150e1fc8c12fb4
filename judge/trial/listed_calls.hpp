#pragma once

#include <cstdint>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

// The calls of row ops that an effort lists.
namespace softcheck::proptests {

/// Rows of every width, including the listed widths, in matrices with as many rows as the domain allows.
std::vector<RowMatrixCase> sweep_for(const KernelSubject& subject, const JudgeOptions& options);

/// Rows with most of their sum far from the maximum, as long as the contract and the domain allow.
std::vector<RowMatrixCase> far_masses_for(const KernelSubject& subject, const JudgeOptions& options);

/// The matrix with vectors narrow enough that they have at most most_elements elements.
RowMatrixCase narrowed(RowMatrixCase matrix, Op op, std::uint64_t most_elements);

/// Calls with the shapes of published programs: all, or some at quick effort.
std::vector<RowMatrixCase> known_for(const KernelSubject& subject, const JudgeOptions& options);

/// Sorts greedily: first the call with the most classes of matrix_dimensions(), then the one that adds the most new
/// classes, and so on, so that the first few calls cover many classes. Of equal calls the smaller comes first.
void order_by_new_classes(std::vector<RowMatrixCase>& matrices);

}  // namespace softcheck::proptests
