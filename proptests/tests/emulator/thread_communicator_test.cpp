#include "kernels/parallel/thread_communicator.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <stdexcept>

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
