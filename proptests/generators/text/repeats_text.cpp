#include "proptests/generators/text/repeats_text.hpp"

namespace softcheck::proptests {
namespace {

class RepeatWriter {
 public:
  RepeatWriter(const RepeatStyle& style, const std::function<bool(std::size_t, std::size_t)>& same,
               const std::function<std::string(std::size_t)>& word)
      : style_(style), same_(same), word_(word) {}

  void write(std::size_t first, std::size_t end, std::span<const std::size_t> periods) {
    while (first < end) {
      std::size_t best = periods.size(), repeats = 1;
      for (std::size_t k = 0; k < periods.size(); ++k) {
        const std::size_t count = count_of(first, end, periods[k]);
        const std::size_t least = best < periods.size() ? (repeats - 1) * periods[best] : worth(periods[k]);
        if (count < 2 || (count - 1) * periods[k] <= least) continue;
        best = k;
        repeats = count;
      }
      if (best == periods.size()) {
        text_ += word_(first++);
        continue;
      }
      write_block(first, repeats, periods.subspan(best));
      first += repeats * periods[best];
    }
  }
  std::string take() { return std::move(text_); }

 private:
  // A block costs some characters: one that saves a single entry is not worth them.
  std::size_t worth(std::size_t period) const { return period == 1 && !style_.times.empty() ? 0 : 1; }

  std::size_t count_of(std::size_t first, std::size_t end, std::size_t period) const {
    if (period == 0) return 1;
    std::size_t i = first + period;
    while (i < end && same_(i, i - period)) ++i;
    return (i - first) / period;
  }

  void write_block(std::size_t first, std::size_t repeats, std::span<const std::size_t> periods) {
    const std::string count = std::to_string(repeats);
    if (periods.front() == 1 && !style_.times.empty()) {
      text_ += word_(first) + std::string(style_.times) + count;
      return;
    }
    text_ += style_.open;
    write(first, first + periods.front(), periods.subspan(1));
    text_ += std::string(style_.close) + count + std::string(style_.behind);
  }

  const RepeatStyle& style_;
  const std::function<bool(std::size_t, std::size_t)>& same_;
  const std::function<std::string(std::size_t)>& word_;
  std::string text_;
};

}  // namespace

std::string repeats_text(std::size_t size, std::span<const std::size_t> periods, const RepeatStyle& style,
                         const std::function<bool(std::size_t, std::size_t)>& same,
                         const std::function<std::string(std::size_t)>& word) {
  RepeatWriter writer(style, same, word);
  writer.write(0, size, periods);
  return writer.take();
}

}  // namespace softcheck::proptests
