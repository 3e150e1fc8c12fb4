#pragma once

#include <span>

#include "kernels/emulator/block.hpp"

namespace softcheck::emulator_tests {

namespace emulator = softcheck::kernels::emulator;
using emulator::Block;
using emulator::FindingKind;
using emulator::LaunchShape;
using kernels::warp_size;
using kernels::whole_warp;

/// What a planted kernel works on: in holds 1, 2, ..., out zeros.
struct Buffers {
  emulator::GlobalView<const float> in;
  emulator::GlobalView<float> out;
};

/// A small kernel with one defect; the same without it where planted is false. The lines that the finding must name end
/// in the comment "<- NAME".
struct Planted {
  const char* name;
  const char* file;
  FindingKind kind;
  LaunchShape shape;
  int in;
  int out;
  void (*kernel)(Block& block, const Buffers& buffers, bool planted);
};

std::span<const Planted> planted_threads();

}  // namespace softcheck::emulator_tests
