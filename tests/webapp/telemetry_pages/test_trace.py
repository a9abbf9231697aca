import re


def bars(text):
    found = re.findall(r'data-bar x="([\d.]+)%" y="6" width="([\d.]+)%"', text)
    return [(float(x), float(width)) for x, width in found]


def test_trace_shows_every_span_inside_the_lane(owner_client, filled):
    _, trace_id = filled
    text = owner_client.get(f"/p/search/traces/{trace_id}/").content.decode()
    assert len(bars(text)) == 6
    assert all(x >= 0 and x + width <= 100.001 for x, width in bars(text))


def test_children_stand_below_their_parent(owner_client, filled):
    _, trace_id = filled
    text = owner_client.get(f"/p/search/traces/{trace_id}/").content.decode()
    levels = re.findall(r"wf-name indent-(\d)", text)
    assert levels == ["0", "1", "1", "1", "2", "1"]


def test_unknown_trace_is_404(owner_client, project):
    assert owner_client.get(f"/p/search/traces/{'0' * 32}/").status_code == 404
    assert owner_client.get("/p/search/traces/nonsense/").status_code == 404
