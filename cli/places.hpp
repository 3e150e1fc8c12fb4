#pragma once

#include <filesystem>
#include <span>
#include <string_view>

namespace softcheck::cli {

/// The folder of this project's kernels: in the tree that this command was installed into, else in its build.
std::filesystem::path kernel_folder();

/// The folder of this project's trained models: in the tree that this command was installed into, else in the sources.
std::filesystem::path model_folder();

/// The path of the judge extracted from the proofs: that of SOFTCHECK_EXTRACTED_JUDGE; else in the command's folder, or
/// else in the build's folder of proofs. The file need not exist.
std::filesystem::path extracted_judge_program();

/// The folder of this project's compiled proofs, if they are built.
std::filesystem::path proof_folder();

/// A kernel in one dtype, and its contract: a row of kernels/entry/contracts.tsv.
struct ShippedKernel {
  std::string_view library, symbol, op, dtype, contract;
  std::string_view exempt;  // a claim that it is known to break
  std::string_view domain;  // the calls that it takes; empty: all
  bool verified;            // by `softcheck verify`
};

std::span<const ShippedKernel> shipped_kernels();

}  // namespace softcheck::cli
