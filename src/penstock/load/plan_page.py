"""Page of text that describes a loader's plan."""

from __future__ import annotations

from penstock.errors import printable
from penstock.load.cache_prediction import EpochPrediction, predict_epochs
from penstock.load.plan_values import PlanValues
from penstock.units import bytes_text, count_text

PREDICTED = 2  # epochs on the page: a cold one, and a warm one
MOST_SAMPLES = 2_000_000  # beyond that a page does not predict unasked: it would take seconds


def page_of(plan: PlanValues) -> str:
    """Return the page: samples, order, batches, cache, prediction, memory and reading."""
    sections = [_samples(plan), _order(plan), _cache(plan), _predicted(plan), _memory(plan), _reading(plan)]
    return "\n".join(line for section in sections for line in section)


def _line(name: str, text: str) -> str:
    return f"{name:<10} {text}"


def _samples(plan: PlanValues) -> list[str]:
    samples = plan.samples
    chosen = plan.order.num_samples
    total = int(samples.sizes[plan.order.selection].sum())
    of_all = "" if chosen == samples.num_samples else f" of {samples.num_samples:,}"
    return [_line("samples", f"{chosen:,}{of_all} from {printable(samples.place)}, {bytes_text(total)} encoded")]


def _order(plan: PlanValues) -> list[str]:
    order, chosen = plan.order, plan.options.ordering
    if plan.policy.owns_order:
        text = f"drawn by the cache, seed {order.seed}"
    elif not order.shuffle:
        text = "ascending ids, not shuffled"
    else:
        text = f"shuffled, seed {order.seed}, {count_text(order.lanes, 'lane')}"
        if order.window is not None:
            text += f", windows of {order.window.runs} runs of {order.window.run} samples"
    ranks = f", rank {chosen.rank} of {chosen.world_size}" if chosen.world_size > 1 else ""
    batches = f"{plan.num_batches:,} of {chosen.batch_size}{ranks}, {plan.memory.depth} under way at most"
    return [_line("order", text), _line("batches", batches)]


def _cache(plan: PlanValues) -> list[str]:
    name = plan.resources.cache
    if not plan.policy.keeps_samples:
        how = "the page cache holds what fits" if plan.policy.buffered else "every sample is read in every epoch"
        return [_line("cache", f"{name}: {how}")]
    formats = sorted(set(plan.cache_layout.chosen.values())) or [plan.options.caching.cache_format]
    held = f"{bytes_text(plan.memory.cache_bytes)} of samples, kept as {', '.join(formats)}"
    return [_line("cache", f"{name}: {held}")]


def _predicted(plan: PlanValues) -> list[str]:
    if plan.order.num_samples > MOST_SAMPLES:
        return [_line("predicted", "ask plan.predict(): this many samples take seconds")]
    lines = [
        _line("predicted" if not number else "", _epoch(one))
        for number, one in enumerate(predict_epochs(plan, range(PREDICTED)))
    ]
    if plan.unmeasured:
        lines.append(_line("", f"estimated: the loader measures {' and '.join(plan.unmeasured)} before it starts"))
    return lines


def _epoch(one: EpochPrediction) -> str:
    return f"epoch {one.epoch}: {one.hit_ratio:.1%} of samples from memory, {bytes_text(one.bytes_read)} read"


def _memory(plan: PlanValues) -> list[str]:
    memory, resources = plan.memory, plan.resources
    given = bytes_text(resources.memory_bytes) if resources.memory_bytes else "working memory only"
    rows = (
        ("reads", memory.reserved_read_bytes),
        ("decoding", memory.scratch_bytes),
        ("batches", memory.batch_bytes * memory.depth + memory.idle_bytes),
        ("waiting for batches", memory.open_bytes),
        ("cache", memory.cache_bytes),
    )
    table = [_line("", f"{name:<20} {bytes_text(value):>10}") for name, value in rows if value]
    return [_line("memory", f"{given}, {count_text(resources.threads, 'thread')}"), *table]


def _reading(plan: PlanValues) -> list[str]:
    reading, pattern = plan.options.reading, plan.reading["pattern"]
    how = "records in random order" if pattern == "random" else "runs of neighbouring records"
    text = f"{how} (from: {plan.reading['from']}), checksums {reading.verify}, decoding {reading.decode}"
    lines = [_line("reading", text)]
    if len(plan.header_ids):
        lines.append(_line("headers", f"{count_text(len(plan.header_ids), 'image header')} read for this plan"))
    return lines
