#include "judge/campaigns/campaign_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "models/report/checkpoint_report.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

/// The result of a claim for a kernel, over all seeds and efforts.
struct Cell {
  double slack = std::numeric_limits<double>::quiet_NaN();
  ReportVerdict verdict = ReportVerdict::pass;
};

struct Line {
  std::string kernel, dtype, asked;
  ReportVerdict verdict = ReportVerdict::pass;
  std::map<std::string, Cell> cells;  // by claim
};

struct Block {
  std::string op;
  std::vector<Line> lines;                    // in the plan's order
  std::map<std::string, std::size_t> places;  // index of each subject's line
  std::vector<std::string> claims;            // sorted
};

Line& line_of(const MergedCampaign::Answer& answer, Block& block) {
  const std::string name = answer.kernel + "\n" + answer.dtype + "\n" + answer.asked;
  const auto [place, added] = block.places.try_emplace(name, block.lines.size());
  if (added) block.lines.push_back({answer.kernel, answer.dtype, answer.asked, ReportVerdict::pass, {}});
  return block.lines[place->second];
}

void add(const ReportRow& row, Line& line) {
  line.verdict = std::min(line.verdict, row.verdict);
  if (row.claim == "kernel.verdict") return;  // the line shows this verdict itself
  Cell& cell = line.cells[row.claim];
  cell.verdict = std::min(cell.verdict, row.verdict);
  cell.slack = std::fmax(cell.slack, row.slack);
}

std::vector<Block> blocks_of(const MergedCampaign& campaign) {
  std::vector<Block> blocks;
  for (const MergedCampaign::Answer& answer : campaign.answers) {
    auto block = std::ranges::find(blocks, answer.op, &Block::op);
    if (block == blocks.end()) block = blocks.insert(blocks.end(), {answer.op, {}, {}, {}});
    Line& line = line_of(answer, *block);
    for (const ReportRow& row : answer.rows) add(row, line);
  }
  for (Block& block : blocks) {
    for (const Line& line : block.lines) {
      for (const auto& [claim, cell] : line.cells) block.claims.push_back(claim);
    }
    std::ranges::sort(block.claims);
    block.claims.erase(std::unique(block.claims.begin(), block.claims.end()), block.claims.end());
  }
  return blocks;
}

std::string cell_text(const Line& line, const std::string& claim) {
  const auto found = line.cells.find(claim);
  if (found == line.cells.end()) return "";
  const std::string slack = slack_text(found->second.slack);
  return found->second.verdict == ReportVerdict::pass ? slack
                                                      : fmt::format("{} {}", to_string(found->second.verdict), slack);
}

std::string short_name(std::string_view claim) {
  constexpr std::string_view suite = "kernel.";
  return std::string(claim.starts_with(suite) ? claim.substr(suite.size()) : claim);
}

std::string counted(const std::map<ReportVerdict, std::size_t>& counts) {
  std::string text;
  for (const auto& [verdict, count] : counts) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, to_string(verdict));
  }
  return text;
}

/// "20 judgements: 10 fail, 10 pass; 1 model: 1 pass"; only the kinds that the plan has.
std::string summary_of(const MergedCampaign& campaign) {
  std::map<ReportVerdict, std::size_t> kernels, models, networks;
  std::size_t seeds = 0;
  for (const MergedCampaign::Answer& answer : campaign.answers) ++kernels[Report{answer.rows}.verdict()];
  for (const MergedModel& model : campaign.models) ++models[Report{model.rows}.verdict()];
  for (const MergedTraining& training : campaign.trainings) {
    seeds += training.networks.size();
    for (const MergedTraining::Network& network : training.networks) ++networks[Report{network.rows}.verdict()];
  }
  std::string text;
  const auto add = [&](std::size_t count, const char* what, const std::map<ReportVerdict, std::size_t>& verdicts) {
    if (count == 0) return;
    text +=
        fmt::format("{}{} {}{}: {}", text.empty() ? "" : "; ", count, what, count == 1 ? "" : "s", counted(verdicts));
  };
  add(campaign.answers.size(), "judgement", kernels);
  add(campaign.models.size(), "model", models);
  add(seeds, "training", networks);
  return text.empty() ? "nothing yet" : text;
}

bool is_whole(const MergedCampaign& campaign) { return campaign.missing.empty(); }

std::string name_of(const MergedCampaign& campaign) {
  return "campaign" + (campaign.name.empty() ? "" : " " + escaped_text(campaign.name));
}

std::string counts_of(const MergedCampaign& campaign) {
  return summary_of(campaign) +
         (is_whole(campaign) ? "" : fmt::format("; {} shards are missing", campaign.missing.size()));
}

