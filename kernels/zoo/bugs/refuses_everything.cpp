// Nothing was judged: refused, never pass.
#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_refuses_everything(const softcheck_call* /*call*/) { return 1; }
