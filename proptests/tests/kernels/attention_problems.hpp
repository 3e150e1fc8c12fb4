#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "kernels/abi/softcheck_kernel.h"
#include "numerics/formats/format.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

// Calls of attention with fixed shapes, values and layouts, each there for a bug that only it shows.
namespace softcheck::kernel_tests {

using Shape = std::vector<std::int64_t>;

/// How tensors lie in memory; far and farther move the heads of K and of V apart.
enum class Layout { compact, heads_alternate, gaps, keys_far, values_farther };

struct AttentionProblem {
  std::string name;
  std::int64_t batch = 1, heads = 1, key_heads = 1, queries = 1, keys = 1, dim = 1, value_dim = 1;
  double scale = 1;
  bool causal = false;
  std::int64_t mask_heads = 0;  // 0: no mask
  Layout layout = Layout::compact;
  std::vector<double> q = {}, k = {}, v = {};  // row-major, values of the format
  std::vector<std::uint8_t> mask = {};         // row-major

  Shape q_shape() const { return {batch, heads, queries, dim}; }
  Shape k_shape() const { return {batch, key_heads, keys, dim}; }
  Shape v_shape() const { return {batch, key_heads, keys, value_dim}; }
  Shape out_shape() const { return {batch, heads, queries, value_dim}; }
  Shape row_shape() const { return {batch, heads, queries}; }
  Shape mask_shape() const { return {batch, mask_heads, queries, keys}; }
  std::int64_t key_head(std::int64_t h) const { return h / (heads / key_heads); }

  /// Which keys a query sees.
  std::vector<std::uint8_t> visible(std::int64_t b, std::int64_t h, std::int64_t i) const {
    std::vector<std::uint8_t> result;
    for (std::int64_t j = 0; j < keys; ++j) {
      bool sees = !causal || j <= i + keys - queries;
      const std::int64_t of = b * mask_heads + (mask_heads == 1 ? 0 : h);
      if (mask_heads > 0) sees = sees && mask[static_cast<std::size_t>((of * queries + i) * keys + j)] != 0;
      result.push_back(sees);
    }
    return result;
  }
};

/// Memory full of NaN patterns (0xff), with as much behind what is asked for; sparse where it is large.
class Memory {
 public:
  explicit Memory(std::size_t bytes) : size_(2 * bytes + 4096) {
    data_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (data_ == MAP_FAILED) throw std::runtime_error("mmap of " + std::to_string(size_) + " bytes");
    if (size_ < (std::size_t{1} << 26)) std::memset(data_, 0xff, size_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() { munmap(data_, size_); }
  char* data() const { return static_cast<char*>(data_); }

 private:
  std::size_t size_;
  void* data_;
};

/// Strides, in elements, and the first element's place.
struct Placing {
  Shape strides;
  std::int64_t offset = 0;
};

inline Placing compact_placing(const Shape& shape) {
  Placing placing{Shape(shape.size(), 1), 0};
  for (std::size_t d = shape.size() - 1; d-- > 0;) {
    placing.strides[d] = placing.strides[d + 1] * std::max<std::int64_t>(shape[d + 1], 1);
  }
  return placing;
}

inline Placing placing_of(Layout layout, const Shape& shape, bool is_key, bool is_value) {
  Placing placing = compact_placing(shape);
  Shape& strides = placing.strides;
  if (layout == Layout::heads_alternate && shape.size() == 4) {
    strides[1] = std::max<std::int64_t>(shape[3], 1);
    strides[2] = strides[1] * shape[1];
  } else if (layout == Layout::gaps) {
    std::int64_t step = 2;
    for (std::size_t d = shape.size(); d-- > 0;) {
      strides[d] = step;
      step = step * std::max<std::int64_t>(shape[d], 1) + 3;
    }
    placing.offset = 5;
  } else if (layout == Layout::keys_far && is_key) {
    strides[1] = (std::int64_t{1} << 16) + 64;
  } else if (layout == Layout::values_farther && is_value) {
    strides[1] = (std::int64_t{1} << 32) + 64;
  }
  return placing;
}

/// A tensor over memory of its own. format: nothing for a mask.
class PlacedTensor {
 public:
  PlacedTensor(Shape shape, Placing placing, DLDataType type, const numerics::Format* format)
      : shape_(std::move(shape)), placing_(std::move(placing)), format_(format), memory_(bytes_of(type)) {
    view_ = {memory_.data(),
             {kDLCPU, 0},
             static_cast<int>(shape_.size()),
             type,
             shape_.data(),
             placing_.strides.data(),
             static_cast<std::uint64_t>(placing_.offset) * type.bits / 8};
  }
  PlacedTensor(const PlacedTensor&) = delete;
  PlacedTensor& operator=(const PlacedTensor&) = delete;

  DLTensor& view() { return view_; }

  template <class Value>
  void write(const std::vector<Value>& values) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::uint64_t bits =
          format_ == nullptr ? static_cast<std::uint64_t>(values[i]) : numerics::encode(*format_, double(values[i]));
      std::memcpy(element(i), &bits, view_.dtype.bits / 8);
    }
  }
  std::vector<double> read() const {
    std::vector<double> values;
    for (std::size_t i = 0; i < count(); ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, element(i), view_.dtype.bits / 8);
      values.push_back(numerics::decode(*format_, bits));
    }
    return values;
  }

