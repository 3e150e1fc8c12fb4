#include "models/report/observe_tokens.hpp"

#include <algorithm>

#include "models/forward/in_parallel.hpp"
#include "models/report/head_observer.hpp"
#include "numerics/matrices/ball_matrix.hpp"

namespace softcheck::models {

using Eigen::Index;
using numerics::BallMatrix;

Observation observe_tokens(const ForwardPass& pass, const std::vector<HeadCertificate>& certificates,
                           const TokenObservation& job) {
  std::vector<HeadObserver> observers(certificates.begin(), certificates.end());
  std::int64_t last = -1;
  for (const HeadCertificate& certificate : certificates) {
    last = std::max<std::int64_t>(last, certificate.head.layer);
  }
  pass.run(last, [&](const LayerAttention& layer) {
    if (job.progress) job.progress(layer.layer);
    in_parallel(certificates.size(), job.threads, [&](std::size_t place) {
      const HeadDescription& head = certificates[place].head;
      if (head.layer != layer.layer) return;
      // A head's rows of all inputs, then the columns of each.
      const Index width = head.query.outputs.count;
      for (const TokenRange& input : pass.inputs()) {
        observers[place].add(
            BallMatrix::exactly(layer.query.block(head.head * width, input.first, width, input.count)),
            BallMatrix::exactly(layer.key.block(head.key_head * width, input.first, width, input.count)));
      }
    });
    return !job.stop || !job.stop();
  });
  Observation result;
  for (std::size_t place = 0; place < certificates.size(); ++place) observers[place].finish(place, job.file, result);
  return result;
}

}  // namespace softcheck::models
