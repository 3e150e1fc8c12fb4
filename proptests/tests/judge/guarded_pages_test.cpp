#include "proptests/judge/guarded_pages.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstring>

namespace softcheck::proptests {
namespace {

// By a signal; under a sanitizer by its exit. A statement that returns has not died, whatever this says.
bool died(int status) { return !(WIFEXITED(status) && WEXITSTATUS(status) == 0); }

constexpr std::size_t size = 300;  // no multiple of a page

TEST(GuardedPagesDeathTest, AReadBehindTheEndKills) {
  const GuardedPages pages(size);
  const GuardedView view(pages, size, true, Filling::input);
  const volatile std::byte* bytes = view.bytes().data();
  EXPECT_EXIT(static_cast<void>(bytes[size]), died, "");
}

TEST(GuardedPagesDeathTest, AReadBeforeTheBeginningKills) {
  const GuardedPages pages(size);
  const GuardedView view(pages, size, false, Filling::input);
  const volatile std::byte* bytes = view.bytes().data();
  EXPECT_EXIT(static_cast<void>(*(bytes - 1)), died, "");
}

TEST(GuardedPages, AWriteBesideTheViewShows) {
  const GuardedPages pages(size);
  for (const bool against_the_end : {true, false}) {
    const GuardedView view(pages, size, against_the_end, Filling::output);
    EXPECT_TRUE(view.surroundings_intact());
    std::byte* beside = against_the_end ? view.bytes().data() - 1 : view.bytes().data() + size;
    *beside = std::byte{0};
    EXPECT_FALSE(view.surroundings_intact());
  }
}

TEST(GuardedPages, AViewTellsWhatWasNeverWritten) {
  const GuardedPages pages(size);
  const GuardedView view(pages, size, true, Filling::output);
  EXPECT_TRUE(view.untouched(view.bytes()));
  view.bytes()[7] = std::byte{0xff};
  EXPECT_FALSE(view.untouched(view.bytes()));
  float unwritten = 0;
  std::memcpy(&unwritten, view.bytes().data() + 8, sizeof unwritten);
  EXPECT_GT(unwritten, 1) << "no coefficient";
}

TEST(GuardedPages, AViewLargerThanItsPagesIsRefused) {
  const GuardedPages pages(size);
  EXPECT_THROW(GuardedView(pages, pages.bytes().size() + 1, true, Filling::input), std::invalid_argument);
}

}  // namespace
}  // namespace softcheck::proptests
