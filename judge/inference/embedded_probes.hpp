#pragma once

#include <optional>
#include <vector>

#include "judge/op/op.hpp"
#include "numerics/formats/format.hpp"
#include "proptests/generators/attention/attention.hpp"
#include "proptests/generators/domains/domain.hpp"

namespace softcheck::proptests {

// --infer measures with short rows. These functions fit such rows into calls of a kernel's domain, which may have long
// rows or many heads only.

/// The nearest number of the format, at most the largest one: a format without infinities would have NaN beyond it.
double within_format(numerics::Format format, double value);

/// A logit so far below the row's largest that its weight is 0 in every accumulator, limited to the format's range.
/// -inf if the domain and the format allow it.
///
/// results   the format of the op's results, whose exponents its weights may have
double weightless_logit(Op op, numerics::Format input, numerics::Format results, const Domain& domain,
                        const std::vector<double>& row, double theta);

/// The smallest shape of the domain that is at least as large as `least`; nothing if there is none.
std::optional<AttentionShape> shape_in(const Domain& domain, const AttentionShape& least);

/// Passes each row as the keys of one query. Column 0 of the result is the weight of the row's first item, column 1
/// that of its last; for a gradient these are columns of dv. Additional keys that the domain requires have no weight;
/// additional heads, queries and dimensions repeat the row or are 0.
///
/// rows   as many as calls of the domain have batches, all of the same length
std::optional<AttentionCase> attention_of(const std::vector<std::vector<double>>& rows, numerics::Format input,
                                          bool gradient, const Domain& domain);

/// A causal call of the domain whose first query sees no key, without a mask; nothing if there is none.
std::optional<AttentionCase> causal_without_keys(numerics::Format input, const Domain& domain);

}  // namespace softcheck::proptests
