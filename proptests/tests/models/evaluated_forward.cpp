#include "proptests/tests/models/evaluated_forward.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <stdexcept>
#include <string>

#include "proptests/tests/models/running_bound.hpp"

namespace softcheck::models {
namespace {

/// Names of tensors; those of a layer stand behind its own.
struct Names {
  std::string prefix, words, positions, types, first_norm, layer;
  std::string query, key, value, output, attention_norm, up, down, output_norm;
};

const Names bert = {.prefix = "",
                    .words = "embeddings.word_embeddings",
                    .positions = "embeddings.position_embeddings",
                    .types = "embeddings.token_type_embeddings",
                    .first_norm = "embeddings.LayerNorm",
                    .layer = "encoder.layer.",
                    .query = "attention.self.query",
                    .key = "attention.self.key",
                    .value = "attention.self.value",
                    .output = "attention.output.dense",
                    .attention_norm = "attention.output.LayerNorm",
                    .up = "intermediate.dense",
                    .down = "output.dense",
                    .output_norm = "output.LayerNorm"};
const Names distilbert = {.prefix = "distilbert.",
                          .words = "embeddings.word_embeddings",
                          .positions = "embeddings.position_embeddings",
                          .types = "",
                          .first_norm = "embeddings.LayerNorm",
                          .layer = "transformer.layer.",
                          .query = "attention.q_lin",
                          .key = "attention.k_lin",
                          .value = "attention.v_lin",
                          .output = "attention.out_lin",
                          .attention_norm = "sa_layer_norm",
                          .up = "ffn.lin1",
                          .down = "ffn.lin2",
                          .output_norm = "output_layer_norm"};
const Names gpt2 = {.prefix = "transformer.",
                    .words = "wte",
                    .positions = "wpe",
                    .types = "",
                    .first_norm = "",
                    .layer = "h.",
                    .query = "attn.c_attn",
                    .key = "attn.c_attn",
                    .value = "attn.c_attn",
                    .output = "attn.c_proj",
                    .attention_norm = "ln_1",
                    .up = "mlp.c_fc",
                    .down = "mlp.c_proj",
                    .output_norm = "ln_2"};

Float64Bound as_it_is(double value) { return {value, 0}; }

Names names_of(const std::string& type) {
  if (type == "gpt2") return gpt2;
  if (type == "distilbert") return distilbert;
  Names names = bert;
  if (type == "xlm-roberta") names.prefix = "roberta.";
  return names;
}

BoundRow plus(const BoundRow& a, const BoundRow& b) {
  BoundRow result;
  for (std::size_t i = 0; i < a.size(); ++i) result.push_back(a[i] + b[i]);
  return result;
}

class Evaluation {
 public:
  explicit Evaluation(const Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        config_(checkpoint.config()),
        type_(*config_.text("model_type")),
        names_(names_of(type_)) {}

  std::vector<EvaluatedLayer> layers(const std::vector<std::int64_t>& ids) {
    const bool pre = type_ == "gpt2";
    BoundRows x = embedded(ids);
    if (!pre) x = normed(names_.prefix + names_.first_norm, x);
    std::vector<EvaluatedLayer> result;
    for (std::int64_t l = 0; l < integer({"num_hidden_layers", "n_layers", "n_layer"}); ++l) {
      layer_ = names_.prefix + names_.layer + std::to_string(l) + ".";
      const BoundRows read = pre ? normed(layer_ + names_.attention_norm, x) : x;
      const BoundRows attention = linear(names_.output, attended(read, l, result.emplace_back()));
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = plus(x[i], attention[i]);
      if (!pre) x = normed(layer_ + names_.attention_norm, x);
      BoundRows inner = linear(names_.up, pre ? normed(layer_ + names_.output_norm, x) : x);
      for (BoundRow& row : inner) {
        for (Float64Bound& value : row) value = evaluated_activation(activation(), value);
      }
      const BoundRows fed = linear(names_.down, inner);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = plus(x[i], fed[i]);
      if (!pre) x = normed(layer_ + names_.output_norm, x);
    }
    return result;
  }

 private:
  std::int64_t integer(const std::vector<std::string>& keys) const {
    for (const std::string& key : keys) {
      if (const auto value = config_.integer(key)) return *value;
    }
    throw std::logic_error("no key " + keys.front());
  }

  std::string activation() const {
    if (type_ == "gpt2") return config_.text("activation_function").value_or("gelu_new");
    return config_.text(type_ == "distilbert" ? "activation" : "hidden_act").value_or("gelu");
  }

  double epsilon() const {
    if (type_ == "gpt2") return config_.number("layer_norm_epsilon").value_or(1e-5);
    return config_.number("layer_norm_eps").value_or(1e-12);
  }

  const Eigen::MatrixXd& tensor(const std::string& name) {
    const auto [place, added] = tensors_.try_emplace(name);
    if (added) {
      const StoredTensor& stored = *checkpoint_.find(name);
      place->second = checkpoint_.read(stored, {0, stored.rows()}, {0, stored.columns()}).values;
    }
    return place->second;
  }

  BoundRows embedded(const std::vector<std::int64_t>& ids) {
    const Eigen::MatrixXd& words = tensor(names_.prefix + names_.words + ".weight");
    const Eigen::MatrixXd& positions = tensor(names_.prefix + names_.positions + ".weight");
    // create_position_ids_from_input_ids: cumsum(mask) * mask + padding, mask = (id != padding).
    const bool counted = type_.ends_with("roberta");
    const std::int64_t padding = counted ? integer({"pad_token_id"}) : -1;
    std::int64_t seen = 0;
    BoundRows rows;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const bool mask = ids[i] != padding;
      seen += mask;
      const std::int64_t position = counted ? seen * mask + padding : static_cast<std::int64_t>(i);
      BoundRow row;
      for (Eigen::Index c = 0; c < words.cols(); ++c) {
        BoundRow terms = {as_it_is(words(ids[i], c)), as_it_is(positions(position, c))};
        if (!names_.types.empty()) terms.push_back(as_it_is(tensor(names_.prefix + names_.types + ".weight")(0, c)));
        row.push_back(sum(terms));
      }
      rows.push_back(row);
    }
    return rows;
  }

