#include <rapidcheck.h>

#include "numerics/enclosures/ulp.hpp"
#include "proptests/mutants/planted.hpp"
#include "proptests/properties/properties.hpp"
#include "theory/theorem_2_2.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Enclosure;

Certificates vanishing_at(const FormatCollapse& collapse, const Enclosure& length) {
  Certificates result = theory::certify_coefficient_vanishes(collapse.input, length);
  result.push_back(theory::certify_smallest_length(collapse.input, length));
  return result;
}

Enclosure paper_length(const theory::CollapseCase& input) {
  return theory::smallest_integer_above([&] {
    return theory::dispersion_length_paper(Enclosure(input.spread), Enclosure(input.theta),
                                           Enclosure(numerics::properties(input.format).unit_roundoff));
  });
}

Enclosure length_for_half_an_ulp(const theory::CollapseCase& input) {
  const Enclosure length = theory::smallest_integer_above([&] {
    const Enclosure difference = abs(Enclosure(input.first) - Enclosure(input.other));
    const Enclosure odds =
        Enclosure(2) * Enclosure(difference.upper_double()) / Enclosure(numerics::ulp(input.format, input.other)) -
        Enclosure(1);
    return Enclosure(1) + exp(Enclosure(input.spread) / Enclosure(input.theta)) * odds;
  });
  const numerics::PrecisionScope exact(numerics::precision_ladder.back());
  return maximum(length, Enclosure(2));
}

}  // namespace

std::vector<PlantedVersion> corollary_b_1_planted() {
  return {
      {"rounds the length down", loses_one_token([](const FormatCollapse& collapse) {
         const numerics::PrecisionScope exact(numerics::precision_ladder.back());
         return vanishing_at(collapse, theory::smallest_vanishing_length(collapse.input) - Enclosure(1));
       })},
      {"takes the paper's length for the smallest", loses_one_token([](const FormatCollapse& collapse) {
         return vanishing_at(collapse, paper_length(collapse.input));
       })},
      {"forgets theta", loses_one_token([](const FormatCollapse& collapse) {
         theory::CollapseCase at_one = collapse.input;
         at_one.spread = std::min(at_one.spread, 200.0);
         at_one.theta = 1;
         return vanishing_at(collapse, theory::smallest_vanishing_length(at_one));
       })},
      {"lets half an ulp pass at powers of two", output_collapses([](const FormatCollapse& collapse) {
         return Certificates{theory::certify_output_collapses(collapse.input, length_for_half_an_ulp(collapse.input))};
       })},
      {"takes a coefficient below the unit roundoff for a lost token",
       output_collapses([](const FormatCollapse& collapse) {
         return Certificates{
             theory::certify_output_collapses(collapse.input, theory::smallest_vanishing_length(collapse.input))};
       })},
  };
}

}  // namespace softcheck::proptests
