#include "library/answer.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "judge/sandbox/isolated_kernel.hpp"
#include "library/options.hpp"
#include "models/read/file_errors.hpp"
#include "proptests/engine/interrupted.hpp"

namespace softcheck::library {

using namespace proptests;

namespace {

using Json = nlohmann::ordered_json;

Answer failed(softcheck_status status, const std::string& what) {
  Answer result;
  result.status = status;
  result.members["verdict"] = "error";
  result.members["error"] = printable_utf8(what);
  result.members["summary"] = result.members["error"];
  result.members["text"] = result.members["error"];
  return result;
}

Answer run(const std::function<Answer()>& function) {
  try {
    return function();
  } catch (const Interrupted&) {
    return failed(SOFTCHECK_UNDECIDED, "ended, by the caller or the budget, before there was anything to report");
  } catch (const KernelLoadError& error) {
    return failed(static_cast<softcheck_status>(exit_code(error.reason)), error.what());
  } catch (const UsageError& error) {
    return failed(SOFTCHECK_USAGE, error.what());
  } catch (const MalformedError& error) {
    return failed(SOFTCHECK_MALFORMED, error.what());
  } catch (const models::MissingTensorFile& error) {
    return failed(SOFTCHECK_USAGE, error.what());
  } catch (const models::TensorFileError& error) {
    return failed(SOFTCHECK_MALFORMED, error.what());
  } catch (const models::UnsupportedTensorFile& error) {
    return failed(SOFTCHECK_REFUSED, error.what());
  } catch (const std::range_error& error) {
    return failed(SOFTCHECK_REFUSED, error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return failed(SOFTCHECK_INTERNAL, error.what());
  }
}

char* copy_of(const std::string& text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy != nullptr) std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

}  // namespace

Json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Answer answer_of(const Report& report, const std::string& summary) {
  Answer result;
  result.status = static_cast<softcheck_status>(exit_code(report.verdict()));
  result.members["verdict"] = to_string(report.verdict());
  result.members["error"] = nullptr;
  result.members["summary"] = printable_utf8(summary);
  result.members["text"] = printable_utf8(to_table(report));
  result.members["claims"] = Json::parse(to_json(report)).at("claims");
  result.members["junit"] = to_junit(report);
  return result;
}

int answer(char** report, const std::function<Answer()>& function) noexcept {
  if (report != nullptr) *report = nullptr;
  try {
    Answer found = run(function);
    Json members = Json::object();
    members["status"] = static_cast<int>(found.status);
    members.update(found.members);
    if (report != nullptr) {
      *report = copy_of(members.dump(-1, ' ', false, Json::error_handler_t::replace));
      if (*report == nullptr) return SOFTCHECK_INTERNAL;
    }
    return found.status;
  } catch (...) {
    return SOFTCHECK_INTERNAL;
  }
}

}  // namespace softcheck::library
