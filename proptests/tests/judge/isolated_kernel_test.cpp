#include <dirent.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "proptests/tests/judge/our_kernels.hpp"

namespace softcheck::proptests {
namespace {

const std::string isolated_mutants = library_path("softcheck_zoo");

TensorReply reply_of(const std::string& symbol, const KernelCall& call = two_logits(),
                     const KernelLimits& limits = short_limits()) {
  IsolatedKernel kernel({isolated_mutants, symbol}, limits);
  return kernel.call(lowered(call));
}

int open_descriptors() {
  DIR* folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder) != nullptr) ++count;
  closedir(folder);
  return count;
}

TEST(IsolatedKernel, ACorrectKernelAnswers) {
  const TensorReply reply = reply_of("correct_two_pass");
  EXPECT_EQ(reply.end, CallEnd::done);
  EXPECT_EQ(reply.outputs.at(0), (std::vector<double>{0.5, 0.5}));
  EXPECT_FALSE(reply.inputs_changed || reply.wrote_outside || reply.environment_changed);
}

TEST(IsolatedKernel, EveryWayToDieIsACrash) {
  EXPECT_EQ(reply_of("mutant_crashes").death, "signal 11 (Segmentation fault)");
  EXPECT_EQ(reply_of("mutant_aborts").death, "signal 6 (Aborted)");
  EXPECT_EQ(reply_of("mutant_throws").death, "signal 6 (Aborted)");
  EXPECT_EQ(reply_of("mutant_exits_zero").death, "exit(0)");
  EXPECT_EQ(reply_of("mutant_forges_a_reply").death, "a message of its own to the judge");
  EXPECT_EQ(reply_of("mutant_closes_every_descriptor").end, CallEnd::crashed);
}

TEST(IsolatedKernel, TheNextCallAfterACrashHasANewChild) {
  IsolatedKernel kernel({isolated_mutants, "mutant_crashes"});
  EXPECT_EQ(kernel.call(one_row()).end, CallEnd::crashed);
  EXPECT_EQ(kernel.call(one_row()).end, CallEnd::crashed);
  EXPECT_EQ(kernel.calls(), 2u);
}

TEST(IsolatedKernel, AHangCostsItsLimit) {
  const double seconds = seconds_of([] { EXPECT_EQ(reply_of("mutant_hangs").end, CallEnd::timed_out); });
  EXPECT_GE(seconds, short_limits().seconds_per_call / 2);
  EXPECT_LT(seconds, 20 * short_limits().seconds_per_call);  // a loaded machine, not a second limit
}

TEST(IsolatedKernel, ARefusalIsCounted) {
  IsolatedKernel kernel({isolated_mutants, "mutant_refuses_everything"});
  const TensorReply reply = kernel.call(one_row());
  EXPECT_EQ(reply.end, CallEnd::refused);
  EXPECT_NE(reply.refusal, 0);
  EXPECT_EQ(kernel.refused_calls(), 1u);
}

