#include "experiments/language/language_curriculum.hpp"

#include <algorithm>

namespace softcheck::experiments {
namespace {

constexpr float closed = -1;
constexpr float first_nats = 4;     // gates: the mean of a cell that has just been opened
constexpr float recent_texts = 16;  // a mean forgets a text by a factor of 1 - 1/16 a text
constexpr float rarest = 1.0F / 8;  // the least weight of an open size; the largest is 1

}  // namespace

std::size_t Curriculum::rows() const {
  return options_.algorithms.empty() ? algorithms().size() : options_.algorithms.size();
}

const Algorithm& Curriculum::algorithm_of(std::size_t cell) const {
  const std::size_t row = cell / sizes();
  return options_.algorithms.empty() ? algorithms()[row] : algorithm_named(options_.algorithms[row]);
}

Floats Curriculum::begin() const {
  Floats nats(rows() * sizes(), closed);
  for (std::size_t row = 0; row < rows(); ++row) nats[row * sizes()] = first_nats * static_cast<float>(options_.gate);
  return nats;
}

std::size_t Curriculum::draw(RandomWords& words) const {
  const std::size_t row = uniform_below(words, rows());
  return row * sizes() + uniform_below(words, sizes());
}

std::size_t Curriculum::draw(const Floats& nats, RandomWords& words) const {
  const std::size_t first = uniform_below(words, rows()) * sizes();
  const auto weight_of = [&](std::size_t cell) {
    return nats[cell] == closed ? 0 : std::clamp(nats[cell] / static_cast<float>(options_.gate), rarest, 1.0F);
  };
  float sum = 0;
  for (std::size_t cell = first; cell < first + sizes(); ++cell) sum += weight_of(cell);
  float left = uniform(words) * sum - weight_of(first);
  std::size_t cell = first;
  while (left >= 0 && cell + 1 < first + sizes() && nats[cell + 1] != closed) left -= weight_of(++cell);
  return cell;
}

void Curriculum::learn(const TokenBatch& batch, const std::vector<float>& losses, Floats& nats) const {
  std::size_t target = 0;
  for (std::size_t text = 0; text < batch.cells.size(); ++text) {
    float sum = 0, count = 0;
    for (; target < batch.places.size() && batch.places[target] < batch.begins[text + 1]; ++target) {
      sum += losses[target];
      ++count;
    }
    const std::size_t cell = batch.cells[text];
    nats[cell] += (sum / count - nats[cell]) / recent_texts;
    const std::size_t next = cell + 1;
    if (nats[cell] < static_cast<float>(options_.gate) && next % sizes() != 0 && nats[next] == closed) {
      nats[next] = first_nats * static_cast<float>(options_.gate);
    }
  }
}

std::string Curriculum::open_sizes(const Floats& nats) const {
  std::string text;
  for (std::size_t row = 0; row < rows(); ++row) {
    std::size_t cell = row * sizes();
    while ((cell + 1) % sizes() != 0 && nats[cell + 1] != closed) ++cell;
    text += (row == 0 ? "" : " ") + std::to_string(size_of(cell));
  }
  return text;
}

}  // namespace softcheck::experiments
