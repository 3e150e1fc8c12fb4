#include "experiments/language/language_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

#include "experiments/max_retrieval_sets.hpp"

namespace softcheck::experiments {
namespace {

struct PositionsWord {
  Positions positions;
  const char* word;
};
constexpr std::array<PositionsWord, 3> positions_words{
    {{Positions::rotary, "rotary"}, {Positions::randomised, "randomised"}, {Positions::none, "none"}}};

// count numbers of 0 ... most_positions - 1 in order, every choice of them with the same probability (Knuth, The Art of
// Computer Programming, 3.4.2, algorithm S).
void draw_in_order(RandomWords& words, int count, int* into) {
  for (int number = 0, left = count; left > 0; ++number) {
    const auto rest = static_cast<std::uint64_t>(most_positions - number);
    if (uniform_below(words, rest) >= static_cast<std::uint64_t>(left)) continue;
    *into++ = number;
    --left;
  }
}

}  // namespace

std::string to_string(Positions positions) {
  for (const PositionsWord& known : positions_words) {
    if (known.positions == positions) return known.word;
  }
  return "";
}

Positions parse_positions(const std::string& word) {
  for (const PositionsWord& known : positions_words) {
    if (word == known.word) return known.positions;
  }
  throw std::invalid_argument("positions: need rotary, randomised or none, got '" + word + "'");
}

std::string to_string(HeadWeights weights) { return head_weights[static_cast<std::size_t>(weights)].word; }

std::string list_of_head_weights(bool meanings) {
  std::string list;
  for (const HeadWeightsRow& known : head_weights) {
    const bool first = known.weights == head_weights.front().weights,
               last = known.weights == head_weights.back().weights;
    list += std::string(first ? "" : last ? " or " : ", ") + known.word + (meanings ? known.meaning : "");
  }
  return list;
}

HeadWeights parse_head_weights(const std::string& word) {
  for (const HeadWeightsRow& known : head_weights) {
    if (word == known.word) return known.weights;
  }
  throw std::invalid_argument("attention: need " + list_of_head_weights(false) + ", got '" + word + "'");
}

void check_shape(const LanguageShape& shape) {
  const auto need = [](bool holds, const std::string& what) {
    if (!holds) throw std::invalid_argument("language model: need " + what);
  };
  need(shape.layers >= 1 && shape.layers <= most_layers,
       "1 to " + std::to_string(most_layers) + " layers, got " + std::to_string(shape.layers));
  // Then every tensor begins at a multiple of 64 bytes.
  need(shape.width >= 16 && shape.width % 16 == 0,
       "a width that is a multiple of 16, got " + std::to_string(shape.width));
  need(shape.inner >= 16 && shape.inner % 16 == 0,
       "an inner width that is a multiple of 16, got " + std::to_string(shape.inner));
  need(shape.heads >= 1 && shape.width % (2 * shape.heads) == 0, "heads that divide the width into even parts, got " +
                                                                     std::to_string(shape.heads) + " of " +
                                                                     std::to_string(shape.width));
}

void check_design(const LanguageDesign& design) {
  check_shape(design.shape);
  if (design.adaptive && !takes_temperature(design.weights)) {
    throw std::invalid_argument("language model: need plain temperature with attention=" + to_string(design.weights));
  }
}

Floats initial_language_parameters(const LanguageShape& shape, RandomWords& words) {
  check_shape(shape);
  const LanguagePlaces places{shape};
  Floats parameters(places.count(), 1);
  const auto draw = [&](std::size_t begin, std::size_t count, double deviation) {
    for (std::size_t i = begin; i < begin + count; ++i) {
      parameters[i] = static_cast<float>(deviation * normal_draw(words));
    }
  };
  const auto width = static_cast<std::size_t>(shape.width), inner = static_cast<std::size_t>(shape.inner);
  const double by_width = 1 / std::sqrt(static_cast<double>(width));
  const double added = 1 / std::sqrt(2.0 * shape.layers);
  draw(places.embedding(), static_cast<std::size_t>(character_count) * width, by_width);
  for (int layer = 0; layer < shape.layers; ++layer) {
    draw(places.projections(layer), 3 * width * width, by_width);
    draw(places.output(layer), width * width, by_width * added);
    draw(places.gate(layer), 2 * inner * width, by_width);
    draw(places.down(layer), width * inner, added / std::sqrt(static_cast<double>(inner)));
  }
  return parameters;
}

template <class Real>
TurnTable<Real>::TurnTable(const LanguageShape& shape) {
  const int half = shape.head_width() / 2;
  for (int position = 0; position < most_positions; ++position) {
    for (int pair = 0; pair < half; ++pair) {
      const double angle = position * std::pow(rotary_base, -2.0 * pair / shape.head_width());
      cosines.push_back(static_cast<Real>(std::cos(angle)));
      sines.push_back(static_cast<Real>(std::sin(angle)));
    }
  }
}
template struct TurnTable<float>;
template struct TurnTable<double>;

void add_text(TokenBatch& batch, const std::string& text, std::size_t first) {
  const int begin = batch.tokens();
  const std::vector<int> ids = ids_of(text);
  // The last character is predicted and never seen.
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    batch.ids.push_back(ids[i]);
    batch.positions.push_back(static_cast<int>(i));
    if (i + 1 < first) continue;
    batch.places.push_back(begin + static_cast<int>(i));
    batch.labels.push_back(ids[i + 1]);
  }
  batch.begins.push_back(batch.tokens());
}

void place_for_training(TokenBatch& batch, Positions positions, RandomWords& words) {
  if (positions == Positions::none) batch.positions.clear();
  if (positions != Positions::randomised) return;
  for (int text = 0; text < batch.texts(); ++text) {
    const auto begin = batch.begins[static_cast<std::size_t>(text)],
               end = batch.begins[static_cast<std::size_t>(text) + 1];
    draw_in_order(words, static_cast<int>(end - begin), &batch.positions[static_cast<std::size_t>(begin)]);
  }
}

}  // namespace softcheck::experiments
