#include "proptests/tests/models/evaluated_decoder.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>

#include "proptests/tests/models/running_bound.hpp"

namespace softcheck::models {
namespace {

struct DecoderNames {
  std::string layer, query, key, value, output, gate, up, down, first, middle, query_norm, key_norm;
};

const DecoderNames of_transformers = {.layer = "layers.",
                                      .query = "self_attn.q_proj",
                                      .key = "self_attn.k_proj",
                                      .value = "self_attn.v_proj",
                                      .output = "self_attn.o_proj",
                                      .gate = "mlp.gate_proj",
                                      .up = "mlp.up_proj",
                                      .down = "mlp.down_proj",
                                      .first = "input_layernorm",
                                      .middle = "post_attention_layernorm",
                                      .query_norm = "self_attn.q_norm",
                                      .key_norm = "self_attn.k_norm"};
const DecoderNames of_llama_cpp = {.layer = "blk.",
                                   .query = "attn_q",
                                   .key = "attn_k",
                                   .value = "attn_v",
                                   .output = "attn_output",
                                   .gate = "ffn_gate",
                                   .up = "ffn_up",
                                   .down = "ffn_down",
                                   .first = "attn_norm",
                                   .middle = "ffn_norm",
                                   .query_norm = "",
                                   .key_norm = ""};

Float64Bound of_double(double value) { return {value, 0}; }

Float64Bound soft_capped(const Float64Bound& x, double cap) {
  // tanh has slope at most 1 and is good to 4 roundings; before and behind it stand a quotient and a product.
  const Float64Bound inner = rounded(Float64Bound{x.value / cap, x.error / cap});
  return scaled(rounded(Float64Bound{std::tanh(inner.value), inner.error}, 4), cap);
}

class Decoder {
 public:
  Decoder(const Checkpoint& checkpoint, const ModelDescription& model)
      : checkpoint_(checkpoint),
        model_(model),
        gguf_(checkpoint.format() == "gguf"),
        gemma_(model.architecture.starts_with("gemma")),
        names_(gguf_ ? of_llama_cpp : of_transformers) {
    for (const char* prefix : {"", "model.", "language_model.model."}) {
      if (checkpoint.find(prefix + std::string(gguf_ ? "token_embd.weight" : "embed_tokens.weight"))) prefix_ = prefix;
    }
  }

  EvaluatedDecoder evaluate(const std::vector<std::int64_t>& ids) {
    EvaluatedDecoder result;
    const Eigen::MatrixXd& words = tensor(prefix_ + (gguf_ ? "token_embd" : "embed_tokens") + ".weight");
    BoundRows x;
    for (const std::int64_t id : ids) {
      BoundRow& row = x.emplace_back();
      for (Eigen::Index c = 0; c < words.cols(); ++c) {
        const Float64Bound word = of_double(words(id, c));
        row.push_back(gemma_ ? scaled(word, std::sqrt(static_cast<double>(model_.hidden))) : word);
      }
    }
    const bool ends = gemma_ && model_.architecture != "gemma", olmo = model_.architecture == "olmo2";
    for (std::int64_t layer = 0; layer < model_.layers; ++layer) {
      layer_ = prefix_ + names_.layer + std::to_string(layer) + ".";
      const HeadDescription* heads = &model_.head_list[static_cast<std::size_t>(layer * model_.heads)];
      BoundRows attended = attention(heads, olmo ? x : normed(layer_ + names_.first, x), result.layers.emplace_back());
      attended = linear(names_.output, attended);
      add(x, ends || olmo ? normed(layer_ + "post_attention_layernorm", attended) : attended);
      BoundRows fed = olmo ? x : normed(layer_ + (ends ? "pre_feedforward_layernorm" : names_.middle), x);
      fed = feed_forward(fed);
      add(x, ends || olmo ? normed(layer_ + "post_feedforward_layernorm", fed) : fed);
    }
    const BoundRow last = normed(prefix_ + (gguf_ ? "output_norm" : "norm"), {x.back()}).at(0);
    const std::string head = gguf_ ? "output.weight" : "lm_head.weight";
    const Eigen::MatrixXd& output = checkpoint_.find(head) ? tensor(head) : words;
    for (Eigen::Index word = 0; word < output.rows(); ++word) {
      const Float64Bound logit = product(last, output, word);
      result.logits.push_back(model_.architecture == "gemma2" ? soft_capped(logit, 30) : logit);
    }
    return result;
  }

