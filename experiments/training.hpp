#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "experiments/adam.hpp"
#include "experiments/max_retrieval_sets.hpp"
#include "experiments/safetensors.hpp"

namespace softcheck::experiments {

/// How the squares of the weights are used: the paper says "L2 with lambda = 0.001" and leaves the rest open.
enum class Decay { loss, half_loss, decoupled, none };

struct TrainingOptions {
  std::uint64_t seed = 1;
  std::int64_t steps = 100'000;
  double learning_rate = 1e-3;
  Decay decay = Decay::loss;
  double lambda = 1e-3;
  bool decay_biases = false;
  bool cosine_schedule = false;  // else constant
  int sets_per_step = 128;
  int smallest_set = 5;
  int largest_set = 16;
  HeadKind head = HeadKind::softmax;
};

/// Words of a line such as "decay=loss,lambda=0.001", in results and in metadata.
std::string to_text(const TrainingOptions& options);
Decay parse_decay(const std::string& word);

TrainingState start_training(const TrainingOptions& options);

/// Adam (beta1 0.9, beta2 0.999, epsilon 1e-8) from state to options.steps. The same options give the same bits on
/// machines with the same vector instructions. Subnormals, which would slow training tenfold, are flushed inside; the
/// floating-point environment is restored at the end.
///
/// watch    called after every step with the state and the mean cross-entropy of the step; false stops
void train(TrainingState& state, const TrainingOptions& options,
           const std::function<bool(const TrainingState&, float loss)>& watch);

/// Which vector instructions train() uses here: "avx512", "avx2" or "baseline".
std::string training_instructions();

/// A checkpoint: parameters, moments, step and generator, with the options in its metadata.
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state, const TrainingOptions& options);

/// throws   models::TensorFileError also when the checkpoint was made with other options
TrainingState read_checkpoint(const std::filesystem::path& path, const TrainingOptions& options);

}  // namespace softcheck::experiments
