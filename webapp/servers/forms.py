"""Forms of the inventory."""

from typing import Any

from django import forms

from webapp.servers.models import Server

FIELDS = (
    "kind",
    "base_url",
    "metrics_url",
    "model",
    "provider",
    "hardware",
    "hardware_count",
    "location",
    "exposure",
    "owner",
)


class ServerForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Server
        fields = ("name", *FIELDS)
        labels = {
            "base_url": "Base URL",
            "metrics_url": "Metrics URL",
            "hardware_count": "Accelerators",
            "exposure": "Who can reach it",
        }
        help_texts = {
            "name": "Lower-case letters, digits and hyphens; the gateway's path uses it.",
            "model": "Taken for calls that do not name one.",
            "hardware": "As in H100 SXM; empty: unknown.",
            "location": "Where it runs, and so who else may see the data.",
            "exposure": "As in: only our cluster; the public internet, with keys.",
        }

    def validate_unique(self) -> None:
        """Left to `inventory`, which says the same of API and page."""

    def _post_clean(self) -> None:
        """The model is checked once, by `inventory`."""

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.fields}


class PriceForm(forms.Form):
    price_per_hour = forms.DecimalField(min_value=0, max_digits=19, decimal_places=10)
    currency = forms.CharField(max_length=3, initial="USD")
    valid_from = forms.DateTimeField(
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="In UTC. Calls from then on are priced with it.",
    )
    is_assumption = forms.BooleanField(required=False, label="This is an assumption, not a bill")
    note = forms.CharField(max_length=200, required=False)
