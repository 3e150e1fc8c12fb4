#pragma once

#include <cstddef>
#include <cstdint>

namespace softcheck::kernels::arithmetic {

/// out = in, count numbers of f16 or bf16, exactly.
void widen_f16(const std::uint16_t* in, std::size_t count, float* out);
void widen_bf16(const std::uint16_t* in, std::size_t count, float* out);

/// out = in rounded to nearest even, with the bits of f32_to_f16() and f32_to_bf16(), NaN's payload included.
void narrow_f16(const float* in, std::size_t count, std::uint16_t* out);
void narrow_bf16(const float* in, std::size_t count, std::uint16_t* out);

}  // namespace softcheck::kernels::arithmetic
