#include <fmt/format.h>

#include <optional>

#include "judge/campaigns/plan.hpp"
#include "models/bounds/certify_checkpoint.hpp"
#include "models/report/checkpoint_run.hpp"
#include "models/report/gate.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::int64_t most_layers_of_a_model = 100'000;
constexpr std::int64_t most_layers_in_a_shard = 1'000'000;

/// Quotes a text as one word of a shell.
std::string shell_word(const std::string& text) {
  std::string word = "'";
  for (const char character : text) word += character == '\'' ? std::string("'\\''") : std::string(1, character);
  return word + "'";
}

std::string command(const LayerQuestion& asked, const std::string& layers) {
  std::string text = "softcheck model " + shell_word(asked.model) + layers;
  const models::CertifyOptions usual;
  if (asked.options.eps != usual.eps) text += fmt::format(" --eps {}", asked.options.eps);
  if (asked.options.items != usual.items) text += fmt::format(" --n {}", asked.options.items);
  if (asked.options.context) text += " --context";
  if (asked.vocabulary) text += " --vocabulary";
  for (const std::string& gate : asked.fail_if) text += " --fail-if " + shell_word(gate);
  return text;
}

models::LayerRange layers_of(const PlanKey& key) {
  const std::string need = "the layers of the model, as \"0-31\" or \"3\"";
  const std::string text = key.text(need);
  const std::optional<models::LayerRange> range = models::parse_layers(text);
  if (!range || range->last >= most_layers_of_a_model) key.wrong(need, "\"" + text + "\"");
  return *range;
}

std::vector<std::string> gates_of(const PlanKey& key) {
  std::vector<std::string> gates = key.texts("conditions such as \"logit.f16 > 65504\"", true);
  for (const std::string& gate : gates) {
    try {
      models::Gate::parse(gate);
    } catch (const std::invalid_argument& error) {
      throw PlanError(key.place() + key.name() + ": " + error.what());
    }
  }
  return gates;
}

}  // namespace

std::string LayerQuestion::question() const { return command(*this, ""); }
std::string LayerQuestion::text() const {
  LayerQuestion alone = *this;
  alone.vocabulary = vocabulary && layer == 0;  // the command does not accept it for another layer alone
  return command(alone, fmt::format(" --layers {}", layer));
}

ModelsQuestion models_question(const PlanEntry& entry, std::size_t per_shard) {
  constexpr std::int64_t most_items = std::int64_t{1} << 62;
  ModelsQuestion asked{{}, per_shard};
  LayerQuestion usual;
  std::vector<std::string> paths;
  std::optional<models::LayerRange> range;
  for (const PlanKey& key : entry.keys) {
    if (key.name() == "model") {
      paths = key.texts("the path of a checkpoint, or a list of paths");
    } else if (key.name() == "layers") {
      range = layers_of(key);
    } else if (key.name() == "eps") {
      usual.options.eps = key.number(1e-300, 1 - 1e-9);
    } else if (key.name() == "n") {
      usual.options.items = static_cast<std::uint64_t>(key.integer(1, most_items));
    } else if (key.name() == "context") {
      usual.options.context = key.flag();
    } else if (key.name() == "vocabulary") {
      usual.vocabulary = key.flag();
    } else if (key.name() == "fail-if") {
      usual.fail_if = gates_of(key);
    } else if (key.name() == "shard") {
      asked.per_shard = static_cast<std::size_t>(key.integer(1, most_layers_in_a_shard));
    } else {
      key.unknown("model, layers, eps, n, context, vocabulary, fail-if or shard");
    }
  }
  if (paths.empty()) throw PlanError(entry.place + "need model = \"PATH\" in [[models]], got none");
  if (!range) {
    throw PlanError(entry.place + "need layers = \"0-31\" in [[models]], got none: shards depend on the plan alone");
  }
  if (usual.vocabulary && range->first != 0) {
    throw PlanError(entry.place + "vocabulary: need layer 0 among the layers, got " + std::to_string(range->first) +
                    "-" + std::to_string(range->last));
  }
  for (const std::string& path : paths) {
    if (path.empty()) throw PlanError(entry.place + "model: need the path of a checkpoint, got \"\"");
    std::vector<LayerQuestion> layers;
    for (std::int64_t layer = range->first; layer <= range->last; ++layer) {
      layers.push_back(usual);
      layers.back().model = path;
      layers.back().layer = layer;
    }
    asked.models.push_back(std::move(layers));
  }
  return asked;
}

}  // namespace softcheck::proptests
