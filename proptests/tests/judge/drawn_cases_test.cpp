// The same seed draws the same cases with every compiler.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/row_matrices/row_matrix.hpp"
#include "proptests/generators/row_matrices/row_matrix_classes.hpp"
#include "proptests/generators/rows/row_families.hpp"

namespace softcheck::proptests {
namespace {

// FNV-1a.
class TextHash {
 public:
  void add(std::string_view text) {
    for (const char c : text) value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    value_ = (value_ ^ 0xffu) * 0x100000001b3u;
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

template <class Case>
std::uint64_t hash_of(const rc::Gen<Case>& generator) {
  TextHash hash;
  rc::Random random(20241001);
  for (int size = 0; size < 200; ++size) hash.add(to_text(generator(random.split(), size / 2).value()));
  return hash.value();
}

RowMatrixOptions matrices_of(numerics::Format format) {
  RowMatrixOptions options;
  options.rows.formats = {format};
  options.rows.families.assign(kernel_row_families().begin(), kernel_row_families().end());
  options.rows.max_length = options.rows.max_edge_length = 4096;
  options.rows.auxiliaries = most_auxiliary;
  options.max_elements = 4096;
  options.nans = options.infinities = options.rows.fully_masked = true;
  return options;
}

std::uint64_t hash_of_covers(numerics::Format format) {
  TextHash hash;
  for (const RowMatrixCase& matrix : covering_matrices(matrices_of(format), false, 7).matrices) {
    hash.add(to_text(matrix));
  }
  return hash.value();
}

AttentionOptions attention_of(numerics::Format format) {
  AttentionOptions options;
  options.format = format;
  options.layouts = options.gradients = options.blind_queries = options.attributes = true;
  options.domain = parse_domain("window softcap sinks alibi packed causal=either", true);
  return options;
}

struct Pin {
  std::string_view what;
  std::uint64_t f32, bf16;
};

// Of g++ 12 on x86-64. The test prints the new hashes where they differ. They belong here if the draws were meant to
// change.
constexpr std::array pins{
    Pin{"rows", 0xb3d7d20bde68385c, 0xc20b0fa4d08452d2},
    Pin{"matrices", 0xb3487bf94ec077d0, 0x92b3fadd172d6c2c},
    Pin{"covers", 0x4f5bda9093ff6128, 0x358c6e4690e3d237},
    Pin{"attention", 0xa95e414c122b7cc8, 0x789b4be33cfe0741},
};

TEST(DrawnCases, OfOneSeedAreTheSameWithEveryCompiler) {
  std::string now;
  bool same = true;
  const auto check = [&](std::string_view what, std::uint64_t f32, std::uint64_t bf16) {
    const auto* pin = std::ranges::find(pins, what, &Pin::what);
    same = same && pin != pins.end() && pin->f32 == f32 && pin->bf16 == bf16;
    std::array<char, 120> line{};
    std::snprintf(line.data(), line.size(), "    Pin{\"%s\", 0x%016llx, 0x%016llx},\n", std::string(what).c_str(),
                  static_cast<unsigned long long>(f32), static_cast<unsigned long long>(bf16));
    now += line.data();
  };
  using numerics::Format;
  check("rows", hash_of(row_cases(matrices_of(Format::f32).rows)), hash_of(row_cases(matrices_of(Format::bf16).rows)));
  check("matrices", hash_of(row_matrices(matrices_of(Format::f32))), hash_of(row_matrices(matrices_of(Format::bf16))));
  check("covers", hash_of_covers(Format::f32), hash_of_covers(Format::bf16));
  check("attention", hash_of(attention_cases(attention_of(Format::f32))),
        hash_of(attention_cases(attention_of(Format::bf16))));
  EXPECT_TRUE(same) << "the hashes are now:\n" << now;
}

}  // namespace
}  // namespace softcheck::proptests
