"""`pnm`: PBM, PGM, PPM and PAM, read as sources, never written. How values are stretched: native/codecs/pnm.cpp."""

from __future__ import annotations

from penstock.codecs.native import NativeCodec

PNM = NativeCodec(
    name="pnm",
    extensions=(".pnm", ".pbm", ".pgm", ".ppm", ".pam"),
    can_encode=False,
)
