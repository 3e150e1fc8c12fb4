#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>
#include <vector>

#include "judge/campaigns/campaign_report.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

using Json = nlohmann::ordered_json;
using Network = MergedTraining::Network;

struct Metric {
  std::string name;
  SeedSpread spread;
};

/// In the order of the networks' own lists, which is the same for all networks of a training.
std::vector<Metric> metrics_of(const MergedTraining& training) {
  std::vector<std::pair<std::string, std::vector<double>>> values;
  for (const Network& network : training.networks) {
    if (!network.made) continue;
    for (const auto& [name, value] : network.made->metrics) {
      auto found = std::ranges::find(values, name, &std::pair<std::string, std::vector<double>>::first);
      if (found == values.end()) found = values.insert(values.end(), {name, {}});
      found->second.push_back(value);
    }
  }
  std::vector<Metric> metrics;
  for (const auto& [name, numbers] : values) metrics.push_back({name, spread_of(numbers)});
  return metrics;
}

std::string shown(double value) { return std::isnan(value) ? "-" : fmt::format("{:.6g}", value); }

const char* verdict_of(const Network& network) { return to_string(Report{network.rows}.verdict()); }

std::string folder_of(std::size_t number) { return fmt::format("trained/{}/", number); }

std::string name_of(const MergedTraining& training, const Network& network, std::size_t number) {
  return fmt::format("{}seed-{:02}{}", folder_of(number), network.seed, training.is_language ? "/" : ".safetensors");
}

std::size_t finished(const MergedTraining& training) {
  return static_cast<std::size_t>(
      std::ranges::count_if(training.networks, [](const Network& network) { return network.made.has_value(); }));
}

/// The instructions of all networks; "avx2 and avx512" means that their bits cannot be compared.
std::string instructions_of(const MergedTraining& training) {
  std::vector<std::string> words;
  for (const Network& network : training.networks) {
    if (network.made) words.push_back(network.made->instructions);
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " and ") + word;
  return text.empty() ? "none" : text;
}

std::string heading_of(const MergedTraining& training) {
  return fmt::format("{} of {} networks, one a seed, trained with {} instructions", finished(training),
                     training.networks.size(), instructions_of(training));
}

constexpr std::size_t ranked_heads = 10;  // as in `softcheck model`

const char* verdict_of(const MergedModel& model) { return to_string(Report{model.rows}.verdict()); }

std::string table_of(const MergedModel& model) {
  return model.report ? models::to_table(*model.report, ranked_heads) : "";
}

}  // namespace

std::string training_text(const MergedTraining& training, std::size_t number) {
  std::string text = fmt::format("\ntraining {}: {}\n{}; files in {}\n", number, escaped_text(training.asked),
                                 heading_of(training), folder_of(number));
  std::size_t width = std::string_view("metric").size();
  const std::vector<Metric> metrics = metrics_of(training);
  for (const Metric& metric : metrics) width = std::max(width, metric.name.size());
  text += fmt::format("\n  {:{}}  {:>12} {:>12} {:>12} {:>12}\n", "over seeds", width, "mean", "deviation", "least",
                      "largest");
  for (const auto& [name, spread] : metrics) {
    text += fmt::format("  {:{}}  {:>12} {:>12} {:>12} {:>12}\n", name, width, shown(spread.mean),
                        shown(spread.deviation), shown(spread.least), shown(spread.largest));
  }
  text += fmt::format("\n  {:>10}  {:9}  {:>12}  {}\n", "seed", "verdict", "last loss", "sha256 of model.safetensors");
  for (const Network& network : training.networks) {
    const bool made = network.made && !network.made->metrics.empty();
    text += fmt::format("  {:>10}  {:9}  {:>12}  {}\n", network.seed, verdict_of(network),
                        made ? shown(network.made->metrics.front().second) : "-", made ? network.made->sha256() : "-");
  }
  return text;
}

