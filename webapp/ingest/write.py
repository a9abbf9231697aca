"""Writes a decoded body: one transaction, after which its sender may forget it."""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, timedelta

from django.db import connection, transaction
from django.utils.timezone import now
from psycopg.types.json import Jsonb

from collectors.record import Rejection, SampleRecord, SpanRecord, StepBatchRecord
from webapp.accounts.models import ApiKey
from webapp.costs.pricer import pricer_for
from webapp.ingest.origin import Origin, origin_of
from webapp.ingest.span_rows import Row, Rows, Taking, rows_of
from webapp.telemetry.cell import cells_of
from webapp.telemetry.partitions import make_partitions
from webapp.telemetry.retention import oldest_day
from webapp.telemetry.rollups import places, write_increments
from webapp.telemetry.series import SeriesKey, series_ids

_KEY = ("trace_id", "span_id", "started_at", "project_id")
_STEP_NAMES = ("start_offset_us", "duration_us")
_LONGEST_COLUMNS = 64 << 20


@dataclass
class Written:
    """What became of a body: rows that were new, rows already there, and refusals."""

    new: int = 0
    repeated: int = 0
    rejected: list[Rejection] = field(default_factory=list)


def write_spans(key: ApiKey, records: Sequence[SpanRecord]) -> Written:
    """Store spans and what they add to the rollups; repeats change nothing."""
    at = now()
    taking = Taking(key, origin_of(key), pricer_for(key.project_id), oldest_day(at), at)
    found = rows_of(records, taking)
    written = Written(rejected=found.rejected)
    if not found.rows:
        return written
    make_partitions({row["started_at"].astimezone(UTC).date() for row in found.rows})
    with transaction.atomic():
        new = _insert(found.rows)
        written.new, written.repeated = len(new), len(found.rows) - len(new)
        _count(key.project_id, found, new)
    return written


def write_steps(key: ApiKey, batches: Sequence[StepBatchRecord]) -> Written:
    """Store engine steps; a batch that is there already is left as it is."""
    origin, written = origin_of(key), Written()
    with transaction.atomic(), connection.cursor() as cursor:
        for batch in batches:
            why = _step_refusal(batch)
            if why:
                written.rejected.append(Rejection("log record", why))
                continue
            server = origin.server_of(batch.server, batch.service_name)
            cursor.execute(
                "insert into step_batch (project_id, server_id, run_id, first_index, step_count, "
                "started_at, ended_at, names, columns) values (%s, %s, %s, %s, %s, %s, %s, %s, %s) "
                "on conflict do nothing",
                [
                    key.project_id,
                    None if server is None else server.pk,
                    batch.run_id,
                    batch.first_index,
                    batch.count,
                    batch.started_at,
                    batch.started_at + timedelta(microseconds=_length_us(batch)),
                    list(batch.names),
                    batch.columns,
                ],
            )
            written.new += cursor.rowcount
            written.repeated += 1 - cursor.rowcount
    return written


def write_samples(key: ApiKey, samples: Sequence[SampleRecord]) -> Written:
    """Store readings of servers."""
    origin: Origin = origin_of(key)
    rows = []
    for sample in samples:
        server = origin.server_of(sample.server, sample.service_name)
        rows.append(
            (
                key.project_id,
                None if server is None else server.pk,
                sample.at,
                sample.name[:200],
                Jsonb(dict(sample.labels)),
                sample.value,
            )
        )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.executemany(
            "insert into server_sample (project_id, server_id, at, name, labels, value) "
            "values (%s, %s, %s, %s, %s, %s)",
            rows,
        )
    return Written(new=len(rows))


def _insert(rows: list[Row]) -> set[int]:
    """Copy rows in and insert those whose key is new; the places of these in `rows`."""
    columns = list(rows[0])
    names = ", ".join(columns)
    place_of = {tuple(row[name] for name in _KEY): place for place, row in enumerate(rows)}
    with connection.cursor() as cursor:
        # Two senders of the same spans must take their locks in the same order.
        ordered = sorted(rows, key=lambda row: tuple(str(row[name]) for name in _KEY))
        cursor.execute(
            "create temporary table if not exists span_incoming "
            "(like span including defaults) on commit delete rows"
        )
        with cursor.copy(f"copy span_incoming ({names}) from stdin") as copying:
            for row in ordered:
                copying.write_row([row[name] for name in columns])
        cursor.execute(
            f"insert into span ({names}) select {names} from span_incoming "
            f"on conflict do nothing returning {', '.join(_KEY)}"
        )
        found = {place_of[tuple(row)] for row in cursor.fetchall()}
        # A transaction around this one (a test's) would keep the rows for the next batch.
        cursor.execute("delete from span_incoming")
    return found


def _count(project_id: int, found: Rows, new: set[int]) -> None:
    """Write what the new calls add to the rollups."""
    chosen = [place for place in sorted(new) if found.rows[place]["cost_state"] is not None]
    rows = [found.rows[place] for place in chosen]
    if not rows:
        return
    keys = [_series_key(row) for row in rows]
    ids = series_ids(project_id, set(keys))
    cells = cells_of(rows, places([ids[key] for key in keys], [row["started_at"] for row in rows]))
    write_increments(cells)


def _series_key(row: Row) -> SeriesKey:
    return SeriesKey(
        row["server_id"],
        row["provider"],
        row["response_model"] or row["request_model"],
        row["team"],
        row["feature"],
        row["environment"],
    )


def _step_refusal(batch: StepBatchRecord) -> str:
    """Why a step batch cannot be read later; empty where it can."""
    if not set(_STEP_NAMES) <= set(batch.names):
        return f"steps {batch.first_index}: the columns {' and '.join(_STEP_NAMES)} are needed"
    wanted = 4 * batch.count * len(batch.names)
    raw = _inflated(batch.columns, wanted)
    if raw is None or len(raw) != wanted:
        return f"steps {batch.first_index}: the columns do not hold {batch.count} steps"
    return ""


def _inflated(columns: bytes, most: int) -> bytes | None:
    if most > _LONGEST_COLUMNS:
        return None
    try:
        return zlib.decompressobj().decompress(columns, most + 1)
    except zlib.error:
        return None


def _length_us(batch: StepBatchRecord) -> int:
    """From the batch's start to the end of its last step."""
    raw = zlib.decompress(batch.columns)

    def last(name: str) -> int:
        at = 4 * (batch.names.index(name) * batch.count + batch.count - 1)
        return int.from_bytes(raw[at : at + 4], "little", signed=True)

    return max(sum(last(name) for name in _STEP_NAMES), 0)
