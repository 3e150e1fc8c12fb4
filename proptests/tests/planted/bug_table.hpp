#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace softcheck::planted {

/// One line of a table: a change of our own code that a test must notice.
struct Bug {
  std::string id;
  bool quick;                     // planted in every run, not only where SOFTCHECK_EFFORT=deep
  std::filesystem::path file;     // from the root of the sources
  std::string text, replacement;  // text stands in the file exactly once
  std::string test;               // a program and a filter of its tests, or "judge SYMBOL DTYPE"
  std::string why;                // what is wrong then
};

/// Bugs of a table, tab-separated under a line of column names, where \n stands for the end of a line.
/// Throws std::runtime_error on a line of another form, an id that comes twice and an empty table.
std::vector<Bug> read_table(const std::filesystem::path& table);

/// Contents of a file; throws std::runtime_error where there is none.
std::string contents_of(const std::filesystem::path& file);

/// The file's contents with the bug. Throws std::runtime_error where its text does not stand there exactly once: the
/// table has not followed the code.
std::string with_bug(const std::filesystem::path& source, const Bug& bug);

}  // namespace softcheck::planted
