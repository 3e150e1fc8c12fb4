#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "models/bounds/head_certificate.hpp"
#include "numerics/enclosures/certificate.hpp"

namespace softcheck::models {

/// What one head's logits were in forward passes that somebody recorded.
struct ObservedHead {
  std::size_t place = 0;           // of its certificate
  std::size_t rows = 0;            // queries that saw at least two keys
  Supremum spread;                 // the largest over the rows, enclosed
  Supremum logit;                  // the largest |logit|, enclosed
  double least_entropy = 0;        // nats; an estimate in doubles
  double median_spread = 0;        // over the rows; an estimate
  double largest_coefficient = 0;  // an estimate
};

/// The recorded heads, and what they are held to: model.observed.spread and model.observed.logit lie within the head's
/// certificate, model.observed.coefficients within Lemma 2.1's bracket for the row of the widest spread, a sink as one
/// more of its items.
struct Observation {
  std::vector<ObservedHead> heads;
  std::vector<numerics::Certificate> certificates;
};

/// Reads queries and keys that a forward pass computed, rotated and normed as they meet each other: tensors
/// "layers.L.query" (n, heads, head_dim) and "layers.L.key" (n, key heads, head_dim), L from 0; a prefix such as
/// "input.3." tells several inputs apart. Row i is the item at position i; a causal head's query sees the keys up to
/// its own, a window the last ones of them (with images, as in Gemma 3, as many as the widest window has). Other
/// tensors of the file are left alone.
///
/// certificates  of the heads in question; layers without any are skipped
/// throws        as open_checkpoint does; TensorFileError also where no tensor has such a name, or a shape contradicts
///               the model
Observation observe(const std::filesystem::path& activations, const ModelDescription& model,
                    const std::vector<HeadCertificate>& certificates);

}  // namespace softcheck::models
