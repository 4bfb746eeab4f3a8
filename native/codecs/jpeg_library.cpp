#include "codecs/jpeg_library.h"

#include <string>

#include "codecs/codec.h"

namespace penstock::jpeg {

namespace {

// Real files have about ten scans; each may visit every block of the image for a few bytes. libvips draws the line here
// too.
constexpr int kMaxScans = 100;

// 64 MiB of coefficients: what an arithmetic-coded file of several scans may take of memory however short it is.
constexpr std::uint64_t kMaxFreeBlocks = std::uint64_t{1} << 19;

constexpr std::size_t kFirstOutputBytes = std::size_t{1} << 16;

constexpr JOCTET kEndOfImage[2] = {0xFF, JPEG_EOI};

[[noreturn]] void give_up(j_common_ptr object) {
    auto* errors = reinterpret_cast<ErrorManager*>(object->err);
    object->err->format_message(object, errors->message);
    std::longjmp(errors->jump, 1);
}

bool is_damage(int code) {
    return code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE || code == JWRN_ARITH_BAD_CODE ||
           code == JWRN_MUST_RESYNC || code == JWRN_BOGUS_PROGRESSION;
}

void on_message(j_common_ptr object, int level) {
    if (level < 0 && is_damage(object->err->msg_code)) give_up(object);
}

void ignore_message(j_common_ptr) {}

void ignore_source(j_decompress_ptr) {}

boolean feed_end_of_image(j_decompress_ptr object) {
    auto* source = reinterpret_cast<MemorySource*>(object->src);
    source->ended = true;
    source->base.next_input_byte = kEndOfImage;
    source->base.bytes_in_buffer = sizeof kEndOfImage;
    return TRUE;
}

void skip_input(j_decompress_ptr object, long num_bytes) {
    if (num_bytes <= 0) return;
    const auto distance = static_cast<std::size_t>(num_bytes);
    if (distance >= object->src->bytes_in_buffer) {
        feed_end_of_image(object);
        return;
    }
    object->src->next_input_byte += distance;
    object->src->bytes_in_buffer -= distance;
}

void limit_scans(j_common_ptr object) {
    if (reinterpret_cast<j_decompress_ptr>(object)->input_scan_number <= kMaxScans) return;
    reinterpret_cast<ScanLimit*>(object->progress)->exceeded = true;
    ERREXIT(object, JERR_BAD_PROGRESSION);
}

ErrorCode code_of(int message, bool ended) {
    switch (message) {
        case JERR_OUT_OF_MEMORY: return ErrorCode::out_of_memory;
        case JERR_IMAGE_TOO_BIG:
        case JERR_WIDTH_OVERFLOW: return ErrorCode::too_large;
        case JERR_NOT_COMPILED:
        case JERR_ARITH_NOTIMPL:
        case JERR_SOF_UNSUPPORTED:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_FRACT_SAMPLE_NOTIMPL:
        case JERR_CCIR601_NOTIMPL: return ErrorCode::unsupported;
        default: return ended ? ErrorCode::truncated : ErrorCode::corrupt;
    }
}

const char* fix_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::out_of_memory: return "lower max_pixels, or free memory";
        case ErrorCode::too_large:
            return "a side of a JPEG may have at most 65500 pixels: split the image or choose png";
        case ErrorCode::unsupported: return "convert it to 8-bit baseline or progressive JPEG";
        default: return "the file is damaged: restore it from its source";
    }
}

std::string lower_first(std::string text) {
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a')
        text[0] = static_cast<char>(text[0] | 32);
    return text;
}

// Every block needs two Huffman codes in sequential mode (DC, end of block), one in progressive mode; a code has a bit.
// Arithmetic coding has no such bound. Of it we ask a bit a block too where all coefficients are held in memory: any
// photograph has far more, and a flat image that has not is decoded up to kMaxFreeBlocks.
std::uint64_t least_bits(jpeg_decompress_struct& info) {
    std::uint64_t num_blocks = 0;
    for (int i = 0; i < info.num_components; ++i) {
        const jpeg_component_info& component = info.comp_info[i];
        num_blocks += std::uint64_t{component.width_in_blocks} * component.height_in_blocks;
    }
    if (!info.arith_code) return info.progressive_mode ? num_blocks : 2 * num_blocks;
    return num_blocks > kMaxFreeBlocks && jpeg_has_multiple_scans(&info) ? num_blocks : 0;
}

bool all_coefficients_known(const jpeg_decompress_struct& info) {
    if (info.coef_bits == nullptr) return false;
    for (int i = 0; i < info.num_components; ++i) {
        for (int k = 0; k < DCTSIZE2; ++k) {
            if (info.coef_bits[i][k] != 0) return false;
        }
    }
    return true;
}

}  // namespace

