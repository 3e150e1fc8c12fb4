// The language model forward and backward, over any scalar. Attention and cross-entropy are its caller's.
#include <Eigen/Core>
#include <cmath>

#include "experiments/language/language_layout.hpp"

namespace softcheck::experiments {
namespace {

template <class Scalar>
using TokenMatrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;  // a token is a column
template <class Scalar>
using WeightMatrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class Scalar>
using RowOfTokens = Eigen::Matrix<Scalar, 1, Eigen::Dynamic>;
template <class Scalar>
using GainVector = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;

/// Texts of any lengths, one after the other. The arrays belong to the caller.
struct TokensView {
  int tokens = 0;
  const int* ids = nullptr;        // (tokens)
  const int* positions = nullptr;  // (tokens); null: the model has none
  int targets = 0;
  const int* places = nullptr;  // (targets): the tokens whose next one is predicted
  const int* labels = nullptr;  // (targets): that one
};

/// Cosines and sines of pair i at position p: element (i, p), column-major, of head_width / 2 rows.
template <class Scalar>
struct TurnsView {
  const Scalar* cosines = nullptr;
  const Scalar* sines = nullptr;
};

/// The values that a layer stores for its backward pass.
template <class Scalar>
struct LayerRoom {
  TokenMatrix<Scalar> input, normed, projected, attended, middle, middle_normed, gated, inner;
  RowOfTokens<Scalar> input_scale, middle_scale;  // 1 / root mean square
};

template <class Scalar>
struct LanguageRoom {
  LayerRoom<Scalar> layers[most_layers];
  TokenMatrix<Scalar> last, last_taken, last_normed, logits;
  RowOfTokens<Scalar> last_scale;
  TokenMatrix<Scalar> d_logits, d_normed, d_last, d_x, d_inner, d_gated, d_projected, d_attended;
};

template <class Scalar>
Eigen::Map<const WeightMatrix<Scalar>> weights_at(const Scalar* parameters, std::size_t place, int rows, int columns) {
  return {parameters + place, rows, columns};
}
template <class Scalar>
Eigen::Map<WeightMatrix<Scalar>> weights_at(Scalar* parameters, std::size_t place, int rows, int columns) {
  return {parameters + place, rows, columns};
}

/// out = gain x / sqrt(mean(x^2) + epsilon), a token at a time; scale gets the reciprocal of the root.
template <class Scalar>
void rms_norm(const Scalar* gain, const TokenMatrix<Scalar>& x, TokenMatrix<Scalar>& out, RowOfTokens<Scalar>& scale) {
  using std::sqrt;
  const Eigen::Map<const GainVector<Scalar>> g(gain, x.rows());
  scale.resize(x.cols());
  out.resize(x.rows(), x.cols());
  for (Eigen::Index t = 0; t < x.cols(); ++t) {
    const Scalar mean = x.col(t).squaredNorm() / Scalar(static_cast<double>(x.rows()));
    scale(t) = Scalar(1) / sqrt(mean + Scalar(norm_epsilon));
    out.col(t) = (x.col(t).array() * scale(t) * g.array()).matrix();
  }
}

/// Adds the gradient by x to d_x, and sets that by the gain.
template <class Scalar>
void rms_norm_gradient(const Scalar* gain, const TokenMatrix<Scalar>& x, const RowOfTokens<Scalar>& scale,
                       const TokenMatrix<Scalar>& d_out, TokenMatrix<Scalar>& d_x, Scalar* d_gain) {
  const Eigen::Map<const GainVector<Scalar>> g(gain, x.rows());
  Eigen::Map<GainVector<Scalar>> dg(d_gain, x.rows());
  dg.setZero();
  for (Eigen::Index t = 0; t < x.cols(); ++t) {
    const Scalar r = scale(t);
    dg.array() += d_out.col(t).array() * x.col(t).array() * r;
    const Scalar along =
        (d_out.col(t).array() * g.array() * x.col(t).array()).sum() * r * r / Scalar(static_cast<double>(x.rows()));
    d_x.col(t).array() += r * (d_out.col(t).array() * g.array() - x.col(t).array() * along);
  }
}

/// Turns queries and keys by their positions, or back.
template <class Scalar>
void turn(const LanguageShape& shape, const TokensView& batch, const TurnsView<Scalar>& turns, bool back,
          TokenMatrix<Scalar>& projected) {
  if (batch.positions == nullptr) return;
  const int half = shape.head_width() / 2;
  for (Eigen::Index t = 0; t < projected.cols(); ++t) {
    const Scalar* const cosines = turns.cosines + static_cast<std::ptrdiff_t>(batch.positions[t]) * half;
    const Scalar* const sines = turns.sines + static_cast<std::ptrdiff_t>(batch.positions[t]) * half;
    Scalar* head = projected.col(t).data();
    for (int h = 0; h < 2 * shape.heads; ++h, head += 2 * half) {
      for (int i = 0; i < half; ++i) {
        const Scalar first = head[i], second = head[half + i], sine = back ? Scalar(-sines[i]) : sines[i];
        head[i] = first * cosines[i] - second * sine;
        head[half + i] = second * cosines[i] + first * sine;
      }
    }
  }
}

/// inner = silu(gate) up; gated has the gates above the ups.
template <class Scalar>
void swiglu(const TokenMatrix<Scalar>& gated, TokenMatrix<Scalar>& inner) {
  const Eigen::Index size = gated.rows() / 2;
  const auto gate = gated.topRows(size).array();
  inner = (gate / (Scalar(1) + (-gate).exp()) * gated.bottomRows(size).array()).matrix();
}

template <class Scalar>
void swiglu_gradient(const TokenMatrix<Scalar>& gated, const TokenMatrix<Scalar>& d_inner,
                     TokenMatrix<Scalar>& d_gated) {
  const Eigen::Index size = gated.rows() / 2;
  d_gated.resize(gated.rows(), gated.cols());
  for (Eigen::Index t = 0; t < gated.cols(); ++t) {
    const auto gate = gated.col(t).head(size).array();
    const auto up = gated.col(t).tail(size).array();
    const auto d = d_inner.col(t).array();
    // The tail temporarily holds the logistic function of the gates.
    auto sigmoid = d_gated.col(t).tail(size).array();
    sigmoid = Scalar(1) / (Scalar(1) + (-gate).exp());
    d_gated.col(t).head(size).array() = d * up * sigmoid * (Scalar(1) + gate * (Scalar(1) - sigmoid));
    sigmoid *= d * gate;
  }
}

/// Fills room.last with the tokens' vectors after the last layer.
///
/// parts   parts.attend(layer, projected, tokens, attended): projected (3 width, tokens) has each token's turned
///         queries, keys and values of all heads, attended (width, tokens) gets its heads' outputs
template <class Scalar, class Parts>
void run_layers(const LanguageShape& shape, const Scalar* parameters, const TokensView& batch,
                const TurnsView<Scalar>& turns, Parts& parts, LanguageRoom<Scalar>& room) {
  const LanguagePlaces places{shape};
  const int d = shape.width, f = shape.inner;
  const auto embedding = weights_at(parameters, places.embedding(), character_count, d);
  const auto input_of = [&](int index) -> TokenMatrix<Scalar>& {
    return index == shape.layers ? room.last : room.layers[index].input;
  };
  input_of(0).resize(d, batch.tokens);
  for (int t = 0; t < batch.tokens; ++t) input_of(0).col(t) = embedding.row(batch.ids[t]).transpose();
  for (int index = 0; index < shape.layers; ++index) {
    LayerRoom<Scalar>& layer = room.layers[index];
    rms_norm(parameters + places.input_norm(index), layer.input, layer.normed, layer.input_scale);
    layer.projected.noalias() = weights_at(parameters, places.projections(index), 3 * d, d) * layer.normed;
    turn(shape, batch, turns, false, layer.projected);
    layer.attended.resize(d, batch.tokens);
    parts.attend(index, layer.projected.data(), batch.tokens, layer.attended.data());
    layer.middle = layer.input;
    layer.middle.noalias() += weights_at(parameters, places.output(index), d, d) * layer.attended;
    rms_norm(parameters + places.middle_norm(index), layer.middle, layer.middle_normed, layer.middle_scale);
    layer.gated.noalias() = weights_at(parameters, places.gate(index), 2 * f, d) * layer.middle_normed;
    swiglu(layer.gated, layer.inner);
    TokenMatrix<Scalar>& next = input_of(index + 1);
    next = layer.middle;
    next.noalias() += weights_at(parameters, places.down(index), d, f) * layer.inner;
  }
}

/// room.logits (character_count, targets).
template <class Scalar, class Parts>
void run_forward(const LanguageShape& shape, const Scalar* parameters, const TokensView& batch,
                 const TurnsView<Scalar>& turns, Parts& parts, LanguageRoom<Scalar>& room) {
  const LanguagePlaces places{shape};
  run_layers(shape, parameters, batch, turns, parts, room);
  room.last_taken.resize(shape.width, batch.targets);
  for (int i = 0; i < batch.targets; ++i) room.last_taken.col(i) = room.last.col(batch.places[i]);
  rms_norm(parameters + places.last_norm(), room.last_taken, room.last_normed, room.last_scale);
  room.logits.noalias() = weights_at(parameters, places.embedding(), character_count, shape.width) * room.last_normed;
}

/// The backward pass through the layers: d_x is the gradient by room.last at first, and by the embedded tokens at last.
///
/// parts   parts.attend_back(layer, projected, d_attended, tokens, d_projected)
template <class Scalar, class Parts>
void run_layers_back(const LanguageShape& shape, const Scalar* parameters, const TokensView& batch,
                     const TurnsView<Scalar>& turns, Parts& parts, LanguageRoom<Scalar>& room, Scalar* gradient) {
  const LanguagePlaces places{shape};
  const int d = shape.width, f = shape.inner;
  TokenMatrix<Scalar>& d_x = room.d_x;
  for (int index = shape.layers; index-- > 0;) {
    LayerRoom<Scalar>& layer = room.layers[index];
    weights_at(gradient, places.down(index), d, f).noalias() = d_x * layer.inner.transpose();
    room.d_inner.noalias() = weights_at(parameters, places.down(index), d, f).transpose() * d_x;
    swiglu_gradient(layer.gated, room.d_inner, room.d_gated);
    weights_at(gradient, places.gate(index), 2 * f, d).noalias() = room.d_gated * layer.middle_normed.transpose();
    room.d_normed.noalias() = weights_at(parameters, places.gate(index), 2 * f, d).transpose() * room.d_gated;
    rms_norm_gradient(parameters + places.middle_norm(index), layer.middle, layer.middle_scale, room.d_normed, d_x,
                      gradient + places.middle_norm(index));
    weights_at(gradient, places.output(index), d, d).noalias() = d_x * layer.attended.transpose();
    room.d_attended.noalias() = weights_at(parameters, places.output(index), d, d).transpose() * d_x;
    room.d_projected.resize(3 * d, batch.tokens);
    parts.attend_back(index, layer.projected.data(), room.d_attended.data(), batch.tokens, room.d_projected.data());
    turn(shape, batch, turns, true, room.d_projected);
    weights_at(gradient, places.projections(index), 3 * d, d).noalias() = room.d_projected * layer.normed.transpose();
    room.d_normed.noalias() =
        weights_at(parameters, places.projections(index), 3 * d, d).transpose() * room.d_projected;
    rms_norm_gradient(parameters + places.input_norm(index), layer.input, layer.input_scale, room.d_normed, d_x,
                      gradient + places.input_norm(index));
  }
}

/// Mean cross-entropy of the targets and, where gradient is not null, its gradient by the parameters.
///
/// parts   as above, and parts.cross_entropy(logits, targets, labels, d_logits): the mean over the targets, and its
///         gradient where d_logits is not null
template <class Scalar, class Parts>
Scalar language_loss(const LanguageShape& shape, const Scalar* parameters, const TokensView& batch,
                     const TurnsView<Scalar>& turns, Parts& parts, LanguageRoom<Scalar>& room, Scalar* gradient) {
  run_forward(shape, parameters, batch, turns, parts, room);
  if (gradient == nullptr) {
    return parts.cross_entropy(room.logits.data(), batch.targets, batch.labels, static_cast<Scalar*>(nullptr));
  }
  const LanguagePlaces places{shape};
  room.d_logits.resize(character_count, batch.targets);
  const Scalar loss = parts.cross_entropy(room.logits.data(), batch.targets, batch.labels, room.d_logits.data());
  auto d_embedding = weights_at(gradient, places.embedding(), character_count, shape.width);
  d_embedding.noalias() = room.d_logits * room.last_normed.transpose();
  room.d_normed.noalias() =
      weights_at(parameters, places.embedding(), character_count, shape.width).transpose() * room.d_logits;
  room.d_last.setZero(shape.width, batch.targets);
  rms_norm_gradient(parameters + places.last_norm(), room.last_taken, room.last_scale, room.d_normed, room.d_last,
                    gradient + places.last_norm());
  room.d_x.setZero(shape.width, batch.tokens);
  for (int i = 0; i < batch.targets; ++i) room.d_x.col(batch.places[i]) += room.d_last.col(i);
  run_layers_back(shape, parameters, batch, turns, parts, room, gradient);
  for (int t = 0; t < batch.tokens; ++t) d_embedding.row(batch.ids[t]) += room.d_x.col(t).transpose();
  return loss;
}

}  // namespace
}  // namespace softcheck::experiments
