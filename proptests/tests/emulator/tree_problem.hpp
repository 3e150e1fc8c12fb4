#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/block/tree_rows.hpp"
#include "kernels/emulator/block.hpp"
#include "proptests/tests/emulator/strict_formats.hpp"

namespace softcheck::emulator_tests {

using namespace kernels;
using emulator::Block;
using kernel_tests::Tensor;

/// The environment's layout of a tree kernel.
struct NamedLayout {
  explicit NamedLayout(const char* name) { setenv("SOFTCHECK_TREE_LAYOUT", name, 1); }
  NamedLayout(const NamedLayout&) = delete;
  NamedLayout& operator=(const NamedLayout&) = delete;
  ~NamedLayout() { unsetenv("SOFTCHECK_TREE_LAYOUT"); }
};

/// A launch of a layout on the emulator.
///
/// blocks          that share a row, of a cluster or of a grid
/// all_schedules   not only the first one
struct TreeLaunch {
  int warps;
  int blocks = 1;
  bool all_schedules = false;
  int teams = 2;

  /// Expects no finding: results and what blocks of a grid share are traced.
  template <class Op, class Rows, class Element>
  void run(const TreeArguments<Block, Element>& all, std::span<Element> results) const {
    using Memory = GridMemory<Block>;
    std::vector<std::uint32_t> counters(static_cast<std::size_t>(teams * Memory::apart));
    std::vector<float> partials(static_cast<std::size_t>(teams * Memory::numbers));
    const Memory memory{blocks, {std::span(counters)}, {std::span(partials)}};
    const std::span<std::byte> written[] = {std::as_writable_bytes(results),
                                            std::as_writable_bytes(std::span(partials)),
                                            std::as_writable_bytes(std::span(counters))};
    const bool on_grid = of_grid<Rows>;
    const emulator::LaunchShape shape{teams * blocks, warps * warp_size, Rows::shared_bytes, on_grid ? 1 : blocks,
                                      on_grid};
    const auto kernel = [&](Block& block) {
      if constexpr (of_grid<Rows>) {
        Rows::template run<Op>(block, all, memory);
      } else {
        Rows::template run<Op>(block, all);
      }
    };
    const emulator::LaunchReport report =
        all_schedules ? emulator::launch_under_all_schedules(shape, written, kernel)
                      : emulator::launch(shape, kernel, {emulator::Schedule::forward, 1, written});
    EXPECT_TRUE(report.clean()) << report.text();
  }
};

template <class Element>
bool same(const std::vector<Element>& left, const std::vector<Element>& right) {
  return left.size() == right.size() && std::memcmp(left.data(), right.data(), left.size() * sizeof(Element)) == 0;
}

template <class Element>
struct TreeProblem {
  using Bits = typename Format<Element>::Bits;

  TreeProblem(std::int64_t r, std::int64_t n, bool with_mask, unsigned seed)
      : rows(r), columns(n), logits(static_cast<std::size_t>(r * n)), mask(logits.size(), 1), masked(with_mask) {
    std::mt19937 random(seed);
    std::normal_distribution<double> logit(0, 3);
    for (Element& x : logits) x = std::bit_cast<Element>(rounded_to<Element>(logit(random)));
    for (std::uint8_t& m : mask) m = with_mask ? random() % 4 != 0 : 1;
  }

  template <class Op>
  TreeArguments<Block, Element> arguments(std::vector<Element>& results) const {
    const std::int64_t width = Op::of_rows ? 1 : columns;
    results.assign(static_cast<std::size_t>(rows * width), Element{});
    TreeArguments<Block, Element> all;
    all.logits = {{std::span<const Element>(logits), columns, 1},
                  {std::span<const std::uint8_t>(mask), columns, 1},
                  masked,
                  rows,
                  columns};
    all.results = {std::span<Element>(results), width, 1};
    return all;
  }

  /// The results of a layout on the emulator.
  template <class Op, class Rows>
  std::vector<Element> results(const TreeLaunch& layout) const {
    std::vector<Element> found;
    const TreeArguments<Block, Element> all = arguments<Op>(found);
    layout.template run<Op, Rows>(all, std::span<Element>(found));
    return found;
  }

  std::vector<Element> strict(const std::string& op, bool of_rows) const { return called("strict", op, of_rows); }
  /// The results of a library's kernel; nothing if it refuses the call.
  std::vector<Element> called(const std::string& library, const std::string& op, bool of_rows) const {
    Tensor<Bits> in(Format<Element>::type, {rows, columns});
    Tensor<std::uint8_t> visible(kernel_tests::mask_type, {rows, columns});
    for (std::size_t i = 0; i < logits.size(); ++i) {
      in.elements[i] = std::bit_cast<Bits>(logits[i]);
      visible.elements[i] = mask[i];
    }
    Tensor<Bits> out(Format<Element>::type, of_rows ? std::vector{rows} : std::vector{rows, columns});
    std::vector<const DLTensor*> inputs = {&in.view};
    if (masked) inputs.push_back(&visible.view);
    const softcheck_kernel kernel =
        kernel_tests::load_kernel("softcheck_" + library + "_kernels", "softcheck_" + library + "_" + op);
    if (!kernel_tests::takes_call(kernel, inputs, {&out.view})) return {};
    std::vector<Element> all;
    const auto count = static_cast<std::size_t>(of_rows ? rows : rows * columns);
    for (std::size_t i = 0; i < count; ++i) all.push_back(std::bit_cast<Element>(out.elements[i]));
    return all;
  }

  std::int64_t rows, columns;
  std::vector<Element> logits;
  std::vector<std::uint8_t> mask;
  bool masked;
};

}  // namespace softcheck::emulator_tests
