// Reading a checkpoint's matrix as doubles, in GB/s of the file, against a plain pread of the same bytes into one
// buffer of a mebibyte; both find the file in the page cache. Then part of each row, which is what a head of GPT-2's
// Conv1D is.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "models/read/element_format.hpp"
#include "models/read/file_source.hpp"
#include "models/read/tensor_reader.hpp"

namespace {

using namespace softcheck::models;

constexpr std::int64_t rows = 4096;

// A file of one matrix; its bytes are small numbers in every format.
class MatrixFile {
 public:
  MatrixFile(const char* dtype, std::int64_t columns) {
    const ElementFormat& format = *find_element_format(dtype);
    bytes_ = rows * columns / format.block_numbers * format.block_bytes;
    std::string pattern = (std::filesystem::temp_directory_path() / "softcheck_read.XXXXXX").string();
    close(mkstemp(pattern.data()));
    path_ = pattern;
    const std::vector<char> row(static_cast<std::size_t>(bytes_ / rows), 0x21);
    std::ofstream stream(path_, std::ios::binary);
    for (std::int64_t i = 0; i < rows; ++i) stream.write(row.data(), static_cast<std::streamsize>(row.size()));
    stream.close();
    place_ = {open_file_source(path_), path_.string(), 0};
    tensor_ = {"w", dtype, {rows, columns}};
  }
  ~MatrixFile() { std::filesystem::remove(path_); }
  MatrixFile(const MatrixFile&) = delete;
  MatrixFile& operator=(const MatrixFile&) = delete;

  std::int64_t bytes() const { return bytes_; }
  const std::filesystem::path& path() const { return path_; }
  TensorBlock read(IndexRange of_rows, IndexRange of_columns) const {
    return read_tensor_block(place_, tensor_, of_rows, of_columns);
  }

 private:
  std::filesystem::path path_;
  std::int64_t bytes_ = 0;
  TensorBytes place_;
  StoredTensor tensor_;
};

void read_rows(benchmark::State& state, const char* dtype) {
  constexpr std::int64_t columns = 4096, of_a_head = 128;
  const MatrixFile file(dtype, columns);
  for (auto _ : state) {
    for (std::int64_t row = 0; row < rows; row += of_a_head) {
      benchmark::DoNotOptimize(file.read({row, of_a_head}, {0, columns}).values.data());
    }
  }
  state.SetBytesProcessed(state.iterations() * file.bytes());
}

void plain_pread(benchmark::State& state, const char* dtype) {
  const MatrixFile file(dtype, 4096);
  const int descriptor = open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> buffer(std::size_t{1} << 20);
  for (auto _ : state) {
    for (off_t at = 0; at < file.bytes(); at += static_cast<off_t>(buffer.size())) {
      if (pread(descriptor, buffer.data(), buffer.size(), at) < 0) state.SkipWithError("pread failed");
      benchmark::DoNotOptimize(buffer.data());
    }
  }
  close(descriptor);
  state.SetBytesProcessed(state.iterations() * file.bytes());
}

// 64 columns of a matrix of f32: time a row.
void read_columns(benchmark::State& state) {
  const MatrixFile file("F32", state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(file.read({0, rows}, {64, 64}).values.data());
  state.counters["row"] = benchmark::Counter(
      static_cast<double>(rows), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

}  // namespace

BENCHMARK_CAPTURE(plain_pread, f32, "F32");
BENCHMARK_CAPTURE(read_rows, f32, "F32");
BENCHMARK_CAPTURE(plain_pread, bf16, "BF16");
BENCHMARK_CAPTURE(read_rows, bf16, "BF16");
BENCHMARK_CAPTURE(read_rows, f16, "F16");
BENCHMARK_CAPTURE(read_rows, e4m3, "F8_E4M3");
BENCHMARK_CAPTURE(plain_pread, q4_k, "Q4_K");
BENCHMARK_CAPTURE(read_rows, q4_k, "Q4_K");
BENCHMARK_CAPTURE(read_rows, q6_k, "Q6_K");
BENCHMARK_CAPTURE(read_rows, q8_0, "Q8_0");
BENCHMARK(read_columns)->RangeMultiplier(2)->Range(512, 16384);

BENCHMARK_MAIN();
