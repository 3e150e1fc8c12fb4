#include "experiments/figures/head_spreads.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>

#include "models/bounds/certify_checkpoint.hpp"
#include "models/forward/forward_pass.hpp"
#include "models/forward/row_statistics.hpp"
#include "theory/lemma_2_1.hpp"

namespace softcheck::experiments {

using models::RowStatistics;
using numerics::Certificate;
using numerics::Verdict;

namespace {

/// The paper's Gemma 2B and 7B, over the heads; of which rows it does not say.
struct PaperSpread {
  const char* name;
  double least, largest, mean, deviation;
};
constexpr PaperSpread paper[] = {{"2B", 2.28, 14.78, 5.69, 2.05}, {"7B", 0.09, 32.74, 5.82, 2.61}};

// The largest coefficient is 1/(1 + others), and the sharp upper bound others >= (n - 1) e^-spread; the smallest has
// 1 + others - e^-spread <= n - 1. Each side is at most n terms, each of an exponential below 2 ulp and an argument
// that was rounded once: of the spread or less, so that it moves a term by its rounding's spread 2^-53. A sink is one
// more term, or one more factor of all.
bool is_certain(const RowStatistics& row) {
  const double n = static_cast<double>(row.items), least = std::exp(-row.spread());
  const double off = (n + row.spread() + 12) * 0x1p-52;
  const double upper = (n - 1) * least, all = 1 + row.others;
  return row.others * (1 - off) >= upper * (1 + off) && all * (1 + off) - least * (1 - off) <= (n - 1) * (1 - off);
}

class Observer {
 public:
  explicit Observer(const models::HeadCertificate& certificate) {
    spread_.layer = certificate.head.layer;
    spread_.head = certificate.head.head;
    spread_.certified_least = certificate.spread.lower;
    spread_.certified = certificate.spread.upper;
    spread_.certified_logit = certificate.logit.upper;
    sink_ = certificate.sink;
  }

  void add(const RowStatistics& items, std::span<const double> logits) {
    if (items.items < 2) return;
    const double delta = items.spread();
    ++spread_.rows;
    spread_.largest = std::max(spread_.largest, delta);
    spread_.sum += delta;
    spread_.last = delta;
    spread_.largest_logit = std::max({spread_.largest_logit, std::abs(items.largest), std::abs(items.smallest)});
    const RowStatistics row = sink_ ? models::with_sink(items, *sink_) : items;
    spread_.entropy_sum += row.entropy;
    spread_.coefficient_sum += std::exp(items.largest - row.largest) / (1 + row.others);
    spread_.first_token_sum += row.first_coefficient;
    if (is_certain(row)) {
      ++decided_;
    } else {
      decide(logits);
    }
    if (row.items > 2 && row.spread() > 0) add_shares(row);
  }

  void finish(HeadSpreads& result, bool has_window) {
    if (spread_.rows == 0) throw std::invalid_argument("need an input of at least 2 ids");
    spread_.has_window = has_window;
    const std::string witness = fmt::format("head {}.{}", spread_.layer, spread_.head);
    const auto within = [&](const char* claim, double seen, double bound) {
      result.certificates.push_back(numerics::certify_less_equal(claim, witness, [=] {
        return numerics::Sides{numerics::Enclosure(seen), numerics::Enclosure(bound)};
      }));
    };
    within("model.observed.spread", spread_.largest, spread_.certified);
    within("model.observed.logit", spread_.largest_logit, spread_.certified_logit);
    result.decided += decided_;
    std::ranges::move(open_, std::back_inserter(result.certificates));
    result.heads.push_back(spread_);
  }

 private:
  void decide(std::span<const double> logits) {
    std::vector<double> whole(logits.begin(), logits.end());
    if (sink_) whole.push_back(*sink_);
    std::vector<Certificate> certificates = theory::certify_coefficient_bounds(theory::LevelRow(whole), 1);
    const auto is_open = [](const Certificate& c) { return c.verdict != Verdict::proved; };
    if (std::ranges::none_of(certificates, is_open)) {
      ++decided_;
    } else {
      std::ranges::copy_if(certificates, std::back_inserter(open_), is_open);
    }
  }

