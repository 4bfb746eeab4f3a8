// What a JPEG's segments say about its scans: frame, tables, restart interval, and the order in which a scan visits
// blocks. Whoever reads scans and whoever writes them again go by the same state, and by the same checks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/image.h"
#include "codecs/jpeg_coefficients.h"
#include "codecs/jpeg_header.h"
#include "codecs/jpeg_huffman_tables.h"
#include "codecs/jpeg_segments.h"

namespace penstock::jpeg {

inline constexpr std::size_t kMaxComponents = 3;

/// A Huffman code as a DHT segment defines it.
struct HuffmanCode {
    std::array<std::uint8_t, 17> counts{};  ///< codes of each length; [0] is unused
    std::array<std::uint8_t, 256> symbols{};
    bool is_defined = false;

    [[nodiscard]] CodeDefinition definition() const noexcept {
        return {std::span<const std::uint8_t, 17>(counts), std::span<const std::uint8_t, 256>(symbols)};
    }
};

/// The four codes of annex K of the standard, which most files use: DC and AC of luma, then those of chroma.
[[nodiscard]] const HuffmanCode& standard_code(std::size_t index) noexcept;

/// Throws the error of a segment or scan that is damaged: `corrupt`.
[[noreturn]] void fail_damaged(const std::string& what, std::size_t offset);
/// Throws the error of a kind that is not restored: `unsupported`.
[[noreturn]] void fail_unsupported(const std::string& what, std::size_t offset);

struct FrameComponent {
    std::uint8_t id = 0;
    std::uint8_t quantization_index = 0;
    Sampling sampling;
    std::uint32_t blocks_wide = 0;
    std::uint32_t blocks_high = 0;
    std::uint32_t padded_wide = 0;  ///< with the blocks that fill up MCUs
    std::uint32_t padded_high = 0;

    /// Blocks that only fill up MCUs.
    [[nodiscard]] std::size_t num_fill_blocks() const noexcept {
        return std::size_t{padded_wide} * padded_high - std::size_t{blocks_wide} * blocks_high;
    }
    /// Where a fill block stands among them: row after row, as they lie in the padded component.
    [[nodiscard]] std::size_t fill_index(std::uint32_t x, std::uint32_t y) const noexcept {
        const std::size_t row_fills = padded_wide - blocks_wide;
        if (y < blocks_high) return y * row_fills + (x - blocks_wide);
        return blocks_high * row_fills + std::size_t{y - blocks_high} * padded_wide + x;
    }
};

struct Frame {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    bool is_progressive = false;
    std::vector<FrameComponent> components;
    std::uint32_t mcus_wide = 0;  ///< of scans with several components
    std::uint32_t mcus_high = 0;

    /// Derives blocks and MCUs from the size and the sampling factors.
    void lay_out() noexcept;
};

struct ScanComponent {
    std::size_t index = 0;  ///< in the frame
    const HuffmanCode* dc = nullptr;
    const HuffmanCode* ac = nullptr;
};

struct Scan {
    const Frame* frame = nullptr;
    std::array<ScanComponent, kMaxComponents> components;
    std::size_t num_components = 0;
    std::uint8_t first = 0;  ///< spectral selection, in zigzag order
    std::uint8_t last = 63;
    std::uint8_t high = 0;  ///< successive approximation: the bit position of the scan before, 0 for none
    std::uint8_t low = 0;
    std::uint32_t restart_interval = 0;
    std::uint32_t mcus_wide = 0;
    std::uint32_t mcus_high = 0;

    [[nodiscard]] bool is_interleaved() const noexcept { return num_components > 1; }
    /// How the scan codes: the five kinds have nothing in common but their codes.
    enum class Kind : std::uint8_t { sequential, dc_first, dc_refine, ac_first, ac_refine };
    [[nodiscard]] Kind kind() const noexcept;
};

/// Collects segments in the order of the file, up to its end mark.
class CodingState {
  public:
    /// Takes any segment but SOS. Throws `corrupt` for one that libjpeg refuses, `unsupported` for kinds of JPEG that
    /// are not restored.
    void take(const Segment& segment);

    /// Takes an SOS segment. Its scan points into this state: segments behind it may change its codes. Throws as
    /// `take`, and where a scan repeats or omits what another one has: the scans of a progressive file must refine
    /// each coefficient bit by bit.
    [[nodiscard]] Scan begin_scan(const Segment& segment);

    [[nodiscard]] bool has_frame() const noexcept { return !frame_.components.empty(); }
    [[nodiscard]] const Frame& frame() const noexcept { return frame_; }
    /// The table that libjpeg uses for a component: what was defined when its first scan began.
    [[nodiscard]] const QuantizationTable& quantization(std::size_t component) const noexcept {
        return latched_[component];
    }
    /// Whether a scan has coded this component's fill blocks.
    [[nodiscard]] bool codes_fill_blocks(std::size_t component) const noexcept { return codes_fills_[component]; }
    /// Whether every bit of every coefficient is there.
    [[nodiscard]] bool is_complete() const noexcept;
    [[nodiscard]] std::size_t num_scans() const noexcept { return num_scans_; }

  private:
    void take_frame(const Segment& segment);
    void take_codes(const Segment& segment);
    void take_quantization(const Segment& segment);
    void select_components(const Segment& segment, Scan& scan);
    void check_sequential(Scan& scan, std::size_t offset);
    void check_progressive(const Scan& scan, std::size_t offset);
    void latch_quantization(const Scan& scan, std::size_t offset);
    [[nodiscard]] const HuffmanCode* code(bool is_ac, std::size_t index, bool is_needed, std::size_t offset) const;

