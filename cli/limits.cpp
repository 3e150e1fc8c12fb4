#include "cli/limits.hpp"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

namespace softcheck::cli {
namespace {

// Twice the measured need of `softcheck model`, the verb that needs most: it crashes with 128 KiB and works with 512.
constexpr rlim_t least_stack = rlim_t{1} << 20;
// Linux's default.
constexpr rlim_t usual_stack = rlim_t{8} << 20;

struct LimitName {
  std::errc error;
  int resource;
  rlim_t unit;
  const char* text;
};

constexpr LimitName limit_names[] = {
    {std::errc::too_many_files_open, RLIMIT_NOFILE, 1, "this process may open {} (ulimit -n)"},
    {std::errc::not_enough_memory, RLIMIT_AS, 1024, "this process may have {} KiB of addresses (ulimit -v)"},
    {std::errc::resource_unavailable_try_again, RLIMIT_NPROC, 1, "this user may run {} processes (ulimit -u)"},
    {std::errc::file_too_large, RLIMIT_FSIZE, 1024, "this process may write {} KiB to a file (ulimit -f)"},
};

// "; this process may open 5 (ulimit -n)"; empty if no limit of the process explains the error.
std::string limit_behind(const std::error_code& code) {
  const auto* name = std::ranges::find_if(limit_names, [&](const LimitName& one) { return code == one.error; });
  rlimit limit{};
  if (name == std::end(limit_names) || getrlimit(static_cast<__rlimit_resource>(name->resource), &limit) != 0)
    return "";
  if (limit.rlim_cur == RLIM_INFINITY) return "";
  return "; " + fmt::format(fmt::runtime(name->text), limit.rlim_cur / name->unit);
}

}  // namespace

void require_stack() {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= usual_stack) return;
  limit.rlim_cur = std::min(limit.rlim_max, usual_stack);
  if (setrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur >= least_stack) return;
  throw InputError(unsupported, fmt::format("need a stack of at least {} KiB, this process may have {} (ulimit -s)",
                                            least_stack / 1024, limit.rlim_cur / 1024));
}

InputError limit_reached(const std::system_error& error) {
  return {unsupported, error.what() + limit_behind(error.code())};
}

InputError limit_reached(const std::bad_alloc&) {
  const std::error_code code = std::make_error_code(std::errc::not_enough_memory);
  return {unsupported, "out of memory" + limit_behind(code)};
}

}  // namespace softcheck::cli
