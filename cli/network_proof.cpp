#include "cli/network_proof.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/places.hpp"
#include "cli/run_output.hpp"
#include "experiments/certificates/network_proof.hpp"
#include "experiments/certificates/spread_ladder.hpp"
#include "experiments/trained_models.hpp"
#include "models/read/file_errors.hpp"
#include "proptests/report/report.hpp"

namespace softcheck::cli {

namespace fs = std::filesystem;
using namespace experiments;

namespace {

// A temporary folder, removed by the destructor.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (fs::temp_directory_path() / "softcheck-prove-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw InputError(unsupported, fmt::format("model: cannot make a folder in {}: {}",
                                                fs::temp_directory_path().string(), std::strerror(errno)));
    }
    path_ = name;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string contents_of(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

struct CoqAnswer {
  bool found = false;  // is coqc installed?
  int status = 0;      // from waitpid
  std::string words;
};

// Compiles a copy in a temporary folder, because coqc writes files next to its input.
CoqAnswer ask_coq(const fs::path& file, const fs::path& proofs) {
  const ScratchFolder folder;
  const fs::path copy = folder.path() / file.filename(), log = folder.path() / "log";
  fs::copy_file(file, copy);
  std::vector<std::string> words{"coqc", "-q", "-w", "none", "-Q", proofs.string(), "softcheck", copy.string()};
  std::vector<char*> arguments(words.size() + 1);  // the last one stays null
  std::ranges::transform(words, arguments.begin(), [](std::string& word) { return word.data(); });
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, "coqc", &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  CoqAnswer answer;
  if (error != 0) return answer;
  while (waitpid(child, &answer.status, 0) == -1 && errno == EINTR) {
  }
  // POSIX allows a child that cannot start the program to exit with 127; under qemu, where vfork is a fork, it does.
  answer.found = !WIFEXITED(answer.status) || WEXITSTATUS(answer.status) != 127;
  answer.words = contents_of(log);
  return answer;
}

// Rounded up, so that the printed bound is not below the proved one.
std::string upper_text(double bound) { return fmt::format("{:.2f}", std::ceil(bound * 100) / 100); }
// Rounded down, three digits.
std::string lower_text(double bound) {
  if (bound <= 0) return "0";
  const double unit = std::pow(10, std::floor(std::log10(bound)) - 2);
  return fmt::format("{:.3g}", std::floor(bound / unit) * unit);
}
std::string interval(const numerics::Enclosure& x) { return x.to_string(6); }

std::string table_of(const ProofClaims& claims, const SpreadLadder& ladder) {
  std::string text;
  const auto row = [&](const char* what, const std::string& bound, const std::string& auxiliary) {
    text += fmt::format("  {:<37}{:<13}{}\n", what, bound, auxiliary);
  };
  row("theorem", "bound", "enclosed by this command");
  row("spread, product of singular values", "<= " + upper_text(product_bound(claims)), interval(ladder.product));
  row("spread, W_K^T W_Q as one matrix", "<= " + upper_text(folded_bound(claims)), interval(ladder.joint));
  row("N(1/10) of that spread", fmt::format("= 10^{:.2f}", std::ceil(claims.log10_length * 100) / 100), "");
  if (claims.items >= 2) {
    row(fmt::format("entropy of {} items, nats", claims.items).c_str(), ">= " + lower_text(entropy_floor(claims)), "");
  }
  if (const auto& mistake = claims.mistake) {
    const auto unit = [](std::int64_t at) { return fmt::format("{}", std::ldexp(static_cast<double>(at), -14)); };
    row(fmt::format("class {} for [a, b, ..., b], not {}", mistake->other_class, mistake->odd_class).c_str(),
        fmt::format("n >= {}", mistake->wrong_from),
        fmt::format("query {}, a ({}, class {}), b ({}, class {})", unit(mistake->query), unit(mistake->odd),
                    mistake->odd_class, unit(mistake->other), mistake->other_class));
  }
  return text;
}

// A theorem's bound that is below a number which some input reaches: then one of the two is wrong.
std::optional<std::string> contradiction(const ProofClaims& claims, const SpreadLadder& ladder) {
  const std::pair<double, double> pairs[] = {{product_bound(claims), ladder.product.lower_double()},
                                             {folded_bound(claims), ladder.joint.lower_double()},
                                             {folded_bound(claims), ladder.exact.lower}};
  for (const auto& [bound, reached] : pairs) {
    if (bound < reached) return fmt::format("the bound {} is below the enclosure's lower end {}", bound, reached);
  }
  return std::nullopt;
}

// coqc's first error, or its whole output.
std::string error_line(std::string words) {
  if (const std::size_t at = words.find("Error:"); at != std::string::npos) words.erase(0, at);
  for (char& c : words) {
    if (c == '\n') c = ' ';
  }
  constexpr std::size_t longest = 200;
  return words.size() > longest ? words.substr(0, longest) + " ..." : words;
}

// An axiom in coqc's list at the file's end that is not among the axioms of theory/proofs.
std::optional<std::string> foreign_axiom(const std::string& words) {
  constexpr std::string_view allowed[] = {"ClassicalDedekindReals.sig_forall_dec", "ClassicalDedekindReals.sig_not_dec",
                                          "FunctionalExtensionality.functional_extensionality_dep",
                                          "Classical_Prop.classic",
                                          "IndefiniteDescription.constructive_indefinite_description"};
  std::istringstream lines(words);
  bool listed = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "Axioms:") listed = true;
    // Continued lines of a type are indented.
    if (!listed || line == "Axioms:" || line.empty() || line.front() == ' ') continue;
    const std::string name = line.substr(0, line.find(' '));
    if (std::ranges::find(allowed, name) == std::end(allowed)) return name;
  }
  return listed ? std::nullopt : std::optional<std::string>("an unknown one: coqc lists no axioms");
}

