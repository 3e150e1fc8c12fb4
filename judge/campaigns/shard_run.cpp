#include "judge/campaigns/shard_run.hpp"

#include <sys/utsname.h>

#include <array>
#include <chrono>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include "experiments/sha256.hpp"
#include "judge/campaigns/shard_file.hpp"
#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::proptests {
namespace {

// Linux's names for x86-64, then for AArch64.
constexpr std::array extensions = {"sse4_2",   "avx2",    "fma",  "avx512f", "avx512_bf16", "avx512_fp16",
                                   "amx_bf16", "asimdhp", "bf16", "i8mm",    "sve",         "sve2"};

std::string value_of(const std::string& line) {
  const std::size_t colon = line.find(": ");
  return colon == std::string::npos ? "" : line.substr(colon + 2);
}

}  // namespace

std::map<std::string, std::string> library_digests(const Plan& plan, const std::filesystem::path& kernels) {
  std::map<std::string, std::string> digests;
  for (const Shard& shard : plan.shards) {
    for (const Question& asked : shard.asked) {
      const auto* judgement = std::get_if<JudgementQuestion>(&asked.about);
      if (judgement == nullptr) continue;
      const auto [place, added] = digests.try_emplace(judgement->subject.source.library);
      if (!added) continue;
      try {
        place->second = experiments::sha256_of_file(kernels / place->first);
      } catch (const std::runtime_error&) {
        place->second.clear();
      }
    }
  }
  return digests;
}

std::string source_digest(const Question& asked, const ShardRun& run) {
  if (const auto* judgement = std::get_if<JudgementQuestion>(&asked.about)) {
    const auto found = run.digests.find(judgement->subject.source.library);
    return found == run.digests.end() ? "" : found->second;
  }
  const auto* layer = std::get_if<LayerQuestion>(&asked.about);
  if (layer == nullptr) return "";
  try {
    const std::unique_ptr<models::Checkpoint> file = models::open_checkpoint(run.kernels / layer->model);
    const bool vocabulary = layer->vocabulary && layer->layer == 0;
    return checkpoint_digests(*file, models::describe(*file), static_cast<int>(layer->layer), vocabulary).layer;
  } catch (const std::runtime_error&) {
    return "";  // missing or unreadable: the judge reports it
  }
}

ShardFile judge_shard(const Shard& shard, const ShardRun& run) {
  std::filesystem::current_path(run.kernels);
  ShardFile file{shard.key, run.plan, run.version, run.commit, host_class(), {}};
  for (const Question& asked : shard.asked) {
    const auto start = std::chrono::steady_clock::now();
    JudgedAnswer answer = std::visit([&](const auto& one) { return answer_of(one, run); }, asked.about);
    answer.asked = asked.text();
    answer.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    file.answers.push_back(std::move(answer));
  }
  return file;
}

void forget_cached(const Shard& shard, const ShardRun& run) {
  for (const Question& asked : shard.asked) {
    const auto* training = std::get_if<TrainingQuestion>(&asked.about);
    const std::filesystem::path kept = training == nullptr ? "" : saved_training(*training, run);
    std::error_code ignored;
    if (!kept.empty()) std::filesystem::remove(kept, ignored);
  }
}

std::string host_class() {
  utsname machine{};
  std::string result = uname(&machine) == 0 ? machine.machine : "unknown";
  std::string name, flags;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line) && !line.empty();) {
    if (line.starts_with("model name")) name = value_of(line);
    if (line.starts_with("flags") || line.starts_with("Features")) flags = " " + value_of(line) + " ";
  }
  if (!name.empty()) result += ", " + name;
  std::string found;
  for (const char* extension : extensions) {
    if (flags.find(" " + std::string(extension) + " ") != std::string::npos) found += " " + std::string(extension);
  }
  return found.empty() ? result : result + "," + found;
}

}  // namespace softcheck::proptests
