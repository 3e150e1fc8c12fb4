#pragma once

#include <cstddef>
#include <optional>

namespace softcheck::proptests {

/// Caches the parts of one item of a row: the judge asks for an item's value, threshold and metric in a row, and all
/// use these parts.
template <class Value>
class LastItem {
 public:
  /// make(i), or the cached value if the last item was i.
  template <class Make>
  const Value& of(std::size_t i, const Make& make) {
    if (!value_ || item_ != i) {
      value_.reset();  // make may throw
      value_.emplace(make(i));
      item_ = i;
    }
    return *value_;
  }

 private:
  std::optional<Value> value_;
  std::size_t item_ = 0;
};

}  // namespace softcheck::proptests
