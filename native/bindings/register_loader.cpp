// The loader's pipeline for Python: columns are borrowed for its lifetime, batches are handed over without a copy.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings/codec_named.h"
#include "bindings/interpreter_lock.h"
#include "bindings/python_store.h"
#include "bindings/register.h"
#include "engine/pipeline.h"

namespace penstock::bindings {

namespace nb = nanobind;

namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
using OptionalColumn = std::optional<Column<T>>;

// A table whose columns are NumPy arrays: it holds on to them.
class BorrowedTable {
  public:
    BorrowedTable(const nb::bytes& folder, Column<std::uint8_t> names, Column<std::uint64_t> name_ends,
                  std::uint64_t num_samples, const std::vector<std::string>& codecs) {
        table_.num_samples = num_samples;
        table_.files.folder = std::string(folder.c_str(), folder.size());
        const std::span<const std::uint8_t> text = keep(std::optional(std::move(names)));
        table_.files.text = {reinterpret_cast<const char*>(text.data()), text.size()};
        table_.files.ends = keep(std::optional(std::move(name_ends)));
        const auto& ends = table_.files.ends;
        require(std::ranges::is_sorted(ends) && (ends.empty() || ends.back() <= text.size()), "names");
        for (const std::string& codec : codecs) table_.codecs.push_back(&codec_named(codec));
    }

    void add_field(bool is_mask, OptionalColumn<std::uint32_t> file, OptionalColumn<std::uint64_t> offset,
                   OptionalColumn<std::uint64_t> length, OptionalColumn<std::uint32_t> checksum,
                   OptionalColumn<std::uint8_t> codec) {
        const FieldColumns field{is_mask,
                                 keep(std::move(file)),
                                 keep(std::move(offset)),
                                 keep(std::move(length)),
                                 keep(std::move(checksum)),
                                 keep(std::move(codec))};
        const auto fits = [&](const auto& column) { return column.empty() || column.size() == table_.num_samples; };
        require(
            fits(field.file) && fits(field.offset) && fits(field.length) && fits(field.checksum) && fits(field.codec),
            "columns");
        require(field.offset.size() == field.length.size(), "length");
        require(!field.file.empty() || table_.files.size() == table_.num_samples || !field.is_whole_file(), "file");
        require(std::ranges::all_of(field.file, [&](auto number) { return number < table_.files.size(); }), "file");
        require(std::ranges::all_of(field.codec, [&](auto number) { return number < table_.codecs.size(); }), "codec");
        table_.fields.push_back(field);
    }

    void set_pieces(Column<std::uint64_t> begin, Column<std::uint64_t> offset, Column<std::uint64_t> length,
                    Column<std::uint32_t> checksum) {
        table_.blocks.piece_begin = keep(std::optional(std::move(begin)));
        table_.blocks.piece_offset = keep(std::optional(std::move(offset)));
        table_.blocks.piece_length = keep(std::optional(std::move(length)));
        table_.blocks.piece_checksum = keep(std::optional(std::move(checksum)));
    }

    void set_blocks(Column<std::uint32_t> of_sample, Column<std::uint64_t> edge_begin, Column<std::uint64_t> edges,
                    std::vector<std::vector<std::uint32_t>> scans) {
        table_.blocks.of_sample = keep(std::optional(std::move(of_sample)));
        table_.blocks.edge_begin = keep(std::optional(std::move(edge_begin)));
        table_.blocks.edges = keep(std::optional(std::move(edges)));
        table_.blocks.scans = std::move(scans);
    }

    void set_kept(Column<std::uint8_t> form, Column<std::uint64_t> room) {
        table_.kept.form = keep(std::optional(std::move(form)));
        table_.kept.room = keep(std::optional(std::move(room)));
    }

    void read_from(nb::callable read, Column<std::uint64_t> sizes) {
        const std::span<const std::uint64_t> known = keep(std::optional(std::move(sizes)));
        require(known.size() == table_.files.size(), "sizes");
        table_.store = std::make_shared<PythonStore>(read.ptr(), table_.files, known);
        kept_.push_back(std::move(read));
    }

    void read_fields_apart() {
        const auto has_places = [](const FieldColumns& field) { return !field.file.empty() && !field.offset.empty(); };
        require(table_.blocks.of_sample.empty() && std::ranges::all_of(table_.fields, has_places), "fields");
        table_.fields_apart = true;
    }

    [[nodiscard]] const SampleTable& table() const noexcept { return table_; }

