// The one error type of the native core: what happened, where, and how to fix it.
// Codes come in families (1xx arguments, 2xx record, 3xx codec, 4xx storage, 5xx pipeline), with gaps; a code
// is never reused.
#pragma once

#include <exception>
#include <string>
#include <utility>

namespace penstock {

enum class ErrorCode : int {
    bad_argument = 100,
    bad_region = 110,
    bad_output = 120,
    bad_parameter = 130,
    unknown_format = 300,
    truncated = 310,
    corrupt = 320,
    checksum = 330,
    too_large = 340,
    unsupported = 350,
    out_of_memory = 360,
    open_failed = 400,
    read_failed = 410,
    write_failed = 420,
    cancelled = 500,
    forked = 510,
    no_threads = 520,
    unexpected = 540,
};

/// Thrown by everything in `native/`; `bindings/errors.cpp` is the only place that turns it into a Python
/// exception.
class Error : public std::exception {
  public:
    /// `system_error` is the errno of a system call that failed, if one did.
    Error(ErrorCode code, std::string what_happened, std::string where, std::string fix, int system_error = 0)
        : code_(code),
          what_(std::move(what_happened)),
          where_(std::move(where)),
          fix_(std::move(fix)),
          system_error_(system_error) {}

    [[nodiscard]] ErrorCode code() const noexcept { return code_; }
    [[nodiscard]] const char* what() const noexcept override { return what_.c_str(); }
    [[nodiscard]] const std::string& where() const noexcept { return where_; }
    [[nodiscard]] const std::string& fix() const noexcept { return fix_; }
    [[nodiscard]] int system_error() const noexcept { return system_error_; }

  private:
    ErrorCode code_;
    std::string what_;
    std::string where_;
    std::string fix_;
    int system_error_;
};

}  // namespace penstock
