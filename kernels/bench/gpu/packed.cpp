// Packed sequences against calls by batch.
#include <memory>
#include <numeric>

#include "kernels/bench/gpu/correctness.hpp"
#include "kernels/bench/gpu/device.hpp"

namespace softcheck::kernels::gpu {
namespace {

using Lengths = std::vector<std::int64_t>;

// Sequences without queries, without keys, with more queries than keys, of several parts, of more than one tile of
// tensor cores.
const Lengths query_lengths = {0, 3, 70, 1, 0, 2, 5}, key_lengths = {7, 130, 40, 600, 0, 0, 4};
constexpr std::int64_t heads = 4, key_heads = 2, dim = 64, value_dim = 40;
constexpr std::int64_t behind = 2;  // places after the last sequence
constexpr double scale = 0.3;

/// Places [begin, begin + count) of a packed tensor, (all, heads, columns) or (heads, all), as one of a call by batch.
struct SequenceView {
  Lengths shape, strides;
  DLTensor tensor;

  SequenceView(HostTensor& all, std::int64_t begin, std::int64_t count) : tensor(all.view()) {
    const std::int64_t* of = tensor.shape;
    if (tensor.ndim == 2) {
      shape = {1, of[0], count};
      strides = {1, of[1], 1};
    } else {
      shape = {1, of[1], count, of[2]};
      strides = {1, of[2], of[1] * of[2], 1};
    }
    tensor.ndim = static_cast<int>(shape.size());
    tensor.shape = shape.data();
    tensor.strides = strides.data();
    tensor.byte_offset = static_cast<std::uint64_t>(begin * strides[2] * (tensor.dtype.bits / 8));
  }
  SequenceView(const SequenceView&) = delete;
  SequenceView& operator=(const SequenceView&) = delete;
};

struct NamedTensor {
  const char* name;
  HostTensor tensor;
  bool of_keys;
};

/// A tensor each, in the call's order.
struct Tensors {
  std::vector<NamedTensor> inputs, outputs;

  Tensors(Format format, Pass pass) {
    const std::int64_t queries = std::accumulate(query_lengths.begin(), query_lengths.end(), behind);
    const std::int64_t keys = std::accumulate(key_lengths.begin(), key_lengths.end(), behind);
    const HostTensor q(format, {queries, heads, dim}), out(format, {queries, heads, value_dim});
    const HostTensor k(format, {keys, key_heads, dim}), v(format, {keys, key_heads, value_dim});
    const HostTensor rows(wide_of(format), {heads, queries});
    inputs = {{"q", q, false}, {"k", k, true}};
    if (pass != Pass::statistics) inputs.push_back({"v", v, true});
    if (pass == Pass::forward) {
      outputs = {{"out", out, false}, {"lse", rows, false}, {"entropy", rows, false}, {"largest score", rows, false}};
    } else if (pass == Pass::backward) {
      inputs.push_back({"d_out", out, false});
      outputs = {{"dq", q, false}, {"dk", k, true}, {"dv", v, true}};
    } else {
      outputs = {{"m", rows, false}, {"S - 1", rows, false}, {"T", rows, false}, {"U", rows, false}};
    }
    unsigned seed = 0;
    for (NamedTensor& input : inputs) fill_normal(input.tensor, 1, ++seed);
  }

  int run_packed(softcheck_kernel kernel, bool causal, HostTensor of_queries, HostTensor of_keys) {
    std::vector<DLTensor> in, out;
    for (NamedTensor& input : inputs) in.push_back(input.tensor.view());
    for (NamedTensor& output : outputs) out.push_back(output.tensor.view());
    in.insert(in.end(), {of_queries.view(), of_keys.view()});
    return call_kernel(kernel, in, out, 1, scale, causal);
  }

