// How a call's tensors come to a device and back, on a device that is the host's heap (no_device/cuda_runtime.h).
#include <gtest/gtest.h>

#include <cstddef>
#include <numeric>
#include <stdexcept>

#include "kernels/cuda/device_call.cuh"
#include "kernels/parallel/thread_communicator.hpp"
#include "proptests/tests/kernels/loaded_kernel.hpp"

namespace softcheck::emulator_tests {
namespace {

using kernel_tests::dtype_of;
using kernel_tests::Tensor;
using kernels::call_of;
using kernels::DeviceCall;

// Rows of three of four numbers, behind two more, to rows of three of five.
TEST(StagedCall, BringsTensorsThereAndResultsBack) {
  Tensor<float> in(dtype_of<float>(), {2, 3}, {4, 1}, 2), out(dtype_of<float>(), {2, 3}, {5, 1}, 1, -7);
  std::iota(in.elements.begin(), in.elements.end(), 1.0F);
  const std::vector<float> before = in.elements;
  std::vector<const DLTensor*> inputs = {&in.view};
  std::vector<DLTensor*> outputs = {&out.view};
  const softcheck_call call = call_of(inputs, outputs);
  {
    const DeviceCall shown(&call);
    ASSERT_TRUE(shown);
    EXPECT_TRUE(shown.staged());
    const auto* x = static_cast<const float*>(shown.call().inputs[0]->data);
    auto* y = static_cast<float*>(shown.call().outputs[0]->data);
    EXPECT_NE(x, in.elements.data() + in.first);
    // Aligned as on the host: kernels take other ways by that.
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x) % 64,
              reinterpret_cast<std::uintptr_t>(in.elements.data() + in.first) % 64);
    EXPECT_EQ(shown.call().inputs[0]->byte_offset, 0U);
    for (int i = 0; i < 2; ++i) {
      for (int j = 0; j < 3; ++j) y[5 * i + j] = 2 * x[4 * i + j];
    }
    EXPECT_EQ(shown.finished(0), 0);
  }
  EXPECT_EQ(in.elements, before);
  EXPECT_EQ(out.elements, (std::vector<float>{-7, 6, 8, 10, -7, -7, 14, 16, 18}));
  EXPECT_EQ(no_device::allocated, 0);
}

TEST(StagedCall, AnOutputInTheInputsPlaceStaysThere) {
  Tensor<float> both(dtype_of<float>(), {3});
  both.elements = {1, 2, 3};
  both.view.data = both.elements.data();
  DLTensor output = both.view;
  std::vector<const DLTensor*> inputs = {&both.view};
  std::vector<DLTensor*> outputs = {&output};
  const softcheck_call call = call_of(inputs, outputs);
  const DeviceCall shown(&call);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown.call().inputs[0]->data, shown.call().outputs[0]->data);
  static_cast<float*>(shown.call().outputs[0]->data)[1] = 9;
  EXPECT_EQ(shown.finished(0), 0);
  EXPECT_EQ(both.elements, (std::vector<float>{1, 9, 3}));
}

TEST(StagedCall, TakesSixInputsAndTensorsWithoutElements) {
  Tensor<float> in(dtype_of<float>(), {2}), out(dtype_of<float>(), {2}), empty(dtype_of<float>(), {0, 4});
  empty.view.data = nullptr;
  std::vector<const DLTensor*> inputs(5, &in.view);
  inputs.push_back(&empty.view);
  std::vector<DLTensor*> outputs = {&out.view};
  const softcheck_call six = call_of(inputs, outputs);
  EXPECT_TRUE(DeviceCall(&six));
  inputs.push_back(&in.view);
  const softcheck_call seven = call_of(inputs, outputs);
  EXPECT_FALSE(DeviceCall(&seven));
}

