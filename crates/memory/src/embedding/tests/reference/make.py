"""Makes tiny.lhvec and vectors.json: a model of a few tokens, and what model2vec computes with it."""

import json
import os
import struct

import numpy as np
from model2vec import StaticModel
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

FOLDER = os.path.dirname(os.path.abspath(__file__))
TOKENS = """the login log ##in is broken fail ##s ##ed auth ##entication cache stale data ##base a b ! . , - _ ( ) cafe
naive http ##2 东 京 é ##er ##ing work 3 ##3 x""".split()
TEXTS = """Login is broken!
the authentication fails
Café, naïve: CAFÉ
stale_cache (data-base) HTTP2
working worker works worked
东京 login
unknownword the
x33 a.b
  the	cache
is	stale  """.split("\n")
DIMS = 12

vocabulary = {token: place for place, token in enumerate(["[UNK]", *dict.fromkeys(TOKENS)])}
tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
random = np.random.default_rng(7)
rows = random.integers(-127, 128, (len(vocabulary), DIMS)).astype(np.int8)
scale = random.uniform(0.001, 0.02, len(vocabulary)).astype(np.float32)
model = StaticModel(vectors=rows * scale[:, None], tokenizer=tokenizer, config={}, normalize=True)

kept = sorted((token for token in vocabulary if token != "[UNK]"), key=str.encode)
places = [vocabulary[token] for token in kept]
offsets = np.cumsum([0] + [len(token.encode()) for token in kept]).astype("<u4")
with open(os.path.join(FOLDER, "tiny.lhvec"), "wb") as file:
    file.write(b"LHVEC\0\0\1" + struct.pack("<4I", DIMS, len(kept), 4, int(offsets[-1])) + b"tiny" + offsets.tobytes())
    file.write("".join(kept).encode() + scale[places].astype("<f4").tobytes() + rows[places].tobytes())
vectors = [{"text": text, "vector": [round(float(value), 6) for value in model.encode(text)]} for text in TEXTS]
with open(os.path.join(FOLDER, "vectors.json"), "w", encoding="utf8") as file:
    json.dump(vectors, file, ensure_ascii=False, indent=1)
