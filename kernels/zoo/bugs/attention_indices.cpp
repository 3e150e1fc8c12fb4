// Bugs of attention: indices and offsets.
#include "kernels/zoo/attention_places.hpp"

using namespace softcheck::kernels::zoo::attention;

// C6: the number of a batch is stored in two bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed
BUG(mutant_attention_batch_in_two_bits, attend_changed_rows) { take_query_of(a, {at.b & 3, at.h, at.i}, row); }

// C6: head numbers wrap after sixteen query heads.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed
BUG(mutant_attention_head_in_four_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h & 15, at.i}, row); }

// C6, FlexAttention in PyTorch #190857, vLLM #50427: offsets into V are stored in 32 bits.
// @judged attention f16: plain entropy=exact; fail|crash C6; StridesBeyondAnIntegerAreFollowed;
// kernel.returns|output|lse|entropy
BUG(mutant_attention_int_offset, attend_changed_call) {
  a.v.offset = [](std::int64_t offset) { return static_cast<std::int64_t>(static_cast<std::int32_t>(offset)); };
}

// C6: the number of a key is stored in sixteen bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed
BUG(mutant_attention_key_in_sixteen_bits, attend_changed_rows) {
  take_keys_of(row, 65536, [](std::size_t j) { return j & 65535; });
}

// C6: the number of a key is stored in twelve bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 4097
BUG(mutant_attention_key_in_twelve_bits, attend_changed_rows) {
  take_keys_of(row, 4096, [](std::size_t j) { return j & 4095; });
}

// C6: the loop over keys ends at 65536.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed
BUG(mutant_attention_keys_from_65536, attend_changed_call) { a.keys = a.keys > 65536 ? 65536 : a.keys; }

// C6: a grid of 512 blocks of queries; queries from 512 on are those from 0 on.
// @judged attention f32 bf16: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 513
BUG(mutant_attention_queries_from_512, attend_changed_rows) {
  if (at.i >= 512) take_query_of(a, {at.b, at.h, at.i - 512}, row);
}

// C6: the number of a query is stored in eight bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 257
BUG(mutant_attention_query_in_eight_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h, at.i & 255}, row); }

// C6: the number of a query is stored in ten bits.
// @judged attention f32: plain entropy=exact; fail C6; EveryPairOfClassesIsComputed; witness 1025
BUG(mutant_attention_query_in_ten_bits, attend_changed_rows) { take_query_of(a, {at.b, at.h, at.i & 1023}, row); }

// C6, the class of FlashAttention PR #2260, at a size that any test can afford: the offset of a key wraps at 2^16.
// @judged attention bf16: plain entropy=exact; fail|crash C6; LayoutsAndNeighboursDoNotMatter
BUG(mutant_attention_short_offset, attend_changed_call) {
  a.k.offset = [](std::int64_t offset) { return static_cast<std::int64_t>(static_cast<std::uint16_t>(offset)); };
}
