#pragma once

namespace softcheck::kernels::arithmetic {}
namespace softcheck::kernels::call {}

namespace softcheck::kernels::cpu {

// kernels/arithmetic is shared with the other machines; this makes its names visible here.
using namespace arithmetic;
using namespace call;

}  // namespace softcheck::kernels::cpu
