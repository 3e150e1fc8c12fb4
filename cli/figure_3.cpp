// softcheck run figure-3: the entropy of a language model's heads against the number of items.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/checkpoints.hpp"
#include "cli/exit_code.hpp"
#include "cli/figure_files.hpp"
#include "cli/language_models.hpp"
#include "cli/output.hpp"
#include "cli/output_folder.hpp"
#include "cli/streams.hpp"
#include "cli/trained_inputs.hpp"
#include "cli/verbs.hpp"
#include "experiments/figures/entropy_of_heads.hpp"
#include "experiments/language/language_heads.hpp"
#include "experiments/sha256.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

namespace {

constexpr std::int64_t longest_text = 2048;  // of our own models, where --largest is not given

struct HeadFlags {
  std::string out = "results/figure-3";
  HeadEntropyOptions options;
};

std::string name_of(const std::string& path) {
  const fs::path normal = fs::absolute(path).lexically_normal();
  return (normal.has_filename() ? normal : normal.parent_path()).filename().string();
}

// "models (sha256): NAME HASH ...", of every file of weights, and of ids where there are some.
std::string hashes_of_files(const HeadEntropyOptions& options) {
  std::vector<fs::path> files;
  if (!fs::is_directory(options.model)) {
    files.emplace_back(options.model);
  } else {
    for (const auto& entry : fs::directory_iterator(options.model)) {
      if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
    }
    std::ranges::sort(files);
  }
  if (!options.tokens.empty()) files.emplace_back(options.tokens);
  std::string text = "models (sha256):";
  for (const fs::path& file : files) text += fmt::format(" {} {}", file.filename().string(), sha256_of_file(file));
  return text;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 ? values[half] : (values[half - 1] + values[half]) / 2;
}

// From how many characters on no coefficient reaches a tenth: by the spreads that were seen, and by those that are
// certified. N(eps) = 1 + e^spread (1 - eps) / eps.
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

// One of our own language models, on texts of its own kind.
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
  const std::string inputs = flags.options.tokens.empty()
                                 ? fmt::format("--seed {} --inputs {}", flags.options.seed, flags.options.inputs)
                                 : "--tokens " + name_of(flags.options.tokens);
  publish_figure(entropy_of_heads(name, points), folder,
                 origin_lines(fmt::format("softcheck run figure-3 --model {} {} --largest {}", name, inputs,
                                          std::ranges::max(points, {}, &HeadEntropy::items).items),
                              hashes_of_files(flags.options)));
  return holds;
}

}  // namespace

void add_head_figure_run(Verb run, int& exit_code) {
  const auto flags = std::make_shared<HeadFlags>();
  flags->options.threads = std::max(1U, std::thread::hardware_concurrency());
  Verb figure =
      run.add_subcommand("figure-3", "Entropy of a language model's heads against the number of items, by layer");
  figure
      .add_option("--model", flags->options.model,
                  "A checkpoint of BERT, RoBERTa, DistilBERT or GPT-2, or a model of run train-language [plain-1]")
      .type_name("DIR|FILE");
  figure.add_option("--tokens", flags->options.tokens, "Ids of tokens, a line for each input [drawn]")
      .type_name("FILE");
  figure.add_option("--seed", flags->options.seed, "Seed of the ids that are drawn").capture_default_str();
  figure
      .add_option("--inputs", flags->options.inputs,
                  "Inputs that are drawn; of our own models, texts of each algorithm")
      .within(1, 1024)
      .capture_default_str();
  figure.add_option("--largest", flags->options.largest, "Most items; they are 16, 32, ... up to it [the context]")
      .within(std::int64_t{16}, std::int64_t{1} << 20);
  figure.add_option("--threads", flags->options.threads, "Threads; the results do not depend on it").within(1U, 1024U);
  figure.add_option("--out", flags->out, "Folder for the files that are written")
      .type_name("DIR")
      .capture_default_str();
  figure.callback([flags, &exit_code] { exit_code = run_heads(*flags); });
}

}  // namespace softcheck::cli
