from django.db import migrations

COLUMNS = """
    project_id integer not null,
    server_id integer,
    trace_id uuid not null,
    span_id bigint not null,
    parent_span_id bigint,
    started_at timestamptz not null,
    ingested_at timestamptz not null,
    duration_us bigint,
    queue_us bigint,
    prefill_us bigint,
    decode_us bigint,
    preempted_us bigint,
    ttft_us bigint,
    client_ttft_us bigint,
    tpot_us bigint,
    busy_us bigint,
    batch_mean double precision,
    mean_logprob double precision,
    mean_entropy double precision,
    repetition double precision,
    input_tokens integer,
    cached_input_tokens integer,
    cache_write_tokens integer,
    cache_write_1h_tokens integer,
    output_tokens integer,
    reasoning_tokens integer,
    audio_input_tokens integer,
    audio_output_tokens integer,
    image_input_tokens integer,
    image_output_tokens integer,
    drafted_tokens integer,
    accepted_tokens integer,
    http_status smallint,
    attempts smallint,
    preemptions smallint,
    refusal boolean,
    kind text not null,
    status text not null,
    source text not null,
    tokens_source text not null,
    name text not null,
    session_id text,
    user_id text,
    team text,
    feature text,
    environment text,
    provider text,
    request_model text,
    response_model text,
    status_message text,
    finish_reason text,
    error_type text,
    service_tier text,
    processing text,
    region text,
    cost_state text,
    cost_basis text,
    cost_reason text,
    price_book_version text,
    cost_usd numeric,
    cost_input_usd numeric,
    cost_cache_read_usd numeric,
    cost_cache_write_usd numeric,
    cost_output_usd numeric,
    cost_compute_usd numeric,
    flags text[],
    tags jsonb,
    token_timeline bytea,
    prefix_hashes bytea,
    content jsonb,
    extra jsonb
"""

CREATE = f"""
create table span ({COLUMNS},
    primary key (trace_id, span_id, started_at, project_id)
) partition by range (started_at);
create index span_by_time on span (project_id, started_at desc);
create index span_by_server on span (project_id, server_id, started_at desc);
create index span_brin on span using brin (started_at);
"""


class Migration(migrations.Migration):
    dependencies = [("telemetry", "0001_initial")]
    operations = [migrations.RunSQL(CREATE, "drop table span")]
