// mlx 2835, onnx 8068: the window counts from the query's number, not from the key that it stands at.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_window_from_first_query(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) {
    // The window's sides move by the diagonal that the query's place leaves out.
    if (a.left >= 0) a.left = std::max<std::int64_t>(0, a.left + a.plain.diagonal);
    if (a.right >= 0) a.right = std::max<std::int64_t>(0, a.right - a.plain.diagonal);
  });
}
