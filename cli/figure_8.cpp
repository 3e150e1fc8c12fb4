// softcheck run figure-8: exact answers of the small language models against the size of problems.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/figure_files.hpp"
#include "cli/language_models.hpp"
#include "cli/output.hpp"
#include "cli/output_folder.hpp"
#include "cli/streams.hpp"
#include "cli/trained_inputs.hpp"
#include "cli/verbs.hpp"
#include "experiments/language/language_accuracy.hpp"

namespace softcheck::cli {

using namespace experiments;

namespace {

constexpr int sets_of_each_seed = 8;

struct AccuracyFlags {
  std::string models = language_folder().string();
  std::string out = "results/figure-8";
  LanguageEvaluationOptions evaluation;
};

int run_accuracy(const AccuracyFlags& flags) {
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
  const std::string origin =
      origin_lines(fmt::format("softcheck run figure-8 --seed {} --problems {} --tokens {}", flags.evaluation.seed,
                               flags.evaluation.problems, flags.evaluation.most_tokens),
                   hashes_of_language(flags.models, models));
  const OutputFolder folder(flags.out);
  folder.write("figure_8.txt", origin + text);
  say("{}", text);
  publish_figure(language_accuracy(rows, totals, 4, 12), folder, origin);
  return holds;
}

}  // namespace

void add_accuracy_figure_run(Verb run, int& exit_code) {
  const auto flags = std::make_shared<AccuracyFlags>();
  flags->evaluation.threads = std::max(1U, std::thread::hardware_concurrency());
  Verb figure = run.add_subcommand("figure-8", "Exact answers of small language models against the size of problems");
  figure.add_option("--models", flags->models, "Folder of folders, as run train-language writes them").type_name("DIR");
  figure.add_option("--seed", flags->evaluation.seed, "Seed of the problems").capture_default_str();
  figure.add_option("--problems", flags->evaluation.problems, "Of each algorithm, size and model")
      .within(1, 1 << 20)
      .capture_default_str();
  figure.add_option("--tokens", flags->evaluation.most_tokens, "No sizes whose texts are longer")
      .within(2, most_positions)
      .capture_default_str();
  figure.add_option("--threads", flags->evaluation.threads, "Threads; the results do not depend on it")
      .within(1U, 1024U);
  figure.add_option("--out", flags->out, "Folder for the files that are written")
      .type_name("DIR")
      .capture_default_str();
  figure.callback([flags, &exit_code] { exit_code = run_accuracy(*flags); });
}

}  // namespace softcheck::cli
