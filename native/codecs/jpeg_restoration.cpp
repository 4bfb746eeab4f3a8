#include "codecs/jpeg_restoration.h"

#include <libdeflate.h>

#include <algorithm>
#include <memory>

#include "codecs/jpeg_skeleton.h"
#include "codecs/jpeg_varint.h"

namespace penstock::jpeg {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint8_t kDeflated = 1;  // of the flags
constexpr std::size_t kMaxDeflateRatio = 1032;
constexpr int kDeflateLevel = 9;
constexpr std::size_t kMaxScans = 100;
constexpr std::uint8_t kHasExtraZeros = 16;  // of a scan's flags

struct FreeDeflate {
    void operator()(libdeflate_compressor* compressor) const noexcept { libdeflate_free_compressor(compressor); }
    void operator()(libdeflate_decompressor* decompressor) const noexcept {
        libdeflate_free_decompressor(decompressor);
    }
};

[[noreturn]] void fail_memory() {
    throw Error(ErrorCode::out_of_memory, "no memory to pack restoration data of a jpeg", "libdeflate", "free memory");
}

// Empty if the result would not be smaller.
ByteBuffer deflated(ByteView body) {
    const std::unique_ptr<libdeflate_compressor, FreeDeflate> compressor(libdeflate_alloc_compressor(kDeflateLevel));
    if (compressor == nullptr) fail_memory();
    ByteBuffer out(body.size());
    out.resize(libdeflate_deflate_compress(compressor.get(), body.data(), body.size(), out.data(), out.size()));
    return out;
}

ByteBuffer inflated(ByteView stream, std::uint64_t size) {
    if (size > stream.size() * kMaxDeflateRatio) fail_restoration("restoration data claims an impossible length");
    const std::unique_ptr<libdeflate_decompressor, FreeDeflate> decompressor(libdeflate_alloc_decompressor());
    if (decompressor == nullptr) fail_memory();
    ByteBuffer out(static_cast<std::size_t>(size));
    const libdeflate_result result = libdeflate_deflate_decompress(decompressor.get(), stream.data(), stream.size(),
                                                                   out.data(), out.size(), nullptr);
    if (result != LIBDEFLATE_SUCCESS) fail_restoration("restoration data cannot be inflated");
    return out;
}

void write_notes(const ScanNotes& notes, ByteBuffer& out) {
    const unsigned flags = static_cast<unsigned>(notes.padding) | static_cast<unsigned>(notes.end_runs) << 2;
    out.push_back(static_cast<std::uint8_t>(flags | (notes.extra_zeros.empty() ? 0 : kHasExtraZeros)));
    if (notes.padding == Padding::explicit_) {
        put_number(out, notes.padding_bits.size());
        for (std::size_t begin = 0; begin < notes.padding_bits.size(); begin += 8) {
            unsigned byte = 0;
            for (std::size_t i = begin; i < std::min(begin + 8, notes.padding_bits.size()); ++i) {
                byte |= unsigned{notes.padding_bits[i]} << (7 - (i - begin));
            }
            out.push_back(static_cast<std::uint8_t>(byte));
        }
    }
    if (notes.end_runs == EndRuns::explicit_) {
        put_number(out, notes.run_lengths.size());
        for (const std::uint16_t length : notes.run_lengths) put_number(out, length);
    }
    if (notes.extra_zeros.empty()) return;
    put_number(out, notes.extra_zeros.size());
    std::uint32_t before = 0;
    for (const ExtraZeros& zeros : notes.extra_zeros) {
        put_number(out, zeros.block - before);
        put_number(out, zeros.runs);
        before = zeros.block;
    }
}

// How many things follow; each takes a byte at least.
std::size_t take_count(ByteView& data) {
    const std::uint64_t count = take_number(data);
    if (count > data.size()) fail_restoration("restoration data claims an impossible length");
    return static_cast<std::size_t>(count);
}

std::vector<std::uint8_t> take_padding(ByteView& data) {
    const std::uint64_t num_bits = take_number(data);
    if (num_bits / 8 > data.size()) fail_restoration("restoration data claims an impossible length");
    const ByteView bytes = take_bytes(data, (num_bits + 7) / 8);
    std::vector<std::uint8_t> bits(static_cast<std::size_t>(num_bits));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = bytes[i / 8] >> (7 - i % 8) & 1;
    return bits;
}

ScanNotes read_notes(ByteView& data) {
    ScanNotes notes;
    const unsigned flags = take_byte(data);
    if (flags >= 2 * kHasExtraZeros || (flags & 3) == 3) fail_restoration("restoration data has unknown flags");
    notes.padding = static_cast<Padding>(flags & 3);
    notes.end_runs = static_cast<EndRuns>(flags >> 2 & 3);
    if (notes.padding == Padding::explicit_) notes.padding_bits = take_padding(data);
    if (notes.end_runs == EndRuns::explicit_) {
        notes.run_lengths.resize(take_count(data));
        for (std::uint16_t& length : notes.run_lengths) {
            const std::uint64_t value = take_number(data);
            if (value == 0 || value > kMaxEndRun) fail_restoration("restoration data has an impossible run of blocks");
            length = static_cast<std::uint16_t>(value);
        }
    }
    if ((flags & kHasExtraZeros) == 0) return notes;
    notes.extra_zeros.resize(take_count(data));
    std::uint64_t block = 0;
    for (ExtraZeros& zeros : notes.extra_zeros) {
        block += take_number(data);
        const std::uint64_t runs = take_number(data);
        if (block > 0xFFFFFFFF || runs == 0 || runs > 3) fail_restoration("restoration data has an impossible run");
        zeros = {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(runs)};
    }
    return notes;
}

void write_scans(const std::vector<ScanNotes>& scans, ByteBuffer& out) {
    const auto is_unusual = [](const ScanNotes& notes) { return !notes.is_usual(); };
    put_number(out, static_cast<std::uint64_t>(std::ranges::count_if(scans, is_unusual)));
    std::size_t next = 0;
    for (std::size_t i = 0; i < scans.size(); ++i) {
        if (scans[i].is_usual()) continue;
        put_number(out, i - next);
        write_notes(scans[i], out);
        next = i + 1;
    }
}

std::vector<ScanNotes> read_scans(ByteView& data) {
    std::vector<ScanNotes> scans;
    for (std::size_t left = take_count(data); left != 0; --left) {
        const std::uint64_t skipped = take_number(data);
        if (skipped >= kMaxScans - std::min(scans.size(), kMaxScans)) {
            fail_restoration("restoration data has notes of a scan that cannot be");
        }
        scans.resize(scans.size() + static_cast<std::size_t>(skipped));
        scans.push_back(read_notes(data));
    }
    return scans;
}

void write_fills(const CoefficientBlocks& blocks, ByteBuffer& out) {
    out.push_back(blocks.size() != 0 ? 1 : 0);
    int dc = 0;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::int16_t* block = blocks[i];
        std::size_t last = kBlockCoefficients - 1;
        while (last > 0 && block[last] == 0) --last;
        put_number(out, folded(block[0] - dc));
        dc = block[0];
        out.push_back(static_cast<std::uint8_t>(last));
        for (std::size_t k = 1; k <= last; ++k) put_number(out, folded(block[k]));
    }
}

