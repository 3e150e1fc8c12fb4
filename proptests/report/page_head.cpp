#include <string>
#include <string_view>

#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

constexpr const char* before_policy = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline')";

constexpr const char* before_title = R"(">
<meta name="viewport" content="width=device-width">
<title>)";

// Translucent backgrounds work on light and dark pages. Maps of heads are grids of buttons.
constexpr const char* after_title = R"(</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 1.5rem auto; padding: 0 1rem; overflow-wrap: break-word; }
h1 { font-size: clamp(1.3rem, 5vw, 2rem); }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #8886; }
a { color: light-dark(#0550ae, #79b8ff); }
pre, .wide { overflow-x: auto; }
pre { background: #8881; padding: 0.6rem; font-size: 13px; line-height: 1.35; }
summary { cursor: pointer; margin: 0.4rem 0; }
table { border-collapse: collapse; font-size: 14px; font-variant-numeric: tabular-nums; }
td, th { padding: 0.1rem 0.6rem; border-bottom: 1px solid #8886; text-align: right; }
th button { font: inherit; border: 0; background: none; cursor: pointer; }
.left { text-align: left; }
.asked { white-space: nowrap; }
.pass, .fail, .crash, .timeout, .refused, .undecided, .vacuous { padding: 0.1rem 0.4rem; }
strong.pass { background: #30a46c40; }
.fail, .crash, .timeout { background: #e5484d50; }
.refused, .undecided, .vacuous { background: #f5b50050; }
figure { margin: 1rem 0; }
img { max-width: 100%; background: #fff; }
figcaption, .note { font-size: 14px; opacity: 0.8; }
.maps { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(17rem, 100%), 1fr)); gap: 1.5rem; }
.map { display: grid; gap: 1px; }
.map span { font-size: 10px; line-height: 14px; text-align: center; white-space: nowrap; padding: 0 2px; }
.map button { border: 0; padding: 0; height: 14px; min-width: 0; cursor: pointer; }
.map .failing { outline: 2px dashed #e5484d; z-index: 1; }
.map button:focus, .map .chosen { outline: 3px solid #d55e00; z-index: 2; }
.bar { height: 10px; background: linear-gradient(90deg, #00224e, #575d6d, #a59c74, #fee838); }
.ends { display: flex; justify-content: space-between; }
.long { max-height: 32rem; overflow: auto; }
@media print { .long { max-height: none; } * { print-color-adjust: exact; } }
</style>
</head>
<body>
)";

std::string head(std::string_view title, const char* scripts) {
  return std::string(before_policy) + scripts + before_title + xml_text(title) + after_title;
}

}  // namespace

std::string page_head(std::string_view title) { return head(title, ""); }
std::string scripted_page_head(std::string_view title) { return head(title, "; script-src 'unsafe-inline'"); }

}  // namespace softcheck::proptests
