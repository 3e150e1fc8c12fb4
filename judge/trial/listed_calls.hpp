#pragma once

#include <cstdint>
#include <vector>

#include "judge/trial/kernel_judgement.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"

// The calls of an op of rows that an effort lists.
namespace softcheck::proptests {

/// Rows of every width, the listed ones among them, in matrices of as many rows as the domain has.
std::vector<RowMatrixCase> sweep_for(const KernelSubject& subject, const JudgeOptions& options);

/// Rows whose sum stands for the most part far from the maximum, as long as the contract and the domain let them be.
std::vector<RowMatrixCase> far_masses_for(const KernelSubject& subject, const JudgeOptions& options);

/// The matrix with vectors beside it that have no more elements than a call may have.
RowMatrixCase narrowed(RowMatrixCase matrix, Op op, std::uint64_t most_elements);

/// Calls of the shapes that published programs have: all, or at quick effort some.
std::vector<RowMatrixCase> known_for(const KernelSubject& subject, const JudgeOptions& options);

}  // namespace softcheck::proptests