  void add_shares(const RowStatistics& row) {
    const double delta = row.spread(), n = static_cast<double>(row.items), all = std::log1p(row.others);
    const auto keep = [&](double& share, double exponent) { share = std::max(share, exponent / delta); };
    keep(spread_.upper, std::log(n) - all);
    keep(spread_.lower, delta + all - std::log(n));
    keep(spread_.sharp_upper, std::log((n - 1) / row.others));
    keep(spread_.sharp_lower, delta + std::log((1 + row.others - std::exp(-delta)) / (n - 1)));
  }

  HeadSpread spread_;
  std::optional<double> sink_;
  std::size_t decided_ = 0;
  std::vector<Certificate> open_;
};

struct Summary {
  double least, largest, mean, deviation;
};

template <class Of>
Summary summary_of(const std::vector<HeadSpread>& heads, Of of) {
  std::vector<double> values;
  for (const HeadSpread& head : heads) values.push_back(of(head));
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double square = 0;
  for (const double value : values) square += (value - mean) * (value - mean);
  return {std::ranges::min(values), std::ranges::max(values), mean, count > 1 ? std::sqrt(square / (count - 1)) : 0};
}

}  // namespace

HeadSpreads spreads_of_heads(const HeadSpreadOptions& options) {
  const auto say = [&](const std::string& text) {
    if (options.progress) options.progress(text);
  };
  const auto checkpoint = models::open_checkpoint(options.model);
  const models::ModelDescription model = models::describe(*checkpoint);
  const models::ForwardPass pass(*checkpoint, model, models::read_token_ids(options.tokens), options.kernel,
                                 options.threads);
  say("certificates");
  models::CheckpointJob job;
  for (const models::HeadDescription& head : model.head_list) job.heads.push_back(&head);
  job.threads = options.threads;
  const auto certificates = models::certify_heads(*checkpoint, model, job);
  std::vector<Observer> observers;
  for (const auto& certificate : certificates) observers.emplace_back(certificate.value());
  HeadSpreads result;
  const auto heads = static_cast<std::size_t>(model.heads);
  pass.run(model.layers - 1, [&](const models::LayerAttention& layer) {
    say(fmt::format("layer {} of {}", layer.layer + 1, model.layers));
    const std::size_t first = static_cast<std::size_t>(layer.layer) * heads;
    models::in_parallel(heads, options.threads, [&](std::size_t head) {
      for (const models::TokenRange& input : pass.inputs()) {
        models::each_row(layer, model.head_list[first + head], input, 0, input.count,
                         [&](const RowStatistics& row, std::span<const double> logits) {
                           observers[first + head].add(row, logits);
                         });
      }
    });
    for (std::size_t head = 0; head < heads; ++head) {
      observers[first + head].finish(result, layer.window.has_value());
    }
    return true;
  });
  return result;
}

std::string to_text(const HeadSpreads& spreads) {
  const std::vector<HeadSpread>& heads = spreads.heads;
  std::string text = "| over the heads | least | largest | mean | deviation |\n|---|---|---|---|---|\n";
  const auto line = [&](const std::string& what, const Summary& s) {
    text += fmt::format("| {} | {:.3f} | {:.3f} | {:.3f} | {:.3f} |\n", what, s.least, s.largest, s.mean, s.deviation);
  };
  line("largest spread of a head's rows", summary_of(heads, [](const HeadSpread& h) { return h.largest; }));
  line("mean spread of its rows", summary_of(heads, [](const HeadSpread& h) { return h.mean(h.sum); }));
  line("spread of its last row", summary_of(heads, [](const HeadSpread& h) { return h.last; }));
  for (const PaperSpread& p : paper) {
    line(fmt::format("the paper's Gemma {}", p.name), {p.least, p.largest, p.mean, p.deviation});
  }
  line("certified spread", summary_of(heads, [](const HeadSpread& h) { return h.certified; }));
  line("largest spread / certified", summary_of(heads, [](const HeadSpread& h) { return h.largest / h.certified; }));
  line("mean weight of the first token",
       summary_of(heads, [](const HeadSpread& h) { return h.mean(h.first_token_sum); }));
  line("mean entropy (nats)", summary_of(heads, [](const HeadSpread& h) { return h.mean(h.entropy_sum); }));
  const auto most = [&](double HeadSpread::*share) { return std::ranges::max(heads, {}, share).*share; };
  text += fmt::format(
      "of the exponent delta of Lemma 2.1 the rows use at most {:.4f} above and {:.4f} below, of the sharp form's "
      "{:.4f} and {:.4f}\n",
      most(&HeadSpread::upper), most(&HeadSpread::lower), most(&HeadSpread::sharp_upper),
      most(&HeadSpread::sharp_lower));
  std::size_t rows = 0;
  for (const HeadSpread& head : heads) rows += head.rows;
  return text + fmt::format("Lemma 2.1: proved of {} of {} rows\n", spreads.decided, rows);
}

Figure spreads_figure(const std::string& name, const HeadSpreads& spreads) {
  std::string csv =
      "layer,head,window,rows,mean spread,largest spread,last spread,certified least,certified,largest logit,certified "
      "logit,mean entropy,mean largest coefficient,mean weight of the first token,upper share,lower share,sharp upper "
      "share,sharp lower share\n";
  std::string points = "at,mean,largest,certified\n";
  const std::int64_t layers = spreads.heads.back().layer + 1;
  const auto heads = static_cast<double>(spreads.heads.size()) / static_cast<double>(layers);
  for (const HeadSpread& h : spreads.heads) {
    csv += fmt::format(
        "{},{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},"
        "{:.9g},{:.9g}\n",
        h.layer, h.head, h.has_window ? 1 : 0, h.rows, h.mean(h.sum), h.largest, h.last, h.certified_least, h.certified,
        h.largest_logit, h.certified_logit, h.mean(h.entropy_sum), h.mean(h.coefficient_sum), h.mean(h.first_token_sum),
        h.upper, h.lower, h.sharp_upper, h.sharp_lower);
    points += fmt::format("{:.4f},{:.9g},{:.9g},{:.9g}\n",
                          static_cast<double>(h.layer) + 0.7 * (static_cast<double>(h.head) + 0.5) / heads - 0.35,
                          h.mean(h.sum), h.largest, h.certified);
  }
  std::string script = data_block("heads", points);
  script += fmt::format(
      "set title {} noenhanced\nset xlabel 'layer'\nset ylabel 'spread of a row of logits'\nset logscale y\nset xrange "
      "[-0.7:{}.7]\nset yrange [1:*]\nset key outside bottom center horizontal spacing 1.3\n"
      "set object 1 rectangle from graph 0, first {} to graph 1, first {} behind fillcolor rgb '#dddddd' fillstyle "
      "solid noborder\n",
      quoted("Spreads of the heads of " + name + ", observed and certified"), layers - 1, paper[0].least,
      paper[0].largest);
  const auto drawn = [](const char* column, Colour colour, int point, const char* title) {
    return fmt::format("$heads using 'at':'{}' with points pointtype {} pointsize 0.6 linecolor rgb '{}' title '{}'",
                       column, point, code_of(colour), title);
  };
  script += "plot " + drawn("mean", Colour::blue, 7, "mean of a head''s rows") + ", " +
            drawn("largest", Colour::orange, 9, "largest of its rows") + ", " +
            drawn("certified", Colour::vermillion, 5, "certified") +
            ", NaN with boxes fillstyle solid linecolor rgb '#dddddd' title 'the paper''s Gemma 2B'\n";
  return {{{"spreads", csv}}, {{"spreads", 1000, 620, script}}};
}

}  // namespace softcheck::experiments
