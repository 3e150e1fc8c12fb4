#include "kernels/bench/gpu/report.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

namespace softcheck::kernels::gpu {
namespace {

using nlohmann::json;

json of(const Timing& t) {
  json all = {{"group", t.group},     {"kernel", t.kernel},   {"format", t.format},
              {"problem", t.problem}, {"seconds", t.seconds}, {"median_seconds", t.median()}};
  if (t.bytes > 0) all["bytes_per_second"] = t.bytes / t.median();
  if (t.of_ceiling > 0) all["of_ceiling"] = t.of_ceiling;
  if (t.flops > 0) all["flops_per_second"] = t.flops / t.median();
  if (t.to_first > 0) all["seconds_of_first"] = t.to_first;
  return all;
}

std::string line_of(const Timing& t) {
  char text[240];
  std::snprintf(text, sizeof text, "%-26s %-5s %-58s %10.4f ms", t.kernel.c_str(), t.format.c_str(), t.problem.c_str(),
                1e3 * t.median());
  std::string line = text;
  if (t.bytes > 0) {
    std::snprintf(text, sizeof text, "  %7.1f GB/s", 1e-9 * t.bytes / t.median());
    line += text;
  }
  if (t.flops > 0) {
    std::snprintf(text, sizeof text, "  %7.1f TFLOP/s", 1e-12 * t.flops / t.median());
    line += text;
  }
  if (t.of_ceiling > 0) {
    std::snprintf(text, sizeof text, "  %.3f of the ceiling", t.of_ceiling);
    line += text;
  }
  std::snprintf(text, sizeof text, "  %.3f of the first's time", t.to_first);
  return line + text + "\n";
}

}  // namespace

json report(const Device& device, const std::string& date, const std::string& commit,
            const std::vector<Comparison>& comparisons, const Benchmarks& benchmarks) {
  json all = {{"date", date},
              {"commit", commit},
              {"device",
               {{"name", device.name},
                {"architecture", device.architecture},
                {"driver", device.driver},
                {"runtime", device.runtime},
                {"multiprocessors", device.multiprocessors},
                {"memory_bytes", device.memory}}}};
  all["comparisons"] = json::array();
  for (const Comparison& c : comparisons) {
    all["comparisons"].push_back({{"kernel", c.kernel},
                                  {"format", c.format},
                                  {"against", c.against},
                                  {"problem", c.problem},
                                  {"holds", c.holds},
                                  {"detail", c.detail}});
  }
  all["ceilings"] = json::array();
  if (!benchmarks.ceilings.copy.seconds.empty())
    all["ceilings"] = {of(benchmarks.ceilings.copy), of(benchmarks.ceilings.read)};
  all["benchmarks"] = json::array();
  for (const Timing& timing : benchmarks.timings) all["benchmarks"].push_back(of(timing));
  return all;
}

std::string file_name(const std::string& folder, const std::string& date, const std::string& device) {
  std::string name = date + "-" + device;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-') c = '_';
  }
  return folder + "/" + name + ".json";
}

std::string table(const std::vector<Comparison>& comparisons) {
  std::map<std::string, std::pair<int, int>> counts;  // that hold, of all
  std::string failures;
  for (const Comparison& c : comparisons) {
    std::pair<int, int>& count = counts[c.kernel + " against " + c.against];
    count.first += c.holds ? 1 : 0;
    ++count.second;
    if (!c.holds) failures += "DIFFERS  " + c.kernel + " " + c.format + ", " + c.problem + ": " + c.detail + "\n";
  }
  std::string text;
  for (const auto& [kernel, count] : counts) {
    text += kernel + ": " + std::to_string(count.first) + " of " + std::to_string(count.second) + " hold\n";
  }
  return text + failures;
}

std::string table(const Benchmarks& benchmarks) {
  std::string text = line_of(benchmarks.ceilings.copy) + line_of(benchmarks.ceilings.read);
  for (const Timing& timing : benchmarks.timings) text += line_of(timing);
  return text;
}

}  // namespace softcheck::kernels::gpu
