#pragma once

#include <unistd.h>

#include <functional>
#include <utility>

#include "judge/sandbox/containment.hpp"

namespace softcheck::proptests {

/// The keeper's message to the judge after the kernel's process and all processes that it started have ended.
struct EndMessage {
  bool known = false;  // false: the process was stopped from outside
  int status = 0;      // from waitpid
};

/// Runs between the judge and the kernel's process, without any code of the kernel. Starts the kernel's process, in
/// namespaces if the system allows them. When that process ends, or the judge ends or shuts its side of the control
/// socket, the keeper kills all descendants, waits for them and sends an EndMessage. Never returns.
///
/// control   the keeper's side of a SOCK_SEQPACKET socket, the only descriptor that it keeps
/// start     runs the kernel's process; never returns
[[noreturn]] void keep_process(int control, Isolation isolation,
                               const std::function<void(Containment)>& start) noexcept;

/// Kills this process's children, and their children as this process inherits them, until none is left.
///
/// all   kill every process of the namespace except the first
void end_children(bool all);

/// A file descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      reset();
      number_ = std::exchange(other.number_, -1);
    }
    return *this;
  }

  int number() const { return number_; }
  void reset() {
    if (number_ >= 0) close(number_);
    number_ = -1;
  }

 private:
  int number_;
};

}  // namespace softcheck::proptests
