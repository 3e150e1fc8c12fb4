#include "theory/remark_c_1.hpp"

#include <optional>
#include <string>

#include "theory/coordinate_box.hpp"

namespace softcheck::theory {

using numerics::Certificate;
using numerics::certify_less_equal;
using numerics::Enclosure;
using numerics::Sides;

namespace {

using Vector = std::vector<Enclosure>;

// A head's rows on one sequence. Outputs are stored as numerator / sum, so that the difference of two outputs,
// (N_i S_k - N_k S_i) / (S_i S_k), is exactly 0 if two rows of exact weights agree.
struct HeadRows {
  std::vector<Vector> numerators;  // sum_j count_j w_ij v_j, for each row
  Vector sums;                     // sum_j count_j w_ij
  Vector lengths;                  // items seen
  Enclosure d;                     // observed spread over theta
  Enclosure largest_value;         // B
  RowBound bound = scaled_row_disagreement;
};

HeadRows head_rows(const HeadProjection<Enclosure>& head, const Vector& counts, AttentionMask mask,
                   const Enclosure& theta, bool uniform) {
  HeadRows rows;
  for (const Vector& value : head.values) rows.largest_value = maximum(rows.largest_value, largest_entry(value));
  for (std::size_t i = 0; i < counts.size(); ++i) {
    AttentionRow<Enclosure> row = attention_row(head, counts, i, mask, theta);
    if (uniform) {
      row.weights.assign(row.weights.size(), Enclosure(1));
      row.sum = row.length;
    }
    Vector numerator(head.values.front().size(), Enclosure(0));
    for (std::size_t j = 0; j < row.weights.size(); ++j) {
      const Enclosure weight = counts[j] * row.weights[j];
      for (std::size_t c = 0; c < numerator.size(); ++c) numerator[c] += weight * head.values[j][c];
      for (std::size_t k = 0; k < j && !uniform; ++k) {
        rows.d = maximum(rows.d, abs(row.logits[j] - row.logits[k]) / theta);
      }
    }
    rows.numerators.push_back(std::move(numerator));
    rows.sums.push_back(row.sum);
    rows.lengths.push_back(row.length);
  }
  return rows;
}

HeadRows head_rows(TraceLadder& trace, std::size_t layer, std::size_t head, RowBound bound, bool uniform = false) {
  HeadRows rows =
      head_rows(trace.head_now(layer, head), trace.now().counts, trace.model().shape.mask, trace.theta(), uniform);
  rows.bound = bound;
  return rows;
}

// (N_i S_k - N_k S_i): the difference of the outputs times S_i S_k.
Vector scaled_difference(const HeadRows& rows, std::size_t i, std::size_t k) {
  Vector result;
  for (std::size_t c = 0; c < rows.numerators[i].size(); ++c) {
    result.push_back(rows.numerators[i][c] * rows.sums[k] - rows.numerators[k][c] * rows.sums[i]);
  }
  return result;
}

Enclosure bound_of(const HeadRows& rows, std::size_t i, std::size_t k) {
  return rows.bound(rows.d, rows.lengths[i], rows.lengths[k]) / rows.lengths[k] * rows.largest_value;
}

// Adds one comparison to a claim about many: the sides of the last, the smallest of the gaps.
void include(Sides& sides, const Enclosure& left, const Enclosure& right, const Enclosure& gap) {
  sides.left = left;
  sides.right = right;
  sides.gap = sides.gap ? minimum(*sides.gap, gap) : gap;
}

// left <= bound for all pairs of rows, multiplied by k S_i S_k: exact in a tie, which needs d = 0.
Sides compare_rows(const HeadRows& rows) {
  Sides sides;
  for (std::size_t k = 0; k < rows.sums.size(); ++k) {
    for (std::size_t i = 0; i < k; ++i) {
      const Enclosure scaled = largest_entry(scaled_difference(rows, i, k));
      const Enclosure sums = rows.sums[i] * rows.sums[k];
      const Enclosure& shorter = rows.lengths[i];
      const Enclosure& longer = rows.lengths[k];
      const Enclosure factor = rows.bound(rows.d, shorter, longer);
      include(sides, scaled / sums, bound_of(rows, i, k), factor * rows.largest_value * sums - longer * scaled);
    }
  }
  return sides;
}

std::string place(const TraceLadder& trace, std::size_t layer, std::size_t head) {
  return trace.witness() + " layer " + std::to_string(layer) + " head " + std::to_string(head);
}

std::vector<HeadRows> all_heads(TraceLadder& trace, std::size_t layer, RowBound bound) {
  std::vector<HeadRows> heads;
  for (std::size_t h = 0; h < trace.model().layers[layer].heads.size(); ++h) {
    heads.push_back(head_rows(trace, layer, h, bound));
  }
  return heads;
}

// The largest distance of two tokens after the layer's attention: the residual's part and that of each head.
Enclosure attention_disagreement(TraceLadder& trace, const std::vector<HeadRows>& heads, std::size_t layer,
                                 std::size_t i, std::size_t k) {
  Enclosure bound;
  if (trace.model().shape.residual) {
    bound = largest_entry(subtract(trace.now().inputs[layer][i], trace.now().inputs[layer][k]));
  }
  for (const HeadRows& rows : heads) bound += bound_of(rows, i, k);
  return bound;
}

Sides compare_residual(TraceLadder& trace, std::size_t layer, RowBound bound) {
  const std::vector<HeadRows> heads = all_heads(trace, layer, bound);
  const std::vector<Vector>& tokens = trace.now().inputs[layer];
  Sides sides;
  for (std::size_t k = 0; k < tokens.size(); ++k) {
    for (std::size_t i = 0; i < k; ++i) {
      Vector difference = subtract(tokens[i], tokens[k]);
      for (const HeadRows& rows : heads) {
        Vector moved = scaled_difference(rows, i, k);
        for (Enclosure& entry : moved) entry /= rows.sums[i] * rows.sums[k];
        difference = add(std::move(difference), moved);
      }
      const Enclosure left = largest_entry(difference);
      const Enclosure right = attention_disagreement(trace, heads, layer, i, k);
      include(sides, left, right, right - left);
    }
  }
  return sides;
}

Sides compare_next_spread(TraceLadder& trace, std::size_t layer, std::size_t next_head, const Enclosure& gain,
                          RowBound bound) {
  const std::vector<HeadRows> heads = all_heads(trace, layer, bound);
  const HeadProjection<Enclosure>& next = trace.head_now(layer + 1, next_head);
  const Eigen::MatrixXd transposed_key = trace.model().layers[layer + 1].heads[next_head].key.transpose();
  std::vector<Enclosure> reach;  // ||K^T q||_1 of each query
  for (const Vector& query : next.queries) {
    Enclosure sum;
    for (const Enclosure& entry : multiply(transposed_key, query)) sum += abs(entry);
    reach.push_back(std::move(sum));
  }
  Sides sides;
  for (std::size_t k = 0; k < next.keys.size(); ++k) {
    for (std::size_t i = 0; i < k; ++i) {
      const Vector difference = subtract(next.keys[i], next.keys[k]);
      const Enclosure moved = gain * attention_disagreement(trace, heads, layer, i, k);
      for (std::size_t query = 0; query < next.queries.size(); ++query) {
        const Enclosure left = abs(dot(next.queries[query], difference));
        const Enclosure right = reach[query] * moved;
        include(sides, left, right, right - left);
      }
    }
  }
  return sides;
}

// The tokens after a fully dispersed first layer; tokens whose outputs are proved equal become one group.
void disperse_first_layer(TraceLadder& trace, std::vector<Vector>& tokens, Vector& counts) {
  const SmallTransformer& model = trace.model();
  std::vector<HeadRows> heads;
  for (std::size_t h = 0; h < model.layers.front().heads.size(); ++h) {
    heads.push_back(head_rows(trace, 0, h, scaled_row_disagreement, true));
  }
  const auto equal_outputs = [&](std::size_t i, std::size_t k) {
    for (const HeadRows& rows : heads) {
      const Enclosure difference = largest_entry(scaled_difference(rows, i, k));
      if (numerics::equal(difference, Enclosure(0)) != numerics::Decision::proved) return false;
    }
    return true;
  };
  std::vector<std::size_t> representatives;
  for (std::size_t i = 0; i < trace.groups().size(); ++i) {
    std::size_t group = 0;
    while (group < representatives.size() && !equal_outputs(representatives[group], i)) ++group;
    if (group < representatives.size()) {
      counts[group] += trace.now().counts[i];
      continue;
    }
    representatives.push_back(i);
    counts.push_back(trace.now().counts[i]);
    Vector output(static_cast<std::size_t>(model.shape.width), Enclosure(0));
    for (const HeadRows& rows : heads) {
      for (std::size_t c = 0; c < output.size(); ++c) output[c] += rows.numerators[i][c] / rows.sums[i];
    }
    tokens.push_back(apply_feedforward(model, model.layers.front(), output));
  }
}

Enclosure largest_spread(const HeadProjection<Enclosure>& head) {
  Enclosure spread;
  for (const Vector& query : head.queries) {
    for (std::size_t k = 0; k < head.keys.size(); ++k) {
      for (std::size_t i = 0; i < k; ++i) {
        spread = maximum(spread, abs(dot(query, head.keys[i]) - dot(query, head.keys[k])));
      }
    }
  }
  return spread;
}

}  // namespace

std::vector<Certificate> certify_row_outputs(TraceLadder& trace, RowBound bound) {
  std::vector<Certificate> result;
  for (std::size_t l = 0; l < trace.model().layers.size(); ++l) {
    for (std::size_t h = 0; h < trace.model().layers[l].heads.size(); ++h) {
      result.push_back(certify_less_equal("remark_c_1.outputs", place(trace, l, h),
                                          [&] { return compare_rows(head_rows(trace, l, h, bound)); }));
    }
  }
  return result;
}

std::vector<Certificate> certify_residual_outputs(TraceLadder& trace, RowBound bound) {
  std::vector<Certificate> result;
  if (!trace.model().shape.residual) return result;
  for (std::size_t l = 0; l < trace.model().layers.size(); ++l) {
    result.push_back(certify_less_equal("remark_c_1.residual", trace.witness() + " layer " + std::to_string(l),
                                        [&] { return compare_residual(trace, l, bound); }));
  }
  return result;
}

std::vector<Certificate> certify_next_spread(TraceLadder& trace, RowBound bound) {
  const SmallTransformer& model = trace.model();
  const SpreadBounds bounds = bound_spreads(model);
  std::vector<Certificate> result;
  for (std::size_t l = 0; l + 1 < model.layers.size(); ++l) {
    const Enclosure gain = upper_end(feedforward_gain(
        model, model.layers[l], feedforward_input_box(model, model.layers[l], bounds.layers[l].inputs)));
    for (std::size_t h = 0; h < model.layers[l + 1].heads.size(); ++h) {
      result.push_back(certify_less_equal("remark_c_1.next_spread", place(trace, l + 1, h),
                                          [&] { return compare_next_spread(trace, l, h, gain, bound); }));
    }
  }
  return result;
}

std::vector<Certificate> certify_fully_dispersed(TraceLadder& trace, RowBound bound) {
  std::vector<Certificate> result;
  for (std::size_t h = 0; h < trace.model().layers.front().heads.size(); ++h) {
    result.push_back(certify_less_equal("remark_c_1.fully_dispersed", place(trace, 0, h),
                                        [&] { return compare_rows(head_rows(trace, 0, h, bound, true)); }));
  }
  return result;
}

std::vector<Certificate> certify_later_spread(TraceLadder& trace) {
  const SmallTransformer& model = trace.model();
  std::vector<Certificate> result;
  if (model.shape.residual || model.shape.mask != AttentionMask::bert) return result;
  for (std::size_t l = 1; l < model.layers.size(); ++l) {
    for (std::size_t h = 0; h < model.layers[l].heads.size(); ++h) {
      result.push_back(certify("remark_c_1.later_spread", place(trace, l, h), numerics::Relation::equal, [&] {
        std::vector<Vector> tokens;
        Vector counts;
        disperse_first_layer(trace, tokens, counts);
        for (std::size_t between = 1; between < l; ++between) {
          tokens = apply_layer(model, model.layers[between], tokens, counts);
        }
        return Sides{largest_spread(project(model.layers[l].heads[h], tokens)), Enclosure(0)};
      }));
    }
  }
  return result;
}

std::vector<Certificate> check_remark_c_1(const SmallTransformer& model, const std::vector<Run>& runs) {
  TraceLadder trace(model, runs);
  std::vector<Certificate> result;
  const auto append = [&](std::vector<Certificate> more) {
    result.insert(result.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  };
  append(certify_row_outputs(trace));
  append(certify_residual_outputs(trace));
  append(certify_next_spread(trace));
  append(certify_fully_dispersed(trace));
  append(certify_later_spread(trace));
  return result;
}

}  // namespace softcheck::theory
