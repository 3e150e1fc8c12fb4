#include "judge/inference/contract_search.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "judge/inference/gradient_probes.hpp"

namespace softcheck::proptests {

using namespace numerics;

namespace {

std::string short_number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string failure_text(const BrokenCandidate& broken, const std::string& words) {
  return words + " allows too little: " + short_number(broken.share.share) + " times its threshold on " +
         broken.share.witness;
}

}  // namespace

const char* to_string(Evidence evidence) {
  static constexpr const char* names[] = {"measured", "held", "assumed"};
  return names[static_cast<std::size_t>(evidence)];
}

ContractSearch::ContractSearch(const KernelSubject& subject, const JudgeOptions& options)
    : op_(subject.op),
      base_(default_contract(subject.contract.input, subject.contract.output)),
      forms_(op_, base_),
      prober_(subject.source, subject.op, base_.input, base_.output, subject.domain, options.limits) {
  choose_lengths(options.max_length);
  for (ProbeSet* probes : {&pairs_, &equal_, &scores_, &tiny_, &sums_, &masked_, &paper_, &rows_}) {
    probes->judge_unbounded_by(where_unbounded());
  }
  ask(options.max_length);
}

void ContractSearch::choose_lengths(std::uint64_t max_length) {
  // Several lengths, to distinguish lanes, whose summation height grows with n, from blocks, whose height does not. A
  // 16-bit result shows the sum's error only from a million items on. Enclosing rows element by element is expensive.
  const bool narrow = properties(forms_.results()).precision < properties(base_.accumulator).precision;
  const std::uint64_t longest = op_->answers.expensive ? 4096 : std::uint64_t{1} << (narrow ? 20 : 16);
  // Kernels often add rows shorter than a vector register in another order.
  lengths_ = {7, 15, 31};
  for (std::uint64_t n = 64; n <= std::min(longest, std::max<std::uint64_t>(max_length, 64)); n *= 4) {
    lengths_.push_back(n);
  }
}

void ContractSearch::ask(std::uint64_t max_length) {
  const FormatProperties &output = properties(forms_.results()), &accumulator = properties(base_.accumulator);
  const FormatProperties& narrow = output.min_exponent > accumulator.min_exponent ? output : accumulator;
  const double normal = -narrow.min_exponent * std::log(2.0) - 1, smallest = normal + narrow.precision * std::log(2.0);
  const std::size_t count = op_->answers.expensive ? 256 : 2048;
  // Large common offsets test the forms that lose accuracy with them; a log-sum-exp rounds at their magnitude.
  const std::vector<double> shifts =
      op_->answers.at_the_logits ? std::vector<double>{0, 0, -0.5} : std::vector<double>{0, 1.5, -3, 100, -1000};
  ask_pairs(prober_, base_.input, 0, normal, count, shifts, pairs_);
  if (op_->answers.coefficients) ask_pairs(prober_, base_.input, normal + 2, smallest, 64, std::array{0.0}, tiny_);
  if (forms_.has_word("weights") && !is_gradient(op_) && !op_->sigmoid) ask_equal_rows(prober_, base_.input, equal_);
  for (const std::uint64_t n : lengths_) {
    for (const Format format : forms_.accumulators()) {
      // Beyond 1/u additions the sum stops growing, and no bound is tight.
      if (n >= std::uint64_t{1} << properties(format).precision) continue;
      ask_half_ulps(prober_, base_.input, format, n, sums_);
      if (is_gradient(op_)) ask_gradient_sums(prober_, base_.input, format, n, sums_);
    }
  }
  if (op_->adaptive && !op_->is_attention()) {
    // Many coefficients that are small compared to 1e-9 in the paper's entropy, at an entropy near ln 350, where beta
    // falls steeply.
    std::vector<double> row(std::min<std::uint64_t>(2 * max_length, 1 << 18), -14.0);
    std::fill_n(row.begin(), std::min<std::size_t>(row.size(), 350), 0.0);
    prober_.ask({row}, 1, paper_);
  }
  if (op_->is_attention()) ask_scores(prober_, base_.input, scores_);
  prober_.ask_masked(false, masked_);
  prober_.ask_masked(true, masked_);
}

// All orders of summation, sorted by their heights over the tested lengths.
std::vector<Summation> ContractSearch::summations() const {
  std::vector<Summation> result{{Summation::Kind::tree, 1}};
  for (int k = 1; k <= 12; ++k) result.push_back({Summation::Kind::lanes, std::uint64_t{1} << k});
  // A block as long as the longest row is sequential.
  for (std::uint64_t width = 2; width < std::min<std::uint64_t>(lengths_.back(), 8192); width *= 2) {
    result.push_back({Summation::Kind::blocks, width});
  }
  result.push_back({Summation::Kind::sequential, 1});
  const auto heights = [&](const Summation& summation) {
    Contract contract = base_;
    contract.summation = summation;
    double sum = 0;
    for (const std::uint64_t n : lengths_) sum += std::log2(static_cast<double>(summation_height(contract, n)));
    return sum;
  };
  std::ranges::stable_sort(result, [&](const Summation& a, const Summation& b) { return heights(a) < heights(b); });
  return result;
}

bool ContractSearch::find_summation(Contract& contract) {
  ContractStep step;
  for (const Summation& summation : summations()) {
    contract.summation = summation;
    // A result that broke one order breaks most: compare all rows only if these hold.
    step.share = rows_.last_against(contract);
    if (step.share.holds) step.share = sums_.last_against(contract);
    if (step.share.holds) step.share = rows_.against(contract);
    if (step.share.holds) step.share = sums_.against(contract);
    if (step.share.holds) {
      steps_["sum"] = step;
      return true;
    }
    step.broken = BrokenCandidate{contract, step.share};
  }
  return false;
}

// The contract with the first exponential that the results keep.
std::optional<Contract> ContractSearch::find_exponential(const ContractForms::Arithmetic& arithmetic,
                                                         std::optional<BrokenCandidate>& broken) {
  for (const char* exponential : arithmetic.exponentials) {
    Contract candidate = with_exponential(arithmetic.contract, exponential);
    if (forms_.is_worse_than_narrower(candidate)) continue;
    ProbeShare share = pairs_.against(candidate);
    const bool holds = share.holds && scores_.against(candidate).holds && equal_rows_against(candidate).holds;
    if (holds && find_summation(candidate)) {
      steps_["exp"] = {broken, share};
      return candidate;
    }
    if (share.holds) share = equal_rows_against(candidate);
    for (ProbeSet* probes : {&scores_, &sums_, &rows_}) {
      if (share.holds) share = probes->against(candidate);
    }
    broken = BrokenCandidate{candidate, share};
  }
  return std::nullopt;
}

// With a power of two of equal logits all weights are exactly 1 and the sum is exact in every accumulator and storage
// format: such rows are granted only the exponential's error.
ProbeShare ContractSearch::equal_rows_against(const Contract& candidate) {
  Contract exact = forms_.without_weaker_words(candidate);
  exact.exp_error = candidate.exp_error;
  exact.exp_argument_error = candidate.exp_argument_error;
  exact.log_error = candidate.log_error;
  return equal_.against(exact);
}

bool ContractSearch::find_arithmetic(Contract& contract) {
  std::vector<BrokenCandidate> ruled_out;
  for (const ContractForms::Arithmetic& candidate : forms_.with_exponentials(contract)) {
    std::optional<BrokenCandidate> broken;
    const std::optional<Contract> found = find_exponential(candidate, broken);
    if (!found) {
      if (broken) ruled_out.push_back(*broken);
      continue;
    }
    contract = *found;
    const ProbeShare share = steps_["exp"].share;
    // The last candidate ruled out with another accumulator, or with the same one and fewer words.
    const auto last = [&](bool same) -> std::optional<BrokenCandidate> {
      const auto place = std::find_if(ruled_out.rbegin(), ruled_out.rend(), [&](const BrokenCandidate& one) {
        return (one.contract.accumulator == contract.accumulator) == same;
      });
      return place == ruled_out.rend() ? std::nullopt : std::optional(*place);
    };
    steps_["acc"] = {last(false), share};
    steps_["lse"] = {std::nullopt, share};
    for (const std::string& key : forms_.words_set(contract)) steps_[key] = {last(true), share};
    return true;
  }
  return false;
}

bool ContractSearch::find_masked(Contract& contract) {
  for (const MaskedRows convention : {MaskedRows::nan, MaskedRows::zero, MaskedRows::uniform}) {
    contract.masked = convention;
    if (masked_.against(contract).holds) return true;
  }
  contract.masked = MaskedRows::nan;
  return false;
}

bool ContractSearch::find_subnormals(Contract& contract) {
  ContractStep step;
  for (const Subnormals subnormals : {Subnormals::kept, Subnormals::flushed}) {
    contract.subnormals = subnormals;
    step.share = tiny_.against(contract);
    // Vector code may flush in long rows what scalar code keeps in short ones.
    if (step.share.holds) step.share = rows_.against(contract);
    if (step.share.holds) {
      steps_["subnormal"] = step;
      if (tiny_.size() == 0) contract.subnormals = base_.subnormals;
      return true;
    }
    step.broken = BrokenCandidate{contract, step.share};
  }
  return false;
}

void ContractSearch::find_entropy(Contract& contract) {
  std::vector<EntropyForm> holding;
  ContractStep step;
  for (const EntropyForm form : {EntropyForm::exact, EntropyForm::paper}) {
    contract.entropy = form;
    const ProbeShare share = paper_.against(contract);
    if (share.holds) {
      holding.push_back(form);
    } else {
      step.broken = BrokenCandidate{contract, share};
    }
  }
  contract.entropy = holding.size() == 1 && paper_.size() > 0 ? holding[0] : EntropyForm::any;
  steps_["entropy"] = step;
}

std::optional<Contract> ContractSearch::first() {
  Contract contract = base_;
  steps_.clear();
  if (prober_.died() || has_no_answers() || !find_masked(contract)) return {};
  masked_rows_ = contract.masked;
  contract.subnormals = Subnormals::flushed;
  if (!find_arithmetic(contract) || !find_subnormals(contract)) return {};
  find_entropy(contract);
  // If the results do not distinguish orders, none is promised; but a row may need the rescalings that only other
  // orders are granted.
  Contract unordered = contract;
  unordered.summation = {};
  const auto holds = [&](ProbeSet& probes) { return probes.against(unordered).holds; };
  if (!tells_orders(contract) && holds(rows_) && holds(pairs_) && holds(sums_)) {
    steps_["sum"].broken.reset();
    return unordered;
  }
  return contract;
}

// Does the longest witness grant a sequential kernel at least twice what it grants a tree?
bool ContractSearch::tells_orders(Contract contract) {
  contract.summation = {Summation::Kind::tree, 1};
  const double tree = sums_.threshold(contract);
  contract.summation = {};
  return sums_.threshold(contract) > 2 * tree;
}

Contract ContractSearch::widest() const {
  Contract contract = with_exponential(base_, ContractForms::widest_exponential());
  contract.masked = masked_rows_;
  contract.subnormals = Subnormals::flushed;
  contract.lse = LseForm::uncentred;
  return contract;
}

// The contract for rows whose thresholds are infinite with a narrow accumulator: a kernel with that accumulator still
// rounds to its format, and may store 16 bits if the results have no more.
Contract ContractSearch::where_unbounded() const {
  Contract contract = widest();
  const Format results = forms_.results();
  if (properties(results).precision >= properties(Format::f32).precision) return contract;
  const Format stored = properties(results).storage_bits == 16 ? results : Format::bf16;
  const auto store = [&](const char* key, std::optional<Format>& word) {
    if (forms_.has_word(key)) word = stored;
  };
  store("weights", contract.weights);
  store("total", contract.total);
  store("values", contract.values);
  store("products", contract.products);
  store("ds", contract.score_gradients);
  store("differences", contract.differences);
  return contract;
}

bool ContractSearch::can_explain_rows() {
  return std::ranges::any_of(forms_.accumulators(), [&](Format accumulator) {
    return std::ranges::any_of(forms_.forms(), [&](const ContractForms::Form& form) {
      const auto explains = [&](const char* exponential) {
        Contract contract = with_exponential(widest(), exponential);
        contract.accumulator = accumulator;
        form(contract);
        return rows_.against(contract).holds;
      };
      if (explains(ContractForms::widest_exponential())) return true;
      return accumulator == base_.accumulator && explains(forms_.coarsest_exponential());
    });
  });
}

// Did the kernel refuse all calls of the search? If the domain has none of these rows, that is no refusal.
bool ContractSearch::has_no_answers() const { return answers() == 0 && prober_.refused() > 0; }

ContractGrade ContractSearch::grade(const Contract& found) {
  return grade_of(forms_.weaker_words(found), found, forms_.without_weaker_words(found), {&pairs_, &scores_});
}

std::string ContractSearch::failure() {
  if (prober_.died()) return "a call did not return";
  if (has_no_answers()) return "every call was refused";
  const Contract contract = widest();
  for (ProbeSet* probes : {&masked_, &pairs_, &equal_, &scores_, &sums_, &tiny_, &rows_}) {
    const ProbeShare share = probes->against(contract);
    if (!share.holds) return "even " + failure_text({contract, share}, "'" + to_string(contract) + "'");
  }
  return "";
}

InferredWord ContractSearch::word(const Contract& found, const char* key, const std::string& assumed,
                                  const std::string& held) {
  const ContractStep& step = steps_[key];
  InferredWord result{word_of(found, key), Evidence::held, held};
  if (step.broken) {
    const std::string tighter = word_of(step.broken->contract, key);
    result.evidence = Evidence::measured;
    result.why =
        failure_text(*step.broken, tighter == result.word ? "'" + to_string(step.broken->contract) + "'" : tighter);
  } else if (!assumed.empty()) {
    result.evidence = Evidence::assumed;
    result.why = assumed;
  }
  return result;
}

std::vector<InferredWord> ContractSearch::words(const Contract& found) {
  const std::string no_part = std::string("it has no part in ") + std::string(to_string(op_));
  const bool hidden = properties(forms_.results()).precision < properties(found.accumulator).precision;
  const std::string rounded =
      "results are rounded to " + std::string(properties(forms_.results()).name) + ", which hides what is narrower";
  const auto used = [&](const ProbeSet& probes, const char* key) {
    return "nothing tighter is standard; " + std::to_string(probes.size()) + " rows use at most " +
           short_number(steps_[key].share.share) + " of its thresholds";
  };
  const bool acc_measurable = found.accumulator == Format::f64 || !hidden;
  const auto unless_empty = [](const ProbeSet& probes, const std::string& why) {
    return probes.size() > 0 ? why : std::string("the domain has no row that shows it");
  };
  const bool conventions = op_->answers.masked_rows && masked_.size() > 0;
  std::vector<InferredWord> result;
  result.push_back(word(found, "acc", unless_empty(pairs_, acc_measurable ? "" : rounded), used(pairs_, "acc")));
  const std::string exp_reason = op_->answers.exponentials ? (hidden ? rounded : "") : no_part;
  result.push_back(word(found, "exp", unless_empty(pairs_, exp_reason), used(pairs_, "exp")));
  result.push_back(word(found, "sum", tells_orders(found) ? "" : rounded, used(sums_, "sum")));
  const char* nothing_visible = op_->is_attention()
                                    ? "a query that sees no key: by a mask, by causality or for want of keys"
                                    : "a row of 3 logits, all -inf, and all behind a mask where masks are taken";
  result.push_back({word_of(found, "masked"), conventions ? Evidence::measured : Evidence::assumed,
                    conventions                 ? nothing_visible
                    : !op_->answers.masked_rows ? "a masked row's value is the same under every word"
                                                : "masked rows are refused"});
  result.push_back(word(found, "subnormal", tiny_.size() > 0 ? "" : no_part, used(tiny_, "subnormal")));
  result.push_back(word(found, "entropy", no_part, ""));
  if (op_->adaptive && !op_->is_attention() && found.entropy == EntropyForm::any) {
    result.back() = {word_of(found, "entropy"), Evidence::assumed, "no row told the two forms apart"};
  }
  result.push_back(
      word(found, "lse", forms_.has_word("lse") || forms_.has_word("lse=running") ? "" : no_part, used(pairs_, "lse")));
  for (const std::string& key : forms_.words_set(found)) {
    if (key != "lse") result.push_back(word(found, key.c_str(), "", used(pairs_, key.c_str())));
  }
  return result;
}

}  // namespace softcheck::proptests
