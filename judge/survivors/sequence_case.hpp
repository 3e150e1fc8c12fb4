#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "judge/survivors/attention_case.hpp"

namespace softcheck::proptests {

/// Attention of several sequences in one call, each as tensors of a batch of one; format, heads, dim, scale and
/// causality are those of the first.
///
/// value   an element of q, k and v
/// what    the factor of PyTorch's largest error that is allowed; 0: `comparisons` as they are
CriterionCase packed_case(const std::vector<PublishedTensors>& sequences, const std::function<double()>& value,
                          std::vector<Comparison> comparisons, double factor);

/// The same with keys and values in pages, which lie in any order and are twice as many as needed; slots that no key
/// has hold values, too. The sequences have as many queries each.
CriterionCase paged_case(const std::vector<PublishedTensors>& sequences, std::int64_t page_size, Draw& draw,
                         const std::function<double()>& value, std::vector<Comparison> comparisons);

}  // namespace softcheck::proptests
