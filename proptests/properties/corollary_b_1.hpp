#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "proptests/engine/property.hpp"
#include "proptests/engine/rapidcheck_types.hpp"
#include "theory/corollary_b_1.hpp"

namespace softcheck::proptests {

/// A float format, a spread and the two values one of which it must lose.
struct FormatCollapse {
  theory::CollapseCase input;
};

/// "collapse f32 spread=0x1p+1 theta=0x1p+0 first=0x1p+0 other=0x0p+0"
std::string to_text(const FormatCollapse& collapse);
void from_text(std::string_view text, FormatCollapse& collapse);
std::size_t size_of(const FormatCollapse& collapse);
void showValue(const FormatCollapse& collapse, std::ostream& stream);

/// All formats alike; spreads from 0 to 200 theta; values that are powers of two as often as not, where the spacing of
/// a format changes; lengths up to 2^400.
rc::Gen<FormatCollapse> format_collapses();

std::vector<Property> corollary_b_1_properties();

/// The properties with any check in place of theirs: what a planted wrong version is made of.
PropertyOf<FormatCollapse> loses_one_token(std::function<Certificates(const FormatCollapse&)> check);
PropertyOf<FormatCollapse> output_collapses(std::function<Certificates(const FormatCollapse&)> check);

}  // namespace softcheck::proptests
