#include "engine/batch.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <utility>

namespace penstock {

std::uint8_t* BatchField::take(std::size_t position, const SlotShape& shape) {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = shape.bytes();
    if (common_.memory == nullptr && source_.expects_one_shape->load(std::memory_order_relaxed)) {
        common_.shape = shape;
        common_.memory = std::make_shared<SlotMemory>(bytes * slots_.size(), source_.pool, source_.gauge);
    }
    Slot& slot = slots_[position];
    slot.shape = shape;
    if (common_.memory != nullptr && shape == common_.shape) {
        slot.memory = common_.memory;
        slot.data = common_.memory->data() + position * bytes;
    } else {
        slot.memory = std::make_shared<SlotMemory>(bytes, source_.pool, source_.gauge);
        slot.data = slot.memory->data();
    }
    return slot.data;
}

// Samples of one shape lie apart if another was expected: that of a sample which then failed, or none at all.
bool BatchField::unite() {
    if (slots_.empty()) return false;
    const SlotShape& shape = slots_.front().shape;
    const bool is_one = std::ranges::all_of(slots_, [&](const Slot& slot) { return slot.shape == shape; });
    source_.expects_one_shape->store(is_one, std::memory_order_relaxed);
    if (!is_one) return false;
    if (std::ranges::all_of(slots_, [&](const Slot& slot) { return slot.memory == common_.memory; })) return true;
    const std::size_t bytes = shape.bytes();
    common_ = {shape, std::make_shared<SlotMemory>(bytes * slots_.size(), source_.pool, source_.gauge), nullptr};
    std::uint8_t* place = common_.memory->data();
    for (Slot& slot : slots_) {
        std::memcpy(place, slot.data, bytes);
        slot = {shape, common_.memory, std::exchange(place, place + bytes)};
    }
    return true;
}

void BatchField::drop(const std::vector<std::size_t>& positions) {
    const std::size_t bytes = common_.shape.bytes();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (std::ranges::find(positions, i) != positions.end()) continue;
        Slot slot = std::move(slots_[i]);
        if (slot.memory != nullptr && slot.memory == common_.memory) {
            std::uint8_t* place = common_.memory->data() + kept * bytes;
            if (place != slot.data) std::memmove(place, slot.data, bytes);
            slot.data = place;
        }
        slots_[kept++] = std::move(slot);
    }
    slots_.resize(kept);
}

Batch::Batch(BatchWish wish, std::uint64_t number, std::size_t num_fields, const SlotSource& source)
    : wish_(std::move(wish)), number_(number), num_open_(wish_.ids.size()) {
    for (std::size_t i = 0; i < num_fields; ++i) {
        fields_.push_back(std::make_unique<BatchField>(wish_.ids.size(), source));
    }
}

void Batch::replace(const std::vector<std::size_t>& positions, const std::vector<std::uint64_t>& ids) {
    for (std::size_t i = 0; i < positions.size(); ++i) {
        wish_.ids[positions[i]] = ids[i];
        // What stands in for a sample was not planned for: memory stays as it is.
        if (!wish_.keeping.empty()) wish_.keeping[positions[i]] = Keeping::as_it_is;
    }
    num_open_.store(positions.size(), std::memory_order_release);
}

void Batch::drop(const std::vector<std::size_t>& positions) {
    for (const std::unique_ptr<BatchField>& field : fields_) field->drop(positions);
    std::vector<std::uint64_t> kept;
    for (std::size_t i = 0; i < wish_.ids.size(); ++i) {
        if (std::ranges::find(positions, i) == positions.end()) kept.push_back(wish_.ids[i]);
    }
    wish_.ids = std::move(kept);
}

namespace {

// Whatever a sample failed by, as the error that the caller is told.
Error as_error(const std::exception_ptr& problem) {
    try {
        std::rethrow_exception(problem);
    } catch (const Error& error) {
        return error;
    } catch (const std::bad_alloc&) {
        return {ErrorCode::out_of_memory, "could not allocate working memory", "memory",
                "give the process more memory, or the loader less (memory=…)"};
    } catch (const std::exception& other) {
        return {ErrorCode::unexpected, std::string("an error that nobody foresaw: ") + other.what(), "loader",
                "report it, with the file that it names if there is one"};
    }
}

}  // namespace

void Batch::add_failure(std::size_t position, const std::exception_ptr& problem) noexcept {
    try {
        SampleFailure failure{position, wish_.ids[position], as_error(problem)};
        const std::lock_guard lock(mutex_);
        failures_.push_back(std::move(failure));
    } catch (...) {
        const std::lock_guard lock(mutex_);
        lost_failure_ = true;
    }
}

std::vector<SampleFailure> Batch::take_failures() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(lost_failure_, false)) throw std::bad_alloc();
    std::vector<SampleFailure> failures = std::exchange(failures_, {});
    std::ranges::sort(failures, {}, &SampleFailure::position);
    return failures;
}

}  // namespace penstock
