#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/call/attention_views.hpp"
#include "kernels/parallel/key_parts.hpp"
#include "kernels/parallel/machine.hpp"

namespace softcheck::kernels::parallel {

/// A call of attention whose numbers are a function of its shape, so that each rank generates only its own keys.
struct CallShape {
  std::int64_t heads = 8, key_heads = 2, queries = 12, keys = 65536, dim = 64;
  bool causal = false;
};

/// Numbers in [-1, 1), of a seed and an index.
inline float made_number(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t x = (seed << 56) + index;  // splitmix64's finalizer
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  x ^= x >> 31;
  return static_cast<float>(static_cast<std::int64_t>(x >> 40) - (std::int64_t{1} << 23)) * 0x1p-23F;
}

/// A compact tensor (1, heads, rows, columns) of f32 and its memory: rows [first, first + rows) of one that has all.
class MadeTensor {
 public:
  /// seed 0: zeros.
  MadeTensor(std::uint64_t seed, std::int64_t heads, std::int64_t all_rows, const KeyRange& rows, std::int64_t columns)
      : shape_{1, heads, rows.end - rows.begin, columns} {
    numbers_.resize(static_cast<std::size_t>(heads * shape_[2] * columns));
    std::size_t next = 0;
    for (std::int64_t head = 0; seed != 0 && head < heads; ++head) {
      for (std::int64_t row = rows.begin; row < rows.end; ++row) {
        for (std::int64_t c = 0; c < columns; ++c) {
          numbers_[next++] = made_number(seed, static_cast<std::uint64_t>((head * all_rows + row) * columns + c));
        }
      }
    }
  }

  View4 view() {
    const std::int64_t bytes = sizeof(float);
    return {reinterpret_cast<std::byte*>(numbers_.data()),
            Storage::f32,
            shape_,
            {shape_[1] * shape_[2] * shape_[3] * bytes, shape_[2] * shape_[3] * bytes, shape_[3] * bytes, bytes}};
  }
  const std::vector<float>& numbers() const { return numbers_; }
  /// Copies rows, from a first one on, of another tensor with the same heads and columns.
  void take(const std::vector<float>& from, std::int64_t first) {
    const auto heads = static_cast<std::size_t>(shape_[1]), all = static_cast<std::size_t>(shape_[2] * shape_[3]);
    const std::size_t size = from.size() / heads, offset = static_cast<std::size_t>(first * shape_[3]);
    for (std::size_t head = 0; head < heads; ++head) {
      std::copy_n(from.data() + head * size, size, numbers_.data() + head * all + offset);
    }
  }

 private:
  std::array<std::int64_t, 4> shape_;
  std::vector<float> numbers_;
};

/// The tensors of a call, or of some of its keys, with room for all results.
struct MadeCall {
  MadeCall(const CallShape& of, const KeyRange& keys)
      : shape(of),
        range(keys),
        q(1, of.heads, of.queries, {0, of.queries}, of.dim),
        incoming(4, of.heads, of.queries, {0, of.queries}, of.dim),
        k(2, of.key_heads, of.keys, keys, of.dim),
        v(3, of.key_heads, of.keys, keys, of.dim),
        out(0, of.heads, of.queries, {0, of.queries}, of.dim),
        lse(0, of.heads, of.queries, {0, of.queries}, 1),
        entropy(0, of.heads, of.queries, {0, of.queries}, 1),
        dq(0, of.heads, of.queries, {0, of.queries}, of.dim),
        dk(0, of.key_heads, of.keys, keys, of.dim),
        dv(0, of.key_heads, of.keys, keys, of.dim) {}

  AttentionViews views() {
    AttentionViews made;
    made.q = q.view();
    made.k = k.view();
    made.v = v.view();
    made.out = out.view();
    made.lse = lse.view();
    made.entropy = entropy.view();
    made.scale = 0.125;
    made.causal = shape.causal;
    return made;
  }
  AttentionGradientViews gradient_views() {
    AttentionGradientViews made{views(), dq.view(), dk.view(), dv.view()};
    made.forward.out = incoming.view();
    return made;
  }

  CallShape shape;
  KeyRange range;
  MadeTensor q, incoming, k, v, out, lse, entropy, dq, dk, dv;
};

/// The views of a whole call.
inline void set_views(MadeCall& call, AttentionViews& to) { to = call.views(); }
inline void set_views(MadeCall& call, AttentionGradientViews& to) { to = call.gradient_views(); }

/// Those of some keys of one, as parts_of_rank makes them.
inline void set_part(MadeCall& call, AttentionViews& to) {
  to = call.views();
  see_as_part(to, call.shape.keys - call.range.end);
}
inline void set_part(MadeCall& call, AttentionGradientViews& to) {
  to = call.gradient_views();
  see_as_part(to.forward, call.shape.keys - call.range.end);
}

}  // namespace softcheck::kernels::parallel
