"""Rules for the language of docstrings, messages and pages.

Each rule takes text and yields the complaints about it; `scripts/language.py` finds the text in files. The word lists
lie in `scripts/words`, one word per line:

- `dangling.txt`: first words that continue a sentence begun elsewhere, so the line means nothing in a tooltip;
- `verbs.txt`: imperatives that the docstring of a function may begin with;
- `plain.txt`: words that the docstrings of Python's library and of at least two packages of the field use;
- `field.txt`: names and terms of the field that `plain.txt` lacks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

WORDS = Path(__file__).resolve().parent / "words"
MAX_SENTENCE_WORDS = 40
MIN_SUMMARY_WORDS = 3


# Phrases of a private dialect, each with what to write instead.
DIALECT = (
    (r"\bnobody\b", "no one, or name who"),
    (r"\bsomebody\b", "someone, or name who"),
    (r"\bwhoever\b", "name who: a caller, a thread, a user"),
    (r"\banew\b", "again"),
    (r"\bin silence\b", "silently"),
    (r"\bhates? seeking\b", "has slow random reads"),
    (r"\b(?:can|could|cannot|can't|to) (?:not )?be had\b", "is available, failed to load"),
    (r"\bwithout further ado\b", "leave it out"),
    (r"\bthe model eats\b", "training throughput"),
    (r"\bthere (?:is|are|was|were) (?-i:none)\b", "name what is missing"),
    (r"\b(?:is|are|was|were) (?-i:none)\b", "does not exist, is not a …"),
    (
        r"(?<!there )\b(?:is|are|was|were) no (?!(?:longer|more|less|such|fewer|greater|larger|smaller)\b)\w+",
        "is not a …",
    ),
    (r"\bof (?:theirs|ours)\b", "its, our"),
    (r"\ban? \w+ a (?:sample|batch|row|image|file|format|field|epoch)\b", "one … per …"),
    (r"\bin turns\b", "interleaved, alternately"),
    (r"\bno sooner\b", "only after"),
    (r"\bbut for\b", "except for"),
    (r"\bsave for\b", "except for"),
)


@cache
def word_list(name: str) -> frozenset[str]:
    """Load the words of a file beside this module, one per line."""
    return frozenset((WORDS / f"{name}.txt").read_text(encoding="utf-8").split())


def summary_problems(summary: str, *, is_function: bool) -> Iterator[str]:
    """Check that the first line of a docstring stands alone in a tooltip.

    >>> list(summary_problems("Of one sample of a batch.", is_function=False))
    ["begins with 'Of', which continues another sentence"]
    >>> list(summary_problems("Bytes of one decoded sample.", is_function=True))
    ["begins with 'Bytes', which is not a verb in the imperative"]
    >>> list(summary_problems("Return the bytes of one decoded sample.", is_function=True))
    []
    """
    text = summary.strip()
    if "?" in text and not is_function:
        return  # a benchmark states its question
    if not text.endswith("."):
        yield "does not end with a period"
    words = re.findall(r"`[^`]*`|[^\s`]+", text)
    first = words[0] if words else ""
    plain = first.strip(".,:;()").lower()
    if plain in word_list("dangling"):
        yield f"begins with {first!r}, which continues another sentence"
    elif is_function and plain not in word_list("verbs"):
        yield f"begins with {first!r}, which is not a verb in the imperative"
    if len(words) < MIN_SUMMARY_WORDS:
        yield f"has {len(words)} words, too few to stand alone"


def prose_problems(text: str) -> Iterator[str]:
    """Check text for long sentences and for phrases of our own dialect.

    >>> list(prose_problems("Nobody reads it."))
    ["'Nobody': write no one, or name who"]
    >>> list(prose_problems("word " * 41 + "end."))
    ["sentence of 42 words: 'word word word word word word …'"]
    """
    for pattern, instead in DIALECT:
        for match in re.finditer(pattern, text, flags=re.IGNORECASE):
            yield f"{match[0]!r}: write {instead}"
    for sentence in sentences(text):
        words = sentence.split()
        if len(words) > MAX_SENTENCE_WORDS:
            yield f"sentence of {len(words)} words: '{' '.join(words[:6])} …'"


def sentences(text: str) -> list[str]:
    """Split text into sentences, at a full stop, question mark, colon or semicolon that ends a clause.

    >>> sentences("Read 4.5 MB. Decode them; then stop.")
    ['Read 4.5 MB', 'Decode them', 'then stop.']
    """
    return re.split(r"[.!?;:][)\"'*]*\s+", text.strip())


def help_problems(text: str) -> Iterator[str]:
    """Check the help text of an option: a phrase that stands alone, with a capital and a period.

    >>> list(help_problems("As weir:fast=0.6."))
    ["begins with 'As', which continues another sentence"]
    """
    words = text.split()
    first = words[0].strip(".,:;()") if words else ""
    if first.lower() in word_list("dangling") and not text.startswith("What to "):
        yield f"begins with {first!r}, which continues another sentence"
    if first[:1].islower() or not text.rstrip().endswith((".", ".)")):
        yield "does not begin with a capital and end with a period"


def unknown_terms(text: str, glossary: frozenset[str]) -> set[str]:
    """Return words that are in neither the plain word lists nor the glossary.

    >>> sorted(unknown_terms("Flumes carry the data of a weir", frozenset({"weir"})))
    ['flumes']
    """
    known = word_list("plain") | word_list("field") | glossary
    found = re.findall(r"(?<![\w.'’/-])[A-Za-z]?[a-z]{2,}(?![\w'’/]|\.\w)", text)
    return {word for word in map(str.lower, found) if not any(stem in known for stem in _stems(word))}


def _stems(word: str) -> Iterator[str]:
    """Yield a word and what remains of it without an ending."""
    yield word
    endings = (
        "s",
        "es",
        "ed",
        "ed:e",
        "d",
        "ing",
        "ing:e",
        "ies:y",
        "ied:y",
        "er",
        "er:e",
        "r",
        "ly",
        "est",
        "est:e",
        "n",
    )
    for ending, _, instead in (item.partition(":") for item in endings):
        if word.endswith(ending):
            yield word.removesuffix(ending) + instead
    for double in ("ed", "ing", "er"):
        stem = word.removesuffix(double)
        if stem != word and stem[-2:-1] == stem[-1:]:
            yield stem[:-1]
