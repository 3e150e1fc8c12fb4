#include "judge/campaigns/model_views.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "proptests/report/report_page.hpp"

namespace softcheck::proptests {
namespace {

constexpr std::size_t ranked_heads = 10;  // as many as `softcheck model` prints

const char* verdict_of(const MergedModel& model) { return to_string(Report{model.rows}.verdict()); }

std::string table_of(const MergedModel& model) {
  return model.report ? models::to_table(*model.report, ranked_heads) : "";
}

}  // namespace

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
      " {} heads; <a href=\"{}\">all of them</a>. SHA-256 of the configuration and the first bytes of all tensors: "
      "{}.</p>\n<pre>{}</pre>\n",
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

}  // namespace softcheck::proptests
