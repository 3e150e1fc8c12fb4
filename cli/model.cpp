#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/checkpoints.hpp"
#include "cli/claims.hpp"
#include "cli/exit_code.hpp"
#include "cli/network_proof.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/run_output.hpp"
#include "cli/verbs.hpp"
#include "experiments/attention_kernels.hpp"
#include "experiments/safetensors.hpp"
#include "experiments/trained_models.hpp"
#include "library/build_info.hpp"
#include "models/report/gate.hpp"

namespace softcheck::cli {

using namespace experiments;
using proptests::Report;
using proptests::ReportRow;

namespace {

struct ModelFlags {
  std::vector<std::string> files;
  ModelOptions options;
  std::optional<std::uint64_t> items;
  CheckpointFlags checkpoint;
  ProveFlags prove;
  OutputFlags output;
};

// Reads all files before the first certificate: for an unreadable file the command prints only one line.
std::vector<TrainedModel> read(const std::vector<std::string>& files) {
  std::vector<TrainedModel> models;
  for (const std::string& file : files) {
    std::error_code error;
    if (file.ends_with(".json") && std::filesystem::exists(file, error)) {
      throw InputError(usage, fmt::format("model: need a checkpoint's folder or a file of tensors, '{}' is neither: "
                                          "name the folder in which it lies",
                                          file));
    }
    models.push_back(network_in(file, "a checkpoint's folder or a file"));
    models.back().name = file;
  }
  return models;
}

Report report_of(const std::vector<TrainedModel>& models, const ModelOptions& options) {
  Report report;
  Progress progress;
  for (const TrainedModel& model : models) {
    for (ReportRow& row : rows_of_model(model, options, progress)) report.rows.push_back(std::move(row));
  }
  return report;
}

// Certifies checkpoints one at a time, each with its own table. Files of --json and --junit have room for only one.
int run_checkpoints(const ModelFlags& flags) {
  CheckpointFlags checkpoint = flags.checkpoint;
  checkpoint.question.options.eps = flags.options.eps;
  checkpoint.question.version = fmt::format("{} {}", this_build().version, this_build().commit);
  checkpoint.question.options.items = flags.items.value_or(0);
  std::optional<AttentionKernels> kernels;
  if (!checkpoint.question.tokens.empty()) {
    kernels = attention_kernels();
    checkpoint.question.attention = kernels->plain();
  }
  const bool has_files = !flags.output.json.empty() || !flags.output.junit.empty() || !checkpoint.html.empty() ||
                         !checkpoint.question.resume.empty();
  if (flags.files.size() > 1 && has_files) {
    throw InputError(usage, fmt::format("model: --json, --junit, --html and --resume need one checkpoint, got {}",
                                        flags.files.size()));
  }
  int worst = holds;
  for (const std::string& file : flags.files) {
    checkpoint.question.path = file;
    const int code = run_checkpoint(checkpoint, flags.output);
    if (worst == holds || code == violated) worst = code;
  }
  return worst;
}

std::string wrong_gate(const std::string& text) {
  try {
    models::Gate::parse(text);
    return "";
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
}

int run_proof(const ModelFlags& flags) {
  if (flags.files.size() != 1) throw InputError(usage, "model: --prove needs one max-retrieval network");
  if (!flags.output.json.empty() || !flags.output.junit.empty()) {
    throw InputError(usage, "model: --prove writes its Coq file alone, got --json or --junit");
  }
  if (flags.options.eps != ModelOptions{}.eps) {
    throw InputError(usage, fmt::format("model: --prove states N(1/10), got --eps {}", flags.options.eps));
  }
  return prove_network(flags.files.front(), flags.prove, flags.items.value_or(flags.options.items), flags.options.seed);
}

int run_model(const ModelFlags& flags) {
  const auto checkpoints = static_cast<std::size_t>(std::ranges::count_if(flags.files, is_checkpoint));
  const bool proves = !flags.prove.file.empty();
  if (!proves && !flags.prove.proofs.empty()) throw InputError(usage, "model: --proofs needs --prove");
  if (proves && checkpoints != 0) throw InputError(usage, "model: --prove needs one max-retrieval network");
  if (checkpoints == flags.files.size()) return run_checkpoints(flags);
  if (checkpoints != 0) {
    throw InputError(usage, "model: need either checkpoints of Transformers or max-retrieval networks, got both");
  }
  const models::CheckpointQuestion& question = flags.checkpoint.question;
  const std::pair<const char*, bool> of_checkpoints[] = {{"--tokens", !question.tokens.empty()},
                                                         {"--html", !flags.checkpoint.html.empty()},
                                                         {"--resume", !question.resume.empty()},
                                                         {"--context", question.options.context},
                                                         {"--vocabulary", question.vocabulary}};
  for (const auto& [flag, given] : of_checkpoints) {
    if (given) {
      throw InputError(usage,
                       fmt::format("model: {} needs a checkpoint of a Transformer, got max-retrieval networks", flag));
    }
  }
  if (proves) return run_proof(flags);
  const std::vector<TrainedModel> models = read(flags.files);
  const AttentionKernels kernels = attention_kernels();
  ModelOptions options = flags.options;
  options.items = flags.items.value_or(options.items);
  options.attention = kernels.plain();
  const Report report = report_of(models, options);
  std::size_t proved = 0;
  for (const ReportRow& row : report.rows) proved += row.verdict == proptests::ReportVerdict::pass;
  return publish(
      report, flags.output,
      fmt::format("{}: {} of {} claims about {} proved, over priorities and queries in [0, 1] and all "
                  "classes (seed {})",
                  to_string(report.verdict()), proved, report.rows.size(),
                  models.size() == 1 ? "one network" : fmt::format("{} networks", models.size()), options.seed));
}

struct CertificateFlags {
  std::string models = model_folder().string();
  std::string out = "results/certificates";
};

// Writes the certificates of a folder of networks as text, for `softcheck report`.
int run_certificates(const CertificateFlags& flags) {
  const std::vector<TrainedModel> models = models_in("--models", flags.models);
  const OutputFolder folder(flags.out);
  ModelOptions options;
  options.attention = attention_kernels().plain();
  const Report report = report_of(models, options);
  folder.write("certificates.txt", origin_lines("softcheck run certificates", hashes_of(flags.models, models)) +
                                       proptests::to_table(report));
  say("{}: the certificates of {} networks; in {}: certificates.txt\n", to_string(report.verdict()), models.size(),
      folder.path().string());
  return proptests::exit_code(report.verdict());
}

}  // namespace

void add_certificate_run(Verb run) {
  auto [certificates, flags] = run.add_verb<CertificateFlags>(
      "certificates", "What softcheck model certifies of the shipped networks", run_certificates);
  certificates.add_option("--models", flags.models, "Folder of trained models, *.safetensors", typed("DIR"));
  certificates.add_option("--out", flags.out, "Folder for certificates.txt", typed("DIR"), shown);
}

void add_model_verb(Verb app) {
  auto [verb, flags] =
      app.add_verb<ModelFlags>("model", "Certify the attention heads of a checkpoint, or our own networks", run_model);
  verb.add_option("files", flags.files,
                  "A folder with config.json and safetensors, a .gguf file, or networks as `softcheck run train` "
                  "writes them",
                  typed("DIR|FILE..."), required);
  verb.add_option("--eps", flags.options.eps, "What a dispersed coefficient is below", within(1e-300, 1 - 1e-9), shown);
  verb.add_option("--n", flags.items, "Items of the entropy floor [a checkpoint's context, 1024 of a network]",
                  within<std::uint64_t>(1, 1ULL << 62));
  verb.add_option("--seed", flags.options.seed, "Seed of what is sampled of a network", shown);
  verb.add_option(
      "--prove", flags.prove.file,
      "Write theorems about one of our own networks to FILE.v, and have coqc prove them where it is installed",
      typed("FILE.v"), checked(wrong_proof_file));
  verb.add_option("--proofs", flags.prove.proofs, "Compiled theory/proofs for --prove [the build's]", typed("DIR"));
  verb.add_option("--resume", flags.checkpoint.question.resume,
                  "Keep what is certified in FILE, go on from it, and remove it when all is done", typed("FILE"),
                  checked(unwritable));
  verb.add_flag("--context", flags.checkpoint.question.options.context,
                "Bound rotary heads for inputs of at most --n items, too: sharper, a factorisation for each lag");
  verb.add_flag("--vocabulary", flags.checkpoint.question.vocabulary,
                "Enumerate what a checkpoint's first layer can read: every token at every position");
  verb.add_option("--layers", flags.checkpoint.question.layers, "Layers of a checkpoint: 3 or 0-3 [all]",
                  typed("RANGE"), checked(models::wrong_layers));
  verb.add_flag("--heads", flags.checkpoint.all_heads, "Print every head of a checkpoint, not the widest ten");
  verb.add_option("--fail-if", flags.checkpoint.question.fail_if, "Exit 1 where a head is so: 'logit.f16 > 65504'",
                  typed("CONDITION"), once_each, checked(wrong_gate));
  verb.add_option("--activations", flags.checkpoint.question.activations,
                  "Queries and keys of recorded forward passes, a safetensors file", typed("FILE"));
  verb.add_option("--tokens", flags.checkpoint.question.tokens,
                  "Run BERT, RoBERTa, DistilBERT, GPT-2 or a decoder of Llama's layout on ids of tokens, a line of two "
                  "or more for each input",
                  typed("FILE"));
  verb.add_option("--threads", flags.checkpoint.question.threads, "Threads for a checkpoint [all of the machine's]",
                  within(1U, 1024U));
  verb.add_option("--html", flags.checkpoint.html, "Write a checkpoint's heads as one HTML page to FILE", typed("FILE"),
                  checked(unwritable));
  add_output_flags(verb, flags.output);
}

}  // namespace softcheck::cli
