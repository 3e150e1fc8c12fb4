#include "judge/survivors/zoo_kernel.hpp"

#include <algorithm>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string_view>

namespace softcheck::proptests {
namespace {

std::vector<std::string> fields_of(std::string_view line) {
  std::vector<std::string> fields;
  for (;;) {
    const std::size_t tab = line.find('\t');
    fields.emplace_back(line.substr(0, tab));
    if (tab == std::string_view::npos) return fields;
    line.remove_prefix(tab + 1);
  }
}

}  // namespace

ZooKernelKind ZooKernel::kind() const {
  const bool passes = ("|" + expected + "|").find("|pass|") != std::string::npos;
  if (passes) return bug_class == "-" ? ZooKernelKind::correct : ZooKernelKind::neither;
  const bool race = bug_class == "C8", planted = bug_class != "-";
  return require == "-" && planted && !race ? ZooKernelKind::bug : ZooKernelKind::neither;
}

std::filesystem::path ZooKernel::library_in(const std::filesystem::path& folder) const {
  return folder / ("lib" + library + ".so");
}

std::vector<ZooKernel> read_zoo_kernels(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("read_zoo_kernels: cannot read " + path.string());
  std::map<std::string, std::size_t> columns;
  for (const std::string& name : fields_of(line)) columns.emplace(name, columns.size());
  const auto column = [&](const char* name) {
    const auto found = columns.find(name);
    if (found == columns.end()) throw std::runtime_error("read_zoo_kernels: no column '" + std::string(name) + "'");
    return found->second;
  };
  const std::size_t wanted[] = {column("library"),  column("symbol"),   column("op"),
                                column("dtype"),    column("contract"), column("require"),
                                column("expected"), column("class"),    column("exempt")};
  std::vector<ZooKernel> rows;
  while (std::getline(file, line)) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() != columns.size())
      throw std::runtime_error("read_zoo_kernels: not as many fields as columns: " + line);
    const auto optional = [&](const char* name) {
      const auto found = columns.find(name);
      return found == columns.end() ? std::string("-") : fields[found->second];
    };
    rows.push_back({fields[wanted[0]], fields[wanted[1]], fields[wanted[2]], fields[wanted[3]], fields[wanted[4]],
                    fields[wanted[5]], fields[wanted[6]], fields[wanted[7]], fields[wanted[8]], optional("property"),
                    optional("effort"), optional("domain")});
  }
  return rows;
}

KernelSubject subject_of(const ZooKernel& row, const std::filesystem::path& folder) {
  KernelSubject subject;
  subject.source = {row.library_in(folder).string(), row.symbol};
  subject.op = parse_op(row.op);
  const numerics::Format input = numerics::parse_format(row.dtype);
  subject.contract = numerics::parse_contract(row.contract, input, output_format(subject.op, input));
  if (row.require != "-") subject.required = parse_requirements(row.require);
  if (row.exempt != "-") subject.exempt = {row.exempt};
  if (row.domain != "-") subject.domain = parse_domain(row.domain, subject.op->is_attention());
  return subject;
}

JudgeOptions judge_options_of(const ZooKernel& row, Effort least) {
  const Effort needed = row.effort == "-" ? least : parse_effort(row.effort);
  if (needed <= least || row.property == "-") return judge_options(std::max(least, needed));
  JudgeOptions options = judge_options(needed);
  for (std::string_view rest = row.property; !rest.empty();) {
    const std::size_t bar = std::min(rest.find('|'), rest.size());
    options.only.emplace_back(rest.substr(0, bar));
    rest.remove_prefix(std::min(bar + 1, rest.size()));
  }
  return options;
}

}  // namespace softcheck::proptests
