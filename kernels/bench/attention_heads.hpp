#pragma once

#include <cstdint>
#include <vector>

#include "kernels/bench/measure.hpp"

namespace softcheck::kernels::bench {

/// One head of f32, d = 64, and its gradients.
struct Heads {
  explicit Heads(std::int64_t keys, std::int64_t rows)
      : n(keys), queries(rows), q(rows * d), k(keys * d), v(keys * d), out(rows * d), lse(rows), entropy(rows) {
    fill(q, 1);
    fill(k, 2);
    fill(v, 3);
    for (std::vector<float>* values : {&q, &k, &v}) {
      for (float& x : *values) {
        x = x / 8 - 1;
      }
    }
  }
  static constexpr std::int64_t d = 64;
  static constexpr float scale = 0.125f;
  std::int64_t n, queries;
  std::vector<float> q, k, v, out, lse, entropy;
  std::vector<float> incoming, dq, dk, dv;  // only for backward calls
};

/// A view of one batch and one head.
inline DLTensor tensor_of(std::vector<float>& data, std::int64_t (&shape)[4], int rank = 4) {
  return {data.data(), {kDLCPU, 0}, rank, {kDLFloat, 32, 1}, shape, nullptr, 0};
}

inline int call_attention(softcheck_kernel kernel, Heads& h, bool causal) {
  std::int64_t rows[4] = {1, 1, h.queries, Heads::d}, keys[4] = {1, 1, h.n, Heads::d};
  const DLTensor q = tensor_of(h.q, rows), k = tensor_of(h.k, keys), v = tensor_of(h.v, keys);
  DLTensor out = tensor_of(h.out, rows), lse = tensor_of(h.lse, rows, 3), entropy = tensor_of(h.entropy, rows, 3);
  const DLTensor* inputs[] = {&q, &k, &v};
  DLTensor* outputs[] = {&out, &lse, &entropy};
  const softcheck_call c = call_of(inputs, outputs, Heads::scale, causal);
  return kernel(&c);
}

}  // namespace softcheck::kernels::bench
