#include "judge/trial/loading_property.hpp"

#include <rapidcheck.h>

#include <stdexcept>

namespace softcheck::proptests {
namespace {

// The only case: loading the library.
struct LoadCase {};

constexpr const char* load_text = "load";

std::string to_text(const LoadCase&) { return load_text; }
std::size_t size_of(const LoadCase&) { return 0; }

void from_text(std::string_view text, LoadCase&) {
  if (text != load_text) {
    throw std::invalid_argument("from_text: need '" + std::string(load_text) + "', got '" + std::string(text) + "'");
  }
}

}  // namespace

KernelProperty loading_property(WatchedKernel& watched) {
  const auto check = [&watched](const LoadCase&) {
    return watched.without_exempt({observed("kernel.keeps_environment", CallDescription{loading_remark},
                                            watched.kernel().loading_changed_environment() ? 1 : 0)});
  };
  return {PropertyOf<LoadCase>{.suite = kernel_suite,
                               .sentence = loading_sentence,
                               .claims = {"kernel.keeps_environment"},
                               .generator = rc::gen::construct<LoadCase>(),
                               .check = check,
                               .listed = {LoadCase{}}},
          1};
}

}  // namespace softcheck::proptests
