// What a scan holds besides coefficients: choices that the standard leaves to whoever writes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace penstock::jpeg {

/// The longest run of blocks that one end-of-block symbol of a progressive scan can stand for.
inline constexpr std::uint32_t kMaxEndRun = 0x7FFF;

/// libjpeg ends a run early once so many correction bits wait behind it.
inline constexpr std::uint32_t kLibraryCorrectionBits = 937;

/// How runs of ended blocks are cut in a progressive scan.
enum class EndRuns : std::uint8_t {
    library = 0,   ///< as long as possible, but cut at `kLibraryCorrectionBits`
    longest = 1,   ///< as long as possible
    single = 2,    ///< every block has its own symbol
    explicit_ = 3  ///< as listed
};

enum class Padding : std::uint8_t { ones = 0, zeros = 1, explicit_ = 2 };

/// A block that ends with more runs of sixteen zeros than it needs.
struct ExtraZeros {
    std::uint32_t block = 0;  ///< counted in coding order, over the whole scan
    std::uint32_t runs = 0;   ///< symbols behind the last coefficient that need not be there: 1 to 3
    friend bool operator==(const ExtraZeros&, const ExtraZeros&) = default;
};

struct ScanNotes {
    Padding padding = Padding::ones;
    EndRuns end_runs = EndRuns::library;
    std::vector<std::uint8_t> padding_bits;  ///< one a byte, in order; empty unless explicit
    std::vector<std::uint16_t> run_lengths;  ///< in order; empty unless explicit
    std::vector<ExtraZeros> extra_zeros;     ///< by block

    [[nodiscard]] bool is_usual() const noexcept {
        return padding == Padding::ones && end_runs == EndRuns::library && extra_zeros.empty();
    }
};

/// Cuts runs of ended blocks by a rule. Used to write scans, and to find out which rule a scan was written by.
class RunRule {
  public:
    explicit RunRule(EndRuns rule) noexcept
        : max_run_(rule == EndRuns::single ? 1 : kMaxEndRun),
          max_bits_(rule == EndRuns::library ? kLibraryCorrectionBits : ~std::uint32_t{0}) {}

    /// Whether a run of so many blocks, with so many correction bits, ends now.
    [[nodiscard]] bool is_full(std::uint32_t run, std::uint32_t correction_bits) const noexcept {
        return run >= max_run_ || correction_bits > max_bits_;
    }

  private:
    std::uint32_t max_run_;
    std::uint32_t max_bits_;
};

}  // namespace penstock::jpeg
