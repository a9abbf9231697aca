"""Forms of sign-in and settings."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate, password_validation
from django.http import HttpRequest

from webapp.accounts import throttle
from webapp.accounts.models import ApiKey, Member, Organisation, Project, User
from webapp.domain.periods import zone_named

_WRONG = "This user name and password do not belong together."
_PAUSED = "Too many attempts; try again in five minutes."


class SignInForm(forms.Form):
    username = forms.CharField(max_length=150)
    password = forms.CharField(max_length=200, strip=False, widget=forms.PasswordInput)

    def __init__(self, request: HttpRequest, *args: Any) -> None:
        super().__init__(*args)
        self._request = request
        self.user: User | None = None

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        if not name or not password:
            return self.cleaned_data
        if throttle.is_paused(self._request, name):
            raise forms.ValidationError(_PAUSED)
        found = authenticate(self._request, username=name, password=password)
        if not isinstance(found, User):
            throttle.note_failure(self._request, name)
            raise forms.ValidationError(_WRONG)
        throttle.note_success(self._request, name)
        self.user = found
        return self.cleaned_data


class OrganisationForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Organisation
        fields = ("name", "timezone", "currency")
        labels = {"timezone": "Time zone", "currency": "Currency"}
        help_texts = {
            "timezone": "Days and months of every report follow it; as in Europe/Berlin.",
            "currency": "ISO 4217, as in USD. Amounts are computed in USD.",
        }

    def clean_timezone(self) -> str:
        name: str = self.cleaned_data["timezone"]
        try:
            zone_named(name)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        return name

    def clean_currency(self) -> str:
        code: str = self.cleaned_data["currency"].upper()
        if len(code) != 3 or not code.isalpha():
            raise forms.ValidationError("A currency is three letters, as in USD.")
        return code


class ProjectForm(forms.ModelForm):  # type: ignore[type-arg]
    class Meta:
        model = Project
        fields = ("name", "captures_content", "span_retention_days")
        labels = {
            "captures_content": "Keep prompts and answers that senders include",
            "span_retention_days": "Days single calls are kept",
        }
        help_texts = {"span_retention_days": "Empty: the installation's default."}


class MemberForm(forms.Form):
    """Adds a person who has an account, or makes one with a first password."""

    username = forms.CharField(max_length=150)
    role = forms.ChoiceField(choices=Member.Role.choices)
    password = forms.CharField(
        max_length=200,
        required=False,
        strip=False,
        widget=forms.PasswordInput,
        help_text="Only for somebody without an account: their first password.",
    )

    def clean(self) -> dict[str, Any]:
        name, password = self.cleaned_data.get("username"), self.cleaned_data.get("password")
        exists = User.objects.filter(username=name).exists()
        if name and not exists and not password:
            self.add_error(
                "username", f"Nobody is called {name}; give a first password to add them."
            )
        if name and not exists and password:
            password_validation.validate_password(password)
        return self.cleaned_data


class KeyForm(forms.Form):
    name = forms.CharField(max_length=100)
    scopes = forms.MultipleChoiceField(
        choices=[
            (ApiKey.Scope.INGEST, "ingest: send telemetry"),
            (ApiKey.Scope.READ, "read: ask the API"),
            (ApiKey.Scope.WRITE, "write: change through the API"),
            (ApiKey.Scope.GATEWAY, "gateway: call models through the gateway"),
        ],
        widget=forms.CheckboxSelectMultiple,
    )
    team = forms.CharField(max_length=100, required=False)
    feature = forms.CharField(max_length=100, required=False)


class PasswordForm(forms.Form):
    current = forms.CharField(label="Password now", strip=False, widget=forms.PasswordInput)
    new = forms.CharField(label="New password", strip=False, widget=forms.PasswordInput)

    def __init__(self, user: User, *args: Any) -> None:
        super().__init__(*args)
        self._user = user

    def clean_current(self) -> str:
        given: str = self.cleaned_data["current"]
        if not self._user.check_password(given):
            raise forms.ValidationError("This is not your password.")
        return given

    def clean_new(self) -> str:
        given: str = self.cleaned_data["new"]
        password_validation.validate_password(given, self._user)
        return given
