// The native part of an export: items made on the pool's threads, and written as files or into one tar.
#pragma once

#include <memory>
#include <string>

#include "engine/thread_pool.h"
#include "export/item.h"

namespace penstock {

/// An export under way: a task per item. The first error ends it.
struct Exporting {
    std::shared_ptr<Job> job;
    std::shared_ptr<const ExportCounters> counters;
};

/// Starts writing every item as a file below `folder`, whose sub-folders must exist.
[[nodiscard]] Exporting start_export_files(ThreadPool& pool, ExportPlan plan, const std::string& folder);

/// Starts writing all items, in their order, into a tar that appears at `path` when it is whole. Until then it is
/// written under `path` with ".part" behind it, which an error leaves there.
[[nodiscard]] Exporting start_export_tar(ThreadPool& pool, ExportPlan plan, const std::string& path);

}  // namespace penstock
