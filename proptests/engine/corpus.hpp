#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "proptests/engine/property.hpp"

namespace softcheck::proptests {

/// A case on which a property once failed, or that is easy to get wrong; replayed before random cases.
struct CorpusEntry {
  std::string property;   // "Suite.Sentence"
  std::string case_text;  // input of Property::replay
  std::string where;      // "file:line"
};

/// The entries of a file, or of every *.txt in a directory in the order of their names. A line is
/// "Suite.Sentence<TAB>case text"; empty lines and lines that begin with # are skipped.
///
/// throws   std::invalid_argument("file:line: ...") for any other line, std::runtime_error if the path cannot be read
std::vector<CorpusEntry> read_corpus(const std::filesystem::path& path);

/// The entries of one property.
std::vector<CorpusEntry> entries_of(std::span<const CorpusEntry> corpus, const Property& property);

/// Replays the property's entries, then draws random cases; stops at the first failure. Replayed cases count as cases.
/// throws   std::invalid_argument("file:line: ...") for an entry that does not parse
Outcome run_with_corpus(const Property& property, std::span<const CorpusEntry> corpus, const RunOptions& options);

}  // namespace softcheck::proptests
