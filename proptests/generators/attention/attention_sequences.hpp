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

/// How a call holds sequences of different lengths (kernels/abi/softcheck_kernel.h); all off: one dense batch, whose
/// sequences are all as long as its shape says. The case's numbers stay dense: those behind a sequence's length are in
/// no call.
struct AttentionSequences {
  bool packed = false;        // queries stand one sequence behind the other, and so do keys where there are no pages
  std::size_t page_size = 0;  // keys and values lie in pages of so many slots; 0: they do not
  std::uint64_t order = 0;    // numbers the order of the pages in memory; 0: as the sequences have them
  bool finite = false;        // slots that no sequence owns hold the largest number, else NaN
  std::vector<std::size_t> queries, keys;  // (batch), each at most the shape's

  bool any() const { return packed || page_size > 0; }
};

/// " packed pages=16 order=7 unowned=finite lengths=3:4,0:5" (queries:keys of each sequence), as far as they are on.
std::string head_text(const AttentionSequences& sequences);
/// Reads one of its words; false where it is none of them.
/// throws   std::invalid_argument
bool read_sequences_word(std::string_view word, AttentionSequences& sequences);

/// Has each sequence a length within the case's shape, and nothing that such a call cannot have?
bool sequences_agree(const AttentionCase& attention);

/// Sequences as the options' domain names them: packed, in pages, or both. At least one is as long as the shape; the
/// others are empty, of one, about a page's edges, nearly as long, or of any length. Unless the options let queries be
/// blind, every query has a key that it sees. Nothing where the domain names neither.
void draw_sequences(Draw& draw, AttentionCase& attention, const AttentionOptions& options);
/// Sequences as the domain names them, all as long as the shape.
void hold_alike_sequences(AttentionCase& attention, const Domain& domain);
/// How many sequences a batch of them has.
std::size_t draw_batch_of_sequences(Draw& draw);

/// Takes [first, first + count) of the queries, or of the keys, out of each sequence that has them.
void drop_places(std::vector<std::size_t>& lengths, std::size_t first, std::size_t count);
/// No sequence is longer than the shape.
void limit_lengths(AttentionCase& attention);
/// Numbers that are in no call become 0. False where they all are.
bool clear_unsent(AttentionCase& attention);

}  // namespace softcheck::proptests
