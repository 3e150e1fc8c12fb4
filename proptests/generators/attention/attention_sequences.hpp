#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace softcheck::proptests {

struct AttentionCase;
struct AttentionOptions;
class Draw;
struct Domain;

/// How a call holds sequences of different lengths (kernels/abi/softcheck_kernel.h). All off: one dense batch whose
/// sequences have the shape's length. The case's numbers stay dense; numbers beyond a sequence's length are not passed.
struct AttentionSequences {
  bool packed = false;  // queries of successive sequences are contiguous, and so are keys unless they are in pages
  std::size_t page_size = 0;               // slots per page of keys and values; 0: no pages
  std::uint64_t order = 0;                 // selects the order of the pages in memory; 0: in order of the sequences
  bool finite = false;                     // unused slots hold the largest number; else NaN
  std::vector<std::size_t> queries, keys;  // (batch), each at most the shape's

  bool any() const { return packed || page_size > 0; }
};

/// " packed pages=16 order=7 unowned=finite lengths=3:4,0:5" (queries:keys per sequence): what is on.
std::string head_text(const AttentionSequences& sequences);
/// Parses one of these words; false if it is another word.
/// throws   std::invalid_argument
bool read_sequences_word(std::string_view word, AttentionSequences& sequences);

/// Does each sequence's length fit the shape, and is everything allowed in such a call?
bool sequences_agree(const AttentionCase& attention);

/// Draws sequences as the options' domain requires: packed, in pages, or both. At least one has the shape's length; the
/// others are empty, of length one, near a page's edge, nearly full or of any length. Unless the options allow blind
/// queries, every query sees a key. Does nothing if the domain requires neither.
void draw_sequences(Draw& draw, AttentionCase& attention, const AttentionOptions& options);
/// Sequences as the domain requires, all with the shape's length.
void hold_alike_sequences(AttentionCase& attention, const Domain& domain);
/// Draws the number of sequences in a batch.
std::size_t draw_batch_of_sequences(Draw& draw);

/// Removes queries or keys [first, first + count) from each sequence that has them.
void drop_places(std::vector<std::size_t>& lengths, std::size_t first, std::size_t count);
/// Limits every sequence to the shape's length.
void limit_lengths(AttentionCase& attention);
/// Sets numbers that are not passed to 0. Returns false if all of them were 0.
bool clear_unsent(AttentionCase& attention);

}  // namespace softcheck::proptests
