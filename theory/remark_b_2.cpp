#include "theory/remark_b_2.hpp"

#include <stdexcept>

#include "theory/coordinate_box.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

constexpr unsigned bound_precision = 64;  // the bounds are rounded up once and then points

Enclosure distance(const std::vector<Enclosure>& x, const std::vector<Enclosure>& y) {
  return largest_entry(subtract(x, y));
}

Enclosure embedding_distance(const SmallTransformer& model, int a, int b) {
  return distance(as_scalars<Enclosure>(model.embeddings.row(a).transpose()),
                  as_scalars<Enclosure>(model.embeddings.row(b).transpose()));
}

LayerGains gains_of(const SmallTransformer& model, const TransformerLayer& layer, const LayerBounds& bounds) {
  LayerGains gains;
  gains.feedforward = upper_end(feedforward_gain(model, layer, feedforward_input_box(model, layer, bounds.inputs)));
  for (std::size_t h = 0; h < layer.heads.size(); ++h) {
    gains.values.push_back(upper_end(largest_row_sum(layer.heads[h].value)));
    Enclosure diameter;
    for (const Enclosure& side : attention_box(layer.heads[h], bounds.inputs)) {
      diameter = maximum(diameter, width(side));
    }
    gains.diameters.push_back(diameter);
    if (!(bounds.spreads[h] / model.shape.theta <= 600)) {
      throw std::invalid_argument("ForgettingBounds: need spread/theta <= 600, got " +
                                  std::to_string(bounds.spreads[h] / model.shape.theta));
    }
    gains.dispersion.push_back(upper_end(exp(Enclosure(bounds.spreads[h]) / Enclosure(model.shape.theta))));
  }
  return gains;
}

Enclosure residual_gain(const SmallTransformer& model) { return Enclosure(model.shape.residual ? 1 : 0); }

// The activations of [b, ..., b]: those of the single token b.
std::vector<Run> alone(int b) { return {Run{b, 1}}; }

std::string layer_witness(const TraceLadder& trace, std::size_t layer) {
  return trace.witness() + " layer " + std::to_string(layer);
}

}  // namespace

ForgettingBounds::ForgettingBounds(const SmallTransformer& model, int a, int b) : model_(&model), a_(a), b_(b) {
  const auto known = [&](int symbol) { return symbol >= 0 && symbol < model.shape.vocabulary; };
  if (!known(a) || !known(b)) throw std::invalid_argument("ForgettingBounds: need two symbols of the vocabulary");
  const numerics::PrecisionScope scope(bound_precision);
  const SpreadBounds bounds = bound_spreads(model);
  for (std::size_t l = 0; l < model.layers.size(); ++l) {
    layers_.push_back(gains_of(model, model.layers[l], bounds.layers[l]));
  }
}

std::vector<Enclosure> ForgettingBounds::bert_constants() const {
  const numerics::PrecisionScope scope(bound_precision);
  std::vector<Enclosure> result{Enclosure(0)};
  for (const LayerGains& layer : layers_) {
    Enclosure kept = residual_gain(*model_);
    Enclosure added(0);
    for (std::size_t h = 0; h < layer.values.size(); ++h) {
      kept += layer.values[h];
      added += layer.dispersion[h] * layer.diameters[h];
    }
    result.push_back(upper_end(layer.feedforward * (kept * result.back() + added)));
  }
  return result;
}

