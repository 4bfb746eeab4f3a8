// From errno to an error that says what, where and how to fix it.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace penstock {

/// Throws the error of a system call that failed with `number`; `attempt` completes "could not …".
[[noreturn]] void throw_storage_error(ErrorCode code, std::string_view attempt, const std::string& path, int number);

}  // namespace penstock