  /// With all tensors, the lengths too, on the device.
  int run_packed_there(softcheck_kernel kernel, bool causal, HostTensor of_queries, HostTensor of_keys) {
    std::vector<DeviceMemory> memory;
    const auto there = [&](HostTensor& tensor) {
      memory.emplace_back(tensor.bytes().size()).fill(tensor.bytes());
      DLTensor view = tensor.view();
      view.data = memory.back().data();
      view.device = {kDLCUDA, 0};
      return view;
    };
    std::vector<DLTensor> in, out;
    for (NamedTensor& output : outputs) out.push_back(there(output.tensor));
    for (NamedTensor& input : inputs) in.push_back(there(input.tensor));
    in.push_back(there(of_queries));
    in.push_back(there(of_keys));
    const int status = call_kernel(kernel, in, out, 1, scale, causal);
    for (std::size_t i = 0; i < outputs.size(); ++i) outputs[i].tensor.assign(memory[i].read());
    return status;
  }

  int run_each(softcheck_kernel kernel, bool causal) {
    std::int64_t query = 0, key = 0;
    for (std::size_t i = 0; i < query_lengths.size(); ++i) {
      std::vector<std::unique_ptr<SequenceView>> views;
      const auto cut = [&](std::vector<NamedTensor>& from) {
        std::vector<DLTensor> to;
        for (NamedTensor& one : from) {
          views.push_back(one.of_keys ? std::make_unique<SequenceView>(one.tensor, key, key_lengths[i])
                                      : std::make_unique<SequenceView>(one.tensor, query, query_lengths[i]));
          to.push_back(views.back()->tensor);
        }
        return to;
      };
      const std::vector<DLTensor> in = cut(inputs), out = cut(outputs);
      if (const int status = call_kernel(kernel, in, out, 1, scale, causal); status != 0) return status;
      query += query_lengths[i];
      key += key_lengths[i];
    }
    return 0;
  }
};

/// Packed calls by one way to make them, against calls for each sequence.
template <class RunPacked>
Comparison compared(const Kernels& kernels, Format format, Pass pass, bool causal, const std::string& how,
                    RunPacked run_packed) {
  const std::string problem = std::to_string(query_lengths.size()) + " sequences, " + how + (causal ? ", causal" : "");
  Comparison one{kernels.name, to_string(format), kernels.reference_name, problem, false, {}};
  Tensors packed(format, pass), each(format, pass);
  if (run_packed(packed) != 0) {
    one.detail = "refused";
  } else if (each.run_each(kernels.reference, causal) != 0) {
    one.detail = "refused by the reference";
  }
  for (std::size_t i = 0; i < packed.outputs.size() && one.detail.empty(); ++i) {
    one.detail = difference(packed.outputs[i].name, packed.outputs[i].tensor, each.outputs[i].tensor);
  }
  one.holds = one.detail.empty();
  return one;
}

template <class Index>
void compare_with_lengths(const Kernels& kernels, Format format, Pass pass, bool on_device,
                          std::vector<Comparison>& found) {
  const HostTensor of_queries = HostTensor::offsets_of<Index>(query_lengths);
  const HostTensor of_keys = HostTensor::offsets_of<Index>(key_lengths);
  const std::string width = "int" + std::to_string(8 * sizeof(Index));
  for (const bool causal : {false, true}) {
    found.push_back(compared(kernels, format, pass, causal, width, [&](Tensors& packed) {
      return packed.run_packed(kernels.judged, causal, of_queries, of_keys);
    }));
    if (!on_device) continue;
    found.push_back(compared(kernels, format, pass, causal, width + " on the device", [&](Tensors& packed) {
      return packed.run_packed_there(kernels.judged, causal, of_queries, of_keys);
    }));
  }
}

}  // namespace

void compare_packed(const Kernels& kernels, const std::vector<Format>& formats, Pass pass, bool on_device,
                    std::vector<Comparison>& found) {
  for (const Format format : formats) {
    compare_with_lengths<std::int32_t>(kernels, format, pass, on_device, found);
    compare_with_lengths<std::int64_t>(kernels, format, pass, on_device, found);
  }
}

}  // namespace softcheck::kernels::gpu
