// Causal with other lengths aligns the first query with the first key: the forward pass aligned the last ones
// (ml-explore/mlx 2835).
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_backward_causal_top_left(const softcheck_call* call) {
  return gradients_by<Gradients>(call, [](GradientCall& a) { a.of.plain.diagonal = 0; });
}