std::vector<std::vector<Enclosure>> ForgettingBounds::gpt_distances(std::size_t length) const {
  const numerics::PrecisionScope scope(bound_precision);
  std::vector<std::vector<Enclosure>> result{std::vector<Enclosure>(length, Enclosure(0))};
  if (length > 0) result[0][0] = upper_end(embedding_distance(*model_, a_, b_));
  for (const LayerGains& layer : layers_) {
    const std::vector<Enclosure>& before = result.back();
    std::vector<Enclosure> after;
    Enclosure sum(0), largest(0);
    for (std::size_t i = 0; i < length; ++i) {
      sum += before[i];
      largest = maximum(largest, before[i]);
      Enclosure distance = residual_gain(*model_) * before[i];
      for (std::size_t h = 0; h < layer.values.size(); ++h) {
        const Enclosure dispersed = layer.dispersion[h] * sum / Enclosure::integer(i + 1);
        distance += layer.values[h] * minimum(largest, dispersed);
      }
      after.push_back(upper_end(layer.feedforward * distance));
    }
    result.push_back(std::move(after));
  }
  return result;
}

std::vector<Enclosure> ForgettingBounds::gpt_constants() const {
  const numerics::PrecisionScope scope(bound_precision);
  std::vector<Enclosure> result{upper_end(embedding_distance(*model_, a_, b_))};
  for (const LayerGains& layer : layers_) {
    Enclosure gain = residual_gain(*model_);
    for (std::size_t h = 0; h < layer.values.size(); ++h) gain += layer.values[h] * layer.dispersion[h];
    result.push_back(upper_end(result.back() * layer.feedforward * gain));
  }
  return result;
}

Enclosure ForgettingBounds::gpt_closed_form(std::size_t layer, const Enclosure& length) const {
  return gpt_constants()[layer] * pow(Enclosure(1) + log(length), static_cast<unsigned>(layer)) / length;
}

Enclosure ForgettingBounds::forgetting_length(double tolerance) const {
  if (!(tolerance > 0)) throw std::invalid_argument("forgetting_length: need tolerance > 0");
  const numerics::PrecisionScope scope(bound_precision);
  const bool bert = model_->shape.mask == AttentionMask::bert;
  const std::size_t depth = layers_.size();
  const Enclosure constant = bert ? bert_constants().back() : gpt_constants().back();
  // (1 + ln n)^l / n falls once ln n >= l - 1, and ln 2^k >= l - 1 once k >= 3 (l - 1)/2 since ln 2 > 2/3.
  long k = bert ? 0 : static_cast<long>(3 * (depth - 1) / 2 + 1);
  for (;; ++k) {
    const Enclosure n = Enclosure::power_of_two(k);
    const Enclosure bound =
        bert ? constant / n : constant * pow(Enclosure(1) + log(n), static_cast<unsigned>(depth)) / n;
    if (numerics::less(bound, Enclosure(tolerance)) == numerics::Decision::proved) return n;
  }
}

std::vector<Certificate> certify_bert_forgets(const ForgettingBounds& bounds, double others,
                                              const std::vector<Enclosure>& constants) {
  if (!(others >= 1) || !(others < std::ldexp(1.0, 53)) || bounds.first() == bounds.other()) {
    throw std::invalid_argument("certify_bert_forgets: need a != b and 1 <= others < 2^53");
  }
  const SmallTransformer& model = bounds.model();
  TraceLadder mixed(model, {Run{bounds.first(), 1}, Run{bounds.other(), others}});
  TraceLadder pure(model, alone(bounds.other()));
  std::vector<Certificate> result;
  for (std::size_t l = 0; l < constants.size(); ++l) {
    result.push_back(certify_less_equal("remark_b_2.bert", layer_witness(mixed, l), [&] {
      const Enclosure n = Enclosure(1) + Enclosure(others);
      return Sides{n * distance(mixed.now().inputs[l][1], pure.now().inputs[l][0]), constants[l]};
    }));
  }
  return result;
}

