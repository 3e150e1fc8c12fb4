// Gates, JSON and claims of certified heads.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "models/report/checkpoint_report.hpp"
#include "models/report/gate.hpp"
#include "proptests/tests/models/bounds_heads.hpp"

namespace softcheck::proptests {
namespace {

using models::Gate;
using models::HeadCertificate;

TEST(BoundsGate, LooksAtTheEndThatExcludes) {
  HeadCertificate head;
  head.spread = {10, 20};
  head.logit = {5, 70000};
  head.entropy_floor = {0.5, 0.75};
  const auto closes = [&](const char* text) { return Gate::parse(text).closes(head); };
  EXPECT_TRUE(closes("spread.best > 19"));
  EXPECT_FALSE(closes("spread.best > 20"));
  EXPECT_TRUE(closes("spread.best >= 20"));
  EXPECT_FALSE(closes("spread.best>=20.5"));
  EXPECT_TRUE(closes("spread.best < 11"));
  EXPECT_FALSE(closes("spread.best < 10"));
  EXPECT_TRUE(closes("spread.best <= 10"));
  EXPECT_FALSE(closes("spread.best <= 9"));
  EXPECT_TRUE(closes("logit.f16 > 65504"));
  EXPECT_TRUE(closes("entropy_floor < 0.6"));
  EXPECT_FALSE(closes("entropy_floor < 0.4"));
  EXPECT_TRUE(closes("reached < 0.75"));
  EXPECT_FALSE(closes("reached < 0.5"));
  EXPECT_EQ(Gate::parse("spread.best > 1").value(head), 20);
  EXPECT_EQ(Gate::parse("spread.best < 1").value(head), 10);
}

std::string head_of(std::string_view title) { return "head of " + std::string(title) + "\n"; }

TEST(CheckpointPage, BeginsWithTheVerdictAndTheHeadsThatGatesStop) {
  models::CheckpointReport report;
  report.path = "models/<b>/";
  report.fail_if = {"spread.best > 15", "logit.f16 > 65504"};
  report.asked = 3;
  for (const double spread : {20, 10, 123456}) {
    report.heads.emplace_back();
    report.heads.back().head.layer = 1;
    report.heads.back().head.head = static_cast<int>(report.heads.size()) - 1;
    report.heads.back().spread = {spread, spread};
  }
  for (const std::string& gate : report.fail_if) {
    for (const HeadCertificate& head : report.heads) report.certificates.push_back(Gate::parse(gate).certify(head));
  }
  const std::string page = models::to_html(report, head_of);
  EXPECT_TRUE(page.starts_with("head of softcheck model: <b>\n")) << page.substr(0, 400);
  std::size_t at = 0;
  for (const char* part :
       {"<h1>&lt;b&gt;</h1>", "<strong class=\"fail\">fail</strong> 3 of 3 heads certified",
        "<strong class=\"fail\">fail</strong></td><td class=\"left\"><code>spread.best &gt; 15</code>", "<td>2</td>",
        "<a href=\"#head-1-0\">1.0</a> (20), <a href=\"#head-1-2\">1.2</a> (123456)</td>",
        "<strong class=\"pass\">pass</strong></td><td class=\"left\"><code>logit.f16 &gt; 65504</code>", "<td>0</td>",
        "id=\"maps\""}) {
    const std::size_t next = page.find(part, at);
    ASSERT_NE(next, std::string::npos) << part << " is not behind " << page.substr(0, at);
    at = next;
  }
  EXPECT_EQ(page.find("<b>", page.find("<h1>")), std::string::npos);
  report.fail_if = {"spread.best < 200000"};
  report.heads.resize(1);
  report.heads.resize(30, report.heads.front());
  EXPECT_NE(models::to_html(report, head_of).find(" and 6 more</td>"), std::string::npos);
}

TEST(CheckpointPage, NamesAClaimThatDoesNotHold) {
  models::CheckpointReport report;
  report.heads.resize(1);
  const auto certify = [](double left) {
    return numerics::certify_less_equal("model.logit.ends", "a head", [left] {
      return numerics::Sides{numerics::Enclosure(left), numerics::Enclosure(1)};
    });
  };
  report.certificates = {certify(0)};
  EXPECT_EQ(models::to_html(report, head_of).find("model.logit.ends"), std::string::npos);
  report.certificates = {certify(2), certify(3)};
  EXPECT_NE(models::to_html(report, head_of).find("fail</strong> <code>model.logit.ends</code>: 2 cases"),
            std::string::npos);
}

// A NaN excludes nothing: the gate closes.
TEST(BoundsGate, ClosesWhereNothingIsKnown) {
  HeadCertificate head;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  head.spread = {nan, nan};
  for (const char* text : {"spread.best > 1", "spread.best >= 1", "spread.best < 1", "spread.best <= 1"}) {
    EXPECT_TRUE(Gate::parse(text).closes(head)) << text;
  }
  head.spread = {0, std::numeric_limits<double>::infinity()};
  EXPECT_TRUE(Gate::parse("spread.best > 1e300").closes(head));
}

TEST(BoundsGate, WrongTextsAreRefused) {
  for (const char* text : {"", ">", "spread.best", "spread.best >", "> 3", "spread.best = 3", "spread.best > three",
                           "spread.best > 3 4", "spread.best >> 3", "spread.best => 3", "spread.best > nan",
                           "spread.best > inf", "spread.best > 1e999", "spread.best > 0x10", "spread > 3",
                           "Spread.best > 3", "spread.best > 3 > 2", "1 < spread.best", "logit.f32 > 1"}) {
    EXPECT_THROW(Gate::parse(text), std::invalid_argument) << text;
  }
  for (const std::string& field : Gate::fields())
    EXPECT_EQ(Gate::parse(field + " > -1.5e2").text(), field + " > -1.5e2");
}

models::CheckpointReport report_of_one_head() {
  Drawing drawing(37);
  DrawnHead drawn = drawing.head(4, 6, models::NormKind::layer_norm, true);
  drawn.query *= 1e4;
  HeadInMemory memory(drawn);
  memory.head.window = 9;
  memory.checkpoint.put("sink", Eigen::MatrixXd::Constant(1, 1, -2.5));
  memory.head.sink = {"sink", {0, 1}};
  models::CheckpointReport report;
  report.path = "memory";
  report.format = "memory";
  report.model = memory.model;
  report.heads.push_back(memory.certify());
  return report;
}

TEST(BoundsReport, JsonHasTheCertificatesNumbers) {
  models::CheckpointReport report = report_of_one_head();
  const HeadCertificate& head = report.heads[0];
  const auto json = nlohmann::json::parse(to_json(report, R"({"claims": []})"));
  EXPECT_TRUE(json.contains("claims"));
  EXPECT_EQ(json.at("model").at("context"), 512);
  const auto& entry = json.at("heads").at(0);
  const auto expect = [&](const nlohmann::json& found, double lower, double upper) {
    EXPECT_EQ(found, nlohmann::json::array({lower, upper}));
  };
  expect(entry.at("spread").at("best"), head.spread.lower, head.spread.upper);
  expect(entry.at("spread").at("joint"), head.joint.lower_double(), head.joint.upper_double());
  expect(entry.at("spread").at("folded"), head.folded.lower_double(), head.folded.upper_double());
  expect(entry.at("spread").at("product"), head.product.lower_double(), head.product.upper_double());
  expect(entry.at("logit"), head.logit.lower, head.logit.upper);
  EXPECT_FALSE(entry.at("spread").contains("context") || entry.at("spread").contains("enumerated"));
  EXPECT_FALSE(entry.contains("logit_enumerated"));
  report.heads[0].context_spread = models::Supremum{1, 2};
  report.heads[0].enumerated_spread = models::Supremum{3, 4};
  report.heads[0].enumerated_logit = models::Supremum{5, 6};
  const auto more = nlohmann::json::parse(to_json(report, "")).at("heads").at(0);
  expect(more.at("spread").at("context"), 1, 2);
  expect(more.at("spread").at("enumerated"), 3, 4);
  expect(more.at("logit_enumerated"), 5, 6);
  expect(entry.at("score"), head.score.lower, head.score.upper);
  expect(entry.at("entropy_floor"), head.entropy_floor.lower, head.entropy_floor.upper);
  expect(entry.at("dispersion_length_log10"), head.dispersion_length_log10.lower, head.dispersion_length_log10.upper);
  expect(entry.at("identity_length_log10"), head.identity_length_log10.lower, head.identity_length_log10.upper);
  expect(entry.at("largest_coefficient"), head.largest_coefficient.lower, head.largest_coefficient.upper);
  EXPECT_EQ(entry.at("items"), 9);
  EXPECT_EQ(entry.at("window"), 9);
  EXPECT_EQ(entry.at("sink"), -2.5);
  EXPECT_EQ(entry.at("domain"), "layer_norm");
  EXPECT_EQ(entry.at("overflow").at("f16"), head.score.upper < 65504);
  EXPECT_EQ(entry.at("overflow").at("f16"), false);
  EXPECT_EQ(entry.at("overflow").at("bf16"), true);
}

TEST(BoundsReport, ClaimsHoldAndFailWhereABoundIsWrong) {
  models::CheckpointReport report = report_of_one_head();
  const auto all_proved = [&] {
    bool all = true;
    for (const auto& claim : certify_report(report)) all = all && claim.verdict == numerics::Verdict::proved;
    return all;
  };
  EXPECT_TRUE(all_proved());
  HeadCertificate& head = report.heads[0];
  const HeadCertificate right = head;
  head.dispersion_length_log10.upper = std::nextafter(head.dispersion_length_log10.upper, 0) * (1 - 1e-14);
  EXPECT_FALSE(all_proved());
  head = right;
  head.spread.lower = head.spread.upper * (1 + 1e-14);
  EXPECT_FALSE(all_proved());
  head = right;
  head.logit.upper = head.spread.lower / 2 * (1 - 1e-14);
  EXPECT_FALSE(all_proved());
  // What fewer inputs or items reach lies within what all do.
  for (const auto narrower : {&HeadCertificate::context_spread, &HeadCertificate::enumerated_spread}) {
    head = right;
    head.*narrower = models::Supremum{0, head.spread.upper};
    EXPECT_TRUE(all_proved());
    head.*narrower = models::Supremum{0, std::nextafter(head.spread.upper, 2 * head.spread.upper)};
    EXPECT_FALSE(all_proved());
    head.*narrower = models::Supremum{head.spread.upper, head.spread.lower / 2};
    EXPECT_FALSE(all_proved());
  }
  head = right;
  head.enumerated_logit = models::Supremum{0, std::nextafter(head.logit.upper, 2 * head.logit.upper)};
  EXPECT_FALSE(all_proved());
}

}  // namespace
}  // namespace softcheck::proptests
