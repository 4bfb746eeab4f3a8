// Restoration data of a JPEG, byte by byte as spec/jpeg-restoration.md has it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/jpeg_coefficients.h"
#include "codecs/jpeg_frame.h"
#include "codecs/jpeg_scan_notes.h"

namespace penstock::jpeg {

struct Restoration {
    std::uint64_t file_bytes = 0;
    std::uint32_t checksum = 0;  ///< CRC-32C of the file
    ByteBuffer skeleton;         ///< the file without the entropy-coded data of its scans
    std::vector<ScanNotes> scans;
    /// Fill blocks of each component, in the order of `FrameComponent::fill_index`; empty if they are what libjpeg
    /// would have written.
    std::array<CoefficientBlocks, kMaxComponents> fills;
};

/// The layout that an image's size and sampling factors give, as its file's frame header has it.
[[nodiscard]] Frame frame_of(const CoefficientImage& image);

[[nodiscard]] ByteBuffer write_restoration(const Restoration& restoration, const CoefficientImage& image);

/// Throws `corrupt`, `truncated`, or `unsupported` for a version of tomorrow. Lengths are checked before memory is
/// taken: at most about a thousand times that of `data`.
[[nodiscard]] Restoration read_restoration(ByteView data, const CoefficientImage& image);

}  // namespace penstock::jpeg
