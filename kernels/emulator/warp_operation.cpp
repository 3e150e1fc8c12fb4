#include "kernels/emulator/warp_operation.hpp"

namespace softcheck::kernels::emulator {

const char* to_string(WarpCall call) {
  switch (call) {
    case WarpCall::sync:
      return "sync_warp";
    case WarpCall::shuffle:
      return "shuffle";
    case WarpCall::shuffle_xor:
      return "shuffle_xor";
    case WarpCall::shuffle_down:
      return "shuffle_down";
    case WarpCall::shuffle_up:
      return "shuffle_up";
    case WarpCall::ballot:
      return "ballot";
    case WarpCall::any:
      return "any";
    case WarpCall::all:
      return "all";
    case WarpCall::mma:
      return "mma";
    case WarpCall::load_matrices:
      return "load_matrices";
  }
  return "";
}

int source_lane(const WarpOperation& operation, int lane) {
  int source = lane;
  switch (operation.call) {
    case WarpCall::shuffle:
      return operation.argument & (warp_size - 1);  // as the hardware does
    case WarpCall::shuffle_xor:
      source = lane ^ operation.argument;
      break;
    case WarpCall::shuffle_down:
      source = lane + operation.argument;
      break;
    case WarpCall::shuffle_up:
      source = lane - operation.argument;
      break;
    default:
      break;
  }
  return source < 0 || source >= warp_size ? lane : source;
}

void multiply_fragments(const MmaOperands* const (&lanes)[32], FragmentC* const (&results)[32]) {
  double a[16][16];
  double b[16][8];
  for (int lane = 0; lane < warp_size; ++lane) {
    for (int entry = 0; entry < 8; ++entry) {
      const MatrixPlace place = place_in_a(lane, entry);
      a[place.row][place.column] = lanes[lane]->a[entry];
    }
    for (int entry = 0; entry < 4; ++entry) {
      const MatrixPlace place = place_in_b(lane, entry);
      b[place.row][place.column] = lanes[lane]->b[entry];
    }
  }
  for (int lane = 0; lane < warp_size; ++lane) {
    FragmentC result;
    for (int entry = 0; entry < 4; ++entry) {
      const MatrixPlace place = place_in_c(lane, entry);
      double sum = lanes[lane]->c.entry[entry];
      for (int k = 0; k < 16; ++k) sum += a[place.row][k] * b[k][place.column];
      result.entry[entry] = static_cast<float>(sum);
    }
    *results[lane] = result;
  }
}

void share_matrices(const MatrixRow* const (&rows)[32], bool transposed, MatrixRow* const (&parts)[32]) {
  for (int lane = 0; lane < warp_size; ++lane) {
    for (int entry = 0; entry < 8; ++entry) {
      const int matrix = entry / 2, row = lane / 4, column = lane % 4 * 2 + entry % 2;
      parts[lane]->entry[entry] =
          transposed ? rows[8 * matrix + column]->entry[row] : rows[8 * matrix + row]->entry[column];
    }
  }
}

}  // namespace softcheck::kernels::emulator
