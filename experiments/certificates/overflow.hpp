#pragma once

#include "experiments/certificates/logit_bounds.hpp"
#include "numerics/enclosures/certificate.hpp"
#include "numerics/formats/format.hpp"

namespace softcheck::experiments {

/// model.overflow.FORMAT: the largest |q . k| over the domain, keys with their bias, not yet divided by sqrt(128), is
/// below the largest number of the format; violated where the witness's is above. model.overflow.FORMAT.scaled: the
/// same of the logits behind the division. Of exact inner products: a kernel that adds up in the format itself may
/// overflow on the way.
std::vector<numerics::Certificate> certify_no_overflow(const SizeBound& size, numerics::Format format);

}  // namespace softcheck::experiments
