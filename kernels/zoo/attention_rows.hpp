#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/zoo/elements.hpp"
#include "kernels/zoo/rows.hpp"

// Glue of the zoo's attention kernels: every dtype, strides, offsets, masks and grouped heads, one query at a time, so
// that each file holds its one idea (or its one bug) and nothing else.
namespace softcheck::kernels::zoo::attention {

using zoo::rounded_to_bf16;
using zoo::rounded_to_byte;
using zoo::rounded_to_f16;

inline std::int64_t whole_offset(std::int64_t offset) { return offset; }

/// Up to four dimensions, in elements; missing ones at the end have extent 1.
struct View {
  char* first = nullptr;
  DLDataType type{};
  std::array<std::int64_t, 4> shape{1, 1, 1, 1};
  std::array<std::int64_t, 4> strides{0, 0, 0, 0};
  std::int64_t (*offset)(std::int64_t) = whole_offset;  // how an element's offset is stored

  explicit View(const DLTensor& t) : first(static_cast<char*>(t.data) + t.byte_offset), type(t.dtype) {
    std::int64_t compact = 1;
    for (std::size_t d = static_cast<std::size_t>(t.ndim); d-- > 0;) {
      shape[d] = t.shape[d];
      strides[d] = t.strides != nullptr ? t.strides[d] : compact;
      compact *= t.shape[d];
    }
  }
  View() = default;

  char* at(std::int64_t i, std::int64_t j, std::int64_t k, std::int64_t l = 0) const {
    const std::int64_t elements = offset(i * strides[0] + j * strides[1] + k * strides[2] + l * strides[3]);
    return first + elements * (type.bits / 8);
  }
};

/// Appends count elements of a view, the t-th at the address at(t): those of its last dimension.
template <class Real, class At>
void append(std::vector<Real>& to, const View& from, std::int64_t count, At at) {
  const std::size_t first = to.size(), size = static_cast<std::size_t>(count);
  to.resize(first + size);
  if (size < 2 || from.offset != whole_offset) {  // a mutant's addresses need not be a line
    for (std::size_t t = 0; t < size; ++t) to[first + t] = load<Real>(from.type, at(static_cast<std::int64_t>(t)));
    return;
  }
  const char* element = at(0);
  const std::int64_t step = at(1) - element;
  const bool own = from.type.bits == 8 * sizeof(Real);
  if (own && step == sizeof(Real)) {
    std::memcpy(&to[first], element, size * sizeof(Real));
  } else {
    for (std::size_t t = 0; t < size; ++t, element += step) to[first + t] = load<Real>(from.type, element);
  }
}

/// One query of one head of one batch, with the keys of its head.
template <class Real>
struct Row {
  std::vector<Real> query;            // (d)
  std::vector<Real> keys;             // (n, d)
  std::vector<Real> values;           // (n, dv)
  std::vector<std::uint8_t> visible;  // (n): boolean and causal mask
  Real scale = 1;
  DLDataType type{};
  // The results; at first the previous contents of their memory.
  std::vector<Real> out;  // (dv)
  Real lse{};
  Real entropy{};

  std::size_t items() const { return visible.size(); }
};

/// A call, unpacked. A mutant of layouts or parameters changes a field.
struct Attention {
  View q, k, v, mask, out, lse, entropy;
  bool masked = false;
  std::uint32_t outputs = 1;
  double scale = 1;
  bool causal = false;
  std::int64_t keys = 0;                // number of keys read; those beyond the tensor's are masked
  std::int64_t diagonal = 0;            // causal: query i sees the keys up to i + diagonal
  std::vector<std::int64_t> key_head;   // of each query head
  std::vector<std::int64_t> mask_head;  // of each query head
};

inline bool accepts(const softcheck_call& call) {
  if (call.abi_version != SOFTCHECK_KERNEL_ABI_VERSION || call.n_inputs < 3 || call.n_inputs > 4 ||
      call.n_outputs < 1 || call.n_outputs > 3) {
    return false;
  }
  const DLTensor &q = *call.inputs[0], &k = *call.inputs[1];
  const auto is_like = [](const DLTensor& t, const DLTensor& other) {
    return is_float(t) && t.ndim == 4 && t.dtype.code == other.dtype.code && t.dtype.bits == other.dtype.bits;
  };
  // Keys and values may be a narrower cache.
  const bool cached = k.dtype.bits < q.dtype.bits;
  if (!is_like(q, q) || !is_like(k, cached ? k : q)) return false;
  if (!is_like(*call.inputs[2], k) || !is_like(*call.outputs[0], q)) return false;
  for (std::uint32_t i = 1; i < call.n_outputs; ++i) {
    const DLTensor& t = *call.outputs[i];
    if (!is_float(t) || t.ndim != 3 || t.dtype.bits != (is_f64(q.dtype) ? 64 : 32)) return false;
  }
  const std::int64_t heads = q.shape[1], key_heads = call.inputs[1]->shape[1];
  return heads == 0 || (key_heads > 0 && heads % key_heads == 0);
}

inline Attention unpack(const softcheck_call& call) {
  Attention a;
  a.q = View(*call.inputs[0]);
  a.k = View(*call.inputs[1]);
  a.v = View(*call.inputs[2]);
  a.masked = call.n_inputs == 4;
  if (a.masked) a.mask = View(*call.inputs[3]);
  a.outputs = call.n_outputs;
  a.out = View(*call.outputs[0]);
  if (a.outputs > 1) a.lse = View(*call.outputs[1]);
  if (a.outputs > 2) a.entropy = View(*call.outputs[2]);
  a.scale = call.scale;
  a.causal = call.causal != 0;
  a.keys = a.k.shape[2];
  a.diagonal = a.keys - a.q.shape[2];
  const std::int64_t heads = a.q.shape[1];
  for (std::int64_t h = 0; h < heads; ++h) {
    a.key_head.push_back(h / (heads / a.k.shape[1]));
    a.mask_head.push_back(a.mask.shape[1] == 1 ? 0 : h);
  }
  return a;
}

/// The keys and values of the head that was read last: the queries of a head have the same ones.
template <class Real>
struct LastHead {
  std::int64_t batch = -1, head = -1;
  std::vector<Real> keys, values;

