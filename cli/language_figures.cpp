// softcheck run figure-3: the entropy of a language model's heads against the number of items; figure-8: exact
// answers of the small language models against the size of problems.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "cli/checkpoints.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/run_parts.hpp"
#include "cli/verbs.hpp"
#include "experiments/figures/entropy_of_heads.hpp"
#include "experiments/language/language_accuracy.hpp"
#include "experiments/language/language_heads.hpp"
#include "experiments/sha256.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

namespace {

constexpr std::int64_t longest_text = 2048;  // for our own models, without --largest

struct HeadFlags {
  std::string out = "results/figure-3";
  HeadEntropyOptions options;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// The number of characters beyond which no coefficient reaches a tenth, by the observed and by the certified spreads:
// N(eps) = 1 + e^spread (1 - eps) / eps.
std::string typical_lengths(const std::vector<LanguageHeadPoint>& points) {
  std::vector<double> seen, certified;
  for (const LanguageHeadPoint& point : points) {
    seen.push_back(point.largest_spread);
    certified.push_back(point.certified_spread);
  }
  const auto digits = [](double spread) { return std::log10(1 + 9 * std::exp(spread)); };
  return fmt::format(
      "spread of the scores, largest seen at a point: median {:.2f}, all {:.2f} to {:.2f}; certified: median {:.1f}. "
      "No "
      "coefficient reaches 0.1 beyond 10^{:.1f} characters of the median seen spread, 10^{:.1f} of the certified one",
      median(seen), std::ranges::min(seen), std::ranges::max(seen), median(certified), digits(median(seen)),
      digits(median(certified)));
}

// Figure 3 for one of our own language models, on texts of its algorithms.
int run_language_heads(const HeadFlags& flags, const fs::path& path) {
  const HeadEntropyOptions& options = flags.options;
  if (!options.tokens.empty()) {
    throw InputError(usage, fmt::format("run figure-3: --tokens: {} reads the texts of algorithms that --seed and "
                                        "--inputs draw",
                                        path.string()));
  }
  const std::int64_t largest = options.largest == 0 ? longest_text : options.largest;
  std::vector<LanguageHeadPoint> points;
  std::string name;
  {
    Progress progress;
    progress.show(fmt::format("{}: certificates", path.string()));
    points = of_checkpoint("run figure-3", path.string(), [&] {
      const LanguageModel model = read_language_model(path);
      name = model.name;
      const std::vector<double> spreads = certified_spreads(path, options.threads);
      progress.show(fmt::format("{}: texts", path.string()));
      return observe_heads(model, language_kernels(),
                           long_texts(static_cast<std::size_t>(largest), options.inputs, options.seed), largest,
                           spreads);
    });
  }
  if (points.empty()) {
    throw InputError(usage, fmt::format("--largest: no algorithm writes texts of {} characters", largest));
  }
  const auto is_within = [](const LanguageHeadPoint& point) {
    return point.largest_spread <= point.certified_spread && point.entropy.least >= point.entropy.certified_floor;
  };
  const bool all_within = std::ranges::all_of(points, is_within);
  say("{}: {} points of heads, spreads and entropies {} their certificates\n", name, points.size(),
      all_within ? "within" : "NOT within");
  say("{}\n", typical_lengths(points));
  const std::string command = fmt::format("softcheck run figure-3 --model {} --seed {} --inputs {} --largest {}", name,
                                          options.seed, options.inputs, largest);
  publish_figure(heads_figure(name, points), OutputFolder(flags.out),
                 origin_lines(command, fmt::format("models (sha256): model.safetensors {}",
                                                   sha256_of_file(path / "model.safetensors"))));
  return all_within ? holds : violated;
}

int run_heads(HeadFlags flags) {
  if (flags.options.model.empty()) flags.options.model = (language_folder() / "plain-1").string();
  if (flags.options.whole && flags.options.tokens.empty()) {
    throw InputError(usage, "run figure-3: --whole: need --tokens, whose inputs are taken as they are");
  }
  if (is_language_model(flags.options.model)) return run_language_heads(flags, flags.options.model);
  const AttentionKernels kernels = attention_kernels();
  flags.options.kernel = kernels.plain();
  std::vector<HeadEntropy> points;
  {
    Progress progress;
    flags.options.progress = [&](const std::string& text) { progress.show(text); };
    points = of_checkpoint("run figure-3", flags.options.model, [&] { return entropies_of_heads(flags.options); });
  }
  const OutputFolder folder(flags.out);
  const std::string name = name_of(flags.options.model);
  const std::string inputs =
      flags.options.tokens.empty()
          ? fmt::format("--seed {} --inputs {}", flags.options.seed, flags.options.inputs)
          : fmt::format("--tokens {}{}", name_of(flags.options.tokens), flags.options.whole ? " --whole" : "");
  const std::string origin = origin_lines(fmt::format("softcheck run figure-3 --model {} {} --largest {}", name, inputs,
                                                      std::ranges::max(points, {}, &HeadEntropy::items).items),
                                          hashes_of_files(flags.options.model, flags.options.tokens));
  folder.write("figure_3.txt", origin + to_text(points));
  publish_figure(entropy_of_heads(name, points), folder, origin);
  return holds;
}

constexpr int sets_of_each_seed = 8;

struct AccuracyFlags {
  int largest = 61;
  std::string models = learnt_language_folder().string();
  std::string out = "results/figure-8";
  LanguageEvaluationOptions evaluation;
};

int run_accuracy(AccuracyFlags flags) {
  std::erase_if(flags.evaluation.sizes, [&](int size) { return size > flags.largest; });
  const std::vector<LanguageModel> models = language_models_in("--models", flags.models);
  const LanguageKernels kernels = language_kernels();
  std::vector<const LanguageModel*> plain, adaptive;
  for (const LanguageModel& model : models) (model.design.adaptive ? adaptive : plain).push_back(&model);
  if (plain.empty() || (!adaptive.empty() && adaptive.size() != plain.size())) {
    throw InputError(malformed, fmt::format("--models: {}: need models with plain temperature and none or as many with "
                                            "adaptive temperature, got {} and {}",
                                            flags.models, plain.size(), adaptive.size()));
  }
  LanguageCells cells;
  {
    Progress progress;
    const auto evaluate = [&](TemperatureUse use, const std::vector<const LanguageModel*>& of) {
      for (std::size_t seed = 0; seed < of.size(); ++seed) {
        cells[static_cast<std::size_t>(use)].push_back(evaluate_language(
            *of[seed], use != TemperatureUse::nowhere, seed + 1, kernels, flags.evaluation, [&](double done) {
              progress.show(fmt::format("{}, {}: {:.0f} %", of[seed]->name,
                                        temperature_words[static_cast<std::size_t>(use)], 100 * done));
              return true;
            }));
      }
    };
    evaluate(TemperatureUse::nowhere, plain);
    const bool take_temperature =
        std::ranges::all_of(plain, [](const LanguageModel* model) { return takes_temperature(model->design.weights); });
    if (take_temperature) evaluate(TemperatureUse::inference, plain);
    evaluate(TemperatureUse::everywhere, adaptive);
  }
  const std::vector<LanguageRow> rows = language_rows(cells, sets_of_each_seed);
  if (rows.empty()) {
    throw InputError(usage,
                     fmt::format("--tokens: need as many as some text has, got {}", flags.evaluation.most_tokens));
  }
  const std::vector<LanguageRow> totals = language_totals(cells, sets_of_each_seed);
  const std::string text = to_text(rows) + to_text(totals);
  const std::string origin = origin_lines(
      fmt::format("softcheck run figure-8 --seed {} --problems {} --tokens {} --largest {}", flags.evaluation.seed,
                  flags.evaluation.problems, flags.evaluation.most_tokens, flags.largest),
      hashes_of_language(flags.models, models));
  const OutputFolder folder(flags.out);
  folder.write("figure_8.txt", origin + text);
  say("{}", text);
  publish_figure(language_accuracy(rows, totals, 4, 12), folder, origin);
  return holds;
}

}  // namespace

void add_head_figure_run(Verb run) {
  auto [figure, flags] = run.add_verb<HeadFlags>(
      "figure-3", "Entropy of a language model's heads against the number of items, by layer", run_heads);
  flags.options.threads = std::max(1U, std::thread::hardware_concurrency());
  figure.add_option("--model", flags.options.model,
                    "A checkpoint that runs on tokens (docs/models.md), or a model of run train-language [plain-1]",
                    typed("DIR|FILE"), existing);
  figure.add_option("--tokens", flags.options.tokens, "Ids of tokens, a line for each input [drawn]", typed("FILE"),
                    existing);
  figure.add_flag("--whole", flags.options.whole,
                  "Take each input of --tokens whole, and of a causal one the last query alone");
  figure.add_option("--seed", flags.options.seed, "Seed of the ids that are drawn", shown);
  figure.add_option("--inputs", flags.options.inputs,
                    "Inputs that are drawn; of our own models, texts of each algorithm", within(1, 1024), shown);
  figure.add_option("--largest", flags.options.largest, "Most items; they are 16, 32, ... up to it [the context]",
                    within<std::int64_t>(16, 1LL << 20));
  figure.add_option("--threads", flags.options.threads, "Threads; the results do not depend on it", within(1U, 1024U));
  figure.add_option("--out", flags.out, "Folder for the files that are written", typed("DIR"), shown);
}

void add_accuracy_figure_run(Verb run) {
  auto [figure, flags] = run.add_verb<AccuracyFlags>(
      "figure-8", "Exact answers of small language models against the size of problems", run_accuracy);
  flags.evaluation.threads = std::max(1U, std::thread::hardware_concurrency());
  figure.add_option("--models", flags.models, "Folder of folders, as run train-language writes them [two algorithms]",
                    typed("DIR"));
  figure.add_option("--seed", flags.evaluation.seed, "Seed of the problems", shown);
  figure.add_option("--problems", flags.evaluation.problems, "Of each algorithm, size and model", within(1, 1 << 20),
                    shown);
  figure.add_option("--largest", flags.largest, "No larger problems", within(4, 61));
  figure.add_option("--tokens", flags.evaluation.most_tokens, "No sizes whose texts are longer",
                    within(2, most_positions), shown);
  figure.add_option("--threads", flags.evaluation.threads, "Threads; the results do not depend on it",
                    within(1U, 1024U));
  figure.add_option("--out", flags.out, "Folder for the files that are written", typed("DIR"), shown);
}

}  // namespace softcheck::cli
