#include "cli/places.hpp"

#include <cstdlib>

namespace softcheck::cli {
namespace {

std::filesystem::path own_folder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

/// The prefix that this command was installed into: the command is in bin/, or, by vcpkg, in tools/softcheck/.
std::filesystem::path own_prefix() {
  const std::filesystem::path above = own_folder().parent_path();
  return above.filename() == "tools" ? above.parent_path() : above;
}

// Prefers the installed folder: the path of the source folder may belong to another user on this machine.
std::filesystem::path installed_or_source(const char* installed, const char* source) {
  std::error_code error;
  std::filesystem::path auxiliary = own_prefix() / installed;
  return std::filesystem::exists(auxiliary, error) || !std::filesystem::exists(source, error) ? auxiliary : source;
}

}  // namespace

std::filesystem::path kernel_folder() {
  return installed_or_source(SOFTCHECK_INSTALLED_KERNELS, SOFTCHECK_BUILD_KERNELS);
}

std::filesystem::path model_folder() {
  return installed_or_source(SOFTCHECK_INSTALLED_MODELS, SOFTCHECK_SOURCE_MODELS);
}

std::filesystem::path extracted_judge_program() {
  const char* named = std::getenv("SOFTCHECK_EXTRACTED_JUDGE");
  if (named != nullptr && *named != '\0') return named;
  std::error_code error;
  std::filesystem::path auxiliary = own_folder() / "softcheck-extracted-judge";
  return std::filesystem::exists(auxiliary, error) ? auxiliary : SOFTCHECK_BUILD_JUDGE;
}

std::filesystem::path proof_folder() { return SOFTCHECK_BUILD_PROOFS; }

std::span<const ShippedKernel> shipped_kernels() {
  static constexpr ShippedKernel kernels[] = {
#include "shipped_kernels.inc"
  };
  return kernels;
}

}  // namespace softcheck::cli
