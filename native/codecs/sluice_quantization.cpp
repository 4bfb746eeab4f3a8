#include "codecs/sluice_quantization.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "codecs/sluice_model.h"

namespace penstock::sluice {

namespace {

enum Kind : std::uint8_t { kBytes = 0, kWords = 1, kLuminance = 2, kChrominance = 3, kSame = 4 };

// ITU-T T.81, tables K.1 and K.2, row by row.
constexpr std::array<std::uint8_t, 64> kLuma{
    16, 11, 10, 16, 24,  40,  51,  61,  12, 12, 14, 19, 26,  58,  60,  55,  //
    14, 13, 16, 24, 40,  57,  69,  56,  14, 17, 22, 29, 51,  87,  80,  62,  //
    18, 22, 37, 56, 68,  109, 103, 77,  24, 35, 55, 64, 81,  104, 113, 92,  //
    49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99,
};
constexpr std::array<std::uint8_t, 64> kChroma{
    17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99,  //
    24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99,  //
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,  //
    99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99, 99,
};

jpeg::QuantTable scaled(const std::array<std::uint8_t, 64>& standard, unsigned quality) noexcept {
    const unsigned percent = quality < 50 ? 5000 / quality : 200 - 2 * quality;
    jpeg::QuantTable table{};
    for (std::size_t k = 0; k < table.size(); ++k) {
        table[k] = static_cast<std::uint16_t>(std::clamp((standard[kZigzag[k]] * percent + 50) / 100, 1U, 255U));
    }
    return table;
}

}  // namespace

std::optional<std::size_t> read_quantization(ByteView data, const jpeg::QuantTable* previous,
                                             jpeg::QuantTable& table) noexcept {
    if (data.empty()) return std::nullopt;
    const std::uint8_t kind = data[0];
    const ByteView content = data.subspan(1);
    if (kind == kSame) {
        if (previous == nullptr) return std::nullopt;
        table = *previous;
        return 1;
    }
    if (kind == kLuminance || kind == kChrominance) {
        if (content.empty() || content[0] < 1 || content[0] > 100) return std::nullopt;
        table = scaled(kind == kLuminance ? kLuma : kChroma, content[0]);
        return 2;
    }
    const std::size_t value_bytes = kind == kWords ? 2 : 1;
    if (kind > kWords || content.size() < table.size() * value_bytes) return std::nullopt;
    for (std::size_t k = 0; k < table.size(); ++k) {
        table[k] = 0;
        std::memcpy(&table[k], &content[k * value_bytes], value_bytes);
        if (table[k] == 0) return std::nullopt;
    }
    return 1 + table.size() * value_bytes;
}

void write_quantization(const jpeg::QuantTable& table, const jpeg::QuantTable* previous, ByteBuffer& out) {
    if (previous != nullptr && *previous == table) {
        out.push_back(kSame);
        return;
    }
    for (unsigned quality = 1; quality <= 100; ++quality) {
        for (const std::uint8_t kind : {kLuminance, kChrominance}) {
            if (scaled(kind == kLuminance ? kLuma : kChroma, quality) != table) continue;
            out.push_back(kind);
            out.push_back(static_cast<std::uint8_t>(quality));
            return;
        }
    }
    const bool fits = std::ranges::all_of(table, [](std::uint16_t value) { return value <= 255; });
    out.push_back(fits ? kBytes : kWords);
    for (const std::uint16_t value : table) {
        out.push_back(static_cast<std::uint8_t>(value));
        if (!fits) out.push_back(static_cast<std::uint8_t>(value >> 8));
    }
}

}  // namespace penstock::sluice
