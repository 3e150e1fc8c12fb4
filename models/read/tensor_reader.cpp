#include "models/read/tensor_reader.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "models/read/element_format.hpp"

namespace softcheck::models {
namespace {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;

bool lies_within(const IndexRange& range, std::int64_t size) {
  return range.first >= 0 && range.count >= 0 && range.first <= size && range.count <= size - range.first;
}

}  // namespace

TensorBlock read_tensor_block(const TensorBytes& place, const StoredTensor& tensor, IndexRange rows,
                              IndexRange columns) {
  const std::string what = place.file + ": tensor '" + tensor.name + "': ";
  if (tensor.shape.size() > 2 || !lies_within(rows, tensor.rows()) || !lies_within(columns, tensor.columns())) {
    throw std::invalid_argument(what + "the rows and columns asked for do not lie within its shape");
  }
  const ElementFormat* format = element_format(tensor.dtype);
  if (format == nullptr) {
    throw UnsupportedTensorFile(
        what + "need dtype F64, F32, F16, BF16, F8_E4M3, F8_E5M2, Q8_0, Q4_0, Q4_K or Q6_K, got " + tensor.dtype);
  }
  const auto width = static_cast<std::size_t>(tensor.columns());
  if (width % format->elements != 0) {
    throw TensorFileError(what + "its rows of " + std::to_string(width) + " numbers are no whole blocks of " +
                          std::to_string(format->elements));
  }
  // The blocks that hold the columns.
  const auto first = static_cast<std::size_t>(columns.first), count = static_cast<std::size_t>(columns.count);
  const std::size_t begin = first / format->elements, end = (first + count + format->elements - 1) / format->elements;
  const std::size_t row_bytes = width / format->elements * format->bytes, part_bytes = (end - begin) * format->bytes;
  TensorBlock result;
  result.values.resize(rows.count, columns.count);
  if (rows.count == 0 || columns.count == 0) return result;

  // Where a row's part is most of the row, rows are read together.
  const bool together = 2 * part_bytes >= row_bytes;
  const std::size_t step = together ? std::max<std::size_t>(piece_bytes / row_bytes, 1) : 1;
  std::vector<std::byte> bytes(together ? step * row_bytes : part_bytes);
  std::vector<double> values((end - begin) * format->elements);
  const auto total = static_cast<std::size_t>(rows.count);
  for (std::size_t row = 0; row < total; row += step) {
    const std::size_t now = std::min(step, total - row);
    const std::uint64_t at = place.begin + (static_cast<std::uint64_t>(rows.first) + row) * row_bytes +
                             (together ? 0 : begin * format->bytes);
    const std::span<std::byte> piece = std::span(bytes).first(together ? now * row_bytes : part_bytes);
    if (!place.source.read(at, piece)) throw TensorFileError(what + "the file ends before it does");
    for (std::size_t i = 0; i < now; ++i) {
      const std::span<const std::byte> part =
          together ? piece.subspan(i * row_bytes + begin * format->bytes, part_bytes) : piece;
      result.radius = std::max(result.radius, format->decode(part, values));
      const auto wanted = Eigen::Map<const Eigen::RowVectorXd>(values.data() + (first - begin * format->elements),
                                                               static_cast<Eigen::Index>(count));
      result.values.row(static_cast<Eigen::Index>(row + i)) = wanted;
    }
  }
  if (!result.values.allFinite()) throw TensorFileError(what + "need finite numbers, got an infinity or a NaN");
  return result;
}

}  // namespace softcheck::models
