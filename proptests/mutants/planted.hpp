#pragma once

#include <string>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/properties/row_levels.hpp"

namespace softcheck::proptests {

/// A wrong claim or wrong code that a property must reject: the wrong check with the suite, sentence and cases of its
/// property.
struct PlantedVersion {
  std::string what;  // the fault: "forgets theta"
  Property wrong;
};

// Those of each result, in NAME.cpp.
std::vector<PlantedVersion> lemma_2_1_planted();
std::vector<PlantedVersion> entropy_bounds_planted();
std::vector<PlantedVersion> theorem_2_2_planted();
std::vector<PlantedVersion> proposition_3_1_planted();
std::vector<PlantedVersion> proposition_3_2_planted();
std::vector<PlantedVersion> streaming_entropy_planted();
std::vector<PlantedVersion> adaptive_temperature_planted();
std::vector<PlantedVersion> corollary_b_1_planted();
std::vector<PlantedVersion> remark_b_2_planted();
std::vector<PlantedVersion> remark_c_1_planted();
std::vector<PlantedVersion> norm_ellipsoid_planted();
std::vector<PlantedVersion> rotary_positions_planted();
std::vector<PlantedVersion> attention_variants_planted();
std::vector<PlantedVersion> sigmoid_attention_planted();
std::vector<PlantedVersion> differential_attention_planted();

/// Those of every property.
std::vector<PlantedVersion> all_planted();

/// The check without its undecided certificates: a wrong claim has no gap that decides ties, and a violation must
/// reject it.
inline RowCheck decided_only(RowCheck check) {
  return [check = std::move(check)](const RowCase& row_case) {
    Certificates all = check(row_case);
    std::erase_if(all, [](const auto& one) { return one.verdict == numerics::Verdict::undecided; });
    return all;
  };
}

}  // namespace softcheck::proptests
