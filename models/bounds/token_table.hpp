#pragma once

#include <Eigen/Core>

#include "models/architectures/description.hpp"
#include "models/bounds/dense.hpp"

namespace softcheck::models {

/// One input of the first layer: a token, and which combination of a position and a type is added to it.
struct TokenInput {
  std::int64_t token = 0;
  std::int64_t added = 0;
};

/// Vectors as columns, each less its mean where the norm takes it away, and how long they were before.
struct CentredVectors {
  Eigen::MatrixXd vectors;  // (d, count); off by at most (d + 4) 2^-53 size
  Eigen::VectorXd sizes;    // (count) >= |x|
};

/// What the first layer's norm reads, x = token + position + type, a block of tokens at a time: the sums of positions
/// and types are in memory, the table of tokens never is.
class TokenTable {
 public:
  /// throws   UnsupportedTensorFile where a table's numbers are no doubles
  TokenTable(const Checkpoint& checkpoint, const TokenInputs& inputs, NormKind kind);

  std::int64_t tokens() const { return tokens_->rows(); }
  std::int64_t width() const { return tokens_->columns(); }
  const CentredVectors& added() const { return added_; }
  double epsilon() const { return inputs_.epsilon; }
  std::int64_t position_of(std::int64_t added) const { return added / types_; }

  CentredVectors block(IndexRange tokens) const;
  /// z = (x - mean) / sqrt(var + epsilon), at an RMSNorm without the mean: (d, 1), certain.
  numerics::BallMatrix normalised(const TokenInput& input) const;

 private:
  Eigen::MatrixXd rows(const StoredTensor& tensor, IndexRange rows) const;
  const StoredTensor& stored(const std::string& name) const;

  const Checkpoint& checkpoint_;
  const TokenInputs& inputs_;
  NormKind kind_;
  const StoredTensor* tokens_ = nullptr;
  Eigen::MatrixXd positions_, type_rows_;  // (d, count), a column of zeros where there is none
  std::int64_t types_ = 1;
  CentredVectors added_;
};

}  // namespace softcheck::models
