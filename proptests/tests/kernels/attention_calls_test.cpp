// Which calls of attention, forward and backward, are refused, and the bits of calls whose keys ranks share.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "proptests/tests/kernels/attention_tensors.hpp"
#include "proptests/tests/kernels/packed_problem.hpp"

namespace softcheck::kernel_tests {
namespace {

/// Tensors of a call with a mask that both directions take: 4 heads that share 2 key heads.
struct Tensors {
  F32 q{{2, 4, 3, 5}}, k{{2, 2, 7, 5}}, v{{2, 2, 7, 6}};
  Tensor<std::uint8_t> mask{mask_type, {2, 4, 3, 7}};
  F32 out{{2, 4, 3, 6}};  // backward: its gradient, an input
  F32 lse{{2, 4, 3}}, entropy{lse}, maximum{lse}, sums{lse};
  F32 dq{q}, dk{k}, dv{v};
};

/// A call of a pass, to be spoilt before it is made. Statistics: lse and entropy stand for T and U.
struct AttentionCall {
  explicit AttentionCall(Pass pass)
      : inputs{&t.q.view, &t.k.view, &t.v.view, &t.mask.view, &t.mask.view},
        outputs{&t.out.view, &t.lse.view, &t.entropy.view, &t.maximum.view, &t.maximum.view} {
    call = {SOFTCHECK_KERNEL_ABI_VERSION, 4, 4, inputs, outputs, 1.0, 0.5, 0, nullptr};
    attributes.size = sizeof attributes;
    if (pass == Pass::backward) {
      inputs[3] = &t.out.view;
      outputs[0] = &t.dq.view, outputs[1] = &t.dk.view, outputs[2] = &t.dv.view;
      call.n_inputs = 5, call.n_outputs = 3;
    } else if (pass == Pass::statistics) {
      inputs[2] = &t.mask.view;
      outputs[0] = &t.maximum.view, outputs[1] = &t.sums.view, outputs[2] = &t.lse.view, outputs[3] = &t.entropy.view;
      call.n_inputs = 3;
    }
  }
  AttentionCall(const AttentionCall&) = delete;
  AttentionCall& operator=(const AttentionCall&) = delete;

