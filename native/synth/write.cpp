#include "synth/write.h"

#include <utility>

#include "base/buffer.h"
#include "codecs/table.h"
#include "storage/file.h"
#include "synth/render.h"

namespace penstock::synth {

namespace {

std::string padded(std::uint64_t number, std::size_t digits) {
    const std::string text = std::to_string(number);
    return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

std::string path_of(const std::string& folder, std::uint32_t label, std::uint64_t index, const std::string& extension) {
    return folder + "/class" + padded(label, 3) + "/" + padded(index, 6) + extension;
}

// Gives the bytes published.
std::uint64_t write_image(const Spec& spec, std::uint64_t index, const Target& target) {
    const bool wants_mask = !target.masks_folder.empty();
    OwnedImage image(spec.shape(), BufferPool::shared());
    OwnedImage mask;
    if (wants_mask) mask = OwnedImage({spec.height, spec.width, 1, 1}, BufferPool::shared());
    render(spec, index, image.view(), mask.view());
    const std::uint32_t label = class_of(spec, index);
    const ByteBuffer encoded = target.codec->encode(std::as_const(image).view(), target.parameters);
    write_file(path_of(target.images_folder, label, index, target.extension), encoded.view());
    if (!wants_mask) return encoded.size();
    const ByteBuffer encoded_mask = find_codec("png")->encode(std::as_const(mask).view(), Parameters());
    write_file(path_of(target.masks_folder, label, index, ".png"), encoded_mask.view());
    return encoded.size() + encoded_mask.size();
}

}  // namespace

Writing start_writing(ThreadPool& pool, const Spec& spec, std::uint64_t num_images, Target target) {
    auto num_bytes = std::make_shared<std::atomic<std::uint64_t>>(0);
    auto task = [spec, target = std::move(target), num_bytes](std::size_t index) {
        num_bytes->fetch_add(write_image(spec, index, target), std::memory_order_relaxed);
    };
    return {pool.run(num_images, std::move(task)), num_bytes};
}

}  // namespace penstock::synth
