#include "models/forward/token_ids.hpp"

#include <algorithm>
#include <charconv>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>

#include "models/read/file_errors.hpp"
#include "models/read/file_source.hpp"

namespace softcheck::models {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 20;
constexpr std::string_view blanks = " \t\r";
constexpr std::size_t quoted_bytes = 20;  // of what stands where an id belongs

std::string_view without_blanks(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(blanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

class TokenLine {
 public:
  TokenLine(const std::string& place, std::string_view text) : place_(place), rest_(text) {}

  std::vector<std::int64_t> ids() {
    if (rest_.starts_with('[')) {
      if (!rest_.ends_with(']')) fail("a ']' at the end", rest_);
      rest_ = without_blanks(rest_.substr(1, rest_.size() - 2));
    }
    std::vector<std::int64_t> ids;
    for (bool more = true; more;) {
      ids.push_back(id());
      more = !rest_.empty();
      if (rest_.starts_with(',')) rest_ = without_blanks(rest_.substr(1));
    }
    return ids;
  }

 private:
  std::int64_t id() {
    std::int64_t value = -1;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    const auto length = static_cast<std::size_t>(end - rest_.data());
    const bool ended =
        length == rest_.size() || rest_[length] == ',' || blanks.find(rest_[length]) != std::string_view::npos;
    if (error != std::errc() || !ended || value < 0 || value > std::numeric_limits<std::int32_t>::max()) {
      fail("ids of tokens, integers from 0 to 2^31 - 1", rest_);
    }
    rest_ = without_blanks(rest_.substr(length));
    return value;
  }

  [[noreturn]] void fail(const char* needed, std::string_view got) const {
    std::string shown(got.substr(0, quoted_bytes));
    for (char& c : shown) {
      if (c < ' ' || c > '~') c = '?';
    }
    throw TensorFileError(place_ + ": need " + needed + ", got " + (got.empty() ? "nothing" : "'" + shown + "'"));
  }

  const std::string& place_;
  std::string_view rest_;
};

}  // namespace

TokenIds read_token_ids(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 && !error) {
    throw TensorFileError(path.string() + ": need a line of ids of tokens, got an empty file");
  }
  const std::string text = read_text_file(path, most_bytes);
  TokenIds inputs;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = without_blanks(std::string_view(text).substr(begin, end - begin));
    const std::string place = path.string() + ": line " + std::to_string(++number);
    if (!line.empty()) inputs.push_back(TokenLine(place, line).ids());
    begin = end + 1;
  }
  if (inputs.empty()) throw TensorFileError(path.string() + ": need a line of ids of tokens, got only blanks");
  return inputs;
}

}  // namespace softcheck::models
