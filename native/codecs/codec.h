// Contract of a codec. One .cpp file implements each, `table.cpp` lists them, and `decode.h` checks a caller's
// options before any codec sees them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock {

/// Facts from the header of a file, read without decoding pixels.
struct ImageInfo {
    PixelShape shape;               ///< of a full decode with default options
    std::uint8_t depth = 8;         ///< bits per sample as stored (1, 2, 4, 8, 16)
    std::uint8_t orientation = 1;   ///< EXIF orientation, 1 to 8; 1 when absent
    bool lossless = true;           ///< whether the stored pixels are exact
    bool buffered = false;          ///< whether a decode holds the whole image before its first row, variant or not
    bool palette = false;           ///< whether pixels are stored as palette indices
    std::string_view color = "";    ///< "grey", "grey+alpha", "rgb", "rgb+alpha", "cmyk", "ycck", "palette"
    std::string_view variant = "";  ///< codec-specific: "progressive", "interlaced", "lossless", "dense"…
};

/// Work that a decode did. A unit is an MCU (jpeg), a row (png, bmp, pnm, webp) or a tile (weir, l3).
struct DecodeCounters {
    std::uint64_t units_total = 0;
    std::uint64_t units_decoded = 0;
};

struct DecodeOptions {
    std::optional<Region> region;  ///< in the coordinates of the scaled, stored image
    std::uint32_t scale = 1;       ///< 1/scale of each side, rounded up; 1, 2, 4 or 8
    bool palette_indices = false;  ///< keep palette indices instead of colours
    bool orient = false;           ///< apply EXIF orientation; `region` is then in oriented coordinates
    bool fast = false;             ///< lossy codecs may use a rougher, faster transform
    bool verify = true;            ///< check checksums where the format has them and they cost extra
    bool plain = false;            ///< take the plain twin of every fast path; for tests and benchmarks
    std::uint64_t max_pixels = std::uint64_t{1} << 28;
    DecodeCounters* counters = nullptr;  ///< filled in if not null
    BufferPool* pool = nullptr;          ///< of the decode's working memory; null: `BufferPool::shared()`

    [[nodiscard]] BufferPool& working_pool() const noexcept { return pool != nullptr ? *pool : BufferPool::shared(); }
};

/// Parameters of a format as text, already validated by `penstock.codecs.formats`.
class Parameters {
  public:
    Parameters() = default;
    explicit Parameters(std::vector<std::pair<std::string, std::string>> items) : items_(std::move(items)) {}

    [[nodiscard]] std::string_view text(std::string_view key, std::string_view fallback) const;
    /// Throws `bad_parameter` if the value is not an integer.
    [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t fallback) const;
    [[nodiscard]] bool flag(std::string_view key) const { return text(key, "") == "true"; }

  private:
    std::vector<std::pair<std::string, std::string>> items_;
};

/// A codec: stateless, so that one object serves every thread.
///
/// All functions throw `Error` (code 3xx for bad data) and nothing else; a failed decode may have written to
/// `out`.
class Codec {
  public:
    virtual ~Codec() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;

    /// Returns whether the content belongs to this codec. Looks at the first bytes only, and accepts any length.
    [[nodiscard]] virtual bool sniff(ByteView data) const noexcept = 0;

    /// Parses only the header. Does not apply `max_pixels`; `decode.h` does.
    [[nodiscard]] virtual ImageInfo inspect(ByteView data) const = 0;

    /// Shape of the decode that `options` asks for, without region and orientation.
    [[nodiscard]] virtual PixelShape decoded_shape(const ImageInfo& info, const DecodeOptions& options) const;

    /// Returns whether this scale can be decoded directly.
    [[nodiscard]] virtual bool can_scale(std::uint32_t scale) const noexcept { return scale == 1; }

    /// Largest memory that a decode takes in addition to `data` and `out`, except a few hundred KB of tables. An `info`
    /// without a variant counts as the variant that takes most.
    [[nodiscard]] virtual std::size_t working_bytes(const ImageInfo& info) const noexcept;

    /// Decodes into `out`, whose shape is the region's (or the whole image's) and has been checked, as the
    /// options have been: the region is inside the image, the scale is one `can_scale` accepts, `orient` is
    /// false. `info` is what was checked; a codec that reads the header again compares (`check_same_image`).
    virtual void decode(ByteView data, const ImageInfo& info, const DecodeOptions& options, ImageView out) const = 0;

    /// Encodes pixels in a format. Throws `unsupported` if it cannot hold them.
    [[nodiscard]] virtual ByteBuffer encode(ConstImageView pixels, const Parameters& parameters) const = 0;
};

/// Throws `corrupt` unless a header that was read again describes the planned image. A decode of memory that another
/// thread writes to must not write past its output.
void check_same_image(std::string_view codec, const ImageInfo& now, const ImageInfo& planned);

/// Returns parts of the `where` of an error.
[[nodiscard]] std::string at_byte(std::string_view codec, std::size_t offset);

}  // namespace penstock
