// How a table of files crosses to Python.
#pragma once

#include <memory>

#include "records/source_files.h"

namespace penstock::bindings {

/// What Python holds. Tasks share the table inside, and end on any thread: a shared pointer to the Python object itself
/// would take the GIL there, while whoever has it may be waiting for that very thread.
struct FilesHandle {
    std::shared_ptr<const SourceFiles> files;
};

}  // namespace penstock::bindings
