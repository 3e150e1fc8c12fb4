#include "theory/coordinate_box.hpp"

namespace softcheck::theory {

using numerics::Enclosure;

Box embedding_box(const SmallTransformer& model) {
  Box box = as_scalars<Enclosure>(model.embeddings.row(0).transpose());
  for (Eigen::Index symbol = 1; symbol < model.embeddings.rows(); ++symbol) {
    for (std::size_t c = 0; c < box.size(); ++c) {
      box[c] = hull(box[c], Enclosure(model.embeddings(symbol, static_cast<Eigen::Index>(c))));
    }
  }
  return box;
}

Box attention_box(const AttentionHead& head, const Box& inputs) { return multiply(head.value, inputs); }

Box feedforward_input_box(const SmallTransformer& model, const TransformerLayer& layer, const Box& inputs) {
  Box box = model.shape.residual ? inputs : Box(inputs.size(), Enclosure(0));
  for (const AttentionHead& head : layer.heads) box = add(std::move(box), attention_box(head, inputs));
  return box;
}

Box layer_box(const SmallTransformer& model, const TransformerLayer& layer, const Box& inputs) {
  return apply_feedforward(model, layer, feedforward_input_box(model, layer, inputs));
}

Enclosure lower_end(const Enclosure& x) {
  Enclosure result;
  mpfr_set(&result.data()->left, &x.data()->left, MPFR_RNDD);
  mpfr_set(&result.data()->right, &x.data()->left, MPFR_RNDU);
  return result;
}

Enclosure upper_end(const Enclosure& x) {
  Enclosure result;
  mpfr_set(&result.data()->left, &x.data()->right, MPFR_RNDD);
  mpfr_set(&result.data()->right, &x.data()->right, MPFR_RNDU);
  return result;
}

Enclosure magnitude(const Enclosure& x) { return upper_end(abs(x)); }
Enclosure width(const Enclosure& x) { return upper_end(upper_end(x) - lower_end(x)); }

Enclosure spread_over_box(const AttentionHead& head, const Box& inputs) {
  // K^T Q first, then the box: each coordinate of the box is used once in each sum.
  Enclosure spread(0);
  for (std::size_t c = 0; c < inputs.size(); ++c) {
    Enclosure direction(0);
    for (std::size_t j = 0; j < inputs.size(); ++j) {
      Enclosure entry(0);
      for (Eigen::Index i = 0; i < head.key.rows(); ++i) {
        entry += Enclosure(head.key(i, static_cast<Eigen::Index>(c))) *
                 Enclosure(head.query(i, static_cast<Eigen::Index>(j)));
      }
      direction += entry * inputs[j];
    }
    spread += magnitude(direction) * width(inputs[c]);
  }
  return magnitude(spread);
}

namespace {

// d/dx [x/2 (1 + tanh u)] = (1 + tanh u)/2 + x/2 (1 - tanh^2 u) u', u = s (x + c x^3).
Enclosure gelu_slope(const Enclosure& x) {
  const Enclosure s = sqrt(Enclosure(2) / Enclosure::pi());
  const Enclosure c = ratio<Enclosure>(44715, 1000000);
  const Enclosure t = tanh(s * x * (Enclosure(1) + c * square(x)));
  const Enclosure inner_slope = s * (Enclosure(1) + Enclosure(3) * c * square(x));
  return (Enclosure(1) + t) / Enclosure(2) + x / Enclosure(2) * (Enclosure(1) - square(t)) * inner_slope;
}

}  // namespace

Enclosure activation_slope(Activation activation, const Enclosure& x) {
  switch (activation) {
    case Activation::relu:
      return Enclosure(x.certainly_nonpositive() ? 0 : 1);
    case Activation::tanh:
      return magnitude(Enclosure(1) - square(tanh(x)));
    case Activation::gelu: {
      // Interval arithmetic overestimates by the square of the width: so piece by piece.
      constexpr int pieces = 32;
      Enclosure largest(0);
      for (int i = 0; i < pieces; ++i) {
        const Enclosure part = hull(ratio<Enclosure>(i, pieces), ratio<Enclosure>(i + 1, pieces));
        const Enclosure lower(x.lower_double());
        largest = maximum(largest, magnitude(gelu_slope(lower + part * (Enclosure(x.upper_double()) - lower))));
      }
      return largest;
    }
  }
  return Enclosure(1);
}

Enclosure largest_row_sum(const Eigen::MatrixXd& matrix) {
  Enclosure largest(0);
  for (Eigen::Index i = 0; i < matrix.rows(); ++i) {
    Enclosure sum(0);
    for (Eigen::Index j = 0; j < matrix.cols(); ++j) sum += abs(Enclosure(matrix(i, j)));
    largest = maximum(largest, sum);
  }
  return largest;
}

Enclosure feedforward_gain(const SmallTransformer& model, const TransformerLayer& layer, const Box& inputs) {
  if (!layer.feedforward) return Enclosure(1);
  const FeedForward& mlp = *layer.feedforward;
  const std::vector<Enclosure> hidden = add(multiply(mlp.inner, inputs), as_scalars<Enclosure>(mlp.inner_bias));
  std::vector<Enclosure> slopes;
  for (const Enclosure& unit : hidden) slopes.push_back(activation_slope(model.shape.activation, unit));
  // Row sums of |outer| diag(slopes) |inner|: |inner| applied to the vector of ones first.
  std::vector<Enclosure> through;
  for (Eigen::Index i = 0; i < mlp.inner.rows(); ++i) {
    through.push_back(slopes[static_cast<std::size_t>(i)] * largest_row_sum(mlp.inner.row(i)));
  }
  const Eigen::MatrixXd outer_magnitude = mlp.outer.cwiseAbs();
  const Enclosure gain = largest_entry(multiply(outer_magnitude, through));
  return model.shape.residual ? gain + Enclosure(1) : gain;
}

}  // namespace softcheck::theory