std::string block_text(const Block& block) {
  std::size_t width = 0;
  const auto head = [](const Line& line) { return escaped_text(line.kernel) + " " + line.dtype; };
  for (const Line& line : block.lines) width = std::max(width, head(line).size());
  std::vector<std::size_t> widths;
  std::string text = fmt::format("\n{}\n  {:{}}  {:9}", block.op, "kernel", width, "verdict");
  for (const std::string& claim : block.claims) {
    std::size_t widest = short_name(claim).size();
    for (const Line& line : block.lines) widest = std::max(widest, cell_text(line, claim).size());
    widths.push_back(widest);
    text += fmt::format("  {:>{}}", short_name(claim), widest);
  }
  for (const Line& line : block.lines) {
    text += fmt::format("\n  {:{}}  {:9}", head(line), width, to_string(line.verdict));
    for (std::size_t i = 0; i < widths.size(); ++i) {
      text += fmt::format("  {:>{}}", cell_text(line, block.claims[i]), widths[i]);
    }
    text += fmt::format("\n      [{}]", escaped_text(line.asked));
  }
  return text + "\n";
}

/// The rows that do not pass, with their judges' lines.
Report failed_rows(const MergedCampaign& campaign) {
  Report failed = campaign.report();
  std::erase_if(failed.rows, [](const ReportRow& row) { return row.verdict == ReportVerdict::pass; });
  for (ReportRow& row : failed.rows) row.not_tried.clear();  // equal for every kernel of an op; the JSON has it
  return failed;
}

std::string cell_html(const Line& line, const std::string& claim) {
  const auto found = line.cells.find(claim);
  if (found == line.cells.end()) return "<td></td>";
  return fmt::format("<td class=\"{}\">{}</td>", to_string(found->second.verdict), xml_text(cell_text(line, claim)));
}

/// Is the claim's cell 0 or empty in every line?
bool is_always_zero(const Block& block, const std::string& claim) {
  return std::ranges::all_of(block.lines, [&](const Line& line) {
    const std::string text = cell_text(line, claim);
    return text.empty() || text == "0";
  });
}

/// Gravest verdicts first.
std::string block_html(Block block) {
  std::ranges::stable_sort(block.lines, {}, &Line::verdict);
  std::string text = fmt::format(
      "<h2 id=\"{0}\">{0}</h2>\n<div class=\"wide\"><table>\n<tr><th class=\"left\">kernel</th><th>dtype</th>"
      "<th>verdict</th>",
      xml_text(block.op));
  std::string folded;
  std::vector<std::string> shown;
  for (const std::string& claim : block.claims) {
    if (is_always_zero(block, claim)) {
      folded += (folded.empty() ? "" : ", ") + xml_text(short_name(claim));
    } else {
      shown.push_back(claim);
      text += fmt::format("<th>{}</th>", xml_text(short_name(claim)));
    }
  }
  text += "<th class=\"left\">contract</th></tr>\n";
  for (const Line& line : block.lines) {
    text += fmt::format("<tr><td class=\"left\">{0}</td><td>{1}</td><td class=\"{2}\">{2}</td>", xml_text(line.kernel),
                        xml_text(line.dtype), to_string(line.verdict));
    for (const std::string& claim : shown) text += cell_html(line, claim);
    text += fmt::format("<td class=\"left asked\">{}</td></tr>\n", xml_text(line.asked));
  }
  text += "</table></div>\n";
  return folded.empty() ? text : text + fmt::format("<p class=\"note\">0 for every kernel: {}.</p>\n", folded);
}

/// One line per subject, gravest verdicts first, that unfolds to its judge's lines. The first one is unfolded.
std::string failures_html(const MergedCampaign& campaign) {
  std::vector<Report> subjects;
  for (ReportRow& row : failed_rows(campaign).rows) {
    if (subjects.empty() || subjects.back().rows.front().subject != row.subject) subjects.emplace_back();
    subjects.back().rows.push_back(std::move(row));
  }
  if (subjects.empty()) return "";
  std::ranges::stable_sort(subjects, {}, [](const Report& subject) { return subject.verdict(); });
  std::string text = "<h2 id=\"failures\">What does not hold</h2>\n";
  for (const Report& subject : subjects) {
    std::string claims, details;
    for (const ReportRow& row : subject.rows) {
      if (row.claim != "kernel.verdict") claims += (claims.empty() ? ": " : ", ") + xml_text(short_name(row.claim));
      details += fmt::format("<p>{}: {}</p>\n<pre>", xml_text(row.claim), to_string(row.verdict));
      for (const std::string& line : row.details) details += xml_text(escaped_text(line)) + "\n";
      details += "</pre>\n";
    }
    text += fmt::format("<details{0}><summary><strong class=\"{1}\">{1}</strong> {2}{3}</summary>\n{4}</details>\n",
                        &subject == &subjects.front() ? " open" : "", to_string(subject.verdict()),
                        xml_text(subject.rows.front().subject), claims, details);
  }
  return text;
}

}  // namespace

