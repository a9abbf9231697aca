import pytest

from engine.text import TextStream, fast_decoder
from engine.tiny import byte_tokenizer

TOKENIZER = byte_tokenizer()


def _ids(text):
    return TOKENIZER.backend_tokenizer.encode(text, add_special_tokens=False).ids


def _stream(stop=()):
    return TextStream(fast_decoder(TOKENIZER), stop)


def _pieces(text, stop=()):
    stream = _stream(stop)
    pieces = []
    for token in _ids(text):
        pieces.append(stream.push([token]))
        if stream.stopped:
            return pieces, stream
    pieces.append(stream.finish())
    return pieces, stream


@pytest.mark.parametrize(
    "text", ["plain", "naïve café", "日本語のテキスト", "a🙂b🙃c", "tab\tline\n"]
)
def test_text_comes_out_whole_and_no_piece_holds_half_a_character(text):
    pieces, _ = _pieces(text)
    assert "".join(pieces) == text
    assert not any("\ufffd" in piece for piece in pieces)


def test_a_character_leaves_with_its_last_byte():
    pieces, _ = _pieces("é")
    assert pieces == ["", "é", ""]


def test_long_text_is_decoded_in_windows_without_loss():
    text = "zażółć gęślą jaźń — " * 40
    pieces, _ = _pieces(text)
    assert "".join(pieces) == text


def test_bytes_that_never_become_a_character_are_shown_as_marks():
    stream = _stream()
    lead = _ids("é")[0]
    out = "".join(stream.push([lead]) for _ in range(6)) + stream.finish()
    assert out == "\ufffd" * 6


def test_special_tokens_are_not_text():
    stream = _stream()
    assert stream.push([*_ids("hi"), TOKENIZER.eos_token_id]) + stream.finish() == "hi"


def test_stop_string_across_tokens_ends_the_text_before_it():
    pieces, stream = _pieces("one two END three", stop=("END",))
    assert "".join(pieces) == "one two "
    assert stream.stopped


def test_start_of_a_stop_string_is_held_until_it_is_ruled_out():
    pieces, stream = _pieces("an ENgine", stop=("END",))
    assert pieces[3:6] == ["", "", "ENg"]
    assert "".join(pieces) == "an ENgine"
    assert not stream.stopped


def test_held_start_of_a_stop_string_comes_out_at_the_end():
    pieces, _ = _pieces("the EN", stop=("END",))
    assert "".join(pieces) == "the EN"


def test_earliest_of_several_stop_strings_wins():
    pieces, _ = _pieces("abcXdY", stop=("Y", "X"))
    assert "".join(pieces) == "abc"


def test_overlapping_start_of_a_stop_string_is_found():
    pieces, stream = _pieces("aab", stop=("ab",))
    assert "".join(pieces) == "a"
    assert stream.stopped


def test_stop_string_of_a_multi_byte_character():
    pieces, _ = _pieces("stop 🙂 here", stop=("🙂",))
    assert "".join(pieces) == "stop "
