#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "experiments/adam.hpp"
#include "experiments/language/language_model.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/max_retrieval_sets.hpp"
#include "experiments/safetensors.hpp"

namespace softcheck::experiments {

struct LanguageTrainingOptions {
  LanguageDesign design = {};
  std::uint64_t seed = 1;
  std::int64_t steps = 2000;
  double learning_rate = 3e-3;  // after the warm-up, and then along a cosine to 0, or as cool_down says
  std::int64_t warm_up = 100;   // steps in which it rises from 0
  std::int64_t cool_down = 0;   // the last steps, in which a constant rate falls to 0 along a line; 0: the cosine
  double weight_decay = 0.1;    // AdamW's, of the matrices: the rate times it is taken off
  double clip = 1;              // the largest norm of a step's gradient; a longer one is scaled down to it
  int tokens_per_step = 2048;   // problems are drawn until a step has this many
  int smallest = 4, largest = 12;
  std::vector<std::string> algorithms = {};  // that texts are drawn from; none: all
  double gate = 0;             // > 0: sizes open one by one, once the loss a character is below it, in nats: Curriculum
  bool response_only = false;  // the loss leaves out the first state, which the question ends with
  std::string from = {};       // SHA-256 of the model whose parameters the training begins with; empty: random ones
};

/// Words of a line such as "seed=1,steps=2000", in results and in metadata.
std::string to_text(const LanguageTrainingOptions& options);

/// The design of a model from such a line.
///
/// throws   std::invalid_argument if it has none
LanguageDesign design_of(const std::string& options);

/// begin   the parameters of options.from; empty: random ones
TrainingState start_training(const LanguageTrainingOptions& options, const Floats& begin = {});

/// Names of algorithms between commas.
///
/// throws   std::invalid_argument as algorithm_named(), also for a name that stands twice
std::vector<std::string> parse_algorithms(const std::string& list);

/// The problems of a step: algorithms and sizes uniform, or as the curriculum draws them.
TokenBatch draw_batch(const LanguageTrainingOptions& options, TrainingState& state);

using BatchSource = std::function<TokenBatch(const LanguageTrainingOptions&, TrainingState&)>;

/// The learning rate of a step, from 0 on.
double learning_rate_at(const LanguageTrainingOptions& options, std::int64_t step);

/// AdamW (beta1 0.9, beta2 0.98, epsilon 1e-8) from state to options.steps. Bits and floating-point environment as
/// train() of max retrieval has them.
///
/// watch    called after every step with the state and the mean cross-entropy of the step; false stops
/// draw     the texts of a step
/// throws   std::invalid_argument if an option or the state makes no sense
void train(TrainingState& state, const LanguageTrainingOptions& options, const LanguageKernels& kernels,
           const std::function<bool(const TrainingState&, float loss)>& watch, const BatchSource& draw = draw_batch);

/// Tensors as transformers names them in LlamaForCausalLM with tied embeddings, and back.
///
/// throws   models::TensorFileError when a tensor is missing, foreign, of another shape or not finite
TensorFile language_tensors(const LanguageShape& shape, const Floats& parameters);
Floats language_parameters(const LanguageShape& shape, const TensorFile& file, const std::string& name);

/// A checkpoint: parameters, moments, step and generator, with the options in its metadata.
void write_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                      const LanguageTrainingOptions& options);

/// throws   models::TensorFileError also when the checkpoint was made with other options
TrainingState read_checkpoint(const std::filesystem::path& path, const LanguageTrainingOptions& options);

/// A trained language model.
struct LanguageModel {
  std::string name;     // of its folder
  std::string options;  // the words it was trained with
  LanguageDesign design;
  Floats parameters;
  std::vector<std::string> algorithms = {};  // that it was trained on; none: all
};

/// Writes a folder that transformers can load: model.safetensors, in bf16, and config.json of a LlamaForCausalLM.
/// transformers ignores the adaptive temperature, and the key softcheck_attention of heads without plain softmax: it
/// runs all heads with softmax. `softcheck model` refuses that key.
///
/// metadata   of the safetensors file; has "options"
void write_language_model(const std::filesystem::path& folder, const LanguageDesign& design, const Floats& parameters,
                          const std::map<std::string, std::string>& metadata);

/// Does the folder contain a model that train() made? Reads only the header.
bool is_language_model(const std::filesystem::path& folder);

/// throws   models::TensorFileError as language_parameters() does, and if the metadata has no options
LanguageModel read_language_model(const std::filesystem::path& folder);

/// The files of write_language_model, by name.
std::map<std::string, std::string> language_model_files(const LanguageDesign& design, const Floats& parameters,
                                                        const std::map<std::string, std::string>& metadata);

}  // namespace softcheck::experiments
