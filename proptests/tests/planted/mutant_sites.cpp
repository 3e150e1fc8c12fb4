#include "proptests/tests/planted/mutant_sites.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace softcheck::planted {
namespace {

struct Exchange {
  std::string_view text, by, kind;
};

// Between blanks, as the layout of the code has them: `a < b`, never `vector<int>`.
constexpr std::array<Exchange, 14> operators{{{"<", "<=", "relation"},
                                              {"<=", "<", "relation"},
                                              {">", ">=", "relation"},
                                              {">=", ">", "relation"},
                                              {"==", "!=", "relation"},
                                              {"!=", "==", "relation"},
                                              {"+", "-", "sum"},
                                              {"-", "+", "sum"},
                                              {"*", "/", "product"},
                                              {"/", "*", "product"},
                                              {"+=", "-=", "sum"},
                                              {"-=", "+=", "sum"},
                                              {"&&", "||", "logic"},
                                              {"||", "&&", "logic"}}};
constexpr std::array<Exchange, 12> names{{{"min", "max", "extremum"},
                                          {"max", "min", "extremum"},
                                          {"minimum", "maximum", "extremum"},
                                          {"maximum", "minimum", "extremum"},
                                          {"fmin", "fmax", "extremum"},
                                          {"fmax", "fmin", "extremum"},
                                          {"lower_double", "upper_double", "extremum"},
                                          {"upper_double", "lower_double", "extremum"},
                                          {"true", "false", "truth"},
                                          {"false", "true", "truth"},
                                          {"proved", "violated", "truth"},
                                          {"violated", "proved", "truth"}}};

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The source with blanks for all that is no code: comments, literals of text, directives.
std::string code_of(std::string_view source) {
  std::string code(source);
  const auto blank = [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < std::min(end, code.size()); ++i) {
      if (code[i] != '\n') code[i] = ' ';
    }
  };
  bool line_begins = true;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i], next = i + 1 < source.size() ? source[i + 1] : '\0';
    std::size_t end = i;
    if (c == '/' && next == '/') {
      end = source.find('\n', i);
    } else if (c == '/' && next == '*') {
      end = source.find("*/", i + 2);
      if (end != std::string_view::npos) end += 2;
    } else if (c == '#' && line_begins) {
      end = source.find('\n', i);
      while (end != std::string_view::npos && source[end - 1] == '\\') end = source.find('\n', end + 1);
    } else if (c == 'R' && next == '"') {
      const std::size_t open = source.find('(', i);
      end = source.find(")" + std::string(source.substr(i + 2, open - i - 2)) + "\"", open);
      if (end != std::string_view::npos) end = source.find('"', end) + 1;
    } else if (c == '"' || (c == '\'' && (i == 0 || !in_name(source[i - 1])))) {  // 1'000 is a number
      for (end = i + 1; end < source.size() && source[end] != c && source[end] != '\n'; ++end) {
        if (source[end] == '\\') ++end;
      }
      ++end;
    }
    if (end != i) {
      end = std::min(end, source.size());
      blank(i, end);
      i = end - 1;
      continue;
    }
    line_begins = c == '\n' || (line_begins && std::isspace(static_cast<unsigned char>(c)) != 0);
  }
  return code;
}

// A call or an assignment that fills a line: nothing that declares a name, leaves the function or opens a block.
bool is_statement(std::string_view text) {
  constexpr std::array<std::string_view, 14> others{"return", "break",     "continue", "throw",  "using",
                                                    "case",   "const",     "auto",     "static", "constexpr",
                                                    "else",   "namespace", "goto",     "delete"};
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos || begin < 2 || !text.ends_with(';')) return false;
  text.remove_prefix(begin);
  std::size_t end = 0;
  while (end < text.size() && in_name(text[end])) ++end;
  if (end == 0 || std::ranges::find(others, text.substr(0, end)) != others.end()) return false;
  if (std::ranges::count(text, '(') != std::ranges::count(text, ')')) return false;
  // `name(`, `name.`, `name[`, `name->`, `name::`, `name = `, `++name` is none; `Type name` declares.
  const std::string_view rest = text.substr(end);
  const bool assigns = rest.starts_with(" = ") || rest.starts_with(" += ") || rest.starts_with(" -= ") ||
                       rest.starts_with(" *= ") || rest.starts_with(" |= ") || rest.starts_with(" &= ");
  if (assigns) return true;
  if (rest.starts_with('(') || rest.starts_with('.') || rest.starts_with('[') || rest.starts_with("->")) return true;
  return false;
}

}  // namespace

std::string line_of(std::string_view source, std::size_t offset) {
  const std::size_t begin = offset == 0 ? 0 : source.rfind('\n', offset - 1) + 1;
  std::string_view line = source.substr(begin, source.find('\n', offset) - begin);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  return std::string(line);
}

std::string with_mutant(std::string_view source, const Mutant& mutant) {
  std::string changed(source);
  changed.replace(mutant.offset, mutant.length, mutant.replacement);
  return changed;
}

std::vector<Mutant> mutants_of(const std::filesystem::path& file, std::string_view source) {
  const std::string code = code_of(source);
  std::vector<Mutant> result;
  std::size_t line = 1;
  const auto add = [&](std::size_t at, std::size_t length, std::string by, std::string_view kind) {
    result.push_back({file, at, length, std::move(by), line, std::string(kind)});
  };
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i] == '\n') {
      ++line;
      const std::size_t end = std::min(code.find('\n', i + 1), code.size());
      const std::string_view text(code.data() + i + 1, end - i - 1);
      // Only where the line before it ends a statement or opens a block: else it goes on with one.
      std::size_t before = i;
      while (before > 0 && std::isspace(static_cast<unsigned char>(code[before - 1])) != 0) --before;
      const bool begins = before > 0 && (code[before - 1] == ';' || code[before - 1] == '{' || code[before - 1] == '}');
      if (begins && is_statement(text)) add(i + 1, text.size(), ";", "statement");
      continue;
    }
    if (in_name(code[i]) && (i == 0 || !in_name(code[i - 1]))) {
      std::size_t end = i;
      while (end < code.size() && (in_name(code[end]) || code[end] == '\'')) ++end;
      const std::string_view word(code.data() + i, end - i);
      for (const Exchange& exchange : names) {
        if (word == exchange.text) add(i, word.size(), std::string(exchange.by), exchange.kind);
      }
      const bool decimal = word.size() <= 6 && std::ranges::all_of(word, [](char c) { return c >= '0' && c <= '9'; });
      const bool of_fraction = (i > 0 && code[i - 1] == '.') || (end < code.size() && code[end] == '.');
      if (decimal && !of_fraction) add(i, word.size(), std::to_string(std::stol(std::string(word)) + 1), "integer");
      i = end - 1;
      continue;
    }
    if (code.compare(i, 2, "++") == 0 || code.compare(i, 2, "--") == 0) {
      add(i, 2, code[i] == '+' ? "--" : "++", "increment");
      ++i;
      continue;
    }
    if (i == 0 || code[i - 1] != ' ') continue;
    for (const Exchange& exchange : operators) {
      if (code.compare(i, exchange.text.size(), exchange.text) != 0) continue;
      const std::size_t end = i + exchange.text.size();
      if (end < code.size() && (code[end] == ' ' || code[end] == '\n')) {
        add(i, exchange.text.size(), std::string(exchange.by), exchange.kind);
      }
    }
  }
  return result;
}

}  // namespace softcheck::planted
