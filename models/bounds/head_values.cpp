#include "models/bounds/head_values.hpp"

#include <algorithm>
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

// The last coordinates first.
AffineImage turned_first(const AffineImage& image, Index turned) {
  const Index size = image.gram.rows();
  Eigen::PermutationMatrix<Eigen::Dynamic> order(size);
  for (Index i = 0; i < size; ++i) order.indices()[i] = static_cast<int>((i + turned) % size);
  const auto moved = [&](const MatrixXd& m) {
    return m.cols() == 1 ? MatrixXd(order * m) : MatrixXd(order * m * order.transpose());
  };
  return {{moved(image.gram.middle), moved(image.gram.radius)},
          {moved(image.offset.middle), moved(image.offset.radius)},
          image.radius_square};
}

}  // namespace

MatrixXd HeadReader::numbers(const std::string& name, IndexRange rows, IndexRange columns) const {
  const StoredTensor* tensor = checkpoint_.find(name);
  if (tensor == nullptr) throw TensorFileError(checkpoint_.path() + ": need a tensor '" + name + "', got none");
  TensorBlock block = checkpoint_.read(*tensor, rows, columns);
  if (block.radius != 0) {
    throw UnsupportedTensorFile(checkpoint_.path() + ": tensor '" + name + "': its numbers are no doubles");
  }
  return std::move(block.values);
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

HeadMap HeadReader::folded(const InputNorm& description, const BallMatrix& weights, const VectorPlace& bias) {
  const Norm& input = norm(description, weights.rows());
  const BallMatrix added =
      BallMatrix::exactly(bias.tensor.empty() ? MatrixXd(MatrixXd::Zero(weights.cols(), 1)) : MatrixXd(vector(bias)));
  const bool without_offset = description.offset.tensor.empty();
  return {folded_transposed(weights, input.gain, description.kind),
          without_offset ? added : inner_products(weights, input.offset) + added};
}

ProjectionValues HeadReader::projection(const InputNorm& input, const MatrixPlace& place, const VectorPlace& bias) {
  const BallMatrix weights = stored(place);
  HeadMap map = folded(input, weights, bias);
  ProjectionValues values;
  values.sigma = sigma_of_gram(symmetrised(inner_products(weights, weights)));
  values.input_norm = norm(input, weights.rows()).input_norm;
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
  ProjectionValues values = projection(*head.input_norm, head.query, head.query_bias);
  if (head.turned_key) values.image = turned_first(values.image, head.turned_key->matrix.outputs.count);
  return values;
}

ProjectionValues HeadReader::two_part_key(const HeadDescription& head, const ProjectionValues& query) {
  const ProjectionValues turned = projection(head.turned_key->norm, head.turned_key->matrix, {});
  const ProjectionValues own = projection(key_norm(head), head.key, head.key_bias);
  const Index first = turned.image.gram.rows(), rest = own.image.gram.rows();
  ProjectionValues values;
  values.image.gram = BallMatrix::exactly(MatrixXd::Zero(first + rest, first + rest));
  values.image.offset = BallMatrix::exactly(MatrixXd::Zero(first + rest, 1));
  const auto place = [](BallMatrix& into, Index at, const BallMatrix& block) {
    const Index column = block.cols() == 1 ? 0 : at;
    into.middle.block(at, column, block.rows(), block.cols()) = block.middle;
    into.radius.block(at, column, block.rows(), block.cols()) = block.radius;
  };
  place(values.image.gram, 0, turned.image.gram);
  place(values.image.gram, first, own.image.gram);
  place(values.image.offset, 0, turned.image.offset);
  place(values.image.offset, first, own.image.offset);
  // All (B1 z1, B2 z2) with |z1|^2 <= r1, |z2|^2 <= r2 are (w1 B1 y1, w2 B2 y2) with |y|^2 <= 1 where r1 / w1^2 +
  // r2 / w2^2 <= 1. The shares w minimise the mean square of this query's products; `more` covers roundings.
  const auto mean = [&](Index at, const AffineImage& part) {
    const Index size = part.gram.rows();
    return part.radius_square * query.image.gram.middle.block(at, at, size, size).cwiseProduct(part.gram.middle).sum();
  };
  const double ratio = std::clamp(
      std::sqrt(std::max(mean(first, own.image), 1e-300) / std::max(mean(0, turned.image), 1e-300)), 1e-6, 1e6);
  VectorXd weights(first + rest);
  const double more = 1 + 0x1p-40;
  weights.head(first).setConstant(std::sqrt(turned.image.radius_square * (1 + ratio)) * more);
  weights.tail(rest).setConstant(std::sqrt(own.image.radius_square * (1 + 1 / ratio)) * more);
  values.image.radius_square = 1;
  values.image = values.image.scaled(BallMatrix::exactly(weights));
  values.sigma = sigma_of_gram(values.image.gram);
  values.input_norm = Enclosure(1);
  return values;
}

const ProjectionValues& HeadReader::key(const HeadDescription& head) {
  const std::string name =
      head.head_norm ? head.head_norm->key_gain.tensor + "\n" + std::to_string(head.head_norm->key_gain.entries.first)
                     : head.key.tensor + "\n" + std::to_string(head.key.outputs.first) + "\n" + head.key_bias.tensor +
                           "\n" + key_norm(head).gain.tensor + "\n" + key_norm(head).offset.tensor;
  if (key_name_ == name) return key_;
  key_ = head.head_norm ? normed(head.head_norm->key_gain, head.head_norm->gain_plus_one, head.head_norm->key_width)
                        : projection(key_norm(head), head.key, head.key_bias);
  key_name_ = name;
  return key_;
}

std::optional<double> HeadReader::sink(const HeadDescription& head) const {
  if (head.sink.tensor.empty()) return std::nullopt;
  return vector(head.sink)(0);
}

VectorXd HeadReader::distance_bias(const DistanceBias& bias) const {
  const StoredTensor* tensor = checkpoint_.find(bias.table);
  return numbers(bias.table, {0, tensor != nullptr ? tensor->rows() : 0}, {bias.head, 1});
}

}  // namespace softcheck::models
