#include "export/run.h"

#include <utility>

#include "engine/ordered.h"
#include "export/tar_writer.h"
#include "storage/file.h"

namespace penstock {

namespace {

// How many items per thread may wait for the one in front of them.
constexpr std::size_t kItemsAhead = 8;

}  // namespace

Exporting start_export_files(ThreadPool& pool, ExportPlan plan, const std::string& folder) {
    auto counters = std::make_shared<ExportCounters>();
    const std::size_t num_items = plan.items.size();
    auto shared = std::make_shared<const ExportPlan>(std::move(plan));
    auto task = [shared, counters, folder](std::size_t index) {
        const ExportItem& item = shared->items[index];
        const ByteBuffer content = make_content(*shared, item, *counters);
        write_file(folder + "/" + item.name, content.view());
        counters->count_bytes(content.size());
    };
    return {pool.run(num_items, std::move(task)), counters};
}

Exporting start_export_tar(ThreadPool& pool, ExportPlan plan, const std::string& path) {
    auto counters = std::make_shared<ExportCounters>();
    const std::size_t num_items = plan.items.size();
    auto shared = std::make_shared<const ExportPlan>(std::move(plan));
    auto tar = std::make_shared<TarWriter>(path + ".part");
    auto job = run_ordered<ByteBuffer>(
        pool, num_items, kItemsAhead * pool.num_threads(),
        [shared, counters](std::size_t index) { return make_content(*shared, shared->items[index], *counters); },
        [shared, counters, tar, path, num_items](std::size_t index, ByteBuffer content) {
            tar->add(shared->items[index].name, content.view());
            counters->count_bytes(content.size());
            if (index + 1 == num_items) tar->publish(path);
        });
    return {std::move(job), counters};
}

}  // namespace penstock
