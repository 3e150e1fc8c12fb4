#pragma once

namespace softcheck::kernels::arithmetic {}
namespace softcheck::kernels::call {}

namespace softcheck::kernels::strict {

// The strict kernels use the arithmetic and the call's views without naming their namespaces.
using namespace arithmetic;
using namespace call;

}  // namespace softcheck::kernels::strict
