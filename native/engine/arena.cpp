#include "engine/arena.h"

#include <cstring>
#include <utility>

namespace penstock {

Arena::Found Arena::find(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(id);
    if (found == kept_.end()) return {};
    const auto& [kept, is_fresh] = found->second;
    return {{kept, &kept->bytes}, is_fresh};
}

void Arena::keep(std::uint64_t id, const SampleBytes& bytes, const Extent& record) { add(id, bytes, record, false); }

void Arena::keep_fresh(std::uint64_t id, const SampleBytes& bytes, const Extent& record) {
    add(id, bytes, record, true);
}

void Arena::add(std::uint64_t id, const SampleBytes& bytes, const Extent& record, bool is_fresh) {
    const ByteView data = bytes.part(record.offset, record.length);
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = kept_.find(id); found != kept_.end()) {
            found->second.is_fresh = is_fresh;
            return;
        }
        if (held_bytes_ + data.size() > limit_bytes_) {
            ++num_refused_;
            return;
        }
        held_bytes_ += data.size();
    }
    // The copy is made without the lock. If there is no memory for it after all, the sample is not kept; if another
    // thread was faster, its copy stays.
    std::shared_ptr<const OwnSample> copy;
    bool is_refused = false;
    try {
        copy = std::make_shared<const OwnSample>(data, record, bytes.num_joined, gauge_);
        const std::lock_guard lock(mutex_);
        if (kept_.try_emplace(id, Entry{copy, is_fresh}).second) return;
    } catch (const std::exception&) {
        is_refused = true;
    }
    const std::lock_guard lock(mutex_);
    held_bytes_ -= data.size();
    num_refused_ += is_refused ? 1 : 0;
}

void Arena::put(std::uint64_t id, std::shared_ptr<const OwnSample> sample, bool is_fresh) {
    std::shared_ptr<const OwnSample> before;  // freed after the lock is gone
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(id);
    if (found != kept_.end()) {
        found->second.is_fresh = is_fresh;
        if (found->second.kept->bytes.num_joined >= sample->bytes.num_joined) return;
        held_bytes_ -= found->second.kept->bytes.data.size();
        before = std::move(found->second.kept);
        kept_.erase(found);
    }
    const std::size_t bytes = sample->bytes.data.size();
    if (held_bytes_ + bytes > limit_bytes_) {
        ++num_refused_;
        return;
    }
    kept_.try_emplace(id, Entry{std::move(sample), is_fresh});
    held_bytes_ += bytes;
}

bool Arena::reserve(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    if (held_bytes_ + bytes > limit_bytes_) {
        ++num_refused_;
        return false;
    }
    held_bytes_ += bytes;
    reserved_bytes_ += bytes;
    return true;
}

void Arena::fill(std::uint64_t id, std::shared_ptr<const OwnSample> sample, std::size_t reserved) {
    std::shared_ptr<const OwnSample> before;  // freed after the lock is gone
    const std::lock_guard lock(mutex_);
    held_bytes_ -= reserved;
    reserved_bytes_ -= reserved;
    if (sample == nullptr) return;
    Entry& entry = kept_[id];
    if (entry.kept != nullptr) held_bytes_ -= entry.kept->bytes.data.size();
    held_bytes_ += sample->bytes.data.size();
    before = std::exchange(entry.kept, std::move(sample));
    entry.is_fresh = false;
}

void Arena::refuse(std::uint64_t id) {
    drop(id);
    const std::lock_guard lock(mutex_);
    ++num_refused_;
}

void Arena::retain(const std::vector<std::uint64_t>& ids) {
    std::unordered_map<std::uint64_t, Entry> kept;
    const std::lock_guard lock(mutex_);
    for (const std::uint64_t id : ids) {
        const auto found = kept_.find(id);
        if (found != kept_.end()) kept.try_emplace(id, found->second);
    }
    held_bytes_ = reserved_bytes_;
    for (const auto& [id, entry] : kept) held_bytes_ += entry.kept->bytes.data.size();
    kept_.swap(kept);
}

void Arena::drop(std::uint64_t id) {
    std::shared_ptr<const OwnSample> dropped;  // freed after the lock is gone
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(id);
    if (found == kept_.end()) return;
    held_bytes_ -= found->second.kept->bytes.data.size();
    dropped = std::move(found->second.kept);
    kept_.erase(found);
}

void Arena::clear() {
    std::unordered_map<std::uint64_t, Entry> dropped;
    const std::lock_guard lock(mutex_);
    dropped.swap(kept_);
    held_bytes_ = reserved_bytes_;
}

std::size_t Arena::held_bytes(std::uint64_t id) const {
    const std::lock_guard lock(mutex_);
    const auto found = kept_.find(id);
    return found == kept_.end() ? 0 : found->second.kept->bytes.data.size();
}

std::size_t Arena::held_bytes() const {
    const std::lock_guard lock(mutex_);
    return held_bytes_;
}

std::size_t Arena::num_refused() const {
    const std::lock_guard lock(mutex_);
    return num_refused_;
}

}  // namespace penstock
