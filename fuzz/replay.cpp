// Runs a fuzz target on the files named on the command line, without a fuzzing engine: `make coverage` replays the
// corpora with programs that GCC built. Nothing is mutated.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size);

/// The engine's mutation, which custom mutators of the targets call. Replaying changes no input.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* /*bytes*/, std::size_t size, std::size_t /*max_size*/) {
    return size;
}

int main(int num_arguments, char** arguments) {
    for (int place = 1; place < num_arguments; ++place) {
        std::ifstream file(arguments[place], std::ios::binary);
        if (!file) {
            std::fprintf(stderr, "%s: cannot be read\n", arguments[place]);
            return 1;
        }
        const std::vector<char> data{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(data.data()), data.size());
    }
    return 0;
}