std::string to_text(const MergedCampaign& campaign) {
  std::string text = name_of(campaign) + ": " + counts_of(campaign) + "\n";
  text += fmt::format("plan {}\nsoftcheck {} (commit {})\n", campaign.plan, campaign.version, campaign.commit);
  for (const auto& [library, digest] : campaign.libraries) {
    text += fmt::format("library {} {}\n", escaped_text(library), digest.empty() ? "unknown" : digest);
  }
  if (!campaign.answers.empty()) {
    text += "slack: the used part of a threshold, the worst over seeds and efforts; 1 is all of it\n";
  }
  for (const Block& block : blocks_of(campaign)) text += block_text(block);
  for (const MergedModel& model : campaign.models) text += model_text(model);
  for (std::size_t i = 0; i < campaign.trainings.size(); ++i) text += training_text(campaign.trainings[i], i + 1);
  const Report failed = failed_rows(campaign);
  if (!failed.rows.empty()) text += "\nwhat does not hold\n" + to_table(failed);
  return text;
}

std::string to_json(const MergedCampaign& campaign) {
  using Json = nlohmann::ordered_json;
  Json whole;
  whole["campaign"] = {{"name", printable_utf8(campaign.name)},
                       {"plan", campaign.plan},
                       {"version", campaign.version},
                       {"commit", campaign.commit},
                       {"missing", campaign.missing}};
  whole["campaign"]["libraries"] = Json::object();
  for (const auto& [library, digest] : campaign.libraries) {
    whole["campaign"]["libraries"][printable_utf8(library)] = digest;
  }
  whole["models"] = Json::array();
  for (const MergedModel& model : campaign.models) whole["models"].push_back(model_json(model));
  whole["trainings"] = Json::array();
  for (std::size_t i = 0; i < campaign.trainings.size(); ++i) {
    whole["trainings"].push_back(training_json(campaign.trainings[i], i + 1));
  }
  whole.update(Json::parse(to_json(campaign.report())));
  return whole.dump(2) + "\n";
}

std::string to_html(const MergedCampaign& campaign) {
  std::string text = page_head("softcheck: campaign " + campaign.name);
  text += fmt::format(
      "<h1>{0}</h1>\n<p><strong class=\"{1}\">{1}</strong> {2}</p>\n<p class=\"note\">Plan <code>{3}</code>, judged by "
      "softcheck {4} (commit {5}).</p>\n",
      xml_text(name_of(campaign)), to_string(campaign.report().verdict()), xml_text(counts_of(campaign)), campaign.plan,
      xml_text(campaign.version), xml_text(campaign.commit));
  text += failures_html(campaign);
  if (!campaign.answers.empty()) {
    text +=
        "<p>A table for each op: a line is a kernel, a cell the used part of a claim's threshold, the worst over seeds "
        "and efforts; 1 is all of it.</p>\n";
  }
  for (const Block& block : blocks_of(campaign)) text += block_html(block);
  if (!campaign.models.empty()) {
    text +=
        "<h2 id=\"models\">Models</h2>\n<p>What the attention heads of trained models can do at most, for every input "
        "and every length: how far apart the logits of one row can lie, how large they can be, and the length N from "
        "which every coefficient is below eps. The layers were certified one by one.</p>\n";
  }
  for (std::size_t i = 0; i < campaign.models.size(); ++i) text += model_html(campaign.models[i], i + 1);
  if (!campaign.trainings.empty()) {
    text +=
        "<h2 id=\"trainings\">Trainings</h2>\n<p>Networks that were trained here, each from a seed, and tested on "
        "inputs that no training saw. An accuracy is a share of tests; a standard deviation is that of the "
        "seeds.</p>\n";
  }
  for (std::size_t i = 0; i < campaign.trainings.size(); ++i) text += training_html(campaign.trainings[i], i + 1);
  if (campaign.libraries.empty()) return text + "</body>\n</html>\n";
  text += "<h2 id=\"libraries\">Libraries</h2>\n<div class=\"wide\"><table>\n";
  for (const auto& [library, digest] : campaign.libraries) {
    text += fmt::format("<tr><td class=\"left\">{}</td><td>{}</td></tr>\n", xml_text(library), digest);
  }
  return text + "</table></div>\n</body>\n</html>\n";
}

std::map<std::string, std::string> adjacent_files(const MergedCampaign& campaign) {
  std::map<std::string, std::string> files;
  for (std::size_t i = 0; i < campaign.models.size(); ++i) {
    const MergedModel& model = campaign.models[i];
    if (model.report) files[model_page_name(i + 1)] = models::to_html(*model.report, scripted_page_head);
  }
  for (std::size_t i = 0; i < campaign.trainings.size(); ++i) files.merge(training_files(campaign.trainings[i], i + 1));
  return files;
}

std::string hosts_to_tsv(const MergedCampaign& campaign) {
  std::string text = "host\tanswers\tseconds\n";
  for (const HostShare& host : campaign.hosts) {
    text += fmt::format("{}\t{}\t{:.1f}\n", escaped_text(host.host), host.answers, host.seconds);
  }
  return text;
}

}  // namespace softcheck::proptests
