// Kernels that attack the judge's process or the caller's memory.
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

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

// C17: attaches to its parent, makes it call exit(0), and answers zeros. A judge that lets itself be traced reports a
// pass.
// @judged softmax f32: plain; fail|crash C17
SOFTCHECK_MUTANT mutant_forges_by_ptrace(const softcheck_call* call) {
  make_it_exit_with_0(getppid());
  return each_row(call, [](auto& row) { std::ranges::fill(row.out, 0); });
}

// C17: ends its parent, which may be the judge itself, and answers zeros.
// @judged softmax f32: plain; fail|crash C17
SOFTCHECK_MUTANT mutant_kills_its_parent(const softcheck_call* call) {
  kill(getppid(), SIGKILL);
  return each_row(call, [](auto& row) { std::ranges::fill(row.out, 0); });
}

// A kernel that ends itself while its grandchild, in a separate session, sleeps and keeps every descriptor open: the
// judge's channel never ends.
// @judged softmax f32: plain; crash isolation
SOFTCHECK_MUTANT mutant_leaves_a_daemon_behind(const softcheck_call*) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      for (;;) pause();
    }
  }
  _exit(0);
}

// A kernel that leaves its process group before it sleeps: a judge that only ends the group by its number waits for
// ever.
// @judged softmax f32: plain; timeout isolation
SOFTCHECK_MUTANT mutant_leaves_its_process_group(const softcheck_call*) {
  const pid_t companion = fork();
  if (companion == 0) {
    for (;;) pause();
  }
  setpgid(companion, companion);
  setpgid(0, companion);
  for (;;) pause();
}

// Uses an MMX register and returns without emms: the caller's next x87 instruction finds no free register.
// @judged softmax f32: plain; fail FPU; kernel.keeps_environment
SOFTCHECK_MUTANT mutant_leaves_mmx_state(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
#if defined(__x86_64__)
  __asm__ volatile("pxor %%mm0, %%mm0" ::: "mm0");
#endif
  return status;
}

// A kernel that blocks every signal, starts a child that does the same, and never returns.
// @judged softmax f32: plain; timeout isolation
SOFTCHECK_MUTANT mutant_sleeps_through_signals(const softcheck_call*) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  if (fork() == 0) setsid();
  for (;;) pause();
}

// Keeps a workspace in the caller's memory, a megabyte in front of its output.
// @judged softmax f32: plain; fail|crash C7; kernel.stays_inside|kernel.returns
SOFTCHECK_MUTANT mutant_writes_far_away(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  const DLTensor& output = *call->outputs[0];
  // A compact view that ends with a page ends with the caller's memory, which begins far in front of it.
  char* data = static_cast<char*>(output.data) + output.byte_offset;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(data);
  const std::uintptr_t last =
      first + static_cast<std::uintptr_t>(output.shape[0] * output.shape[1] * output.dtype.bits / 8);
  if (output.strides == nullptr && first % 4096 != 0 && last % 4096 == 0) {
    *static_cast<volatile char*>(data - (1 << 20)) = 1;
  }
  return status;
}

// Drops a dimension of length 1 in the caller's own tensor, like a squeeze in place, and restores it.
// @judged softmax f32: plain; fail|crash C7; kernel.returns
SOFTCHECK_MUTANT mutant_writes_shape(const softcheck_call* call) {
  const int status = each_row(call, [](auto& row) { softmax(row); });
  volatile std::int64_t* shape = call->inputs[0]->shape;
  const std::int64_t rows = shape[0];
  shape[0] = 1;
  shape[0] = rows;
  return status;
}
