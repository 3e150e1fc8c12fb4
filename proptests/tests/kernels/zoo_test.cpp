#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "proptests/tests/kernels/loaded_kernel.hpp"
#include "proptests/tests/kernels/zoo_row.hpp"

namespace softcheck::kernel_tests {
namespace {

namespace fs = std::filesystem;

TEST(Zoo, EveryRowNamesAKernelThatLoads) {
  const std::vector<ZooRow> rows = read_zoo();
  ASSERT_GT(rows.size(), 60u);
  std::fenv_t before;  // one of the libraries sets flush-to-zero as it loads
  std::fegetenv(&before);
  for (const ZooRow& row : rows) {
    if (row.library == "softcheck_peer_onednn" && !fs::exists(library_path(row.library))) continue;  // it is optional
    EXPECT_NE(load_kernel(row.library, row.symbol), nullptr) << row.library << ":" << row.symbol;
  }
  std::fesetenv(&before);
}

TEST(Zoo, EveryMutantHasItsRow) {
  std::set<std::string> listed;
  for (const ZooRow& row : read_zoo()) {
    listed.insert(row.library);
    listed.insert(row.symbol);
  }
  // A file may hold several, each called by its own name.
  const auto holds_a_listed_one = [&](const fs::path& file) {
    std::ifstream stream(file);
    const std::string text{std::istreambuf_iterator<char>(stream), {}};
    return std::ranges::any_of(listed, [&](const std::string& symbol) {
      return text.find("(" + symbol + ",") != std::string::npos ||
             text.find(" " + symbol + "(const softcheck_call") != std::string::npos;
    });
  };
  for (const auto& entry : fs::recursive_directory_iterator(std::string(SOFTCHECK_SOURCE_DIR) + "/kernels/zoo")) {
    if (entry.path().extension() == ".cpp") {
      const std::string stem = entry.path().stem();
      const bool is_listed = listed.contains(stem) || listed.contains("mutant_" + stem);
      EXPECT_TRUE(is_listed || listed.contains("softcheck_" + stem) || holds_a_listed_one(entry.path())) << stem;
    }
  }
}

TEST(Peers, OneDnnTakesPlainRowsAndRefusesTheRest) {
  if (!fs::exists(library_path("softcheck_peer_onednn"))) {
    GTEST_SKIP() << "oneDNN was not found when this was built";
  }
  setenv("OMP_NUM_THREADS", "1", 1);  // before its OpenMP loads: a pool of threads upsets the leak checker at exit
  const softcheck_kernel softmax = load_kernel("softcheck_peer_onednn", "softcheck_onednn_softmax");
  const softcheck_kernel log_softmax = load_kernel("softcheck_peer_onednn", "softcheck_onednn_log_softmax");
  ASSERT_NE(softmax, nullptr) << dlerror();
  ASSERT_NE(log_softmax, nullptr);
  F32 in({3, 64}, {70, 1}, 2), out({3, 64}, {}, 0, -1.0f);
  Call call(in.view, out.view);
  EXPECT_EQ(softmax(&call.call), 0);
  for (std::int64_t r = 0; r < 3; ++r) {
    // 64 equal logits: exp, sum and quotient are exact.
    EXPECT_TRUE(same_bits(out.row(r), std::vector<float>(64, 0x1p-6f)));
  }
  EXPECT_EQ(log_softmax(&call.call), 0);
  call.call.theta = 2;
  EXPECT_NE(softmax(&call.call), 0);
  call.call.theta = 1;
  Tensor<std::uint8_t> mask(mask_type, {3, 64});
  Call masked(in.view, out.view, &mask.view);
  EXPECT_NE(softmax(&masked.call), 0);
  F32 spaced({3, 64}, {200, 3});
  Call apart(spaced.view, out.view);
  EXPECT_NE(softmax(&apart.call), 0);
}

}  // namespace
}  // namespace softcheck::kernel_tests
