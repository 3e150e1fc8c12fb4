#include "experiments/certificates/overflow.hpp"

#include "numerics/enclosures/enclosure.hpp"

namespace softcheck::experiments {

using numerics::Enclosure;
using numerics::Sides;

std::vector<numerics::Certificate> certify_no_overflow(const SizeBound& size, numerics::Format format) {
  const numerics::FormatProperties& properties = numerics::properties(format);
  const std::string claim = "model.overflow." + std::string(properties.name);
  const std::string witness = "query " + numerics::hex_float(size.query) + ", item (" +
                              numerics::hex_float(size.item.priority) + ", class " +
                              std::to_string(size.item.class_index) + ")";
  const auto below_largest = [&](const std::string& id, const Enclosure& factor_square) {
    return numerics::certify_less_equal(id, witness, [&] {
      return Sides{Enclosure::between(size.lower, size.upper) * sqrt(factor_square), Enclosure(properties.largest)};
    });
  };
  return {below_largest(claim, Enclosure(width)), below_largest(claim + ".scaled", Enclosure(1))};
}

}  // namespace softcheck::experiments
