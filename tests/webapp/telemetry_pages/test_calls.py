import re

import pytest

CALLS = "/p/search/calls/"


def test_stranger_gets_404(stranger_client, filled):
    call, trace_id = filled
    for path in (CALLS, f"{CALLS}{call.trace_id}-{call.span_id}/", f"/p/search/traces/{trace_id}/"):
        assert stranger_client.get(path).status_code == 404


def test_signed_out_reader_is_sent_to_sign_in(client, project):
    answer = client.get(CALLS)
    assert answer.status_code == 302
    assert answer.url.startswith("/sign-in/")


def test_viewer_and_owner_see_the_calls(viewer_client, owner_client, filled):
    for client in (viewer_client, owner_client):
        text = client.get(CALLS + "?range=30d").content.decode()
        assert text.count('scope="row"') == 50
        assert "SmolLM2-135M-Instruct" in text


def test_call_of_another_project_is_404(stranger_client, filled):
    call, _ = filled
    path = f"/p/other/calls/{call.trace_id}-{call.span_id}/"
    assert stranger_client.get(path).status_code == 404


def test_next_page_starts_where_this_one_ends(owner_client, filled):
    seen, url = [], CALLS + "?range=30d"
    while url:
        text = owner_client.get(url).content.decode()
        seen += re.findall(r'href="/p/search/calls/([0-9a-f-]+)/"', text)
        found = re.search(r'href="(\?[^"]*cursor=[^"]*)"[^>]*>Next page', text)
        url = CALLS + found[1].replace("&amp;", "&") if found else ""
    assert len(seen) == len(set(seen)) >= 302


def test_sorting_is_in_the_url_and_in_the_head(owner_client, filled):
    text = owner_client.get(CALLS + "?range=30d&sort=-cost").content.decode()
    assert re.search(r'aria-sort="descending"><a href="\?range=30d&amp;sort=cost"', text)


def test_htmx_gets_the_region_only(owner_client, filled):
    answer = owner_client.get(CALLS + "?range=30d", headers={"HX-Request": "true"})
    text = answer.content.decode()
    assert "<html" not in text
    assert "<table" in text
    assert "HX-Request" in answer["Vary"]


def test_status_narrows_the_list(owner_client, filled):
    text = owner_client.get(CALLS + "?range=30d&status=cancelled").content.decode()
    statuses = set(re.findall(r'<span class="badge [a-z]+">([a-z]+)</span>', text))
    assert statuses == {"cancelled"}


@pytest.mark.parametrize("query", ["status=x", "sort=x", "cursor=x"])
def test_senseless_parameters_are_a_400(owner_client, project, query):
    assert owner_client.get(f"{CALLS}?{query}").status_code == 400


def test_list_needs_few_queries(owner_client, filled, django_assert_max_num_queries):
    with django_assert_max_num_queries(24):
        owner_client.get(CALLS + "?range=30d")


def test_empty_project_shows_how_to_send_the_first_call(owner_client, project):
    text = owner_client.get(CALLS).content.decode()
    assert "No call has arrived yet" in text
    assert "OTEL_EXPORTER_OTLP_ENDPOINT" in text


def test_filters_that_exclude_everything_can_be_cleared(owner_client, filled):
    text = owner_client.get(CALLS + "?range=30d&team=nobody").content.decode()
    assert "No call matches these filters" in text
    assert 'href="?range=30d"' in text


def test_a_pasted_id_leads_to_its_call_or_trace(owner_client, stranger_client, filled):
    call, trace_id = filled
    answer = owner_client.get(CALLS + "open/", {"id": f" {call.trace_id}-{call.span_id}".upper()})
    assert answer.url == f"{CALLS}{call.trace_id}-{call.span_id}/"
    answer = owner_client.get(CALLS + "open/", {"id": trace_id})
    assert answer.url == f"/p/search/traces/{trace_id}/"
    assert owner_client.get(CALLS + "open/", {"id": "hello"}).status_code == 400
    assert stranger_client.get(CALLS + "open/", {"id": trace_id}).status_code == 404


def test_a_session_shows_as_a_chip_that_can_be_removed(owner_client, filled):
    call, _ = filled
    text = owner_client.get(f"{CALLS}?range=30d&session={call.session_id}").content.decode()
    assert f"session: <b>{call.session_id}</b>" in text
    assert 'class="chip" href="?range=30d"' in text
