"""
Words that are not used, and the words to use instead: in code, help, errors, docs, the page and the client. Words that
are used are in the glossary.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = (
    "src",
    "docs",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "web/src",
    "clients",
    "examples",
    "plugins",
    "bench",
    "tools",
)
SUFFIXES = {".py", ".sql", ".md", ".toml", ".ts", ".tsx"}
#: what was decided or stored then keeps its words
HISTORY = ("docs/decisions/", "src/gatepost/stores/migrations/")
BUILT = {"node_modules", "dist", "build"}

#: a pattern of what is not written, and what is written instead
BANNED = {
    r"errands?\b": "job",
    r"dead letters?\b": "unrouted message; `dead_letter` is only in the names of tools, requests and addresses",
    r"messages? that nobody (got|gets)": "unrouted message",
    r"undelivered messages?\b": "unrouted message",
    r"\bto be had\b": "available",
    r"\b(is|are) the most( there (is|are))?[\"']|\bthe most there is\b": "at most N, or over the limit of N",
    r"\bso many (bytes|seconds|tokens|tries|messages|times)\b": "the unit, in a comment of its own",
    r"\bgoes (only )?(with|without) (?=`|--|a time|skip)": "needs, or cannot be combined with",
    r"\b(does not go with|do not go together)\b": "cannot be combined with",
    r"\bis not such a\b": "the choices, or the range",
    r"\bhas not the\b": "lacks the",
    r"\brules of now\b": "the current rules",
    r"\bthere (still )?is nobody\b|\bthere is still nobody\b": "no agents yet, no recipient",
    r"\bcan be anybody\b": "must name the entity",
    r"\bnot done here\b": "no longer available",
    r"\bwhom it concerns instead\b": "what to do instead",
    r"\b(porch|household|herald|housekeeper|habits)\b": "the usual word of the trade: worker, options, bus",
    r"\bclass (Told|Heard|Called|Returned|Ended|Due)\b": "what happened to what: GateEnd, PlanDue",
    r"\bmost: int\b|\bmost=": "limit, or max_ and the noun",
    r"\bdef (told|held|kept|drawn|asked|given|found|whoever|stumble|living)\b": "a verb in the imperative",
}


def list_files() -> list[Path]:
    paths = [path for place in PLACES for path in [ROOT / place, *(ROOT / place).rglob("*")]]
    return [
        path
        for path in paths
        if path.suffix in SUFFIXES
        and path.is_file()
        and not BUILT & set(path.parts)
        and not path.relative_to(ROOT).as_posix().startswith(HISTORY)
    ]


def find_banned(text: str) -> list[str]:
    """Return each banned word in a text, which may be broken over lines, with what to use instead."""
    plain = re.sub(r"\s+(?:#:? |-- |\* )?", " ", text)
    return [
        f"{match[0]!r} in …{plain[max(0, match.start() - 30) : match.end() + 10]}…: write {instead}"
        for pattern, instead in BANNED.items()
        for match in re.finditer(pattern, plain, re.IGNORECASE)
    ]


def test_banned_words_are_not_used() -> None:
    files = list_files()
    assert len(files) > 500
    uses = [
        f"{path.relative_to(ROOT)}: {use}" for path in files for use in find_banned(path.read_text(encoding="utf-8"))
    ]
    assert uses == []


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("the rules of now", 1),
        ("    #: it may send so many\n    #: bytes more", 1),
        ("Dead\nletters are kept", 1),
        ('"`zone` goes with a time"', 1),
        ("def told(tx):", 1),
        ("list_dead_letters /api/routes/dead-letters ListDeadLetters", 0),
        ("a job, an unrouted message; the signal goes with it", 0),
    ],
)
def test_a_banned_word_is_found_over_lines_and_a_public_name_is_not(text: str, count: int) -> None:
    assert len(find_banned(text)) == count


def test_a_word_has_one_row_in_the_glossary() -> None:
    rows = re.findall(r"^\| ((?:\*\*[^*]+\*\*(?:, )?)+) \|", (ROOT / "docs" / "glossary.md").read_text(), re.MULTILINE)
    words = [word for row in rows for word in re.findall(r"\*\*([^*]+)\*\*", row)]
    assert len(words) > 60
    assert sorted(words) == sorted(set(words))
