"""Ids of tokens for softcheck run spreads, figure-3 and adaptive-language, by the tokenizer in a GGUF file of ./run models.

    prompts.py FILE.gguf text TEXT TOKENS             the first ids of a text file, one line
    prompts.py FILE.gguf figure-3 LARGEST             the paper's question about 2, 4, 8, ... numbers, a line each
    prompts.py FILE.gguf language CONTEXTS SEED TEXT...  tasks; CONTEXTS has a number for each of TASKS, as 6,4,0,0,0

Needs gguf and tokenizers of PyPI; prints to standard output. Gemma's tokenizer joins the pair of pieces with the largest
score first; SmolLM2's is a byte-level BPE.
"""

import heapq
import random
import re
import sys

FIGURE_SEED = 1
USER_DEFINED = 4  # llama_token_type of llama.cpp


class Scores:
    """SentencePiece's BPE: of the pieces side by side, the best join first; user-defined pieces are never cut."""

    def __init__(self, pieces, scores, whole, begin):
        self.pieces, self.begin, self.scores = {piece: i for i, piece in enumerate(pieces)}, begin, scores
        self.whole = re.compile("(" + "|".join(map(re.escape, sorted(whole, key=len, reverse=True))) + ")")

    def ids(self, text):
        found = list(self.begin)
        for i, part in enumerate(self.whole.split(text)):
            found += [self.pieces[part]] if i % 2 else self.joined(part.replace(" ", "\u2581"))
        return found

    def joined(self, text):
        pieces = list(text)
        before, after = list(range(-1, len(pieces) - 1)), [*range(1, len(pieces)), -1]
        heap = []

        def offer(i):
            if i >= 0 and after[i] >= 0 and (joined := self.pieces.get(pieces[i] + pieces[after[i]])) is not None:
                heapq.heappush(heap, (-self.scores[joined], i, pieces[i], pieces[after[i]]))

        for i in range(len(pieces)):
            offer(i)
        while heap:
            _, i, left, right = heapq.heappop(heap)
            if pieces[i] != left or after[i] < 0 or pieces[after[i]] != right:
                continue
            gone = after[i]
            pieces[i], pieces[gone], after[i] = left + right, None, after[gone]
            if after[i] >= 0:
                before[after[i]] = i
            offer(before[i])
            offer(i)
        found = [[self.pieces[p]] if p in self.pieces else [self.pieces[f"<0x{b:02X}>"] for b in p.encode()] for p in pieces if p is not None]
        return [i for each in found for i in each]


def tokenizer_of(path):
    from gguf import GGUFReader

    fields = GGUFReader(path).fields
    key = lambda name: fields["tokenizer.ggml." + name].contents()
    pieces = key("tokens")
    if key("model") == "llama":
        whole = [piece for piece, kind in zip(pieces, key("token_type")) if kind == USER_DEFINED]
        return Scores(pieces, key("scores"), whole, [key("bos_token_id")]).ids
    from tokenizers import Tokenizer, models, pre_tokenizers

    bpe = Tokenizer(models.BPE({piece: i for i, piece in enumerate(pieces)}, [tuple(pair.split(" ")) for pair in key("merges")]))
    bpe.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return lambda text: bpe.encode(text).ids


def numbers(rng, count, least=10):
    return [rng.randrange(least, 1000) for _ in range(count)]


def figure_3(tokens, largest):
    drawn = numbers(random.Random(f"figure_3 0 {FIGURE_SEED}"), largest)
    n = 2
    while n <= largest:
        yield tokens(f"What is the maximum in the following sequence: {', '.join(map(str, drawn[:n]))}? The maximum is:")
        n *= 2


def word(rng):
    return "".join(rng.choice("bdfgklmnprstvz") + rng.choice("aeiou") for _ in range(rng.randrange(2, 4)))


def retrieval(rng, n, questions):
    """n lines that name the code of an invented word, then questions about some of them."""
    words = []
    while len(words) < n:
        words += [w for w in [word(rng)] if w not in words]
    codes = numbers(rng, n, 100)
    head = "\n".join(f"The code of {w} is {code}." for w, code in zip(words, codes))
    return head, [(f"\nThe code of {words[i]} is", f" {codes[i]}", ".") for i in rng.sample(range(n), min(n, questions))]


def maximum(rng, n, questions):
    """Three solved examples of 3 to 8 numbers, then questions about n."""
    examples = [numbers(rng, rng.randrange(3, 9)) for _ in range(3)]
    head = "".join(f"Sequence: {', '.join(map(str, x))}\nMaximum: {max(x)}\n\n" for x in examples)
    asked = [numbers(rng, n) for _ in range(questions)]
    return head, [(f"Sequence: {', '.join(map(str, x))}\nMaximum:", f" {max(x)}", "\n\n") for x in asked]


def asked(tokens, head, questions):
    """The ids of a text in which each question follows the true answers of those before it, and where the answers are."""
    text, answers = head, []
    for question, answer, behind in questions:
        begin = len(tokens(text + question))
        end = len(tokens(text + question + answer))
        answers.append(f"{begin}-{end}")
        text += question + answer + behind
    ids = tokens(text)
    return ids, answers


TASKS = [(retrieval, 8, 8), (retrieval, 32, 8), (retrieval, 128, 8), (maximum, 4, 8), (maximum, 16, 4)]
TEXT_TOKENS, PART = 512, 64


def language(tokens, texts, contexts, seed):
    for name in texts:
        ids = tokens(open(name, encoding="utf-8").read())[:TEXT_TOKENS]
        parts = [f"{begin}-{begin + PART}" for begin in range(1, len(ids) - PART + 1, 2 * PART)]  # half of them: a large vocabulary takes time
        yield "\t".join([name.rsplit("/", 1)[-1], str(len(ids)), "text", ",".join(parts), " ".join(map(str, ids))])
    for (task, n, questions), count in zip(TASKS, contexts):
        for context in range(count):
            ids, answers = asked(tokens, *task(random.Random(f"{task.__name__} {n} {context} {seed}"), n, questions))
            yield "\t".join([task.__name__, str(n), "questions", ",".join(answers), " ".join(map(str, ids))])


if __name__ == "__main__":
    path, what, *rest = sys.argv[1:]
    tokens = tokenizer_of(path)
    if what == "text":
        print(*tokens(open(rest[0], encoding="utf-8").read())[: int(rest[1])])
    elif what == "figure-3":
        for ids in figure_3(tokens, int(rest[0])):
            print(*ids)
    elif what == "language":
        for line in language(tokens, rest[2:], map(int, rest[0].split(",")), int(rest[1])):
            print(line)
    else:
        sys.exit(f"prompts.py: need text, figure-3 or language, got '{what}'")
