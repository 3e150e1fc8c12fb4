// The language models that ship, run forward by us, have the logits that transformers computes with the same folders:
// language_logits.tsv, which make_language_logits.py wrote, and python/tests/test_language_export.py holds against the
// transformers that is installed.
// Compiled alone: another test of the folder includes language_pass.inl, too.
// clang-format off
// clang-format on
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "experiments/language/characters.hpp"
#include "experiments/language/entmax_attention.inl"
#include "experiments/language/language_lane.hpp"
#include "experiments/language/language_model.hpp"
#include "experiments/language/language_parts.hpp"
#include "experiments/language/language_pass.inl"
#include "experiments/language/language_training.hpp"
#include "experiments/max_retrieval_sets.hpp"
#include "models/read/file_source.hpp"
#include "models/read/safetensors_header.hpp"

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

// Entmax in the language model's heads: thresholds within their derived error, every lane, and why no certificate of
// softmax holds for it. Its gradient is held in language_model_test.cpp.
// clang-format off
// clang-format on

// By halving in long double, which errs by n 2^-64: the sum's roundings over its slope, at least 2.
template <class Scalar>
std::vector<long double> exact_roots(const std::vector<Scalar>& scores) {
  const long double largest = std::ranges::max(scores);
  const auto root = [&](Scalar score, long double t) {
    return std::max(0.0L, (static_cast<long double>(score) - largest) / 2 - t);
  };
  long double low = -1, high = 0;
  for (int halving = 0; halving < 70; ++halving) {
    const long double middle = (low + high) / 2;
    long double sum = 0;
    for (const Scalar score : scores) sum += root(score, middle) * root(score, middle);
    (sum > 1 ? low : high) = middle;
  }
  std::vector<long double> roots;
  for (const Scalar score : scores) roots.push_back(root(score, low));
  return roots;
}

template <class Scalar>
std::vector<Scalar> computed_roots(const std::vector<Scalar>& scores) {
  const auto size = static_cast<Eigen::Index>(scores.size());
  EntmaxMatrix<Scalar> row(size, 1), above(size + 3, 1);
  std::ranges::copy(scores, row.data());
  entmax_roots(row.col(0).head(row.rows()), above);
  return {row.data(), row.data() + row.rows()};
}

// Rows with all weights alike, some, one, and many small ones beside a large one.
template <class Scalar>
std::vector<std::vector<Scalar>> some_rows(std::size_t n) {
  RandomWords words(n);
  std::vector<std::vector<Scalar>> rows{std::vector<Scalar>(n, Scalar(-3))};
  for (const double deviation : {0.1, 1.0, 10.0}) {
    rows.emplace_back();
    for (std::size_t i = 0; i < n; ++i) rows.back().push_back(static_cast<Scalar>(deviation * normal_draw(words)));
  }
  for (const double below : {1.0, 1.999, 2.0, 2.5}) {
    rows.emplace_back(n, static_cast<Scalar>(7 - below));
    rows.back()[n / 2] = 7;
  }
  return rows;
}

template <class Scalar>
class EntmaxRoots : public ::testing::Test {};
using EntmaxScalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(EntmaxRoots, EntmaxScalars);

// As entmax_roots() derives it: t errs by so much, x/2 less its maximum by u, and a root's own rounding is another.
TYPED_TEST(EntmaxRoots, ErrByNoMoreThanDerived) {
  constexpr long double u = std::numeric_limits<TypeParam>::epsilon() / 2.0L;
  for (const std::size_t n : {1U, 2U, 3U, 17U, 300U, 5000U}) {
    const auto count = static_cast<long double>(n);
    const long double first_order = 1 + count * u;
    const long double too_small = (count + 8) * u * first_order;
    const long double too_large = ((count + 3) / 2 + std::sqrt(count) + 4) * u * first_order;
    for (const std::vector<TypeParam>& row : some_rows<TypeParam>(n)) {
      const std::vector<long double> exact = exact_roots(row);
      const std::vector<TypeParam> computed = computed_roots(row);
      for (std::size_t i = 0; i < n; ++i) {
        const long double error = static_cast<long double>(computed[i]) - exact[i];
        ASSERT_GE(error, -too_small) << n << " items, item " << i;
        ASSERT_LE(error, too_large) << n << " items, item " << i;
      }
    }
  }
}