 private:
  const Eigen::MatrixXd& tensor(const std::string& name) {
    const auto [place, added] = tensors_.try_emplace(name);
    if (added) {
      const StoredTensor* stored = checkpoint_.find(name);
      if (stored == nullptr) throw std::logic_error("no tensor " + name);
      // Matrices of experts one below the other.
      std::int64_t rows = 1;
      for (std::size_t i = 0; i + 1 < stored->shape.size(); ++i) rows *= stored->shape[i];
      place->second = checkpoint_.read(*stored, {0, rows}, {0, stored->columns()}).values;
    }
    return place->second;
  }

  double epsilon() const {
    if (gguf_) return *checkpoint_.config().number("llama.attention.layer_norm_rms_epsilon");
    const std::string section = model_.architecture == "gemma3" ? "text_config." : "";
    return *checkpoint_.config().number(section + "rms_norm_eps");
  }

  static Float64Bound product(const BoundRow& x, const Eigen::MatrixXd& weights, Eigen::Index row, double bias = 0) {
    BoundRow terms = {of_double(bias)};
    for (std::size_t i = 0; i < x.size(); ++i) {
      terms.push_back(x[i] * of_double(weights(row, static_cast<Eigen::Index>(i))));
    }
    return sum(terms);
  }

  static void add(BoundRows& x, const BoundRows& more) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      for (std::size_t c = 0; c < x[i].size(); ++c) x[i][c] = x[i][c] + more[i][c];
    }
  }

  BoundRow gained(BoundRow row, const std::string& name, std::size_t first = 0) {
    const Eigen::MatrixXd& gain = tensor(name + ".weight");
    row = root_mean_square_normalised(row, epsilon());
    for (std::size_t i = 0; i < row.size(); ++i) {
      row[i] = scaled(row[i], gain(0, static_cast<Eigen::Index>(first + i)) + (gemma_ ? 1 : 0));
    }
    return row;
  }

  BoundRows normed(const std::string& name, const BoundRows& x) {
    BoundRows rows;
    for (const BoundRow& row : x) rows.push_back(gained(row, name));
    return rows;
  }

  // All outputs of a projection, or those of a part of a fused one.
  BoundRows linear(const std::string& name, const BoundRows& x, std::int64_t first = 0, std::int64_t count = 0) {
    const Eigen::MatrixXd& weights = tensor(layer_ + name + ".weight");
    const bool biased = checkpoint_.find(layer_ + name + ".bias") != nullptr;
    if (count == 0) count = weights.rows();
    BoundRows rows;
    for (const BoundRow& row : x) {
      BoundRow& result = rows.emplace_back();
      for (std::int64_t o = first; o < first + count; ++o) {
        result.push_back(product(row, weights, o, biased ? tensor(layer_ + name + ".bias")(0, o) : 0));
      }
    }
    return rows;
  }

  // One projection of an expert: of outputs and inputs in this order where the experts are quantised.
  BoundRow of_expert(std::size_t expert, const std::string& name, const BoundRow& x) {
    const std::string stem = layer_ + "mlp.experts." + name;
    const bool packed = checkpoint_.find(stem + "_blocks") != nullptr;
    const Eigen::MatrixXd &weights = tensor(stem + (packed ? "_blocks" : "")), &bias = tensor(stem + "_bias");
    const auto row = static_cast<Eigen::Index>(expert);
    const auto inputs = static_cast<Eigen::Index>(x.size());
    BoundRow result;
    for (Eigen::Index o = 0; o < bias.cols(); ++o) {
      BoundRow terms = {of_double(bias(row, o))};
      for (Eigen::Index i = 0; i < inputs; ++i) {
        const double weight = packed ? weights(row * bias.cols() + o, i) : weights(row * inputs + i, o);
        terms.push_back(x[static_cast<std::size_t>(i)] * of_double(weight));
      }
      result.push_back(sum(terms));
    }
    return result;
  }

