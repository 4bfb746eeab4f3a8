// From the tiles of a Sluice file to pixels of a region, at any scale of the transform.
#pragma once

#include <array>
#include <optional>

#include "base/buffer.h"
#include "codecs/codec.h"
#include "codecs/sluice.h"
#include "codecs/sluice_tiles.h"

namespace penstock::sluice {

/// Decodes a region of one file. The pixels are those of the JPEG that the file was made from.
class PixelReader {
  public:
    PixelReader(ByteView data, const Header& header, const Index& index, const DecodeOptions& options);

    /// `region` is in pixels of the scaled image and lies inside of it. Gives the number of tiles that were decoded.
    std::uint64_t read(const Region& region, ImageView out);

  private:
    /// Groups of one component, half-open.
    struct GroupRange {
        std::uint32_t x_begin, x_end, y_begin, y_end;
    };
    /// Samples of one component: all groups that the region touches.
    struct Plane {
        GroupRange groups{};
        jpeg::SampleWindow window;
        std::uint8_t* samples = nullptr;
        std::size_t stride = 0;
    };

    void choose_planes(const Region& region);
    void decode_direct(const Region& region, ImageView out);
    void write_groups(std::size_t begin, std::size_t end, const Region& region, ImageView out);
    void decode_planes(const Region& region, ImageView out);
    void transform_tile();
    void write_rows(const Region& region, std::uint32_t y_begin, std::uint32_t y_end, ImageView out) const;
    [[nodiscard]] GroupRange tiles() const noexcept;

    const Header& header_;
    const Index& index_;
    BufferPool& pool_;
    TileReader tiles_;
    jpeg::ImageGeometry geometry_;
    std::array<Plane, 3> planes_{};
};

/// The layout of an image at a scale; throws `corrupt` for an impossible sampling.
[[nodiscard]] jpeg::ImageGeometry geometry_of(const Header& header, std::uint32_t scale);

/// Bytes that a decode of such an image takes at most, beside its output.
[[nodiscard]] std::size_t pixel_working_bytes(std::uint32_t width, std::uint32_t height, unsigned channels) noexcept;

}  // namespace penstock::sluice
