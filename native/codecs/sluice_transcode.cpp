#include "codecs/sluice_transcode.h"

#include <bit>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.h"
#include "codecs/decode.h"
#include "codecs/jpeg_coefficients.h"
#include "codecs/sluice.h"
#include "codecs/sluice_tiles.h"
#include "codecs/table.h"

namespace penstock::sluice {

namespace {

jpeg::CoefficientImage empty_image(const Header& header, const Index& index) {
    jpeg::CoefficientImage image;
    image.width = header.layout.width;
    image.height = header.layout.height;
    image.color = header.color;
    image.orientation = header.orientation;
    for (std::size_t c = 0; c < header.layout.num_components; ++c) {
        const Layout::Component& from = header.layout.components[c];
        jpeg::CoefficientComponent component;
        component.sampling = header.sampling[c];
        component.blocks_wide = from.blocks_wide;
        component.blocks_high = from.blocks_high;
        component.quantization = index.quantization(c);
        component.blocks = jpeg::CoefficientBlocks(std::size_t{from.blocks_wide} * from.blocks_high);
        image.components.push_back(std::move(component));
    }
    return image;
}

void copy_group(const TileGroup& group, const jpeg::CoefficientGroup& from, jpeg::CoefficientComponent& to) {
    for (std::uint64_t lanes = group.active; lanes != 0; lanes &= lanes - 1) {
        const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
        std::int16_t* const block = to.block(group.block_x + lane % 8, group.block_y + lane / 8);
        for (int k = 0; k < from.num_positions; ++k) {
            block[k] = (from.wide_positions >> k & 1) != 0 ? from.wide[k][lane] : from.narrow[k][lane];
        }
    }
}

jpeg::CoefficientImage read_image(ByteView data, const Header& header, const Index& index) {
    jpeg::CoefficientImage image = empty_image(header, index);
    TileReader reader(data, header, index, {});
    for (std::uint32_t y = 0; y < header.layout.tiles_down(); ++y) {
        for (std::uint32_t x = 0; x < header.layout.tiles_across(); ++x) {
            reader.decode(x, y);
            for (std::size_t g = 0; g < reader.groups().size(); ++g) {
                const TileGroup& group = reader.groups()[g];
                copy_group(group, reader.coefficients(g), image.components[group.component]);
            }
        }
    }
    return image;
}

}  // namespace

ByteBuffer from_jpeg(ByteView jpeg, const TranscodeOptions& options) {
    const jpeg::TakenApart parts = jpeg::take_apart(jpeg, options.max_pixels);
    const TableSet& standard = options.layer_bits == 0 ? default_tables() : default_layered_tables(options.layer_bits);
    const TableSet& tables = options.tables != nullptr ? *options.tables : standard;
    return encode_image(parts.image, parts.restoration.view(), tables, options.store_tables);
}

ByteBuffer to_jpeg(ByteView data, std::uint64_t max_pixels) {
    (void)inspect_image(*find_codec("sluice"), data, max_pixels);
    const Header header = read_header(data);
    const Index index(data, header, true);
    if (index.num_layers() < header.num_layers) {
        throw Error(ErrorCode::truncated, "sluice data ends behind its first layer", "end of the sluice data",
                    "read the whole file: the JPEG cannot be restored from a prefix");
    }
    const ByteView restoration = index.restoration();
    if (restoration.empty()) {
        throw Error(ErrorCode::unsupported, "sluice image has no restoration data", "end of the sluice data",
                    "decode it and encode its pixels, for example as jpeg:q=95");
    }
    return jpeg::put_together(read_image(data, header, index), restoration);
}

ByteBuffer recode(ByteView data, const TranscodeOptions& options) {
    (void)inspect_image(*find_codec("sluice"), data, options.max_pixels);
    const Header header = read_header(data);
    const Index index(data, header, true);
    if (index.num_layers() < header.num_layers) {
        throw Error(ErrorCode::truncated, "sluice data ends behind its first layer", "end of the sluice data",
                    "read the whole file");
    }
    const TableSet& standard = header.layer_bits == 0 ? default_tables() : default_layered_tables(header.layer_bits);
    const TableSet& tables = options.tables != nullptr ? *options.tables : standard;
    return encode_image(read_image(data, header, index), index.restoration(), tables, options.store_tables);
}

Facts facts_of(ByteView data) {
    const Header header = read_header(data);
    Facts facts;
    facts.table_set = header.table_set;
    facts.is_default =
        header.table_set == default_tables().id() || find_default_layered_tables(header.table_set) != nullptr;
    facts.num_layers = header.num_layers;
    facts.has_tables = header.has_tables;
    facts.is_known = header.has_tables || find_tables(header.table_set) != nullptr;
    facts.restoration_bytes = header.restoration_bytes;
    facts.tiles_across = header.layout.tiles_across();
    facts.tiles_down = header.layout.tiles_down();
    facts.tile_width = header.layout.tile_width();
    facts.tile_height = header.layout.tile_height();
    return facts;
}

struct Training::State {
    State(unsigned pair, unsigned bits) : first_pair(pair), layer_bits(bits), trainer(pair, bits) {}

    unsigned first_pair;
    unsigned layer_bits;
    mutable std::mutex mutex;
    TableTrainer trainer;
    std::size_t num_added = 0;
};

Training::Training(unsigned first_pair, unsigned layer_bits)
    : state_(std::make_unique<State>(first_pair, layer_bits)) {}

Training::~Training() = default;

bool Training::add(ByteView jpeg, std::uint64_t max_pixels) {
    TableTrainer own(state_->first_pair, state_->layer_bits);
    try {
        own.add(jpeg::read_coefficients(jpeg, max_pixels));
    } catch (const Error& error) {
        if (error.code() == ErrorCode::out_of_memory) throw;
        return false;
    }
    const std::lock_guard lock(state_->mutex);
    state_->trainer.add(own);
    ++state_->num_added;
    return true;
}

std::size_t Training::num_added() const {
    const std::lock_guard lock(state_->mutex);
    return state_->num_added;
}

ByteBuffer Training::finish() const {
    const std::lock_guard lock(state_->mutex);
    return state_->trainer.finish();
}

unsigned layer_bits_of(const Parameters& parameters) {
    if (parameters.text("layers", "1") != "2") return 0;
    const std::string bits(parameters.text("bits", "2"));
    return bits == "1" ? 1 : bits == "2" ? 2 : 3;
}

std::size_t first_layer_bytes(ByteView data) {
    const std::size_t end = read_header(data).num_layers == 1 ? data.size() : first_layer_end(data);
    if (end <= data.size()) return end;
    throw Error(ErrorCode::truncated, "sluice data ends within its first layer", "end of the sluice data",
                "the file is cut off: restore it from its source");
}

ByteBuffer train_tables(std::span<const ByteView> jpegs, unsigned first_pair, unsigned layer_bits) {
    Training training(first_pair, layer_bits);
    for (const ByteView jpeg : jpegs) (void)training.add(jpeg, kDefaultMaxPixels);
    if (training.num_added() == 0) {
        throw Error(ErrorCode::unsupported, "no image to train sluice tables on", "images",
                    "give some JPEG files with one or three components");
    }
    return training.finish();
}

}  // namespace penstock::sluice
