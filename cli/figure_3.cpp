// softcheck run figure-3: the entropy of a language model's heads against the number of items.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "cli/checkpoints.hpp"
#include "cli/exit_code.hpp"
#include "cli/figure_files.hpp"
#include "cli/output.hpp"
#include "cli/output_folder.hpp"
#include "cli/trained_inputs.hpp"
#include "cli/verbs.hpp"
#include "experiments/figures/entropy_of_heads.hpp"
#include "experiments/sha256.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

namespace {

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

int run_heads(HeadFlags flags) {
  if (flags.options.model.empty()) {
    throw InputError(usage, "run figure-3: need --model, a folder with a BERT- or GPT-2-like checkpoint");
  }
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
  figure.add_option("--model", flags->options.model, "A checkpoint of BERT, RoBERTa, DistilBERT or GPT-2")
      .type_name("DIR|FILE");
  figure.add_option("--tokens", flags->options.tokens, "Ids of tokens, a line for each input [drawn]")
      .type_name("FILE");
  figure.add_option("--seed", flags->options.seed, "Seed of the ids that are drawn").capture_default_str();
  figure.add_option("--inputs", flags->options.inputs, "Inputs that are drawn").within(1, 1024).capture_default_str();
  figure.add_option("--largest", flags->options.largest, "Most items; they are 16, 32, ... up to it [the context]")
      .within(std::int64_t{16}, std::int64_t{1} << 20);
  figure.add_option("--threads", flags->options.threads, "Threads; the results do not depend on it").within(1U, 1024U);
  figure.add_option("--out", flags->out, "Folder for the files that are written")
      .type_name("DIR")
      .capture_default_str();
  figure.callback([flags, &exit_code] { exit_code = run_heads(*flags); });
}

}  // namespace softcheck::cli
