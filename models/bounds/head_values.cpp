#include "models/bounds/head_values.hpp"

#include <cmath>
#include <stdexcept>
#include <utility>

namespace softcheck::models {
namespace {

constexpr double unit = 0x1p-53;

// 1 + w, one rounding each.
BallMatrix plus_one(const BallMatrix& w) { return BallMatrix::exactly(MatrixXd::Ones(w.rows(), w.cols())) + w; }

Enclosure largest_magnitude(const BallMatrix& column) {
  Enclosure largest;
  for (Index i = 0; i < column.rows(); ++i) largest = maximum(largest, abs(column(i, 0)));
  return largest;
}

Enclosure norm_of(const BallMatrix& column) { return nonnegative_root(inner_product(column, column)); }

Enclosure sigma_of_gram(const BallMatrix& gram) {
  const LargestEigenvalue top = largest_eigenvalue(gram);
  return sqrt(Enclosure::between(top.lower, top.upper));
}

// (W diag(gain))^T, for a LayerNorm each of W's rows less its mean: (d, head_dim).
BallMatrix folded_transposed(const BallMatrix& weights, const BallMatrix& gain, NormKind kind) {
  const Index d = weights.rows();
  BallMatrix folded;
  const VectorXd size = gain.middle.cwiseAbs() + gain.radius;
  folded.middle = gain.middle.col(0).asDiagonal() * weights.middle;
  folded.radius = numerics::raised(unit * folded.middle.cwiseAbs(), 4);
  if ((gain.radius.array() != 0).any()) {
    folded.radius += numerics::raised(gain.radius.col(0).asDiagonal() * weights.middle.cwiseAbs(), 4);
  }
  if ((weights.radius.array() != 0).any()) folded.radius += numerics::raised(size.asDiagonal() * weights.radius, 4);
  if (kind == NormKind::layer_norm) {
    // A sum of d numbers is off by at most (d - 1) u times the sum of their sizes, the division by one rounding more.
    const Eigen::RowVectorXd means = folded.middle.colwise().mean();
    const MatrixXd off =
        (numerics::rounding_share(d + 1) * folded.middle.cwiseAbs().colwise().mean() + folded.radius.colwise().mean())
            .eval();
    folded.middle.rowwise() -= means;
    folded.radius =
        numerics::raised(folded.radius + numerics::raised(off, d).replicate(d, 1) + unit * folded.middle.cwiseAbs(), 8);
  }
  return folded;
}

}  // namespace

VectorXd HeadReader::vector(const VectorPlace& place) const {
  const StoredTensor* tensor = checkpoint_.find(place.tensor);
  if (tensor == nullptr) throw TensorFileError(checkpoint_.path() + ": need a tensor '" + place.tensor + "', got none");
  const TensorBlock block = checkpoint_.read(*tensor, {0, 1}, place.entries);
  if (block.radius != 0) {
    throw UnsupportedTensorFile(checkpoint_.path() + ": tensor '" + place.tensor + "': its numbers are no doubles");
  }
  return block.values.row(0).transpose();
}

const HeadReader::Norm& HeadReader::norm(const InputNorm& description, std::int64_t width) {
  const std::string name = description.gain.tensor + "\n" + description.offset.tensor;
  if (!norm_name_.empty() && norm_name_ == name) return norm_;
  const Index d = static_cast<Index>(width);
  norm_name_.clear();  // a tensor that cannot be read leaves half a norm
  norm_.gain = BallMatrix::exactly(description.gain.tensor.empty() ? MatrixXd(MatrixXd::Ones(d, 1))
                                                                   : MatrixXd(vector(description.gain)));
  if (description.gain_plus_one) norm_.gain = plus_one(norm_.gain);
  norm_.offset = BallMatrix::exactly(description.offset.tensor.empty() ? MatrixXd(MatrixXd::Zero(d, 1))
                                                                       : MatrixXd(vector(description.offset)));
  norm_.input_norm = largest_magnitude(norm_.gain) * sqrt(Enclosure(width)) + norm_of(norm_.offset);
  norm_name_ = name;
  return norm_;
}

ProjectionValues HeadReader::normed(const VectorPlace& gain, bool one_more, std::int64_t width) const {
  BallMatrix w = BallMatrix::exactly(vector(gain));
  if (one_more) w = plus_one(w);
  const BallMatrix squares = entrywise_product(w, w);
  ProjectionValues values;
  values.image.gram = {squares.middle.col(0).asDiagonal(), squares.radius.col(0).asDiagonal()};
  values.image.offset = BallMatrix::exactly(MatrixXd::Zero(w.rows(), 1));
  values.image.radius_square = static_cast<double>(width);
  values.sigma = largest_magnitude(w);
  values.gains = w;
  values.input_norm = sqrt(Enclosure(width));
  return values;
}

BallMatrix HeadReader::stored(const MatrixPlace& place) const {
  const StoredTensor* tensor = checkpoint_.find(place.tensor);
  if (tensor == nullptr) throw TensorFileError(checkpoint_.path() + ": need a tensor '" + place.tensor + "', got none");
  const IndexRange every{0, place.transposed ? tensor->rows() : tensor->columns()};
  BallMatrix weights;  // W^T (d, head_dim)
  TensorBlock block = place.transposed ? checkpoint_.read(*tensor, every, place.outputs)
                                       : checkpoint_.read(*tensor, place.outputs, every);
  weights.middle = place.transposed ? std::move(block.values) : MatrixXd(block.values.transpose());
  weights.radius = MatrixXd::Constant(weights.middle.rows(), weights.middle.cols(), block.radius);
  return weights;
}

HeadMap HeadReader::folded(const HeadDescription& head, const BallMatrix& weights, const VectorPlace& bias) {
  const Norm& input = norm(*head.input_norm, weights.rows());
  const BallMatrix added =
      BallMatrix::exactly(bias.tensor.empty() ? MatrixXd(MatrixXd::Zero(weights.cols(), 1)) : MatrixXd(vector(bias)));
  const bool without_offset = head.input_norm->offset.tensor.empty();
  return {folded_transposed(weights, input.gain, head.input_norm->kind),
          without_offset ? added : inner_products(weights, input.offset) + added};
}

ProjectionValues HeadReader::projection(const HeadDescription& head, const MatrixPlace& place,
                                        const VectorPlace& bias) {
  const BallMatrix weights = stored(place);
  HeadMap map = folded(head, weights, bias);
  ProjectionValues values;
  values.sigma = sigma_of_gram(symmetrised(inner_products(weights, weights)));
  values.input_norm = norm(*head.input_norm, weights.rows()).input_norm;
  values.bias_norm = norm_of(
      BallMatrix::exactly(bias.tensor.empty() ? MatrixXd(MatrixXd::Zero(weights.cols(), 1)) : MatrixXd(vector(bias))));
  values.image.offset = std::move(map.constant);
  values.image.gram = symmetrised(inner_products(map.linear, map.linear));
  values.image.radius_square = static_cast<double>(weights.rows());
  return values;
}

ProjectionValues HeadReader::query(const HeadDescription& head) {
  if (head.head_norm)
    return normed(head.head_norm->query_gain, head.head_norm->gain_plus_one, head.head_norm->query_width);
  return projection(head, head.query, head.query_bias);
}

const ProjectionValues& HeadReader::key(const HeadDescription& head) {
  const std::string name =
      head.head_norm ? head.head_norm->key_gain.tensor + "\n" + std::to_string(head.head_norm->key_gain.entries.first)
                     : head.key.tensor + "\n" + std::to_string(head.key.outputs.first) + "\n" + head.key_bias.tensor +
                           "\n" + head.input_norm->gain.tensor + "\n" + head.input_norm->offset.tensor;
  if (key_name_ == name) return key_;
  key_ = head.head_norm ? normed(head.head_norm->key_gain, head.head_norm->gain_plus_one, head.head_norm->key_width)
                        : projection(head, head.key, head.key_bias);
  key_name_ = name;
  return key_;
}

std::optional<double> HeadReader::sink(const HeadDescription& head) const {
  if (head.sink.tensor.empty()) return std::nullopt;
  return vector(head.sink)(0);
}

}  // namespace softcheck::models
