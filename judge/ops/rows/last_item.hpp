#pragma once

#include <cstddef>
#include <optional>

namespace softcheck::proptests {

/// What was last computed of an item of a row. The judge asks for its value, its threshold and its metric one behind
/// the other, and each needs the same parts.
template <class Value>
class LastItem {
 public:
  /// make(i), unless the item before was i too.
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
