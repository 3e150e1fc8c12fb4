#include <algorithm>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

#include "judge/survivors/published.hpp"
#include "judge/survivors/row_case.hpp"

namespace softcheck::proptests {
namespace {

// One line each: name, op, dtype, attribute, whether it aligns to the end, inputs, shapes, tolerance, deviation,
// source.
constexpr const char* facts =
#include "judge/survivors/published.tsv"
    ;

constexpr const char* facts_of_checkers =
#include "judge/survivors/checkers.tsv"
    ;

Criterion criterion_of(const std::string& line) {
  std::istringstream fields(line);
  const auto next = [&] {
    std::string field;
    std::getline(fields, field, '\t');
    return field == "-" ? "" : field;
  };
  Criterion criterion;
  criterion.name = next();
  criterion.op = next();
  criterion.format = numerics::parse_format(next());
  criterion.attribute = next();
  criterion.from_the_end = next() == "end";
  for (std::string Criterion::*text :
       {&Criterion::inputs, &Criterion::shapes, &Criterion::tolerance, &Criterion::deviation, &Criterion::source}) {
    criterion.*text = next();
  }
  return criterion;
}

std::vector<Criterion> criteria_of(const char* text, const std::vector<NamedCases>& cases) {
  std::vector<Criterion> criteria;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    Criterion criterion = criterion_of(line);
    const auto found = std::ranges::find(cases, criterion.name, &NamedCases::name);
    if (found == cases.end()) throw std::logic_error("published_criteria: no cases of " + criterion.name);
    criterion.cases = found->cases;
    criteria.push_back(std::move(criterion));
  }
  if (criteria.size() != cases.size()) throw std::logic_error("published_criteria: cases without a line");
  return criteria;
}

}  // namespace

Rules allclose(double absolute, double relative) { return {{Comparison::Rule::allclose, absolute, relative}}; }
Rules allclose_of_got(double absolute, double relative) {
  return {{Comparison::Rule::allclose_of_got, absolute, relative}};
}

Value normal(double deviation) {
  return [=](Draw& draw) { return deviation * draw.normal(); };
}
Value uniform(double low, double high) {
  return [=](Draw& draw) { return low + (high - low) * draw.unit(); };
}

std::vector<MatrixShape> shapes_of(const std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& columns) {
  std::vector<MatrixShape> shapes;
  for (const std::int64_t r : rows) {
    for (const std::int64_t c : columns) shapes.push_back({r, c});
  }
  return shapes;
}

CriterionCases matrices(std::vector<MatrixShape> shapes, Value value, Rules rules) {
  return [=](Draw& draw, const Criterion& criterion) {
    std::vector<CriterionCase> cases;
    for (const MatrixShape shape : shapes) {
      const std::int64_t rows = rows_taken(shape.rows, shape.columns);
      cases.push_back(softmax_case(
          {.op = criterion.op, .format = criterion.format, .rows = rows, .columns = shape.columns},
          [&](auto, auto) { return value(draw); }, rules));
    }
    return cases;
  };
}

std::vector<Criterion> published_criteria() {
  std::vector<NamedCases> cases = softmax_cases();
  for (auto& more : {row_cases_of_ops(), loss_cases(), attention_cases()}) {
    cases.insert(cases.end(), more.begin(), more.end());
  }
  std::vector<Criterion> criteria = criteria_of(facts, cases);
  for (Criterion& checker : criteria_of(facts_of_checkers, checker_cases())) {
    checker.checker = true;
    criteria.push_back(std::move(checker));
  }
  return criteria;
}

std::vector<CriterionCase> draw_cases(const Criterion& criterion, std::uint64_t seed) {
  // Hash the name (FNV-1a), so that a new criterion does not change the numbers of the others.
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char letter : criterion.name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  Draw draw(seed ^ hash);
  return criterion.cases(draw, criterion);
}

}  // namespace softcheck::proptests
