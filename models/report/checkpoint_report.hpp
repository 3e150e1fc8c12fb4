#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/bounds/head_certificate.hpp"
#include "models/report/observed.hpp"

namespace softcheck::models {

/// What was certified of one checkpoint.
struct CheckpointReport {
  std::string path;
  std::string format;  // "safetensors" or "gguf"
  ModelDescription model;
  CertifyOptions options;
  std::vector<HeadCertificate>
      heads;                         // layer by layer, head by head; fewer than the model has where layers were chosen
  std::size_t asked = 0;             // heads: more than were certified where the work was ended
  std::vector<std::string> fail_if;  // the gates (gate.hpp)
  std::vector<numerics::Certificate> certificates;  // of every claim and gate
  std::vector<ObservedHead> observed;               // of forward passes, recorded or run, where there are any
  bool stopped = false;                             // before all that was asked for was certified and observed
  double seconds = 0;
};

/// model.spread.ladder    lower end <= best <= joint, folded and product, of every head
/// model.logit.ends       lower end <= upper end of the largest |logit|, and half the spread is at most the largest one
/// model.dispersion_length  Lemma 2.1, sharp: with that spread every coefficient at N(eps) is at most eps
std::vector<numerics::Certificate> certify_report(const CheckpointReport& report);

/// {"model": {...}, "heads": [...]}: docs/models.md has the fields. Intervals are [lower, upper], infinities the texts
/// "inf" and "-inf".
///
/// extra    the members of one more JSON object, put behind them: "" or a JSON object
std::string to_json(const CheckpointReport& report, const std::string& extra);

/// For reading: a line for each layer, and the heads with the widest spreads.
///
/// ranked   how many heads; 0: all
std::string to_table(const CheckpointReport& report, std::size_t ranked);

/// spread.lower / spread.upper: how much of the bound an input of the head's domain reaches.
double tightness(const HeadCertificate& head);

/// The begin of a page with a title: proptests::scripted_page_head.
using PageHead = std::string (*)(std::string_view title);

/// One page for a browser that loads nothing else: the verdict and the heads that gates stop, heat maps, the ladder of
/// the widest head or the one that is chosen (by click, Enter or `#head-LAYER-HEAD`), and a table that sorts. The
/// page's script draws from the members of to_json.
std::string to_html(const CheckpointReport& report, PageHead head);

}  // namespace softcheck::models
