"""A request's body, decompressed, never larger than allowed."""

import gzip
import zlib
from collections.abc import Iterator
from io import BytesIO

import zstandard
from django.http import HttpRequest

_CHUNK = 1 << 16
ENCODINGS = ("identity", "gzip", "deflate", "zstd")


class Refused(Exception):
    """A body that is not taken: the status to answer, and a sentence for its sender."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


def body_of(request: HttpRequest, *, most_bytes: int) -> bytes:
    """The body as it was before compression; Refused where it is too large or broken."""
    encoding = request.headers.get("Content-Encoding", "identity").strip().lower() or "identity"
    if encoding not in ENCODINGS:
        allowed = ", ".join(ENCODINGS)
        raise Refused(415, f"Content-Encoding {encoding[:40]!r} is not known; use {allowed}.")
    raw = _read(request, most_bytes)
    if encoding == "identity":
        return raw
    parts, size = [], 0
    try:
        for part in _DECODERS[encoding](raw):
            size += len(part)
            if size > most_bytes:
                raise _too_large(most_bytes)
            parts.append(part)
    except (OSError, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise Refused(400, f"The body is not valid {encoding}: {error}.") from error
    return b"".join(parts)


def _read(request: HttpRequest, most_bytes: int) -> bytes:
    # The stream and not `request.body`: Django's own cap is meant for forms.
    raw = request.read(most_bytes + 1)
    if len(raw) > most_bytes:
        raise _too_large(most_bytes)
    return bytes(raw)


def _too_large(most_bytes: int) -> Refused:
    return Refused(413, f"The body is larger than {most_bytes:,} bytes; send smaller batches.")


def _gunzip(raw: bytes) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=BytesIO(raw)) as file:
        while part := file.read(_CHUNK):
            yield part


def _inflate(raw: bytes) -> Iterator[bytes]:
    # Some clients send the bare stream where the standard means the one in a zlib envelope.
    bare = not raw or raw[0] & 0x0F != 8
    inflater = zlib.decompressobj(-zlib.MAX_WBITS if bare else zlib.MAX_WBITS)
    rest = raw
    while rest:
        yield inflater.decompress(rest, _CHUNK)
        rest = inflater.unconsumed_tail
    if not inflater.eof:
        raise zlib.error("it ends too early")


def _unzstd(raw: bytes) -> Iterator[bytes]:
    with zstandard.ZstdDecompressor().stream_reader(BytesIO(raw)) as reader:
        while part := reader.read(_CHUNK):
            yield part


_DECODERS = {"gzip": _gunzip, "deflate": _inflate, "zstd": _unzstd}
