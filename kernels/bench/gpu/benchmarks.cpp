#include "kernels/bench/gpu/benchmarks.hpp"

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>

#include "kernels/bench/gpu/device.hpp"
#include "kernels/bench/gpu/kernels.hpp"
#include "kernels/bench/gpu/tensors.hpp"

namespace softcheck::kernels::gpu {
namespace {

// A long measurement needs fewer rounds.
constexpr double wanted_seconds = 2;
constexpr int most_rounds = 30, least_rounds = 3;

/// A compact tensor on the device, filled with normal numbers that repeat.
class DeviceTensor {
 public:
  DeviceTensor(Format format, std::vector<std::int64_t> shape, unsigned seed)
      : shape_(std::move(shape)), type_(type_of(format)), memory_(bytes_of(format, shape_)) {
    HostTensor pattern(format, {pattern_length});
    fill_normal(pattern, 1, seed);
    memory_.fill(pattern.bytes());
  }
  /// Cumulative lengths.
  explicit DeviceTensor(HostTensor numbers)
      : shape_{static_cast<std::int64_t>(numbers.count())},
        type_(numbers.view().dtype),
        memory_(numbers.bytes().size()) {
    memory_.fill(numbers.bytes());
  }
  static std::size_t bytes_of(Format format, const std::vector<std::int64_t>& shape) {
    std::size_t count = size_of(format);
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return count;
  }
  std::size_t bytes() const { return memory_.bytes(); }
  DLTensor view() {
    return {memory_.data(), {kDLCUDA, 0}, static_cast<int>(shape_.size()), type_, shape_.data(), nullptr, 0};
  }

 private:
  static constexpr std::int64_t pattern_length = (1 << 20) + 7;  // so that no two rows are alike
  std::vector<std::int64_t> shape_;
  DLDataType type_;
  DeviceMemory memory_;
};

/// A kernel and its tensors, which stay where they are.
struct Call {
  softcheck_kernel kernel;
  std::vector<std::shared_ptr<DeviceTensor>> inputs, outputs;
  double scale = 1;
  bool causal = false;

  void operator()() const {
    std::vector<DLTensor> views;
    for (const auto& tensor : inputs) views.push_back(tensor->view());
    for (const auto& tensor : outputs) views.push_back(tensor->view());
    std::vector<const DLTensor*> in;
    std::vector<DLTensor*> out;
    for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back(&views[i]);
    for (std::size_t i = inputs.size(); i < views.size(); ++i) out.push_back(&views[i]);
    const softcheck_call call = call_of(in, out, scale, causal);
    if (kernel(&call) != 0) throw std::runtime_error("a benchmark's call was refused");
  }
};

/// Times works in turns; timings describes them.
void measure(std::vector<Timing>& all, std::vector<Timing> timings, const std::vector<std::function<void()>>& works) {
  double once = 0;
  for (const std::vector<double>& seconds : interleaved_seconds(works, 1)) once += seconds.front();
  const int rounds = std::clamp(static_cast<int>(wanted_seconds / std::max(once, 1e-6)), least_rounds, most_rounds);
  const std::vector<std::vector<double>> seconds = interleaved_seconds(works, rounds);
  for (std::size_t i = 0; i < timings.size(); ++i) {
    timings[i].seconds = seconds[i];
    timings[i].to_first = timings[i].median() / median_of(seconds.front());
    all.push_back(timings[i]);
  }
}

Ceilings measure_ceilings(std::size_t memory) {
  // Larger than any cache, smaller than the memory.
  const std::size_t bytes = std::min<std::size_t>(std::size_t{1} << 30, memory / 8) / 16 * 16;
  const DeviceMemory from(bytes), to(bytes);
  std::vector<Timing> timings = {
      {"ceilings", "copy", "", std::to_string(bytes) + " bytes", {}, 2.0 * static_cast<double>(bytes), 0, 1, 0},
      {"ceilings", "read", "", std::to_string(bytes) + " bytes", {}, static_cast<double>(bytes), 0, 1, 0}};
  std::vector<Timing> measured;
  measure(measured, timings, {[&] { copy_memory(from, to, bytes); }, [&] { read_memory(from, to, bytes); }});
  return {measured[0], measured[1]};
}

double rate(const Timing& timing) { return timing.bytes / timing.median(); }

void measure_rows(Benchmarks& all, std::size_t memory) {
  for (const Format format : {Format::f32, Format::bf16}) {
    for (const std::int64_t n : {1024, 4096, 16384, 131072, 1048576}) {
      const auto most =
          static_cast<std::int64_t>(std::min<std::size_t>(std::size_t{1} << 29, memory / 8) / size_of(format));
      const std::int64_t rows = std::max<std::int64_t>(most / n, 1);
      const auto logits = std::make_shared<DeviceTensor>(format, std::vector{rows, n}, 1);
      const auto probs = std::make_shared<DeviceTensor>(format, std::vector{rows, n}, 2);
      const auto entropies = std::make_shared<DeviceTensor>(format, std::vector{rows}, 3);
      const Call calls[] = {{softcheck_cuda_softmax, {logits}, {probs}},
                            {softcheck_cuda_entropy, {logits}, {entropies}},
                            {softcheck_cuda_adaptive_softmax, {logits}, {probs}}};
      const std::string problem = std::to_string(rows) + " x " + std::to_string(n);
      const auto bytes = static_cast<double>(logits->bytes());
      std::vector<Timing> measured;
      measure(measured,
              {{"rows", "softmax", to_string(format), problem, {}, 2 * bytes, 0, 0, 0},
               {"rows", "entropy", to_string(format), problem, {}, bytes, 0, 0, 0},
               {"rows", "adaptive_softmax", to_string(format), problem, {}, 2 * bytes, 0, 0, 0}},
              {std::begin(calls), std::end(calls)});
      for (Timing& timing : measured) {
        timing.of_ceiling =
            rate(timing) / rate(timing.kernel.ends_with("entropy") ? all.ceilings.read : all.ceilings.copy);
        all.timings.push_back(timing);
      }
    }
  }
}

struct AttentionShape {
  std::int64_t batch, heads, queries, keys, dim;
  bool causal;

