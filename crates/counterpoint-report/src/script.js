"use strict";
// Tooltips: every <title> inside a chart becomes a tip that shows at once; a chart's own name goes to its label, or the
// browser would show it over everything.
for (const title of document.querySelectorAll("svg.chart title")) {
  const owner = title.parentElement;
  if (owner.matches("svg")) owner.setAttribute("aria-label", title.textContent);
  else owner.dataset.tip = title.textContent;
  title.remove();
}
const tip = document.getElementById("tip");
const show = (event) => {
  const owner = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
  tip.hidden = !owner;
  if (!owner) return;
  tip.textContent = owner.dataset.tip;
  const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
  const above = event.clientY - tip.offsetHeight - 14;
  tip.style.left = Math.max(8, Math.min(room, event.clientX + 14)) + "px";
  tip.style.top = (above > 8 ? above : event.clientY + 18) + "px";
};
document.addEventListener("pointermove", show);
document.addEventListener("pointerdown", show);
document.addEventListener("scroll", () => { tip.hidden = true; }, { passive: true });

// Light and dark: as the system says, until the button says otherwise.
const theme = document.getElementById("theme");
const system = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
const label = () => { theme.textContent = dark() ? "Light" : "Dark"; };
theme.hidden = false;
theme.setAttribute("aria-label", "Switch between light and dark");
theme.addEventListener("click", () => {
  document.documentElement.dataset.theme = dark() ? "light" : "dark";
  label();
});
system.addEventListener("change", label);
label();

// Tables: a click on a heading sorts by it, a second click the other way; cells without a value stay last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const h of heads) h.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const number = head.classList.contains("number");
    const key = (row) => row.cells[column].dataset.key;
    const order = (a, b) => (number ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1);
    const rows = [...table.tBodies[0].rows];
    rows.sort((a, b) => (key(a) === "") - (key(b) === "") || order(key(a), key(b)));
    table.tBodies[0].append(...rows);
  }));
}

// On paper everything is open.
addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = true; });