  Tensors t;
  const DLTensor* inputs[5];
  DLTensor* outputs[5];
  std::array<std::uint32_t, 6> roles{};
  softcheck_attributes attributes{};
  softcheck_call_2 whole{{}, 0, roles.data(), &attributes};  // of no op, where its version is 2
  softcheck_call& call = whole.call;
};

struct Spoilt {
  const char* what;
  std::function<void(AttentionCall&)> spoil;
};

std::int64_t repeated_strides[4] = {60, 15, 0, 1};
const std::vector<Spoilt> in_every_pass = {
    {"version 0", [](AttentionCall& c) { c.call.abi_version = 0; }},
    {"version 2", [](AttentionCall& c) { c.call.abi_version = 2; }},
    {"version 3", [](AttentionCall& c) { c.call.abi_version = 3; }},
    {"an input too few", [](AttentionCall& c) { c.call.n_inputs -= 2; }},
    {"an input too many", [](AttentionCall& c) { c.call.n_inputs += 1; }},
    {"no output", [](AttentionCall& c) { c.call.n_outputs = 0; }},
    {"an output too many", [](AttentionCall& c) { c.call.n_outputs += 1; }},
    {"a temperature", [](AttentionCall& c) { c.call.theta = 2; }},
    {"a scale of NaN", [](AttentionCall& c) { c.call.scale = std::numeric_limits<double>::quiet_NaN(); }},
    {"an infinite scale", [](AttentionCall& c) { c.call.scale = std::numeric_limits<double>::infinity(); }},
    {"a scale beyond f32", [](AttentionCall& c) { c.call.scale = 1e39; }},
    {"no queries' tensor", [](AttentionCall& c) { c.inputs[0] = nullptr; }},
    {"queries of rank 3", [](AttentionCall& c) { c.t.q.view.ndim = 3; }},
    {"integer queries", [](AttentionCall& c) { c.t.q.view.dtype.code = kDLInt; }},
    {"queries of two lanes", [](AttentionCall& c) { c.t.q.view.dtype.lanes = 2; }},
    {"queries without data", [](AttentionCall& c) { c.t.q.view.data = nullptr; }},
    {"queries on a device", [](AttentionCall& c) { c.t.q.view.device.device_type = kDLCUDA; }},
    {"a stride of 0", [](AttentionCall& c) { c.t.q.view.strides = repeated_strides; }},
    {"a negative extent", [](AttentionCall& c) { c.t.q.shape[2] = c.t.out.shape[2] = c.t.mask.shape[2] = -3; }},
    {"keys of f64", [](AttentionCall& c) { c.t.k.view.dtype.bits = 64; }},
    {"keys of another size", [](AttentionCall& c) { c.t.k.shape[3] = c.t.dk.shape[3] = 4; }},
    {"keys of another batch", [](AttentionCall& c) { c.t.k.shape[0] = c.t.dk.shape[0] = 1; }},
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
};

const std::vector<Spoilt> with_values = {
    {"values of f64", [](AttentionCall& c) { c.t.v.view.dtype.bits = 64; }},
    {"values of another batch", [](AttentionCall& c) { c.t.v.shape[0] = c.t.dv.shape[0] = 1; }},
    {"values of other heads", [](AttentionCall& c) { c.t.v.shape[1] = c.t.dv.shape[1] = 1; }},
    {"fewer values than keys", [](AttentionCall& c) { c.t.v.shape[2] = c.t.dv.shape[2] = 6; }},
    {"out of another width", [](AttentionCall& c) { c.t.out.shape[3] = 5; }},
    {"out of other queries", [](AttentionCall& c) { c.t.out.shape[2] = 2; }},
    {"out of f64", [](AttentionCall& c) { c.t.out.view.dtype.bits = 64; }},
};

const std::vector<Spoilt> with_rows = {
    {"lse of other queries", [](AttentionCall& c) { c.t.lse.shape[2] = 2; }},
    {"lse of f64", [](AttentionCall& c) { c.t.lse.view.dtype.bits = 64; }},
    {"lse of rank 4", [](AttentionCall& c) { c.outputs[1] = &c.t.out.view; }},
    {"entropy of other heads", [](AttentionCall& c) { c.t.entropy.shape[1] = 2; }},
    {"a maximum of another batch", [](AttentionCall& c) { c.t.maximum.shape[0] = 1; }},
    {"a maximum of halves", [](AttentionCall& c) { c.t.maximum.view.dtype = f16; }},
};

const std::vector<Spoilt> statistics_only = {
    {"sums of other queries", [](AttentionCall& c) { c.t.sums.shape[2] = 2; }},
    {"sums of f64", [](AttentionCall& c) { c.t.sums.view.dtype.bits = 64; }},
    {"no maximum", [](AttentionCall& c) { c.outputs[0] = nullptr; }},
};

const std::vector<Spoilt> backward_only = {
    {"dq of another size", [](AttentionCall& c) { c.t.dq.shape[3] = 4; }},
    {"dq of f64", [](AttentionCall& c) { c.t.dq.view.dtype.bits = 64; }},
    {"dk of other keys", [](AttentionCall& c) { c.t.dk.shape[2] = 6; }},
    {"dk of halves", [](AttentionCall& c) { c.t.dk.view.dtype = f16; }},
    {"dv of another size", [](AttentionCall& c) { c.t.dv.shape[3] = 5; }},
    {"no dv", [](AttentionCall& c) { c.outputs[2] = nullptr; }},
};

/// Of each kernel for itself: the call as it is, and each way to spoil it.
void expect_refusals(const std::string& op, const std::vector<const std::vector<Spoilt>*>& lists) {
  const softcheck_kernel kernel = cpu_kernel(op);
  ASSERT_NE(kernel, nullptr);
  const AttentionCall whole(pass_of(op));
  EXPECT_EQ(kernel(&whole.call), 0) << op;
  EXPECT_NE(kernel(nullptr), 0) << op;
  for (const std::vector<Spoilt>* list : lists) {
    for (const Spoilt& spoilt : *list) {
      AttentionCall call(pass_of(op));
      spoilt.spoil(call);
      EXPECT_NE(kernel(&call.call), 0) << op << ": " << spoilt.what;
    }
  }
}

TEST(CpuAttention, WhatIsNotSupportedIsRefused) {
  for (const std::string op : {"softcheck_attention", "softcheck_adaptive_attention"}) {
    expect_refusals(op, {&in_every_pass, &with_values, &with_rows});
    expect_refusals(op + "_backward", {&in_every_pass, &with_values, &backward_only});
  }
  expect_refusals("softcheck_attention_statistics", {&in_every_pass, &with_rows, &statistics_only});
}

/// A call of an emulated kernel for f16, one query and two keys: was it taken? of_rows: the types of lse, entropy and
/// the largest score.
bool is_taken(const std::string& op, std::int64_t dim, std::int64_t width,
              const std::array<DLDataType, 3>& of_rows = {dtype_of<float>(), dtype_of<float>(), dtype_of<float>()}) {
  using Half = Tensor<std::uint16_t>;
  Half q(f16, {1, 1, 1, dim}), k(f16, {1, 1, 2, dim}), v(f16, {1, 1, 2, width}), d_out(f16, {1, 1, 1, width});
  Half out(f16, d_out.shape), dq(f16, q.shape), dk(f16, k.shape), dv(f16, v.shape);
  Tensor<float> lse(of_rows[0], {1, 1, 1}), entropy(of_rows[1], {1, 1, 1}), maximum(of_rows[2], {1, 1, 1});
  const softcheck_kernel kernel = load_kernel("softcheck_emulated_kernels", "softcheck_emulated_" + op);
  return pass_of(op) == Pass::backward
             ? takes_call(kernel, {&q.view, &k.view, &v.view, &d_out.view}, {&dq.view, &dk.view, &dv.view}, 1, false)
             : takes_call(kernel, {&q.view, &k.view, &v.view}, {&out.view, &lse.view, &entropy.view, &maximum.view}, 1,
                          false);
}

// What a block can hold, and one format of the numbers of a query.
TEST(EmulatedAttention, WhatABlockCannotHoldIsRefused) {
  for (const std::string op : {"attention", "adaptive_attention", "split_attention", "split_adaptive_attention"}) {
    EXPECT_TRUE(is_taken(op, 1024, 256)) << op;
    EXPECT_FALSE(is_taken(op, 1025, 256)) << op;
    EXPECT_FALSE(is_taken(op, 1024, 257)) << op;
    for (const auto& [some, other] : {std::pair(f16, dtype_of<float>()), std::pair(dtype_of<float>(), f16)}) {
      EXPECT_TRUE(is_taken(op, 2, 2, {some, some, some})) << op;
      for (std::size_t i = 0; i < 3; ++i) {
        std::array<DLDataType, 3> mixed = {some, some, some};
        mixed[i] = other;
        EXPECT_FALSE(is_taken(op, 2, 2, mixed)) << op << ", result " << i + 1 << " of " << int{other.bits} << " bits";
      }
    }
  }
  for (const std::string op : {"attention_backward", "adaptive_attention_backward"}) {
    EXPECT_TRUE(is_taken(op, 256, 256)) << op;
    EXPECT_FALSE(is_taken(op, 257, 256)) << op;
    EXPECT_FALSE(is_taken(op, 256, 257)) << op;
  }
  for (const std::string op : {"mma_attention", "mma_adaptive_attention"}) {
    EXPECT_TRUE(is_taken(op, 128, 128)) << op;
    EXPECT_FALSE(is_taken(op, 129, 128)) << op;
    EXPECT_FALSE(is_taken(op, 128, 129)) << op;
    EXPECT_FALSE(is_taken(op, 2, 2, {f16, f16, f16})) << op;
  }
}

// Attention whose keys are shared by ranks: its bits are the same for any number of ranks and any route, and for many
// keys those of the CPU's kernel. Values are judged with the zoo (judge/zoo_test.cpp).

/// Every way in which ranks share keys, but that of one rank.
const std::string rank_prefixes[] = {"2_", "3_", "4_", "8_", "4_ring_", "8_ring_", "8_reduction_"};

softcheck_kernel rank_kernel(const std::string& prefix, const std::string& op) {
  return load_kernel("softcheck_parallel_kernels", "softcheck_ranks_" + prefix + op);
}

/// Sizes about leaves of 16, 32, 64 and 128 keys and about powers of two of them; no keys, no query, blind queries.
std::vector<AttentionShape> rank_problems() {
  std::vector<AttentionShape> problems;
  for (const std::int64_t keys : {0, 1, 16, 17, 33, 130, 255, 256, 257, 300, 640, 1024, 1025, 1500, 2048, 2900}) {
    problems.push_back({1, 4, 2, 30, keys, 7, 18});
    problems.push_back({2, 2, 1, 61, keys, 16, 5, true});
    problems.push_back({1, 2, 1, 9, keys, 3, 16, false, true});
  }
  problems.push_back({1, 1, 1, 1, 5000, 32, 32});
  problems.push_back({1, 1, 1, 0, 40, 4, 4});
  problems.push_back({1, 1, 1, 700, 690, 8, 8, true});  // the first ten queries see no key
  return problems;
}

std::string name_of(const AttentionShape& of) {
  return std::to_string(of.queries) + " queries, " + std::to_string(of.keys) + " keys" + (of.causal ? ", causal" : "") +
         (of.masked ? ", masked" : "");
}

AttentionTensors<float> call_of(const AttentionShape& shape) {
  AttentionTensors<float> call(shape);
  for (std::size_t i = 0; i < call.mask.elements.size(); ++i) call.mask[i] = i % 7 == 3 || i % 100 < 20 ? 0 : 1;
  return call;
}

/// All results of a kernel, forward or backward; nothing where it is missing or refuses the call.
std::optional<std::vector<float>> numbers_of(AttentionTensors<float>& call, softcheck_kernel kernel, bool backward) {
  if (!(backward ? call.differentiate(kernel) : call.attend(kernel))) return std::nullopt;
  return backward ? call.gradients() : call.results();
}
std::optional<std::vector<float>> numbers_of(AttentionTensors<float>& call, const std::string& prefix,
                                             const std::string& op) {
  return numbers_of(call, rank_kernel(prefix, op), op.ends_with("backward"));
}

void expect_bits_of_one_rank(const std::string& pass) {
  for (const AttentionShape& shape : rank_problems()) {
    AttentionTensors<float> call = call_of(shape);
    for (const std::string& op : {"attention" + pass, "adaptive_attention" + pass}) {
      const auto one = numbers_of(call, "1_", op);
      ASSERT_TRUE(one) << op << " " << name_of(shape);
      for (const std::string& prefix : rank_prefixes) {
        const auto several = numbers_of(call, prefix, op);
        ASSERT_TRUE(several) << prefix << op << " " << name_of(shape);
        EXPECT_TRUE(same_bits(*several, *one)) << prefix << op << " " << name_of(shape);
      }
    }
  }
}

TEST(ParallelAttention, BitsAreThoseOfOneRank) { expect_bits_of_one_rank(""); }
// Labelled full: ParallelAttention.BitsOfGradientsAreThoseOfOneRank
TEST(ParallelAttention, BitsOfGradientsAreThoseOfOneRank) { expect_bits_of_one_rank("_backward"); }

TEST(ParallelAttention, BitsOfManyKeysAreThoseOfTheCpuKernel) {
  int compared = 0;
  for (const AttentionShape& shape : rank_problems()) {
    if (shape.keys <= 1024) continue;
    ++compared;
    AttentionTensors<float> call = call_of(shape);
    for (const std::string op : {"attention", "adaptive_attention"}) {
      const auto alone = numbers_of(call, cpu_kernel("softcheck_" + op), false), shared = numbers_of(call, "8_", op);
      ASSERT_TRUE(alone && shared) << op << " " << name_of(shape);
      EXPECT_TRUE(same_bits(*shared, *alone)) << op << " " << name_of(shape);
    }
  }
  EXPECT_GE(compared, 10);
}

// The reduction combines in the order in which ranks arrive, which chance decides.
TEST(ParallelAttention, BitsDependOnNoOrderOfArrival) {
  AttentionTensors<float> call({1, 2, 1, 20, 900, 8, 8, true});
  for (const std::string op : {"adaptive_attention", "attention_backward"}) {
    const auto first = numbers_of(call, "8_reduction_", op);
    ASSERT_TRUE(first);
    for (int run = 0; run < 30; ++run) {
      const auto again = numbers_of(call, "8_reduction_", op);
      ASSERT_TRUE(again);
      EXPECT_TRUE(same_bits(*again, *first)) << op << ", run " << run;
    }
  }
}

// NaN in a key or a value that one rank has reaches the queries that see it, and no others.
TEST(ParallelAttention, ANanOfOneRankReachesWhatSeesIt) {
  for (const std::string& prefix : rank_prefixes) {
    AttentionTensors<float> call({1, 1, 1, 300, 300, 4, 4, true});
    const auto clean = numbers_of(call, prefix, "attention");
    call.k[200 * 4] = std::numeric_limits<float>::quiet_NaN();
    const auto hit = numbers_of(call, prefix, "attention");
    const auto gradient = numbers_of(call, prefix, "attention_backward");
    ASSERT_TRUE(clean && hit && gradient) << prefix;
    for (std::size_t query = 0; query < 300; ++query) {
      for (std::size_t c = 4 * query; c < 4 * query + 4; ++c) {
        EXPECT_EQ(std::isnan((*hit)[c]), query >= 200) << prefix << " query " << query;
        if (query < 200) {
          EXPECT_EQ((*hit)[c], (*clean)[c]) << prefix << " query " << query;
        }
        EXPECT_EQ(std::isnan((*gradient)[c]), query >= 200) << prefix << " query " << query;
      }
    }
  }
}

TEST(ParallelAttention, CallsOfOtherFormsAreRefused) {
  F32 q({1, 1, 2, 4}), k({1, 1, 40, 4}), v(k), out(q), short_out({1, 1, 2, 3});
  const softcheck_kernel kernel = rank_kernel("4_", "attention");
  EXPECT_TRUE(takes_call(kernel, {&q.view, &k.view, &v.view}, {&out.view}));
  EXPECT_FALSE(takes_call(kernel, {&q.view, &k.view, &v.view}, {&short_out.view}));
  EXPECT_FALSE(takes_call(kernel, {&q.view, &k.view}, {&out.view}));
}

}  // namespace
}  // namespace softcheck::kernel_tests
