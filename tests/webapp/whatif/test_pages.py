"""What-if pages and API: who may ask, what is refused, and what an answer shows."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.test import Client
from django.urls import reverse
from django.utils.timezone import now

from tests.webapp.whatif.traffic import START, WINDOW, record
from webapp.servers.models import ServerRate
from webapp.whatif import running
from webapp.whatif.asking import choices_of, question_of
from webapp.whatif.create import checked_run
from webapp.whatif.models import Run, ScenarioResult, State
from webapp.whatif.params import BadRun
from webapp.whatif.replay import run_claimed

DATES = {
    "window": "custom",
    "start": START.strftime("%Y-%m-%dT%H:%M"),
    "end": (START + WINDOW).strftime("%Y-%m-%dT%H:%M"),
}


@pytest.fixture
def recorded(server, server_key):
    """Sixty calls that never meet, and a price per hour."""
    ServerRate.objects.create(
        server=server, price_per_hour="0.60", valid_from=START - timedelta(days=9)
    )
    record(server_key, 60)


@pytest.fixture
def queued(monkeypatch):
    """The messages that would go to the broker, once the transaction is committed."""
    sent = []
    monkeypatch.setattr(
        "webapp.whatif.tasks.run_scenario.delay_on_commit", lambda *ids: sent.append(ids)
    )
    return sent


def worked_out(run):
    for index in run.scenarios.values_list("index", flat=True):
        run_claimed(running.claim(run.pk, index))
    running.finish_run(run.pk)
    return Run.objects.get(pk=run.pk)


def asked(project, **given):
    window = {"from": START, "to": START + WINDOW}
    return checked_run(project, question_of(project, window | given))


def page(project, name="list", *args):
    return reverse(f"whatif:{name}", args=[project.slug, *args])


def form(**changes):
    return DATES | {"server": "engine", "precision": ["as recorded", "int8"]} | changes


def api(key, path="whatif", body=None):
    headers = {"Authorization": f"Bearer {key}"}
    if body is None:
        return Client().get(f"/api/v1/{path}", headers=headers)
    return Client().post(f"/api/v1/{path}", body, content_type="application/json", headers=headers)


def window():
    return {"from": START.isoformat(), "to": (START + WINDOW).isoformat()}


def test_recorded_setting_simulated_is_what_was_recorded(project, recorded):
    run = worked_out(asked(project))
    assert run.state == State.FINISHED, run.error
    result = run.scenarios.get(index=0).result
    for name in ("p50", "p95"):
        assert run.baseline["percentiles"]["e2e_s"][name] == pytest.approx(0.22, rel=0.01)
        assert result["percentiles"]["e2e_s"][name] == pytest.approx(0.22, rel=0.05)
    assert result["errors"]["e2e_s"]["p95"] == pytest.approx(0.0, abs=0.05)
    # A machine of 0.60 USD an hour for the whole hour, over 60 calls of 11 tokens.
    assert float(result["cost"]["per_call"]) == pytest.approx(0.01)
    assert float(result["cost"]["per_million_output"]) == pytest.approx(0.60 / 660 * 1e6)


def test_grid_is_every_combination_beside_the_recorded_setting(project, recorded):
    run = worked_out(asked(project, max_num_seqs="1,4", replicas=[1, 2]))
    words = [row.result["words"] for row in run.scenarios.all()]
    assert words[0] == "as recorded"
    assert len(words) == 5
    costs = {
        row.result["words"]: float(row.result["cost"]["per_call"]) for row in run.scenarios.all()
    }
    assert costs["2 replicas, batch ≤ 4"] == pytest.approx(2 * costs["batch ≤ 4"])


def test_start_writes_a_run_and_queues_every_scenario(project, recorded, engineer_client, queued):
    answer = engineer_client.post(page(project, "start"), form(max_num_seqs="4"))
    run = Run.objects.get()
    assert answer.url == page(project, "run", run.pk)
    assert run.created_by.username == "engineer"
    assert queued == [(run.pk, index) for index in range(3)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"max_num_seqs": "many"}, "max_num_seqs is a number"),
        ({"max_num_seqs": "0"}, "from 1 to 4,096"),
        ({"price_per_hour": "cheap"}, "not an amount"),
        (
            {"replicas": ",".join(map(str, range(1, 34)))},
            "at most 64",
        ),
        ({"end": ""}, "Give both dates"),
        ({"start": "2026-11-01T00:00", "end": "2026-11-02T00:00"}, "no recorded calls"),
        ({"start": "2026-11-13T00:00"}, "ends before it starts"),
        ({"server": "elsewhere"}, "Select a valid choice"),
    ],
)
def test_bad_question_is_answered_with_a_sentence(
    project, recorded, finops_client, changes, said, queued
):
    answer = finops_client.post(page(project, "start"), form(**changes))
    assert answer.status_code == 400
    assert said in answer.content.decode()
    assert not Run.objects.exists()
    assert queued == []


def test_page_shows_recorded_beside_simulated(project, recorded, viewer_client):
    run = worked_out(asked(project, max_num_seqs="4", arrival_scale="10"))
    content = viewer_client.get(page(project, "run", run.pk)).content.decode()
    assert 'data-check="e2e_s-p95"' in content
    assert "traffic × 10" in content
    assert "Step times are fitted to 660 recorded steps" in content
    assert "hx-get" not in content
    listed = viewer_client.get(page(project)).content.decode()
    assert run.name in listed
    assert "Run what-if" not in listed


def test_open_run_asks_again_until_it_is_done(project, recorded, viewer_client):
    run = asked(project)
    url = page(project, "run", run.pk)
    assert f'hx-get="{url}"' in viewer_client.get(url).content.decode()
    part = viewer_client.get(url, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part
    worked_out(run)
    assert "hx-get" not in viewer_client.get(url, headers={"HX-Request": "true"}).content.decode()


def test_cancel_ends_what_waits(project, recorded, engineer_client):
    run = asked(project, max_num_seqs="4")
    engineer_client.post(page(project, "cancel", run.pk))
    run.refresh_from_db()
    assert run.state == State.CANCELLED
    assert running.claim(run.pk, 0) is None
    assert "was cancelled" in engineer_client.get(page(project, "run", run.pk)).content.decode()


def test_viewer_reads_but_may_not_ask(project, recorded, viewer_client):
    assert viewer_client.get(page(project)).status_code == 200
    assert viewer_client.post(page(project, "start"), form()).status_code == 403
    run = asked(project)
    assert viewer_client.post(page(project, "cancel", run.pk)).status_code == 403


def test_stranger_and_anonymous_see_nothing(project, recorded, stranger_client, engineer_client):
    run = asked(project)
    for name, args in (("list", ()), ("run", (run.pk,))):
        assert stranger_client.get(page(project, name, *args)).status_code == 404
        assert Client().get(page(project, name, *args)).status_code == 302
    assert stranger_client.post(page(project, "start"), form()).status_code == 404
    assert engineer_client.get(page(project, "run", 2**62)).status_code == 404
    assert engineer_client.get(page(project, "run", 2**70)).status_code == 404


def test_pages_say_what_is_missing(project, engineer_client, viewer_client):
    assert "No call has arrived yet" in engineer_client.get(page(project)).content.decode()
    assert "No what-if has been run yet" in viewer_client.get(page(project)).content.decode()


def test_api_starts_reads_and_cancels(project, recorded, api_key, ingest_key, queued):
    answer = api(api_key, body=window() | {"precision": "int8", "batch_limit": [4, 8]})
    assert answer.status_code == 201, answer.content
    body = answer.json()
    assert [one["words"] for one in body["scenarios"]] == [
        "as recorded",
        "int8 weights, batch ≤ 4",
        "int8 weights, batch ≤ 8",
    ]
    assert (body["state"], body["progress"]) == ("queued", 0.0)
    worked_out(Run.objects.get(pk=body["id"]))
    done = api(api_key, f"whatif/{body['id']}").json()
    assert done["progress"] == 1.0
    assert {row["metric"] for row in done["calibration_error"]} >= {"ttft_s", "e2e_s"}
    assert done["calibration"]["step_count"] == 660
    assert done["scenarios"][1]["changes"]["e2e_s_p95"] is not None
    assert api(api_key).json()["items"][0]["id"] == body["id"]
    assert api(ingest_key).status_code == 403
    assert Client().get("/api/v1/whatif").status_code == 401
    again = api(api_key, body=window()).json()
    assert api(api_key, f"whatif/{again['id']}/cancel", {}).json()["state"] == "cancelled"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"hardware": "abacus"}, "not in the catalogue"),
        ({"precision": "fp3"}, "not known"),
        ({"speed": 2}, "speed"),
        ({"chunked_prefill": "maybe"}, "on or off"),
        ({"from": "2026-11-12T09:00:00"}, "offset"),
        ({"server": "elsewhere"}, "no server"),
    ],
)
def test_api_refuses_with_a_sentence(project, recorded, api_key, body, said):
    answer = api(api_key, body=window() | body)
    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_other_projects_run_does_not_exist(project, recorded, stranger):
    from webapp.accounts.keys import issue_key
    from webapp.accounts.models import Project

    other = issue_key(Project.objects.get(slug="other"), "k", ["read", "write"])[1]
    run = asked(project)
    assert api(other, f"whatif/{run.pk}").status_code == 404
    assert api(other, f"whatif/{run.pk}/cancel", {}).status_code == 404


def test_choices_take_text_lists_and_numbers():
    assert choices_of({"max_num_seqs": " 4, 8,4", "precision": ["int8"], "replicas": 2}) == {
        "max_num_seqs": [4, 8],
        "precision": ["int8"],
        "replicas": [2],
    }
    assert choices_of({"precision": "", "count": None}) == {}


def test_project_without_a_server_is_told(project):
    with pytest.raises(BadRun, match="No server of your own"):
        question_of(project, {})


def test_silent_worker_is_replaced_and_given_up_after_three(project, recorded):
    run = asked(project)
    sent = []
    for attempt in range(running.MAX_ATTEMPTS):
        assert running.claim(run.pk, 0).attempts == attempt + 1
        later = now() + running.SILENT_AFTER * 2
        running.rescue(later, lambda *ids: sent.append(ids))
    assert sent == [(run.pk, 0)] * (running.MAX_ATTEMPTS - 1)
    run.refresh_from_db()
    assert run.state == State.FAILED
    assert "worker stopped without a word" in run.error


def test_late_worker_cannot_overwrite_the_one_that_replaced_it(project, recorded):
    run = asked(project)
    first = running.claim(run.pk, 0)
    running.rescue(now() + running.SILENT_AFTER * 2, lambda *ids: None)
    second = running.claim(run.pk, 0)
    running.fail_scenario(first, "late")
    assert ScenarioResult.objects.get(pk=second.pk).state == State.RUNNING
    run_claimed(second)
    assert ScenarioResult.objects.get(pk=second.pk).state == State.FINISHED


def test_command_prints_scenarios_and_how_far_off(project, recorded, capsys):
    hours = (now() - START).total_seconds() / 3600 + 1
    call_command("run_whatif", project=project.slug, hours=hours, max_num_seqs="4", server="engine")
    printed = capsys.readouterr().out.replace("\xa0", " ")
    assert "batch ≤ 4: p95 E2E" in printed
    assert "E2E p95: recorded 220 ms, simulated 220 ms" in printed
    with pytest.raises(CommandError, match="no project"):
        call_command("run_whatif", project="nowhere")
