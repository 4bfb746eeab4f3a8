"""Any chain in one native pass equals its operations one after the other: image, mask and boxes."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.transforms import (
    CenterCrop,
    ColorJitter,
    InterpolationMode,
    Letterbox,
    Pad,
    PadIfSmaller,
    PillowGaussianBlur,
    RandomAdjustSharpness,
    RandomAffine,
    RandomApply,
    RandomAutocontrast,
    RandomChoice,
    RandomCrop,
    RandomEqualize,
    RandomGrayscale,
    RandomHorizontalFlip,
    RandomInvert,
    RandomOrder,
    RandomPerspective,
    RandomPosterize,
    RandomResize,
    RandomResizedCrop,
    RandomRotation,
    RandomShortestSize,
    RandomSolarize,
    RandomVerticalFlip,
    RandomZoomOut,
    Remap,
    Resize,
    ScaleJitter,
    Sequential,
    Transform,
    apply,
    apply_boxes,
)
from tests.plain_transforms import Sample, run

sides = st.integers(1, 40)
sizes = st.tuples(sides, sides)
modes = st.sampled_from([InterpolationMode.BILINEAR, InterpolationMode.BICUBIC, InterpolationMode.NEAREST])
fills = st.integers(0, 255) | st.fixed_dictionaries({"image": st.integers(0, 255), "mask": st.integers(0, 255)})
padding_modes = st.sampled_from(["constant", "edge", "reflect", "symmetric"])

geometry = st.one_of(
    st.builds(Resize, sizes | sides, modes),
    st.builds(lambda size, more: Resize(size, max_size=size + more), sides, st.integers(1, 20)),
    st.builds(CenterCrop, sizes, fills),
    st.builds(
        RandomCrop,
        sizes,
        st.none() | st.tuples(*[st.integers(0, 9)] * 4),
        st.just(True),
        fills,
        padding_modes,
    ),
    st.builds(RandomResizedCrop, sizes, interpolation=modes | st.just("random")),
    st.builds(ScaleJitter, sizes, st.just((0.5, 2.0))),
    st.just(RandomHorizontalFlip()),
    st.just(RandomVerticalFlip()),
    st.builds(Pad, st.tuples(*[st.integers(0, 9)] * 4), fills, padding_modes),
    st.builds(PadIfSmaller, sizes, fills),
    st.builds(Letterbox, sizes, fills, modes, st.booleans()),
    st.builds(RandomZoomOut, fills, st.just((1.0, 2.5)), st.just(0.8)),
    st.builds(lambda size, more: RandomResize(size, size + more), sides, st.integers(1, 20)),
    st.builds(RandomShortestSize, st.lists(sides, min_size=1, max_size=3), st.none() | sides),
)
centers = st.none() | st.tuples(st.floats(-5, 40), st.floats(-5, 40))
warps = st.one_of(
    st.builds(
        RandomRotation,
        st.sampled_from([30, (0, 360), (90, 90), (180, 180), (-90, -90), 0]),
        modes,
        st.booleans(),
        centers,
        fills,
    ),
    st.builds(
        RandomAffine,
        st.sampled_from([0, 40]),
        st.sampled_from([None, (0.3, 0.2)]),
        st.sampled_from([None, (0.5, 1.7)]),
        st.sampled_from([None, 20, (-9, 9, -30, 3)]),
        modes,
        fills,
        centers,
    ),
    st.builds(RandomPerspective, st.just(0.5), st.just(0.9), modes, fills),
)
changes: st.SearchStrategy[Transform] = st.sampled_from(
    [
        ColorJitter(0.4, 0.4, 0.4, 0.1),
        ColorJitter(contrast=(0.5, 2.5)),
        RandomGrayscale(0.5),
        RandomInvert(),
        RandomPosterize(3),
        RandomSolarize(120.5),
        RandomAutocontrast(),
        RandomEqualize(),
        RandomAdjustSharpness(1.7),
        PillowGaussianBlur(),
    ]
)
members = st.lists(geometry | changes, min_size=1, max_size=3)
choices = st.builds(
    RandomChoice, st.lists(changes | st.builds(Sequential, members) | st.just(Sequential([])), min_size=1, max_size=3)
)
groups = st.one_of(
    choices,
    st.builds(RandomApply, members),
    st.builds(RandomOrder, members),
    st.builds(lambda inner: RandomApply([inner]), choices),
)
values = st.one_of(
    changes,
    groups,
    st.just(Remap({1: 200, 3: 0}, default=7)),
    st.just(Remap({5: 6})),
)


def sample_of(height: int, width: int, channels: int) -> Sample:
    rng = np.random.default_rng(height * 1000 + width)
    shape = (height, width) if channels == 1 else (height, width, channels)
    corners = np.sort(rng.uniform(0, 1, (5, 2, 2)), axis=1).reshape(5, 4) * [width, height, width, height]
    return Sample(
        rng.integers(0, 256, shape).astype(np.uint8), rng.integers(0, 9, (height, width)).astype(np.uint8), corners
    )


# Making examples is slow on a busy machine, which is no fault of theirs.
@settings(max_examples=200, suppress_health_check=[HealthCheck.too_slow])
@given(
    size=sizes,
    channels=st.sampled_from([1, 3]),
    transforms=st.lists(geometry | warps | values, max_size=5),
    key=st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 2**40), st.integers(0, 2**40)),
)
def test_chains_equal_their_steps(
    size: tuple[int, int], channels: int, transforms: list[Transform], key: tuple[int, int, int]
) -> None:
    sample = sample_of(*size, channels)
    seed, epoch, index = key

    image = apply(sample.image, transforms, seed=seed, epoch=epoch, id=index)
    mask = apply(sample.mask, transforms, seed=seed, epoch=epoch, id=index, field="mask")
    boxes = apply_boxes(sample.boxes, transforms, size=size, seed=seed, epoch=epoch, id=index)

    expected = run(sample, transforms, seed=seed, epoch=epoch, index=index)
    np.testing.assert_array_equal(image, expected.image)
    np.testing.assert_array_equal(mask, expected.mask)
    np.testing.assert_allclose(boxes, expected.boxes, atol=1e-2)
