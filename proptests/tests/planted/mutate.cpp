// mutate NINJA SOURCE BUILD SCRATCH LOG [--count N] [--seed S] [--folder NAME] [--within SECONDS] [--again] [--list]:
// draws small changes of our own code by a seed, the same number from each folder, and asks the tests of the folder
// whether they notice. What became of each is added to LOG, tab-separated, and a later run does not try it again.
// --within: asks no test that takes longer; what the others do not notice is open, and tried again without this option.
// --again: tries again what survived. --list: draws, and tries nothing.
// Exit: 0 in every folder nine of ten were killed, 1 not, 2 usage.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "proptests/tests/planted/bug_table.hpp"
#include "proptests/tests/planted/changed_build.hpp"
#include "proptests/tests/planted/mutant_sites.hpp"
#include "proptests/tests/planted/test_stages.hpp"

namespace softcheck::planted {
namespace {

namespace fs = std::filesystem;

// Longer than the tests of any folder take.
constexpr int seconds_of_tests = 1800;

// What shows that a loop has no end: three times what the tests took without a change, and what a program takes to
// start. It is the processor's time: how busy the machine is does not matter.
int limit_of(const Stage& stage) { return static_cast<int>(std::lround(3 * stage.seconds)) + 3; }

struct CallDescription {
  const char* target;  // what is built anew
  const char* test;    // changed_tests.hpp
};

struct Folder {
  const char* name;  // in the log and the table
  const char* path;  // of the sources, with what lies below
  std::vector<CallDescription> asked;
};

const CallDescription theory{"proptests/test_theory", "test_theory *"};
const CallDescription judge{"proptests/test_judge", "test_judge -Zoo.*:ZooMatrix.*:Survivors.*"};

const Folder folders[] = {
    {"theory", "theory", {theory}},
    {"numerics", "numerics", {{"proptests/test_numerics", "test_numerics *"}}},
    {"generators", "proptests/generators", {theory, judge}},
    {"judge", "judge", {judge}},
    {"kernels", "kernels/cpu", {{"kernels/libsoftcheck_cpu_kernels.so", "test_kernels *"}}},
    {"models", "models", {{"proptests/test_models", "test_models *"}}},
    {"experiments", "experiments", {{"proptests/test_experiments", "test_experiments *"}}},
    {"cli", "cli", {{"softcheck", "shell proptests/tests/build/command.sh"}}},
};

struct Request {
  Places places;
  fs::path log;
  std::size_t count = 300;
  std::uint64_t seed = 20241001;
  std::string folder;
  double within = std::numeric_limits<double>::infinity();
  bool again = false;
  bool list = false;
};

struct Tried {
  std::string folder, file, kind, before, after, verdict, by;

  std::string key() const { return file + '\t' + before + '\t' + after; }
};

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

// A line of the log: folder, file, kind, the line before and after, the verdict, what noticed it. Of a change that was
// tried again the last line holds.
std::vector<Tried> read_log(const fs::path& log) {
  std::vector<Tried> tried;
  std::ifstream in(log);
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 6 && fields.size() != 7) continue;
    Tried read{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], fields.size() == 7 ? fields[6] : ""};
    std::erase_if(tried, [&](const Tried& earlier) { return earlier.key() == read.key(); });
    tried.push_back(std::move(read));
  }
  return tried;
}

// Changes that no test can notice, and why: file, the line before and after, the reason.
std::map<std::string, std::string> read_equivalents(const fs::path& source) {
  std::map<std::string, std::string> reasons;
  std::ifstream in(source / "proptests/tests/planted/equivalent_mutants.tsv");
  std::string line;
  std::getline(in, line);  // the names of the columns
  while (std::getline(in, line)) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != 4) throw std::runtime_error("equivalent_mutants.tsv: need four columns, got: " + line);
    reasons[fields[0] + '\t' + fields[1] + '\t' + fields[2]] = fields[3];
  }
  return reasons;
}

