// Transforms of exactly as much memory as an image and its place in a batch have: nothing outside is touched, every
// path gives the same, and warm scratch memory is enough.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/cpu.h"
#include "base/random.h"
#include "claims.h"
#include "pixels/program.h"

using namespace penstock;

namespace {

std::size_t allocations = 0;

}  // namespace

extern "C" {
void* __real_malloc(std::size_t size);
void* __real_realloc(void* block, std::size_t size);
void* __wrap_malloc(std::size_t size) {
    ++allocations;
    return __real_malloc(size);
}
void* __wrap_realloc(void* block, std::size_t size) {
    ++allocations;
    return __real_realloc(block, size);
}
}

void* operator new(std::size_t size) {
    ++allocations;
    if (void* block = __real_malloc(size)) return block;
    throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

namespace {

/// Memory of one size to the byte, so that a sanitizer sees the first one too many.
class Block {
  public:
    explicit Block(std::size_t size) : data_(static_cast<std::uint8_t*>(std::malloc(size))), size_(size) {}
    ~Block() { std::free(data_); }
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;

    [[nodiscard]] std::uint8_t* data() const { return data_; }
    [[nodiscard]] std::size_t size() const { return size_; }

  private:
    std::uint8_t* data_;
    std::size_t size_;
};

Operation some_operation(Random& random) {
    const ImageSize size{1 + random.below(40), 1 + random.below(40)};
    const auto filter = static_cast<Filter>(random.below(6));
    switch (random.below(7)) {
        case 0: return ResizeOperation{size.height, size.width, {}, filter};
        case 1: return ResizeOperation{size.height, {}, {}, filter};
        case 2: return CenterCropOperation{size};
        case 3: {
            RandomCropOperation crop;
            crop.size = size;
            crop.pad_if_needed = true;
            crop.mode = static_cast<PaddingMode>(random.below(4));
            return crop;
        }
        case 4: return RandomResizedCropOperation{.size = size, .filter = filter};
        case 5: return RandomHorizontalFlipOperation{};
        default: return ScaleJitterOperation{.target = size, .min_scale = 0.5, .filter = filter};
    }
}

/// A chain, an image and a result of some shape: a function of `number`.
struct Case {
    std::vector<Operation> operations;
    PixelShape shape;
    Slot slot;
    SampleKey key;

    explicit Case(std::uint64_t number) {
        Random random({1, number, 0});
        for (std::uint32_t i = random.below(4); i > 0; --i) operations.push_back(some_operation(random));
        shape = {1 + random.below(50), 1 + random.below(90), static_cast<std::uint8_t>(1 + random.below(4)),
                 static_cast<std::uint8_t>(1 + random.below(2))};
        if (shape.sample_bytes == 1 && random.below(3) == 0) {
            operations.push_back(ColorJitterOperation{{{0.5, 1.5}}, {{0.5, 1.5}}, {{0.5, 1.5}}, {{-0.3, 0.3}}});
        }
        slot.type = static_cast<SampleType>(random.below(4));
        slot.layout = static_cast<Layout>(random.below(2));
        slot.channels = shape.channels == 2 && random.below(2) == 0 ? 1 : shape.channels;
        operations.push_back(ToDtypeOperation{slot.type, true});
        if (slot.type == SampleType::float32 || slot.type == SampleType::float16) {
            operations.push_back(NormalizeOperation{{0.4}, {0.2}});
        }
        key = {7, 8, number};
    }
};

std::unique_ptr<Block> run(const Case& one, TransformScratch& scratch) {
    const TransformProgram program(one.operations);
    const Draw draw = program.draw({one.shape.height, one.shape.width}, one.key);
    const Region region = program.region(draw);
    PixelShape decoded = one.shape;
    decoded.height = region.height;
    decoded.width = region.width;
    const Block source(decoded.bytes());
    Random random({2, one.key.id, 0});
    for (std::size_t i = 0; i < source.size(); ++i) source.data()[i] = static_cast<std::uint8_t>(random.word());
    Slot slot = one.slot;
    slot.size = draw.output;
    auto out = std::make_unique<Block>(slot.bytes());
    slot.data = out->data();
    program.apply({source.data(), decoded.row_bytes(), decoded}, draw, slot, scratch);
    return out;
}

}  // namespace

CLAIM(every_path_gives_the_same_and_stays_in_its_memory) {
    for (std::uint64_t number = 0; number < 1500; ++number) {
        const Case one(number);
        std::unique_ptr<Block> first;
        for (const SimdPath path : simd_paths()) {
            force_simd_path(path);
            TransformScratch scratch;
            auto result = run(one, scratch);
            if (first != nullptr) CHECK(std::memcmp(first->data(), result->data(), first->size()) == 0);
            if (first == nullptr) first = std::move(result);
        }
    }
}

CLAIM(scratch_of_one_sample_does_not_show_in_the_next) {
    TransformScratch reused;
    for (std::uint64_t number = 0; number < 800; ++number) {
        const Case one(number);
        TransformScratch fresh;
        const auto expected = run(one, fresh);
        const auto result = run(one, reused);
        CHECK(std::memcmp(expected->data(), result->data(), expected->size()) == 0);
    }
}

CLAIM(warm_scratch_memory_is_enough) {
    std::vector<Operation> operations{RandomResizedCropOperation{.size = {64, 64}}, RandomHorizontalFlipOperation{},
                                      ColorJitterOperation{{{0.5, 1.5}}, {{0.5, 1.5}}, {}, {{-0.1, 0.1}}},
                                      ToDtypeOperation{SampleType::float32, true}};
    const TransformProgram program(operations);
    const TransformProgram masks = program.for_masks();
    const PixelShape whole{300, 400, 3, 1};
    const Block source(whole.bytes());
    std::memset(source.data(), 99, source.size());
    const Block out(64 * 64 * 3 * 4);
    const Block mask_out(64 * 64 * 3);
    TransformScratch scratch;
    std::size_t warm = 0;
    for (std::uint64_t id = 0; id < 400; ++id) {
        if (id == 200) warm = allocations;
        const Draw draw = program.draw({300, 400}, {1, 2, id});
        const Region region = program.region(draw);
        const std::uint8_t* begin = source.data() + region.y * whole.row_bytes() + region.x * 3;
        const ConstImageView decoded(begin, whole.row_bytes(), {region.height, region.width, 3, 1});
        program.apply(decoded, draw, {out.data(), {64, 64}, 3, SampleType::float32, Layout::nchw}, scratch);
        const Region nearest = masks.region(draw);
        const std::uint8_t* mask = source.data() + nearest.y * whole.row_bytes() + nearest.x * 3;
        masks.apply({mask, whole.row_bytes(), {nearest.height, nearest.width, 3, 1}}, draw,
                    {mask_out.data(), {64, 64}, 3, SampleType::uint8, Layout::nhwc}, scratch);
    }
    CHECK(allocations - warm <= 4);  // a draw larger than all before may still grow it
}

int main(int count, char** arguments) {
    if (count > 1) return claims::run_named(arguments[1]);
    for (const auto& claim : claims::all()) std::puts(claim.name);
    return 0;
}
