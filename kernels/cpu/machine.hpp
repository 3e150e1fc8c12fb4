#pragma once

namespace softcheck::kernels::arithmetic {}
namespace softcheck::kernels::call {}

namespace softcheck::kernels::cpu {

// What all machines share is called as if it were this one's own.
using namespace arithmetic;
using namespace call;

}  // namespace softcheck::kernels::cpu
