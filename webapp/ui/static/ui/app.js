// Small conveniences on pages that work without them.

const filterBar = document.querySelector("[data-filter-bar]");

function showCustomRange(form) {
  const custom = form.querySelector("[data-custom-range]");
  if (!custom) return;
  const wanted = form.querySelector("[data-range]").value === "custom";
  custom.hidden = !wanted;
  custom.querySelectorAll("input").forEach((input) => { input.disabled = !wanted; });
}

// Empty fields stay out of the address.
function submitFilled(form) {
  form.querySelectorAll("select, input").forEach((input) => {
    if (input.value === "") input.disabled = true;
  });
  form.submit();
}

if (filterBar) filterBar.querySelector("[data-apply]").hidden = true;
if (filterBar && !filterBar.hasAttribute("hx-get")) {
  filterBar.addEventListener("change", (event) => {
    showCustomRange(filterBar);
    if (event.target.matches("[data-range]") && event.target.value === "custom") return;
    if (event.target.type === "date") {
      filterBar.querySelector("[data-apply]").hidden = false;
      return;
    }
    submitFilled(filterBar);
  });
  filterBar.addEventListener("submit", (event) => {
    event.preventDefault();
    submitFilled(filterBar);
  });
} else if (filterBar) {
  filterBar.addEventListener("change", () => showCustomRange(filterBar));
}
// On a phone the bar shows the range; the rest unfolds.
if (filterBar) {
  const more = filterBar.querySelector("[data-more-filters]");
  more.hidden = filterBar.querySelectorAll(":scope > .field-inline").length < 2;
  filterBar.toggleAttribute("data-collapsed", true);
  more.addEventListener("click", () => {
    const collapsed = filterBar.toggleAttribute("data-collapsed");
    more.setAttribute("aria-expanded", String(!collapsed));
  });
}

// Back from another page: fields that were left out of the address take part again.
addEventListener("pageshow", () => {
  document.querySelectorAll("[data-filter-bar] select, [data-filter-bar] > label input").forEach((input) => {
    input.disabled = false;
  });
});

document.addEventListener("click", (event) => {
  document.querySelectorAll("details[data-menu][open]").forEach((menu) => {
    if (!menu.contains(event.target)) menu.open = false;
  });
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  document.querySelectorAll("details[data-menu][open]").forEach((menu) => {
    menu.open = false;
    menu.querySelector("summary").focus();
  });
});

// A secret that is shown once can be copied with one click.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText((source.value ?? source.textContent).trim());
  announce("Copied.");
  button.textContent = "Copied";
});

document.addEventListener("click", (event) => {
  const asking = event.target.closest("[data-confirm]");
  if (asking && !window.confirm(asking.dataset.confirm)) event.preventDefault();
});

export function announce(text) {
  document.getElementById("announce").textContent = text;
}
document.addEventListener("htmx:after:swap", () => {
  const told = document.querySelector("[data-announce]");
  if (told) announce(told.dataset.announce);
});

// Dates are asked for only where "between dates" is chosen.
document.querySelectorAll("[data-custom-window]").forEach((dates) => {
  const choice = dates.closest("form").querySelector("[name=window]");
  const show = () => { dates.hidden = choice.value !== "custom"; };
  choice.addEventListener("change", show);
  show();
});
