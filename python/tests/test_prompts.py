"""experiments/figures/prompts.py writes the tasks that its page describes, and joins pieces as SentencePiece does."""

import importlib.util
import pathlib
import random

SCRIPT = pathlib.Path(__file__).parents[2] / "experiments" / "figures" / "prompts.py"
spec = importlib.util.spec_from_file_location("prompts", SCRIPT)
prompts = importlib.util.module_from_spec(spec)
spec.loader.exec_module(prompts)


def characters(text):
    """A tokenizer with an id for each character, behind a first token."""
    return [0] + [ord(c) for c in text]


def test_the_best_join_comes_first():
    pieces = ["<b>", "a", "b", "c", "ab", "bc", "abc", "\n\n", "\n", "\u2581", "\u2581a", "<0xC3>", "<0xA9>"]
    scores = [0, 0, 0, 0, -2, -1, -3, 0, 0, 0, -1, 0, 0]
    ids = prompts.Scores(pieces, scores, ["\n\n"], [0]).ids
    names = lambda text: [pieces[i] for i in ids(text)[1:]]
    assert ids("")[:1] == [0]
    assert names("abc") == ["abc"]  # bc, then a + bc
    assert names("abab") == ["ab", "ab"]
    assert names("bca b") == ["bc", "a", "\u2581", "b"]
    assert names("b a") == ["b", "\u2581a"]
    assert names("a\n\n\nb") == ["a", "\n\n", "\n", "b"]  # a user-defined piece is whole
    assert names("\u00e9") == ["<0xC3>", "<0xA9>"]


def test_answers_are_where_the_tasks_say():
    for task, n in ((prompts.retrieval, 8), (prompts.maximum, 4)):
        head, questions = task(random.Random(1), n, 3)
        ids, answers = prompts.asked(characters, head, questions)
        text = "".join(chr(i) for i in ids[1:])
        assert len(questions) == len(answers) == 3
        for (question, answer, _), place in zip(questions, answers):
            begin, end = map(int, place.split("-"))
            assert text[begin - 1 : end - 1] == answer
            assert text[: begin - 1].endswith(question)
            if task is prompts.retrieval:
                assert head.count(question[1:] + answer + ".") == 1
            else:
                numbers = [int(x) for x in question.split(":")[1].split("\n")[0].split(",")]
                assert len(numbers) == n and max(numbers) == int(answer)


def test_a_line_of_tasks_has_five_columns(tmp_path):
    text = tmp_path / "a.txt"
    text.write_text("x" * 2000)
    lines = [line.split("\t") for line in prompts.language(characters, [str(text)], [2, 1, 1, 2, 1], 1)]
    assert [line[:3] for line in lines[:3]] == [["a.txt", "512", "text"], ["retrieval", "8", "questions"], ["retrieval", "8", "questions"]]
    assert len(lines) == 8
    parts = lines[0][3].split(",")
    assert parts[0] == "1-65" and parts[-1] == "385-449" and len(parts) == 4
    assert lines[1][4] != lines[2][4]
    other = [line.split("\t") for line in prompts.language(characters, [str(text)], [2, 1, 1, 2, 1], 2)]
    assert other[0] == lines[0] and all(mine[4] != line[4] for mine, line in zip(other[1:], lines[1:]))


def test_the_question_of_figure_3_grows_from_one_list():
    questions = ["".join(map(chr, ids[1:])) for ids in prompts.figure_3(characters, 512)]
    counts = [question.count(",") + 1 for question in questions]
    assert counts == [2, 4, 8, 16, 32, 64, 128, 256, 512]
    assert questions[1].startswith(questions[0].removesuffix("? The maximum is:"))
