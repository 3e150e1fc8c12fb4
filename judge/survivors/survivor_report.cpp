#include <fmt/format.h>

#include <algorithm>

#include "judge/survivors/survivor_matrix.hpp"

namespace softcheck::proptests {
namespace {

constexpr const char* about_judge = "thresholds derived from each kernel's contract";

std::string share(const SurvivorLine::Count& count) {
  return count.applicable == 0 ? "-" : fmt::format("{}/{}", count.accepted, count.applicable);
}

SurvivorLine::Count false_alarms(const SurvivorMatrix& matrix, const SurvivorLine& line) {
  SurvivorLine::Count count = matrix.count(line, ZooKernelKind::correct);
  count.accepted = count.applicable - count.accepted;
  return count;
}

std::size_t longest_name(const SurvivorMatrix& matrix) {
  std::size_t longest = 0;
  for (const SurvivorLine& line : matrix.lines) longest = std::max(longest, line.name.size());
  return longest;
}

// One character per criterion; characters repeat from the 63rd on.
char letter(std::size_t index) { return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"[index % 62]; }

char mark(CriterionVerdict verdict) {
  switch (verdict) {
    case CriterionVerdict::accepted:
      return '#';
    case CriterionVerdict::not_applicable:
      return ' ';
    default:
      return '.';
  }
}

std::string kernel_lines(const SurvivorMatrix& matrix) {
  std::size_t width = 0;
  for (const ZooKernel& kernel : matrix.kernels) width = std::max(width, kernel.symbol.size());
  std::string text;
  for (std::size_t i = 0; i < matrix.kernels.size(); ++i) {
    const ZooKernel& kernel = matrix.kernels[i];
    std::string marks;
    for (const SurvivorLine& line : matrix.lines) marks += mark(line.verdicts[i]);
    text += fmt::format("  {:<4} {:<{}} {:<17} {:<5} {}\n", kernel.bug_class, kernel.symbol, width, kernel.op,
                        kernel.dtype, marks);
  }
  return text;
}

std::string source_lines(const SurvivorMatrix& matrix) {
  std::string text;
  for (std::size_t i = 0; i < matrix.criteria.size(); ++i) {
    const Criterion& criterion = matrix.criteria[i];
    text += fmt::format("  {} {}: {} {}\n    {}\n", letter(i), criterion.name, criterion.op,
                        numerics::properties(criterion.format).name, criterion.source);
    text += fmt::format("    inputs: {}\n    shapes: {}\n    accepts within: {}\n", criterion.inputs, criterion.shapes,
                        criterion.tolerance);
    if (matrix.lines[i].uncounted_cases > 0) {
      text += fmt::format("    {} of {} cases are not counted for bugs: the kernel they are planted in fails, too\n",
                          matrix.lines[i].uncounted_cases, matrix.lines[i].cases);
    }
    if (!criterion.deviation.empty()) text += fmt::format("    differs: {}\n", criterion.deviation);
  }
  text += fmt::format("  {} {}: all ops and dtypes, {}\n", letter(matrix.criteria.size()), matrix.lines.back().name,
                      about_judge);
  return text;
}

std::string csv_field(const std::string& text) {
  return text.find_first_of(",\"") == std::string::npos ? text : "\"" + text + "\"";
}

}  // namespace

std::string to_table(const SurvivorMatrix& matrix) {
  const std::size_t width = longest_name(matrix);
  std::string text = fmt::format("{:<{}}  {:<11} {:<5} {:>13} {:>12}  {}\n", "criterion", width, "op", "dtype",
                                 "bugs accepted", "false alarms", "accepts within");
  for (std::size_t i = 0; i < matrix.lines.size(); ++i) {
    const SurvivorLine& line = matrix.lines[i];
    const bool ours = i == matrix.criteria.size();
    text += fmt::format("{:<{}}  {:<11} {:<5} {:>13} {:>12}  {}\n", line.name, width,
                        ours ? "all" : matrix.criteria[i].op.c_str(),
                        ours ? "all" : numerics::properties(matrix.criteria[i].format).name,
                        share(matrix.count(line, ZooKernelKind::bug)), share(false_alarms(matrix, line)),
                        ours ? about_judge : matrix.criteria[i].tolerance);
  }
  return text;
}

std::string to_tsv(const SurvivorMatrix& matrix, const SurvivorOrigin& origin) {
  std::string text = fmt::format("# {} (commit {})\n# {}\n", origin.version, origin.commit, origin.command);
  text += "name\tkind\top\tdtype\tattribute\taccepted\tbugs\trejected\tcorrect\twithin\n";
  Criterion judge;
  judge.op = "all";
  judge.tolerance = about_judge;
  for (std::size_t i = 0; i < matrix.lines.size(); ++i) {
    const SurvivorLine& line = matrix.lines[i];
    const bool ours = i == matrix.criteria.size();
    const Criterion& of = ours ? judge : matrix.criteria[i];
    const SurvivorLine::Count bugs = matrix.count(line, ZooKernelKind::bug), alarms = false_alarms(matrix, line);
    text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", line.name,
                        ours ? "judge" : (of.checker ? "checker" : "test"), of.op,
                        ours ? "all" : numerics::properties(of.format).name, of.attribute.empty() ? "-" : of.attribute,
                        bugs.accepted, bugs.applicable, alarms.accepted, alarms.applicable, of.tolerance);
  }
  return text;
}

std::string to_text(const SurvivorMatrix& matrix, const SurvivorOrigin& origin) {
  std::string text = fmt::format("Planted bugs that published criteria accept\n{} (commit {}): {}\n\n", origin.version,
                                 origin.commit, origin.command);
  text += to_table(matrix);
  text +=
      "\nbugs accepted: accepted / planted bugs of the criterion's op and dtype. false alarms: rejected / correct "
      "kernels.\n\nMatrix: # accepted, . rejected, blank: not applicable. Columns:\n";
  std::string letters;
  for (std::size_t i = 0; i < matrix.lines.size(); ++i) letters += letter(i);
  text += source_lines(matrix);
  std::size_t width = 0;
  for (const ZooKernel& kernel : matrix.kernels) width = std::max(width, kernel.symbol.size());
  text += fmt::format("\n  {:<{}} {}\n", "", width + 4 + 1 + 17 + 1 + 5 + 1, letters) + kernel_lines(matrix);
  text += "\nNot counted: races, and what their contracts do not forbid:\n";
  for (const std::string& title : matrix.left_out) text += "  " + title + "\n";
  return text;
}

std::string to_csv(const SurvivorMatrix& matrix, const SurvivorOrigin& origin) {
  std::string text = fmt::format("# Planted bugs that published criteria accept\n# {} (commit {})\n# {}\n",
                                 origin.version, origin.commit, origin.command);
  text += "criterion,kernel,op,dtype,class,kind,verdict\n";
  for (const SurvivorLine& line : matrix.lines) {
    for (std::size_t i = 0; i < matrix.kernels.size(); ++i) {
      const ZooKernel& kernel = matrix.kernels[i];
      text += fmt::format("{},{},{},{},{},{},{}\n", csv_field(line.name), kernel.symbol, kernel.op, kernel.dtype,
                          kernel.bug_class, kernel.kind() == ZooKernelKind::bug ? "bug" : "correct",
                          to_string(line.verdicts[i]));
    }
  }
  return text;
}

}  // namespace softcheck::proptests
