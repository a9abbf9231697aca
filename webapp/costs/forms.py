"""The form of a price of one's own."""

from django import forms

_RATE = {"required": False, "min_value": 0, "max_digits": 18, "decimal_places": 10}


class CustomPriceForm(forms.Form):
    model = forms.CharField(max_length=200, help_text="As calls name it.")
    provider = forms.CharField(max_length=60, required=False, help_text="Empty: any provider.")
    input_per_million = forms.DecimalField(label="Input, USD per 1M tokens", **_RATE)
    output_per_million = forms.DecimalField(label="Output, USD per 1M tokens", **_RATE)
    cache_read_per_million = forms.DecimalField(label="Cache read, USD per 1M tokens", **_RATE)
    cache_write_per_million = forms.DecimalField(label="Cache write, USD per 1M tokens", **_RATE)
    per_call = forms.DecimalField(label="USD per call", **_RATE)
    valid_from = forms.DateTimeField(
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
        help_text="In UTC. Calls from then on are priced with it, those recorded already too.",
    )
    note = forms.CharField(max_length=200, required=False)
