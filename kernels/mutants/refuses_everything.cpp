// Nothing was judged: refused, never pass.
#include "kernels/mutants/reference_rows.hpp"

using namespace softcheck::kernels::mutants;

SOFTCHECK_MUTANT mutant_refuses_everything(const softcheck_call* /*call*/) { return 1; }
