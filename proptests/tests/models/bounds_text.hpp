#pragma once

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <optional>

#include "models/bounds/certify_checkpoint.hpp"
#include "proptests/tests/models/bounds_heads.hpp"

// First layers whose tables a test chooses, and every pair of their inputs written out in long double.
namespace softcheck::proptests {

using WideMatrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

/// A head and the tables before it.
struct Text {
  DrawnHead drawn;
  Eigen::MatrixXd tokens, positions, types;  // a row each; no rows: not added
  double epsilon = 1e-5;
  std::optional<models::Rotary> rotary;
  bool causal = false;

  HeadInMemory memory() const {
    HeadInMemory result(drawn);
    models::TokenInputs inputs{.tokens = "tokens", .epsilon = epsilon};
    result.checkpoint.put("tokens", tokens);
    if (positions.rows() > 0) {
      result.checkpoint.put("positions", positions);
      inputs.positions = "positions";
      inputs.position_rows = {1, positions.rows() - 1};  // the first is no item's
    }
    if (types.rows() > 0) {
      result.checkpoint.put("types", types);
      inputs.types = "types";
    }
    result.model.inputs = inputs;
    result.head.rotary = rotary;
    result.head.causal = causal;
    return result;
  }
  // Columns: z of every input, position by position, then type by type, then token by token.
  WideMatrix normed() const {
    const Eigen::Index places = std::max<Eigen::Index>(positions.rows() - 1, 1),
                       kinds = std::max<Eigen::Index>(types.rows(), 1);
    WideMatrix result(tokens.cols(), places * kinds * tokens.rows());
    Eigen::Index column = 0;
    for (Eigen::Index p = 0; p < places; ++p) {
      for (Eigen::Index t = 0; t < kinds; ++t) {
        for (Eigen::Index i = 0; i < tokens.rows(); ++i) {
          WideMatrix x = tokens.row(i).transpose().cast<long double>();
          if (positions.rows() > 0) x += positions.row(p + 1).transpose().cast<long double>();
          if (types.rows() > 0) x += types.row(t).transpose().cast<long double>();
          if (drawn.kind == models::NormKind::layer_norm) x.array() -= x.mean();
          result.col(column++) = x / std::sqrt(x.squaredNorm() / static_cast<long double>(x.size()) + epsilon);
        }
      }
    }
    return result;
  }
  Eigen::Index inputs_of_a_place() const { return tokens.rows() * std::max<Eigen::Index>(types.rows(), 1); }
  WideMatrix image(const Eigen::MatrixXd& weights, const Eigen::VectorXd& bias) const {
    const WideMatrix z = normed();
    const Eigen::VectorXd ones = Eigen::VectorXd::Ones(drawn.width());
    const Eigen::VectorXd gain = drawn.gain.size() != 0 ? drawn.gain : ones;
    WideMatrix inputs = gain.cast<long double>().asDiagonal() * z;
    if (drawn.offset.size() != 0) inputs.colwise() += drawn.offset.cast<long double>().col(0);
    WideMatrix result = weights.cast<long double>() * inputs;
    if (bias.size() != 0) result.colwise() += bias.cast<long double>().col(0);
    return result;
  }
};

inline models::HeadCertificate certified(const HeadInMemory& memory) {
  models::HeadCertificate certificate = memory.certify();
  models::enumerate_first_layer(memory.checkpoint, memory.model, {&certificate}, 2, {});
  return certificate;
}

struct Largest {
  long double spread = 0, logit = 0;       // over all inputs
  long double texts = 0, texts_logit = 0;  // of keys that one text can have
};

inline Largest written_out(const Text& text) {
  const WideMatrix queries = text.image(text.drawn.query, text.drawn.query_bias);
  const WideMatrix keys = text.image(text.drawn.key, text.drawn.key_bias);
  const WideMatrix logits = text.drawn.scale * (queries.transpose() * keys);
  const Eigen::Index place = text.inputs_of_a_place();
  Largest largest;
  for (Eigen::Index i = 0; i < logits.rows(); ++i) {
    largest.spread = std::max(largest.spread, logits.row(i).maxCoeff() - logits.row(i).minCoeff());
    largest.logit = std::max(largest.logit, logits.row(i).cwiseAbs().maxCoeff());
    for (Eigen::Index p = 0; p < logits.cols() / place; ++p) {
      const bool seen = text.causal ? p < i / place : p != i / place;
      if (!seen) continue;
      const auto of_place = logits.row(i).segment(p * place, place);
      largest.texts_logit = std::max(largest.texts_logit, of_place.cwiseAbs().maxCoeff());
      for (Eigen::Index other = 0; other < logits.cols() / place; ++other) {
        if (other == p || other == i / place || (text.causal && other > i / place)) continue;
        largest.texts =
            std::max(largest.texts, of_place.maxCoeff() - logits.row(i).segment(other * place, place).minCoeff());
      }
    }
  }
  return largest;
}

inline Text drawn_text(Drawing& drawing, models::NormKind kind, Eigen::Index tokens) {
  Text text{.drawn = drawing.head(4, 6, kind, true),
            .tokens = drawing.matrix(tokens, 6),
            .positions = {},
            .types = {},
            .rotary = {}};
  text.positions = 0.5 * drawing.matrix(5, 6);
  text.types = 0.5 * drawing.matrix(2, 6);
  return text;
}

}  // namespace softcheck::proptests
