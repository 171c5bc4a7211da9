"""Errors in the words of the command line: options instead of Python's arguments, and what went wrong in a user's own code."""

from __future__ import annotations

import re
import traceback

# Arguments that have an option of their own, and the option.
OPTIONS = {
    "num_threads": "--threads",
    **{
        name: f"--{name.replace('_', '-')}"
        for name in (
            "batch",
            "confidence",
            "draws",
            "early_stopping_rounds",
            "epochs",
            "l2",
            "learning_rate",
            "n_estimators",
            "num_leaves",
            "optimizer",
            "seed",
            "start_from",
            "trials",
            "valid_share",
        )
    },
}
READ = (
    "absent",
    "document_column",
    "index_base",
    "label_column",
    "max_features",
    "n_features",
    "query_column",
    "query_weight_column",
    "scattered",
    "sizes",
    "weight_column",
)
SET = ("C", "query_norm", "rate_rule", "restart_rounds", "tolerance")
VALUE = r"(?P<value>'[^']*'|[^\s;,:]+)"
RANGES = re.compile(r"trial \d+ with |.* was begun with another ")  # a range gave the value, and no option
ASIDE = re.compile(r" \(podium\.[^)]*\)")  # (podium.read_scores reads scores): for those who write Python
NOTES = ("In the force of ", "In the cost of ", "In the module ")


def as_options(sentence: str, command: str = "") -> str:
    """The sentence of an error with options where it speaks of Python's arguments."""
    if RANGES.match(sentence):
        return sentence
    rest = ASIDE.sub("", sentence)
    never = "0 for never" if "early_stopping_rounds=" in rest else "none for never"
    valid = "--valid-share SHARE" if command == "cv" else "--valid FILE"
    said = {"None for never": never, "give format=…": "give --format …", "give valid=": f"give {valid}"}
    for words, others in said.items():
        rest = rest.replace(words, others)
    if command == "data":  # of convert, which names two formats
        rest = rest.replace(
            "the name does not say the format; give --format …", "the name does not say the format; give --to …"
        )
    rest = _named(OPTIONS, r"{flag} {value}", rest)
    rest = _named(dict.fromkeys(READ, "--read"), r"{flag} {name}={value}", rest)
    return _named(dict.fromkeys(SET, "--set"), r"{flag} {name}={value}", rest, only_first=True)


def _named(flags: dict[str, str], template: str, sentence: str, *, only_first: bool = False) -> str:
    """`name=value` as the template says, but not inside brackets or quotes, where it is part of a name."""
    begin = "^" if only_first else r"(?<!\S)"
    pattern = rf"{begin}(?P<name>{'|'.join(flags)})={VALUE}"

    def changed(found: re.Match[str]) -> str:
        inside = sentence[: found.start()].count("(") > sentence[: found.start()].count(")")
        value = found["value"].strip("'")
        flag = flags[found["name"]]
        return found[0] if inside else template.format(flag=flag, name=found["name"], value=value)

    return re.sub(pattern, changed, sentence)


def own_code_error(error: BaseException) -> str | None:
    """What a user's own function or module raised: its frames and its message, without ours; None for other errors."""
    notes = [note for note in getattr(error, "__notes__", ()) if note.startswith(NOTES)]
    if not notes:
        return None
    frames = traceback.extract_tb(error.__traceback__)
    ours = [
        k for k, frame in enumerate(frames) if "/podium/" in frame.filename or frame.filename.startswith("<frozen ")
    ]
    last = max(ours, default=-1) + 1
    lines = traceback.format_list(frames[last:]) + traceback.format_exception_only(error)
    kept = [line for line in "".join(lines).splitlines() if line not in notes]
    return "\n".join([f"{notes[0]}:", *kept])