std::vector<Mutant> drawn(const fs::path& source, const Folder& folder, std::uint64_t seed) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(source / folder.path)) {
    const fs::path file = fs::relative(entry.path(), source);
    const bool other = std::ranges::any_of(file, [](const fs::path& part) { return part == "bench"; });
    if (file.extension() == ".cpp" && !other) files.push_back(file);
  }
  std::ranges::sort(files);
  std::vector<Mutant> mutants;
  for (const fs::path& file : files) {
    for (Mutant& mutant : mutants_of(file, contents_of(source / file))) mutants.push_back(std::move(mutant));
  }
  // By our own draw: std::shuffle's differs among libraries.
  std::mt19937_64 random(seed);
  for (std::size_t i = mutants.size(); i > 1; --i) std::swap(mutants[i - 1], mutants[random() % i]);
  return mutants;
}

Tried described(const Places& places, const Folder& folder, const Mutant& mutant) {
  const std::string source = contents_of(places.source / mutant.file);
  return {folder.name,
          mutant.file.string(),
          mutant.kind,
          line_of(source, mutant.offset),
          line_of(with_mutant(source, mutant), mutant.offset),
          "",
          ""};
}

// A program's tests in the order in which they are asked, those of a script as one, and how it is built anew.
class Program {
 public:
  // Without a change, the same contents of a file, all tests pass. How long they took is kept beside the log: a later
  // run asks new ones alone. Throws std::runtime_error where they do not pass.
  Program(const Request& request, const CallDescription& asked, const fs::path& file);

  // "killed", "survived", "open", or "no code" of what does not compile or link, and what noticed it.
  std::pair<std::string, std::string> verdict(const Mutant& mutant);

 private:
  std::vector<TimedTest> measured(const fs::path& file, const std::vector<TimedTest>& known);

  Places places_;
  std::string program_, filter_;
  std::vector<Stage> stages_;
  bool all_ = true;  // the tests that there are
  ChangedBuild build_;
};

Places with_target(Places places, const char* target) {
  places.target = target;
  return places;
}

Program::Program(const Request& request, const CallDescription& asked, const fs::path& file)
    : places_(with_target(request.places, asked.target)), build_(places_, ChangedAs::soon) {
  const std::string test = asked.test;
  program_ = test.substr(0, test.find(' '));
  filter_ = test.substr(program_.size() + 1);
  const fs::path kept = request.log.string() + "." + program_;
  std::vector<TimedTest> tests;
  if (fs::exists(kept)) tests = timed_tests(contents_of(kept));
  std::ofstream log(kept, std::ios::app);
  for (const TimedTest& one : measured(file, tests)) {
    tests.push_back(one);
    log << passed_line(one);
  }
  const double within = program_ == "shell" ? std::numeric_limits<double>::infinity() : request.within;
  stages_ = stages_of(tests, within);
  all_ = std::ranges::all_of(tests, [&](const TimedTest& one) { return one.seconds <= within; });
}

std::vector<TimedTest> Program::measured(const fs::path& file, const std::vector<TimedTest>& known) {
  const bool is_script = program_ == "shell";
  if (is_script && !known.empty()) return {};
  plant(build_, places_, file, contents_of(places_.source / file));
  const auto start = std::chrono::steady_clock::now();
  const std::string test = program_ + " " + (is_script ? filter_ : filter_without(filter_, known));
  const Outcome outcome = run_test(places_, test, seconds_of_tests);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (outcome.status != 0) {
    throw std::runtime_error(
        "without a change the tests of " + program_ + " must pass, got exit status " + std::to_string(outcome.status) +
        ":\n" + outcome.output.substr(outcome.output.size() - std::min<std::size_t>(outcome.output.size(), 2000)));
  }
  if (is_script) return {{filter_, took.count()}};
  return timed_tests(outcome.output);
}

