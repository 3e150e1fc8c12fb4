#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/bench/gpu/tensors.hpp"

namespace softcheck::kernels::gpu {

/// What a comparison found. A NaN's payload, which differs between machines, is not compared.
struct Comparison {
  std::string kernel, format, against, problem;
  bool holds = false;
  std::string detail;  // where it does not hold; for tensor cores also how much of the bound was used
};

/// Two implementations to compare: by bits, or of tensor cores against a reference within a derived bound.
struct Kernels {
  const char* name;
  softcheck_kernel judged;
  softcheck_kernel reference;
  const char* reference_name;
};

/// The softmax family, by bits.
void compare_rows(const Kernels& kernels, std::vector<Comparison>& found);
/// The gradient of adaptive softmax, by bits.
void compare_rows_backward(const Kernels& kernels, std::vector<Comparison>& found);
/// Attention, by bits: the problems of no more scores than that a head. The emulator takes seconds for large ones.
void compare_attention(const Kernels& kernels, std::vector<Comparison>& found, std::int64_t most_scores = INT64_MAX);
/// The statistics of attention's scores, the same.
void compare_statistics(const Kernels& kernels, std::vector<Comparison>& found, std::int64_t most_scores = INT64_MAX);
/// Attention backward, the same.
void compare_backward(const Kernels& kernels, std::vector<Comparison>& found, std::int64_t most_scores = INT64_MAX);
/// What an attention kernel makes of q, k and v.
enum class Pass { forward, backward, statistics };
/// Packed sequences by the kernel judged against a call of the reference for each, by bits; on_device: also with all
/// tensors there.
void compare_packed(const Kernels& kernels, const std::vector<Format>& formats, Pass pass, bool on_device,
                    std::vector<Comparison>& found);
/// Attention by tensor cores against f64 attention: f16 and bf16.
void compare_narrow_weights(const Kernels& kernels, bool adaptive, std::vector<Comparison>& found);
/// The statistics of scores by tensor cores against those in double: f16 and bf16.
void compare_narrow_statistics(const Kernels& kernels, std::vector<Comparison>& found);

/// The first place where two tensors differ, as text; empty if they are equal. A NaN equals any NaN.
std::string difference(const char* name, const HostTensor& judged, const HostTensor& reference);

/// All kernels of the device.
std::vector<Comparison> compare_on_the_device();
/// The references against each other and emulated tensor cores, so that the comparisons are seen to work without a
/// device; planted: of kernels that are not the same, so that they are seen to find it.
std::vector<Comparison> compare_on_the_emulator(bool planted);

}  // namespace softcheck::kernels::gpu
