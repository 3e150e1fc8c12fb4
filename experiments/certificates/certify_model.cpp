#include "experiments/certificates/certify_model.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <stdexcept>

#include "experiments/certificates/collapse.hpp"
#include "experiments/certificates/plain_layers.hpp"
#include "experiments/certificates/set_size_bounds.hpp"
#include "experiments/certificates/spread_ladder.hpp"

namespace softcheck::experiments {

using numerics::Certificate;
using numerics::Enclosure;
using numerics::Format;

namespace {

std::string interval(const Enclosure& x) { return x.to_string(6); }

std::string item_text(const ItemPoint& item) { return fmt::format("({}, class {})", item.priority, item.class_index); }

// 10^x, as a plain number if that is short.
std::string power_text(double log10_size) {
  return log10_size < 6 ? fmt::format("{:.0f}", std::ceil(std::pow(10, log10_size)))
                        : fmt::format("10^{:.2f}", std::ceil(log10_size * 100) / 100);
}

class ModelCertification {
 public:
  ModelCertification(const Floats& parameters, const ModelOptions& options,
                     const std::function<void(const std::string&)>& progress)
      : network_(parameters), options_(options), progress_(progress) {}

  std::vector<ModelClaim> run() {
    spread();
    set_sizes();
    overflow();
    collapse();
    return std::move(claims_);
  }

 private:
  void begin(const std::string& what) {
    if (progress_) progress_(what);
    started_ = std::chrono::steady_clock::now();
  }

  // Certificates of one claim; the time since begin() goes to the first claim that is added.
  void add(std::vector<Certificate> certificates, std::vector<std::string> lines = {}) {
    const auto now = std::chrono::steady_clock::now();
    ModelClaim claim{certificates.front().claim, std::move(certificates), std::move(lines),
                     std::chrono::duration<double>(now - started_).count()};
    started_ = now;
    claims_.push_back(std::move(claim));
  }

  // All later claims depend on the spread: it must be known to the 0.1 % of its claim.
  static void require_known(const SpreadBound& spread) {
    if (spread.upper - spread.lower <= spread.lower / 1000) return;
    throw std::range_error(fmt::format(
        "certify_model: need a spread of logits that cells enclose to 0.1 %, got [{:.6g}, {:.6g}] by {} cells an axis: "
        "all logits are alike, or the weights are too large",
        spread.lower, spread.upper, spread.cells));
  }

  void spread() {
    begin("spread");
    const SpreadLadder ladder = spread_ladder(network_, options_.seed);
    require_known(ladder.exact);
    spread_ = ladder.exact.upper;
    const std::vector<std::string> lines{
        fmt::format("observed {} ({})", interval(ladder.observed), ladder.sample),
        fmt::format("exact {} by {} cells an axis; the lower end at query {}, items {} and {}",
                    interval(Enclosure::between(ladder.exact.lower, ladder.exact.upper)), ladder.exact.cells,
                    ladder.exact.query, item_text(ladder.exact.highest), item_text(ladder.exact.lowest)),
        fmt::format("norms' suprema, direct form {}", interval(ladder.direct)),
        fmt::format("joint singular value {}", interval(ladder.joint)),
        fmt::format("product of singular values {}", interval(ladder.product)),
    };
    std::size_t line = 0;
    for (Certificate& certificate : certify_ladder(ladder)) add({std::move(certificate)}, {lines.at(line++)});
  }

  void set_sizes() {
    begin("set sizes");
    const CertainSize dispersed = certify_dispersion_length(spread_, options_.eps);
    const TypicalLength typical = estimate_typical_length(network_, options_.eps, options_.seed);
    add({dispersed.certificate},
        {fmt::format("certain: from {} items on every coefficient is below {}", power_text(dispersed.log10_size),
                     options_.eps),
         fmt::format("estimate, no certificate: typically from {}{} items on (median of {} sets that grow, {:.0f} % "
                     "confidence {} to {}{})",
                     typical.median >= typical.longest ? "at least " : "", typical.median, typical.sets,
                     100 * typical.confidence, typical.lower, typical.upper,
                     typical.upper >= typical.longest ? " or more" : "")});
    const Certificate floor = certify_entropy_floor(network_, spread_, options_.items, options_.seed);
    add({floor},
        {fmt::format("{} items: entropy at least {:.4g} of at most {:.4g} nats; smallest of sets drawn {}",
                     options_.items, floor.left.lower_double(), std::log(options_.items), interval(floor.right))});
    const CertainSize identity = certify_adaptive_identity(spread_);
    add({identity.certificate}, {fmt::format("from {} items on adaptive temperature changes nothing, for certain",
                                             power_text(identity.log10_size))});
  }

  void overflow() {
    begin("overflow");
    const SizeBound size = bound_logit_size(network_);
    for (const Format format : {Format::f16, Format::bf16}) {
      for (Certificate& certificate : certify_no_overflow(size, format)) {
        const std::string line = fmt::format("largest size {} of at most {:.6g}", interval(certificate.left),
                                             numerics::properties(format).largest);
        add({std::move(certificate)}, {line});
      }
    }
  }

