#include "judge/campaigns/shard_run.hpp"

#include <chrono>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <variant>

#include "experiments/sha256.hpp"
#include "judge/campaigns/answers.hpp"
#include "judge/campaigns/checkpoint_digest.hpp"
#include "judge/campaigns/host_class.hpp"
#include "judge/campaigns/saved_training.hpp"
#include "models/architectures/description.hpp"
#include "models/read/checkpoint.hpp"

namespace softcheck::proptests {

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
    return "";  // not here, or not as a judge could read it: the judge says so
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

}  // namespace softcheck::proptests
