#include "codecs/jpeg_huffman.h"

namespace penstock::jpeg {

namespace {

// The head of libjpeg's entropy decoding module, whose methods are there to be replaced. It is the same in libjpeg 6b
// and in every 2.x and 3.x of libjpeg-turbo; its header, jpegint.h, is not installed everywhere.
struct EntropyModule {
    void (*start_pass)(j_decompress_ptr);
    boolean (*decode_mcu)(j_decompress_ptr, JBLOCKROW*);
};
constexpr bool kModuleIsKnown = LIBJPEG_TURBO_VERSION_NUMBER >= 2000000 && LIBJPEG_TURBO_VERSION_NUMBER < 4000000;

}  // namespace

bool HuffmanDecoder::suits(jpeg_decompress_struct& info) noexcept { return kModuleIsKnown && McuReader::suits(info); }

HuffmanDecoder::HuffmanDecoder(jpeg_decompress_struct& info, ByteView data, Columns columns)
    : reader_(info, data), store_(active_block_kernels().store), columns_(columns) {
    info.client_data = this;
    reinterpret_cast<EntropyModule*>(info.entropy)->decode_mcu = decode_mcu;
}

boolean HuffmanDecoder::decode_mcu(j_decompress_ptr info, JBLOCKROW* blocks) {
    auto& self = *static_cast<HuffmanDecoder*>(info->client_data);
    const JDIMENSION column = self.column_;
    self.column_ = column + 1 == self.reader_.num_columns() ? 0 : column + 1;
    const bool wanted = blocks != nullptr && column >= self.columns_.begin && column < self.columns_.end;
    bool done = false;
    if (wanted) {
        done = self.reader_.read(1, [&](BitReader& bits, std::uint32_t, std::uint32_t) {
            return self.store_(bits, &self.reader_.block(0), self.reader_.num_blocks(), blocks);
        });
    } else {
        // libjpeg skips whole rows: where those restart, nothing of a skipped one, or right of the columns, is needed
        // later.
        const bool is_last = blocks == nullptr || column >= self.columns_.end;
        done = self.reader_.step_over(1, is_last && self.reader_.rows_restart());
    }
    if (!done) self.reader_.give_up(*info);
    return TRUE;
}

}  // namespace penstock::jpeg
