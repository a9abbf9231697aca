"""Every reported pricing fault, as the exact amount that is right."""

import csv
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pytest

from webapp.costs.pricer import Pricer
from webapp.domain.quantities import usage_of

CASES = {
    row["case_id"]: row
    for row in csv.DictReader(
        (Path(__file__).parents[2] / "fixtures" / "costs" / "cost_cases.csv").open()
    )
}


@pytest.mark.parametrize("case", sorted(CASES))
def test_known_call_costs_exactly_what_it_costs(case: str) -> None:
    row = CASES[case]
    raw = json.loads(row["raw_usage_json"])
    served_tier = raw.get("_response_service_tier") or row["service_tier"]
    priced = Pricer({}, []).price(
        provider=row["provider"],
        model=row["model_ref"],
        at=datetime.fromisoformat(row["request_time_utc"]),
        usage=usage_of(raw),
        status="ok",
        service_tier=served_tier or None,
        processing=row["processing"] or None,
    )
    assert priced.state == row["expected_status"], priced.reason
    assert priced.total_usd == Decimal(row["expected_cost_usd"])
    parts = (
        priced.input_usd,
        priced.cache_read_usd,
        priced.cache_write_usd,
        priced.output_usd,
    )
    assert sum(part for part in parts if part is not None) == priced.total_usd
    assert sum(line.cost_usd for line in priced.lines) == priced.total_usd
