#include "theory/theorem_2_2.hpp"

#include <stdexcept>

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

// Boxes are propagated once, at this precision. They are rounded outward, so wherever something was rounded they
// contain the exact boxes strictly, and a claim about a box is not a tie.
constexpr unsigned box_precision = 64;

void require_length_arguments(const char* function, double spread, double theta, double epsilon) {
  if (!(spread >= 0) || !(theta > 0) || !(epsilon > 0) || !(epsilon < 1)) {
    throw std::invalid_argument(std::string(function) + ": need spread >= 0, theta > 0 and epsilon in (0, 1)");
  }
}

std::optional<Enclosure> certain_floor(const Enclosure& x) {
  Enclosure result;
  if (x.is_nan()) return std::nullopt;
  mpfr_floor(&result.data()->left, &x.data()->left);
  mpfr_floor(&result.data()->right, &x.data()->right);
  if (!result.is_point()) return std::nullopt;
  return result;
}

// The spread of a row as a sum of differences: exactly 0 if only one group is visible.
Enclosure row_spread(const AttentionRow<Enclosure>& row) {
  Enclosure spread(0);
  for (std::size_t j = 0; j < row.logits.size(); ++j) {
    for (std::size_t k = 0; k < j; ++k) spread = maximum(spread, abs(row.logits[j] - row.logits[k]));
  }
  return spread;
}

// Smallest distance of the activations from the walls of the box: negative outside.
Sides box_sides(const std::vector<std::vector<Enclosure>>& tokens, const Box& box) {
  Sides sides;
  for (const std::vector<Enclosure>& token : tokens) {
    for (std::size_t c = 0; c < box.size(); ++c) {
      const Enclosure room = minimum(token[c] - lower_end(box[c]), upper_end(box[c]) - token[c]);
      sides.gap = sides.gap ? minimum(*sides.gap, room) : room;
      sides.left = maximum(sides.left, abs(token[c]));
      sides.right = maximum(sides.right, magnitude(box[c]));
    }
  }
  return sides;
}

}  // namespace

Enclosure smallest_dispersed_length(double spread, double theta, double epsilon) {
  require_length_arguments("smallest_dispersed_length", spread, theta, epsilon);
  if (!(spread / theta <= 240)) {
    throw std::invalid_argument("smallest_dispersed_length: need spread/theta <= 240, got " +
                                std::to_string(spread / theta));
  }
  return smallest_integer_above(
      [&] { return dispersion_length_sharp(Enclosure(spread), Enclosure(theta), Enclosure(epsilon)); });
}

Enclosure smallest_integer_above(const std::function<Enclosure()>& value) {
  for (unsigned bits : numerics::precision_ladder) {
    const numerics::PrecisionScope scope(bits);
    const auto floor = certain_floor(value());
    if (floor) {
      const numerics::PrecisionScope exact(numerics::precision_ladder.back());
      return *floor + Enclosure(1);
    }
  }
  throw std::invalid_argument("smallest_integer_above: need a value whose floor 512 bits tell");
}

std::optional<std::uint64_t> as_integer(const Enclosure& n) {
  if (!n.is_point() || !mpfr_integer_p(&n.data()->left) || !mpfr_fits_uintmax_p(&n.data()->left, MPFR_RNDN)) {
    return std::nullopt;
  }
  return mpfr_get_uj(&n.data()->left, MPFR_RNDN);
}

SpreadBounds bound_spreads(const SmallTransformer& model) {
  const numerics::PrecisionScope scope(box_precision);
  SpreadBounds bounds;
  Box box = embedding_box(model);
  for (const TransformerLayer& layer : model.layers) {
    LayerBounds now{box, {}};
    for (const AttentionHead& head : layer.heads) {
      now.spreads.push_back(spread_over_box(head, box).upper_double());
      bounds.spread = std::max(bounds.spread, now.spreads.back());
    }
    bounds.layers.push_back(std::move(now));
    box = layer_box(model, layer, box);
  }
  bounds.outputs = std::move(box);
  return bounds;
}

TraceLadder::Step& TraceLadder::step() {
  const auto [entry, is_new] = steps_.try_emplace(numerics::working_precision());
  if (is_new) entry->second.trace = forward<Enclosure>(model_, groups_);
  return entry->second;
}

const ForwardTrace<Enclosure>& TraceLadder::now() { return step().trace; }

const HeadProjection<Enclosure>& TraceLadder::head_now(std::size_t layer, std::size_t head) {
  Step& current = step();
  const auto [entry, is_new] = current.heads.try_emplace({layer, head});
  if (is_new) entry->second = project(model_.layers[layer].heads[head], current.trace.inputs[layer]);
  return entry->second;
}

std::vector<Certificate> certify_boxed(TraceLadder& trace, const SpreadBounds& bounds) {
  std::vector<Certificate> result;
  for (std::size_t l = 0; l <= bounds.layers.size(); ++l) {
    const Box& box = l < bounds.layers.size() ? bounds.layers[l].inputs : bounds.outputs;
    result.push_back(certify_less_equal("theorem_2_2.boxed", trace.witness() + " layer " + std::to_string(l),
                                        [&] { return box_sides(trace.now().inputs[l], box); }));
  }
  return result;
}

