import re
from pathlib import Path

import pytest

CSS = (Path(__file__).parents[3] / "webapp/ui/static/ui/tokens.css").read_text()


def colours(block):
    return dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6});", block))


LIGHT = colours(CSS[CSS.index(":root {") : CSS.index("@media")])
BY_SYSTEM = colours(CSS[CSS.index("@media") : CSS.index(':root[data-theme="dark"]')])
DARK = colours(CSS[CSS.index(':root[data-theme="dark"]') :])
TEXTS = ("--text", "--text-muted", "--accent-text", "--good", "--bad", "--warn")


def luminance(colour):
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_dark_by_choice_and_by_the_system_are_the_same():
    assert BY_SYSTEM == DARK


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("text", TEXTS)
def test_text_is_readable_on_every_surface(theme, text):
    for surface in ("--surface", "--surface-2", "--page"):
        assert contrast(theme[text], theme[surface]) >= 4.5, surface


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("tone", ["good", "bad", "warn"])
def test_badges_are_readable(theme, tone):
    assert contrast(theme[f"--{tone}"], theme[f"--{tone}-soft"]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_buttons_are_readable(theme):
    assert contrast(theme["--on-accent"], theme["--accent"]) >= 4.5
    assert contrast(theme["--accent-text"], theme["--accent-soft"]) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_series_borders_and_marks_stand_out(theme):
    graphics = [f"--series-{slot}" for slot in range(1, 7)]
    for name in (*graphics, "--series-other", "--border-strong", "--stall", "--accent"):
        assert contrast(theme[name], theme["--surface"]) >= 3, name
