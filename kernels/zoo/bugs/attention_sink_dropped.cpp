// TransformerEngine 3551: the sink is not there; hidden wherever it is far below the scores.
#include "kernels/zoo/attention_attributed.hpp"

using namespace softcheck::kernels::zoo::attention;

SOFTCHECK_MUTANT mutant_attention_sink_dropped(const softcheck_call* call) {
  return attend_changed(call, [](AttributedCall& a) { a.sinks.reset(); });
}
