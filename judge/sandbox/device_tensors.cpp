#include "judge/sandbox/device_tensors.hpp"

#include <algorithm>

namespace softcheck::proptests {

CudaDriver::Address DeviceTensors::room_in(Buffer& buffer, std::size_t bytes) {
  if (buffer.size >= bytes) return buffer.memory;
  if (buffer.memory != 0) driver_.free(buffer.memory);
  buffer = {};
  buffer.memory = driver_.allocate(bytes);
  if (buffer.memory != 0) buffer.size = bytes;
  return buffer.memory;
}

// Host pages and device memory begin at multiples of the same alignment, so a view is aligned on both alike.
bool DeviceTensors::move(ChildTensor& tensor) const {
  if (tensor.data == nullptr) return true;  // no elements
  auto* const at = static_cast<std::byte*>(tensor.data);
  for (const Region& region : regions_) {
    if (at < region.begin || at >= region.begin + region.size) continue;
    tensor.data = reinterpret_cast<void*>(region.device + static_cast<std::size_t>(at - region.begin));
    return true;
  }
  return false;
}

std::optional<ChildRequest> DeviceTensors::stage(const ChildRequest& request) {
  regions_.clear();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const ChildPages& pages = request.pages[i];
    const ChildIslands& islands = request.islands[i];
    Region region;
    if (islands.count > 0) {
      const std::size_t first = islands.first[0].begin;
      region.begin = islands.begin + first;
      for (std::size_t k = 0; k < islands.count; ++k) {
        region.used.push_back({islands.first[k].begin - first, islands.first[k].end - first});
        region.size = std::max(region.size, region.used.back().end);
      }
    } else if (pages.open_begin < pages.open_end) {
      region.begin = pages.begin + pages.open_begin;
      region.size = pages.open_end - pages.open_begin;
      region.used.push_back({0, region.size});
    } else {
      continue;
    }
    region.device = room_in(buffers_[i], region.size);
    if (region.device == 0) return std::nullopt;
    for (const ByteRange& part : region.used) {
      driver_.to_device(region.device + part.begin, region.begin + part.begin, part.end - part.begin);
    }
    regions_.push_back(std::move(region));
  }
  ChildRequest moved = request;
  moved.device = Device::cuda;
  bool complete = true;
  for (ChildTensor& tensor : moved.inputs) complete = complete && move(tensor);
  for (ChildTensor& tensor : moved.outputs) complete = complete && move(tensor);
  if (!complete) return std::nullopt;
  return moved;
}

void DeviceTensors::fetch() {
  driver_.synchronize();
  for (const Region& region : regions_) {
    for (const ByteRange& part : region.used) {
      driver_.to_host(region.begin + part.begin, region.device + part.begin, part.end - part.begin);
    }
  }
}

}  // namespace softcheck::proptests
