#include "theory/small_transformer.hpp"

#include <random>
#include <sstream>
#include <stdexcept>

#include "numerics/enclosures/certificate.hpp"

namespace softcheck::theory {
namespace {

using Engine = std::mt19937_64;

// k/16 with k odd in [-15, 15]: the engine is the same everywhere, the standard's distributions are not.
double short_dyadic(Engine& engine) { return (2 * static_cast<double>(engine() >> 60) - 15) / 16; }

Eigen::MatrixXd draw(Engine& engine, int rows, int columns, double scale) {
  Eigen::MatrixXd result(rows, columns);
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j < columns; ++j) result(i, j) = scale * short_dyadic(engine);
  }
  return result;
}

Eigen::MatrixXd draw_embeddings(Engine& engine, int vocabulary, int width) {
  Eigen::MatrixXd result(vocabulary, width);
  for (int symbol = 0; symbol < vocabulary; ++symbol) {
    bool known = true;
    while (known) {
      result.row(symbol) = draw(engine, 1, width, 1);
      known = false;
      for (int other = 0; other < symbol; ++other) known = known || result.row(other) == result.row(symbol);
    }
  }
  return result;
}

void require(bool condition, const std::string& need) {
  if (!condition) throw std::invalid_argument(need);
}

// Doubles that do not add exactly would silently describe another sequence.
void extend(Run& group, double count) {
  const double sum = group.count + count;
  require(sum - count == group.count && sum - group.count == count,
          "token_groups: need counts of one symbol that add exactly in double precision");
  group.count = sum;
}

void append_group(std::vector<Run>& groups, const Run& run, AttentionMask mask) {
  if (mask == AttentionMask::bert) {
    for (Run& group : groups) {
      if (group.symbol == run.symbol) return extend(group, run.count);
    }
    groups.push_back(run);
  } else if (groups.empty()) {
    groups.push_back(run);
  } else if (groups.size() == 1 && groups.front().symbol == run.symbol) {
    extend(groups.front(), run.count);
  } else {
    // Each token attends to all before it, so the time grows with the square of the tail.
    require(run.count + static_cast<double>(groups.size()) <= 4097,
            "token_groups: need at most 4096 tokens behind the first run of a GPT sequence");
    groups.insert(groups.end(), static_cast<std::size_t>(run.count), Run{run.symbol, 1});
  }
}

const char* name_of(Activation activation) {
  switch (activation) {
    case Activation::relu:
      return "relu";
    case Activation::tanh:
      return "tanh";
    case Activation::gelu:
      return "gelu";
  }
  return "?";
}

}  // namespace

SmallTransformer small_transformer(const SmallTransformerShape& shape) {
  const auto positive = [](double x) { return std::isfinite(x) && x > 0; };
  require(shape.width >= 1 && shape.depth >= 1 && shape.heads >= 1,
          "small_transformer: width, depth and heads must be >= 1");
  require(shape.vocabulary >= 1 && shape.vocabulary <= 16,
          "small_transformer: vocabulary must be in [1, 16], got " + std::to_string(shape.vocabulary));
  require(positive(shape.theta) && positive(shape.weight_scale),
          "small_transformer: theta and weight_scale must be positive and finite");
  Engine engine(shape.seed);
  SmallTransformer model;
  model.shape = shape;
  model.embeddings = draw_embeddings(engine, shape.vocabulary, shape.width);
  for (int l = 0; l < shape.depth; ++l) {
    TransformerLayer layer;
    for (int h = 0; h < shape.heads; ++h) {
      AttentionHead head;
      head.query = draw(engine, shape.width, shape.width, shape.weight_scale);
      head.key = draw(engine, shape.width, shape.width, shape.weight_scale);
      // Shifted from head to head, so that no two heads cancel: outputs that are 0 in truth, yet no points, are a tie
      // that no precision decides.
      head.value = draw(engine, shape.width, shape.width, shape.weight_scale).array() + h * shape.weight_scale / 64;
      layer.heads.push_back(std::move(head));
    }
    if (shape.feedforward) {
      FeedForward mlp;
      mlp.inner = draw(engine, 2 * shape.width, shape.width, shape.weight_scale);
      mlp.inner_bias = draw(engine, 2 * shape.width, 1, shape.weight_scale);
      mlp.outer = draw(engine, shape.width, 2 * shape.width, shape.weight_scale);
      mlp.outer_bias = draw(engine, shape.width, 1, shape.weight_scale);
      layer.feedforward = std::move(mlp);
    }
    model.layers.push_back(std::move(layer));
  }
  return model;
}

std::vector<Run> token_groups(const SmallTransformer& model, const std::vector<Run>& runs) {
  require(!runs.empty(), "token_groups: need at least one run");
  std::vector<Run> groups;
  for (const Run& run : runs) {
    require(run.symbol >= 0 && run.symbol < model.shape.vocabulary, "token_groups: need a symbol below " +
                                                                        std::to_string(model.shape.vocabulary) +
                                                                        ", got " + std::to_string(run.symbol));
    require(std::isfinite(run.count) && run.count >= 1 && run.count == std::floor(run.count),
            "token_groups: need positive whole counts, got " + std::to_string(run.count));
    append_group(groups, run, model.shape.mask);
  }
  return groups;
}

std::string describe(const SmallTransformer& model, const std::vector<Run>& runs) {
  const SmallTransformerShape& shape = model.shape;
  std::ostringstream text;
  text << "{seed " << shape.seed << ", vocabulary " << shape.vocabulary << ", width " << shape.width << ", heads "
       << shape.heads << ", depth " << shape.depth << (shape.mask == AttentionMask::bert ? ", bert" : ", gpt")
       << (shape.residual ? ", residual" : "") << (shape.feedforward ? ", " : "")
       << (shape.feedforward ? name_of(shape.activation) : "") << ", theta " << numerics::hex_float(shape.theta)
       << ", scale " << numerics::hex_float(shape.weight_scale) << "}";
  for (const Run& run : runs) text << " " << run.symbol << "*" << numerics::hex_float(run.count);
  return text.str();
}

}  // namespace softcheck::theory