 private:
  std::size_t count() const {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape_) n *= extent;
    return static_cast<std::size_t>(n);
  }
  std::size_t bytes_of(DLDataType type) const {
    std::int64_t last = placing_.offset + 1;
    for (std::size_t d = 0; d < shape_.size(); ++d) {
      last += std::max<std::int64_t>(shape_[d] - 1, 0) * placing_.strides[d];
    }
    return static_cast<std::size_t>(last) * type.bits / 8;
  }
  char* element(std::size_t index) const {
    std::int64_t place = placing_.offset;
    for (std::size_t d = shape_.size(); d-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape_[d]);
      place += static_cast<std::int64_t>(index % extent) * placing_.strides[d];
      index /= extent;
    }
    return memory_.data() + place * (view_.dtype.bits / 8);
  }

  Shape shape_;
  Placing placing_;
  const numerics::Format* format_;
  Memory memory_;
  DLTensor view_{};
};

/// A problem's tensors as it has them lie.
struct PlacedInputs {
  PlacedInputs(const AttentionProblem& p, const numerics::Format& format)
      : q(p.q_shape(), placing_of(p.layout, p.q_shape(), false, false), dlpack_type(format), &format),
        k(p.k_shape(), placing_of(p.layout, p.k_shape(), true, false), dlpack_type(format), &format),
        v(p.v_shape(), placing_of(p.layout, p.v_shape(), false, true), dlpack_type(format), &format),
        mask(p.mask_shape(), placing_of(p.layout, p.mask_shape(), false, false), {kDLUInt, 8, 1}, nullptr) {
    q.write(p.q);
    k.write(p.k);
    v.write(p.v);
    mask.write(p.mask);
  }

  PlacedTensor q, k, v, mask;
};

/// Values in [-spread, spread] of a format.
class Draw {
 public:
  Draw(numerics::Format format, std::uint64_t seed) : format_(format), engine_(seed) {}
  double value(double spread) {
    const double unit = static_cast<double>(engine_() >> 11) * 0x1p-52 - 1;
    return numerics::round_to(format_, spread * unit);
  }
  std::vector<double> values(const Shape& shape, double spread) {
    std::int64_t n = 1;
    for (const std::int64_t extent : shape) n *= extent;
    std::vector<double> result;
    for (std::int64_t i = 0; i < n; ++i) result.push_back(value(spread));
    return result;
  }
  bool coin() { return engine_() >> 63 != 0; }

 private:
  numerics::Format format_;
  std::mt19937_64 engine_;
};

inline AttentionProblem filled(AttentionProblem p, Draw& draw, double spread = 2) {
  p.q = draw.values(p.q_shape(), spread);
  p.k = draw.values(p.k_shape(), spread);
  p.v = draw.values(p.v_shape(), 1);
  for (std::int64_t i = 0; i < p.batch * p.mask_heads * p.queries * p.keys; ++i) p.mask.push_back(draw.coin());
  return p;
}

/// One query whose scores are these (rounded to the format), values drawn.
inline AttentionProblem of_scores(std::string name, numerics::Format format, Draw& draw,
                                  const std::vector<double>& scores) {
  AttentionProblem p;
  p.name = std::move(name);
  p.keys = static_cast<std::int64_t>(scores.size());
  p.value_dim = 3;
  p.q = {1};
  for (const double x : scores) p.k.push_back(numerics::round_to(format, x));
  p.v = draw.values(p.v_shape(), 1);
  return p;
}