    Frame frame_;
    std::array<std::array<HuffmanCode, 4>, 2> codes_;  // DC, AC
    std::array<QuantizationTable, 4> quantization_{};
    std::array<bool, 4> has_quantization_{};
    std::array<QuantizationTable, kMaxComponents> latched_{};
    std::array<bool, kMaxComponents> is_latched_{};
    std::array<bool, kMaxComponents> codes_fills_{};
    // The lowest bit of each coefficient that is known; -1 before its first scan. Sequential scans set all to 0.
    std::array<std::array<std::int8_t, kBlockCoefficients>, kMaxComponents> known_bit_{};
    std::uint32_t restart_interval_ = 0;
    std::size_t num_scans_ = 0;
};

/// Steps from segment to segment to the end mark; bytes between them are skipped, as libjpeg skips them. Unlike
/// `MarkerWalk` it takes the end of the data for an end mark: behind the last scan that is no damage.
class FileWalk {
  public:
    /// Throws `corrupt` unless the data starts as a JPEG does.
    explicit FileWalk(ByteView data);

    /// Nothing at the end mark, at the end of the data, or at a segment that the data cuts off.
    [[nodiscard]] std::optional<Segment> next();
    /// One byte behind the last segment.
    [[nodiscard]] std::size_t position() const noexcept { return position_; }
    void move_to(std::size_t position) noexcept { position_ = position; }

  private:
    ByteView data_;
    std::size_t position_ = 2;
};

/// Where the blocks of a component lie. `Coefficient` is const for whoever only reads them.
template <typename Coefficient>
struct Plane {
    Coefficient* blocks = nullptr;
    Coefficient* fills = nullptr;  ///< null: there are none, or they follow from their neighbours
};

/// Calls `code_block(slot, block)` for every block of a scan, in coding order, where `slot` counts components of the
/// scan and `block` is null for a fill block of a plane without any; and `restart()` where a restart marker is due.
template <typename Coefficient, typename CodeBlock, typename Restart>
class BlockVisit {
  public:
    BlockVisit(const Scan& scan, const std::array<Plane<Coefficient>, kMaxComponents>& planes, CodeBlock code_block,
               Restart restart)
        : scan_(scan), code_block_(code_block), restart_(restart), mcus_to_restart_(scan.restart_interval) {
        for (std::size_t slot = 0; slot < scan.num_components; ++slot) {
            const std::size_t index = scan.components[slot].index;
            slots_[slot] = {&scan.frame->components[index], planes[index]};
        }
    }

    void run() {
        if (!scan_.is_interleaved()) {
            Coefficient* block = slots_[0].plane.blocks;
            const std::size_t count = std::size_t{scan_.mcus_wide} * scan_.mcus_high;
            for (std::size_t i = 0; i < count; ++i, block += kBlockCoefficients) {
                count_down();
                code_block_(std::size_t{0}, block);
            }
            return;
        }
        for (std::uint32_t y = 0; y < scan_.mcus_high; ++y) {
            for (std::uint32_t x = 0; x < scan_.mcus_wide; ++x) {
                count_down();
                for (std::size_t slot = 0; slot < scan_.num_components; ++slot) visit_mcu(slot, x, y);
            }
        }
    }

  private:
    struct Slot {
        const FrameComponent* component = nullptr;
        Plane<Coefficient> plane;
    };

    void count_down() {
        if (scan_.restart_interval == 0) return;
        if (mcus_to_restart_ == 0) {
            restart_();
            mcus_to_restart_ = scan_.restart_interval;
        }
        --mcus_to_restart_;
    }

    // The blocks of one component in an MCU. Most MCUs have no fill blocks.
    void visit_mcu(std::size_t slot, std::uint32_t mcu_x, std::uint32_t mcu_y) {
        const FrameComponent& component = *slots_[slot].component;
        const std::uint32_t x = mcu_x * component.sampling.across;
        const std::uint32_t y = mcu_y * component.sampling.down;
        const std::uint32_t end_x = x + component.sampling.across;
        const std::uint32_t end_y = y + component.sampling.down;
        if (end_x > component.blocks_wide || end_y > component.blocks_high) [[unlikely]] {
            visit_edge(slot, {x, y, end_x, end_y});
            return;
        }
        Coefficient* row =
            slots_[slot].plane.blocks + (std::size_t{y} * component.blocks_wide + x) * kBlockCoefficients;
        for (std::uint32_t i = y; i < end_y; ++i, row += std::size_t{component.blocks_wide} * kBlockCoefficients) {
            Coefficient* block = row;
            for (std::uint32_t j = x; j < end_x; ++j, block += kBlockCoefficients) code_block_(slot, block);
        }
    }

    struct Blocks {
        std::uint32_t x;
        std::uint32_t y;
        std::uint32_t end_x;
        std::uint32_t end_y;
    };

    [[gnu::noinline]] void visit_edge(std::size_t slot, Blocks blocks) {
        const FrameComponent& component = *slots_[slot].component;
        const Plane<Coefficient>& plane = slots_[slot].plane;
        for (std::uint32_t y = blocks.y; y < blocks.end_y; ++y) {
            for (std::uint32_t x = blocks.x; x < blocks.end_x; ++x) {
                const bool is_real = x < component.blocks_wide && y < component.blocks_high;
                const std::size_t index =
                    is_real ? std::size_t{y} * component.blocks_wide + x : component.fill_index(x, y);
                Coefficient* base = is_real ? plane.blocks : plane.fills;
                code_block_(slot, base != nullptr ? base + index * kBlockCoefficients : nullptr);
            }
        }
    }

    const Scan& scan_;
    CodeBlock code_block_;
    Restart restart_;
    std::uint32_t mcus_to_restart_;
    std::array<Slot, kMaxComponents> slots_;
};

}  // namespace penstock::jpeg
