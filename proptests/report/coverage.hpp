#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softcheck::proptests {

/// A dimension of a call - its rows, its temperature - and the classes that its values fall into.
struct CoverageDimension {
  std::string name;
  std::vector<std::string> classes;
};

/// The classes of a judgement's calls: how many judged calls had each class of each dimension, and the reason if none
/// had it. A call is judged when the kernel accepted it and the judge judged its results.
class Coverage {
 public:
  Coverage() = default;
  explicit Coverage(std::vector<CoverageDimension> dimensions);

  const std::vector<CoverageDimension>& dimensions() const { return dimensions_; }
  /// A judged call had this class. A call may have several classes of one dimension, or none.
  /// throws   std::invalid_argument when there is no such dimension or class
  void meet(std::string_view dimension, std::string_view name);
  /// A call of this class was refused.
  void refuse(std::string_view dimension, std::string_view name);
  /// The class is left out on purpose: "outside the domain", "longer than default effort draws". The first reason
  /// stays.
  void excuse(std::string_view dimension, std::string_view name, const std::string& reason);

  struct Entry {
    std::string dimension;
    std::string name;         // of the class
    std::size_t calls = 0;    // judged, that had it
    std::size_t refused = 0;  // that had it
    std::string reason;       // why it was not met, where that is known

    bool only_refused() const { return calls == 0 && refused > 0; }
  };
  /// All classes, in the order of the dimensions.
  std::vector<Entry> entries() const;
  /// The classes without a judged call and without a reason.
  std::vector<Entry> unmet() const;

 private:
  std::pair<std::size_t, std::size_t> place_of(std::string_view dimension, std::string_view name) const;

  std::vector<CoverageDimension> dimensions_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> calls_;
  std::map<std::pair<std::size_t, std::size_t>, std::size_t> refusals_;
  std::map<std::pair<std::size_t, std::size_t>, std::string> reasons_;
};

}  // namespace softcheck::proptests