std::string how_to_check(const std::string& file, const fs::path& proofs) {
  return fmt::format("coqc -Q {} softcheck {}", proofs.string(), file);
}

}  // namespace

std::string wrong_proof_file(const std::string& path) {
  const fs::path file(path);
  const std::string stem = file.stem().string();
  bool identifier = file.extension() == ".v" && !stem.empty() && std::isalpha(static_cast<unsigned char>(stem.front()));
  for (const char c : stem) identifier = identifier && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (!identifier)
    return fmt::format("need a file whose name Coq takes, letters, digits and _ before .v, got '{}'", path);
  return unwritable(path);
}

int prove_network(const std::string& network, const ProveFlags& flags, std::uint64_t items, std::uint64_t seed) {
  const TrainedModel model = network_in(network, "a max-retrieval network");
  const fs::path proofs = flags.proofs.empty() ? proof_folder() : fs::path(flags.proofs);
  ProofClaims claims;
  std::optional<SpreadLadder> ladder;
  Progress progress;
  as_input_error<std::range_error>(unsupported, network + ": ", [&] {
    progress.show(fmt::format("{}: spread", network));
    ladder = spread_ladder(NetworkCells(model.parameters), seed);
    claims = propose_claims(model.parameters, items);
  });
  as_input_error<std::runtime_error>(usage, "", [&] {
    proptests::write_file_atomically(flags.file, proof_text(model.parameters, claims, model.name));
  });
  say_text(fmt::format("{}, over priorities and queries in [0, 1] and all classes:\n", network) +
           table_of(claims, *ladder));
  if (const auto wrong = contradiction(claims, *ladder)) {
    say("fail: {}; the theorems are in {}\n", *wrong, flags.file);
    return violated;
  }
  std::error_code ignored;
  if (!fs::exists(proofs / "certified_network" / "mistake_check.vo", ignored)) {
    say("not checked: need softcheck's compiled proofs, they are not in {} (./run test proofs makes them); {} is "
        "written, "
        "check it with: {}\n",
        proofs.string(), flags.file, how_to_check(flags.file, proofs));
    return undecided;
  }
  progress.show(fmt::format("{}: coqc", network));
  const CoqAnswer answer = ask_coq(flags.file, proofs);
  if (!answer.found) {
    say("not checked: need coqc (Debian: coq, libcoq-interval), it is not installed; {} is written, check it with: "
        "{}\n",
        flags.file, how_to_check(flags.file, proofs));
    return undecided;
  }
  if (!WIFEXITED(answer.status) || WEXITSTATUS(answer.status) != 0) {
    say("fail: coqc does not accept {}: {}\n", flags.file, error_line(answer.words));
    return violated;
  }
  if (const auto axiom = foreign_axiom(answer.words)) {
    say("fail: the theorems in {} rest on {}\n", flags.file, *axiom);
    return violated;
  }
  say("pass: proved by coqc; the theorems are in {}\n", flags.file);
  return holds;
}

}  // namespace softcheck::cli
