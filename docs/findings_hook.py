"""A hook of MkDocs: each finding of the field's pages gets a picture, what a library returned beside the exact result."""

import html
import math
import re

FINDING = re.compile(r"^\[Program\]\(.*?\): `(?P<what>.*)` is (?P<got>.*), exact (?P<exact>.*)$", re.M)
LEFT, WIDTH, CELL, ROW = 52, 380, 64, 26
COLOURS = {"got": "#e4572e", "exact": "#4f8bd6"}


def values_of(text):
    """Its numbers, or None where it says something else: "signal 11", "undefined: no key"."""
    words = re.findall(r"[^\s,\[\]]+", re.split(r": | \(| or ", text)[0])
    try:
        return [float(word) for word in words if word != "throughout"] or None
    except ValueError:
        return None


def label(x, y, text, attributes=""):
    return f'<text x="{x}" y="{y + 17}" fill="currentColor" {attributes}>{html.escape(text)}</text>'


def box(x, y, width, colour, fill="0.85"):
    return f'<rect x="{x:.1f}" y="{y + 3}" width="{width:.1f}" height="{ROW - 6}" rx="2" fill="{colour}" fill-opacity="{fill}" stroke="{colour}"/>'


def bar(y, value, other, colour):
    """A number as a bar from 0. Where two numbers are close, the bars begin at a gap: what is left shows the difference."""
    room, size, gap = WIDTH - LEFT - 96, abs(value), ""
    small, large = sorted((size, abs(other)))
    if math.isnan(value):
        return box(LEFT, y, room, colour, "0") + label(LEFT + room + 6, y, "NaN")
    if not math.isfinite(value) or not math.isfinite(other):
        part = 1 if math.isinf(value) else 0.3 if value else 0
    elif value * other > 0 and small < large < 1.1 * small:
        part = 0.4 + 0.5 * (size - small) / (large - small)
        gap = f'<path d="M{LEFT + 20} {y + ROW} l5 -{ROW} m4 0 l-5 {ROW}" stroke="currentColor" fill="none"/>'
    else:
        part = 0.9 * size / (large or 1)
    return (box(LEFT, y, part * room, colour) if part else "") + gap + label(LEFT + part * room + 6, y, f"{value:.9g}")


def cells(y, values, others, colour):
    """A row of numbers; those that differ from the other row are filled."""
    shown = ""
    for i, (value, other) in enumerate(zip(values[:5], others)):
        same = value == other or math.isnan(value) and math.isnan(other)
        shown += box(LEFT + i * CELL, y, CELL - 4, colour, "0" if same else "0.45")
        shown += label(LEFT + i * CELL + (CELL - 4) / 2, y, f"{value:.3g}".replace("nan", "NaN"), 'text-anchor="middle"')
    return shown


def picture(got, exact):
    """The picture of two results as printed; "" where neither has a number."""
    numbers = {"got": values_of(got), "exact": values_of(exact)}
    if not any(numbers.values()):
        return ""
    if exact.split()[1:2] == ["throughout:"] and numbers["got"]:
        numbers["exact"] *= len(numbers["got"])
    drawn = ""
    for y, name, text, other in ((0, "got", got, "exact"), (ROW, "exact", exact, "got")):
        own, beside = numbers[name], numbers[other]
        drawn += label(0, y, name)
        if own is None:
            drawn += label(LEFT, y, text.split(": ")[0])
        elif len(own) == 1 and (beside is None or len(beside) == 1):
            drawn += bar(y, own[0], beside[0] if beside else own[0], COLOURS[name])
        else:
            drawn += cells(y, own, (beside or []) + [math.inf] * len(own), COLOURS[name])
    said = html.escape(f"got {got}, exact {exact}")
    style = "display:block;max-width:38em;width:100%"
    return f'<svg viewBox="0 0 {WIDTH} {2 * ROW}" role="img" aria-label="{said}" font-size="13" style="{style}">{drawn}</svg>'


def on_page_markdown(markdown, page, config, files):
    def with_picture(finding):
        drawn = picture(finding["got"], finding["exact"])
        return finding[0] + (f'\n\n<figure class="finding" style="margin-left:0;text-align:left">{drawn}</figure>\n' if drawn else "")

    return FINDING.sub(with_picture, markdown)
