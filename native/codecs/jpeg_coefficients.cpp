#include "codecs/jpeg_coefficients.h"

#include <cstring>
#include <optional>
#include <string>

#include "base/crc32c.h"
#include "codecs/codec.h"
#include "codecs/jpeg_frame.h"
#include "codecs/jpeg_restoration.h"
#include "codecs/jpeg_scan_read.h"
#include "codecs/jpeg_scan_write.h"
#include "codecs/jpeg_varint.h"

namespace penstock::jpeg {

namespace {

constexpr std::size_t kBlockBytes = kBlockCoefficients * sizeof(std::int16_t);

using Fills = std::array<CoefficientBlocks, kMaxComponents>;

/// A file as it is read: coefficients of image and fill blocks, and whatever its scans are coded by.
struct Reading {
    CoefficientImage image;
    Fills fills;
    CodingState state;
    ByteBuffer skeleton;
    std::vector<ScanNotes> scans;
};

// Every block needs two codes in a sequential file (DC, end of block), one in a progressive one; a code has a bit.
void check_size(const Frame& frame, std::size_t bytes_left, std::uint64_t max_pixels, std::size_t offset) {
    const std::uint64_t pixels = std::uint64_t{frame.width} * frame.height;
    const std::string size = std::to_string(frame.width) + "x" + std::to_string(frame.height);
    if (pixels > max_pixels) {
        throw Error(ErrorCode::too_large,
                    "jpeg of " + size + " pixels exceeds max_pixels (" + std::to_string(max_pixels) + ")",
                    at_byte("jpeg", offset), "raise max_pixels if the file is trusted");
    }
    std::uint64_t num_blocks = 0;
    for (const FrameComponent& component : frame.components) {
        num_blocks += std::uint64_t{component.blocks_wide} * component.blocks_high;
    }
    if (num_blocks * (frame.is_progressive ? 1 : 2) > std::uint64_t{bytes_left} * 8) {
        throw Error(
            ErrorCode::truncated,
            "jpeg of " + size + " pixels cannot fit in the " + std::to_string(bytes_left) + " bytes after its header",
            at_byte("jpeg", offset), "the file is damaged: restore it from its source");
    }
}

void allocate(Reading& reading) {
    const Frame& frame = reading.state.frame();
    reading.image.width = frame.width;
    reading.image.height = frame.height;
    for (std::size_t i = 0; i < frame.components.size(); ++i) {
        const FrameComponent& from = frame.components[i];
        CoefficientComponent& component = reading.image.components.emplace_back();
        component.sampling = from.sampling;
        component.blocks_wide = from.blocks_wide;
        component.blocks_high = from.blocks_high;
        const std::size_t num_blocks = std::size_t{from.blocks_wide} * from.blocks_high;
        // Sequential scans write whole blocks; the others add to them.
        component.blocks =
            frame.is_progressive ? CoefficientBlocks(num_blocks) : CoefficientBlocks::uninitialized(num_blocks);
        if (from.num_fill_blocks() != 0) reading.fills[i] = CoefficientBlocks(from.num_fill_blocks());
    }
}

std::array<Plane<std::int16_t>, kMaxComponents> planes_of(Reading& reading) {
    std::array<Plane<std::int16_t>, kMaxComponents> planes;
    for (std::size_t i = 0; i < reading.image.components.size(); ++i) {
        planes[i] = {reading.image.components[i].blocks[0],
                     reading.fills[i].size() != 0 ? reading.fills[i][0] : nullptr};
    }
    return planes;
}

std::array<Plane<const std::int16_t>, kMaxComponents> planes_of(const CoefficientImage& image, const Fills& fills) {
    std::array<Plane<const std::int16_t>, kMaxComponents> planes;
    for (std::size_t i = 0; i < image.components.size(); ++i) {
        planes[i] = {image.components[i].blocks[0], fills[i].size() != 0 ? fills[i][0] : nullptr};
    }
    return planes;
}

Reading read_file(ByteView file, std::uint64_t max_pixels) {
    const Header header = read_header(file);
    Reading reading;
    FileWalk walk(file);
    ScanReader reader(file);
    std::size_t copied = 0;
    for (std::optional<Segment> segment = walk.next(); segment; segment = walk.next()) {
        if (segment->marker != kSos) {
            reading.state.take(*segment);
            if (!is_frame(segment->marker)) continue;
            check_size(reading.state.frame(), file.size() - walk.position(), max_pixels, segment->begin);
            allocate(reading);
            continue;
        }
        const Scan scan = reading.state.begin_scan(*segment);
        const std::size_t begin = walk.position();
        reading.skeleton.append(file.data() + copied, begin - copied);
        copied = reader.read(scan, begin, planes_of(reading), reading.scans.emplace_back());
        walk.move_to(copied);
    }
    reading.skeleton.append(file.data() + copied, file.size() - copied);
    if (!reading.state.is_complete()) {
        if (reading.state.num_scans() != 0 && reading.state.frame().is_progressive) {
            fail_unsupported("progressive jpeg lacks scans, which decoders make up for by smoothing", file.size());
        }
        throw Error(ErrorCode::truncated, "jpeg data ends before its last scan", at_byte("jpeg", file.size()),
                    "the file is damaged: restore it from its source");
    }
    reading.image.color = header.color;
    reading.image.orientation = header.orientation;
    for (std::size_t i = 0; i < reading.image.components.size(); ++i) {
        reading.image.components[i].quantization = reading.state.quantization(i);
    }
    return reading;
}

bool has_ac(const std::int16_t* block) noexcept {
    for (std::size_t k = 1; k < kBlockCoefficients; ++k) {
        if (block[k] != 0) return true;
    }
    return false;
}

// Whether the fill blocks of an MCU repeat the DC of the block before and have no AC, as libjpeg writes them. The first
// block of an MCU is never one.
bool is_mcu_usual(const FrameComponent& layout, const CoefficientComponent& component, const CoefficientBlocks& fills,
                  std::uint32_t mcu_x, std::uint32_t mcu_y) noexcept {
    std::int16_t dc = 0;
    const std::uint32_t across = layout.sampling.across;
    const std::uint32_t down = layout.sampling.down;
    for (std::uint32_t y = mcu_y * down; y < (mcu_y + 1) * down; ++y) {
        for (std::uint32_t x = mcu_x * across; x < (mcu_x + 1) * across; ++x) {
            if (x < layout.blocks_wide && y < layout.blocks_high) {
                dc = component.block(x, y)[0];
                continue;
            }
            const std::int16_t* block = fills[layout.fill_index(x, y)];
            if (block[0] != dc || has_ac(block)) return false;
        }
    }
    return true;
}

bool are_usual(const Frame& frame, std::size_t index, const CoefficientComponent& component,
               const CoefficientBlocks& fills) noexcept {
    const FrameComponent& layout = frame.components[index];
    for (std::uint32_t y = 0; y < frame.mcus_high; ++y) {
        const bool is_last_row = y + 1 == frame.mcus_high;
        for (std::uint32_t x = is_last_row ? 0 : frame.mcus_wide - 1; x < frame.mcus_wide; ++x) {
            if (!is_mcu_usual(layout, component, fills, x, y)) return false;
        }
    }
    return true;
}

[[noreturn]] void fail_mismatch(const char* what) {
    throw Error(ErrorCode::corrupt, what, "coefficients and restoration data of a jpeg",
                "use the coefficients that the restoration data was made with");
}

void check_image(const CoefficientImage& image) {
    const std::size_t count = image.components.size();
    if (count != 1 && count != 3) fail_mismatch("an image of coefficients must have 1 or 3 components");
    if (image.width == 0 || image.height == 0 || image.width > 65535 || image.height > 65535) {
        fail_mismatch("an image of coefficients has an impossible size");
    }
    for (const CoefficientComponent& component : image.components) {
        const Sampling sampling = component.sampling;
        if (sampling.across < 1 || sampling.across > 4 || sampling.down < 1 || sampling.down > 4) {
            fail_mismatch("an image of coefficients has an impossible sampling factor");
        }
    }
    const Frame frame = frame_of(image);
    for (std::size_t i = 0; i < count; ++i) {
        const CoefficientComponent& component = image.components[i];
        if (component.blocks_wide != frame.components[i].blocks_wide ||
            component.blocks_high != frame.components[i].blocks_high ||
            component.blocks.size() != std::size_t{component.blocks_wide} * component.blocks_high) {
            fail_mismatch("an image of coefficients has a wrong number of blocks");
        }
    }
}

void check_frame(const Frame& frame, const CoefficientImage& image) {
    bool is_same = frame.width == image.width && frame.height == image.height &&
                   frame.components.size() == image.components.size();
    for (std::size_t i = 0; is_same && i < image.components.size(); ++i) {
        is_same = frame.components[i].sampling.across == image.components[i].sampling.across &&
                  frame.components[i].sampling.down == image.components[i].sampling.down;
    }
    if (!is_same) fail_mismatch("restoration data is of an image of another size or sampling");
}

}  // namespace

CoefficientBlocks::CoefficientBlocks(std::size_t num_blocks) {
    *this = uninitialized(num_blocks);
    if (num_blocks != 0) std::memset(data_, 0, num_blocks * kBlockBytes);
}

CoefficientBlocks CoefficientBlocks::uninitialized(std::size_t num_blocks) {
    CoefficientBlocks blocks;
    if (num_blocks == 0) return blocks;
    blocks.data_ = reinterpret_cast<std::int16_t*>(BufferPool::shared().take(num_blocks * kBlockBytes));
    blocks.num_blocks_ = num_blocks;
    return blocks;
}

CoefficientBlocks::~CoefficientBlocks() {
    if (data_ == nullptr) return;
    BufferPool::shared().give(reinterpret_cast<std::uint8_t*>(data_), num_blocks_ * kBlockBytes);
}

CoefficientImage read_coefficients(ByteView file, std::uint64_t max_pixels) {
    return read_file(file, max_pixels).image;
}

TakenApart take_apart(ByteView file, std::uint64_t max_pixels) {
    Reading reading = read_file(file, max_pixels);
    Restoration restoration;
    restoration.file_bytes = file.size();
    restoration.checksum = crc32c(file);
    restoration.skeleton = std::move(reading.skeleton);
    restoration.scans = std::move(reading.scans);
    const Frame& frame = reading.state.frame();
    for (std::size_t i = 0; i < frame.components.size(); ++i) {
        if (frame.components[i].num_fill_blocks() == 0 || !reading.state.codes_fill_blocks(i) ||
            are_usual(frame, i, reading.image.components[i], reading.fills[i])) {
            continue;
        }
        restoration.fills[i] = std::move(reading.fills[i]);
    }
    TakenApart parts;
    parts.restoration = write_restoration(restoration, reading.image);
    parts.image = std::move(reading.image);
    bool is_same = false;
    try {
        const ByteBuffer again = put_together(parts.image, parts.restoration.view());
        is_same = again.size() == file.size() && std::memcmp(again.data(), file.data(), file.size()) == 0;
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;
    }
    if (!is_same) fail_unsupported("jpeg is coded in a way that cannot be repeated", 0);
    return parts;
}

ByteBuffer put_together(const CoefficientImage& image, ByteView data) {
    check_image(image);
    const Restoration restoration = read_restoration(data, image);
    const auto planes = planes_of(image, restoration.fills);
    const ByteView skeleton = restoration.skeleton.view();
    const auto file_bytes = static_cast<std::size_t>(restoration.file_bytes);
    CodingState state;
    FileWalk walk(skeleton);
    ByteBuffer file;
    ScanWriter writer(file, file_bytes);
    std::size_t copied = 0;
    std::size_t num_scans = 0;
    for (std::optional<Segment> segment = walk.next(); segment; segment = walk.next()) {
        if (segment->marker != kSos) {
            state.take(*segment);
            if (is_frame(segment->marker)) check_frame(state.frame(), image);
            continue;
        }
        const Scan scan = state.begin_scan(*segment);
        file.append(skeleton.data() + copied, walk.position() - copied);
        copied = walk.position();
        writer.write(scan, planes, num_scans < restoration.scans.size() ? restoration.scans[num_scans] : ScanNotes{});
        ++num_scans;
    }
    if (restoration.scans.size() > num_scans)
        fail_restoration("restoration data has notes of a scan that is not there");
    file.append(skeleton.data() + copied, skeleton.size() - copied);
    if (file.size() != file_bytes || crc32c(file.view()) != restoration.checksum) {
        throw Error(ErrorCode::checksum, "jpeg put together is not the file that was taken apart",
                    "coefficients and restoration data of a jpeg", "the data is damaged: restore it from its source");
    }
    return file;
}

}  // namespace penstock::jpeg
