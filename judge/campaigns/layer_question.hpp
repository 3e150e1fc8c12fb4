#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "judge/campaigns/plan_entry.hpp"
#include "models/bounds/head_certificate.hpp"

namespace softcheck::proptests {

/// One layer of a checkpoint, certified once.
struct LayerQuestion {
  std::string model;  // the checkpoint as the plan names it: relative to a folder that each machine chooses
  std::int64_t layer = 0;
  models::CertifyOptions options = {};
  bool vocabulary = false;                // of layer 0: what it can read is enumerated, too
  std::vector<std::string> fail_if = {};  // gates (models/report/gate.hpp)

  /// All that decides the answer but the layer: equal for the layers of one report.
  std::string question() const;
  /// The command that certifies the layer again.
  std::string text() const;
};

/// The layers that one [[models]] asks for, model by model.
struct ModelsQuestion {
  std::vector<std::vector<LayerQuestion>> models;
  std::size_t per_shard = 1;  // layers
};

/// throws   PlanError
ModelsQuestion asked_models(const PlanEntry& entry, std::size_t per_shard);

}  // namespace softcheck::proptests