  private:
    // Everything behind trusts these numbers: they are looked at once, here.
    static void require(bool holds, const char* column) {
        if (holds) return;
        throw Error(ErrorCode::bad_argument, "the table of samples contradicts itself", column,
                    "make it of one entry a sample, within the files and codecs it names");
    }

    template <typename T>
    std::span<const T> keep(OptionalColumn<T> column) {
        if (!column) return {};
        const std::span<const T> view(column->data(), column->size());
        kept_.push_back(nb::cast(std::move(*column)));
        return view;
    }

    SampleTable table_;
    std::vector<nb::object> kept_;
};

// How long Ctrl-C may go unnoticed.
constexpr std::chrono::milliseconds kSignalInterval{50};

// The pipeline as Python holds it: ended early by `close`, and in any case without the GIL, because its threads may be
// in the middle of a slow read.
class OpenPipeline {
  public:
    OpenPipeline(const BorrowedTable& table, const TransformProgram& program, const PipelineOptions& options)
        : pipeline_(std::make_shared<Pipeline>(table.table(), program, options)) {}
    ~OpenPipeline() { close(); }

    void close() {
        std::shared_ptr<Pipeline> last = std::move(pipeline_);
        if (last == nullptr) return;
        const Unlocked unlocked;
        last->close();
        last.reset();
    }

    // The caller keeps it alive until the call ends, because another thread may close it meanwhile.
    [[nodiscard]] std::shared_ptr<Pipeline> get() const {
        if (pipeline_ != nullptr) return pipeline_;
        throw Error(ErrorCode::cancelled, "the loader is closed", "loader", "make a new one");
    }

    void wait(const Batch& batch) const {
        const std::shared_ptr<Pipeline> held = get();
        for (;;) {
            {
                const Unlocked unlocked;
                if (held->wait_for(batch, kSignalInterval)) return;
            }
            if (PyErr_CheckSignals() != 0) nb::raise_python_error();
        }
    }

