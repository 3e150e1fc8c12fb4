#pragma once

#include <filesystem>

namespace softcheck::cli {

/// Where the kernels of this project stand: in the tree that this command was installed into, else in its build.
std::filesystem::path kernel_folder();

/// Where the trained models of this project stand: in the tree that this command was installed into, else in the
/// sources.
std::filesystem::path model_folder();

/// Where the judge stands that is extracted from the proofs: what SOFTCHECK_EXTRACTED_JUDGE names; else beside the
/// command, or else in the build's folder of the proofs. It need not be there.
std::filesystem::path extracted_judge_program();

/// Where the compiled proofs of this project stand, if someone has built them.
std::filesystem::path proof_folder();

}  // namespace softcheck::cli