std::vector<Certificate> certify_spreads(TraceLadder& trace, const SpreadBounds& bounds) {
  std::vector<Certificate> result;
  for (std::size_t l = 0; l < bounds.layers.size(); ++l) {
    for (std::size_t h = 0; h < bounds.layers[l].spreads.size(); ++h) {
      const std::string witness = trace.witness() + " layer " + std::to_string(l) + " head " + std::to_string(h);
      result.push_back(certify_less_equal("theorem_2_2.spread_bounded", witness, [&] {
        Enclosure observed(0);
        const auto& head = trace.head_now(l, h);
        for (std::size_t i = 0; i < trace.groups().size(); ++i) {
          observed =
              maximum(observed,
                      row_spread(attention_row(head, trace.now().counts, i, trace.model().shape.mask, trace.theta())));
        }
        return Sides{observed, Enclosure(bounds.layers[l].spreads[h])};
      }));
    }
  }
  return result;
}

std::vector<Certificate> certify_dispersal(TraceLadder& trace, const SpreadBounds& bounds, double epsilon) {
  std::vector<Certificate> result;
  const auto long_enough = [&](const AttentionRow<Enclosure>& row, double spread) {
    const Enclosure needed = dispersion_length_paper(Enclosure(spread), trace.theta(), Enclosure(epsilon));
    return numerics::less(needed, row.length) == numerics::Decision::proved;
  };
  for (std::size_t l = 0; l < bounds.layers.size(); ++l) {
    for (std::size_t h = 0; h < bounds.layers[l].spreads.size(); ++h) {
      const std::string witness = trace.witness() + " layer " + std::to_string(l) + " head " + std::to_string(h) +
                                  " epsilon " + numerics::hex_float(epsilon);
      result.push_back(certify_less("theorem_2_2.disperses", witness, [&] {
        Enclosure largest(0);
        const auto& head = trace.head_now(l, h);
        for (std::size_t i = 0; i < trace.groups().size(); ++i) {
          const auto row = attention_row(head, trace.now().counts, i, trace.model().shape.mask, trace.theta());
          if (!long_enough(row, bounds.layers[l].spreads[h])) continue;
          for (std::size_t j = 0; j < row.weights.size(); ++j) largest = maximum(largest, row.coefficient(j));
        }
        return Sides{largest, Enclosure(epsilon)};
      }));
    }
  }
  return result;
}

Certificate certify_sharp_length(double spread, double theta, double epsilon) {
  require_length_arguments("certify_sharp_length", spread, theta, epsilon);
  const std::string witness = "spread " + numerics::hex_float(spread) + " theta " + numerics::hex_float(theta) +
                              " epsilon " + numerics::hex_float(epsilon);
  return certify_less_equal("theorem_2_2.sharp_length", witness, [&] {
    const Enclosure d(spread), t(theta), e(epsilon);
    // The two lengths differ by e^(delta/theta) - 1: a tie exactly where the spread is 0.
    return Sides{dispersion_length_sharp(d, t, e), dispersion_length_paper(d, t, e), expm1(d / t)};
  });
}

std::vector<Run> lengthened(const SmallTransformer& model, std::vector<Run> runs, double spread, double epsilon) {
  require_length_arguments("lengthened", spread, model.shape.theta, epsilon);
  const numerics::PrecisionScope scope(box_precision);
  const double needed =
      dispersion_length_paper(Enclosure(spread), Enclosure(model.shape.theta), Enclosure(epsilon)).upper_double();
  if (!(needed < std::ldexp(1.0, 900))) {
    throw std::invalid_argument("lengthened: need e^(spread/theta)/epsilon < 2^900");
  }
  runs = token_groups(model, runs);
  // BERT: every run, so that the counts keep adding exactly. GPT: only the first may be long.
  const std::size_t last = model.shape.mask == AttentionMask::bert ? runs.size() : 1;
  int doublings = 0;
  while (std::ldexp(runs.front().count, doublings) <= needed) ++doublings;
  for (std::size_t i = 0; i < last; ++i) runs[i].count = std::ldexp(runs[i].count, doublings);
  return runs;
}

std::vector<Certificate> check_theorem_2_2(const SmallTransformer& model, const std::vector<Run>& runs,
                                           double epsilon) {
  const SpreadBounds bounds = bound_spreads(model);
  TraceLadder trace(model, runs);
  std::vector<Certificate> result = certify_boxed(trace, bounds);
  const auto append = [&](std::vector<Certificate> more) {
    result.insert(result.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  append(certify_spreads(trace, bounds));
  TraceLadder longer(model, lengthened(model, runs, bounds.spread, epsilon));
  append(certify_dispersal(longer, bounds, epsilon));
  append({certify_sharp_length(bounds.spread, model.shape.theta, epsilon)});
  return result;
}

}  // namespace softcheck::theory
