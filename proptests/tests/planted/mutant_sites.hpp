#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::planted {

/// A small change of a source that may be a bug: bytes [offset, offset + length) replaced.
struct Mutant {
  std::filesystem::path file;  // from the root of the sources
  std::size_t offset = 0;
  std::size_t length = 0;
  std::string replacement;
  std::size_t line = 1;
  std::string kind;  // "relation", "sum", "product", "logic", "increment", "extremum", "truth", "integer", "statement"
};

/// Every mutant of a C++ source, in the order of its text: < and <=, > and >=, == and !=, + and -, * and /, && and ||,
/// ++ and --, min and max, true and false exchanged; a decimal integer greater by one; a statement of one line left
/// out. Comments, literals of text and directives are left alone. An operator is what stands between blanks.
std::vector<Mutant> mutants_of(const std::filesystem::path& file, std::string_view source);

/// The source with the change.
std::string with_mutant(std::string_view source, const Mutant& mutant);

/// The line that a byte stands in, without the blanks in front of it.
std::string line_of(std::string_view source, std::size_t offset);

}  // namespace softcheck::planted