  private:
    std::shared_ptr<Pipeline> pipeline_;
};

nb::dlpack::dtype dtype_of(SampleType type) {
    switch (type) {
        case SampleType::uint8: return nb::dtype<std::uint8_t>();
        case SampleType::uint16: return nb::dtype<std::uint16_t>();
        case SampleType::float16: return {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
        case SampleType::float32: return nb::dtype<float>();
    }
    return {};
}

// An array over a slot, or over `count` of them in a row, that owns its share of the memory.
nb::object array_over(const BatchField::Slot& slot, std::optional<std::size_t> count) {
    auto* owned = new std::shared_ptr<SlotMemory>(slot.memory);
    const nb::capsule owner(owned,
                            [](void* pointer) noexcept { delete static_cast<std::shared_ptr<SlotMemory>*>(pointer); });
    slot.memory->hand_over();
    std::vector<std::size_t> sides;
    if (count) sides.push_back(*count);
    sides.insert(sides.end(), slot.shape.sides.begin(), slot.shape.sides.begin() + slot.shape.num_sides);
    return nb::cast(
        nb::ndarray<nb::numpy>(slot.data, sides.size(), sides.data(), owner, nullptr, dtype_of(slot.shape.type)));
}

nb::object pixels_of(Batch& batch, std::size_t index) {
    BatchField& field = batch.field(index);
    if (field.unite()) return array_over(field.slots().front(), field.slots().size());
    nb::list images;
    for (const BatchField::Slot& slot : field.slots()) images.append(array_over(slot, std::nullopt));
    return images;
}

nb::list failures_of(Batch& batch) {
    nb::list failures;
    for (const SampleFailure& failure : batch.take_failures()) {
        const Error& error = failure.error;
        const auto text = [](const std::string& bytes) {
            return nb::steal(
                PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
        };
        failures.append(nb::make_tuple(failure.position, failure.id, static_cast<int>(error.code()), text(error.what()),
                                       text(error.where()), text(error.fix()), error.system_error()));
    }
    return failures;
}

std::vector<std::uint64_t> ids_of(const Column<std::uint64_t>& ids) { return {ids.data(), ids.data() + ids.size()}; }

std::shared_ptr<Batch> submit(const OpenPipeline& pipeline, const Column<std::uint64_t>& ids, std::uint64_t seed,
                              std::uint64_t epoch, const OptionalColumn<std::uint8_t>& keeping,
                              const OptionalColumn<std::uint64_t>& ahead, std::uint32_t fidelity,
                              std::shared_ptr<Tally> tally) {
    BatchWish wish{ids_of(ids), {}, {}, seed, epoch, fidelity, std::move(tally)};
    if (ahead) wish.ahead = ids_of(*ahead);
    if (keeping && keeping->size() != ids.size()) {
        throw Error(ErrorCode::bad_argument, "one entry a sample is needed", "keeping", "give as many as ids");
    }
    if (keeping) {
        for (std::size_t i = 0; i < wish.ids.size(); ++i) wish.keeping.push_back(static_cast<Keeping>((*keeping)(i)));
    }
    return pipeline.get()->submit(std::move(wish));
}

nb::dict stats_of(const OpenPipeline& pipeline, const std::shared_ptr<Tally>& without) {
    const PipelineStats stats = pipeline.get()->stats(without.get());
    nb::dict fields;
    fields["bytes_read"] = stats.bytes_read;
    fields["num_reads"] = stats.num_reads;
    fields["num_retries"] = stats.num_retries;
    fields["num_decoded"] = stats.num_decoded;
    fields["num_recoded"] = stats.num_recoded;
    fields["num_decodes_saved"] = stats.num_decodes_saved;
    fields["num_unfit"] = stats.num_unfit;
    fields["num_hits"] = stats.num_hits;
    fields["cache_bytes"] = stats.cache_bytes;
    fields["num_unkept"] = stats.num_unkept;
    fields["read_busy_seconds"] = stats.read_busy_seconds;
    fields["read_wait_seconds"] = stats.read_wait_seconds;
    fields["decode_busy_seconds"] = stats.decode_busy_seconds;
    fields["decode_wait_seconds"] = stats.decode_wait_seconds;
    fields["memory_bytes"] = stats.memory_bytes;
    fields["peak_memory_bytes"] = stats.peak_memory_bytes;
    fields["io_engine"] = stats.io_engine;
    fields["io_direct"] = stats.io_direct;
    fields["uring_refusal"] = stats.uring_refusal;
    return fields;
}

void register_options(nb::module_& module) {
    nb::enum_<Caching>(module, "Caching").value("SYSTEM", Caching::system).value("NONE", Caching::none);
    nb::enum_<Channels>(module, "Channels")
        .value("RGB", Channels::rgb)
        .value("L", Channels::grey)
        .value("UNCHANGED", Channels::unchanged);
    nb::enum_<Layout>(module, "Layout").value("NHWC", Layout::nhwc).value("NCHW", Layout::nchw);
    nb::enum_<Verify>(module, "Verify")
        .value("FIRST", Verify::first)
        .value("ALWAYS", Verify::always)
        .value("NEVER", Verify::never);
    nb::enum_<Undecoded>(module, "Undecoded", "Which images batches hold as they are stored.")
        .value("NONE", Undecoded::none)
        .value("FOR_DEVICE", Undecoded::for_device, "Weir and L3, for an accelerator that decodes and transforms them.")
        .value("ALL", Undecoded::all, "Every one, masks too: what reading alone costs.");
    nb::class_<PipelineOptions>(module, "PipelineOptions")
        .def(nb::init<>())
        .def_rw("num_threads", &PipelineOptions::num_threads)
        .def_rw("caching", &PipelineOptions::caching)
        .def_prop_rw(
            "num_readers", [](const PipelineOptions& options) { return options.reading.num_readers; },
            [](PipelineOptions& options, std::size_t count) { options.reading.num_readers = count; })
        .def_prop_rw(
            "read_limit", [](const PipelineOptions& options) { return options.reading.limit; },
            [](PipelineOptions& options, std::shared_ptr<ReadLimit> limit) {
                options.reading.limit = std::move(limit);
            },
            nb::arg("limit").none())
        .def_prop_rw(
            "allow_uring", [](const PipelineOptions& options) { return options.reading.allow_uring; },
            [](PipelineOptions& options, bool allow) { options.reading.allow_uring = allow; })
        .def_prop_rw(
            "channels", [](const PipelineOptions& options) { return options.samples.channels; },
            [](PipelineOptions& options, Channels channels) { options.samples.channels = channels; })
        .def_prop_rw(
            "layout", [](const PipelineOptions& options) { return options.samples.layout; },
            [](PipelineOptions& options, Layout layout) { options.samples.layout = layout; })
        .def_prop_rw(
            "verify", [](const PipelineOptions& options) { return options.samples.verify; },
            [](PipelineOptions& options, Verify verify) { options.samples.verify = verify; })
        .def_prop_rw(
            "approximate", [](const PipelineOptions& options) { return options.samples.approximate; },
            [](PipelineOptions& options, bool approximate) { options.samples.approximate = approximate; })
        .def_prop_rw(
            "undecoded", [](const PipelineOptions& options) { return options.samples.undecoded; },
            [](PipelineOptions& options, Undecoded undecoded) { options.samples.undecoded = undecoded; })
        .def_prop_rw(
            "max_pixels", [](const PipelineOptions& options) { return options.samples.max_pixels; },
            [](PipelineOptions& options, std::uint64_t pixels) { options.samples.max_pixels = pixels; })
        .def_prop_rw(
            "read_bytes", [](const PipelineOptions& options) { return options.memory.read_bytes; },
            [](PipelineOptions& options, std::size_t bytes) { options.memory.read_bytes = bytes; })
        .def_prop_rw(
            "scratch_bytes", [](const PipelineOptions& options) { return options.memory.scratch_bytes; },
            [](PipelineOptions& options, std::size_t bytes) { options.memory.scratch_bytes = bytes; })
        .def_prop_rw(
            "cache_bytes", [](const PipelineOptions& options) { return options.memory.cache_bytes; },
            [](PipelineOptions& options, std::size_t bytes) { options.memory.cache_bytes = bytes; })
        .def_prop_rw(
            "idle_bytes", [](const PipelineOptions& options) { return options.memory.idle_bytes; },
            [](PipelineOptions& options, std::size_t bytes) { options.memory.idle_bytes = bytes; });
}

void register_batch(nb::module_& module) {
    nb::class_<Batch>(module, "Batch")
        .def("pixels", &pixels_of, nb::arg("field"),
             nb::sig("def pixels(self, field: int) -> numpy.typing.NDArray[typing.Any] | "
                     "list[numpy.typing.NDArray[typing.Any]]"),
             "One array if all samples have one shape, else an array a sample. Of a batch that was waited for.")
        .def("failures", &failures_of, nb::sig("def failures(self) -> list[tuple[int, int, int, str, str, str, int]]"),
             "(position, id, code, what, where, fix, errno) of every sample that failed since it was last asked.")
        .def("drop", &Batch::drop, nb::arg("positions"), "Takes samples out; those behind move up.")
        .def_prop_ro("num_hits", &Batch::num_hits)
        .def_prop_ro("num_read", &Batch::num_read)
        .def_prop_ro("is_done", &Batch::is_done)
        .def("cancel", &Batch::cancel, "Nobody wants it any more.");
}

}  // namespace

void register_loader(nb::module_& module) {
    module.def(
        "working_bytes",
        [](const std::string& codec, std::uint32_t height, std::uint32_t width, std::uint8_t channels,
           std::uint8_t bits) {
            ImageInfo info;
            info.shape = {height, width, channels, static_cast<std::uint8_t>(bits > 8 ? 2 : 1)};
            return codec_named(codec).working_bytes(info) + kThreadBytes;
        },
        nb::arg("codec"), nb::arg("height"), nb::arg("width"), nb::arg("channels"), nb::arg("bits"),
        "What a thread takes to decode such an image, beside its bytes and its pixels.");
    register_options(module);
    nb::class_<Tally>(module, "Tally", "Counters of batches that were submitted with it.")
        .def_prop_ro("bytes_read",
                     [](const Tally& tally) { return tally.reads.num_bytes.load(std::memory_order_relaxed); });
    register_batch(module);
    nb::class_<BorrowedTable>(module, "SampleTable")
        .def(nb::init<const nb::bytes&, Column<std::uint8_t>, Column<std::uint64_t>, std::uint64_t,
                      const std::vector<std::string>&>(),
             nb::arg("folder"), nb::arg("names"), nb::arg("name_ends"), nb::arg("num_samples"), nb::arg("codecs"))
        .def("add_field", &BorrowedTable::add_field, nb::arg("is_mask") = false, nb::arg("file").none() = nb::none(),
             nb::arg("offset").none() = nb::none(), nb::arg("length").none() = nb::none(),
             nb::arg("checksum").none() = nb::none(), nb::arg("codec").none() = nb::none())
        .def("set_pieces", &BorrowedTable::set_pieces, nb::arg("begin"), nb::arg("offset"), nb::arg("length"),
             nb::arg("checksum"))
        .def("set_blocks", &BorrowedTable::set_blocks, nb::arg("of_sample"), nb::arg("edge_begin"), nb::arg("edges"),
             nb::arg("scans"))
        .def("read_from", &BorrowedTable::read_from, nb::arg("read"), nb::arg("sizes"),
             nb::sig("def read_from(self, read: collections.abc.Callable[[str, int, int], penstock.types.Buffer], "
                     "sizes: numpy.typing.NDArray[numpy.uint64]) -> None"),
             "Reads bytes through `read(name, offset, length)`, which the threads of a pipeline call, instead of from "
             "files. `sizes` are those of the files.")
        .def("read_fields_apart", &BorrowedTable::read_fields_apart,
             "Says that the images of a sample lie in several files, which are read one by one.")
        .def("set_kept", &BorrowedTable::set_kept, nb::arg("form"), nb::arg("room"),
             "What each sample stays in memory as (0 encoded, 1 pixels, 2 weir:fast), and the bytes it may take there. "
             "For pipelines that are made later.");
    nb::class_<OpenPipeline>(module, "Pipeline")
        .def(nb::init<const BorrowedTable&, const TransformProgram&, const PipelineOptions&>(), nb::arg("table"),
             nb::arg("program"), nb::arg("options"), nb::keep_alive<1, 2>())
        .def("submit", &submit, nb::arg("ids"), nb::arg("seed"), nb::arg("epoch"),
             nb::arg("keeping").none() = nb::none(), nb::arg("ahead").none() = nb::none(), nb::arg("fidelity") = 0,
             nb::arg("tally").none() = nb::none(),
             "Starts work on a batch and returns at once. `keeping` says of each sample what becomes of its bytes in "
             "memory: 0 nothing, 1 they stay, 2 they go. `ahead` are samples to read into memory now, for this batch "
             "or later ones. `fidelity` is a number of scans of what stands in blocks, 0 for all. The batch counts in "
             "`tally`.")
        .def_prop_ro("num_failed", [](const OpenPipeline& pipeline) { return pipeline.get()->num_failed(); })
        .def("retain_cache", [](const OpenPipeline& pipeline,
                                const Column<std::uint64_t>& ids) { pipeline.get()->retain_cache(ids_of(ids)); })
        .def(
            "kept_bytes",
            [](const OpenPipeline& pipeline, const Column<std::uint64_t>& ids) {
                return pipeline.get()->kept_bytes(ids_of(ids));
            },
            nb::arg("ids"), "What memory holds of each of these samples; 0 of those that are not there.")
        .def("clear_cache", [](const OpenPipeline& pipeline) { pipeline.get()->clear_cache(); })
        .def(
            "resubmit",
            [](const OpenPipeline& pipeline, const std::shared_ptr<Batch>& batch,
               const std::vector<std::size_t>& positions,
               const Column<std::uint64_t>& ids) { pipeline.get()->resubmit(batch, positions, ids_of(ids)); },
            nb::arg("batch"), nb::arg("positions"), nb::arg("ids"),
            "Starts work on other samples in some places of a batch that is done.")
        .def("wait", &OpenPipeline::wait, nb::arg("batch"), "Waits until a batch is done; Ctrl-C ends it.")
        .def("stats", &stats_of, nb::arg("without").none() = nb::none(),
             nb::sig("def stats(self, without: Tally | None = None) -> dict[str, typing.Any]"),
             "Counters of all batches, except those that count in `without`.")
        .def(
            "open_tally", [](const OpenPipeline& pipeline) { return pipeline.get()->open_tally(); },
            "Returns a new tally for batches to count in; `stats` includes it.")
        .def(
            "stall",
            [](const OpenPipeline& pipeline, std::optional<std::uint32_t> file, double seconds, std::uint64_t times) {
                pipeline.get()->faults().stall(file, std::chrono::milliseconds(static_cast<int>(seconds * 1000)),
                                               times);
            },
            nb::arg("file").none(), nb::arg("seconds"), nb::arg("times") = 1, "For tests: reads that take longer.")
        .def(
            "fail",
            [](const OpenPipeline& pipeline, std::optional<std::uint32_t> file, int error, std::uint64_t times) {
                pipeline.get()->faults().fail(file, error, times);
            },
            nb::arg("file").none(), nb::arg("error"), nb::arg("times") = 1, "For tests: reads that fail.")
        .def("close", &OpenPipeline::close, "Stops the threads and waits for what each of them is at.");
}

}  // namespace penstock::bindings