TEST(IsolatedKernel, WhatItPrintsIsCountedAndProvesNothing) {
  IsolatedKernel kernel({isolated_mutants, "mutant_prints_pass_to_stdout"});
  kernel.call(one_row());
  ::testing::internal::CaptureStdout();
  kernel.call(one_row());
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

// All forks of a program print to one file.
TEST(IsolatedKernel, ACrashShowsWhatItsOwnCallPrinted) {
  for (const Isolation isolation : {Isolation::full, Isolation::process}) {
    IsolatedKernel kernel(source_of([](const softcheck_call* call) {
                            dprintf(STDERR_FILENO, "%d logits\n", static_cast<int>(call->inputs[0]->shape[1]));
                            if (call->inputs[0]->shape[1] != 2) _exit(1);
                            return 0;
                          }),
                          limits_of(isolation));
    EXPECT_EQ(kernel.call(one_row()).end, CallEnd::done);
    for (const std::int64_t columns : {3, 4}) {
      KernelCall call;
      call.columns = columns;
      call.logits.resize(static_cast<std::size_t>(columns), 1);
      const TensorReply reply = kernel.call(lowered(call));
      EXPECT_EQ(reply.end, CallEnd::crashed);
      EXPECT_EQ(reply.printed, std::vector<std::string>{std::to_string(columns) + " logits"});
    }
  }
}

TEST(IsolatedKernel, AChangedEnvironmentShowsAndStaysInTheChild) {
  EXPECT_TRUE(reply_of("mutant_sets_ftz").environment_changed);
  EXPECT_TRUE(reply_of("mutant_rounds_upward").environment_changed);
  EXPECT_EQ(std::fegetround(), FE_TONEAREST);
}

TEST(IsolatedKernel, StrayWritesShow) {
  EXPECT_TRUE(reply_of("mutant_writes_input").inputs_changed);
  const TensorReply behind = reply_of("mutant_writes_past_end");
  EXPECT_TRUE(behind.end == CallEnd::crashed || behind.wrote_outside);
  KernelCall at_the_beginning = two_logits();
  at_the_beginning.layout.against_the_end = at_the_beginning.output_layout.against_the_end = false;
  EXPECT_TRUE(reply_of("mutant_writes_past_end", at_the_beginning).wrote_outside);
}

TEST(IsolatedKernel, AReadBehindTheEndIsACrash) { EXPECT_EQ(reply_of("mutant_reads_past_end").end, CallEnd::crashed); }

TEST(IsolatedKernel, WhatCannotBeLoadedSaysWhy) {
  const auto reason = [](const std::string& library, const std::string& symbol) {
    try {
      IsolatedKernel kernel({library, symbol});
    } catch (const KernelLoadError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.reason;
    }
    ADD_FAILURE() << library << " was loaded";
    return KernelLoadError::Reason::died_while_loading;
  };
  using Reason = KernelLoadError::Reason;
  EXPECT_EQ(reason("no-such-file.so", "x"), Reason::no_such_file);
  EXPECT_EQ(reason(SOFTCHECK_SOURCE_DIR "/kernels/entry/contracts.tsv", "x"), Reason::not_a_library);
  EXPECT_EQ(reason(SOFTCHECK_SOURCE_DIR "/kernels", "x"), Reason::not_a_library);
  EXPECT_EQ(reason(isolated_mutants, "no_such_symbol"), Reason::no_such_symbol);
}

TEST(IsolatedKernel, CallsThatDoNotFitAreWrongCalls) {
  IsolatedKernel kernel({isolated_mutants, "correct_two_pass"});
  KernelCall call = two_logits();
  call.columns = 3;
  EXPECT_THROW(kernel.call(lowered(call)), std::invalid_argument);
  call = two_logits();
  call.layout.column_stride = 0;
  EXPECT_THROW(kernel.call(lowered(call)), std::invalid_argument);
  call = two_logits();
  call.layout.row_gap = std::int64_t{1} << 40;
  call.rows = 2;
  call.logits = {1, 1, 1, 1};
  EXPECT_THROW(kernel.call(lowered(call)), std::invalid_argument);
}

// 3 rows of 2 logits.
KernelCall three_rows() {
  KernelCall call;
  call.rows = 3;
  call.columns = 2;
  call.logits = {0, 0, 1, 1, 2, 2};
  return call;
}

const std::vector<double> halves{0.5, 0.5, 0.5, 0.5, 0.5, 0.5};

TEST(IsolatedKernel, EveryTensorHasALayoutOfItsOwn) {
  KernelCall call = three_rows();
  call.mask = {1, 1, 1, 1, 1, 1};
  call.layout = {.column_stride = 2, .row_gap = 1, .offset = 3, .against_the_end = true};
  call.output_layout = {.column_stride = 1, .row_gap = 4, .offset = 0, .against_the_end = false};
  call.mask_layout = {.column_stride = 3, .row_gap = 0, .offset = 1, .against_the_end = true};
  const TensorReply reply = reply_of("correct_two_pass", call);
  EXPECT_EQ(reply.end, CallEnd::done);
  EXPECT_EQ(reply.outputs.at(0), halves);
  EXPECT_FALSE(reply.inputs_changed || reply.wrote_outside);
}

TEST(IsolatedKernel, AnOutputInPlaceIsItsInput) {
  KernelCall call = three_rows();
  call.in_place = true;
  call.layout.row_gap = 1;
  const TensorReply reply = reply_of("correct_two_pass", call);
  EXPECT_EQ(reply.outputs.at(0), halves);
  EXPECT_FALSE(reply.inputs_changed || reply.wrote_outside);
  TensorCall other_place = lowered(call);
  other_place.outputs[0].place.offset = 1;
  IsolatedKernel kernel({isolated_mutants, "correct_two_pass"});
  EXPECT_THROW(kernel.call(other_place), std::invalid_argument);
}

TEST(IsolatedKernel, RowsMayLieBeyondTwoToTheThirtyTwoElements) {
  IsolatedKernel kernel({isolated_mutants, "correct_two_pass"});
  for (const bool against_the_end : {true, false}) {
    KernelCall call = three_rows();
    call.layout.row_gap = (std::int64_t{1} << 31) + 5;  // the third row lies beyond 2^32
    call.layout.against_the_end = against_the_end;
    call.output_layout = call.layout;
    const TensorReply reply = kernel.call(lowered(call));
    EXPECT_EQ(reply.end, CallEnd::done) << reply.death;
    EXPECT_EQ(reply.outputs.at(0), halves);
    EXPECT_FALSE(reply.inputs_changed || reply.wrote_outside);
    EXPECT_EQ(kernel.call(one_row()).outputs.at(0), (std::vector<double>{0.5, 0.5}));
  }
}

TEST(IsolatedKernel, ARowStrideForgottenIsACrashWhereRowsLieFarApart) {
  KernelCall call = three_rows();
  call.rows = 2;
  call.logits.resize(4);
  call.layout.row_gap = std::int64_t{1} << 31;
  call.output_layout = call.layout;
  EXPECT_EQ(reply_of("mutant_ignores_row_stride", call).end, CallEnd::done) << "both rows within the first page";
  call.columns = 4096;
  call.logits.assign(8192, 1.0);
  EXPECT_EQ(reply_of("mutant_ignores_row_stride", call).end, CallEnd::crashed);
}

TEST(IsolatedKernel, EmptyTensorsHaveNoData) {
  for (const auto& [rows, columns] : {std::pair<int, int>{0, 4}, {4, 0}, {0, 0}}) {
    KernelCall call;
    call.rows = rows;
    call.columns = columns;
    const TensorReply reply = reply_of("correct_two_pass", call);
    EXPECT_NE(reply.end, CallEnd::crashed) << rows << " x " << columns;
    EXPECT_FALSE(reply.inputs_changed || reply.wrote_outside);
  }
}

TEST(IsolatedKernel, AWriteAfterTheReturnShowsLater) {
  IsolatedKernel kernel({isolated_mutants, "mutant_writes_after_return"});
  EXPECT_FALSE(kernel.call(one_row()).wrote_late);
  // The kernel's thread writes a millisecond after the return. A loaded machine may take longer to hand the reply over:
  // that write is then part of the result and none is late, so that another call is made.
  const auto is_seen_after_a_call = [&] {
    kernel.call(one_row());
    for (int wait = 0; wait < 20; ++wait) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      if (kernel.wrote_late()) return true;
    }
    return false;
  };
  bool seen = false;
  for (int call = 0; call < 50 && !seen; ++call) seen = is_seen_after_a_call();
  EXPECT_TRUE(seen);
  // And the next call says so by itself.
  seen = false;
  for (int call = 0; call < 50 && !seen; ++call) {
    seen = kernel.call(one_row()).wrote_late;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_TRUE(seen);
}

// The judge's ends of the kernel's channel then have the numbers of streams.
TEST(IsolatedKernel, AJudgeWithoutStandardStreamsIsAnswered) {
  for (int closed = 1; closed < 8; ++closed) {
    const pid_t judge = fork();
    if (judge == 0) {
      alarm(20);
      for (int stream = 0; stream < 3; ++stream) {
        if ((closed >> stream & 1) != 0) close(stream);
      }
      _exit(reply_of("correct_two_pass", two_logits(), {}).end == CallEnd::done ? 0 : 1);
    }
    int status = 0;
    waitpid(judge, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "streams " << closed << " closed";
  }
}

TEST(IsolatedKernel, NothingIsLeftBehind) {
  const int before = open_descriptors();
  for (const char* symbol : {"correct_two_pass", "mutant_crashes", "mutant_closes_every_descriptor"}) reply_of(symbol);
  EXPECT_THROW(IsolatedKernel({isolated_mutants, "no_such_symbol"}), KernelLoadError);
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST(ParseKernelSource, SplitsAtTheLastColon) {
  const KernelSource source = parse_kernel_source("a:b.so:f");
  EXPECT_EQ(source.library, "a:b.so");
  EXPECT_EQ(source.symbol, "f");
  for (const char* wrong : {"", "lib.so", "lib.so:", ":f"}) {
    EXPECT_THROW(parse_kernel_source(wrong), std::invalid_argument) << wrong;
  }
}

const std::string slow = library_path("softcheck_loads_slowly");

TEST(LoadedKernel, ACrashCostsAForkAndNotALoad) {
  if (const char* emulator = std::getenv("SOFTCHECK_EMULATOR")) GTEST_SKIP() << "the times are " << emulator << "'s";
  IsolatedKernel kernel({slow, "mutant_crashes_after_a_slow_load"}, limits_of());
  if (!kernel.containment().processes) GTEST_SKIP() << "without a pid namespace every process loads the library";
  const double seconds = seconds_of([&] {
    for (int i = 0; i < 10; ++i) EXPECT_EQ(kernel.call(one_row()).end, CallEnd::crashed);
  });
  EXPECT_LT(seconds, 5) << "ten loads take ten seconds";
}

TEST(LoadedKernel, ALibraryWithAThreadIsNotForked) {
  const std::string library = library_path("softcheck_starts_a_thread");
  IsolatedKernel kernel({library, "correct_by_a_thread_from_loading"}, limits_of());
  const TensorReply reply = kernel.call(one_row());
  EXPECT_EQ(reply.end, CallEnd::done) << reply.death;
  EXPECT_EQ(reply.outputs.at(0), (std::vector<double>{0.5, 0.5}));
}

TEST(LoadedKernel, LoadingHasALimitOfItsOwn) {
  KernelLimits limits = limits_of();
  limits.seconds_per_call = 0.8;  // less than loading takes, and more than a call on a loaded machine
  IsolatedKernel kernel({slow, "correct_after_a_slow_load"}, limits);
  EXPECT_EQ(kernel.call(one_row()).end, CallEnd::done);
  limits.seconds_to_load = 0.2;
  try {
    IsolatedKernel never({slow, "correct_after_a_slow_load"}, limits);
    FAIL() << "loaded in 0.2 s";
  } catch (const KernelLoadError& error) {
    EXPECT_EQ(error.reason, KernelLoadError::Reason::died_while_loading);
    EXPECT_THAT(std::string(error.what()), HasSubstr("did not finish loading")) << error.what();
  }
}

TEST(LoadedKernel, ALibraryThatSetsFtzAsItLoadsIsFound) {
  const std::string library = library_path("softcheck_sets_ftz");
#if defined(__SSE__) || defined(__aarch64__)
  EXPECT_TRUE(IsolatedKernel({library, "mutant_sets_ftz_while_loading"}).loading_changed_environment());
#endif
  EXPECT_FALSE(IsolatedKernel({intruders, "mutant_writes_shape"}).loading_changed_environment());
}

TEST(LoadedKernel, ALimitIsANumberOfSeconds) {
  for (const double wrong : {nan, infinity, 0.0, -1.0}) {
    KernelLimits limits;
    limits.seconds_per_call = wrong;
    EXPECT_THROW(IsolatedKernel({intruders, "mutant_writes_shape"}, limits), std::invalid_argument) << wrong;
    limits = {};
    limits.seconds_to_load = wrong;
    EXPECT_THROW(IsolatedKernel({intruders, "mutant_writes_shape"}, limits), std::invalid_argument) << wrong;
  }
}

}  // namespace
}  // namespace softcheck::proptests
