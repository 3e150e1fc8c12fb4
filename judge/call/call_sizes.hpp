#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softcheck::proptests {

/// The sizes of a judgement's calls - lengths and magnitudes - by dimension: the largest one of a judged call, and the
/// largest that calls of the field, or of the domain, have.
class CallSizes {
 public:
  struct Size {
    std::string dimension;
    double range = 0;    // to its end
    double largest = 0;  // of a judged call
  };

  explicit CallSizes(std::vector<Size> sizes = {}) : sizes_(std::move(sizes)) {}

  /// A judged call had this size; nothing where there is no such dimension.
  void reach(std::string_view dimension, double size);
  const std::vector<Size>& all() const { return sizes_; }
  /// "largest called: rows 65537, n 1000001"; empty where there are none.
  std::string largest_called() const;
  /// "n beyond 131072, up to 1000000: no judged call had it" of each dimension that ends below its range.
  std::vector<std::string> not_tried() const;

 private:
  std::vector<Size> sizes_;
};

}  // namespace softcheck::proptests
