#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/block/tree_losses.hpp"
#include "kernels/block/tree_order.hpp"

// How the tree kernels move a row between memory and registers: 16 bytes at a time where its place allows.
namespace softcheck::kernels {

/// 16 bytes of a row in four registers: vector_items<Element> elements.
struct Packet {
  std::uint32_t word[4];
};

/// x, with its origin hidden from nvcc, which otherwise keeps numbers computed from x in registers and spills others,
/// or computes x in a branch, where the counts of instructions miss it.
SOFTCHECK_BODY std::int64_t opaque(std::int64_t x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+l"(x));
#endif
  return x;
}
SOFTCHECK_BODY double opaque(double x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+d"(x));
#endif
  return x;
}
SOFTCHECK_BODY std::uint32_t opaque(std::uint32_t x) {
#ifdef __CUDA_ARCH__
  asm volatile("" : "+r"(x));
#endif
  return x;
}

/// The larger of two numbers; NaN if one of them is NaN.
SOFTCHECK_BODY float larger(float x, float y) {
#ifdef __CUDA_ARCH__
  float z;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(z) : "f"(x), "f"(y));
  return z;
#else
  return x != x || x > y ? x : y;
#endif
}

/// Hides where packets come from: nvcc otherwise keeps them widened in registers until their next use, and spills
/// others.
///
/// zero   0; if only the launch knows that, ptxas does not see through either, for an instruction a word
template <int vectors>
SOFTCHECK_BODY void renew(Packet (&u)[vectors], std::uint32_t zero = 0) {
  SOFTCHECK_UNROLL
  for (int i = 0; i < 4 * vectors; ++i) u[i / 4].word[i % 4] = opaque(u[i / 4].word[i % 4]) ^ zero;
}

/// The elements of a packet, widened.
template <class Element>
SOFTCHECK_BODY void widen(const Packet& packet, float (&x)[vector_items<Element>]) {
  SOFTCHECK_UNROLL
  for (int i = 0; i < 4; ++i) {
    const std::uint32_t word = packet.word[i];
    if constexpr (std::is_same_v<Element, float>) {
      x[i] = std::bit_cast<float>(word);
    } else if constexpr (std::is_same_v<Element, BFloat>) {
      x[2 * i] = std::bit_cast<float>(word << 16);
      x[2 * i + 1] = std::bit_cast<float>(word & 0xffff0000U);
    } else {
      x[2 * i] = widened(Half{static_cast<std::uint16_t>(word)});
      x[2 * i + 1] = widened(Half{static_cast<std::uint16_t>(word >> 16)});
    }
  }
}

/// Numbers rounded to elements. Packing what widen() gave is exact.
template <class Element>
SOFTCHECK_BODY Packet packed(const float (&x)[vector_items<Element>]) {
  Packet packet;
  SOFTCHECK_UNROLL
  for (int i = 0; i < 4; ++i) {
    if constexpr (sizeof(Element) == 4) {
      packet.word[i] = std::bit_cast<std::uint32_t>(x[i]);
    } else {
      packet.word[i] = narrowed_pair<Element>(x[2 * i], x[2 * i + 1]);
    }
  }
  return packet;
}

/// larger() of two pairs of 16-bit elements, exactly.
template <class Element>
SOFTCHECK_BODY std::uint32_t larger_pair(std::uint32_t x, std::uint32_t y) {
#ifdef __CUDA_ARCH__
  std::uint32_t z;
  if constexpr (std::is_same_v<Element, Half>) {
    asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
  } else {
    asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(z) : "r"(x), "r"(y));
  }
  return z;
#else
  const auto half = [&](int shift) {
    const Element a{static_cast<std::uint16_t>(x >> shift)}, b{static_cast<std::uint16_t>(y >> shift)};
    return narrowed<Element>(larger(widened(a), widened(b)));
  };
  return static_cast<std::uint32_t>(half(0).bits) | static_cast<std::uint32_t>(half(16).bits) << 16;
#endif
}

/// The largest element of some packets.
template <class Element, int vectors>
SOFTCHECK_BODY float largest(const Packet (&u)[vectors]) {
  if constexpr (sizeof(Element) == 4) {
    float m = std::bit_cast<float>(u[0].word[0]);
    SOFTCHECK_UNROLL
    for (int i = 1; i < 4 * vectors; ++i) m = larger(m, std::bit_cast<float>(u[i / 4].word[i % 4]));
    return m;
  } else {
    std::uint32_t m = u[0].word[0];
    SOFTCHECK_UNROLL
    for (int i = 1; i < 4 * vectors; ++i) m = larger_pair<Element>(m, u[i / 4].word[i % 4]);
    return larger(widened(Element{static_cast<std::uint16_t>(m)}),
                  widened(Element{static_cast<std::uint16_t>(m >> 16)}));
  }
}

/// The packet at element i of a view, in one access that caches need not keep: most rows are read and written once.
template <class Element, class View>
SOFTCHECK_BODY Packet load_packet(const View& view, std::int64_t i) {
#ifdef __CUDA_ARCH__
  return std::bit_cast<Packet>(__ldcs(reinterpret_cast<const uint4*>(view.data() + i)));
#else
  return std::bit_cast<Packet>(view.template load_vector<vector_items<Element> >(i));
#endif
}
template <class Element, class View>
SOFTCHECK_BODY void store_packet(const View& view, std::int64_t i, const Packet& packet) {
#ifdef __CUDA_ARCH__
  __stcs(reinterpret_cast<uint4*>(view.data() + i), std::bit_cast<uint4>(packet));
#else
  view.store_vector(i, std::bit_cast<Vector<Element, vector_items<Element> > >(packet));
#endif
}

