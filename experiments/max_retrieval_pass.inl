// Forward and backward pass of the max-retrieval network, templates over the scalar. Included by the training lanes, once
// for each instruction set: in an anonymous namespace, so that no linker takes the code of one for another's.

#include <Eigen/Core>
#include <cmath>
#include <cstddef>

#include "experiments/heads.inl"
#include "experiments/max_retrieval_layout.hpp"

namespace softcheck::experiments {
namespace {

template <class Scalar>
using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;
template <class Scalar>
using RowMajorMatrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Scalar>
using Vector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// Sets of one size, side by side. No owner: the arrays are the caller's.
template <class Scalar>
struct SetsView {
  int size = 0;                     // items in a set
  int count = 0;                    // sets
  const Scalar* items = nullptr;    // (item_features, count * size), column-major: an item is contiguous
  const Scalar* queries = nullptr;  // (count)
  const int* targets = nullptr;     // (count), the class of the item with the largest priority
  HeadKind head = HeadKind::softmax;
};

// The matrices of a pass. d_x is the gradient of x.
enum class Place : std::size_t {
  hidden, hidden_slope, encoded, encoded_slope, query_hidden, query_slope, query_encoded, query, folded, logits, coefficients,
  pooled, value, output, head_hidden, head_slope, scores, d_head, d_output, d_value, d_pooled, d_folded, d_query,
  d_encoded, d_hidden, d_offset
};

/// Memory for the matrices of a pass, reused by the next one.
template <class Scalar>
class Workspace {
 public:
  Matrix<Scalar>& operator[](Place place) { return matrices_[static_cast<std::size_t>(place)]; }

