// What a kernel sends or writes itself is taken for nothing else: kernels of this program forge an answer, or write
// beside a tensor.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "judge/sandbox/isolated_kernel.hpp"
#include "judge/sandbox/kernel_messages.hpp"
#include "kernels/abi/softcheck_kernel.h"
#include "proptests/tests/judge/kernel_call.hpp"

namespace softcheck::proptests {
namespace {

KernelCall row_in_the_middle() {
  KernelCall call;
  call.columns = 2;
  call.logits = {1, 1};
  call.layout.row_gap = call.output_layout.row_gap = 8;
  call.layout.offset = call.output_layout.offset = 8;
  return call;
}

// Sends an answer that says 0 through every socket that the kernel's process has.
void forge(std::uint64_t number) {
  ServerMessage answer;
  answer.kind = ServerMessage::Kind::answered;
  answer.number = number;
  for (int file = 3; file < 256; ++file) send(file, &answer, sizeof answer, MSG_NOSIGNAL | MSG_DONTWAIT);
}

TEST(ForgedAnswers, AnAnswerWithAnotherNumberIsACrash) {
  for (const std::uint64_t number : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{2}, ~std::uint64_t{0}}) {
    IsolatedKernel kernel({"this program", "kernel", [=](const softcheck_call*) {
                             forge(number);
                             return 5;  // it refuses the call
                           }});
    const TensorReply reply = kernel.call(lowered(row_in_the_middle()));
    EXPECT_EQ(reply.end, CallEnd::crashed) << number;
    EXPECT_EQ(reply.death, "a message of its own to the judge") << number;
  }
}

float* data_of(const DLTensor* tensor) {
  return reinterpret_cast<float*>(static_cast<char*>(tensor->data) + tensor->byte_offset);
}

TensorReply reply_of(const KernelCall& call, std::function<int(const softcheck_call*)> kernel) {
  return IsolatedKernel({"this program", "kernel", std::move(kernel)}).call(lowered(call));
}

TEST(ForgedAnswers, AWriteBesideAnInputChangesAnInputAndOneBesideAnOutputIsOutside) {
  const auto beside_input = [](const softcheck_call* call) {
    data_of(call->inputs[0])[-1] = 7;
    return 0;
  };
  const auto beside_output = [](const softcheck_call* call) {
    data_of(call->outputs[0])[-1] = 7;
    return 0;
  };
  KernelCall call = row_in_the_middle();
  TensorReply reply = reply_of(call, beside_input);
  EXPECT_TRUE(reply.inputs_changed);
  EXPECT_FALSE(reply.wrote_outside);
  reply = reply_of(call, beside_output);
  EXPECT_FALSE(reply.inputs_changed);
  EXPECT_TRUE(reply.wrote_outside);
  call.in_place = true;
  reply = reply_of(call, beside_output);
  EXPECT_FALSE(reply.inputs_changed);
  EXPECT_TRUE(reply.wrote_outside);
}

}  // namespace
}  // namespace softcheck::proptests