TEST(StagedCall, RefusesWhatItCannotBring) {
  const auto taken = [](auto change, bool of_output) {
    Tensor<float> in(dtype_of<float>(), {2, 3}), out(dtype_of<float>(), {2, 3});
    change(of_output ? out.view : in.view);
    std::vector<const DLTensor*> inputs = {&in.view};
    std::vector<DLTensor*> outputs = {&out.view};
    const softcheck_call call = call_of(inputs, outputs);
    return static_cast<bool>(DeviceCall(&call));
  };
  std::int64_t backwards[] = {-3, 1};
  for (const bool of_output : {false, true}) {
    EXPECT_TRUE(taken([](DLTensor&) {}, of_output));
    EXPECT_FALSE(taken([](DLTensor& t) { t.data = nullptr; }, of_output));
    EXPECT_FALSE(taken([&](DLTensor& t) { t.strides = backwards; }, of_output));
    EXPECT_FALSE(taken([](DLTensor& t) { t.device.device_type = kDLROCM; }, of_output));
    // Of both kinds.
    EXPECT_FALSE(taken([](DLTensor& t) { t.device.device_type = kDLCUDA; }, of_output));
  }
}

// The error that it met is not left for the next call.
TEST(StagedCall, AFailedAllocationIsARefusal) {
  Tensor<float> in(dtype_of<float>(), {2}), out(dtype_of<float>(), {2});
  std::vector<const DLTensor*> inputs = {&in.view};
  std::vector<DLTensor*> outputs = {&out.view};
  const softcheck_call call = call_of(inputs, outputs);
  for (const int allocations : {0, 1}) {
    no_device::allocations_left = allocations;
    const DeviceCall shown(&call);
    EXPECT_FALSE(shown);
    EXPECT_EQ(shown.finished(1), 1);
    EXPECT_EQ(no_device::last_error, cudaSuccess);
  }
  no_device::allocations_left = 1000;
  EXPECT_TRUE(DeviceCall(&call));
}

// Those of a device stay where they are.
TEST(StagedCall, TensorsOfADeviceAreShownAsTheyAre) {
  Tensor<float> in(dtype_of<float>(), {2}, {}, 1), out(dtype_of<float>(), {2});
  in.view.device.device_type = out.view.device.device_type = kDLCUDA;
  std::vector<const DLTensor*> inputs = {&in.view};
  std::vector<DLTensor*> outputs = {&out.view};
  const softcheck_call call = call_of(inputs, outputs);
  const DeviceCall shown(&call);
  ASSERT_TRUE(shown);
  EXPECT_FALSE(shown.staged());
  EXPECT_EQ(shown.call().inputs[0]->data, in.view.data);
  EXPECT_EQ(shown.call().inputs[0]->byte_offset, sizeof(float));
  EXPECT_EQ(shown.finished(0), 0);
}

}  // namespace
}  // namespace softcheck::emulator_tests

namespace softcheck::kernels::parallel {
namespace {

// A rank that is not woken waits for ever: the time limit of the test is what fails.
TEST(ThreadCommunicator, EachMessageReachesItsRankInTheOrderOfItsSender) {
  constexpr int ranks = 8, messages = 50;
  const bool succeeded = run_ranks(ranks, [](Communicator& all) {
    const auto message = [](int from, int to, int number) {
      return Message{static_cast<std::byte>(from), static_cast<std::byte>(to), static_cast<std::byte>(number)};
    };
    for (int number = 0; number < messages; ++number) {
      for (int to = 0; to < ranks; ++to) all.send(to, message(all.rank(), to, number));
    }
    for (int from = ranks - 1; from >= 0; --from) {
      for (int number = 0; number < messages; ++number) {
        if (all.receive(from) != message(from, all.rank(), number)) throw std::logic_error("another message");
      }
    }
  });
  EXPECT_TRUE(succeeded);
}

TEST(ThreadCommunicator, ARankThatFailsEndsThoseThatWaitForIt) {
  constexpr int ranks = 4;
  for (int failing = 0; failing < ranks; ++failing) {
    EXPECT_FALSE(run_ranks(ranks, [failing](Communicator& all) {
      if (all.rank() == failing) throw std::runtime_error("no memory");
      all.receive(failing);
    }));
    EXPECT_FALSE(run_ranks(ranks, [failing](Communicator& all) {
      if (all.rank() == failing) throw std::runtime_error("no memory");
      all.receive((all.rank() + 1) % ranks);  // from a rank that waits as well
    }));
  }
}

TEST(ThreadCommunicator, ARankThatFailsEndsAReduction) {
  for (int round = 0; round < 200; ++round) {  // in some of them the other one waits before it fails
    EXPECT_FALSE(run_ranks(2, [round](Communicator& all) {
      if (all.rank() == round % 2) throw std::runtime_error("no memory");
      all.reduced({});
    }));
  }
}

}  // namespace
}  // namespace softcheck::kernels::parallel
