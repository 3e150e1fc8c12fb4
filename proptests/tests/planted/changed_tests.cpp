#include <sstream>
#include <stdexcept>
#include <vector>

#include "proptests/tests/planted/bug_table.hpp"
#include "proptests/tests/planted/changed_build.hpp"

namespace softcheck::planted {
namespace {

// The zoo's row of a symbol and dtype whose domain begins with these words (the plain one where there are none).
std::string judge_command(const Places& places, const std::string& symbol, const std::string& dtype,
                          const std::string& domain) {
  std::istringstream lines(contents_of(places.build / "kernels/ZOO.tsv"));
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, '\t');) row.push_back(field);
    if (row.at(1) != symbol || row.at(3) != dtype || !row.back().starts_with(domain.empty() ? "-" : domain)) continue;
    const std::string path = (places.scratch / "kernels" / ("lib" + row[0] + ".so")).string();
    return shell_word((places.build / "softcheck").string()) + " kernel " + shell_word(path + ":" + symbol) + " --op " +
           row[2] + " --dtype " + dtype + " --contract " + shell_word(row.at(4)) + " --require " + row.at(5) +
           (domain.empty() ? "" : " --domain " + shell_word(row.back())) + " --effort quick";
  }
  throw std::runtime_error("no line for " + symbol + " " + dtype + " in the zoo");
}

// The target where it is the one that was built anew, else as the build has it.
std::filesystem::path of(const Places& places, const std::filesystem::path& program) {
  return (program == places.target ? places.scratch : places.build) / program;
}

std::string test_command(const Places& places, const std::string& test) {
  std::istringstream words(test);
  std::string program, filter, dtype, domain;
  words >> program >> filter >> dtype >> domain;
  if (program == "judge") return judge_command(places, filter, dtype, domain);
  if (program == "shell") {
    const bool transcript = filter.ends_with(".txt");
    const std::string file = shell_word((places.source / filter).string());
    const std::string runner = shell_word((places.source / "proptests/tests/transcripts/run.sh").string());
    return "sh " + (transcript ? runner : file) + " " + shell_word(of(places, "softcheck").string()) + " " +
           shell_word((places.build / "kernels").string()) + (transcript ? " " + file : "");
  }
  return "SOFTCHECK_KERNEL_DIR=" + shell_word((places.scratch / "kernels").string()) + " " +
         shell_word(of(places, std::filesystem::path("proptests") / program).string()) +
         " --gtest_fail_fast --gtest_filter=" + shell_word(filter);
}

void link_other_plugins(const Places& places) {
  std::filesystem::create_directories(places.scratch / "kernels");
  for (const auto& entry : std::filesystem::directory_iterator(places.build / "kernels")) {
    const std::filesystem::path name = entry.path().filename();
    if (name.extension() == ".so" && "kernels" / name != places.target) {
      std::filesystem::create_symlink(entry.path(), places.scratch / "kernels" / name);
    }
  }
}

}  // namespace

void plant(ChangedBuild& build, const Places& places, const std::filesystem::path& file, const std::string& contents) {
  build.build(file, contents);
  link_other_plugins(places);
}

Outcome run_test(const Places& places, const std::string& test, int seconds, int processor_seconds) {
  // A shell test stands where the sources are, as ctest runs it.
  const std::filesystem::path& where = test.starts_with("shell ") ? places.source : places.scratch;
  const std::string limit = processor_seconds == 0 ? "" : " && ulimit -S -t " + std::to_string(processor_seconds);
  return run_command("cd " + shell_word(where.string()) + limit + " && timeout -k 1 " + std::to_string(seconds) +
                     " env " + test_command(places, test) + " </dev/null");
}

}  // namespace softcheck::planted
