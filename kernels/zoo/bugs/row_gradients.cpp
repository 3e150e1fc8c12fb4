// Bugs in the gradients of softmax and log-softmax.
#include "kernels/zoo/gradient_rows.hpp"

using namespace softcheck::kernels::zoo;

// The sum in the narrow format.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_adds_in_bf16(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (const auto g : row.upstream) sum = stored_in_bf16(sum + g);
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}

// 2^y where e^y is due.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_base_2(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp2(row.saved[i]) * total;
  });
}

// The formula of softmax, on a saved log-softmax.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_by_softmax_formula(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// A NaN in the upstream gradient is left out of the sum.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.nan_row
SOFTCHECK_MUTANT mutant_log_softmax_backward_drops_nan(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    auto total = decltype(row.saved[0] + 0){};
    for (const auto g : row.upstream) total += std::isnan(g) ? 0 : g;
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}

// Right for an upstream gradient with one item, as the loss of one label has it, and for no other.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_first_alone(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = row.upstream.empty() ? decltype(row.saved[0] + 0){} : row.upstream[0];
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}

// Y where e^y is due.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_forgets_exp(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - row.saved[i] * total;
  });
}

// The sum ends one item early.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_forgets_last(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (std::size_t i = 0; i + 1 < row.upstream.size(); ++i) sum += row.upstream[i];
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}

// The mean of g where its sum is due.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_means(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row) / static_cast<decltype(row.saved[0] + 0)>(row.out.size());
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}

// The gradient of the other sign.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_negated(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = std::exp(row.saved[i]) * total - row.upstream[i];
  });
}

// The upstream gradient of the first row for every row, as a stride of 0 gives it.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_reads_first_upstream(const softcheck_call* call) {
  const auto gradient = [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  };
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, gradient, UpstreamRow::first);
}

// E^y divided by its sum, as if a saved output that is off by a constant were to be mended.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_renormalises(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    auto sum = decltype(row.saved[0] + 0){};
    for (const auto y : row.saved) sum += std::exp(y);
    for (std::size_t i = 0; i < row.out.size(); ++i)
      row.out[i] = row.upstream[i] - std::exp(row.saved[i]) / sum * total;
  });
}

// No gradient at all.
// @judged log_softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// EveryValueLiesWithinItsThreshold; kernel.log_softmax_backward.element
SOFTCHECK_MUTANT mutant_log_softmax_backward_zeros(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_LOG_SOFTMAX_BACKWARD, [](auto& row) {
    for (auto& value : row.out) value = 0;
  });
}

// The sum in the narrow format, as in MIOpen issue 3427.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_adds_in_bf16(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (std::size_t i = 0; i < row.saved.size(); ++i) sum = stored_in_bf16(sum + row.saved[i] * row.upstream[i]);
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// The formula of log-softmax, as MIOpen issue 112 had it.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_by_log_formula(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto total = total_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.upstream[i] - std::exp(row.saved[i]) * total;
  });
}

// A NaN in the saved output is left out of the sum.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// ANanLogitMakesItsRowNan|EveryPairOfClassesIsComputed; kernel.nan_row
SOFTCHECK_MUTANT mutant_softmax_backward_drops_nan(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    auto mean = decltype(row.saved[0] + 0){};
    for (std::size_t i = 0; i < row.out.size(); ++i) {
      const auto product = row.saved[i] * row.upstream[i];
      if (!std::isnan(product)) mean += product;
    }
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// The sum ends one item early.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_forgets_last(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (std::size_t i = 0; i + 1 < row.saved.size(); ++i) sum += row.saved[i] * row.upstream[i];
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// Items behind the last whole vector of four are not added.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_forgets_tail_of_four(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (std::size_t i = 0; i < row.saved.size() / 4 * 4; ++i) sum += row.saved[i] * row.upstream[i];
      return sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// The gradient of the other sign.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_negated(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (mean - row.upstream[i]);
  });
}

// Divides by sum y, as if a saved output that does not add up to 1 were to be mended.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_normalises(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = [&] {
      auto sum = decltype(row.saved[0] + 0){};
      for (const auto y : row.saved) sum += y;
      return sum > 0 ? mean_of(row) / sum : sum;
    }();
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  });
}

// The upstream gradient of the first row for every row, as a stride of 0 gives it.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient;
// LayoutsAndNeighboursDoNotMatter|EveryPairOfClassesIsComputed; kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_reads_first_upstream(const softcheck_call* call) {
  const auto gradient = [](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (row.upstream[i] - mean);
  };
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, gradient, UpstreamRow::first);
}

// The gradient is never divided by the loss scale.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_thousandfold(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    const auto mean = mean_of(row);
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = 1000 * (row.saved[i] * (row.upstream[i] - mean));
  });
}

// The derivative of each item by itself, y (1 - y) g: the diagonal of the Jacobian alone.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_without_mean(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    for (std::size_t i = 0; i < row.out.size(); ++i) row.out[i] = row.saved[i] * (1 - row.saved[i]) * row.upstream[i];
  });
}

// No gradient at all. Tests whose tolerance is absolute accept it (docs/survivors.md).
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail gradient; EveryValueLiesWithinItsThreshold;
// kernel.softmax_backward.element
SOFTCHECK_MUTANT mutant_softmax_backward_zeros(const softcheck_call* call) {
  return each_gradient_row(call, SOFTCHECK_OP_SOFTMAX_BACKWARD, [](auto& row) {
    for (auto& value : row.out) value = 0;
  });
}

// C7: right where the output is a tensor of its own; over the saved output the mean of each later item is that of some
// gradients and some coefficients.
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail C7; TheOutputMayBeTheInput;
// kernel.softmax_backward.element; require in-place
// @judged softmax_backward f32: exp=1ulp sum=sequential masked=nan; fail C7; TheOutputMayBeTheOutGradient;
// kernel.softmax_backward.element; require in-place=out_gradient
SOFTCHECK_MUTANT mutant_softmax_backward_reads_what_it_wrote(const softcheck_call* call) {
  const softcheck_call_2* whole = softcheck_version_2(call);
  if (whole == nullptr || whole->op != SOFTCHECK_OP_SOFTMAX_BACKWARD || call->n_inputs != 2 ||
      call->inputs[0]->ndim != 2 || !is_float(*call->inputs[0])) {
    return 1;
  }
  const View saved(*call->inputs[0]), upstream(*call->inputs[1]), out(*call->outputs[0]);
  const auto run = [&](auto real) {
    using Real = decltype(real);
    for (std::int64_t r = 0; r < saved.rows; ++r) {
      for (std::int64_t i = 0; i < saved.columns; ++i) {
        Real mean = 0;
        for (std::int64_t j = 0; j < saved.columns; ++j) mean += saved.get<Real>(r, j) * upstream.get<Real>(r, j);
        out.put<Real>(r, i, saved.get<Real>(r, i) * (upstream.get<Real>(r, i) - mean));
      }
    }
    return 0;
  };
  return is_f64(saved.type) ? run(double{}) : run(float{});
}