  void collapse() {
    begin("Corollary B.1");
    // Half of the length that fits keys and values of 16-bit numbers: rounding the tensors changes the length a little.
    const std::uint64_t longest = std::max<std::uint64_t>(options_.kernel_bytes / (std::uint64_t{8} * width), 2);
    const std::optional<CollapseSet> set = find_collapse(network_, longest);
    if (!set) {
      Certificate none;
      none.claim = "model.error";
      none.witness = "no set [b, ..., b] of the grid is given to the class of b";
      none.verdict = numerics::Verdict::vacuous;
      add({none}, {none.witness});
      return;
    }
    const Certificate error = certify_error(network_, *set);
    add({error}, {fmt::format("[a, b, ..., b] with query {}, a {}, b {}: the answer is {}{}", set->query,
                              item_text(set->odd), item_text(set->other), set->odd.class_index,
                              set->right_at_two ? ", which the network tells of [a, b]" : ""),
                  fmt::format("from {} items on it tells {}: its score exceeds the others' by at least {:.4g}",
                              set->wrong_from, set->other.class_index, error.right.lower_double())});
    for (const Format format : {Format::f32, Format::bf16, Format::f16}) collapse_in(*set, format);
  }

  void collapse_in(const CollapseSet& set, Format format) {
    begin(fmt::format("Corollary B.1 in {}", numerics::properties(format).name));
    const CollapseTensors tensors = collapse_tensors(network_, set, format);
    std::vector<Certificate> certificates = certify_collapse(network_, set, tensors);
    if (certificates.empty()) {
      claims_.back().lines.push_back(
          fmt::format("in {}: nothing shown, its numbers overflow or the two logits differ by more than 200",
                      numerics::properties(format).name));
      return;
    }
    add(std::move(certificates),
        {fmt::format("coefficient of a below the unit roundoff from {} items on; attention gives b's value to the last "
                     "bit from {} items on",
                     integer_text(*tensors.vanishes_from), integer_text(*tensors.collapses_from))});
    // f32 collapses on sets too long for any memory. Its kernel runs on the shortest set that the network answers
    // wrongly.
    const bool whole = format != Format::f32;
    const Enclosure length = whole ? *tensors.collapses_from : Enclosure::integer(set.wrong_from);
    run_kernel(set, tensors, length, whole);
  }

  static std::string integer_text(const Enclosure& n) {
    const double value = n.midpoint();
    return value < 0x1p53 ? fmt::format("{:.0f}", value) : fmt::format("{:.4g}", value);
  }

  void run_kernel(const CollapseSet& set, const CollapseTensors& tensors, const Enclosure& length, bool whole) {
    if (options_.attention == nullptr) return;
    const double bytes_of_item = 2.0 * width * numerics::properties(tensors.format).storage_bits / 8;
    if (length.upper_double() * bytes_of_item > static_cast<double>(options_.kernel_bytes)) {
      claims_.back().lines.push_back(
          fmt::format("not run: keys and values of {} items need {:.3g} GiB, allowed are {:.3g}", integer_text(length),
                      std::ldexp(length.upper_double() * bytes_of_item, -30),
                      std::ldexp(static_cast<double>(options_.kernel_bytes), -30)));
      return;
    }
    const auto n = static_cast<std::uint64_t>(length.midpoint());
    const std::optional<Eigen::VectorXd> output = run_attention(options_.attention, tensors, n);
    if (!output || !output->allFinite()) {
      claims_.back().lines.emplace_back("not run: the attention kernel refused, or gave what is no number");
      return;
    }
    Eigen::Index told = 0;
    scores_of_values(network_, BallMatrix::exactly(*output)).middle.col(0).maxCoeff(&told);
    add(certify_kernel_output(network_, set, tensors, *output, n, whole),
        {fmt::format("the attention kernel on {} items: class {}, {} of {} coordinates are b's to the last bit", n,
                     told, (output->array() == tensors.other_value.array()).count(), width)});
  }

  NetworkCells network_;
  ModelOptions options_;
  const std::function<void(const std::string&)>& progress_;
  std::vector<ModelClaim> claims_;
  std::chrono::steady_clock::time_point started_;
  double spread_ = 0;
};

}  // namespace

std::vector<ModelClaim> certify_model(const Floats& parameters, const ModelOptions& options,
                                      const std::function<void(const std::string&)>& progress) {
  if (!(options.eps > 0 && options.eps < 1)) {
    throw std::invalid_argument(fmt::format("certify_model: need eps in (0, 1), got {}", options.eps));
  }
  if (options.items < 1) throw std::invalid_argument("certify_model: need items >= 1, got 0");
  const numerics::FpEnvironmentGuard environment;
  return ModelCertification(parameters, options, progress).run();
}

}  // namespace softcheck::experiments
