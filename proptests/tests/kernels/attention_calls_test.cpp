// Which calls of attention, forward and backward, are refused.
#include <gtest/gtest.h>

#include <functional>

#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::kernel_tests {
namespace {

using F32 = Tensor<float>;

/// Tensors of a call with a mask that both directions take: 4 heads that share 2 key heads.
struct Tensors {
  static constexpr std::int64_t batch = 2, heads = 4, key_heads = 2, queries = 3, keys = 7, dim = 5, width = 6;

  F32 q{dtype_of<float>(), {batch, heads, queries, dim}}, k{dtype_of<float>(), {batch, key_heads, keys, dim}},
      v{dtype_of<float>(), {batch, key_heads, keys, width}};
  Tensor<std::uint8_t> mask{mask_type, {batch, heads, queries, keys}};
  F32 out{dtype_of<float>(), q_like(width)};  // backward: its gradient, an input
  F32 lse{dtype_of<float>(), {batch, heads, queries}}, entropy{dtype_of<float>(), {batch, heads, queries}};
  F32 dq{dtype_of<float>(), q_like(dim)}, dk{dtype_of<float>(), k.shape}, dv{dtype_of<float>(), v.shape};

  static std::vector<std::int64_t> q_like(std::int64_t last) { return {batch, heads, queries, last}; }
};

/// A call of either direction, to be spoilt before it is made.
struct AttentionCall {
  explicit AttentionCall(bool backward)
      : inputs{&t.q.view, &t.k.view, &t.v.view, backward ? &t.out.view : &t.mask.view, &t.mask.view},
        outputs{backward ? &t.dq.view : &t.out.view, backward ? &t.dk.view : &t.lse.view,
                backward ? &t.dv.view : &t.entropy.view, &t.entropy.view},
        call{SOFTCHECK_KERNEL_ABI_VERSION, backward ? 5u : 4u, 3, inputs, outputs, 1.0, 0.5, 0, nullptr} {}
  AttentionCall(const AttentionCall&) = delete;
  AttentionCall& operator=(const AttentionCall&) = delete;

