#include "proptests/report/report_parts.hpp"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include "proptests/report/report.hpp"

namespace softcheck::proptests {
namespace {

using Packed = nlohmann::json;
using Rows = std::vector<ReportRow>;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), std::string("rows_of_parts: ") + what);
}

// Everything of a row except its certificates. The structured binding names every field, so a new field fails to
// compile until it is added here.
Packed packed(const ReportRow& row) {
  const auto& [claim, subject, cases, slack, verdict, seconds, details, verbose, failed, errors, not_tried, coverage,
               place] = row;
  Packed packed_errors, packed_coverage = Packed::array();
  if (errors) {
    const auto& [values, share, worst, bias, allowed, witness] = *errors;
    packed_errors = {values, share, worst, bias, allowed, witness};
  }
  for (const auto& [dimension, name, calls, refused, reason] : coverage) {
    packed_coverage.push_back({dimension, name, calls, refused, reason});
  }
  return Packed::array({claim, subject, cases, slack, verdict, seconds, details, packed_errors, not_tried,
                        packed_coverage, verbose, place});
}

template <class... Fields>
void unpack(const Packed& from, Fields&... fields) {
  std::size_t next = 0;
  (from.at(next++).get_to(fields), ...);
}

ReportRow unpacked(const Packed& from) {
  ReportRow row;
  Packed errors, coverage;
  unpack(from, row.claim, row.subject, row.cases, row.slack, row.verdict, row.seconds, row.details, errors,
         row.not_tried, coverage, row.verbose, row.place);
  if (!errors.is_null()) {
    ErrorStatistics& e = row.errors.emplace();
    unpack(errors, e.values, e.largest_share, e.worst_ulps, e.bias_ulps, e.worst_allowed_ulps, e.worst_witness);
  }
  for (const Packed& entry : coverage) {
    Coverage::Entry& e = row.coverage.emplace_back();
    unpack(entry, e.dimension, e.name, e.calls, e.refused, e.reason);
  }
  return row;
}

// The queue of parts to make, heaviest first, shared by all processes.
class Queue {
 public:
  explicit Queue(const std::vector<ReportPart>& parts) : order_(parts.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::greater<>(), [&](std::size_t part) { return parts[part].weight; });
    void* shared = mmap(nullptr, sizeof(Taken), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) fail("mmap");
    taken_ = new (shared) Taken(0);
  }
  ~Queue() { munmap(taken_, sizeof(Taken)); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  std::optional<std::size_t> next() {
    const std::size_t place = taken_->fetch_add(1);
    return place < order_.size() ? std::optional(order_[place]) : std::nullopt;
  }

 private:
  using Taken = std::atomic<std::size_t>;
  static_assert(Taken::is_always_lock_free);  // else it would not work between processes
  std::vector<std::size_t> order_;
  Taken* taken_;
};

// A child process that makes parts until none is left, then writes their rows to a file in memory.
class Fork {
 public:
  Fork(const std::vector<ReportPart>& parts, Queue& queue) : file_(memfd_create("report-parts", MFD_CLOEXEC)) {
    if (file_ < 0) fail("memfd_create");
    const pid_t parent = getpid();
    process_ = fork();
    if (process_ < 0) {
      close(file_);
      fail("fork");
    }
    if (process_ == 0) work(parts, queue, parent);
  }
  ~Fork() {
    if (process_ > 0) {
      kill(process_, SIGKILL);
      wait();
    }
    close(file_);
  }
  Fork(const Fork&) = delete;
  Fork& operator=(const Fork&) = delete;

  /// Waits for the process to end, and returns the rows that it made, by part; nothing if it died.
  std::map<std::size_t, Rows> rows() {
    std::map<std::size_t, Rows> result;
    if (wait() != 0) return result;
    const off_t size = lseek(file_, 0, SEEK_END);
    std::vector<std::uint8_t> bytes(static_cast<std::size_t>(std::max<off_t>(size, 0)));
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t got = pread(file_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
      if (got <= 0) fail("pread");
      at += static_cast<std::size_t>(got);
    }
    for (const Packed& made : Packed::from_cbor(bytes)) {
      Rows& rows = result[made.at(0).get<std::size_t>()];
      for (const Packed& row : made.at(1)) rows.push_back(unpacked(row));
    }
    return result;
  }

 private:
  [[noreturn]] void work(const std::vector<ReportPart>& parts, Queue& queue, pid_t parent) {
    // Ends by _exit: the parent's destructors must not run and its buffers must not be flushed here.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    try {
      Packed made = Packed::array();
      while (const std::optional<std::size_t> part = queue.next()) {
        try {
          Packed rows = Packed::array();
          for (const ReportRow& row : parts[*part].rows()) rows.push_back(packed(row));
          made.push_back({*part, rows});
        } catch (...) {
          continue;  // the parent makes the part again, and throws the error to the caller
        }
      }
      const std::vector<std::uint8_t> bytes = Packed::to_cbor(made);
      for (std::size_t at = 0; at < bytes.size();) {
        const ssize_t written = write(file_, bytes.data() + at, bytes.size() - at);
        if (written <= 0) _exit(1);
        at += static_cast<std::size_t>(written);
      }
      _exit(0);
    } catch (...) {
      _exit(1);
    }
  }

  int wait() {
    int status = 0;
    while (waitpid(process_, &status, 0) < 0) {
      if (errno != EINTR) fail("waitpid");
    }
    process_ = -1;
    return status;
  }

  int file_;
  pid_t process_ = -1;
};

using Json = nlohmann::ordered_json;

}  // namespace

std::vector<ReportRow> rows_of_parts(const std::vector<ReportPart>& parts, unsigned processes) {
  if (processes == 0) throw std::invalid_argument("rows_of_parts: processes must be >= 1, got 0");
  Queue queue(parts);
  std::vector<std::unique_ptr<Fork>> forks;
  for (std::size_t i = 1; i < std::min<std::size_t>(processes, parts.size()); ++i) {
    forks.push_back(std::make_unique<Fork>(parts, queue));
  }
  std::map<std::size_t, Rows> made, elsewhere;
  while (const std::optional<std::size_t> part = queue.next()) made[*part] = parts[*part].rows();
  for (const auto& fork : forks) elsewhere.merge(fork->rows());

  Rows result;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const auto found = elsewhere.find(part);
    const bool passed = found != elsewhere.end() && Report{found->second}.verdict() == ReportVerdict::pass;
    Rows rows = passed ? found->second : made.contains(part) ? made[part] : parts[part].rows();
    if (found != elsewhere.end() && !passed && Report{rows}.verdict() == ReportVerdict::pass) rows = found->second;
    result.insert(result.end(), std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()));
  }
  return result;
}

Json number_json(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

Json enclosure_json(const numerics::Enclosure& side) {
  Json result;
  if (side.is_nan()) return result;
  const std::string text = side.to_string(40);
  const std::size_t comma = text.find(", ");
  if (comma != std::string::npos && text.size() > 2) {
    result["enclosure"] = {text.substr(1, comma - 1), text.substr(comma + 2, text.size() - comma - 3)};
  } else {
    result["enclosure"] = {text, text};
  }
  result["lower"] = number_json(side.lower_double());
  result["upper"] = number_json(side.upper_double());
  return result;
}

Json lines_json(const std::vector<std::string>& lines) {
  Json result = Json::array();
  for (const std::string& line : lines) result.push_back(printable_utf8(line));
  return result;
}

}  // namespace softcheck::proptests
