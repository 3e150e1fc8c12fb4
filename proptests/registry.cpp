#include "proptests/registry.hpp"

#include "proptests/properties/properties.hpp"

namespace softcheck::proptests {

const std::vector<Property>& all_properties() {
  static const std::vector<Property> properties = [] {
    std::vector<Property> all;
    for (const auto list :
         {lemma_2_1_properties, entropy_bounds_properties, theorem_2_2_properties, proposition_3_1_properties,
          proposition_3_2_properties, streaming_entropy_properties, adaptive_temperature_properties,
          corollary_b_1_properties, remark_b_2_properties, remark_c_1_properties, norm_ellipsoid_properties,
          rotary_positions_properties, attention_variants_properties, sigmoid_attention_properties,
          differential_attention_properties}) {
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
