#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "judge/campaigns/plan.hpp"
#include "judge/campaigns/shard_file.hpp"

namespace softcheck::proptests {

/// A shard runs in its campaign's folder: the working folder is the earlier one again at the end of a scope.
class StateFolder {
 public:
  StateFolder() : before_(std::filesystem::current_path()) {}
  ~StateFolder() { std::filesystem::current_path(before_); }
  StateFolder(const StateFolder&) = delete;
  StateFolder& operator=(const StateFolder&) = delete;

 private:
  std::filesystem::path before_;
};

/// A folder of this process that goes with the test.
class ScratchFolder {
 public:
  ScratchFolder()
      : path_(std::filesystem::path(testing::TempDir()) / ("softcheck-campaign-" + std::to_string(::getpid()))) {
    std::filesystem::remove_all(path_);
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() { std::filesystem::remove_all(path_); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A plan of some shards with two judgements each, and a file for each shard whose answers are made up.
struct SampleCampaign {
  Plan plan;
  std::vector<ShardFile> files;
};
SampleCampaign sample_campaign(int kernels);

}  // namespace softcheck::proptests