std::pair<std::string, std::string> Program::verdict(const Mutant& mutant) {
  try {
    plant(build_, places_, mutant.file, with_mutant(contents_of(places_.source / mutant.file), mutant));
  } catch (const std::runtime_error&) {
    return {"no code", ""};
  }
  for (const Stage& stage : stages_) {
    const Outcome outcome = run_test(places_, program_ + " " + stage.filter, seconds_of_tests, limit_of(stage));
    if (outcome.status == 126 || outcome.status == 127) throw std::runtime_error("the tests did not run");
    if (outcome.status == 0) continue;
    std::string by = failed_test(outcome.output);
    if (outcome.status == 124 || outcome.status == 152) by = "time";
    return {"killed", by.empty() ? "exit status " + std::to_string(outcome.status) : by};
  }
  return {all_ ? "survived" : "open", ""};
}

// The programs of a folder, one after the other until one notices.
void try_mutant(std::vector<Program>& programs, const Mutant& mutant, Tried& tried) {
  for (Program& program : programs) {
    const std::string before = tried.verdict;
    std::tie(tried.verdict, tried.by) = program.verdict(mutant);
    if (tried.verdict == "killed" || tried.verdict == "no code") return;
    if (before == "open") tried.verdict = before;
  }
}

// Adds to the log what became of it.
void note(const Request& request, const Tried& tried) {
  std::ofstream log(request.log, std::ios::app);
  for (const std::string* field : {&tried.folder, &tried.file, &tried.kind, &tried.before, &tried.after}) {
    log << *field << '\t';
  }
  log << tried.verdict << '\t' << tried.by << '\n';
}

// What need not be tried: every line of the log, but for what is open now and what is to be tried again.
std::map<std::string, std::string> settled(const Request& request) {
  const std::map<std::string, std::string> equivalents = read_equivalents(request.places.source);
  std::map<std::string, std::string> verdicts;
  for (const Tried& tried : read_log(request.log)) {
    const bool is_equivalent = equivalents.contains(tried.key());
    if (tried.verdict == "open" && std::isinf(request.within) && !is_equivalent) continue;
    const bool survived = tried.verdict == "survived" || tried.verdict == "open";
    if (request.again && survived && !is_equivalent) continue;
    verdicts[tried.key()] = tried.verdict;
  }
  return verdicts;
}

void try_folder(const Request& request, const Folder& folder, std::size_t share) {
  const Places& places = request.places;
  const std::vector<Mutant> mutants = drawn(places.source, folder, request.seed);
  const std::map<std::string, std::string> known = settled(request);
  std::vector<Program> programs;
  std::size_t counted = 0;
  for (const Mutant& mutant : mutants) {
    if (counted == share) break;
    Tried tried = described(places, folder, mutant);
    if (request.list) {
      std::cout << tried.key() << '\n';
      ++counted;
      continue;
    }
    const auto before = known.find(tried.key());
    if (before == known.end()) {
      for (std::size_t k = programs.size(); k < folder.asked.size(); ++k) {
        programs.emplace_back(request, folder.asked[k], mutant.file);
      }
      const auto start = std::chrono::steady_clock::now();
      try_mutant(programs, mutant, tried);
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      note(request, tried);
      std::cout << std::left << std::setw(9) << tried.verdict << ' ' << mutant.file.string() << ':' << mutant.line
                << ' ' << tried.before << "  ->  " << tried.after << "  (" << std::lround(seconds) << " s) " << tried.by
                << std::endl;
    } else {
      tried.verdict = before->second;
    }
    if (tried.verdict != "no code") ++counted;
  }
  fs::remove_all(places.scratch);
}

struct Tally {
  std::size_t killed = 0, equivalent = 0, survived = 0;

  std::size_t tried() const { return killed + equivalent + survived; }
  bool enough() const { return 10 * killed >= 9 * (killed + survived); }
};

