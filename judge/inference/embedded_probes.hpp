#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "judge/op/op.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

/// Rows that --infer asks for, as calls of a kernel's domain: a domain of long rows or of many heads has no call of two
/// logits alone.

/// The nearest number of the format. One beyond the largest becomes the largest: a format without infinities would hold
/// NaN in its place.
double within_format(numerics::Format format, double value);

/// A logit below the row's largest whose weight is 0 in every accumulator, up to the end of the format. Where the
/// domain allows it and the format has it, -inf.
///
/// results   the format of the op's results, whose exponents its weights may have
double weightless_logit(Op op, numerics::Format input, numerics::Format results, const Domain& domain,
                        const std::vector<double>& row, double theta);

/// The smallest shape of the domain that is no smaller than the given one; nothing where there is none.
std::optional<AttentionShape> shape_in(const Domain& domain, const AttentionShape& least);

/// Rows as the keys of a query each. Column 0 of the result is the weight of the row's first item, column 1 that of its
/// last one; of a gradient these are columns of dv. Keys that the domain asks for beyond the row's have no weight, and
/// heads, queries and dimensions beyond the first repeat the row or are 0.
///
/// rows   as many as calls of the domain have batches, all of one length
std::optional<AttentionCase> attention_of(const std::vector<std::vector<double>>& rows, numerics::Format input,
                                          bool gradient, const Domain& domain);

/// A causal call of the domain whose first query sees no key, without a mask; nothing where the domain has none.
std::optional<AttentionCase> causal_without_keys(numerics::Format input, const Domain& domain);

}  // namespace softcheck::proptests
