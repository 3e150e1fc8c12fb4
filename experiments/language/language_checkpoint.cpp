// Language models in files.
#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include "experiments/language/language_curriculum.hpp"
#include "experiments/language/language_training.hpp"
#include "experiments/trained_models.hpp"
#include "models/read/file_source.hpp"

namespace softcheck::experiments {
namespace {

struct NamedPlace {
  std::string name;
  std::size_t begin;
  std::vector<std::int64_t> shape;

  std::size_t count() const {
    std::size_t all = 1;
    for (const std::int64_t size : shape) all *= static_cast<std::size_t>(size);
    return all;
  }
};

// In the order of the parameters.
std::vector<NamedPlace> named_places(const LanguageShape& shape) {
  const LanguagePlaces places{shape};
  const std::int64_t d = shape.width, f = shape.inner;
  const std::size_t square = places.square(), sheet = static_cast<std::size_t>(d * f);
  std::vector<NamedPlace> named{{"model.embed_tokens.weight", places.embedding(), {character_count, d}}};
  for (int layer = 0; layer < shape.layers; ++layer) {
    const auto add = [&](const char* name, std::size_t begin, std::vector<std::int64_t> size) {
      named.push_back({fmt::format("model.layers.{}.{}.weight", layer, name), begin, std::move(size)});
    };
    add("input_layernorm", places.input_norm(layer), {d});
    add("self_attn.q_proj", places.projections(layer), {d, d});
    add("self_attn.k_proj", places.projections(layer) + square, {d, d});
    add("self_attn.v_proj", places.projections(layer) + 2 * square, {d, d});
    add("self_attn.o_proj", places.output(layer), {d, d});
    add("post_attention_layernorm", places.middle_norm(layer), {d});
    add("mlp.gate_proj", places.gate(layer), {f, d});
    add("mlp.up_proj", places.gate(layer) + sheet, {f, d});
    add("mlp.down_proj", places.down(layer), {d, f});
  }
  named.push_back({"model.norm.weight", places.last_norm(), {d}});
  return named;
}

void put_language(TensorFile& file, const std::string& prefix, const LanguageShape& shape, const Floats& values) {
  for (const NamedPlace& place : named_places(shape)) {
    const auto first = values.begin() + static_cast<std::ptrdiff_t>(place.begin);
    file.tensors[prefix + place.name] = {place.shape,
                                         std::vector<float>(first, first + static_cast<std::ptrdiff_t>(place.count()))};
  }
}

Floats take_language(const TensorFile& file, const std::string& prefix, const LanguageShape& shape,
                     const std::string& name) {
  Floats values(LanguagePlaces{shape}.count());
  for (const NamedPlace& place : named_places(shape)) {
    const std::string tensor = prefix + place.name;
    const auto found = file.tensors.find(tensor);
    if (found == file.tensors.end()) {
      throw models::TensorFileError(fmt::format("{}: need a tensor '{}', got none", name, tensor));
    }
    if (found->second.shape != place.shape) {
      throw models::TensorFileError(fmt::format("{}: tensor '{}': need another shape for {} layers of width {}", name,
                                                tensor, shape.layers, shape.width));
    }
    for (std::size_t i = 0; i < place.count(); ++i) {
      const float value = found->second.values[i];
      if (!std::isfinite(value)) {
        throw models::TensorFileError(fmt::format("{}: tensor '{}': need finite values, got {}", name, tensor, value));
      }
      values[place.begin + i] = value;
    }
  }
  return values;
}

void require_no_more(const TensorFile& file, const LanguageShape& shape, std::size_t times, std::size_t others,
                     const std::string& name) {
  const std::size_t count = times * named_places(shape).size() + others;
  if (file.tensors.size() == count) return;
  throw models::TensorFileError(
      fmt::format("{}: need the {} tensors of the language model, got {}", name, count, file.tensors.size()));
}

constexpr const char* nats_tensor = "curriculum.nats";

Floats take_nats(const TensorFile& file, const LanguageTrainingOptions& options, const std::string& name) {
  const std::size_t count = Curriculum(options).begin().size();
  const auto found = file.tensors.find(nats_tensor);
  if (found == file.tensors.end() || found->second.values.size() != count) {
    throw models::TensorFileError(fmt::format("{}: need a tensor '{}' of {} numbers", name, nats_tensor, count));
  }
  return {found->second.values.begin(), found->second.values.end()};
}

const std::string& language_metadata(const TensorFile& file, const std::string& key, const std::string& name) {
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) {
    throw models::TensorFileError(fmt::format("{}: no '{}' in its metadata: no language model of ours", name, key));
  }
  return found->second;
}

std::string config_text(const LanguageDesign& design) {
  const LanguageShape& shape = design.shape;
  nlohmann::ordered_json config{{"architectures", {"LlamaForCausalLM"}},
                                {"model_type", "llama"},
                                {"torch_dtype", "bfloat16"},
                                {"vocab_size", character_count},
                                {"hidden_size", shape.width},
                                {"intermediate_size", shape.inner},
                                {"num_hidden_layers", shape.layers},
                                {"num_attention_heads", shape.heads},
                                {"num_key_value_heads", shape.heads},
                                {"head_dim", shape.head_width()},
                                {"hidden_act", "silu"},
                                {"max_position_embeddings", most_positions},
                                {"rms_norm_eps", norm_epsilon},
                                {"rope_theta", rotary_base},
                                {"attention_bias", false},
                                {"mlp_bias", false},
                                {"tie_word_embeddings", true}};
  // Lemma 2.1 holds for softmax of the scores. A program that certifies Llamas refuses this key, as it does not know
  // it.
  if (design.weights != HeadWeights::softmax) config["softcheck_attention"] = to_string(design.weights);
  return config.dump(2) + "\n";
}

}  // namespace