/// The arguments of the tree kernels: those of RowArguments, and
///
/// wide      (rows, 1) where results of 16-bit logits are f32; results then has no elements
/// gradient  with respect to the results of the forward pass, which are then the logits, or (rows, 1) to the losses;
///           without a mask
/// loss      of the cross-entropies
/// inverse   1 / theta in double
/// zero      for renew()
template <BlockContext B, class Element>
struct TreeArguments {
  Logits<B, Element> logits;
  WrittenMatrix<B, Element> results;
  WrittenMatrix<B, float> wide;
  Logits<B, Element> gradient;
  float scale = 1;
  double theta = 1;
  double inverse = 1;
  std::uint32_t zero = 0;
  LossArguments<B> loss;

  /// The gradient with respect to a row's loss.
  SOFTCHECK_BODY float upstream(std::int64_t row) const {
    return loss.upstream.elements.size() > 0 ? loss.upstream.elements.load(loss.upstream.place(row, 0))
                                             : widened(gradient.values.elements.load(gradient.values.place(row, 0)));
  }
  /// Writes the one result of a row.
  SOFTCHECK_BODY void store(std::int64_t row, double value) const {
    const auto result = static_cast<float>(value);
    if (wide.elements.size() > 0) {
      wide.elements.store(wide.place(row, 0), result);
    } else {
      results.elements.store(results.place(row, 0), narrowed<Element>(result));
    }
  }
};

/// A row of logits as a thread of a team reads and writes it: vectors packets, 32 packets apart.
template <int vectors, BlockContext B, class Element>
struct TreeRow {
  static constexpr int items = vector_items<Element>;
  static constexpr int step = items * warp_size;

  const TreeArguments<B, Element>& arguments;
  std::int64_t row;

  /// Whether a thread moves each packet of the row that begins there in one access.
  template <class View>
  static SOFTCHECK_BODY bool by_packets(const Matrix<View>& matrix, std::int64_t begin) {
    return matrix.column_stride == 1 && matrix.elements.template aligned<items>(begin);
  }
  /// The number of columns from first on, at most those of a thread's packets.
  SOFTCHECK_BODY int left(std::int64_t first) const {
    const std::int64_t count = arguments.logits.columns - first;
    return count < vectors * step ? static_cast<int>(count) : vectors * step;
  }
  /// Whether that column is one of the thread's packets from first on; not if it is negative.
  static SOFTCHECK_BODY bool holds(std::int64_t first, std::int64_t column) {
    const auto offset = static_cast<std::uint64_t>(column - first);
    return column >= 0 && offset < static_cast<std::uint64_t>(vectors * step) && offset % step < items;
  }
  /// The logit of a column, NaN if it is negative.
  SOFTCHECK_BODY float logit(std::int64_t column) const {
    const auto& values = arguments.logits.values;
    return column < 0 ? not_a_number<float>() : widened(values.elements.load(values.place(row, column)));
  }
  /// Writes the result of a column.
  SOFTCHECK_BODY void put(std::int64_t column, float result) const {
    arguments.results.elements.store(arguments.results.place(row, column), narrowed<Element>(result));
  }
  /// Whether all packets are in the row.
  static SOFTCHECK_BODY bool whole(int left) { return left >= (vectors - 1) * step + items; }

  /// The packets of an input from column first on; none for hidden items and behind the last one.
  SOFTCHECK_BODY void load(const Logits<B, Element>& input, float none, std::int64_t first,
                           Packet (&u)[vectors]) const {
    const auto& [values, mask, masked, rows, columns] = input;
    const int count = left(first);
    const std::int64_t row_begin = values.place(row, 0), begin = row_begin + first;
    const bool loads = !masked && by_packets(values, row_begin);
    if (loads && whole(count)) {
      SOFTCHECK_UNROLL
      for (int k = 0; k < vectors; ++k) u[k] = load_packet<Element>(values.elements, begin + k * step);
      return;
    }
    SOFTCHECK_UNROLL
    for (int k = 0; k < vectors; ++k) {
      if (loads && k * step + items <= count) {
        u[k] = load_packet<Element>(values.elements, begin + k * step);
        continue;
      }
      float x[items];
      SOFTCHECK_UNROLL
      for (int v = 0; v < items; ++v) {
        const int i = k * step + v;
        x[v] = none;
        if (i < count && (!masked || mask.elements.load(mask.place(row, opaque(first + i))) != 0)) {
          x[v] = widened(values.elements.load(row_begin + opaque(first + i) * values.column_stride));
        }
      }
      u[k] = packed<Element>(x);
    }
  }

  /// Writes the results of the columns that load() reads from first on: of(k, x), x the numbers of packet k.
  template <class Of>
  SOFTCHECK_BODY void store(std::int64_t first, Of of) const {
    const auto& results = arguments.results;
    const int count = left(first);
    const std::int64_t row_begin = results.place(row, 0), begin = row_begin + first;
    const bool stores = by_packets(results, row_begin);
    float x[items];
    if (stores && whole(count)) {
      SOFTCHECK_UNROLL
      for (int k = 0; k < vectors; ++k) {
        of(k, x);
        store_packet<Element>(results.elements, begin + k * step, packed<Element>(x));
      }
      return;
    }
    SOFTCHECK_UNROLL
    for (int k = 0; k < vectors; ++k) {
      of(k, x);
      if (stores && k * step + items <= count) {
        store_packet<Element>(results.elements, begin + k * step, packed<Element>(x));
        continue;
      }
      SOFTCHECK_UNROLL
      for (int v = 0; v < items; ++v) {
        const int i = k * step + v;
        if (i < count) {
          results.elements.store(row_begin + opaque(first + i) * results.column_stride, narrowed<Element>(x[v]));
        }
      }
    }
  }
};

}  // namespace softcheck::kernels
