#include "models/bounds/token_table.hpp"

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::models {
namespace {

void centre(CentredVectors& columns, NormKind kind) {
  if (kind != NormKind::layer_norm) return;
  const Eigen::RowVectorXd means = columns.vectors.colwise().mean();
  columns.vectors.rowwise() -= means;
}

}  // namespace

const StoredTensor& TokenTable::stored(const std::string& name) const {
  const StoredTensor* tensor = checkpoint_.find(name);
  if (tensor == nullptr) throw TensorFileError(checkpoint_.path() + ": need a tensor '" + name + "', got none");
  return *tensor;
}

MatrixXd TokenTable::rows(const StoredTensor& tensor, IndexRange rows) const {
  TensorBlock block = checkpoint_.read(tensor, rows, {0, tensor.columns()});
  if (block.radius != 0) {
    throw UnsupportedTensorFile(checkpoint_.path() + ": tensor '" + tensor.name + "': its numbers are no doubles");
  }
  return block.values.transpose();
}

TokenTable::TokenTable(const Checkpoint& checkpoint, const TokenInputs& inputs, NormKind kind)
    : checkpoint_(checkpoint), inputs_(inputs), kind_(kind), tokens_(&stored(inputs.tokens)) {
  const Index d = tokens_->columns();
  positions_ = type_rows_ = MatrixXd::Zero(d, 1);
  if (!inputs.positions.empty()) positions_ = rows(stored(inputs.positions), inputs.position_rows);
  if (!inputs.types.empty()) {
    const StoredTensor& table = stored(inputs.types);
    type_rows_ = rows(table, {0, table.rows()});
  }
  types_ = type_rows_.cols();
  added_.vectors.resize(d, positions_.cols() * types_);
  for (Index position = 0; position < positions_.cols(); ++position) {
    for (Index type = 0; type < types_; ++type) {
      added_.vectors.col(position * types_ + type) = positions_.col(position) + type_rows_.col(type);
    }
  }
  // A sum's size is that of both its parts, which its rounding is a share of.
  added_.sizes.resize(added_.vectors.cols());
  const VectorXd of_positions = numerics::column_norms(positions_), of_types = numerics::column_norms(type_rows_);
  for (Index i = 0; i < added_.sizes.size(); ++i) added_.sizes(i) = of_positions(i / types_) + of_types(i % types_);
  centre(added_, kind_);
}

CentredVectors TokenTable::block(IndexRange tokens) const {
  CentredVectors result{rows(*tokens_, tokens), {}};
  result.sizes = numerics::column_norms(result.vectors);
  centre(result, kind_);
  return result;
}

BallMatrix TokenTable::normalised(const TokenInput& input) const {
  const VectorXd token = rows(*tokens_, {input.token, 1});
  const Index d = token.size();
  std::vector<Enclosure> x;
  Enclosure mean;
  for (Index i = 0; i < d; ++i) {
    x.push_back(Enclosure(token(i)) + Enclosure(positions_(i, input.added / types_)) +
                Enclosure(type_rows_(i, input.added % types_)));
    mean = mean + x.back();
  }
  const Enclosure count = Enclosure(static_cast<double>(d));
  mean = kind_ == NormKind::layer_norm ? mean / count : Enclosure();
  Enclosure squares;
  for (Enclosure& entry : x) {
    entry = entry - mean;
    squares = squares + square(entry);
  }
  const Enclosure deviation = sqrt(squares / count + Enclosure(inputs_.epsilon));
  BallMatrix z{MatrixXd(d, 1), MatrixXd(d, 1)};
  for (Index i = 0; i < d; ++i) {
    const Enclosure entry = x[static_cast<std::size_t>(i)] / deviation;
    const Enclosure middle(entry.midpoint());
    z.middle(i, 0) = entry.midpoint();
    z.radius(i, 0) = maximum(entry - middle, middle - entry).upper_double();
  }
  return z;
}

}  // namespace softcheck::models