std::string training_html(const MergedTraining& training, std::size_t number) {
  std::string text = fmt::format(
      "<h3 id=\"training-{0}\">Training {0}</h3>\n<p>{1}.</p>\n<p>{2}.</p>\n<div class=\"wide\"><table>\n"
      "<tr><th class=\"left\">over seeds</th><th>mean</th><th>standard deviation</th><th>least</th><th>largest</th>"
      "</tr>\n",
      number, xml_text(training.asked), xml_text(heading_of(training)));
  const std::vector<Metric> metrics = metrics_of(training);
  for (const auto& [name, spread] : metrics) {
    text +=
        fmt::format("<tr><td class=\"left\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n", xml_text(name),
                    shown(spread.mean), shown(spread.deviation), shown(spread.least), shown(spread.largest));
  }
  text += "</table></div>\n<div class=\"wide\"><table>\n<tr><th>seed</th><th>verdict</th>";
  for (const Metric& metric : metrics) text += fmt::format("<th>{}</th>", xml_text(metric.name));
  text += "<th class=\"left\">file</th><th class=\"left\">SHA-256 of model.safetensors</th></tr>\n";
  for (const Network& network : training.networks) {
    text +=
        fmt::format("<tr><td>{}</td><td class=\"{}\">{}</td>", network.seed, verdict_of(network), verdict_of(network));
    for (std::size_t i = 0; i < metrics.size(); ++i) {
      text += fmt::format("<td>{}</td>", network.made ? shown(network.made->metrics[i].second) : "");
    }
    const std::string file = network.made ? name_of(training, network, number) : "";
    text += fmt::format("<td class=\"left\"><a href=\"{0}\">{0}</a></td><td class=\"left\">{1}</td></tr>\n", file,
                        network.made ? network.made->sha256() : "");
  }
  return text + "</table></div>\n";
}

Json training_json(const MergedTraining& training, std::size_t number) {
  Json json;
  json["options"] = printable_utf8(training.asked);
  Report report;
  for (const Network& network : training.networks) {
    report.rows.insert(report.rows.end(), network.rows.begin(), network.rows.end());
  }
  json["verdict"] = to_string(report.verdict());
  json["metrics"] = Json::object();
  for (const auto& [name, spread] : metrics_of(training)) {
    json["metrics"][name] = {{"mean", spread.mean},
                             {"deviation", std::isnan(spread.deviation) ? Json(nullptr) : Json(spread.deviation)},
                             {"least", spread.least},
                             {"largest", spread.largest}};
  }
  json["networks"] = Json::array();
  for (const Network& network : training.networks) {
    Json entry = {{"seed", network.seed}, {"verdict", verdict_of(network)}};
    if (network.made) {
      entry["sha256"] = network.made->sha256();
      entry["file"] = name_of(training, network, number) + (training.is_language ? network_file : "");
      entry["instructions"] = network.made->instructions;
      entry["metrics"] = Json::object();
      for (const auto& [name, value] : network.made->metrics) entry["metrics"][name] = value;
    }
    json["networks"].push_back(std::move(entry));
  }
  return json;
}

std::map<std::string, std::string> training_files(const MergedTraining& training, std::size_t number) {
  std::map<std::string, std::string> files;
  for (const Network& network : training.networks) {
    if (!network.made) continue;
    const std::string place = name_of(training, network, number);
    for (const auto& [name, bytes] : network.made->files) files[training.is_language ? place + name : place] = bytes;
  }
  return files;
}

std::string model_page_name(std::size_t number) { return fmt::format("model-{}.html", number); }

std::string model_text(const MergedModel& model) {
  return fmt::format("\n{}: {}\n{}\n{}", escaped_text(model.asked), verdict_of(model),
                     model.checkpoint.empty() ? "no certificate" : "checkpoint " + model.checkpoint, table_of(model));
}

std::string model_html(const MergedModel& model, std::size_t number) {
  std::string text = fmt::format("<h3 id=\"model-{}\">{}: {}</h3>\n", number, xml_text(model.path), verdict_of(model));
  text += fmt::format("<p>As <code>{}</code> says in one process.", xml_text(model.asked));
  if (!model.report) return text + " It certified nothing: see what does not hold.</p>\n";
  text += fmt::format(
      " {} heads: <a href=\"{}\">maps and numbers</a>. SHA-256 of the configuration and the first bytes of all "
      "tensors: "
      "<code>{}</code>.</p>\n<details><summary>its table</summary><pre>{}</pre></details>\n",
      model.report->heads.size(), model_page_name(number), model.checkpoint, xml_text(table_of(model)));
  return text;
}

nlohmann::ordered_json model_json(const MergedModel& model) {
  nlohmann::ordered_json json;
  json["path"] = printable_utf8(model.path);
  json["command"] = printable_utf8(model.asked);
  json["checkpoint"] = model.checkpoint;
  json["verdict"] = verdict_of(model);
  if (model.report) json["certificate"] = nlohmann::ordered_json::parse(models::to_json(*model.report, ""));
  return json;
}

SeedSpread spread_of(const std::vector<double>& values) {
  if (values.empty()) throw std::invalid_argument("spread_of: need at least one value, got none");
  const auto count = static_cast<double>(values.size());
  double sum = 0, squares = 0;
  for (const double value : values) sum += value;
  const double mean = sum / count;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto [least, largest] = std::ranges::minmax(values);
  const double deviation =
      values.size() < 2 ? std::numeric_limits<double>::quiet_NaN() : std::sqrt(squares / (count - 1));
  return {mean, deviation, least, largest};
}

}  // namespace softcheck::proptests
