#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// A case that a property once failed on, or one that is easy to get wrong: replayed before any random case.
struct CorpusEntry {
  std::string property;   // "Suite.Sentence"
  std::string case_text;  // what Property::replay reads
  std::string where;      // "file:line"
};

/// The entries of a file, or of every *.txt in a directory in the order of their names. A line is
/// "Suite.Sentence<TAB>case text"; empty lines and those that begin with # are comments.
///
/// throws   std::invalid_argument("file:line: ...") for any other line, std::runtime_error where there is nothing to
///          read
std::vector<CorpusEntry> read_corpus(const std::filesystem::path& path);

/// The entries of one property.
std::vector<CorpusEntry> entries_of(std::span<const CorpusEntry> corpus, const Property& property);

/// Replays the entries of the property, then draws random cases; stops at the first failure. Replayed cases count as
/// cases.
/// throws   std::invalid_argument("file:line: ...") for an entry that does not parse
Outcome run_with_corpus(const Property& property, std::span<const CorpusEntry> corpus, const RunOptions& options);

}  // namespace softcheck::proptests
