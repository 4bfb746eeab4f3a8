// What a program does while its allocations fail: a build of several formats, and two epochs of three loaders.
#pragma once

#include <exception>
#include <memory>
#include <string>

namespace scenarios {

/// Something that can be run many times in one process, each time to the same result.
class Scenario {
  public:
    virtual ~Scenario() = default;
    /// Before each run; nothing fails here.
    virtual void prepare() = 0;
    /// The work, while allocations fail. Throws what the library throws.
    virtual void run() = 0;
    /// After it, with memory again: `error` is what `run` threw, null if it returned. Checks that results are right
    /// where there was no error, that the work can be done again, rightly, and lets go of everything. Gives the number
    /// of errors seen.
    virtual std::size_t check(const std::exception_ptr& error) = 0;
};

/// Whether an error says that memory or a thread could not be had, and nothing else.
[[nodiscard]] bool is_shortage(const std::exception_ptr& error);
/// What an error says.
[[nodiscard]] std::string text_of(const std::exception_ptr& error);

/// Ends the program: something is wrong with the run that is under way.
[[noreturn]] void give_up(const std::string& what);

/// "build" or "epochs", or one with a planted mistake: "leak", "hang", "loss". Null for any other name.
[[nodiscard]] std::unique_ptr<Scenario> make(const std::string& name);

}  // namespace scenarios
