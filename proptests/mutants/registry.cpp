#include "proptests/mutants/planted.hpp"

namespace softcheck::proptests {

std::vector<PlantedVersion> all_planted() {
  std::vector<PlantedVersion> all;
  for (const auto list :
       {lemma_2_1_planted, entropy_bounds_planted, theorem_2_2_planted, proposition_3_1_planted,
        proposition_3_2_planted, streaming_entropy_planted, adaptive_temperature_planted, corollary_b_1_planted,
        remark_b_2_planted, remark_c_1_planted, norm_ellipsoid_planted, rotary_positions_planted,
        attention_variants_planted, sigmoid_attention_planted, differential_attention_planted}) {
    for (PlantedVersion& planted : list()) all.push_back(std::move(planted));
  }
  return all;
}

}  // namespace softcheck::proptests