/// count scores first, first + step, ...; late, if given, stands third from the end.
inline std::vector<double> ramp(std::size_t count, double first, double step, double late = NAN) {
  std::vector<double> x;
  for (std::size_t j = 0; j < count; ++j) x.push_back(first + static_cast<double>(j) * step);
  if (!std::isnan(late)) x[count - 3] = late;
  return x;
}

inline std::vector<AttentionProblem> shaped_problems(numerics::Format format) {
  Draw draw(format, 20241001);
  std::vector<AttentionProblem> list;
  const auto add = [&](AttentionProblem p, double spread = 2) { list.push_back(filled(std::move(p), draw, spread)); };
  add({"grouped heads", 2, 4, 2, 3, 37, 6, 5, 0.7});
  add({"causal, fewer queries", 1, 2, 2, 4, 9, 5, 7, 0.3, true});
  add({"causal, more queries than keys", 2, 1, 1, 9, 3, 2, 2, 0.5, true});
  add({"mask of each head", 2, 2, 2, 3, 21, 3, 9, 0.4, false, 2, Layout::heads_alternate});
  add({"mask of all heads", 2, 2, 1, 5, 5, 4, 3, 0.6, false, 1, Layout::gaps});
  add({"both masks", 1, 2, 2, 6, 11, 2, 4, 0.9, true, 2, Layout::gaps});
  AttentionProblem hidden = list.back();
  hidden.name = "NaN behind a mask";
  const std::size_t rows = static_cast<std::size_t>(hidden.heads * hidden.queries), n = 11;
  for (std::size_t r = 0; r < rows; ++r) hidden.mask[r * n + 2] = 0;
  for (std::size_t t = 0; t < 2; ++t) hidden.k[2 * 2 + t] = NAN;
  for (std::size_t c = 0; c < 4; ++c) hidden.v[(n + 2) * 4 + c] = NAN;
  list.push_back(hidden);
  add({"no keys", 1, 2, 1, 2, 0, 3, 2, 0.5});
  add({"one key", 1, 1, 1, 2, 1, 3, 2, 0.5});
  add({"three keys", 1, 1, 1, 2, 3, 4, 4, 1});
  add({"no query", 1, 2, 2, 0, 4, 3, 2, 0.5});
  add({"keys far apart", 1, 2, 2, 2, 8, 4, 4, 0.5, false, 0, Layout::keys_far});
  if (numerics::properties(format).storage_bits == 16) {
    add({"values farther apart", 1, 2, 2, 2, 8, 4, 4, 0.5, false, 0, Layout::values_farther});
  }
  AttentionProblem seen = list.front();
  seen.name = "a NaN that is seen";
  seen.k[3 * 6] = NAN;
  list.push_back(seen);
  return list;
}

/// Rows of scores, one query each.
inline std::vector<AttentionProblem> scored_problems(numerics::Format format) {
  Draw draw(format, 20250707);
  std::vector<AttentionProblem> list;
  const auto add = [&](std::string name, const std::vector<double>& scores) {
    list.push_back(of_scores(std::move(name), format, draw, scores));
  };
  add("late peak", ramp(41, 0, 0.03, 120));
  add("far below zero", ramp(9, -150, 0.25));
  add("beyond the largest exponential", ramp(6, 800, 0.5));
  add("equal scores", ramp(600, 0.5, 0));
  add("hardly any spread", ramp(1000, 0, 0.0001));
  add("sharp", {3000.7, 2990.2, 2970});
  add("little entropy", {0, -2.5});
  add("middling entropy", ramp(9, 0, -1));
  add("all below -50000", ramp(7, -60000, 512));
  AttentionProblem below = list.back();
  below.name = "all below -50000, one masked";
  below.mask_heads = 1;
  below.mask.assign(7, 1);
  below.mask[1] = 0;
  list.push_back(below);
  return list;
}

inline std::vector<AttentionProblem> attention_problems(numerics::Format format) {
  std::vector<AttentionProblem> list = shaped_problems(format);
  for (AttentionProblem& p : scored_problems(format)) list.push_back(std::move(p));
  return list;
}

}  // namespace softcheck::kernel_tests
