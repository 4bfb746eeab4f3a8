// Writes small JPEGs of every sampling and coding that libjpeg can write, as seeds: jpeg_seeds FOLDER
//
// Pillow and our own encoder write three samplings; damaged regions were found in the others.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

// After the others: it uses FILE without including it.
#include <jpeglib.h>

namespace {

constexpr JDIMENSION kWidth = 75;
constexpr JDIMENSION kHeight = 53;

struct Sampling {
    const char* name;
    std::array<std::array<int, 2>, 3> factors;  // horizontal and vertical, of each component
};

constexpr std::array kSamplings{
    Sampling{"444", {{{1, 1}, {1, 1}, {1, 1}}}},        Sampling{"422", {{{2, 1}, {1, 1}, {1, 1}}}},
    Sampling{"420", {{{2, 2}, {1, 1}, {1, 1}}}},        Sampling{"440", {{{1, 2}, {1, 1}, {1, 1}}}},
    Sampling{"411", {{{4, 1}, {1, 1}, {1, 1}}}},        Sampling{"441", {{{1, 4}, {1, 1}, {1, 1}}}},
    Sampling{"4x2", {{{4, 2}, {1, 1}, {1, 1}}}},        Sampling{"2x4", {{{2, 4}, {1, 1}, {1, 1}}}},
    Sampling{"4x1-2x1", {{{4, 1}, {2, 1}, {1, 1}}}},    Sampling{"1x4-1x2", {{{1, 4}, {1, 2}, {1, 1}}}},
    Sampling{"2x2-2x1", {{{2, 2}, {2, 1}, {1, 2}}}},    Sampling{"3x1", {{{3, 1}, {1, 1}, {1, 1}}}},
    Sampling{"luma-small", {{{1, 1}, {2, 2}, {2, 2}}}},
};

enum class Coding { baseline, optimized, rows, apart, progressive, arithmetic, arithmetic_progressive };

constexpr std::array<const char*, 7> kCodings{
    "baseline", "optimized", "rows", "apart", "progressive", "arithmetic", "arithmetic-progressive"};

// One component a scan.
std::array<jpeg_scan_info, 3> scans_apart() {
    std::array<jpeg_scan_info, 3> scans{};
    for (int i = 0; i < 3; ++i) scans[static_cast<std::size_t>(i)] = {1, {i, 0, 0, 0}, 0, 63, 0, 0};
    return scans;
}

std::vector<std::uint8_t> encode(const Sampling& sampling, Coding coding) {
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* file = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &file, &size);
    info.image_width = kWidth;
    info.image_height = kHeight;
    info.input_components = 3;
    info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 80, TRUE);
    for (std::size_t i = 0; i < 3; ++i) {
        info.comp_info[i].h_samp_factor = sampling.factors[i][0];
        info.comp_info[i].v_samp_factor = sampling.factors[i][1];
    }
    const std::array<jpeg_scan_info, 3> apart = scans_apart();
    const bool is_arithmetic = coding == Coding::arithmetic || coding == Coding::arithmetic_progressive;
    info.arith_code = is_arithmetic ? TRUE : FALSE;
    info.optimize_coding = is_arithmetic || coding == Coding::baseline ? FALSE : TRUE;
    if (coding == Coding::rows) info.restart_in_rows = 1;
    if (coding == Coding::apart) {
        info.scan_info = apart.data();
        info.num_scans = 3;
    }
    if (coding == Coding::progressive || coding == Coding::arithmetic_progressive) jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    std::vector<JSAMPLE> row(std::size_t{kWidth} * 3);
    while (info.next_scanline < kHeight) {
        const std::size_t y = info.next_scanline;
        for (std::size_t i = 0; i < row.size(); ++i) {
            row[i] = static_cast<JSAMPLE>(i * (i % 3 + 1) + 5 * y * (i % 3 + 1) + (i * i * (y + 3)) % 29);
        }
        JSAMPROW rows = row.data();
        jpeg_write_scanlines(&info, &rows, 1);
    }
    jpeg_finish_compress(&info);
    std::vector<std::uint8_t> made(file, file + size);
    jpeg_destroy_compress(&info);
    std::free(file);
    return made;
}

void write(const std::string& path, const std::vector<std::uint8_t>& file) {
    // Not a stream: MemorySanitizer does not see what libstdc++ writes inside of one.
    std::FILE* out = std::fopen(path.c_str(), "wb");
    const bool is_written = out != nullptr && std::fwrite(file.data(), 1, file.size(), out) == file.size();
    if (!is_written || std::fclose(out) != 0) {
        std::fprintf(stderr, "jpeg_seeds: '%s' could not be written\n", path.c_str());
        std::exit(1);
    }
}

// The frame header says twelve bits a sample: a file that must be refused by name.
std::vector<std::uint8_t> with_12_bits(std::vector<std::uint8_t> file) {
    for (std::size_t i = 0; i + 4 < file.size(); ++i) {
        if (file[i] == 0xFF && file[i + 1] == 0xC0) {
            file[i + 1] = 0xC1;
            file[i + 4] = 12;
            break;
        }
    }
    return file;
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 2) {
        std::fprintf(stderr, "jpeg_seeds FOLDER\n");
        return 1;
    }
    const std::string folder = arguments[1];
    for (const Sampling& sampling : kSamplings) {
        for (std::size_t i = 0; i < kCodings.size(); ++i) {
            write(folder + "/" + sampling.name + "-" + kCodings[i], encode(sampling, static_cast<Coding>(i)));
        }
    }
    write(folder + "/12-bits", with_12_bits(encode(kSamplings[0], Coding::baseline)));
    return 0;
}
