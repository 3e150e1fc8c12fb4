#include "judge/sandbox/guarded_pages.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstring>
#include <stdexcept>

namespace softcheck::proptests {
namespace {

// By a signal; under a sanitizer by its exit. A statement that returns has not died, whatever this says.
bool died(int status) { return !(WIFEXITED(status) && WEXITSTATUS(status) == 0); }

constexpr std::size_t size = 300;  // no multiple of a page

TEST(GuardedPagesDeathTest, AReadBehindTheEndKills) {
  GuardedPages pages(size, Filling::input);
  const volatile std::byte* bytes = pages.place(size, true);
  EXPECT_EXIT(static_cast<void>(bytes[size]), died, "");
}

TEST(GuardedPagesDeathTest, AReadBeforeTheBeginningKills) {
  GuardedPages pages(size, Filling::input);
  const volatile std::byte* bytes = pages.place(size, false);
  EXPECT_EXIT(static_cast<void>(*(bytes - 1)), died, "");
}

TEST(GuardedPages, AWriteBesideTheViewShowsOnce) {
  GuardedPages pages(size, Filling::output);
  for (const bool against_the_end : {true, false}) {
    std::byte* view = pages.place(size, against_the_end);
    EXPECT_TRUE(pages.restore());
    *(against_the_end ? view - 1 : view + size) = std::byte{0};
    EXPECT_FALSE(pages.restore());
    EXPECT_TRUE(pages.restore());
  }
}

TEST(GuardedPages, AViewTellsWhatWasNeverWritten) {
  GuardedPages pages(size, Filling::output);
  std::byte* view = pages.place(size, true);
  float unwritten = 0;
  std::memcpy(&unwritten, view + 8, sizeof unwritten);
  EXPECT_GT(unwritten, 1) << "no coefficient";
  view[7] = std::byte{0xff};
  EXPECT_FALSE(pages.restore());
}

TEST(GuardedPages, AViewLargerThanItsPagesIsRefused) {
  GuardedPages pages(size, Filling::input);
  EXPECT_THROW(pages.place(pages.size() + 1, true), std::invalid_argument);
}

constexpr std::size_t far_apart = std::size_t{1} << 35;

TEST(GuardedPages, SparsePagesHoldWhatIsUsed) {
  const std::array used{ByteRange{far_apart, far_apart + 8}, ByteRange{0, 8}};
  GuardedPages pages(far_apart + 8, Filling::input, used);
  std::byte* view = pages.place(far_apart + 8, false);
  EXPECT_EQ(view[far_apart], std::byte{0xff});
  EXPECT_TRUE(pages.restore());
  view[far_apart + 9] = std::byte{0};
  EXPECT_FALSE(pages.restore());
  EXPECT_TRUE(pages.restore());
}

TEST(GuardedPagesDeathTest, BetweenSparsePagesNothingCanBeTouched) {
  const std::array used{ByteRange{0, 8}, ByteRange{far_apart, far_apart + 8}};
  GuardedPages pages(far_apart + 8, Filling::input, used);
  const volatile std::byte* view = pages.place(far_apart + 8, false);
  EXPECT_EXIT(static_cast<void>(view[far_apart / 2]), died, "");
}

TEST(GuardedPages, SparseRangesOutsideAreRefused) {
  EXPECT_THROW(GuardedPages(8, Filling::input, std::array{ByteRange{4, 9}}), std::invalid_argument);
  EXPECT_THROW(GuardedPages(8, Filling::input, std::array{ByteRange{4, 4}}), std::invalid_argument);
  EXPECT_THROW(GuardedPages(8, Filling::input, {}), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
