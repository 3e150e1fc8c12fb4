#include "models/read/tensor_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <span>
#include <stdexcept>

#include "models/read/element_format.hpp"

namespace softcheck::models {
namespace {

// Bytes of the file in memory at a time, unless one block has more.
constexpr std::int64_t piece_bytes = std::int64_t{1} << 20;
// What may be read in vain between two rows: copying as much costs what another call costs. Measured: models/bench.
constexpr std::int64_t gap_bytes = 4096;
// A tile of rows is decoded before it is stored in columns: it stays in the first cache, and a column gets whole lines.
constexpr std::int64_t tile_rows = 16;
constexpr std::int64_t tile_columns = 256;              // of every format whole blocks
constexpr std::int64_t tile_stride = tile_columns + 8;  // no power of two: rows would share cache sets

class BlockReader {
 public:
  BlockReader(const TensorBytes& place, const StoredTensor& tensor, IndexRange rows, IndexRange columns)
      : place_(place), tensor_(tensor), format_(format_of(place.file, tensor)), rows_(rows), columns_(columns) {}

  TensorBlock read() {
    result_.values.resize(rows_.count, columns_.count);
    if (result_.values.size() == 0) return std::move(result_);
    const std::int64_t block = format_.block_numbers;
    const std::int64_t begin = columns_.first / block, end = (columns_.first + columns_.count + block - 1) / block;
    const std::int64_t most = piece_bytes / format_.block_bytes;
    for (std::int64_t at = begin; at < end; at += most) read_stripe(at, std::min(most, end - at));
    return std::move(result_);
  }

 private:
  static const ElementFormat& format_of(const std::string& name, const StoredTensor& tensor) {
    if (const ElementFormat* format = find_element_format(tensor.dtype)) return *format;
    throw UnsupportedTensorFile(name + ": tensor '" + tensor.name + "': need one of the dtypes " +
                                element_format_names() + ", got " + tensor.dtype);
  }

  // So many blocks of each row from a block on. A gap between rows is read in vain if it is short.
  void read_stripe(std::int64_t block, std::int64_t count) {
    const std::int64_t row_bytes = tensor_.columns() / format_.block_numbers * format_.block_bytes;
    const std::int64_t bytes = count * format_.block_bytes;
    const bool together = row_bytes - bytes <= gap_bytes;
    const std::int64_t stride = together ? row_bytes : bytes;
    const std::int64_t rows = std::clamp<std::int64_t>(piece_bytes / stride, 1, rows_.count);
    const auto buffer =
        std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>((rows - 1) * stride + bytes));
    for (std::int64_t row = 0; row < rows_.count; row += rows) {
      const std::int64_t taken = std::min(rows, rows_.count - row);
      const std::int64_t at = (rows_.first + row) * row_bytes + block * format_.block_bytes;
      if (together) {
        read_bytes(at, buffer.get(), (taken - 1) * stride + bytes);
      } else {
        for (std::int64_t i = 0; i < taken; ++i) read_bytes(at + i * row_bytes, buffer.get() + i * stride, bytes);
      }
      for (std::int64_t tile = 0; tile < taken; tile += tile_rows) {
        decode_rows(buffer.get() + tile * stride, stride, row + tile, std::min(tile_rows, taken - tile), block, count);
      }
    }
  }

  void read_bytes(std::int64_t at, std::byte* into, std::int64_t count) const {
    if (place_.source.read(place_.begin + static_cast<std::uint64_t>(at), {into, static_cast<std::size_t>(count)}))
      return;
    throw TensorFileError(place_.file + ": tensor '" + tensor_.name +
                          "' cannot be read: the file has become shorter, or its disk fails");
  }

  // Blocks of a few rows; row and block are counted in the result and in the tensor.
  void decode_rows(const std::byte* bytes, std::int64_t stride, std::int64_t row, std::int64_t rows, std::int64_t block,
                   std::int64_t count) {
    const std::int64_t step = tile_columns / format_.block_numbers;
    for (std::int64_t done = 0; done < count; done += step) {
      const std::int64_t blocks = std::min(step, count - done);
      for (std::int64_t i = 0; i < rows; ++i) {
        format_.decode(bytes + i * stride + done * format_.block_bytes, blocks, tile_.data() + i * tile_stride);
      }
      // A block at an end of the columns may hold numbers of other columns.
      const std::int64_t column = (block + done) * format_.block_numbers - columns_.first;
      const std::int64_t begin = std::max<std::int64_t>(0, -column);
      const std::int64_t end = std::min(blocks * format_.block_numbers, columns_.count - column);
      store(row, rows, column, begin, end);
    }
  }

  // Numbers begin ... end - 1 of each row of the tile; the first of a row belongs to this column of the result.
  void store(std::int64_t row, std::int64_t rows, std::int64_t column, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < rows; ++i) require_finite(row + i, column, i, begin, end);
    double* into = &result_.values(row, column + begin);
    for (std::int64_t j = begin; j < end; ++j, into += result_.values.rows()) {
      const double* from = tile_.data() + j;
      if (rows == tile_rows) {
        for (std::int64_t i = 0; i < tile_rows; ++i) into[i] = from[i * tile_stride];
      } else {
        for (std::int64_t i = 0; i < rows; ++i) into[i] = from[i * tile_stride];
      }
    }
  }

  void require_finite(std::int64_t row, std::int64_t column, std::int64_t of_tile, std::int64_t begin,
                      std::int64_t end) const {
    const double* numbers = tile_.data() + of_tile * tile_stride;
    // x - x is 0, or NaN, which no later sum loses; four sums do not wait for each other.
    std::array<double, 4> sums{};
    std::int64_t j = begin;
    for (; j + 4 <= end; j += 4) {
      for (int k = 0; k < 4; ++k) sums[k] += numbers[j + k] - numbers[j + k];
    }
    for (; j < end; ++j) sums[0] += numbers[j] - numbers[j];
    if (sums[0] + sums[1] + sums[2] + sums[3] == 0) return;
    for (j = begin; std::isfinite(numbers[j]);) ++j;
    throw TensorFileError(place_.file + ": tensor '" + tensor_.name +
                          "': need numbers, got a NaN or an infinity at row " + std::to_string(rows_.first + row) +
                          ", column " + std::to_string(columns_.first + column + j));
  }

  const TensorBytes& place_;
  const StoredTensor& tensor_;
  const ElementFormat& format_;
  IndexRange rows_, columns_;
  std::array<double, tile_rows * tile_stride> tile_;
  TensorBlock result_;
};

void require_within(const StoredTensor& tensor, const char* what, IndexRange range, std::int64_t size) {
  if (range.first >= 0 && range.count >= 0 && range.first <= size && range.count <= size - range.first) return;
  throw std::invalid_argument("Checkpoint::read: tensor '" + tensor.name + "' has " + std::to_string(size) + " " +
                              what + ", got first " + std::to_string(range.first) + " and count " +
                              std::to_string(range.count));
}

}  // namespace

TensorBlock read_tensor_block(const TensorBytes& place, const StoredTensor& tensor, IndexRange rows,
                              IndexRange columns) {
  std::int64_t stored_rows = 1;  // of more than two dimensions all but the last together
  for (std::size_t i = 0; i + 1 < tensor.shape.size(); ++i) stored_rows *= tensor.shape[i];
  require_within(tensor, "rows", rows, stored_rows);
  require_within(tensor, "columns", columns, tensor.columns());
  return BlockReader(place, tensor, rows, columns).read();
}

}  // namespace softcheck::models
