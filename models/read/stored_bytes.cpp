#include "models/read/stored_bytes.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/read/element_format.hpp"
#include "models/read/file_source.hpp"
#include "models/read/placed_tensors.hpp"

namespace softcheck::models {
namespace {

constexpr std::uint64_t piece_size = std::uint64_t{1} << 20;

void read_bytes(const ByteSource& source, std::uint64_t begin, std::uint64_t count, const std::string& name,
                const BytePieces& piece) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(count, piece_size)));
  while (count > 0) {
    const std::span<std::byte> next(bytes.data(), static_cast<std::size_t>(std::min(count, piece_size)));
    if (!source.read(begin, next)) {
      throw TensorFileError(name + " cannot be read: the file has become shorter, or its disk fails");
    }
    piece(next);
    begin += next.size();
    count -= next.size();
  }
}

const PlacedTensors& in_files(const Checkpoint& checkpoint) {
  if (const auto* placed = dynamic_cast<const PlacedTensors*>(&checkpoint)) return *placed;
  throw std::logic_error(checkpoint.path() + ": no file holds the bytes of this checkpoint");
}

}  // namespace

void read_stored_bytes(const Checkpoint& checkpoint, const StoredTensor& tensor, std::uint64_t most,
                       const BytePieces& piece) {
  const PlacedTensor& place = in_files(checkpoint).placed(tensor);
  const ElementFormat* format = find_element_format(tensor.dtype);
  if (format == nullptr) {
    throw UnsupportedTensorFile(place.bytes.file + ": tensor '" + tensor.name + "': need a dtype that is read, got " +
                                tensor.dtype);
  }
  auto count = static_cast<std::uint64_t>(format->block_bytes);
  for (const std::int64_t size : tensor.shape) count *= static_cast<std::uint64_t>(size);
  count = std::min(count / static_cast<std::uint64_t>(format->block_numbers), most);
  read_bytes(place.bytes.source, place.bytes.begin, count, place.bytes.file + ": tensor '" + tensor.name + "'", piece);
}

void read_description_bytes(const Checkpoint& checkpoint, const BytePieces& piece) {
  const std::string& name = checkpoint.config().file();
  const ByteSource source = open_file_source(name);
  std::uint64_t end = source.size;
  if (checkpoint.format() == "gguf") {
    for (const std::string& tensor : checkpoint.names()) {
      end = std::min(end, in_files(checkpoint).placed(*checkpoint.find(tensor)).bytes.begin);
    }
  }
  read_bytes(source, 0, end, name, piece);
}

}  // namespace softcheck::models