int report(const Request& request) {
  const std::map<std::string, std::string> equivalents = read_equivalents(request.places.source);
  std::map<std::string, Tally> tallies;
  for (const Tried& tried : read_log(request.log)) {
    // A line that is no more was answered by another one.
    const fs::path file = request.places.source / tried.file;
    if (tried.verdict == "no code" || !fs::exists(file) || contents_of(file).find(tried.before) == std::string::npos)
      continue;
    Tally& tally = tallies[tried.folder];
    if (tried.verdict == "killed") {
      ++tally.killed;
    } else if (equivalents.contains(tried.key())) {
      ++tally.equivalent;
    } else {
      ++tally.survived;
      std::cout << tried.verdict << ": " << tried.file << ": " << tried.before << "  ->  " << tried.after << '\n';
    }
  }
  bool enough = true;
  std::cout << "folder        tried  killed  equivalent  survived  killed of the others\n";
  for (const Folder& folder : folders) {
    const Tally& tally = tallies[folder.name];
    if (tally.tried() == 0) continue;
    const std::size_t others = std::max<std::size_t>(tally.killed + tally.survived, 1);
    std::cout << std::left << std::setw(12) << folder.name << std::right << std::setw(7) << tally.tried()
              << std::setw(8) << tally.killed << std::setw(12) << tally.equivalent << std::setw(10) << tally.survived
              << std::setw(20) << 100 * tally.killed / others << " %\n";
    enough = enough && tally.enough();
  }
  return enough ? 0 : 1;
}

Request request_of(int count, char** words) {
  if (count < 6) throw std::invalid_argument("need NINJA SOURCE BUILD SCRATCH LOG");
  Request request;
  request.places = {words[2], words[3], words[4], "", words[1]};
  request.log = words[5];
  for (int i = 6; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--list" || word == "--again") {
      (word == "--list" ? request.list : request.again) = true;
      continue;
    }
    if (i + 1 == count) throw std::invalid_argument(word + " needs a value");
    const std::string value = words[++i];
    if (word == "--folder") {
      request.folder = value;
    } else if (word == "--within") {
      std::size_t used = 0;
      if (value[0] >= '0' && value[0] <= '9') request.within = std::stod(value, &used);
      if (used != value.size()) throw std::invalid_argument(word + ": need seconds, got '" + value + "'");
    } else if (word == "--count" || word == "--seed") {
      std::size_t used = 0;
      const unsigned long long number =
          value.find_first_not_of("0123456789") == std::string::npos
              ? std::stoull(value, &used)
              : throw std::invalid_argument(word + ": need a number, got '" + value + "'");
      if (word == "--count") request.count = number;
      if (word == "--seed") request.seed = number;
    } else {
      throw std::invalid_argument("need --count, --seed, --folder, --within, --again or --list, got '" + word + "'");
    }
  }
  const auto named = [&](const Folder& folder) { return request.folder == folder.name; };
  if (!request.folder.empty() && std::ranges::none_of(folders, named)) {
    throw std::invalid_argument("--folder: no folder '" + request.folder + "'");
  }
  return request;
}

int run(const Request& request) {
  constexpr std::size_t number = std::size(folders);
  for (std::size_t i = 0; i < number; ++i) {
    if (!request.folder.empty() && request.folder != folders[i].name) continue;
    // All of the count to one folder that is asked for by name.
    const std::size_t share = request.folder.empty() ? (request.count + number - 1 - i) / number : request.count;
    try_folder(request, folders[i], share);
  }
  return request.list ? 0 : report(request);
}

}  // namespace
}  // namespace softcheck::planted

int main(int count, char** words) {
  using namespace softcheck::planted;
  // As ctest runs the tests (cmake/softcheck_targets.cmake): the same cases each time, and what is freed is kept.
  setenv("RC_PARAMS", "seed=20241001", 0);
  setenv("MALLOC_MMAP_THRESHOLD_", "1073741824", 0);
  setenv("MALLOC_TRIM_THRESHOLD_", "1073741824", 0);
  try {
    return run(request_of(count, words));
  } catch (const std::invalid_argument& error) {
    std::cerr << "mutate: " << error.what() << '\n';
    return 2;
  } catch (const std::exception& error) {
    std::cerr << "mutate: " << error.what() << '\n';
    return 1;
  }
}
