// oneDNN's softmax primitive through the C ABI: a kernel of another project. It takes f32 and bf16 (the formats of 2.6
// on CPUs) and rows of any stride over contiguous columns, and refuses masks, theta != 1 and other strides.
//
// The primitive may start an OpenMP pool, which does not survive fork(): load this library in the process that calls
// it, with OMP_NUM_THREADS=1 in the environment before that, as the judge's child does.
#include <cstdint>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <tuple>
#include <utility>

#include "kernels/entry/ops.hpp"

namespace {

using dnnl::algorithm;
using dnnl::memory;

struct Rows {
  void* data = nullptr;
  memory::data_type type = memory::data_type::undef;
  std::int64_t rows = 0;
  std::int64_t n = 0;
  std::int64_t row_stride = 0;
};

std::optional<Rows> rows_of(const DLTensor& t) {
  Rows rows;
  if (t.dtype.lanes != 1 || t.device.device_type != kDLCPU || t.ndim != 2) {
    return std::nullopt;
  }
  if (t.dtype.code == kDLFloat && t.dtype.bits == 32) {
    rows.type = memory::data_type::f32;
  } else if (t.dtype.code == kDLBfloat && t.dtype.bits == 16) {
    rows.type = memory::data_type::bf16;
  } else {
    return std::nullopt;
  }
  rows.rows = t.shape[0];
  rows.n = t.shape[1];
  rows.row_stride = t.strides != nullptr && rows.rows > 1 ? t.strides[0] : rows.n;
  const bool columns_apart = t.strides != nullptr && rows.n > 1 && t.strides[1] != 1;
  // A descriptor whose rows overlap or interleave (a transposed view) is no memory format of oneDNN's softmax.
  if (columns_apart || rows.row_stride < rows.n) {
    return std::nullopt;
  }
  if (t.data != nullptr) {
    rows.data = static_cast<char*>(t.data) + t.byte_offset;
  }
  return rows;
}

using Key = std::tuple<algorithm, memory::data_type, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

// Creating a primitive generates code: once per shape. The oldest ideas of a cache suffice: all go when it is full.
const dnnl::softmax_v2_forward& primitive(const Key& key) {
  static std::map<Key, dnnl::softmax_v2_forward> primitives;
  constexpr std::size_t most = 256;
  const auto found = primitives.find(key);
  if (found != primitives.end()) {
    return found->second;
  }
  if (primitives.size() >= most) {
    primitives.clear();
  }
  const auto [op, type, rows, n, in_stride, out_stride] = key;
  const memory::desc in({rows, n}, type, memory::dims{in_stride, 1});
  const memory::desc out({rows, n}, type, memory::dims{out_stride, 1});
  const dnnl::softmax_v2_forward::desc description(dnnl::prop_kind::forward_inference, op, in, out, /*axis*/ 1);
  const dnnl::softmax_v2_forward::primitive_desc chosen(description, engine());
  return primitives.emplace(key, dnnl::softmax_v2_forward(chosen)).first->second;
}

void execute(algorithm op, const Rows& in, const Rows& out) {
  const dnnl::softmax_v2_forward& softmax = primitive({op, in.type, in.rows, in.n, in.row_stride, out.row_stride});
  static dnnl::stream stream(engine());
  const memory source({{in.rows, in.n}, in.type, memory::dims{in.row_stride, 1}}, engine(), in.data);
  const memory target({{out.rows, out.n}, out.type, memory::dims{out.row_stride, 1}}, engine(), out.data);
  softmax.execute(stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, target}});
  stream.wait();
}

int run(const softcheck_call* call, algorithm op) try {
  if (call->abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call->n_inputs != 1 || call->n_outputs != 1 ||
      call->theta != 1) {
    return 1;
  }
  const std::optional<Rows> in = rows_of(*call->inputs[0]);
  const std::optional<Rows> out = rows_of(*call->outputs[0]);
  if (!in || !out || in->type != out->type || in->rows != out->rows || in->n != out->n) {
    return 1;
  }
  if (in->rows > 0 && in->n > 0) {
    execute(op, *in, *out);
  }
  return 0;
} catch (...) {
  return 1;  // unimplemented here (bf16 without AVX-512), or out of memory: refused either way
}

}  // namespace

SOFTCHECK_EXPORT int softcheck_onednn_softmax(const softcheck_call* call) {
  return run(call, algorithm::softmax_accurate);
}

SOFTCHECK_EXPORT int softcheck_onednn_log_softmax(const softcheck_call* call) {
  return run(call, algorithm::softmax_log);
}
