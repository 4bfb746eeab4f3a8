// Reads the entropy-coded data of a scan: coefficients, and the choices of whoever wrote it.
//
// Stricter than a decoder for pixels: what libjpeg tolerates or repairs is refused here, because it could not be
// written again.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "base/buffer.h"
#include "base/image.h"
#include "codecs/jpeg_frame.h"
#include "codecs/jpeg_scan_notes.h"

namespace penstock::jpeg {

class ScanReader {
  public:
    explicit ScanReader(ByteView file);
    ~ScanReader();
    ScanReader(const ScanReader&) = delete;
    ScanReader& operator=(const ScanReader&) = delete;

    /// Adds the scan that begins at `begin` to `planes`, whose fills must not be null if the scan is interleaved and
    /// has any. Returns the byte behind its last one. Throws `truncated`, `corrupt` or `unsupported`.
    std::size_t read(const Scan& scan, std::size_t begin, const std::array<Plane<std::int16_t>, kMaxComponents>& planes,
                     ScanNotes& notes);

  private:
    struct Tables;

    ByteView file_;
    PoolBlock clean_;  // an interval without its stuffed zero bytes
    std::unique_ptr<Tables> tables_;
};

}  // namespace penstock::jpeg