LanguageDesign design_of(const std::string& options) {
  const TrainedModel words{"", options, {}};
  const auto word = [&](const char* name) {
    const std::string value = option_of(words, name);
    if (value.empty()) throw std::invalid_argument(fmt::format("need '{}=' among the options '{}'", name, options));
    return value;
  };
  const auto number = [&](const char* name) {
    const std::string value = word(name);
    if (value.size() > 6 || value.find_first_not_of("0123456789") != std::string::npos) {
      throw std::invalid_argument(fmt::format("need a number behind '{}=', got '{}'", name, value));
    }
    return std::stoi(value);
  };
  LanguageDesign design{.shape = {number("layers"), number("width"), number("heads"), number("inner")},
                        .positions = parse_positions(word("positions")),
                        .adaptive = word("temperature") == "adaptive"};
  const std::string weights = option_of(words, "attention");
  if (!weights.empty()) design.weights = parse_head_weights(weights);
  check_design(design);
  return design;
}

TensorFile language_tensors(const LanguageShape& shape, const Floats& parameters) {
  if (const std::size_t count = LanguagePlaces{shape}.count(); parameters.size() != count) {
    throw std::invalid_argument(fmt::format("language_tensors: need {} parameters, got {}", count, parameters.size()));
  }
  TensorFile file;
  put_language(file, "", shape, parameters);
  return file;
}

Floats language_parameters(const LanguageShape& shape, const TensorFile& file, const std::string& name) {
  Floats values = take_language(file, "", shape, name);
  require_no_more(file, shape, 1, 0, name);
  return values;
}

void write_checkpoint(const std::filesystem::path& path, const TrainingState& state,
                      const LanguageTrainingOptions& options) {
  TensorFile file = language_tensors(options.design.shape, state.parameters);
  put_language(file, "adam.first.", options.design.shape, state.first_moment);
  put_language(file, "adam.second.", options.design.shape, state.second_moment);
  if (!state.nats.empty()) {
    file.tensors[nats_tensor] = {{static_cast<std::int64_t>(state.nats.size())},
                                 {state.nats.begin(), state.nats.end()}};
  }
  std::ostringstream words;
  words << state.words;
  file.metadata = {{"options", to_text(options)}, {"step", std::to_string(state.step)}, {"words", words.str()}};
  write_safetensors(path, file);
}

TrainingState read_checkpoint(const std::filesystem::path& path, const LanguageTrainingOptions& options) {
  const std::string name = path.string();
  const TensorFile file = read_safetensors(path);
  const std::string& made_with = language_metadata(file, "options", name);
  if (made_with != to_text(options)) {
    throw models::TensorFileError(fmt::format("{}: made with '{}', asked for '{}'", name, made_with, to_text(options)));
  }
  TrainingState state;
  state.parameters = take_language(file, "", options.design.shape, name);
  state.first_moment = take_language(file, "adam.first.", options.design.shape, name);
  state.second_moment = take_language(file, "adam.second.", options.design.shape, name);
  if (options.gate > 0) state.nats = take_nats(file, options, name);
  require_no_more(file, options.design.shape, 3, state.nats.empty() ? 0 : 1, name);
  std::istringstream words(language_metadata(file, "words", name)), step(language_metadata(file, "step", name));
  words >> state.words;
  step >> state.step;
  if (words.fail() || step.fail() || state.step < 0 || state.step > options.steps) {
    throw models::TensorFileError(name + ": its step or its random generator cannot be read");
  }
  return state;
}

std::map<std::string, std::string> language_model_files(const LanguageDesign& design, const Floats& parameters,
                                                        const std::map<std::string, std::string>& metadata) {
  TensorFile file = language_tensors(design.shape, parameters);
  file.metadata = metadata;
  file.metadata["format"] = "pt";  // transformers asks for it
  return {{"config.json", config_text(design)}, {"model.safetensors", safetensors_bytes(file, "BF16")}};
}

void write_language_model(const std::filesystem::path& folder, const LanguageDesign& design, const Floats& parameters,
                          const std::map<std::string, std::string>& metadata) {
  for (const auto& [name, bytes] : language_model_files(design, parameters, metadata)) {
    const std::filesystem::path auxiliary = folder / (name + ".partial");
    std::ofstream stream(auxiliary, std::ios::binary | std::ios::trunc);
    stream << bytes;
    stream.close();
    if (!stream) {
      std::error_code ignored;
      std::filesystem::remove(auxiliary, ignored);
      throw std::system_error(std::make_error_code(std::errc::io_error), "write_language_model: " + auxiliary.string());
    }
    std::filesystem::rename(auxiliary, folder / name);
  }
}

bool is_language_model(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "model.safetensors";
  if (!std::filesystem::is_regular_file(path)) return false;
  try {
    const auto metadata = models::read_safetensors_header(models::open_file_source(path), path.string()).metadata;
    const auto options = metadata.find("options");
    return options != metadata.end() && options->second.starts_with("model=language ");
  } catch (const models::TensorFileError&) {
    return false;  // a reader of checkpoints reports the error
  }
}

LanguageModel read_language_model(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "model.safetensors";
  const TensorFile file = read_safetensors(path, "BF16");
  LanguageModel model{.name = folder.filename().string(),
                      .options = language_metadata(file, "options", path.string()),
                      .design = {},
                      .parameters = {}};
  try {
    model.design = design_of(model.options);
    model.algorithms = parse_algorithms(option_of({"", model.options, {}}, "algorithms"));
  } catch (const std::invalid_argument& error) {
    throw models::TensorFileError(path.string() + ": " + error.what());
  }
  model.parameters = language_parameters(model.design.shape, file, path.string());
  return model;
}

}  // namespace softcheck::experiments
