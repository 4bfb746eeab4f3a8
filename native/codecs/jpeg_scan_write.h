// Writes the entropy-coded data of a scan: the reverse of `ScanReader`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/buffer.h"
#include "codecs/jpeg_frame.h"
#include "codecs/jpeg_scan_notes.h"

namespace penstock::jpeg {

class ScanWriter {
  public:
    /// Appends to `out`, and throws `corrupt` once that would have more than `max_bytes`.
    ScanWriter(ByteBuffer& out, std::size_t max_bytes);
    ~ScanWriter();
    ScanWriter(const ScanWriter&) = delete;
    ScanWriter& operator=(const ScanWriter&) = delete;

    /// Appends a scan. Planes without fill blocks get what libjpeg writes: the DC of the block before, and no AC.
    /// Throws `corrupt` if the scan's codes lack a symbol, or `notes` do not fit the coefficients.
    void write(const Scan& scan, const std::array<Plane<const std::int16_t>, kMaxComponents>& planes,
               const ScanNotes& notes);

  private:
    struct Tables;

    ByteBuffer& out_;
    std::size_t max_bytes_;
    std::unique_ptr<Tables> tables_;
};

}  // namespace penstock::jpeg
