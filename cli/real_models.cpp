// softcheck run spreads, adaptive-language: what checkpoints of language models do on tokens.
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <thread>

#include "cli/checkpoints.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/run_parts.hpp"
#include "cli/verbs.hpp"
#include "experiments/figures/adaptive_language.hpp"
#include "experiments/figures/head_spreads.hpp"

namespace softcheck::cli {

using namespace experiments;

namespace {

struct SpreadFlags {
  std::string out = "results/spreads";
  HeadSpreadOptions options;
};

int run_spreads(SpreadFlags flags) {
  flags.options.kernel = attention_kernels().plain();
  HeadSpreads spreads;
  {
    Progress progress;
    flags.options.progress = [&](const std::string& text) { progress.show(text); };
    spreads = of_checkpoint("run spreads", flags.options.model, [&] { return spreads_of_heads(flags.options); });
  }
  const std::string name = name_of(flags.options.model), text = to_text(spreads);
  const std::string origin =
      origin_lines(fmt::format("softcheck run spreads --model {} --tokens {}", name, name_of(flags.options.tokens)),
                   hashes_of_files(flags.options.model, flags.options.tokens));
  const OutputFolder folder(flags.out);
  folder.write("spreads.txt", origin + text);
  const bool all_proved =
      std::ranges::all_of(spreads.certificates, [](const auto& c) { return c.verdict == numerics::Verdict::proved; });
  say("{}{}: {} heads, spreads and logits {} their certificates\n", text, name, spreads.heads.size(),
      all_proved ? "within" : "NOT within");
  publish_figure(spreads_figure(name, spreads), folder, origin);
  return all_proved ? holds : violated;
}

struct ArmFlags {
  std::string out = "results/adaptive-language";
  AdaptiveLanguageOptions options;
};

int run_arms(ArmFlags flags) {
  const AttentionKernels kernels = attention_kernels();
  flags.options.plain = kernels.plain();
  flags.options.adaptive = kernels.adaptive();
  std::vector<ArmScore> scores;
  {
    Progress progress;
    flags.options.progress = [&](const std::string& text) { progress.show(text); };
    scores = of_checkpoint("run adaptive-language", flags.options.model, [&] { return score_arms(flags.options); });
  }
  const std::string text = to_text(scores);
  const std::string origin = origin_lines(fmt::format("softcheck run adaptive-language --model {} --tokens {}",
                                                      name_of(flags.options.model), name_of(flags.options.tasks)),
                                          hashes_of_files(flags.options.model, flags.options.tasks));
  const OutputFolder folder(flags.out);
  folder.write("adaptive_language.txt", origin + text);
  say("{}", text);
  publish_figure(adaptive_language_tables(scores), folder, origin);
  return holds;
}

}  // namespace

void add_real_model_runs(Verb run) {
  auto [spreads, flags] = run.add_verb<SpreadFlags>(
      "spreads", "Observed spreads of a checkpoint's heads on tokens, beside the certified ones", run_spreads);
  flags.options.threads = std::max(1U, std::thread::hardware_concurrency());
  spreads.add_option("--model", flags.options.model, "A checkpoint that runs on tokens (docs/models.md)",
                     typed("DIR|FILE"), required, existing);
  spreads.add_option("--tokens", flags.options.tokens, "Ids of tokens, a line of two or more for each input",
                     typed("FILE"), required, existing);
  spreads.add_option("--threads", flags.options.threads, "Threads; the results do not depend on it", within(1U, 1024U));
  spreads.add_option("--out", flags.out, "Folder for the files that are written", typed("DIR"), shown);
  auto [arms, of_arms] = run.add_verb<ArmFlags>(
      "adaptive-language", "Adaptive temperature at inference in a checkpoint: perplexity and answers", run_arms);
  of_arms.options.threads = flags.options.threads;
  arms.add_option("--model", of_arms.options.model, "A decoder that runs on tokens (docs/models.md)", typed("DIR|FILE"),
                  required, existing);
  arms.add_option("--tokens", of_arms.options.tasks, "Tasks, as experiments/figures/prompts.py writes them",
                  typed("FILE"), required, existing);
  arms.add_option("--threads", of_arms.options.threads, "Threads; the results do not depend on it", within(1U, 1024U));
  arms.add_option("--out", of_arms.out, "Folder for the files that are written", typed("DIR"), shown);
}

}  // namespace softcheck::cli
