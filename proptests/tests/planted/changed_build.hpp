#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace softcheck::planted {

/// Where things are. target: the library or program that is built anew, from build; scratch: all that is written.
struct Places {
  std::filesystem::path source, build, scratch, target;
  std::string ninja;
};

/// How a changed source is built. as_released: as the build has it. soon: at -O1 and, where its object is
/// position-independent, without the sources that CMake compiles beside it: the linker takes its functions in place of
/// theirs. The functions of an object that is not position-independent may be inlined into one another.
enum class ChangedAs { as_released, soon };

/// A shell command's exit status, 128 and more where a signal ended it, and what it printed.
struct Outcome {
  int status;
  std::string output;
};
Outcome run_command(const std::string& command);

/// A word that the shell takes as it is.
std::string shell_word(const std::string& word);

/// Builds the target of a finished Ninja build with one file changed: the objects that the file is part of, by the
/// commands of compile_commands.json, then the target by its link command. Writes to scratch alone.
class ChangedBuild {
 public:
  /// Throws std::runtime_error where the build cannot be read.
  explicit ChangedBuild(Places places, ChangedAs how = ChangedAs::as_released);

  /// The target with other contents of a file. Throws std::runtime_error where no object depends on the file, or it
  /// does not compile or link.
  std::filesystem::path build(const std::filesystem::path& file, const std::string& contents);

 private:
  // False: of the object the new one has the file's part alone.
  bool compile(const std::string& object, const std::filesystem::path& file, const std::filesystem::path& to);
  const std::vector<std::string>& objects_with(const std::filesystem::path& file);

  Places places_;
  ChangedAs how_;
  std::string link_;                                      // of the target
  std::vector<std::string> objects_;                      // of the target and of the archives that it links
  std::map<std::string, std::string> commands_;           // object: how it is compiled
  std::map<std::string, std::vector<std::string>> with_;  // file: objects that it is part of
};

/// Builds the target with other contents of a file, and copies the unchanged plug-ins into its folder. Throws as
/// ChangedBuild::build.
void plant(ChangedBuild& build, const Places& places, const std::filesystem::path& file, const std::string& contents);

/// Runs a test against the changed target: "PROGRAM FILTER", with a filter of GoogleTest, "judge SYMBOL DTYPE", the
/// judge on a kernel by its row of the zoo, or "shell FILE", a transcript (.txt) or a script, which is given the
/// command and the folder of the kernels. The exit status is 124 where it took longer than so many seconds, 152 where a
/// process had so many seconds of a processor (0: any number); timeout's own failures are 125 to 127.
Outcome run_test(const Places& places, const std::string& test, int seconds = 200, int processor_seconds = 0);

}  // namespace softcheck::planted
