#include "repair.h"

#include <libdeflate.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/crc32c.h"

namespace penstock::fuzz {

namespace {

using Bytes = std::span<std::uint8_t>;

constexpr std::string_view kPngSignature = "\x89PNG\r\n\x1a\n";
constexpr std::size_t kMaxInflatedBytes = std::size_t{1} << 22;

std::uint32_t load_big_endian(const std::uint8_t* bytes) {
    return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 | std::uint32_t{bytes[2]} << 8 | bytes[3];
}

void store_big_endian(std::uint8_t* bytes, std::uint32_t value) {
    for (int i = 0; i < 4; ++i) bytes[i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
}

bool starts_with(Bytes file, std::string_view magic) {
    return file.size() >= magic.size() && std::memcmp(file.data(), magic.data(), magic.size()) == 0;
}

// Type, content and CRC of each whole chunk.
std::vector<Bytes> png_chunks(Bytes file) {
    std::vector<Bytes> chunks;
    std::size_t offset = kPngSignature.size();
    while (file.size() - offset >= 12) {
        const std::size_t content_bytes = load_big_endian(&file[offset]);
        if (content_bytes > file.size() - offset - 12) break;
        chunks.push_back(file.subspan(offset + 4, content_bytes + 8));
        offset += content_bytes + 12;
    }
    return chunks;
}

// The Adler-32 that a zlib stream should end with; 0 if it does not inflate.
std::uint32_t adler_of(const std::vector<std::uint8_t>& stream) {
    // Kept between calls: to make them anew took forty times as long as a decode.
    static libdeflate_decompressor* const decompressor = libdeflate_alloc_decompressor();
    static std::vector<std::uint8_t> inflated(kMaxInflatedBytes);
    std::size_t size = 0;
    const libdeflate_result result = libdeflate_deflate_decompress(decompressor, stream.data() + 2, stream.size() - 6,
                                                                   inflated.data(), inflated.size(), &size);
    return result == LIBDEFLATE_SUCCESS ? libdeflate_adler32(1, inflated.data(), size) : 0;
}

void repair_pixel_stream(const std::vector<Bytes>& chunks) {
    std::vector<std::uint8_t*> places;  // of each byte of the stream, which may span many chunks
    std::vector<std::uint8_t> stream;
    for (const Bytes chunk : chunks) {
        if (std::memcmp(chunk.data(), "IDAT", 4) != 0) continue;
        for (std::uint8_t& byte : chunk.subspan(4, chunk.size() - 8)) {
            places.push_back(&byte);
            stream.push_back(byte);
        }
    }
    if (stream.size() <= 6) return;
    const std::uint32_t adler = adler_of(stream);
    if (adler == 0) return;
    for (std::size_t i = 0; i < 4; ++i) {
        *places[places.size() - 4 + i] = static_cast<std::uint8_t>(adler >> (24 - 8 * i));
    }
}

void repair_png(Bytes file) {
    const std::vector<Bytes> chunks = png_chunks(file);
    repair_pixel_stream(chunks);
    for (const Bytes chunk : chunks) {
        store_big_endian(&chunk[chunk.size() - 4], libdeflate_crc32(0, chunk.data(), chunk.size() - 4));
    }
}

std::uint64_t load_little_endian(Bytes file, std::size_t at, std::size_t size) {
    std::uint64_t value = 0;
    std::memcpy(&value, &file[at], size);
    return value;
}

void store_crc(Bytes file, std::size_t at, Bytes covered) {
    const std::uint32_t crc = crc32c(covered);
    std::memcpy(&file[at], &crc, sizeof crc);
}

// The checksums of tiles, then that of the tables, which covers them; nothing if the tables do not fit.
void repair_weir_tables(Bytes file) {
    const std::uint64_t across = (load_little_endian(file, 8, 4) + 63) / 64;
    const std::uint64_t down = (load_little_endian(file, 12, 4) + 63) / 64;
    if (across > file.size() || down > file.size()) return;
    const std::uint64_t tiles = across * down;
    const std::size_t offset_bytes = (file[18] & 1) != 0 ? 8 : 4;
    const std::uint64_t checksums = 32 + offset_bytes * (tiles + 1);
    const std::uint64_t end = checksums + 4 * tiles + load_little_endian(file, 20, 4);
    if (end > file.size()) return;
    for (std::uint64_t i = 0; i < tiles; ++i) {
        const std::uint64_t begin = load_little_endian(file, 32 + offset_bytes * i, offset_bytes);
        const std::uint64_t next = load_little_endian(file, 32 + offset_bytes * (i + 1), offset_bytes);
        if (begin <= next && next <= file.size()) store_crc(file, checksums + 4 * i, file.subspan(begin, next - begin));
    }
    store_crc(file, 24, file.subspan(32, end - 32));
}

void repair_weir(Bytes file) {
    if (file.size() < 32) return;
    repair_weir_tables(file);
    store_crc(file, 28, file.first(28));
}

// Checksums of segments, of what stands before them, of the restoration data and of the header.
void repair_sluice(Bytes file) {
    if (file.size() < 48) return;
    const std::uint64_t begin = load_little_endian(file, 32, 4);
    const std::uint64_t restoration = load_little_endian(file, 36, 4);
    if (begin >= 56 && begin <= file.size()) {
        // Offsets ascend; the first that does not is the beginning of the checksums.
        std::size_t tiles = 0;
        while (48 + 4 * (tiles + 2) <= begin && load_little_endian(file, 48 + 4 * (tiles + 1), 4) <= file.size() &&
               load_little_endian(file, 48 + 4 * (tiles + 1), 4) > load_little_endian(file, 48 + 4 * tiles, 4)) {
            ++tiles;
        }
        const std::size_t checksums = 48 + 4 * (tiles + 1);
        for (std::size_t i = 0; i < tiles && checksums + 4 * (i + 1) <= begin; ++i) {
            const std::uint64_t from = load_little_endian(file, 48 + 4 * i, 4);
            const std::uint64_t to = load_little_endian(file, 48 + 4 * (i + 1), 4);
            store_crc(file, checksums + 4 * i, file.subspan(from, to - from));
        }
        store_crc(file, 40, file.subspan(48, begin - 48));
    }
    if (restoration >= 4 && restoration <= file.size() - 48) {
        const std::size_t at = file.size() - restoration;
        store_crc(file, at, file.subspan(at + 4));
    }
    store_crc(file, 44, file.first(44));
}

}  // namespace

void repair_checksums(Bytes file) {
    if (starts_with(file, kPngSignature)) repair_png(file);
    if (starts_with(file, "SLUI")) repair_sluice(file);
    if (starts_with(file, "WEIR")) repair_weir(file);
}

}  // namespace penstock::fuzz
