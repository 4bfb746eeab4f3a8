// The border to libjpeg. Its errors leave C code by longjmp and become an `Error` here, after the last C frame is gone;
// no C++ exception ever enters C code.
#pragma once

#include <csetjmp>
#include <cstdio>  // jpeglib.h needs FILE and size_t
// clang-format off
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <type_traits>

#include "base/buffer.h"
#include "base/error.h"
#include "base/image.h"

namespace penstock::jpeg {

/// libjpeg's error manager, with the place to jump to. What libjpeg calls damage of the entropy-coded data ends the
/// call like an error does; warnings that leave pixels as they are (bytes between markers, odd versions) are ignored.
struct ErrorManager {
    jpeg_error_mgr base;  // first: libjpeg hands a pointer to it back
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];

    void install(j_common_ptr object) noexcept;
};

/// Calls `step(argument)` and returns true, or returns false if libjpeg gave up inside it.
///
/// The only setjmp of the codec. Frames that libjpeg jumps over are not unwound: nothing in `step` may need a
/// destructor.
[[nodiscard]] bool run_guarded(ErrorManager& errors, void (*step)(void*), void* argument) noexcept;

template <typename Step>
[[nodiscard]] bool run_guarded(ErrorManager& errors, Step& step) noexcept {
    static_assert(std::is_trivially_destructible_v<Step>);
    return run_guarded(errors, [](void* self) { (*static_cast<Step*>(self))(); }, &step);
}

/// Feeds libjpeg from memory. Past the end it sees an end-of-image marker, and `ended` says so.
struct MemorySource {
    jpeg_source_mgr base;  // first: libjpeg hands a pointer to it back
    ByteView data;
    bool ended;

    void install(j_decompress_ptr object, ByteView bytes) noexcept;
    /// How far libjpeg has read.
    [[nodiscard]] std::size_t offset() const noexcept {
        return ended ? data.size() : data.size() - base.bytes_in_buffer;
    }
};

/// Stops a file that has more scans than any real one: each may cost a pass over the image for a few bytes.
struct ScanLimit {
    jpeg_progress_mgr base;  // first: libjpeg hands a pointer to it back
    bool exceeded;
};

/// A decompressor over `data`, which must outlive it. One per image: a used one would lend an image without Huffman
/// tables those of the image before it, and making one is cheap next to a decode.
class Decompressor {
  public:
    explicit Decompressor(ByteView data);
    Decompressor(const Decompressor&) = delete;
    Decompressor& operator=(const Decompressor&) = delete;

    [[nodiscard]] jpeg_decompress_struct& info() noexcept { return info_; }
    [[nodiscard]] const MemorySource& source() const noexcept { return source_; }

    /// Runs a step that calls libjpeg; throws what it gave up with.
    template <typename Step>
    void run(Step step) {
        if (!run_guarded(errors_, step)) fail();
    }

    /// Reads the header, after which `info()` describes the image, and refuses what cannot be whole: fewer bits than
    /// any image of this size needs. So memory is bounded by a multiple of the data's length (arithmetic coding: by
    /// that or 64 MiB, whichever is more).
    void read_header();

    /// Throws `truncated` if a file of several scans ended before all of them were there.
    void check_complete() const;

    /// Whether the scans read so far leave bits of coefficients unsaid in a progressive file. libjpeg then smooths over
    /// blocks: what it decodes is not only a function of the coefficients.
    [[nodiscard]] bool lacks_scans() const noexcept;

  private:
    // Goes even if the constructor fails after libjpeg took memory.
    struct Info : jpeg_decompress_struct {
        Info() : jpeg_decompress_struct{} {}
        ~Info() { jpeg_destroy_decompress(this); }
        Info(const Info&) = delete;
        Info& operator=(const Info&) = delete;
    };

    [[noreturn]] void fail() const;

    ErrorManager errors_{};
    MemorySource source_{};
    ScanLimit scan_limit_{};
    Info info_;
};

/// A compressor that writes into a growing buffer.
class Compressor {
  public:
    Compressor();
    Compressor(const Compressor&) = delete;
    Compressor& operator=(const Compressor&) = delete;

    [[nodiscard]] jpeg_compress_struct& info() noexcept { return info_; }

    template <typename Step>
    void run(Step step) {
        if (!run_guarded(errors_, step)) fail();
    }

    /// What was written, once jpeg_finish_compress has been called.
    [[nodiscard]] ByteBuffer take() { return std::move(output_); }

  private:
    // As a decompressor's.
    struct Info : jpeg_compress_struct {
        Info() : jpeg_compress_struct{} {}
        ~Info() { jpeg_destroy_compress(this); }
        Info(const Info&) = delete;
        Info& operator=(const Info&) = delete;
    };
    struct Destination {
        jpeg_destination_mgr base;  // first: libjpeg hands a pointer to it back
        ByteBuffer* output;
    };

    static void begin_output(j_compress_ptr object);
    static boolean grow_output(j_compress_ptr object);
    static void end_output(j_compress_ptr object);
    [[noreturn]] void fail() const;

    ErrorManager errors_{};
    Destination destination_{};
    ByteBuffer output_;
    Info info_;
};

}  // namespace penstock::jpeg
