// C17, pygpubench PR #7: keeps results by the input's address and shape, and does not look whether the data changed.
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "kernels/zoo/reference_rows.hpp"

using namespace softcheck::kernels::zoo;

SOFTCHECK_MUTANT mutant_cached_by_address(const softcheck_call* call) {
  static std::map<std::tuple<const void*, std::int64_t, std::int64_t>, std::vector<float>> results;
  std::int64_t row_number = 0;
  return each_row(call, [&](Row& row) {
    const DLTensor& logits = *call->inputs[0];
    softmax(row);
    const auto key = std::tuple<const void*, std::int64_t, std::int64_t>(logits.data, row_number++, logits.shape[1]);
    row.out = results.try_emplace(key, row.out).first->second;
  });
}