// Lemma 2.1 bounds softmax's coefficients by the row's spread on both sides, and the upper bound falls as 1/n. Entmax
// keeps neither: two above all others a score has weight 1 among any number, the others exactly 0; a spread of 1 leaves
// it a quarter.
TEST(EntmaxAttention, ASpreadOfTwoIsSharpAmongAnyNumber) {
  for (const std::size_t n : {2U, 100U, 65536U}) {
    std::vector<double> row(n, 0.0);
    row[1] = 2;
    std::vector<double> roots = computed_roots(row);
    EXPECT_EQ(roots[1], 1);
    EXPECT_EQ(std::ranges::count(roots, 0.0), static_cast<std::ptrdiff_t>(n - 1));
    row[1] = 1;
    roots = computed_roots(row);
    EXPECT_GE(roots[1] * roots[1], 0.25);
    EXPECT_GT(roots[0], 0);
  }
}

struct EntmaxRun {
  std::vector<double> attended, d_projected;
};

// Each lane in f32 against the same code in f64, which language_model_test.cpp holds against the definition. The texts
// end within a block of queries and behind it.
TEST(EntmaxAttention, TheLanesAgreeWithDouble) {
  const LanguageShape shape{.layers = 1, .width = 32, .heads = 2, .inner = 16};
  const std::vector<std::int64_t> begins{0, 1, 65, 195, 200};
  const auto tokens = static_cast<std::size_t>(begins.back()), d = static_cast<std::size_t>(shape.width);
  RandomWords words(8);
  Floats projected(3 * d * tokens), d_attended(d * tokens);
  for (float& value : projected) value = static_cast<float>(normal_draw(words));
  for (float& value : d_attended) value = static_cast<float>(normal_draw(words));
  const std::vector<double> exact(projected.begin(), projected.end()), upstream(d_attended.begin(), d_attended.end());
  EntmaxRun truth{std::vector<double>(d * tokens), std::vector<double>(3 * d * tokens)};
  const EntmaxTexts texts{shape, begins.data(), 4};
  entmax_attend<double>(texts, exact.data(), truth.attended.data());
  entmax_attend_back<double>(texts, exact.data(), upstream.data(), truth.d_projected.data());
  std::vector<const softcheck_language_lane*> lanes{&softcheck_language_baseline};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) lanes.push_back(&softcheck_language_avx2);
  if (&language_lane() == &softcheck_language_avx512) lanes.push_back(&softcheck_language_avx512);
#endif
  const auto distance = [](const Floats& computed, const std::vector<double>& wanted) {
    double difference = 0, norm = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      difference += std::pow(static_cast<double>(computed[i]) - wanted[i], 2);
      norm += wanted[i] * wanted[i];
    }
    return std::sqrt(difference / norm);
  };
  // A score errs by 18 u of its terms' size, at most some 16; a root by that, and by n + 8 for its threshold; what is
  // made of weights, twice that and a sum's n, and there and back three of these follow each other. A wrong lane is
  // wrong by as much as the result itself.
  const double bound = 3 * (2 * (18 * 16 + 138) + 130) * 0x1p-24;
  for (const softcheck_language_lane* lane : lanes) {
    Floats attended(d * tokens), d_projected(3 * d * tokens);
    lane->entmax(shape, begins.data(), 4, projected.data(), attended.data());
    EXPECT_LE(distance(attended, truth.attended), bound) << lane->name;
    lane->entmax_back(shape, begins.data(), 4, projected.data(), d_attended.data(), d_projected.data());
    EXPECT_LE(distance(d_projected, truth.d_projected), bound) << lane->name;
  }
}

}  // namespace
}  // namespace softcheck::experiments
