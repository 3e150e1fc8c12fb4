#pragma once

#include <Eigen/Core>
#include <span>

#include "models/architectures/description.hpp"

namespace softcheck::models {

/// Tokens of one input among those of all.
struct TokenRange {
  Eigen::Index first = 0;
  Eigen::Index count = 0;
};

/// x / sqrt(mean x^2 + epsilon), or (x - mean) / sqrt(variance + epsilon), then gain and offset: each group of width
/// rows of a column by itself.
///
/// gain     (width), or all rows'
/// offset   as gain; empty: none
void normalise_rows(Eigen::MatrixXd& rows, NormKind kind, double epsilon, Eigen::Index width,
                    const Eigen::VectorXd& gain, const Eigen::VectorXd& offset = {});

/// Turns the head_dim rows of each head by the position of the column's token in its input.
void rotate_rows(Eigen::MatrixXd& rows, Eigen::Index head_dim, const Rotary& rotary,
                 std::span<const TokenRange> inputs);

}  // namespace softcheck::models
