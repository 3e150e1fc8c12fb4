#include "proptests/registry.hpp"

#include <algorithm>
#include <string>

#include "proptests/properties/adaptive_temperature.hpp"
#include "proptests/properties/attention_variants.hpp"
#include "proptests/properties/corollary_b_1.hpp"
#include "proptests/properties/entropy_bounds.hpp"
#include "proptests/properties/lemma_2_1.hpp"
#include "proptests/properties/norm_ellipsoid.hpp"
#include "proptests/properties/proposition_3_1.hpp"
#include "proptests/properties/proposition_3_2.hpp"
#include "proptests/properties/remark_b_2.hpp"
#include "proptests/properties/remark_c_1.hpp"
#include "proptests/properties/rotary_positions.hpp"
#include "proptests/properties/streaming_entropy.hpp"
#include "proptests/properties/theorem_2_2.hpp"

namespace softcheck::proptests {
namespace {

using List = std::vector<Property> (*)();

/// A new result: its header above and its list here. Inside a function: tests are registered before main.
const std::vector<List>& lists() {
  static const std::vector<List> lists{
      lemma_2_1_properties,
      entropy_bounds_properties,
      theorem_2_2_properties,
      proposition_3_1_properties,
      proposition_3_2_properties,
      streaming_entropy_properties,
      adaptive_temperature_properties,
      corollary_b_1_properties,
      remark_b_2_properties,
      remark_c_1_properties,
      norm_ellipsoid_properties,
      rotary_positions_properties,
      attention_variants_properties,
  };
  return lists;
}

}  // namespace

const std::vector<Property>& all_properties() {
  static const std::vector<Property> properties = [] {
    std::vector<Property> all;
    for (const List list : lists()) {
      for (Property& property : list()) all.push_back(std::move(property));
    }
    return all;
  }();
  return properties;
}

const Property* find_property(std::string_view name) {
  for (const Property& property : all_properties()) {
    if (property.name() == name) return &property;
  }
  return nullptr;
}

}  // namespace softcheck::proptests
