#!/bin/bash -eu
# Build the native targets with the flags and the engine of OSS-Fuzz (CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE) and put
# them, their seeds and their corpora into OUT.
source_folder="${SRC}/penstock"
build_folder="${WORK}/penstock"

cmake -S "${source_folder}" -B "${build_folder}" \
    -DCMAKE_C_COMPILER="${CC}" -DCMAKE_CXX_COMPILER="${CXX}" \
    -DCMAKE_C_FLAGS="${CFLAGS}" -DCMAKE_CXX_FLAGS="${CXXFLAGS}" -DCMAKE_BUILD_TYPE=None \
    -DPENSTOCK_FUZZ=ON -DPENSTOCK_PYTHON=OFF -DPENSTOCK_FUZZ_SANITIZER=none \
    -DPENSTOCK_FUZZ_ENGINE="${LIB_FUZZING_ENGINE}" -DCMAKE_EXE_LINKER_FLAGS='-Wl,-rpath,$ORIGIN/lib'
cmake --build "${build_folder}" --parallel "$(nproc)" --target fuzz_targets

seeds="${WORK}/jpeg-seeds"
mkdir -p "${seeds}" "${OUT}/lib"
"${build_folder}/fuzz/jpeg_seeds" "${seeds}"
for program in "${build_folder}"/fuzz/fuzz_*; do
    target="$(basename "${program}")"
    name="${target#fuzz_}"
    cp "${program}" "${OUT}/${target}"
    # The targets run on a machine without these libraries.
    ldd "${program}" | awk '/libjpeg|libwebp|libsharpyuv|libdeflate|libxxhash/ { print $3 }' | xargs -r cp -t "${OUT}/lib"
    inputs=("${source_folder}/fuzz/corpus/${name}"/*)
    if [ "${name}" = jpeg ] || [ "${name}" = restore ] || [ "${name}" = transcode ]; then inputs+=("${seeds}"/*); fi
    python3 -m zipfile -c "${OUT}/${target}_seed_corpus.zip" "${inputs[@]}"
    printf '[libfuzzer]\nmax_len = 10000\ntimeout = 10\n' > "${OUT}/${target}.options"
done
