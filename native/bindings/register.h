// One register function per native folder, called by module.cpp in the order of the layers.
#pragma once

#include <nanobind/nanobind.h>

namespace penstock::bindings {

void register_errors(nanobind::module_& module);
void register_base(nanobind::module_& module);
void register_codecs(nanobind::module_& module);
void register_coefficients(nanobind::module_& module);
void register_sluice(nanobind::module_& module);
void register_pixels(nanobind::module_& module);
void register_transforms(nanobind::module_& module);
void register_storage(nanobind::module_& module);
void register_engine(nanobind::module_& module);
void register_codec_batch(nanobind::module_& module);
void register_records(nanobind::module_& module);
void register_loader(nanobind::module_& module);
void register_export(nanobind::module_& module);
void register_synth(nanobind::module_& module);

}  // namespace penstock::bindings
