import shutil

import pytest

from engine.spool import SPAN, STEPS, Frame, Spool, SpoolBusy


def _frames(*texts):
    return [Frame(SPAN, text.encode()) for text in texts]


def _all(spool):
    return [frame.payload.decode() for segment in spool.seal() for frame in spool.read(segment)]


def test_what_was_appended_is_read_back_in_order(tmp_path):
    spool = Spool(tmp_path)
    spool.append(_frames("a", "b"))
    spool.append([Frame(STEPS, b"c")])
    (segment,) = spool.seal()
    assert spool.read(segment) == [*_frames("a", "b"), Frame(STEPS, b"c")]


def test_open_segment_of_a_dead_process_is_found_at_the_next_start(tmp_path):
    spool = Spool(tmp_path / "before")
    spool.append(_frames("kept"))
    shutil.copytree(tmp_path / "before", tmp_path / "after")  # what a crash leaves on disk
    again = Spool(tmp_path / "after")
    again.append(_frames("new"))
    assert _all(again) == ["kept", "new"]


def test_frame_cut_off_by_a_crash_is_left_out(tmp_path):
    spool = Spool(tmp_path)
    spool.append(_frames("whole", "cut off"))
    (segment,) = spool.seal()
    segment.write_bytes(segment.read_bytes()[:-3])
    assert [f.payload for f in spool.read(segment)] == [b"whole"]


def test_damaged_frame_ends_the_reading(tmp_path):
    spool = Spool(tmp_path)
    spool.append(_frames("first", "second"))
    (segment,) = spool.seal()
    data = bytearray(segment.read_bytes())
    data[-1] ^= 1
    segment.write_bytes(data)
    assert [f.payload for f in spool.read(segment)] == [b"first"]


def test_removed_segment_is_gone_for_good(tmp_path):
    spool = Spool(tmp_path)
    spool.append(_frames("a"))
    spool.remove(spool.seal()[0])
    assert spool.seal() == []
    spool.close()
    assert _all(Spool(tmp_path)) == []


def test_full_spool_drops_the_oldest_and_counts_it(tmp_path):
    spool = Spool(tmp_path, max_bytes=3000, segment_bytes=500)
    for number in range(20):
        spool.append(_frames(f"{number:02d}" * 150))
    kept = _all(spool)
    assert spool.dropped_frames == 20 - len(kept)
    assert spool.dropped_frames > 0
    assert kept[-1].startswith("19")
    assert sum(path.stat().st_size for path in tmp_path.glob("*.seg")) <= 3000


def test_segments_rotate_at_their_size(tmp_path):
    spool = Spool(tmp_path, segment_bytes=100)
    for _ in range(3):
        spool.append(_frames("x" * 200))
    assert len(spool.seal()) == 3


def test_second_user_of_a_folder_is_refused_by_name(tmp_path):
    spool = Spool(tmp_path)
    with pytest.raises(SpoolBusy, match=str(tmp_path)):
        Spool(tmp_path)
    spool.close()
    Spool(tmp_path).close()
