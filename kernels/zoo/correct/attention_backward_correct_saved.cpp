// Correct under sum=sequential: coefficients from the saved log-sum-exp, delta from the saved output.
#include "kernels/zoo/attention_gradients.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_backward_correct_saved(const softcheck_call* call) { return gradients_by<Gradients>(call); }
