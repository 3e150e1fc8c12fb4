#pragma once

#include "models/read/config.hpp"
#include "models/read/placed_tensors.hpp"

namespace softcheck::models {

/// Quantised safetensors: gives each 8-bit tensor X.weight the tensor of its scales, and removes that tensor from the
/// places. A number of such a matrix is then what is stored times the scale of its block, which a double holds.
///
///   quant_method fp8                  X.weight_scale_inv, one number for each weight_block_size, or for the matrix
///   quant_method compressed-tensors   X.weight_scale, one for the matrix, for each row, or for each block_structure;
///                                     formats float-quantized, int-quantized and naive-quantized, symmetric, 8 bits
///   quant_method mxfp4                X_blocks and X_scales; X_blocks is then a tensor of numbers
///
/// What activations are rounded to at run time (input_scale) is no part of the weights and is passed over.
///
/// returns  whether the configuration has such a quantization_config; others are left to who describes the model
/// throws   UnsupportedTensorFile naming a key or tensor of such a configuration that says something else;
///          TensorFileError where weights and scales contradict each other
bool attach_scales(const Config& config, TensorPlaces& places);

}  // namespace softcheck::models
