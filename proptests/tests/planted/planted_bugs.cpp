// planted_bugs NINJA SOURCE BUILD TARGET TABLE SCRATCH [ID...]: plants the bugs of a table in our own code, one at a
// time, and demands that the test named beside each fails; without a bug the same tests must pass. A few of the bugs,
// or all of them where SOFTCHECK_EFFORT=deep (of these every N-th where SOFTCHECK_PLANTED_PART=K/N), or those named.
// Where SOFTCHECK_PLANTED_LOG names a file, every bug that is caught is noted there, and a later run skips it. Exit: 0
// all were caught, 1 not, 2 usage.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <stdexcept>

#include "proptests/tests/planted/bug_table.hpp"
#include "proptests/tests/planted/changed_build.hpp"

namespace softcheck::planted {
namespace {

/// Without a bug, built in the same way, every test passes and there is one.
void check_control(ChangedBuild& build, const Places& places, const std::vector<Bug>& bugs) {
  plant(build, places, bugs.front().file, contents_of(places.source / bugs.front().file));
  std::set<std::string> tests;
  for (const Bug& bug : bugs) tests.insert(bug.test);
  for (const std::string& test : tests) {
    const Outcome outcome = run_test(places, test);
    if (outcome.status != 0 || outcome.output.find("[  PASSED  ] 0 tests") != std::string::npos) {
      throw std::runtime_error("without a bug '" + test + "' must pass and run a test, got exit status " +
                               std::to_string(outcome.status) + ":\n" + outcome.output.substr(0, 2000));
    }
  }
}

/// Whether the bug was caught; says what became of it.
bool try_bug(ChangedBuild& build, const Places& places, const Bug& bug) try {
  plant(build, places, bug.file, with_bug(places.source, bug));
  const Outcome outcome = run_test(places, bug.test);
  if (outcome.status == 126 || outcome.status == 127) throw std::runtime_error("the test did not run");
  const bool caught = outcome.status != 0;
  std::cout << (caught ? "caught    " : "SURVIVED  ") << bug.id << ": " << bug.why << "; " << bug.test << " exits "
            << outcome.status << std::endl;
  return caught;
} catch (const std::runtime_error& error) {
  std::cout << "BROKEN    " << bug.id << ": " << error.what() << std::endl;
  return false;
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
}

/// K/N as SOFTCHECK_PLANTED_PART says: the K-th of N parts of a table. 1/1 where it is not set.
struct Part {
  std::size_t part = 1, parts = 1;
  bool has(std::size_t row) const { return row % parts + 1 == part; }
};
Part part_from_environment() {
  const char* text = std::getenv("SOFTCHECK_PLANTED_PART");
  if (text == nullptr) return {};
  Part part;
  char rest = 0;
  if (std::sscanf(text, "%zu/%zu%c", &part.part, &part.parts, &rest) != 2 || part.part < 1 || part.part > part.parts) {
    throw std::runtime_error("SOFTCHECK_PLANTED_PART: need K/N with K from 1 to N, got '" + std::string(text) + "'");
  }
  return part;
}

/// The bugs to plant. All of the table are looked at: what no longer fits the code shows in every run.
std::vector<Bug> chosen(const Places& places, const std::vector<Bug>& all, const std::set<std::string>& ids) {
  const char* effort = std::getenv("SOFTCHECK_EFFORT");
  const bool deep = effort != nullptr && effort == std::string("deep");
  const Part part = part_from_environment();
  std::vector<Bug> bugs;
  for (const std::string& id : ids) {
    if (std::none_of(all.begin(), all.end(), [&](const Bug& bug) { return bug.id == id; })) {
      throw std::runtime_error("the table has no bug '" + id + "'");
    }
  }
  for (std::size_t row = 0; row < all.size(); ++row) {
    const Bug& bug = all[row];
    try {
      with_bug(places.source, bug);
    } catch (const std::runtime_error& error) {
      throw std::runtime_error("STALE     " + bug.id + ": " + error.what());
    }
    if (ids.empty() ? deep ? part.has(row) : bug.quick : ids.contains(bug.id)) bugs.push_back(bug);
  }
  if (all.empty()) throw std::runtime_error("the table has no bug");
  return bugs;
}

/// The bugs that an earlier, interrupted run has caught.
class Log {
 public:
  Log() {
    const char* name = std::getenv("SOFTCHECK_PLANTED_LOG");
    if (name == nullptr) return;
    std::ifstream in(name);
    for (std::string id; std::getline(in, id);) caught_.insert(id);
    out_.open(name, std::ios::app);
    if (!out_) throw std::runtime_error("cannot write " + std::string(name) + ", which SOFTCHECK_PLANTED_LOG names");
  }
  bool has(const Bug& bug) const { return caught_.contains(bug.id); }
  void note(const Bug& bug) {
    if (out_.is_open()) out_ << bug.id << std::endl;
  }

 private:
  std::set<std::string> caught_;
  std::ofstream out_;
};

int run(const Places& places, const std::filesystem::path& table, const std::set<std::string>& ids) {
  const std::vector<Bug> all = read_table(table), bugs = chosen(places, all, ids);
  Log log;
  ChangedBuild build(places);
  if (!bugs.empty()) check_control(build, places, bugs);
  const auto caught = std::count_if(bugs.begin(), bugs.end(), [&](const Bug& bug) {
    if (log.has(bug)) return true;
    const bool found = try_bug(build, places, bug);
    if (found) log.note(bug);
    return found;
  });
  std::filesystem::remove_all(places.scratch);
  std::cout << "planted bugs, " << table.stem().string() << ": " << caught << " of " << bugs.size() << " caught; "
            << all.size() - bugs.size() << " more with SOFTCHECK_EFFORT=deep; " << cpu_seconds() << " s of CPU"
            << std::endl;
  return static_cast<std::size_t>(caught) == bugs.size() ? 0 : 1;
}

}  // namespace
}  // namespace softcheck::planted

int main(int count, char** words) try {
  if (count < 7) {
    std::cerr << "usage: planted_bugs NINJA SOURCE BUILD TARGET TABLE SCRATCH [ID...]\n";
    return 2;
  }
  const softcheck::planted::Places places{words[2], words[3], words[6], words[4], words[1]};
  return softcheck::planted::run(places, words[5], {words + 7, words + count});
} catch (const std::exception& error) {
  std::cout << error.what() << std::endl;
  return 1;
}
