// Correct: all scores, their maximum, then one pass over the values.
#include "kernels/zoo/attention_states.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT attention_correct_two_pass(const softcheck_call* call) { return attend(call, two_pass); }
