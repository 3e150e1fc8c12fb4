// The softcap of the first call that has one is kept.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_softcap_of_first_call(const softcheck_call* call) {
  static double first = 0;
  return attend_changed(call, [](AttributedCall& a) {
    if (first == 0) first = a.softcap;
    if (a.softcap != 0) a.softcap = first;
  });
}
