"""The question of a what-if, as a form. What it means is said in `asking`, for the API too."""

from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.utils.timezone import now

from webapp.accounts.models import Project
from webapp.domain.hardware import CATALOGUE, KV_PRECISIONS, PRECISIONS, THIS_MACHINE
from webapp.whatif.asking import own_servers
from webapp.whatif.params import AS_RECORDED

_WINDOWS = {
    "1h": "last hour",
    "6h": "last 6 hours",
    "24h": "last 24 hours",
    "7d": "last 7 days",
    "30d": "last 30 days",
    "custom": "between dates",
}
_LENGTHS = {
    "1h": timedelta(hours=1),
    "6h": timedelta(hours=6),
    "24h": timedelta(days=1),
    "7d": timedelta(days=7),
    "30d": timedelta(days=30),
}
_TRAFFIC = {"1": "as recorded", "2": "twice", "5": "5 times", "10": "10 times"}


class RunForm(forms.Form):
    """Several values of a field are several scenarios; every combination is simulated."""

    server = forms.ChoiceField(help_text="Whose recorded calls are replayed.")
    window = forms.ChoiceField(choices=list(_WINDOWS.items()), initial="24h", label="Calls of the")
    start = forms.DateTimeField(
        required=False, label="From (UTC)", widget=forms.DateTimeInput({"type": "datetime-local"})
    )
    end = forms.DateTimeField(
        required=False, label="To (UTC)", widget=forms.DateTimeInput({"type": "datetime-local"})
    )
    precision = forms.MultipleChoiceField(
        required=False,
        label="Precision of weights",
        choices=[(AS_RECORDED, AS_RECORDED), *((name, name) for name in PRECISIONS)],
        widget=forms.CheckboxSelectMultiple,
        initial=[AS_RECORDED, "int8"],
    )
    kv_precision = forms.ChoiceField(
        required=False,
        label="Precision of the cache",
        choices=[("", AS_RECORDED), *((name, name) for name in KV_PRECISIONS)],
    )
    max_num_seqs = forms.CharField(
        required=False,
        label="Batch limit",
        initial="4, 32",
        help_text="Most calls in a batch; several, with commas. Empty: as recorded.",
    )
    hardware = forms.MultipleChoiceField(
        required=False,
        label="Hardware",
        widget=forms.SelectMultiple({"size": "6"}),
        help_text="One or several rows of the catalogue.",
        initial=[THIS_MACHINE],
    )
    count = forms.ChoiceField(
        required=False,
        label="Cards in a replica",
        choices=[("", "1"), ("2", "2"), ("4", "4"), ("8", "8")],
    )
    replicas = forms.CharField(
        required=False, initial="1", help_text="Several, with commas: 1, 2, 4."
    )
    arrival_scale = forms.MultipleChoiceField(
        required=False,
        label="Traffic",
        choices=list(_TRAFFIC.items()),
        widget=forms.CheckboxSelectMultiple,
        initial=["1"],
    )
    price_per_hour = forms.CharField(
        required=False,
        label="Price of a card and hour (USD)",
        help_text="Empty: the server's own, or the catalogue's.",
    )
    name = forms.CharField(required=False, max_length=120, help_text="Empty: what is asked.")

    def __init__(self, project: Project, *args: Any, **given: Any) -> None:
        super().__init__(*args, **given)
        self._project = project
        servers = own_servers(project)
        self.has_servers = bool(servers)
        self._choose_from("server", [(server.name, server.name) for server in servers])
        rows = sorted(CATALOGUE, key=lambda card: card.name)
        self._choose_from(
            "hardware",
            [(THIS_MACHINE, THIS_MACHINE), *((card.name, card.name) for card in rows)],
        )

    def clean(self) -> dict[str, Any]:
        given = self.cleaned_data
        if given.get("window") == "custom" and not (given.get("start") and given.get("end")):
            raise forms.ValidationError("Give both dates, or choose one of the other windows.")
        return given

    def given(self) -> dict[str, Any]:
        """The answers, named as `asking.question_of` names them."""
        data = self.cleaned_data
        start, end = self._window()
        asked = {name: data[name] for name in self.fields if name not in ("window", "start", "end")}
        return asked | {"from": start, "to": end}

    def _window(self) -> tuple[datetime, datetime]:
        data = self.cleaned_data
        if data["window"] != "custom":
            end = now()
            return end - _LENGTHS[data["window"]], end
        return data["start"].astimezone(UTC), data["end"].astimezone(UTC)

    def _choose_from(self, name: str, choices: list[tuple[str, str]]) -> None:
        self.fields[name].choices = choices  # type: ignore[attr-defined]
