#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace softcheck::proptests {

/// The sizes (lengths, magnitudes) of a judgement's calls by dimension: the largest that was judged, and the largest
/// that the field or the domain uses.
class CallSizes {
 public:
  struct Size {
    std::string dimension;
    double range = 0;    // largest size in use
    double largest = 0;  // largest size of a judged call
  };

  explicit CallSizes(std::vector<Size> sizes = {}) : sizes_(std::move(sizes)) {}

  /// Records the size of a judged call. Ignores unknown dimensions.
  void reach(std::string_view dimension, double size);
  const std::vector<Size>& all() const { return sizes_; }
  /// "largest called: rows 65537, n 1000001"; empty without dimensions.
  std::string largest_called() const;
  /// "n beyond 131072, up to 1000000: no judged call had it", for each dimension whose largest call is below its range.
  std::vector<std::string> not_tried() const;

 private:
  std::vector<Size> sizes_;
};

}  // namespace softcheck::proptests
