#include "proptests/tests/planted/changed_build.hpp"

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "proptests/tests/planted/bug_table.hpp"

namespace softcheck::planted {
namespace {

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Replaces what stands exactly once.
void replace_word(std::string& command, const std::string& word, const std::string& by) {
  const std::size_t at = (command + " ").find(" " + word + " ");
  if (at == std::string::npos) {
    throw std::runtime_error("no '" + word + "' in the command " + command);
  }
  command.replace(at + 1, word.size(), by);
}

std::string checked(const std::string& command, const std::string& what) {
  const Outcome outcome = run_command(command);
  if (outcome.status != 0) {
    throw std::runtime_error(what + ":\n" + outcome.output.substr(0, 2000));
  }
  return outcome.output;
}

/// What CMake has Ninja run is ": && LINK && WHAT FOLLOWS".
std::string link_command(const std::string& all) {
  const std::string last = all.substr(all.rfind('\n', all.size() - 2) + 1);
  const std::size_t begin = last.find("&& ") + 3, end = last.find(" && ", begin);
  if (last.rfind(": && ", 0) != 0 || end == std::string::npos) {
    throw std::runtime_error("not a link command: " + last);
  }
  return last.substr(begin, end - begin);
}

}  // namespace

Outcome run_command(const std::string& command) {
  std::FILE* pipe = popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    throw std::runtime_error("cannot run " + command);
  }
  Outcome outcome{0, {}};
  std::array<char, 4096> buffer;
  for (std::size_t n = 0; (n = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
    outcome.output.append(buffer.data(), n);
  }
  const int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

std::string shell_word(const std::string& word) {
  std::string result = "'";
  for (const char c : word) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

ChangedBuild::ChangedBuild(Places places, ChangedAs how) : places_(std::move(places)), how_(how) {
  const std::string ninja = shell_word(places_.ninja) + " -C " + shell_word(places_.build.string()) + " -t ";
  link_ = link_command(checked(ninja + "commands " + shell_word(places_.target.string()), "ninja names no commands"));
  std::set<std::string> archives;  // one can stand in a link twice
  for (const std::string& word : words_of(link_)) {
    if (word.ends_with(".o")) objects_.push_back(word);
    if (!word.ends_with(".a") || std::filesystem::path(word).is_absolute() || !archives.insert(word).second) continue;
    for (const std::string& input : words_of(checked(ninja + "query " + word, "ninja does not know " + word))) {
      if (input.ends_with(".o")) objects_.push_back(input);
    }
  }
  for (const auto& entry : nlohmann::json::parse(contents_of(places_.build / "compile_commands.json"))) {
    const auto command = entry.at("command").get<std::string>();
    const std::size_t output = command.find(" -o ") + 4;
    commands_[command.substr(output, command.find(' ', output) - output)] = command;
  }
}

const std::vector<std::string>& ChangedBuild::objects_with(const std::filesystem::path& file) {
  const auto [found, is_new] = with_.try_emplace(file.string());
  if (!is_new) {
    return found->second;
  }
  std::string list = shell_word(places_.ninja) + " -C " + shell_word(places_.build.string()) + " -t deps";
  for (const std::string& object : objects_) list += " " + object;
  std::istringstream lines(checked(list, "ninja does not know what objects depend on"));
  const std::filesystem::path wanted = places_.source / file;
  std::string object;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line[0] != ' ') object = line.substr(0, line.find(':'));
    if (!line.starts_with("    ")) continue;
    // Under ccache the compiler names what it read relative to the build.
    if ((places_.build / line.substr(4)).lexically_normal() == wanted) found->second.push_back(object);
  }
  return found->second;
}

bool ChangedBuild::compile(const std::string& object, const std::filesystem::path& file,
                           const std::filesystem::path& to) {
  const auto command = commands_.find(object);
  if (command == commands_.end()) {
    throw std::runtime_error("compile_commands.json does not name " + object);
  }
  std::string line = command->second;
  const bool soon = how_ == ChangedAs::soon, replaceable = soon && line.find(" -fPIC ") != std::string::npos;
  // Quoted includes find the changed file first; what it warns of is no matter. The last -O holds.
  replace_word(line, "-o " + object,
               std::string(soon ? "-O1 " : "") + "-iquote " + shell_word(places_.scratch.string()) + " -w -o " +
                   shell_word(to.string()));
  const std::string own = (places_.source / file).string(), changed = (places_.scratch / file).string();
  const std::string source = line.substr(line.rfind(' ') + 1), include = "#include \"" + own + "\"";
  std::string several = source == own ? "" : contents_of(source);
  const bool one_of_several = several.find(include) != std::string::npos;  // CMake made this source
  if (one_of_several && !replaceable) {
    several.replace(several.find(include), include.size(), "#include \"" + changed + "\"");
    const std::string copy = to.string() + ".cpp";
    std::ofstream(copy, std::ios::binary) << several;
    replace_word(line, source, shell_word(copy));
  } else if (one_of_several || source == own) {
    replace_word(line, source, shell_word(changed));
  }
  checked("cd " + shell_word(places_.build.string()) + " && " + line, "it does not compile");
  return !one_of_several || !replaceable;
}

std::filesystem::path ChangedBuild::build(const std::filesystem::path& file, const std::string& contents) {
  const std::vector<std::string>& changed = objects_with(file);
  if (changed.empty()) {
    throw std::runtime_error("no object of " + places_.target.string() + " depends on " + file.string());
  }
  std::filesystem::remove_all(places_.scratch);
  const std::filesystem::path objects = places_.scratch / "objects", copy = places_.scratch / file;
  const std::filesystem::path result = places_.scratch / places_.target;
  for (const auto& folder : {objects, copy.parent_path(), result.parent_path()}) {
    std::filesystem::create_directories(folder);
  }
  std::ofstream(copy, std::ios::binary) << contents;
  std::string link = link_, more;
  for (const std::string& object : changed) {
    const std::filesystem::path to = objects / (std::to_string(&object - changed.data()) + ".o");
    const bool whole = compile(object, file, to);
    if ((link_ + " ").find(" " + object + " ") != std::string::npos) {
      replace_word(link, object, shell_word(to.string()) + (whole ? "" : " " + object));
    } else {
      more += " " + shell_word(to.string());  // it comes before the archive that has another
    }
    // The linker takes the first of two functions.
    if (!whole) more += " -Wl,-z,muldefs";
  }
  // A plug-in that lacks a symbol would not load, and every test fail for that.
  replace_word(link, "-o " + places_.target.string(), "-Wl,-z,defs -o " + shell_word(result.string()) + more);
  checked("cd " + shell_word(places_.build.string()) + " && " + link, "it does not link");
  return result;
}

}  // namespace softcheck::planted
