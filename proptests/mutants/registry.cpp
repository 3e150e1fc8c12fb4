#include "proptests/mutants/registry.hpp"

#include "proptests/mutants/adaptive_temperature.hpp"
#include "proptests/mutants/attention_variants.hpp"
#include "proptests/mutants/corollary_b_1.hpp"
#include "proptests/mutants/entropy_bounds.hpp"
#include "proptests/mutants/lemma_2_1.hpp"
#include "proptests/mutants/norm_ellipsoid.hpp"
#include "proptests/mutants/proposition_3_1.hpp"
#include "proptests/mutants/proposition_3_2.hpp"
#include "proptests/mutants/remark_b_2.hpp"
#include "proptests/mutants/remark_c_1.hpp"
#include "proptests/mutants/rotary_positions.hpp"
#include "proptests/mutants/streaming_entropy.hpp"
#include "proptests/mutants/theorem_2_2.hpp"

namespace softcheck::proptests {
namespace {

using List = std::vector<PlantedVersion> (*)();

/// A new result: its header above and its list here. Inside a function: tests are registered before main.
const std::vector<List>& lists() {
  static const std::vector<List> lists{
      lemma_2_1_planted,          entropy_bounds_planted,    theorem_2_2_planted,          proposition_3_1_planted,
      proposition_3_2_planted,    streaming_entropy_planted, adaptive_temperature_planted, corollary_b_1_planted,
      remark_b_2_planted,         remark_c_1_planted,        norm_ellipsoid_planted,       rotary_positions_planted,
      attention_variants_planted,
  };
  return lists;
}

}  // namespace

std::vector<PlantedVersion> all_planted() {
  std::vector<PlantedVersion> all;
  for (const List list : lists()) {
    for (PlantedVersion& planted : list()) all.push_back(std::move(planted));
  }
  return all;
}

}  // namespace softcheck::proptests
