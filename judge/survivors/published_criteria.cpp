#include <iterator>

#include "judge/survivors/published.hpp"

namespace softcheck::proptests {

std::vector<Criterion> published_criteria() {
  std::vector<Criterion> criteria = benchmark_criteria();
  for (auto& more : {gpu_library_criteria(), cpu_library_criteria(), gradient_criteria(), loss_criteria(),
                     serving_criteria(), filter_criteria(), attention_criteria(), attribute_criteria(),
                     sequence_criteria(), attention_gradient_criteria()}) {
    criteria.insert(criteria.end(), more.begin(), more.end());
  }
  return criteria;
}

std::vector<CriterionCase> draw_cases(const Criterion& criterion, std::uint64_t seed) {
  // FNV-1a of the name, so that one more criterion changes no other's numbers.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : criterion.name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  Draw draw(seed ^ hash);
  return criterion.cases(draw);
}

}  // namespace softcheck::proptests
