#include <algorithm>
#include <array>
#include <cmath>

#include "kernels/call/attention_views.hpp"
#include "kernels/call/call_views.hpp"

namespace softcheck::kernels::call {
namespace {

// Distances of keys are counted in 32 bits.
constexpr std::int64_t farthest = std::int64_t{1} << 30;

// The inputs of a call of version 2: q, k, v, and after them each of the others at most once.
class AttributedCall {
 public:
  explicit AttributedCall(const softcheck_call_2& whole) : plain_(whole.call) {
    plain_.abi_version = SOFTCHECK_KERNEL_ABI_VERSION;
    plain_.inputs = inputs_.data();
    plain_.n_inputs = mask_of(whole) == nullptr ? 3 : 4;
    std::copy(whole.call.inputs, whole.call.inputs + 3, inputs_.begin());
    inputs_[3] = mask_of(whole);
  }
  AttributedCall(const AttributedCall&) = delete;
  AttributedCall& operator=(const AttributedCall&) = delete;

  const softcheck_call* plain() const { return &plain_; }

  static const DLTensor* input_of(const softcheck_call_2& whole, softcheck_role role) {
    const std::uint32_t* end = whole.input_roles + whole.call.n_inputs;
    const std::uint32_t* found = std::find(whole.input_roles, end, static_cast<std::uint32_t>(role));
    return found == end ? nullptr : whole.call.inputs[found - whole.input_roles];
  }

  static bool has_known_inputs(const softcheck_call_2& whole) {
    static constexpr std::array<std::uint32_t, 3> first{SOFTCHECK_ROLE_QUERY, SOFTCHECK_ROLE_KEY, SOFTCHECK_ROLE_VALUE};
    static constexpr std::array<std::uint32_t, 4> others{SOFTCHECK_ROLE_MASK, SOFTCHECK_ROLE_SINKS,
                                                         SOFTCHECK_ROLE_SLOPES, SOFTCHECK_ROLE_BIAS};
    const std::uint32_t* roles = whole.input_roles;
    const std::uint32_t* end = roles + whole.call.n_inputs;
    return whole.call.n_inputs >= 3 && std::equal(first.begin(), first.end(), roles) &&
           std::all_of(roles + 3, end, [&](std::uint32_t role) {
             return std::find(others.begin(), others.end(), role) != others.end() &&
                    std::count(roles + 3, end, role) == 1;
           });
  }

 private:
  static const DLTensor* mask_of(const softcheck_call_2& whole) { return input_of(whole, SOFTCHECK_ROLE_MASK); }

  softcheck_call plain_;
  std::array<const DLTensor*, 4> inputs_{};
};

// How many keys to one side of its own a query sees.
std::optional<std::int64_t> window_side(std::int64_t plus_1) {
  constexpr std::int64_t all = AttentionAttributes::all;
  return plus_1 < 0 ? std::nullopt : std::optional(plus_1 == 0 ? all : std::min(plus_1 - 1, all));
}

// In the format that scores are computed in.
bool softcap_fits(const AttentionViews& views, double softcap) {
  const double rounded = views.q.storage == Storage::f64 ? softcap : static_cast<double>(static_cast<float>(softcap));
  return std::isfinite(rounded) && (softcap == 0 || rounded > 0);
}

// Reads one number for each head, if the call has them; false if they do not fit.
bool read_heads(const DLTensor* tensor, const AttentionViews& views, std::optional<View>& to) {
  if (tensor == nullptr) {
    return true;
  }
  to = view_of(tensor, 1);
  const Storage wide = views.q.storage == Storage::f64 ? Storage::f64 : Storage::f32;
  return to && to->rows == views.heads() && to->storage == wide;
}

bool read_bias(const DLTensor* tensor, const AttentionViews& views, std::optional<View4>& to) {
  if (tensor == nullptr) {
    return true;
  }
  to = view4_of(tensor, 4);
  return to && to->storage == views.q.storage && to->shape[0] == views.batch() &&
         (to->shape[1] == 1 || to->shape[1] == views.heads()) && to->shape[2] == views.queries() &&
         to->shape[3] == views.keys();
}

}  // namespace

std::optional<AttentionViews> attributed_attention_views(const softcheck_call* call) {
  const softcheck_call_2* whole = call == nullptr ? nullptr : softcheck_version_2(call);
  if (whole == nullptr) {
    return attention_views(call);
  }
  const softcheck_attributes& of = *whole->attributes;
  if (whole->op != SOFTCHECK_OP_ATTENTION || !AttributedCall::has_known_inputs(*whole) ||
      of.size < sizeof(softcheck_attributes) || of.page_size != 0) {
    return std::nullopt;
  }
  std::optional<AttentionViews> views = attention_views(AttributedCall(*whole).plain());
  const std::optional<std::int64_t> left = window_side(of.window_left_plus_1);
  const std::optional<std::int64_t> right = window_side(of.window_right_plus_1);
  if (!views || !left || !right || !softcap_fits(*views, of.softcap)) {
    return std::nullopt;
  }
  AttentionAttributes& to = views->attributes;
  to.left = *left;
  to.right = *right;
  to.top_left = of.causal_top_left != 0;
  to.softcap = of.softcap;
  if (!read_heads(AttributedCall::input_of(*whole, SOFTCHECK_ROLE_SINKS), *views, to.sinks) ||
      !read_heads(AttributedCall::input_of(*whole, SOFTCHECK_ROLE_SLOPES), *views, to.slopes) ||
      !read_bias(AttributedCall::input_of(*whole, SOFTCHECK_ROLE_BIAS), *views, to.bias)) {
    return std::nullopt;
  }
  // Of weights that do not add up to 1 there is no entropy.
  const bool has_entropy = to.sinks && views->entropy;
  const bool is_long = to.slopes && std::max(views->queries(), views->keys()) > farthest;
  return has_entropy || is_long ? std::nullopt : views;
}

}  // namespace softcheck::kernels::call
