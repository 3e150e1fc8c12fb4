#pragma once

#include <type_traits>

#include "kernels/block/formats.hpp"
#include "kernels/call/elements.hpp"

namespace softcheck::kernels {

/// Returns take(std::type_identity<Element>()), Element the type of the storage's elements. Returns 1, a refusal, for
/// masks and for formats of 8 bits.
template <class Take>
int with_element(call::Storage storage, const Take& take) {
  switch (storage) {
    case call::Storage::f64:
      return take(std::type_identity<double>());
    case call::Storage::f32:
      return take(std::type_identity<float>());
    case call::Storage::f16:
      return take(std::type_identity<Half>());
    case call::Storage::bf16:
      return take(std::type_identity<BFloat>());
    case call::Storage::mask:
    case call::Storage::eight_bits:
      break;
  }
  return 1;
}

}  // namespace softcheck::kernels