  std::string text() const {
    std::ostringstream all;
    all << batch << " x " << heads << " heads x " << queries << " queries x " << keys << " keys x " << dim
        << (causal ? ", causal" : "");
    return all.str();
  }
  // With as many queries as keys, a causal query sees half of the keys on average.
  double flops() const {
    const double pairs = static_cast<double>(batch * heads) * static_cast<double>(queries) * static_cast<double>(keys);
    return 4 * pairs * static_cast<double>(dim) * (causal && queries == keys ? 0.5 : 1);
  }
};

/// The kernels of one algorithm for attention; statistics may be missing.
struct AttentionKernels {
  const char* prefix;
  softcheck_kernel plain, adaptive, statistics;
};
constexpr AttentionKernels by_block = {"", softcheck_cuda_attention, softcheck_cuda_adaptive_attention,
                                       softcheck_cuda_attention_statistics};
constexpr AttentionKernels by_parts = {"split_", softcheck_cuda_split_attention,
                                       softcheck_cuda_split_adaptive_attention, nullptr};
constexpr AttentionKernels by_tensor_cores = {"mma_", softcheck_cuda_mma_attention,
                                              softcheck_cuda_mma_adaptive_attention,
                                              softcheck_cuda_mma_attention_statistics};

void measure_attention(Benchmarks& all, Format format, const AttentionShape& s, const AttentionKernels& kernels) {
  const std::vector<std::int64_t> of_queries = {s.batch, s.heads, s.queries, s.dim},
                                  of_keys = {s.batch, s.heads, s.keys, s.dim};
  const std::vector<std::int64_t> scalars = {s.batch, s.heads, s.queries};
  const auto q = std::make_shared<DeviceTensor>(format, of_queries, 1),
             k = std::make_shared<DeviceTensor>(format, of_keys, 2);
  const auto v = std::make_shared<DeviceTensor>(format, of_keys, 3),
             out = std::make_shared<DeviceTensor>(format, of_queries, 4);
  const auto lse = std::make_shared<DeviceTensor>(Format::f32, scalars, 5),
             entropy = std::make_shared<DeviceTensor>(Format::f32, scalars, 6);
  const double scale = 1 / std::sqrt(static_cast<double>(s.dim));
  const std::string prefix = kernels.prefix;
  std::vector<Timing> timings;
  std::vector<std::function<void()>> calls;
  const auto add = [&](const char* name, const Call& call, double flops) {
    timings.push_back({prefix + "attention", prefix + name, to_string(format), s.text(), {}, 0, flops, 0, 0});
    calls.push_back(call);
  };
  add("attention", {kernels.plain, {q, k, v}, {out}, scale, s.causal}, s.flops());
  add("attention with entropy", {kernels.plain, {q, k, v}, {out, lse, entropy}, scale, s.causal}, s.flops());
  add("adaptive_attention", {kernels.adaptive, {q, k, v}, {out, lse, entropy}, scale, s.causal}, s.flops());
  if (kernels.statistics != nullptr) {
    const auto rows = [&](unsigned seed) { return std::make_shared<DeviceTensor>(Format::f32, scalars, seed); };
    add("attention_statistics", {kernels.statistics, {q, k}, {rows(7), rows(8), rows(9), rows(10)}, scale, s.causal},
        s.flops() / 2);
  }
  measure(all.timings, timings, calls);
}

// Sequences of 256, 512, ..., 4096 tokens: packed, and each filled up to the longest one, as a batch has them.
void measure_packed(Benchmarks& all) {
  const std::int64_t count = 16, step = 256, heads = 16, dim = 128, longest = count * step;
  std::vector<std::int64_t> lengths;
  double pairs = 0;
  for (std::int64_t i = 1; i <= count; ++i) {
    lengths.push_back(i * step);
    pairs += static_cast<double>(i * step) * static_cast<double>(i * step);
  }
  const std::int64_t tokens = step * count * (count + 1) / 2;
  const auto tensors = [&](const std::vector<std::int64_t>& shape) {
    std::vector<std::shared_ptr<DeviceTensor>> made;
    for (unsigned seed = 1; seed <= 4; ++seed) {
      made.push_back(std::make_shared<DeviceTensor>(Format::bf16, shape, seed));
    }
    return made;
  };
  const auto packed = tensors({tokens, heads, dim}), filled = tensors({count, heads, longest, dim});
  const auto ends = std::make_shared<DeviceTensor>(HostTensor::offsets_of<std::int32_t>(lengths));
  const double scale = 1 / std::sqrt(static_cast<double>(dim)), flops = 2.0 * heads * dim * pairs;
  const Call calls[] = {
      {softcheck_cuda_mma_attention, {filled[0], filled[1], filled[2]}, {filled[3]}, scale, true},
      {softcheck_cuda_mma_attention_varlen, {packed[0], packed[1], packed[2], ends, ends}, {packed[3]}, scale, true}};
  const std::string problem = "16 sequences x 256 to 4096 tokens x 16 heads x 128, causal";
  // Of both, the flops that are needed.
  measure(all.timings,
          {{"packed", "mma_attention, filled up", "bf16", problem, {}, 0, flops, 0, 0},
           {"packed", "mma_attention, packed", "bf16", problem, {}, 0, flops, 0, 0}},
          {calls[0], calls[1]});
}

}  // namespace

double median_of(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double Timing::median() const { return median_of(seconds); }

Benchmarks run_benchmarks(std::size_t memory) {
  Benchmarks all;
  all.ceilings = measure_ceilings(memory);
  measure_rows(all, memory);
  for (const std::int64_t dim : {64, 128}) {
    for (const bool causal : {false, true}) {
      measure_attention(all, Format::bf16, {1, 16, 4096, 4096, dim, causal}, by_tensor_cores);
      measure_attention(all, Format::bf16, {1, 16, 16384, 16384, dim, causal}, by_tensor_cores);
    }
  }
  measure_packed(all);
  measure_attention(all, Format::f32, {1, 16, 4096, 4096, 128, true}, by_block);
  // O(n) memory: the scores of these would be 17 G and 1.1 T numbers.
  measure_attention(all, Format::bf16, {1, 1, 131072, 131072, 128, true}, by_tensor_cores);
  measure_attention(all, Format::bf16, {1, 1, 1048576, 1048576, 128, true}, by_tensor_cores);
  // One query: decoding, by a block and by a block for each part of the keys.
  for (const std::int64_t keys : {4096, 131072, 1048576}) {
    const AttentionShape shape{1, 8, 1, keys, 128, false};
    measure_attention(all, Format::bf16, shape, by_block);
    measure_attention(all, Format::bf16, shape, by_parts);
  }
  return all;
}

}  // namespace softcheck::kernels::gpu
