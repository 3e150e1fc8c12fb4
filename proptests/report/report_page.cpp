#include "proptests/report/report_page.hpp"

#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

constexpr const char* before_title = R"(<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width">
<title>)";

constexpr const char* after_title = R"(</title>
<style>
body { font: 16px/1.5 sans-serif; color: #222; background: #fff; max-width: 76rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 3rem; border-bottom: 1px solid #ccc; }
pre, .wide { overflow-x: auto; }
pre { background: #f6f6f6; padding: 0.6rem; font-size: 13px; line-height: 1.35; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; }
td, th { padding: 0.1rem 0.6rem; border-bottom: 1px solid #e4e4e4; text-align: right; }
.left { text-align: left; }
.fail, .crash, .timeout { background: #fbdcd7; }
.refused, .undecided, .vacuous { background: #fdf0c8; }
figure { margin: 1rem 0; }
img { max-width: 100%; }
figcaption { color: #555; font-size: 14px; }
</style>
</head>
<body>
)";

}  // namespace

std::string page_head(std::string_view title) { return before_title + xml_text(title) + after_title; }

}  // namespace softcheck::proptests
