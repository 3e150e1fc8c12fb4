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
      for (float& x : *values) x = x / 8 - 1;
    }
  }
  static constexpr std::int64_t d = 64;
  static constexpr float scale = 0.125f;
  std::int64_t n, queries;
  std::vector<float> q, k, v, out, lse, entropy;
  std::vector<float> incoming, dq, dk, dv;  // only for backward calls
};

/// Rows of one batch and one head: of d numbers, or of one each.
struct HeadRows : CallTensor {
  explicit HeadRows(std::vector<float>& data) : CallTensor(data.data(), {1, 1, rows_of(data), Heads::d}) {}
  HeadRows(std::vector<float>& data, std::int64_t rows) : CallTensor(data.data(), {1, 1, rows}) {}

 private:
  static std::int64_t rows_of(const std::vector<float>& data) {
    return static_cast<std::int64_t>(data.size()) / Heads::d;
  }
};

inline int call_attention(softcheck_kernel kernel, Heads& h, bool causal) {
  HeadRows q(h.q), k(h.k), v(h.v), out(h.out), lse(h.lse, h.queries), entropy(h.entropy, h.queries);
  const DLTensor* inputs[] = {q.get(), k.get(), v.get()};
  DLTensor* outputs[] = {out.get(), lse.get(), entropy.get()};
  const softcheck_call c = call_of(inputs, outputs, Heads::scale, causal);
  return kernel(&c);
}

}  // namespace softcheck::kernels::bench
