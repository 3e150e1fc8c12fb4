#pragma once

#include <filesystem>

namespace softcheck::cli {

/// Where the kernels of this project stand: those of the build this command came from, else of the installed tree.
std::filesystem::path kernel_folder();

/// Where the trained models of this project stand: in its source tree, else in the installed one.
std::filesystem::path model_folder();

/// Where the compiled proofs of this project stand, if someone has built them.
std::filesystem::path proof_folder();

}  // namespace softcheck::cli