  // GptOssExperts._apply_gate; a clamp moves nothing further apart.
  static BoundRow clamped_swiglu(const BoundRow& both, double alpha, double limit) {
    BoundRow inner;
    for (std::size_t i = 0; i < both.size(); i += 2) {
      const Float64Bound gate = {std::min(both[i].value, limit), both[i].error};
      const Float64Bound up = {std::clamp(both[i + 1].value, -limit, limit), both[i + 1].error};
      const Float64Bound active = scaled(evaluated_activation("silu", scaled(gate, alpha)), 1 / alpha);
      inner.push_back((up + of_double(1)) * active);
    }
    return inner;
  }

  BoundRow mixed(const BoundRow& x) {
    const BoundRow scores = linear("mlp.router", {x}).at(0);
    std::vector<std::size_t> order(scores.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](auto a, auto b) { return scores[a].value > scores[b].value; });
    order.resize(static_cast<std::size_t>(*checkpoint_.config().integer("num_experts_per_tok")));
    BoundRow chosen;
    for (const std::size_t expert : order) chosen.push_back(scores[expert]);
    const BoundRow shares = evaluated_softmax(chosen);
    std::vector<BoundRow> terms(x.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      const BoundRow inner =
          clamped_swiglu(of_expert(order[i], "gate_up_proj", x), *checkpoint_.config().number("swiglu_alpha"),
                         *checkpoint_.config().number("swiglu_limit"));
      const BoundRow result = of_expert(order[i], "down_proj", inner);
      for (std::size_t c = 0; c < x.size(); ++c) terms[c].push_back(shares[i] * result[c]);
    }
    BoundRow total;
    for (const BoundRow& of_coordinate : terms) total.push_back(sum(of_coordinate));
    return total;
  }

  BoundRows feed_forward(const BoundRows& x) {
    BoundRows gate, up;
    if (model_.architecture == "gpt_oss") {
      for (const BoundRow& row : x) gate.push_back(mixed(row));
      return gate;
    }
    if (model_.architecture == "phi3") {
      const std::int64_t inner = tensor(layer_ + "mlp.gate_up_proj.weight").rows() / 2;
      gate = linear("mlp.gate_up_proj", x, 0, inner);
      up = linear("mlp.gate_up_proj", x, inner, inner);
    } else {
      gate = linear(names_.gate, x);
      up = linear(names_.up, x);
    }
    for (std::size_t i = 0; i < gate.size(); ++i) {
      for (std::size_t c = 0; c < gate[i].size(); ++c) {
        const Float64Bound active = evaluated_activation(gemma_ ? "gelu_new" : "silu", gate[i][c]);
        gate[i][c] = active * up[i][c];
      }
    }
    return linear(names_.down, gate);
  }

  // Of each head by itself, or (OLMo 2) of all together.
  void head_normed(BoundRows& rows, const std::string& name, std::size_t width) {
    for (BoundRow& row : rows) {
      for (std::size_t first = 0; first < row.size(); first += width) {
        const auto at = row.begin() + static_cast<std::ptrdiff_t>(first);
        const BoundRow part = gained({at, at + static_cast<std::ptrdiff_t>(width)}, layer_ + name);
        std::copy(part.begin(), part.end(), at);
      }
    }
  }

  void rotated(BoundRows& rows, const HeadDescription& head) const {
    if (!head.rotary) return;
    const Rotary& rotary = *head.rotary;
    // Phi-3's checkpoint has 16 as its original context.
    const bool is_long = rotary.frequencies.size() > 1 && rows.size() > 16;
    const std::size_t planes = static_cast<std::size_t>(rotary.width) / 2,
                      width = static_cast<std::size_t>(model_.head_dim);
    const double factor = rotary.factor.midpoint();
    for (std::size_t position = 0; position < rows.size(); ++position) {
      for (std::size_t plane = 0; plane < planes; ++plane) {
        const double frequency = rotary.frequencies[is_long ? 1 : 0][plane].midpoint();
        const double angle = static_cast<double>(position) * frequency;
        // As in DescribedHead::rotated.
        const double roundings = std::abs(std::log(frequency)) + 4 + 2 * static_cast<double>(rotary.width) + 8 + 1;
        const double turned = angle * roundings * Float64Bound::unit;
        const Float64Bound cosine = scaled(rounded(Float64Bound{std::cos(angle), turned}, 2), factor);
        const Float64Bound sine = scaled(rounded(Float64Bound{std::sin(angle), turned}, 2), factor);
        for (std::size_t first = 0; first < rows[position].size(); first += width) {
          const std::size_t a = gguf_ ? first + 2 * plane : first + plane, b = gguf_ ? a + 1 : a + planes;
          const Float64Bound x = rows[position][a], y = rows[position][b];
          rows[position][a] = x * cosine - y * sine;
          rows[position][b] = y * cosine + x * sine;
        }
      }
    }
  }

  BoundRows attention(const HeadDescription* heads, const BoundRows& x, EvaluatedLayer& seen) {
    const std::int64_t width = model_.head_dim, queries = model_.heads * width, keys = model_.key_heads * width;
    const bool fused = model_.architecture == "phi3";
    const std::string qkv = "self_attn.qkv_proj";
    seen.query = fused ? linear(qkv, x, 0, queries) : linear(names_.query, x);
    seen.key = fused ? linear(qkv, x, queries, keys) : linear(names_.key, x);
    const BoundRows value = fused ? linear(qkv, x, queries + keys, keys) : linear(names_.value, x);
    if (heads->head_norm) {
      const bool olmo = model_.architecture == "olmo2";
      head_normed(seen.query, names_.query_norm, static_cast<std::size_t>(olmo ? queries : width));
      head_normed(seen.key, names_.key_norm, static_cast<std::size_t>(olmo ? keys : width));
    }
    rotated(seen.query, *heads);
    rotated(seen.key, *heads);
    BoundRows result(x.size());
    for (std::int64_t head = 0; head < model_.heads; ++head) {
      BoundRows& coefficients = seen.coefficients.emplace_back();
      const auto q = static_cast<std::size_t>(head * width),
                 k = static_cast<std::size_t>(head / (model_.heads / model_.key_heads) * width);
      for (std::size_t i = 0; i < x.size(); ++i) {
        // Of Gemma 3 with images the description's window has room for an image of 4 tokens, of which there is none.
        const std::size_t window =
            heads->window ? *heads->window - (model_.architecture == "gemma3" ? 3 : 0) : x.size();
        const std::size_t first = i + 1 > window ? i + 1 - window : 0;
        BoundRow scores;
        for (std::size_t j = first; j <= i; ++j) {
          BoundRow terms;
          for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c)
            terms.push_back(seen.query[i][q + c] * seen.key[j][k + c]);
          const Float64Bound score = scaled(sum(terms), heads->scale.midpoint());
          scores.push_back(heads->softcap ? soft_capped(score, *heads->softcap) : score);
        }
        const std::string sinks = layer_ + "self_attn.sinks";
        if (checkpoint_.find(sinks)) scores.push_back(of_double(tensor(sinks)(0, head)));
        coefficients.push_back(evaluated_softmax(scores));
        if (checkpoint_.find(sinks)) coefficients.back().pop_back();
        for (std::size_t c = 0; c < static_cast<std::size_t>(width); ++c) {
          BoundRow terms;
          for (std::size_t j = first; j <= i; ++j) terms.push_back(coefficients[i][j - first] * value[j][k + c]);
          result[i].push_back(sum(terms));
        }
      }
    }
    return result;
  }

  const Checkpoint& checkpoint_;
  const ModelDescription& model_;
  bool gguf_, gemma_;
  const DecoderNames& names_;
  std::string prefix_, layer_;
  std::map<std::string, Eigen::MatrixXd> tensors_;
};

}  // namespace

EvaluatedDecoder evaluated_decoder(const Checkpoint& checkpoint, const ModelDescription& model,
                                   const std::vector<std::int64_t>& ids) {
  return Decoder(checkpoint, model).evaluate(ids);
}

}  // namespace softcheck::models
