#pragma once

#include <filesystem>

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

}  // namespace softcheck::cli
