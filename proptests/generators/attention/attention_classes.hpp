#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/drawing/covering.hpp"

namespace softcheck::proptests {

/// What a call of attention is made of, dimension by dimension. Its seven tensors, from q to the entropy, each have a
/// dimension of their layout.
enum class AttentionTrait : std::size_t {
  dim,
  values,  // their dimension against dim
  batch,
  kv_heads,
  group,
  queries,
  keys,
  width,  // of keys, against what kernels take at once
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

/// A dimension and the names of its classes, in the order of AttentionTrait.
struct AttentionDimension {
  std::string name;
  std::vector<std::string> classes;
};
const std::vector<AttentionDimension>& attention_dimensions();

/// The class of a shape in one of the dimensions up to `lengths`; nothing where it has none.
std::optional<std::size_t> shape_class(AttentionTrait trait, const AttentionShape& shape);
/// The class of a scale.
std::size_t scale_class(double scale, std::size_t dim);
/// The bytes of a mask; nothing without one.
std::optional<std::size_t> mask_byte_class(const AttentionCase& attention);

/// The number of a layout of which each tensor has a kind of its own, and the rest of it.
std::uint64_t layout_number(const std::vector<std::size_t>& kinds, std::uint64_t rest);
/// The kind of a tensor, 0 in layout 0; nothing where the layout's number leaves it to chance.
std::optional<std::size_t> layout_kind(std::uint64_t layout, std::size_t tensor);

/// What a case may cost.
struct AttentionBudget {
  std::size_t work = std::size_t{1} << 23;     // scores * (dim + value_dim)
  std::size_t numbers = std::size_t{1} << 20;  // of all tensors
  std::size_t judged = std::size_t{1} << 18;   // keys of rows that are judged by themselves
};

/// May a case of the options and the budget have these classes?
bool is_possible(const ClassChoice& choice, const AttentionOptions& options, const AttentionBudget& budget);
/// The smallest shape with these classes, those not chosen being free; nothing where there is none in the domain.
std::optional<AttentionShape> smallest_shape(const ClassChoice& choice, const Domain& domain);

/// Has a shape all its classes, and does it keep to the domain and the budget?
bool keeps_to(const ClassChoice& choice, const AttentionShape& shape, const AttentionOptions& options,
              const AttentionBudget& budget);

/// Choices of classes in which every two that are possible stand together, the cheapest first; with `each`, only so
/// many of them that every class is in as many, where there are.
std::vector<ClassChoice> attention_choices(const AttentionOptions& options, const AttentionBudget& budget,
                                           std::uint64_t seed, std::optional<std::size_t> each);

/// Case k has the classes of choice k: queries, heads and batches that repeat a few of them bit for bit where there are
/// many, one key that stands out near the end. Drawn one after the other.
rc::Gen<AttentionCase> attention_cases_of(std::vector<ClassChoice> choices, const AttentionOptions& options,
                                          const AttentionBudget& budget);

}  // namespace softcheck::proptests
