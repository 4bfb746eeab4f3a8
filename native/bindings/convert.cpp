#include "bindings/convert.h"

#include <array>
#include <string>
#include <string_view>

#include "base/error.h"

namespace penstock::bindings {

namespace {

[[noreturn]] void refuse_pixels(const std::string& problem) {
    throw Error(ErrorCode::bad_argument, problem, "pixels",
                "pass a uint8 or uint16 array of shape HxW or HxWxC with 1 to 4 channels "
                "(numpy.ascontiguousarray helps with odd strides)");
}

// 'B' and 'H', bare or with the native byte order spelled out.
std::uint8_t sample_bytes_of(const char* format) {
    std::string_view text = format != nullptr ? format : "B";
    if (text.size() == 2 && (text[0] == '@' || text[0] == '=' || text[0] == '<')) text.remove_prefix(1);
    if (text == "B") return 1;
    if (text == "H") return 2;
    refuse_pixels("pixels have samples of type '" + std::string(text) + "', not uint8 or uint16");
}

ImageView view_of(const Py_buffer& buffer) {
    if (buffer.ndim != 2 && buffer.ndim != 3) {
        refuse_pixels("pixels have " + std::to_string(buffer.ndim) + " dimensions, not 2 or 3");
    }
    const std::uint8_t sample_bytes = sample_bytes_of(buffer.format);
    const Py_ssize_t channels = buffer.ndim == 3 ? buffer.shape[2] : 1;
    if (channels < 1 || channels > 4) {
        refuse_pixels("pixels have " + std::to_string(channels) + " channels, not 1 to 4");
    }
    if (buffer.shape[0] < 1 || buffer.shape[1] < 1 || buffer.shape[0] > 0xffffffffLL ||
        buffer.shape[1] > 0xffffffffLL) {
        refuse_pixels("pixels have shape " + std::to_string(buffer.shape[0]) + "x" + std::to_string(buffer.shape[1]));
    }
    const PixelShape shape{static_cast<std::uint32_t>(buffer.shape[0]), static_cast<std::uint32_t>(buffer.shape[1]),
                           static_cast<std::uint8_t>(channels), sample_bytes};
    // NumPy reports arbitrary strides along an axis of length 1; those carry no meaning.
    const bool samples_touch = buffer.ndim == 2 || channels == 1 || buffer.strides[2] == sample_bytes;
    const bool pixels_touch = buffer.shape[1] == 1 || buffer.strides[1] == channels * sample_bytes;
    const Py_ssize_t stride = buffer.shape[0] == 1 ? static_cast<Py_ssize_t>(shape.row_bytes()) : buffer.strides[0];
    if (!samples_touch || !pixels_touch || stride < static_cast<Py_ssize_t>(shape.row_bytes())) {
        refuse_pixels("pixels of a row are not contiguous");
    }
    return {static_cast<std::uint8_t*>(buffer.buf), static_cast<std::size_t>(stride), shape};
}

}  // namespace

BorrowedBytes::BorrowedBytes(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) {
        PyErr_Clear();
        throw Error(ErrorCode::bad_argument,
                    std::string("encoded data must be bytes, not ") + Py_TYPE(object.ptr())->tp_name, "data",
                    "pass bytes, bytearray, memoryview or a contiguous uint8 array");
    }
}

BorrowedBytes::~BorrowedBytes() { PyBuffer_Release(&buffer_); }

BorrowedPixels::BorrowedPixels(nb::handle object, bool writable) {
    const int flags = PyBUF_STRIDES | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object.ptr(), &buffer_, flags) != 0) {
        PyErr_Clear();
        refuse_pixels(std::string("pixels must be a ") + (writable ? "writable " : "") + "array, not " +
                      Py_TYPE(object.ptr())->tp_name);
    }
    try {
        view_ = view_of(buffer_);
    } catch (...) {
        PyBuffer_Release(&buffer_);
        throw;
    }
}

BorrowedPixels::~BorrowedPixels() { PyBuffer_Release(&buffer_); }

nb::object to_array(OwnedImage image) {
    const PixelShape shape = image.shape();
    auto* owned = new OwnedImage(std::move(image));
    const nb::capsule owner(owned, [](void* pointer) noexcept { delete static_cast<OwnedImage*>(pointer); });
    const std::array<std::size_t, 3> sides{shape.height, shape.width, shape.channels};
    const std::size_t dimensions = shape.channels == 1 ? 2 : 3;
    void* data = owned->view().data;
    if (shape.sample_bytes == 2) {
        return nb::cast(nb::ndarray<nb::numpy, std::uint16_t>(data, dimensions, sides.data(), owner));
    }
    return nb::cast(nb::ndarray<nb::numpy, std::uint8_t>(data, dimensions, sides.data(), owner));
}

nb::bytes to_bytes(const ByteBuffer& buffer) { return nb::bytes(buffer.data(), buffer.size()); }

}  // namespace penstock::bindings