void ErrorManager::install(j_common_ptr object) noexcept {
    object->err = jpeg_std_error(&base);
    base.error_exit = give_up;
    base.emit_message = on_message;
    base.output_message = ignore_message;
}

bool run_guarded(ErrorManager& errors, void (*step)(void*), void* argument) noexcept {
    if (setjmp(errors.jump) != 0) return false;
    step(argument);
    return true;
}

void MemorySource::install(j_decompress_ptr object, ByteView bytes) noexcept {
    data = bytes;
    ended = false;
    base.next_input_byte = bytes.data();
    base.bytes_in_buffer = bytes.size();
    base.init_source = ignore_source;
    base.fill_input_buffer = feed_end_of_image;
    base.skip_input_data = skip_input;
    base.resync_to_restart = jpeg_resync_to_restart;
    base.term_source = ignore_source;
    object->src = &base;
}

Decompressor::Decompressor(ByteView data) {
    errors_.install(reinterpret_cast<j_common_ptr>(&info_));
    run([this] { jpeg_create_decompress(&info_); });
    source_.install(&info_, data);
    scan_limit_.base.progress_monitor = limit_scans;
    info_.progress = &scan_limit_.base;
}

void Decompressor::read_header() {
    run([this] { jpeg_read_header(&info_, TRUE); });
    if (std::uint64_t{source_.base.bytes_in_buffer} * 8 >= least_bits(info_)) return;
    if (info_.arith_code) {
        throw Error(ErrorCode::too_large,
                    "arithmetic-coded jpeg of several scans and " + std::to_string(info_.image_width) + "x" +
                        std::to_string(info_.image_height) + " pixels has only " +
                        std::to_string(source_.base.bytes_in_buffer) + " bytes after its header",
                    at_byte("jpeg", source_.offset()),
                    "if the file is trusted, convert it to a Huffman-coded JPEG, for example with jpegtran -optimize");
    }
    throw Error(ErrorCode::truncated,
                "jpeg of " + std::to_string(info_.image_width) + "x" + std::to_string(info_.image_height) +
                    " pixels cannot fit in the " + std::to_string(source_.base.bytes_in_buffer) +
                    " bytes after its header",
                at_byte("jpeg", source_.data.size()), fix_of(ErrorCode::truncated));
}

void Decompressor::check_complete() const {
    if (!source_.ended || all_coefficients_known(info_)) return;
    throw Error(ErrorCode::truncated, "jpeg data ends before its last scan", at_byte("jpeg", source_.data.size()),
                fix_of(ErrorCode::truncated));
}

bool Decompressor::lacks_scans() const noexcept { return info_.progressive_mode && !all_coefficients_known(info_); }

void Decompressor::fail() const {
    const ErrorCode code = code_of(errors_.base.msg_code, source_.ended);
    const std::string what = scan_limit_.exceeded ? "jpeg has more than " + std::to_string(kMaxScans) + " scans"
                                                  : lower_first(errors_.message);
    throw Error(code, what, at_byte("jpeg", source_.offset()), fix_of(code));
}

Compressor::Compressor() {
    errors_.install(reinterpret_cast<j_common_ptr>(&info_));
    run([this] { jpeg_create_compress(&info_); });
    destination_.base.init_destination = begin_output;
    destination_.base.empty_output_buffer = grow_output;
    destination_.base.term_destination = end_output;
    destination_.output = &output_;
    info_.dest = &destination_.base;
}

void Compressor::begin_output(j_compress_ptr object) { grow_output(object); }

// libjpeg calls this when the buffer is full to the last byte.
boolean Compressor::grow_output(j_compress_ptr object) {
    auto* destination = reinterpret_cast<Destination*>(object->dest);
    ByteBuffer& output = *destination->output;
    const std::size_t used = output.size();
    bool grown = true;
    try {
        output.resize(used == 0 ? kFirstOutputBytes : 2 * used);
    } catch (...) {
        grown = false;  // told to libjpeg below: an exception must not pass through its frames
    }
    if (!grown) ERREXIT1(object, JERR_OUT_OF_MEMORY, 0);
    destination->base.next_output_byte = output.data() + used;
    destination->base.free_in_buffer = output.size() - used;
    return TRUE;
}

void Compressor::end_output(j_compress_ptr object) {
    auto* destination = reinterpret_cast<Destination*>(object->dest);
    destination->output->resize(destination->output->size() - destination->base.free_in_buffer);
}

void Compressor::fail() const {
    const ErrorCode code = code_of(errors_.base.msg_code, false);
    throw Error(code, lower_first(errors_.message), "encoding a jpeg", fix_of(code));
}

}  // namespace penstock::jpeg
