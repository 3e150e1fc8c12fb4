#include "proptests/registry.hpp"

#include <algorithm>
#include <string>

#if __has_include("proptests/properties/lemma_2_1.hpp")
#include "proptests/properties/lemma_2_1.hpp"
#endif
#if __has_include("proptests/properties/entropy_bounds.hpp")
#include "proptests/properties/entropy_bounds.hpp"
#endif
#if __has_include("proptests/properties/theorem_2_2.hpp")
#include "proptests/properties/theorem_2_2.hpp"
#endif
#if __has_include("proptests/properties/proposition_3_1.hpp")
#include "proptests/properties/proposition_3_1.hpp"
#endif
#if __has_include("proptests/properties/proposition_3_2.hpp")
#include "proptests/properties/proposition_3_2.hpp"
#endif
#if __has_include("proptests/properties/streaming_entropy.hpp")
#include "proptests/properties/streaming_entropy.hpp"
#endif
#if __has_include("proptests/properties/adaptive_temperature.hpp")
#include "proptests/properties/adaptive_temperature.hpp"
#endif
#if __has_include("proptests/properties/corollary_b_1.hpp")
#include "proptests/properties/corollary_b_1.hpp"
#endif
#if __has_include("proptests/properties/remark_b_2.hpp")
#include "proptests/properties/remark_b_2.hpp"
#endif
#if __has_include("proptests/properties/remark_c_1.hpp")
#include "proptests/properties/remark_c_1.hpp"
#endif

namespace softcheck::proptests {
namespace {

using List = std::vector<Property> (*)();

/// A new result: its header above and its list here. Inside a function: tests are registered before main.
const std::vector<List>& lists() {
  static const std::vector<List> lists {
#if __has_include("proptests/properties/lemma_2_1.hpp")
    lemma_2_1_properties,
#endif
#if __has_include("proptests/properties/entropy_bounds.hpp")
        entropy_bounds_properties,
#endif
#if __has_include("proptests/properties/theorem_2_2.hpp")
        theorem_2_2_properties,
#endif
#if __has_include("proptests/properties/proposition_3_1.hpp")
        proposition_3_1_properties,
#endif
#if __has_include("proptests/properties/proposition_3_2.hpp")
        proposition_3_2_properties,
#endif
#if __has_include("proptests/properties/streaming_entropy.hpp")
        streaming_entropy_properties,
#endif
#if __has_include("proptests/properties/adaptive_temperature.hpp")
        adaptive_temperature_properties,
#endif
#if __has_include("proptests/properties/corollary_b_1.hpp")
        corollary_b_1_properties,
#endif
#if __has_include("proptests/properties/remark_b_2.hpp")
        remark_b_2_properties,
#endif
#if __has_include("proptests/properties/remark_c_1.hpp")
        remark_c_1_properties,
#endif
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
