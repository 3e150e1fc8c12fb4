// The language models that ship, run forward by us, have the logits that transformers computes with the same folders:
// language_logits.tsv, which make_language_logits.py wrote, and python/tests/test_language_export.py holds against the
// transformers that is installed.
// Compiled alone: another test of the folder includes language_pass.inl, too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/language/characters.hpp"
#include "experiments/language/language_lane.hpp"
#include "experiments/language/language_model.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/language/language_training.hpp"
#include "models/read/file_source.hpp"
#include "models/read/safetensors_header.hpp"
// clang-format off
#include "experiments/language/language_pass.inl"
// clang-format on

namespace softcheck::experiments {
namespace {

const std::filesystem::path source_folder = SOFTCHECK_SOURCE_DIR;

// As make_language_logits.py has it.
const std::string recorded_text =
    "insertion_sort:\nkey: [a2zB], initial_trace: [a2zB]\ntrace | pred:\n[2azB], [2azB] | [2Baz]\n\n";

struct RecordedLogit {
  int place = 0, character = 0;
  double logit = 0, sensitivity = 0;
};

// Of each place a line of logits, and one of their sensitivities.
std::vector<RecordedLogit> recorded_logits(const std::string& model) {
  std::ifstream file(source_folder / "proptests/tests/experiments/language_logits.tsv");
  std::vector<RecordedLogit> logits;
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string name, numbers, number;
    int place = 0;
    if (!(fields >> name) || name != model) continue;
    fields >> place >> numbers;
    std::size_t next = logits.size();
    if (numbers == "logits") {
      for (int character = 0; fields >> number; ++character) logits.push_back({place, character, std::stod(number)});
    } else {
      for (next -= character_count; fields >> number; ++next) logits.at(next).sensitivity = std::stod(number);
    }
  }
  for (const RecordedLogit& one : logits) EXPECT_GT(one.sensitivity, 0) << one.place << " " << one.character;
  return logits;
}

const LanguageKernels& cpu_kernels() {
  static const LanguageKernels kernels(std::filesystem::path(SOFTCHECK_KERNEL_DIR) / "libsoftcheck_cpu_kernels.so");
  return kernels;
}

// The text, every character of which but the first is predicted: target i is at place i.
TokenBatch text_of_record(const LanguageDesign& design) {
  TokenBatch batch;
  add_text(batch, recorded_text, 1);
  if (design.positions == Positions::none) batch.positions.clear();
  return batch;
}

// Logits (places, characters) in f32, of the widest lane.
std::vector<double> single_logits(const LanguageDesign& design, const Floats& parameters) {
  const TokenBatch batch = text_of_record(design);
  const TurnTable<float> turns(design.shape);
  LanguageParts<float> parts(cpu_kernels(), design, batch);
  Floats logits(static_cast<std::size_t>(batch.targets()) * character_count);
  language_lane().forward(design.shape, parameters.data(), lane_batch(batch, turns), parts.calls(), logits.data());
  return {logits.begin(), logits.end()};
}

std::vector<double> double_logits(const LanguageDesign& design, const Floats& parameters) {
  const TokenBatch batch = text_of_record(design);
  const TurnTable<double> turns(design.shape);
  LanguageParts<double> parts(cpu_kernels(), design, batch);
  LanguageRoom<double> room;
  const std::vector<double> exact(parameters.begin(), parameters.end());
  run_forward<double>(design.shape, exact.data(),
                      {batch.tokens(), batch.ids.data(), batch.positions.empty() ? nullptr : batch.positions.data(),
                       batch.targets(), batch.places.data(), batch.labels.data()},
                      {turns.cosines.data(), turns.sines.data()}, parts, room);
  return {room.logits.data(), room.logits.data() + room.logits.size()};
}

// The largest share of what roundings explain: those of a pass in `unit`, and those of the record in 2^-53. The
// sensitivities are of first order and given to four digits; a part in a thousand is left for both.
double share_of_roundings(const std::string& model, const std::vector<double>& logits, double unit) {
  double share = 0;
  for (const RecordedLogit& one : recorded_logits(model)) {
    const double got = logits.at(static_cast<std::size_t>(one.place * character_count + one.character));
    const double granted = 1.001 * (unit + 0x1p-53) * one.sensitivity;
    share = std::max(share, std::fabs(got - one.logit) / granted);
  }
  return share;
}

class LanguageModelInTransformers : public ::testing::TestWithParam<const char*> {
 protected:
  // transformers has no adaptive temperature.
  void SetUp() override {
    model_ = read_language_model(source_folder / "experiments/models/language" / GetParam());
    model_.design.adaptive = false;
  }
  LanguageModel model_;
};

TEST_P(LanguageModelInTransformers, HasOurLogits) {
  EXPECT_EQ(recorded_logits(GetParam()).size(), 6U * character_count);
  EXPECT_LE(share_of_roundings(GetParam(), double_logits(model_.design, model_.parameters), 0x1p-53), 1);
  EXPECT_LE(share_of_roundings(GetParam(), single_logits(model_.design, model_.parameters), 0x1p-24), 1);
}

// What a wrong export would look like from here.
TEST_P(LanguageModelInTransformers, HasNotThoseOfAnotherModel) {
  const LanguagePlaces places{model_.design.shape};
  const auto d = static_cast<std::size_t>(model_.design.shape.width);
  const auto transpose = [&](std::size_t place) {
    return [=](LanguageModel& model) {
      for (std::size_t row = 0; row < d; ++row) {
        for (std::size_t column = 0; column < row; ++column) {
          std::swap(model.parameters[place + row * d + column], model.parameters[place + column * d + row]);
        }
      }
    };
  };
  const std::vector<std::pair<const char*, std::function<void(LanguageModel&)>>> wrong{
      {"queries' projection transposed", transpose(places.projections(0))},
      {"output's projection transposed", transpose(places.output(3))},
      {"keys for queries",
       [&](LanguageModel& model) {
         const auto first = model.parameters.begin() + static_cast<std::ptrdiff_t>(places.projections(1));
         const auto size = static_cast<std::ptrdiff_t>(places.square());
         std::swap_ranges(first, first + size, first + size);
       }},
      {"no positions", [](LanguageModel& model) { model.design.positions = Positions::none; }},
      {"adaptive", [](LanguageModel& model) { model.design.adaptive = true; }},
      {"gain of the last norm", [&](LanguageModel& model) { model.parameters[places.last_norm()] *= 1.0078125F; }},
  };
  for (const auto& [what, change] : wrong) {
    LanguageModel changed = model_;
    change(changed);
    EXPECT_GT(share_of_roundings(GetParam(), double_logits(changed.design, changed.parameters), 0x1p-53), 1) << what;
  }
}

std::string whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_P(LanguageModelInTransformers, IsWrittenAsItShips) {
  const std::filesystem::path shipped = source_folder / "experiments/models/language" / GetParam();
  const std::filesystem::path written =
      std::filesystem::path(::testing::TempDir()) / ("written-" + model_.name + "." + std::to_string(getpid()));
  std::filesystem::create_directories(written);
  const auto metadata =
      models::read_safetensors_header(models::open_file_source(shipped / "model.safetensors"), model_.name, "BF16")
          .metadata;
  write_language_model(written, model_.design, model_.parameters, {metadata.begin(), metadata.end()});
  for (const char* name : {"config.json", "model.safetensors"}) {
    EXPECT_FALSE(whole_file(shipped / name).empty());
    EXPECT_TRUE(whole_file(written / name) == whole_file(shipped / name)) << name;
  }
  std::filesystem::remove_all(written);
}

INSTANTIATE_TEST_SUITE_P(OfEach, LanguageModelInTransformers, ::testing::Values("plain-1", "adaptive-1"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace softcheck::experiments
