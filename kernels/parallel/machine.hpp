#pragma once

namespace softcheck::kernels::arithmetic {}
namespace softcheck::kernels::call {}
namespace softcheck::kernels::cpu {}

namespace softcheck::kernels::parallel {

// Each rank computes with the CPU's passes.
using namespace arithmetic;
using namespace call;
using namespace cpu;

}  // namespace softcheck::kernels::parallel
