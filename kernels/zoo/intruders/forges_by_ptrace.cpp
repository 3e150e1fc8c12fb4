// C17: attaches to its parent, makes it call exit(0), and answers zeros. A judge that lets itself be traced reports a
// pass.
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

namespace {

void make_it_exit_with_0(int process) {
#if defined(__x86_64__)
  if (ptrace(PTRACE_ATTACH, process, nullptr, nullptr) != 0) return;
  waitpid(process, nullptr, __WALL);
  user_regs_struct registers{};
  ptrace(PTRACE_GETREGS, process, nullptr, &registers);
  registers.rip -= 2;   // back to the system call in which the judge waits for its kernel
  registers.rax = 231;  // exit_group
  registers.orig_rax = ~0ull;
  registers.rdi = 0;
  ptrace(PTRACE_SETREGS, process, nullptr, &registers);
  ptrace(PTRACE_DETACH, process, nullptr, nullptr);
#else
  static_cast<void>(process);
#endif
}

}  // namespace

// @judged softmax f32: plain; fail|crash C17
SOFTCHECK_MUTANT mutant_forges_by_ptrace(const softcheck_call* call) {
  make_it_exit_with_0(getppid());
  return each_row(call, [](auto& row) { std::ranges::fill(row.out, 0); });
}
