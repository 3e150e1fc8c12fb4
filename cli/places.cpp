#include "cli/places.hpp"

#include <cstdlib>

namespace softcheck::cli {
namespace {

std::filesystem::path source_or_installed(const char* source, const char* installed) {
  std::error_code error;
  if (std::filesystem::exists(source, error)) return source;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return self.parent_path().parent_path() / installed;
}

}  // namespace

std::filesystem::path kernel_folder() {
  return source_or_installed(SOFTCHECK_BUILD_KERNELS, SOFTCHECK_INSTALLED_KERNELS);
}

std::filesystem::path model_folder() {
  return source_or_installed(SOFTCHECK_SOURCE_MODELS, SOFTCHECK_INSTALLED_MODELS);
}

std::filesystem::path extracted_judge_program() {
  const char* named = std::getenv("SOFTCHECK_EXTRACTED_JUDGE");
  if (named != nullptr && *named != '\0') return named;
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path beside = self.parent_path() / "softcheck-extracted-judge";
  return std::filesystem::exists(beside, error) ? beside : SOFTCHECK_BUILD_JUDGE;
}

std::filesystem::path proof_folder() { return SOFTCHECK_BUILD_PROOFS; }

}  // namespace softcheck::cli