std::vector<Certificate> certify_gpt_forgets(const ForgettingBounds& bounds, std::size_t others,
                                             const std::vector<std::vector<Enclosure>>& recurrence) {
  if (others < 1 || others > 511 || bounds.first() == bounds.other()) {
    throw std::invalid_argument("certify_gpt_forgets: need a != b and 1 <= others <= 511");
  }
  const SmallTransformer& model = bounds.model();
  TraceLadder mixed(model, {Run{bounds.first(), 1}, Run{bounds.other(), static_cast<double>(others)}});
  TraceLadder pure(model, alone(bounds.other()));
  std::vector<Certificate> result;
  for (std::size_t l = 0; l < recurrence.size(); ++l) {
    result.push_back(certify_less_equal("remark_b_2.gpt", layer_witness(mixed, l), [&] {
      // The sides are those of the last token, the gap is the smallest over all tokens.
      Sides sides;
      for (std::size_t i = 0; i <= others; ++i) {
        sides.left = distance(mixed.now().inputs[l][i], pure.now().inputs[l][0]);
        sides.right = recurrence[l][i];
        const Enclosure gap = sides.right - sides.left;
        sides.gap = sides.gap ? minimum(*sides.gap, gap) : gap;
      }
      return sides;
    }));
  }
  return result;
}

std::vector<Certificate> certify_gpt_closed_form(const ForgettingBounds& bounds, std::size_t length) {
  struct Fixed {
    std::vector<std::vector<Enclosure>> recurrence;
    std::vector<Enclosure> constants;
  };
  const Fixed fixed{bounds.gpt_distances(length), bounds.gpt_constants()};
  const std::string witness = describe(bounds.model(), {Run{bounds.first(), 1}, Run{bounds.other(), 1}}) + " length " +
                              std::to_string(length) + " layer ";
  std::vector<Certificate> result;
  for (std::size_t l = 0; l < fixed.recurrence.size(); ++l) {
    result.push_back(certify_less_equal("remark_b_2.gpt_closed_form", witness + std::to_string(l), [&] {
      Sides sides;
      for (std::size_t i = 0; i < length; ++i) {
        const Enclosure position = Enclosure::integer(i + 1);
        sides.left = fixed.recurrence[l][i];
        sides.right = fixed.constants[l] * pow(Enclosure(1) + log(position), static_cast<unsigned>(l)) / position;
        const Enclosure gap = sides.right - sides.left;
        sides.gap = sides.gap ? minimum(*sides.gap, gap) : gap;
      }
      return sides;
    }));
  }
  return result;
}

std::vector<Certificate> certify_forgetting_length(const ForgettingBounds& bounds, double tolerance,
                                                   const Enclosure& length) {
  const SmallTransformer& model = bounds.model();
  std::vector<Certificate> result;
  for (int factor : {1, 2, 4}) {
    const std::string witness = describe(model, {Run{bounds.first(), 1}, Run{bounds.other(), 1}}) + " tolerance " +
                                numerics::hex_float(tolerance) + " n " + std::to_string(factor) + "*" +
                                length.to_string(6);
    result.push_back(certify_less("remark_b_2.forgets", witness, [&] {
      const Enclosure n = Enclosure(factor) * length;
      const Enclosure bound = model.shape.mask == AttentionMask::bert ? bounds.bert_constants().back() / n
                                                                      : bounds.gpt_closed_form(model.layers.size(), n);
      return Sides{bound, Enclosure(tolerance)};
    }));
  }
  return result;
}

std::vector<Certificate> check_remark_b_2(const SmallTransformer& model, int a, int b, std::size_t others,
                                          double tolerance) {
  const ForgettingBounds bounds(model, a, b);
  std::vector<Certificate> result;
  const auto append = [&](std::vector<Certificate> more) {
    result.insert(result.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  if (model.shape.mask == AttentionMask::bert) {
    append(certify_bert_forgets(bounds, static_cast<double>(others), bounds.bert_constants()));
  } else {
    append(certify_gpt_forgets(bounds, others, bounds.gpt_distances(others + 1)));
    append(certify_gpt_closed_form(bounds, others + 1));
  }
  append(certify_forgetting_length(bounds, tolerance, bounds.forgetting_length(tolerance)));
  return result;
}

}  // namespace softcheck::theory
