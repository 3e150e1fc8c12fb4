// softcheck run table-1, sensitivity, variants: the trained models on sets of every size.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/run_parts.hpp"
#include "cli/verbs.hpp"
#include "experiments/evaluation.hpp"
#include "experiments/figures/table_pictures.hpp"
#include "experiments/heads.hpp"
#include "experiments/tables/accuracy_table.hpp"
#include "experiments/tables/sensitivity.hpp"

namespace softcheck::cli {

using namespace experiments;

namespace {

struct TableFlags {
  std::string models = model_folder().string();
  std::string readings = (model_folder().parent_path() / "readings").string();
  std::string variants = (model_folder().parent_path() / "variants").string();
  std::string out;
  int largest = 16384;
  EvaluationOptions evaluation;
};

EvaluationOptions options_of(const TableFlags& flags) {
  EvaluationOptions options = flags.evaluation;
  options.sizes.clear();
  for (int size = 16; size <= flags.largest; size *= 2) options.sizes.push_back(size);
  return options;
}

std::string command_of(const std::string& name, const TableFlags& flags) {
  return fmt::format("softcheck run {} --seed {} --sets {} --items {} --largest {}", name, flags.evaluation.seed,
                     flags.evaluation.sets, flags.evaluation.items, flags.largest);
}

int run_table_1(const TableFlags& flags) {
  const std::vector<TrainedModel> models = models_in("--models", flags.models);
  const OutputFolder folder(flags.out);
  const std::vector<AccuracyRow> table = accuracy_table(measure(models, options_of(flags)));
  std::string text = to_text(table);
  bool all_hold = true;
  for (const TableClaim& claim : claims_of(table)) {
    text += fmt::format("{}: {}{}\n", claim.holds ? "holds" : "fails", claim.name,
                        claim.detail.empty() ? "" : ":" + claim.detail);
    all_hold = all_hold && claim.holds;
  }
  text +=
      fmt::format("{} {} ({}); distance to the paper's known cells {:.2f} percent (root mean square)\n", models.size(),
                  models.size() == 1 ? "model" : "models", reading_name(models[0].options), distance_to_paper(table));
  const std::string origin = origin_lines(command_of("table-1", flags), hashes_of(flags.models, models));
  folder.write("table_1.txt", origin + text);
  say("{}", text);
  publish_figure(table_1_figure(table), folder, origin);
  return all_hold ? holds : violated;
}

// A reading is a set of training options; models with the same options differ only in their seed.
int run_sensitivity(const TableFlags& flags) {
  std::vector<TrainedModel> models = models_in("--models", flags.models);
  std::ranges::move(models_in("--readings", flags.readings), std::back_inserter(models));
  const OutputFolder folder(flags.out);
  const std::vector<std::vector<SizeMeasure>> measures = measure(models, options_of(flags));
  std::vector<std::string> names;
  for (const TrainedModel& model : models) {
    const std::string name = reading_name(model.options);
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  std::vector<Reading> readings;
  for (const std::string& name : names) {
    std::vector<std::vector<SizeMeasure>> seeds;
    for (std::size_t m = 0; m < models.size(); ++m) {
      if (reading_name(models[m].options) == name) seeds.push_back(measures[m]);
    }
    readings.push_back({fmt::format("{} ({})", name, seeds.size()), accuracy_table(seeds)});
  }
  const std::string text = to_text(readings) + "(in brackets: networks of a reading)\n";
  const std::string origin = origin_lines(command_of("sensitivity", flags));
  folder.write("sensitivity.txt", origin + text);
  say("{}", text);
  publish_figure(sensitivity_figure(readings), folder, origin);
  return holds;
}

// Each head, in place of softmax in the shipped models, and in the models trained with it.
int run_variants(const TableFlags& flags) {
  const std::vector<TrainedModel> models = models_in("--models", flags.models);
  const std::vector<TrainedModel> trained = models_in("--variants", flags.variants);
  const OutputFolder folder(flags.out);
  EvaluationOptions options = options_of(flags);
  for (const HeadKind kind : head_kinds().subspan(1)) options.others.push_back(head_of(kind));
  const std::vector<std::vector<SizeMeasure>> measures = measure(models, options);
  std::vector<VariantLine> lines{variant_line("softmax", false, measures, 0),
                                 variant_line("adaptive", false, measures, 1)};
  for (std::size_t h = 0; h < options.others.size(); ++h) {
    lines.push_back(variant_line(options.others[h].name, false, measures, 2 + h));
  }
  for (const TrainedModel& model : trained) {
    const std::string word = option_of(model, "head");
    const HeadKind head = parse_head(word.empty() ? to_string(HeadKind::softmax) : word);
    options.others = {head_of(head)};
    lines.push_back(variant_line(to_string(head), true, measure({model}, options), 2));
  }
  const std::string text = to_text(lines), origin = origin_lines(command_of("variants", flags));
  folder.write("variants.txt", origin + text);
  say("{}", text);
  publish_figure(variants_figure(lines), folder, origin);
  return holds;
}

// Adds one of the three verbs; evaluation has its default sets.
std::pair<Verb, TableFlags&> add_table(Verb above, const std::string& name, const std::string& text,
                                       int (*job)(const TableFlags&), const EvaluationOptions& evaluation = {}) {
  auto [run, flags] = above.add_verb<TableFlags>(name, text, job);
  flags.out = "results/" + name;
  flags.evaluation = evaluation;
  flags.evaluation.threads = std::max(1U, std::thread::hardware_concurrency());
  run.add_option("--models", flags.models, "Folder of trained models, *.safetensors", typed("DIR"));
  run.add_option("--out", flags.out, "Folder for the files that are written", typed("DIR"), shown);
  run.add_option("--largest", flags.largest, "Largest set; sizes are 16, 32, ... up to it", within(16, 1 << 20), shown);
  run.add_option("--sets", flags.evaluation.sets, "Sets of each size and model, at most", within(1, 1 << 24), shown);
  run.add_option("--items", flags.evaluation.items, "Items of each size and model, at most: fewer of the largest sets",
                 within<std::int64_t>(1, 1LL << 40), shown);
  run.add_option("--seed", flags.evaluation.seed, "Seed of the sets", shown);
  run.add_option("--threads", flags.evaluation.threads, "Threads; the results do not depend on it", within(1, 1024));
  return {run, flags};
}

}  // namespace

void add_table_runs(Verb run) {
  EvaluationOptions of_the_page;  // as in docs/experiments/README.md
  of_the_page.items = 1 << 21;
  add_table(run, "table-1", "Accuracy against the size of sets, baseline and adaptive", run_table_1, of_the_page);
  EvaluationOptions few;
  few.items = 1 << 19;
  few.sets = 1024;
  auto [sensitivity, readings] =
      add_table(run, "sensitivity", "The same for each way to read what the paper leaves open about training",
                run_sensitivity, few);
  sensitivity.add_option("--readings", readings.readings, "Folder of models of other readings", typed("DIR"));
  few.sets = 256;
  auto [variants, heads] =
      add_table(run, "variants", "Ways out of dispersion: in place of softmax, and trained with", run_variants, few);
  variants.add_option("--variants", heads.variants, "Folder of models trained with other heads", typed("DIR"));
}

}  // namespace softcheck::cli