  BoundRows normed(const std::string& name, const BoundRows& x) {
    const Eigen::MatrixXd &gain = tensor(name + ".weight"), &offset = tensor(name + ".bias");
    BoundRows rows;
    for (const BoundRow& row : x) {
      BoundRow result = layer_normalised(row, epsilon());
      for (std::size_t i = 0; i < row.size(); ++i) {
        const auto c = static_cast<Eigen::Index>(i);
        result[i] = scaled(result[i], gain(0, c)) + as_it_is(offset(0, c));
      }
      rows.push_back(result);
    }
    return rows;
  }

  // Of outputs first ... first + count - 1; 0: all. GPT-2's Conv1D has (inputs, outputs).
  BoundRows linear(const std::string& name, const BoundRows& x, std::int64_t first = 0, std::int64_t count = 0) {
    const Eigen::MatrixXd &weights = tensor(layer_ + name + ".weight"), &bias = tensor(layer_ + name + ".bias");
    if (count == 0) count = bias.cols();
    BoundRows rows;
    for (const BoundRow& row : x) {
      BoundRow result;
      for (Eigen::Index o = first; o < first + count; ++o) {
        BoundRow terms = {as_it_is(bias(0, o))};
        for (std::size_t i = 0; i < row.size(); ++i) {
          const auto c = static_cast<Eigen::Index>(i);
          terms.push_back(row[i] * as_it_is(type_ == "gpt2" ? weights(c, o) : weights(o, c)));
        }
        result.push_back(sum(terms));
      }
      rows.push_back(result);
    }
    return rows;
  }

