#include "engine/codec_batch.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <functional>
#include <mutex>
#include <utility>

#include "base/buffer.h"
#include "codecs/decode.h"

namespace penstock {

namespace {

using Clock = std::chrono::steady_clock;

double thread_cpu_seconds() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Collects the times of tasks that end on several threads.
class Stopwatch {
  public:
    explicit Stopwatch(std::shared_ptr<BatchTime> time) : time_(std::move(time)), begin_(Clock::now()) {}

    void time_task(const std::function<void()>& task) {
        const double cpu_begin = thread_cpu_seconds();
        task();
        const double cpu_seconds = thread_cpu_seconds() - cpu_begin;
        const double wall_seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
        const std::lock_guard lock(mutex_);
        time_->cpu_seconds += cpu_seconds;
        time_->wall_seconds = std::max(time_->wall_seconds, wall_seconds);
    }

  private:
    std::mutex mutex_;
    std::shared_ptr<BatchTime> time_;
    Clock::time_point begin_;
};

TimedBatch start_timed(ThreadPool& pool, std::size_t num_images, std::size_t passes,
                       std::function<void(std::size_t)> run_image) {
    auto time = std::make_shared<BatchTime>();
    auto stopwatch = std::make_shared<Stopwatch>(time);
    std::shared_ptr<Job> job = pool.run(
        num_images * passes, [=](std::size_t index) { stopwatch->time_task([&] { run_image(index % num_images); }); });
    return {std::move(job), std::move(time)};
}

}  // namespace

TimedBatch start_decodes(ThreadPool& pool, const Codec& codec, std::vector<ByteView> images, std::size_t passes) {
    const std::size_t count = images.size();
    return start_timed(pool, count, passes, [&codec, images = std::move(images)](std::size_t index) {
        const DecodePlan plan = plan_decode(codec, images[index], DecodeOptions{});
        OwnedImage pixels(plan.shape, BufferPool::shared());
        decode_image(codec, images[index], plan, pixels.view());
    });
}

TimedBatch start_encodes(ThreadPool& pool, const Codec& codec, std::vector<ConstImageView> images,
                         Parameters parameters, std::size_t passes) {
    const std::size_t count = images.size();
    return start_timed(pool, count, passes,
                       [&codec, images = std::move(images), parameters = std::move(parameters)](std::size_t index) {
                           (void)codec.encode(images[index], parameters);
                       });
}

}  // namespace penstock
