#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "experiments/language/algorithms/problem.hpp"
#include "experiments/language/language_model.hpp"
#include "experiments/language/language_training.hpp"

namespace softcheck::experiments {

/// Which texts a training draws. A cell is an algorithm and a size. With a gate, each algorithm begins with its
/// smallest size; the next one opens when the loss of the largest open one is below the gate, and sizes with more loss
/// are drawn more often.
///
/// nats   (cells): the moving mean over texts of their mean loss a predicted character; -1 of a closed cell
class Curriculum {
 public:
  /// options   must outlive this object
  explicit Curriculum(const LanguageTrainingOptions& options) : options_(options) {}

  const Algorithm& algorithm_of(std::size_t cell) const;
  int size_of(std::size_t cell) const { return options_.smallest + static_cast<int>(cell % sizes()); }

  /// Of a training that begins: the smallest size of each algorithm is open.
  Floats begin() const;
  /// Algorithms and sizes uniform.
  std::size_t draw(RandomWords& words) const;
  /// Algorithms uniform, their open sizes by loss over gate, between 1/8 and 1.
  std::size_t draw(const Floats& nats, RandomWords& words) const;
  /// Takes the losses of a step into the means, in the order of its texts, and opens cells.
  void learn(const TokenBatch& batch, const std::vector<float>& losses, Floats& nats) const;
  /// The largest open size of each algorithm: "8 12 5".
  std::string open_sizes(const Floats& nats) const;

 private:
  std::size_t rows() const;  // algorithms
  std::size_t sizes() const { return static_cast<std::size_t>(options_.largest - options_.smallest + 1); }

  const LanguageTrainingOptions& options_;
};

}  // namespace softcheck::experiments