  BoundRows attended(const BoundRows& x, std::int64_t layer, EvaluatedLayer& seen) {
    const std::int64_t heads = integer({"num_attention_heads", "n_heads", "n_head"});
    const auto hidden = static_cast<std::int64_t>(x[0].size());
    const std::int64_t step = type_ == "gpt2" ? hidden : 0;  // from queries to keys to values in one projection
    seen.query = linear(names_.query, x, 0, hidden);
    seen.key = linear(names_.key, x, step, hidden);
    const BoundRows value = linear(names_.value, x, 2 * step, hidden);
    const auto width = static_cast<std::size_t>(hidden / heads);
    double scale = 1 / std::sqrt(static_cast<double>(width));
    if (config_.boolean("scale_attn_by_inverse_layer_idx").value_or(false)) scale /= static_cast<double>(layer + 1);
    BoundRows result(x.size());
    for (std::size_t first = 0; first < static_cast<std::size_t>(hidden); first += width) {
      BoundRows& coefficients = seen.coefficients.emplace_back();
      for (std::size_t i = 0; i < x.size(); ++i) {
        BoundRow scores;
        for (std::size_t j = 0; j < (type_ == "gpt2" ? i + 1 : x.size()); ++j) {
          BoundRow terms;
          for (std::size_t c = first; c < first + width; ++c) terms.push_back(seen.query[i][c] * seen.key[j][c]);
          scores.push_back(scaled(sum(terms), scale));
        }
        coefficients.push_back(evaluated_softmax(scores));
        for (std::size_t c = first; c < first + width; ++c) {
          BoundRow terms;
          for (std::size_t j = 0; j < scores.size(); ++j) terms.push_back(coefficients[i][j] * value[j][c]);
          result[i].push_back(sum(terms));
        }
      }
    }
    return result;
  }

  const Checkpoint& checkpoint_;
  const Config& config_;
  std::string type_, layer_;
  Names names_;
  std::map<std::string, Eigen::MatrixXd> tensors_;
};

}  // namespace

Float64Bound evaluated_activation(const std::string& name, const Float64Bound& x) {
  if (name == "relu") return {std::max(x.value, 0.0), x.error};
  // x / (1 + e^-x): a slope of at most 1.1; exp has two roundings, the sum and the quotient one each, of at most |x|.
  if (name == "silu") return {x.value / (1 + std::exp(-x.value)), 1.1 * x.error + 8 * x.unit * x.largest()};
  // Both forms of gelu have slopes of at most Phi(sqrt 2) + sqrt 2 phi(sqrt 2) = 1.1289 and 1.1290. Their second factor
  // is at most 1: erf has 4 roundings, its argument y adds |y erf'(y)| <= 0.49 a rounding of y (2), the sum 1 + erf and
  // the products 3. In the tanh form y has 8 roundings (a cube, two products, a sum and two constants), each worth
  // |y tanh'(y)| <= 0.45. 16 of the result's largest size, |x|, cover both.
  const double lost = 1.13 * x.error + 16 * x.unit * x.largest();
  const double tail = name == "gelu_new"
                          ? std::tanh(std::sqrt(2 / std::numbers::pi) * (x.value + 0.044715 * std::pow(x.value, 3)))
                          : std::erf(x.value / std::numbers::sqrt2);
  return {x.value / 2 * (1 + tail), lost};
}

// exp(s_j - m) / sum: a maximum moves no further than what it is taken of; exp and the quotient are granted four
// roundings each, and what becomes subnormal may be flushed.
BoundRow evaluated_softmax(const BoundRow& scores) {
  double largest = -INFINITY, moved = 0;
  for (const Float64Bound& score : scores) {
    largest = std::max(largest, score.value);
    moved = std::max(moved, score.error);
  }
  BoundRow weights;
  for (const Float64Bound& score : scores) {
    const Float64Bound x = score - Float64Bound{largest, moved};
    const double weight = std::exp(x.value);
    weights.push_back(
        rounded(Float64Bound{weight, weight * std::expm1(x.error) + std::numeric_limits<double>::min()}, 4));
  }
  const Float64Bound total = sum(weights);
  for (Float64Bound& weight : weights) {
    const double share = weight.value / total.value;
    weight = rounded(Float64Bound{share, (share * total.error + weight.error) / (total.value - total.error)}, 4);
  }
  return weights;
}

std::vector<EvaluatedLayer> evaluated_forward(const Checkpoint& checkpoint, const std::vector<std::int64_t>& ids) {
  return Evaluation(checkpoint).layers(ids);
}

}  // namespace softcheck::models
