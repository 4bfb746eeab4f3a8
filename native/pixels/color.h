// Changes pixel values as Pillow's ImageEnhance, ImageOps, ImageFilter and HSV conversion do, pixel for pixel.
#pragma once

#include "base/image.h"
#include "pixels/blur.h"
#include "pixels/draw.h"
#include "pixels/tables.h"

namespace penstock {

/// Working memory of changes of values.
struct ColorScratch {
    TableStack tables;
    BlurScratch blur;
};

/// Makes the changes of one image, one after the other. Changes that are tables wait: consecutive ones become one
/// table, and the last one can be left to the finish.
///
/// Alpha (the second of two channels, the fourth of four) stays, except in blurs; grey has no saturation and no hue.
class Recoloring {
  public:
    explicit Recoloring(ColorScratch& scratch) : scratch_(scratch) { scratch.tables.clear(); }

    /// Makes a change to 8-bit pixels, in place or as a table that waits. Throws `bad_argument` for 16-bit pixels.
    void change(ImageView image, const Change& change);
    /// Makes what waits.
    void settle(ImageView image) noexcept { scratch_.tables.apply(image); }
    /// The table that waits, or null.
    [[nodiscard]] const ByteTables* waiting() const noexcept {
        return scratch_.tables.waiting() ? &scratch_.tables.tables() : nullptr;
    }

  private:
    bool append_table(ImageView image, const Change& change);

    ColorScratch& scratch_;
};

}  // namespace penstock
