#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace softcheck::proptests {

/// A dimension of calls, such as rows or temperature, and the classes of its values.
struct CoverageDimension {
  std::string name;
  std::vector<std::string> classes;
};

/// The classes of a judgement's calls: how many judged calls had each class of each dimension, and the reason if none
/// had it. A judged call is one that the kernel accepted and whose results the judge judged.
class Coverage {
 public:
  Coverage() = default;
  explicit Coverage(std::vector<CoverageDimension> dimensions);

  const std::vector<CoverageDimension>& dimensions() const { return dimensions_; }
  /// Records a judged call with this class. A call may have several classes of one dimension, or none.
  /// throws   std::invalid_argument if there is no such dimension or class
  void meet(std::string_view dimension, std::string_view name);
  /// Records a refused call with this class.
  void refuse(std::string_view dimension, std::string_view name);
  /// Excludes the class, with the reason: "outside the domain", "longer than default effort draws". Keeps the first
  /// reason.
  void excuse(std::string_view dimension, std::string_view name, const std::string& reason);

  struct Entry {
    std::string dimension;
    std::string name;         // of the class
    std::size_t calls = 0;    // judged calls
    std::size_t refused = 0;  // refused calls
    std::string reason;       // why no judged call had it, if known

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