  void read(const Attention& a, std::int64_t b, std::int64_t h) {
    if (b == batch && h == head) return;
    batch = b;
    head = h;
    const std::int64_t read = std::max<std::int64_t>(0, a.keys);
    keys.clear();
    values.clear();
    keys.reserve(static_cast<std::size_t>(read * a.k.shape[3]));
    values.reserve(static_cast<std::size_t>(read * a.v.shape[3]));
    for (std::int64_t j = 0; j < read; ++j) {
      append(keys, a.k, a.k.shape[3], [&](std::int64_t t) { return a.k.at(b, h, j, t); });
      append(values, a.v, a.v.shape[3], [&](std::int64_t c) { return a.v.at(b, h, j, c); });
    }
  }
};

template <class Real>
Row<Real> gather(const Attention& a, std::int64_t b, std::int64_t h, std::int64_t i, LastHead<Real>& last) {
  Row<Real> row;
  row.type = a.q.type;
  row.scale = static_cast<Real>(a.scale);
  const std::int64_t head = a.key_head[static_cast<std::size_t>(h)];
  last.read(a, b, head);
  row.keys = last.keys;
  row.values = last.values;
  append(row.query, a.q, a.q.shape[3], [&](std::int64_t t) { return a.q.at(b, h, i, t); });
  row.visible.reserve(static_cast<std::size_t>(a.keys));
  for (std::int64_t j = 0; j < a.keys; ++j) {
    bool visible = j < a.k.shape[2] && (!a.causal || j <= i + a.diagonal);
    if (visible && a.masked) visible = *a.mask.at(b, a.mask_head[static_cast<std::size_t>(h)], i, j) != 0;
    row.visible.push_back(visible);
  }
  append(row.out, a.out, a.out.shape[3], [&](std::int64_t c) { return a.out.at(b, h, i, c); });
  if (a.outputs > 1) row.lse = load<Real>(a.lse.type, a.lse.at(b, h, i));
  if (a.outputs > 2) row.entropy = load<Real>(a.entropy.type, a.entropy.at(b, h, i));
  return row;
}

template <class Real>
void scatter(const Attention& a, std::int64_t b, std::int64_t h, std::int64_t i, const Row<Real>& row) {
  for (std::size_t c = 0; c < row.out.size(); ++c) {
    store(a.out.type, row.out[c], a.out.at(b, h, i, static_cast<std::int64_t>(c)));
  }
  if (a.outputs > 1) store(a.lse.type, row.lse, a.lse.at(b, h, i));
  if (a.outputs > 2) store(a.entropy.type, row.entropy, a.entropy.at(b, h, i));
}

/// Calls at(batch, head, query) for every query.
template <class At>
void each_place(const View& q, At at) {
  for (std::int64_t b = 0; b < q.shape[0]; ++b) {
    for (std::int64_t h = 0; h < q.shape[1]; ++h) {
      for (std::int64_t i = 0; i < q.shape[2]; ++i) at(b, h, i);
    }
  }
}

/// Calls compute(Row<Real>&) for every query of every head: it fills out, lse and entropy. Before that,
/// change(Attention&) may change the call.
template <class Compute, class Change>
int attend(const softcheck_call* call, Compute compute, Change change) {
  if (!accepts(*call)) return 1;
  Attention a = unpack(*call);
  change(a);
  return in_format_of(a.q.type, [&]<class Real>(Real) {
    LastHead<Real> last;
    each_place(a.q, [&](std::int64_t b, std::int64_t h, std::int64_t i) {
      Row<Real> row = gather(a, b, h, i, last);
      compute(row);
      scatter(a, b, h, i, row);
    });
  });
}

template <class Compute>
int attend(const softcheck_call* call, Compute compute) {
  return attend(call, compute, [](Attention&) {});
}

}  // namespace softcheck::kernels::zoo::attention

#define SOFTCHECK_BODY_attend(name) SOFTCHECK_BODY(void, name, Row<Real>& row)