  Tensors t;
  const DLTensor* inputs[5];
  DLTensor* outputs[4];
  softcheck_call call;
};

struct Spoilt {
  const char* what;
  std::function<void(AttentionCall&)> spoil;
};

const std::vector<Spoilt>& in_both_directions() {
  static std::int64_t repeated[4] = {60, 15, 0, 1};
  static const std::vector<Spoilt> list = {
      {"version 0", [](AttentionCall& c) { c.call.abi_version = 0; }},
      {"version 2", [](AttentionCall& c) { c.call.abi_version = 2; }},
      {"an input too few", [](AttentionCall& c) { c.call.n_inputs -= 2; }},
      {"an input too many", [](AttentionCall& c) { c.call.n_inputs += 1; }},
      {"no output", [](AttentionCall& c) { c.call.n_outputs = 0; }},
      {"four outputs", [](AttentionCall& c) { c.call.n_outputs = 4; }},
      {"a temperature", [](AttentionCall& c) { c.call.theta = 2; }},
      {"a scale of NaN", [](AttentionCall& c) { c.call.scale = std::numeric_limits<double>::quiet_NaN(); }},
      {"an infinite scale", [](AttentionCall& c) { c.call.scale = std::numeric_limits<double>::infinity(); }},
      {"no queries' tensor", [](AttentionCall& c) { c.inputs[0] = nullptr; }},
      {"queries of rank 3", [](AttentionCall& c) { c.t.q.view.ndim = 3; }},
      {"integer queries", [](AttentionCall& c) { c.t.q.view.dtype.code = kDLInt; }},
      {"queries of two lanes", [](AttentionCall& c) { c.t.q.view.dtype.lanes = 2; }},
      {"queries without data", [](AttentionCall& c) { c.t.q.view.data = nullptr; }},
      {"queries on a device", [](AttentionCall& c) { c.t.q.view.device.device_type = kDLCUDA; }},
      {"a stride of 0", [](AttentionCall& c) { c.t.q.view.strides = repeated; }},
      {"a negative extent", [](AttentionCall& c) { c.t.q.shape[2] = c.t.out.shape[2] = c.t.mask.shape[2] = -3; }},
      {"keys of f64", [](AttentionCall& c) { c.t.k.view.dtype.bits = 64; }},
      {"values of f64", [](AttentionCall& c) { c.t.v.view.dtype.bits = 64; }},
      {"keys of another size", [](AttentionCall& c) { c.t.k.shape[3] = c.t.dk.shape[3] = 4; }},
      {"keys of another batch", [](AttentionCall& c) { c.t.k.shape[0] = c.t.dk.shape[0] = 1; }},
      {"values of another batch", [](AttentionCall& c) { c.t.v.shape[0] = c.t.dv.shape[0] = 1; }},
      {"values of other heads", [](AttentionCall& c) { c.t.v.shape[1] = c.t.dv.shape[1] = 1; }},
      {"fewer values than keys", [](AttentionCall& c) { c.t.v.shape[2] = c.t.dv.shape[2] = 6; }},
      {"4 heads to 3 key heads",
       [](AttentionCall& c) {
         for (F32* tensor : {&c.t.k, &c.t.v, &c.t.dk, &c.t.dv}) {
           tensor->shape = {2, 3, 4, tensor->shape[3]};
         }
         c.t.mask.shape[3] = 4;
       }},
      {"a mask of floats", [](AttentionCall& c) { c.t.mask.view.dtype = dtype_of<float>(); }},
      {"a mask of another batch", [](AttentionCall& c) { c.t.mask.shape[0] = 1; }},
      {"a mask of some heads", [](AttentionCall& c) { c.t.mask.shape[1] = 2; }},
      {"a mask of other queries", [](AttentionCall& c) { c.t.mask.shape[2] = 1; }},
      {"a mask of other keys", [](AttentionCall& c) { c.t.mask.shape[3] = 6; }},
      {"out of another width", [](AttentionCall& c) { c.t.out.shape[3] = 5; }},
      {"out of other queries", [](AttentionCall& c) { c.t.out.shape[2] = 2; }},
      {"out of f64", [](AttentionCall& c) { c.t.out.view.dtype.bits = 64; }},
  };
  return list;
}

const std::vector<Spoilt>& forward_only() {
  static const std::vector<Spoilt> list = {
      {"lse of other queries", [](AttentionCall& c) { c.t.lse.shape[2] = 2; }},
      {"lse of f64", [](AttentionCall& c) { c.t.lse.view.dtype.bits = 64; }},
      {"lse of rank 4", [](AttentionCall& c) { c.outputs[1] = &c.t.out.view; }},
      {"entropy of other heads", [](AttentionCall& c) { c.t.entropy.shape[1] = 2; }},
  };
  return list;
}

const std::vector<Spoilt>& backward_only() {
  static const std::vector<Spoilt> list = {
      {"dq of another size", [](AttentionCall& c) { c.t.dq.shape[3] = 4; }},
      {"dq of f64", [](AttentionCall& c) { c.t.dq.view.dtype.bits = 64; }},
      {"dk of other keys", [](AttentionCall& c) { c.t.dk.shape[2] = 6; }},
      {"dk of halves", [](AttentionCall& c) { c.t.dk.view.dtype = f16; }},
      {"dv of another size", [](AttentionCall& c) { c.t.dv.shape[3] = 5; }},
      {"no dv", [](AttentionCall& c) { c.outputs[2] = nullptr; }},
  };
  return list;
}

void expect_refusals(bool backward, const std::vector<Spoilt>& own) {
  for (const std::string op : {"softcheck_attention", "softcheck_adaptive_attention"}) {
    const softcheck_kernel kernel = cpu_kernel(backward ? op + "_backward" : op);
    ASSERT_NE(kernel, nullptr);
    const AttentionCall whole(backward);
    EXPECT_EQ(kernel(&whole.call), 0) << op;
    EXPECT_NE(kernel(nullptr), 0) << op;
    for (const std::vector<Spoilt>* list : {&in_both_directions(), &own}) {
      for (const Spoilt& spoilt : *list) {
        AttentionCall call(backward);
        spoilt.spoil(call);
        EXPECT_NE(kernel(&call.call), 0) << op << ": " << spoilt.what;
      }
    }
  }
}

TEST(CpuAttention, WhatIsNotSupportedIsRefused) { expect_refusals(false, forward_only()); }

TEST(AttentionGradient, WhatIsNotSupportedIsRefused) { expect_refusals(true, backward_only()); }

}  // namespace
}  // namespace softcheck::kernel_tests
