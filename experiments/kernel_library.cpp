#include "experiments/kernel_library.hpp"

#include <dlfcn.h>

#include <stdexcept>
#include <string>

namespace softcheck::experiments {

KernelLibrary::KernelLibrary(const std::filesystem::path& path)
    : path_(path), handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error("need the kernels of this project: " + std::string(dlerror()));
}

softcheck_kernel KernelLibrary::kernel(const char* name) const {
  void* const symbol = dlsym(handle_, name);
  if (symbol == nullptr) throw std::runtime_error(path_.string() + ": need the kernel " + name + ", it has none");
  return reinterpret_cast<softcheck_kernel>(symbol);
}

}  // namespace softcheck::experiments
