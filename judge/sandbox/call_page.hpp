#pragma once

#include <cstddef>

#include "judge/sandbox/kernel_messages.hpp"
#include "kernels/abi/softcheck_kernel.h"

namespace softcheck::proptests {

/// The call structure, its tensors, shapes and strides, on separate pages that the kernel can only read: a write there
/// is a segmentation fault.
class CallPage {
 public:
  CallPage();
  ~CallPage();
  CallPage(const CallPage&) = delete;
  CallPage& operator=(const CallPage&) = delete;

  /// The pointer is valid until the next write().
  const softcheck_call* write(const ChildRequest& request);

 private:
  struct Content;
  void allow_writing(bool allowed);

  std::byte* page_ = nullptr;
  std::size_t bytes_ = 0;
};

/// Opens the pages of each tensor that the request names, and closes all other pages of the tensors.
class OpenPages {
 public:
  void open(const ChildRequest& request);

 private:
  void close_arena(const ChildRequest& request);

  std::array<ChildPages, most_inputs + most_outputs> now_{};
  bool arena_is_closed_ = false;
};

}  // namespace softcheck::proptests