std::int16_t checked(std::int64_t value) {
    if (value < -32768 || value > 32767) fail_restoration("restoration data has an impossible coefficient");
    return static_cast<std::int16_t>(value);
}

CoefficientBlocks read_fills(ByteView& data, std::size_t num_fills) {
    const std::uint8_t kind = take_byte(data);
    if (kind > 1) fail_restoration("restoration data has unknown flags");
    if (kind == 0) return {};
    if (num_fills > data.size() / 2) fail_restoration("restoration data lacks blocks", ErrorCode::truncated);
    CoefficientBlocks blocks(num_fills);
    std::int64_t dc = 0;
    for (std::size_t i = 0; i < num_fills; ++i) {
        dc = checked(dc + unfolded(take_number(data)));
        blocks[i][0] = static_cast<std::int16_t>(dc);
        const std::size_t last = take_byte(data);
        if (last >= kBlockCoefficients) fail_restoration("restoration data has an impossible coefficient");
        for (std::size_t k = 1; k <= last; ++k) blocks[i][k] = checked(unfolded(take_number(data)));
    }
    return blocks;
}

}  // namespace

Frame frame_of(const CoefficientImage& image) {
    Frame frame;
    frame.width = image.width;
    frame.height = image.height;
    for (const CoefficientComponent& component : image.components) {
        FrameComponent& added = frame.components.emplace_back();
        added.sampling = component.sampling;
    }
    frame.lay_out();
    return frame;
}

ByteBuffer write_restoration(const Restoration& restoration, const CoefficientImage& image) {
    ByteBuffer body;
    write_skeleton(restoration.skeleton.view(), image, body);
    write_scans(restoration.scans, body);
    const Frame frame = frame_of(image);
    for (std::size_t i = 0; i < frame.components.size(); ++i) {
        if (frame.components[i].num_fill_blocks() != 0) write_fills(restoration.fills[i], body);
    }
    const ByteBuffer packed = deflated(body.view());
    const bool is_packed = packed.size() != 0;
    ByteBuffer out;
    out.push_back(kVersion);
    out.push_back(is_packed ? kDeflated : 0);
    put_number(out, restoration.file_bytes);
    for (unsigned shift = 0; shift < 32; shift += 8) {
        out.push_back(static_cast<std::uint8_t>(restoration.checksum >> shift));
    }
    if (is_packed) put_number(out, body.size());
    const ByteBuffer& content = is_packed ? packed : body;
    out.append(content.data(), content.size());
    return out;
}

Restoration read_restoration(ByteView data, const CoefficientImage& image) {
    const std::uint8_t version = take_byte(data);
    if (version != kVersion) {
        throw Error(ErrorCode::unsupported,
                    "restoration data of a jpeg has version " + std::to_string(version) + ", not 1",
                    "restoration data of a jpeg", "use a newer Penstock");
    }
    const std::uint8_t flags = take_byte(data);
    if (flags > kDeflated) fail_restoration("restoration data has unknown flags");
    Restoration restoration;
    restoration.file_bytes = take_number(data);
    const ByteView checksum = take_bytes(data, 4);
    for (std::size_t i = 0; i < 4; ++i) restoration.checksum |= std::uint32_t{checksum[i]} << 8 * i;
    ByteBuffer body;
    if ((flags & kDeflated) != 0) {
        const std::uint64_t size = take_number(data);
        body = inflated(data, size);
        data = body.view();
    }
    restoration.skeleton = read_skeleton(data, image, static_cast<std::size_t>(restoration.file_bytes));
    restoration.scans = read_scans(data);
    const Frame frame = frame_of(image);
    for (std::size_t i = 0; i < frame.components.size(); ++i) {
        const std::size_t num_fills = frame.components[i].num_fill_blocks();
        if (num_fills != 0) restoration.fills[i] = read_fills(data, num_fills);
    }
    if (!data.empty()) fail_restoration("restoration data goes on behind its end");
    return restoration;
}

}  // namespace penstock::jpeg
