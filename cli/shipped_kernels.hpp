#pragma once

#include <span>
#include <string_view>

namespace softcheck::cli {

/// A kernel in one dtype, and its contract: a row of kernels/entry/contracts.tsv.
struct ShippedKernel {
  std::string_view library, symbol, op, dtype, contract;
  std::string_view exempt;  // a claim that it is known to break
  std::string_view domain;  // the calls that it takes; empty: all
  bool verified;            // by `softcheck verify`
};

std::span<const ShippedKernel> shipped_kernels();

}  // namespace softcheck::cli
