#include "bindings/register.h"

NB_MODULE(_native, module) {
    // A thread that still waits when the interpreter ends keeps what it holds: no reason to print at every such end.
    nanobind::set_leak_warnings(false);
    namespace bindings = penstock::bindings;
    bindings::register_errors(module);
    bindings::register_base(module);
    bindings::register_codecs(module);
    bindings::register_coefficients(module);
    bindings::register_sluice(module);
    bindings::register_pixels(module);
    bindings::register_transforms(module);
    bindings::register_storage(module);
    bindings::register_engine(module);
    bindings::register_codec_batch(module);
    bindings::register_records(module);
    bindings::register_loader(module);
    bindings::register_export(module);
    bindings::register_synth(module);
}
