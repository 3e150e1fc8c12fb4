#pragma once

#include <optional>

#include "kernels/abi/softcheck_kernel.h"
#include "kernels/cpu/row_access.hpp"

namespace softcheck::kernels {

/// What the outputs of an op are: one value an element, in the logits' format, or one a row, or the first and, where a
/// second output is asked for, the entropy of each row.
enum class Shape { elements, rows, elements_and_entropy };

struct CallViews {
  View logits;
  std::optional<View> mask;
  View output;
  std::optional<View> entropy;  // the second output, where the call asks for it
  double theta = 1;

  const View* mask_or_null() const { return mask ? &*mask : nullptr; }
  const View* entropy_or_null() const { return entropy ? &*entropy : nullptr; }
};

/// How elements of a type lie in memory; nothing where no kernel here reads them.
std::optional<Storage> storage_of(DLDataType type);

/// The tensors of a call of the softmax family as views; nothing where the call is to be refused.
std::optional<CallViews> call_views(const softcheck_call* call, Shape shape);

}  // namespace softcheck::kernels
