#include "cli/interruption.hpp"

namespace softcheck::cli {
namespace {

// A signal's handler can reach nothing but what lives as long as the program.
volatile std::sig_atomic_t& flag() {
  static volatile std::sig_atomic_t requested = 0;
  return requested;
}

void on_signal(int) { flag() = 1; }

}  // namespace

Interruption::Interruption() {
  flag() = 0;  // before any signal, so that the handler finds it made
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigaction(SIGINT, &action, &before_interrupt_);
  sigaction(SIGTERM, &action, &before_terminate_);
  // A shell that starts a program in the background lets it ignore the keyboard.
  if (before_interrupt_.sa_handler == SIG_IGN) sigaction(SIGINT, &before_interrupt_, nullptr);
}

Interruption::~Interruption() {
  sigaction(SIGINT, &before_interrupt_, nullptr);
  sigaction(SIGTERM, &before_terminate_, nullptr);
}

bool Interruption::requested() { return flag() != 0; }

}  // namespace softcheck::cli