 private:
  Matrix<Scalar> matrices_[static_cast<std::size_t>(Place::d_offset) + 1];
};

template <class Scalar>
auto weights_of(const Scalar* parameters, Layer layer) {
  const LayerPlace& place = place_of(layer);
  return Eigen::Map<const RowMajorMatrix<Scalar>>(parameters + place.weights, place.outputs, place.inputs);
}

template <class Scalar>
auto biases_of(const Scalar* parameters, Layer layer) {
  return Eigen::Map<const Vector<Scalar>>(parameters + place_of(layer).biases(), place_of(layer).outputs);
}

template <class Scalar>
auto weights_of(Scalar* parameters, Layer layer) {
  const LayerPlace& place = place_of(layer);
  return Eigen::Map<RowMajorMatrix<Scalar>>(parameters + place.weights, place.outputs, place.inputs);
}

template <class Scalar>
auto biases_of(Scalar* parameters, Layer layer) {
  return Eigen::Map<Vector<Scalar>>(parameters + place_of(layer).biases(), place_of(layer).outputs);
}

/// out = W in + b, column by column.
template <class Scalar, class In>
void dense(const Scalar* parameters, Layer layer, const In& in, Matrix<Scalar>& out) {
  out.noalias() = weights_of(parameters, layer) * in;
  out.colwise() += biases_of(parameters, layer);
}

/// x <- gelu(x), the form with tanh; slope <- gelu'(x).
template <class Scalar>
void gelu(Matrix<Scalar>& x, Matrix<Scalar>& slope) {
  using std::sqrt;
  const Scalar half = Scalar(1) / Scalar(2), cubic = Scalar(44715) / Scalar(1000000);
  const Scalar scale = sqrt(Scalar(2) / Scalar(3.141592653589793238462643383279502884L));
  slope = ((x.array() + cubic * x.array().cube()) * scale).tanh().matrix();
  // gelu' = (1 + t) / 2 + x (1 - t^2) / 2 * scale (1 + 3 cubic x^2)
  const auto one_at = [&](Eigen::Index i) {
    const Scalar value = x.data()[i], t = slope.data()[i];
    x.data()[i] = half * value * (Scalar(1) + t);
    slope.data()[i] = half * (Scalar(1) + t) +
                      half * value * (Scalar(1) - t * t) * scale * (Scalar(1) + Scalar(3) * cubic * value * value);
  };
  for (Eigen::Index i = 0; i < x.size(); ++i) one_at(i);
}

/// Gradients of a dense layer from the gradient of its output.
template <class Scalar, class Out, class In>
void dense_gradient(Scalar* gradient, Layer layer, const Out& out_gradient, const In& in) {
  weights_of(gradient, layer).noalias() = out_gradient * in.transpose();
  biases_of(gradient, layer) = out_gradient.rowwise().sum();
}

/// w[Place::encoded] (width, items): the items after their branch.
template <class Scalar, class Items>
void encode_items(const Scalar* parameters, const Items& items, Workspace<Scalar>& w) {
  dense(parameters, Layer::item_1, items, w[Place::hidden]);
  gelu(w[Place::hidden], w[Place::hidden_slope]);
  dense(parameters, Layer::item_2, w[Place::hidden], w[Place::encoded]);
  gelu(w[Place::encoded], w[Place::encoded_slope]);
}

/// w[Place::folded] (width, queries): W_K^T q', with q' the scaled query. An item's logit is its product with the
/// encoded item, plus b_K . q', which is the same for all items of a set.
template <class Scalar, class Queries>
void fold_queries(const Scalar* parameters, const Queries& queries, Workspace<Scalar>& w) {
  using std::sqrt;
  dense(parameters, Layer::query_1, queries, w[Place::query_hidden]);
  gelu(w[Place::query_hidden], w[Place::query_slope]);
  dense(parameters, Layer::query_2, w[Place::query_hidden], w[Place::query_encoded]);
  dense(parameters, Layer::attention_query, w[Place::query_encoded], w[Place::query]);
  w[Place::query] *= Scalar(1) / sqrt(Scalar(width));
  w[Place::folded].noalias() = weights_of(parameters, Layer::attention_key).transpose() * w[Place::query];
}

/// w[Place::scores] (class_count, sets) from the weighted sums of the encoded items.
template <class Scalar, class Pooled>
void score_classes(const Scalar* parameters, const Pooled& sums, Workspace<Scalar>& w) {
  dense(parameters, Layer::attention_value, sums, w[Place::value]);
  dense(parameters, Layer::attention_output, w[Place::value], w[Place::output]);
  dense(parameters, Layer::head_1, w[Place::output], w[Place::head_hidden]);
  gelu(w[Place::head_hidden], w[Place::head_slope]);
  dense(parameters, Layer::head_2, w[Place::head_hidden], w[Place::scores]);
}

/// Mean cross-entropy of the sets and, where gradient is not null, its gradient.
///
/// b_K . q' leaves softmax unchanged, so that b_K has no gradient there; W_V is applied to the one weighted sum of encoded items
/// in place of every item.
///
/// parameters, gradient   (parameter_count), see LayerPlace
template <class Scalar>
Scalar loss_and_gradient(const Scalar* parameters, const SetsView<Scalar>& sets, Scalar* gradient,
                         Workspace<Scalar>& workspace) {
  using std::exp;
  using std::log;
  using std::sqrt;
  Workspace<Scalar>& w = workspace;
  const int n = sets.size, count = sets.count;
  const Eigen::Map<const Matrix<Scalar>> items(sets.items, item_features, static_cast<Eigen::Index>(n) * count);
  const Eigen::Map<const Matrix<Scalar>> queries(sets.queries, 1, count);
  const Scalar scale = Scalar(1) / sqrt(Scalar(width));

  encode_items(parameters, items, w);
  fold_queries(parameters, queries, w);

  w[Place::coefficients].resize(n, count);
  w[Place::logits].resize(n, count);
  w[Place::pooled].resize(width, count);
  for (int s = 0; s < count; ++s) {
    const auto set = w[Place::encoded].middleCols(static_cast<Eigen::Index>(s) * n, n);
    auto alpha = w[Place::coefficients].col(s);
    if (sets.head == HeadKind::softmax) {
      alpha.noalias() = set.transpose() * w[Place::folded].col(s);
      const Scalar largest = alpha.maxCoeff();
      alpha = (alpha.array() - largest).exp().matrix();
      const Scalar sum = alpha.sum();
      alpha /= sum;
    } else {
      auto logit = w[Place::logits].col(s);
      logit.noalias() = set.transpose() * w[Place::folded].col(s);
      if (sees_offset(sets.head)) {
        logit.array() += biases_of(parameters, Layer::attention_key).dot(w[Place::query].col(s));
      }
      head_coefficients(sets.head, logit.data(), n, alpha.data());
    }
    w[Place::pooled].col(s).noalias() = set * alpha;
  }
  score_classes(parameters, w[Place::pooled], w);

  // Cross-entropy; its gradient replaces the scores.
  Scalar loss(0);
  for (int s = 0; s < count; ++s) {
    auto score = w[Place::scores].col(s);
    const int target = sets.targets[s];
    const Scalar largest = score.maxCoeff();
    const Scalar at_target = score(target) - largest;
    score = (score.array() - largest).exp().matrix();
    const Scalar sum = score.sum();
    loss += log(sum) - at_target;
    score /= sum * Scalar(count);
    score(target) -= Scalar(1) / Scalar(count);
  }
  loss /= Scalar(count);
  if (gradient == nullptr) return loss;

  dense_gradient(gradient, Layer::head_2, w[Place::scores], w[Place::head_hidden]);
  w[Place::d_head].noalias() = weights_of(parameters, Layer::head_2).transpose() * w[Place::scores];
  w[Place::d_head].array() *= w[Place::head_slope].array();
  dense_gradient(gradient, Layer::head_1, w[Place::d_head], w[Place::output]);
  w[Place::d_output].noalias() = weights_of(parameters, Layer::head_1).transpose() * w[Place::d_head];
  dense_gradient(gradient, Layer::attention_output, w[Place::d_output], w[Place::value]);
  w[Place::d_value].noalias() = weights_of(parameters, Layer::attention_output).transpose() * w[Place::d_output];
  dense_gradient(gradient, Layer::attention_value, w[Place::d_value], w[Place::pooled]);
  w[Place::d_pooled].noalias() = weights_of(parameters, Layer::attention_value).transpose() * w[Place::d_value];

  w[Place::d_folded].resize(width, count);
  w[Place::d_offset].setZero(count, 1);
  w[Place::d_encoded].resize(width, items.cols());
  for (int s = 0; s < count; ++s) {
    const Eigen::Index first = static_cast<Eigen::Index>(s) * n;
    const auto set = w[Place::encoded].middleCols(first, n);
    const auto alpha = w[Place::coefficients].col(s);
    // The gradient of the coefficients, then of the logits: for softmax, alpha (d alpha - E[d alpha]).
    auto& d_alpha = w[Place::d_query];
    d_alpha.noalias() = set.transpose() * w[Place::d_pooled].col(s);
    if (sets.head == HeadKind::softmax) {
      const Scalar mean = alpha.dot(d_alpha.col(0));
      d_alpha = (alpha.array() * (d_alpha.col(0).array() - mean)).matrix().eval();
    } else {
      head_gradient(sets.head, w[Place::logits].col(s).data(), alpha.data(), n, d_alpha.data());
      if (sees_offset(sets.head)) w[Place::d_offset](s, 0) = d_alpha.sum();
    }
    w[Place::d_folded].col(s).noalias() = set * d_alpha;
    auto d_set = w[Place::d_encoded].middleCols(first, n);
    d_set.noalias() = w[Place::d_pooled].col(s) * alpha.transpose();
    d_set.noalias() += w[Place::folded].col(s) * d_alpha.transpose();
  }
  weights_of(gradient, Layer::attention_key).noalias() = w[Place::query] * w[Place::d_folded].transpose();
  biases_of(gradient, Layer::attention_key).noalias() = w[Place::query] * w[Place::d_offset];
  w[Place::d_query].noalias() = weights_of(parameters, Layer::attention_key) * w[Place::d_folded];
  if (sees_offset(sets.head)) {
    w[Place::d_query].noalias() += biases_of(parameters, Layer::attention_key) * w[Place::d_offset].transpose();
  }
  w[Place::d_query] *= scale;
  dense_gradient(gradient, Layer::attention_query, w[Place::d_query], w[Place::query_encoded]);
  w[Place::d_head].noalias() = weights_of(parameters, Layer::attention_query).transpose() * w[Place::d_query];
  dense_gradient(gradient, Layer::query_2, w[Place::d_head], w[Place::query_hidden]);
  w[Place::d_query].noalias() = weights_of(parameters, Layer::query_2).transpose() * w[Place::d_head];
  w[Place::d_query].array() *= w[Place::query_slope].array();
  dense_gradient(gradient, Layer::query_1, w[Place::d_query], queries);

  w[Place::d_encoded].array() *= w[Place::encoded_slope].array();
  dense_gradient(gradient, Layer::item_2, w[Place::d_encoded], w[Place::hidden]);
  w[Place::d_hidden].noalias() = weights_of(parameters, Layer::item_2).transpose() * w[Place::d_encoded];
  w[Place::d_hidden].array() *= w[Place::hidden_slope].array();
  dense_gradient(gradient, Layer::item_1, w[Place::d_hidden], items);
  return loss;
}

}  // namespace
}  // namespace softcheck::experiments
