"""`pnm` codec: reads PBM, PGM, PPM and PAM as sources. native/codecs/pnm.cpp explains how values are scaled."""

from __future__ import annotations

from penstock.codecs.native import NativeCodec

PNM = NativeCodec(
    name="pnm",
    extensions=(".pnm", ".pbm", ".pgm", ".ppm", ".pam"),
    can_encode=False,
)
