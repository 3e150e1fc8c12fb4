#include <rapidcheck.h>

#include <cmath>
#include <ostream>
#include <stdexcept>

#include "numerics/enclosures/ulp.hpp"
#include "proptests/generators/drawing/draw.hpp"
#include "proptests/generators/text/case_text.hpp"
#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {
namespace {

using numerics::Enclosure;
using theory::CollapseCase;

// The theory refuses lengths beyond 2^400; leave a factor of 16 for the logarithms here.
constexpr double most_doublings = 396;

bool admits(const CollapseCase& input) {
  const bool numbers = numerics::round_to(input.format, input.first) == input.first &&
                       numerics::round_to(input.format, input.other) == input.other && input.first != input.other;
  if (!numbers || !(input.spread >= 0) || !(input.theta > 0) || !(input.spread / input.theta <= 200)) return false;
  const double difference = std::fabs(input.first - input.other);
  if (!std::isfinite(difference)) return false;
  const double odds = std::log2(4 * difference) - std::log2(numerics::ulp(input.format, input.other));
  return odds + input.spread / input.theta * std::log2(std::exp(1.0)) <= most_doublings;
}

double draw_value(Draw& draw, numerics::Format format) {
  const double sign = draw.one_in(2) ? 1 : -1;
  switch (draw.below(8)) {
    case 0:
      return 0;
    case 1:
      return sign * numerics::properties(format).smallest_normal;
    case 2:
      return sign * numerics::properties(format).largest;
    case 3:
    case 4:
      return numerics::round_to(format, draw.normal());
    default:
      return sign * std::ldexp(1.0, draw.between(-6, 7));
  }
}

CollapseCase draw_collapse(const rc::Random& random) {
  Draw draw(random);
  CollapseCase input;
  do {
    input.format = numerics::all_formats()[draw.below(numerics::all_formats().size())];
    input.theta = draw.one_in(2) ? 1 : std::ldexp(1.0, draw.between(-4, 4));
    const double reach = draw.one_in(4) ? 200 : draw.one_in(4) ? 0 : 16;
    const int bits = draw.one_in(2) ? 8 : 53;
    input.spread = round_to_bits(draw.unit() * reach * input.theta, bits);
    input.first = draw_value(draw, input.format);
    input.other = draw_value(draw, input.format);
  } while (!admits(input));
  return input;
}

rc::Seq<FormatCollapse> shrink(const FormatCollapse& collapse) {
  std::vector<FormatCollapse> simpler;
  for (double CollapseCase::*field :
       {&CollapseCase::theta, &CollapseCase::spread, &CollapseCase::first, &CollapseCase::other}) {
    for (double value : simpler_numbers(collapse.input.*field)) {
      FormatCollapse candidate = collapse;
      candidate.input.*field = value;
      if (admits(candidate.input)) simpler.push_back(candidate);
    }
  }
  return rc::seq::fromContainer(std::move(simpler));
}

}  // namespace

std::string to_text(const FormatCollapse& collapse) {
  const CollapseCase& input = collapse.input;
  return "collapse " + std::string(numerics::properties(input.format).name) +
         " spread=" + numerics::hex_float(input.spread) + " theta=" + numerics::hex_float(input.theta) +
         " first=" + numerics::hex_float(input.first) + " other=" + numerics::hex_float(input.other);
}

void from_text(std::string_view text, FormatCollapse& collapse) {
  const auto words = words_of(text);
  if (words.size() != 6 || words[0] != "collapse") {
    throw std::invalid_argument("case text: need collapse FORMAT spread= theta= first= other=, got \"" +
                                std::string(text) + "\"");
  }
  CollapseCase input;
  input.format = numerics::parse_format(words[1]);
  input.spread = parse_number(value_of(words[2], "spread"));
  input.theta = parse_number(value_of(words[3], "theta"));
  input.first = parse_number(value_of(words[4], "first"));
  input.other = parse_number(value_of(words[5], "other"));
  if (!admits(input)) {
    throw std::invalid_argument("case text: need two different numbers of the format and a length up to 2^396");
  }
  collapse.input = input;
}

std::size_t size_of(const FormatCollapse&) { return 2; }

void showValue(const FormatCollapse& collapse, std::ostream& stream) { stream << to_text(collapse); }

rc::Gen<FormatCollapse> format_collapses() {
  return [](const rc::Random& random, int) {
    return rc::shrinkable::shrinkRecur(FormatCollapse{draw_collapse(random)},
                                       [](const FormatCollapse& collapse) { return shrink(collapse); });
  };
}

PropertyOf<FormatCollapse> loses_one_token(std::function<Certificates(const FormatCollapse&)> check) {
  return {"CorollaryB1",
          "OneTokenFallsBelowTheUnitRoundoffAtTheSmallestLength",
          {"corollary_b_1.coefficient_vanishes", "corollary_b_1.smallest_length", "corollary_b_1.concrete_row"},
          format_collapses(),
          std::move(check)};
}

PropertyOf<FormatCollapse> output_collapses(std::function<Certificates(const FormatCollapse&)> check) {
  return {"CorollaryB1",
          "TheFormatReturnsTheOutputOfTheOtherTokens",
          {"corollary_b_1.output_collapses"},
          format_collapses(),
          std::move(check)};
}

std::vector<Property> corollary_b_1_properties() {
  const auto vanishes = [](const FormatCollapse& collapse) {
    const Enclosure length = theory::smallest_vanishing_length(collapse.input);
    Certificates result = theory::certify_coefficient_vanishes(collapse.input, length);
    result.push_back(theory::certify_smallest_length(collapse.input, length));
    for (auto& certificate : theory::certify_concrete_row(collapse.input, length)) result.push_back(certificate);
    return result;
  };
  const auto collapses = [](const FormatCollapse& collapse) {
    return Certificates{
        theory::certify_output_collapses(collapse.input, theory::smallest_collapsing_length(collapse.input))};
  };
  return {loses_one_token(vanishes), output_collapses(collapses)};
}

}  // namespace softcheck::proptests
