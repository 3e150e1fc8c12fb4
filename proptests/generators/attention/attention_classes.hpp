#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/drawing/covering.hpp"

namespace softcheck::proptests {

/// The dimensions by which calls of attention are classified. Each of the seven tensors, from q to the entropy, has a
/// dimension for its layout.
enum class AttentionTrait : std::size_t {
  dim,
  values,  // value_dim relative to dim
  batch,
  kv_heads,
  group,
  queries,
  keys,
  width,  // number of keys relative to the widths that kernels process at once
  lengths,
  causal,
  scale,
  mask,
  mask_bytes,
  outputs,
  layout,
  nan_tensor = layout + 7,
  nan_place,
  nan_bits
};
inline constexpr std::size_t attention_traits = static_cast<std::size_t>(AttentionTrait::nan_bits) + 1;
inline constexpr std::size_t attention_tensors = 7;  // q, k, v, mask, out, lse, entropy
inline constexpr std::size_t attention_layouts = 7;  // kinds of layout

/// A dimension and the names of its classes; dimensions have the order of AttentionTrait.
struct AttentionDimension {
  std::string name;
  std::vector<std::string> classes;
};
const std::vector<AttentionDimension>& attention_dimensions();

/// The class of a shape in a dimension up to `lengths`; nothing if it has none.
std::optional<std::size_t> shape_class(AttentionTrait trait, const AttentionShape& shape);
/// The class of a scale.
std::size_t scale_class(double scale, std::size_t dim);
/// The class of a mask's bytes; nothing without a mask.
std::optional<std::size_t> mask_byte_class(const AttentionCase& attention);

/// The number of a layout in which each tensor has its own kind, with `rest` as its random part.
std::uint64_t layout_number(const std::vector<std::size_t>& kinds, std::uint64_t rest);
/// The kind of a tensor's layout, 0 in layout 0; nothing if it is random.
std::optional<std::size_t> layout_kind(std::uint64_t layout, std::size_t tensor);

/// Limits on the cost of a case.
struct AttentionBudget {
  std::size_t work = std::size_t{1} << 23;     // scores * (dim + value_dim)
  std::size_t numbers = std::size_t{1} << 20;  // of all tensors
  std::size_t judged = std::size_t{1} << 18;   // keys of individually judged rows
};

/// Can a case of the options and the budget have these classes?
bool is_possible(const ClassChoice& choice, const AttentionOptions& options, const AttentionBudget& budget);
/// The smallest shape of the domain with these classes; other dimensions are free. Nothing if there is none.
std::optional<AttentionShape> smallest_shape(const ClassChoice& choice, const Domain& domain);

/// Does the shape have these classes, and lie within the domain and the budget?
bool keeps_to(const ClassChoice& choice, const AttentionShape& shape, const AttentionOptions& options,
              const AttentionBudget& budget);

/// Choices of classes that cover all possible pairs, cheapest first; with `each`, only enough choices to cover every
/// class that many times, if possible.
std::vector<ClassChoice> attention_choices(const AttentionOptions& options, const AttentionBudget& budget,
                                           std::uint64_t seed, std::optional<std::size_t> each);

/// Case k has the classes of choice k. If it has many queries, heads or batches, they repeat a few bit for bit; one key
/// near the end stands out. Drawn in order.
rc::Gen<AttentionCase> attention_cases_of(std::vector<ClassChoice> choices, const AttentionOptions& options,
                                          const AttentionBudget& budget);

}  // namespace softcheck::proptests
