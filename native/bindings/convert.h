// Between Python objects and views. Ownership is decided here, once: inputs are borrowed for the duration of
// a call (the caller's arguments keep them alive), outputs own a block of the shared pool and give it back
// when NumPy drops them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/image.h"

namespace penstock::bindings {

namespace nb = nanobind;

/// Borrows the bytes of anything with a C-contiguous buffer (bytes, bytearray, memoryview, mmap, uint8
/// array).
class BorrowedBytes {
  public:
    explicit BorrowedBytes(nb::handle object);
    ~BorrowedBytes();
    BorrowedBytes(const BorrowedBytes&) = delete;
    BorrowedBytes& operator=(const BorrowedBytes&) = delete;

    [[nodiscard]] ByteView view() const noexcept {
        return {static_cast<const std::uint8_t*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
    }

  private:
    Py_buffer buffer_{};
};

/// Borrows pixels: uint8 or uint16, HxW or HxWxC, rows at any stride, samples of a row contiguous.
class BorrowedPixels {
  public:
    /// `writable` asks for memory we may write into (the `out` of a decode).
    BorrowedPixels(nb::handle object, bool writable);
    ~BorrowedPixels();
    BorrowedPixels(const BorrowedPixels&) = delete;
    BorrowedPixels& operator=(const BorrowedPixels&) = delete;

    [[nodiscard]] ImageView view() const noexcept { return view_; }

  private:
    Py_buffer buffer_{};
    ImageView view_;
};

/// A NumPy array (HxW for one channel, else HxWxC) that owns the image.
[[nodiscard]] nb::object to_array(OwnedImage image);

/// A NumPy array that owns the values; with a `width`, of two dimensions.
template <typename Value>
[[nodiscard]] nb::object to_array(std::vector<Value> values, std::size_t width = 0) {
    auto* owned = new std::vector<Value>(std::move(values));
    const nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<std::vector<Value>*>(pointer); });
    const std::size_t sides[] = {width == 0 ? owned->size() : owned->size() / width, width};
    return nb::cast(nb::ndarray<nb::numpy, Value>(owned->data(), width == 0 ? 1 : 2, sides, owner));
}

[[nodiscard]] nb::bytes to_bytes(const ByteBuffer& buffer);

}  // namespace penstock::bindings
