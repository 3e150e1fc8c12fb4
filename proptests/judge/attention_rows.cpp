#include "proptests/judge/attention_rows.hpp"

#include <span>

namespace softcheck::proptests {

std::size_t row_number(const AttentionShape& s, std::size_t b, std::size_t h, std::size_t i) {
  return (b * s.heads() + h) * s.queries + i;
}

std::string place_of(const AttentionShape& s, std::size_t row) {
  const std::size_t i = row % s.queries, h = row / s.queries % s.heads(), b = row / s.queries / s.heads();
  return " at batch=" + std::to_string(b) + " head=" + std::to_string(h) + " query=" + std::to_string(i);
}

Asked asked_of(const AttentionCase& attention, const std::string& remark, std::optional<std::size_t> row) {
  std::string text = head_text(attention);
  if (!attention.mask.empty()) text += attention.mask_for_each_head ? " mask=heads" : " mask=shared";
  if (!attention.mask.empty() && attention.mask_byte != 1) text += " byte=" + std::to_string(attention.mask_byte);
  return {text, remark, row, row ? place_of(attention.shape, *row) : ""};
}

AttentionRow row_of(const AttentionCase& a, std::size_t b, std::size_t h, std::size_t i) {
  const AttentionShape& s = a.shape;
  const std::size_t head = b * s.kv_heads + h / s.group;
  AttentionRow row;
  row.query = std::span(a.queries).subspan(row_number(s, b, h, i) * s.dim, s.dim);
  row.keys = std::span(a.keys).subspan(head * s.keys * s.dim, s.keys * s.dim);
  row.values = std::span(a.values).subspan(head * s.keys * s.value_dim, s.keys * s.value_dim);
  row.value_size = s.value_dim;
  row.scale = a.scale;
  for (std::size_t j = 0; j < s.keys; ++j) row.visible.push_back(a.sees(b, h, i, j) ? 1 : 0);
  return row;
}

AttentionValues values_of(const AttentionCase& a, const std::vector<std::vector<double>>& got, std::size_t row) {
  AttentionValues values;
  values.out = std::span(got[0]).subspan(row * a.shape.value_dim, a.shape.value_dim);
  if (got.size() > 1) values.lse = got[1][row];
  if (got.size() > 2) values.entropy = got[2][row];
  return values;
}

}  // namespace softcheck::proptests
