"use strict";
// Sorting and filtering of tables. Rows are there already; the script only moves or hides them.
(function () {
  function cellValue(row, column) {
    const cell = row.cells[column];
    if (cell.dataset.value === undefined) { return cell.textContent.trim().toLowerCase(); }
    return parseFloat(cell.dataset.value);
  }

  function compare(first, second, sign) {
    if (typeof first === "number" || typeof second === "number") {
      const firstMissing = Number.isNaN(first), secondMissing = Number.isNaN(second);
      if (firstMissing || secondMissing) { return firstMissing - secondMissing; } // always last
      return sign * (first - second);
    }
    return sign * first.localeCompare(second, "en", { numeric: true });
  }

  function sortBy(table, head, direction) {
    const column = head.cellIndex, sign = direction === "ascending" ? 1 : -1;
    const body = table.tBodies[0];
    const rows = Array.from(body.rows, (row) => ({ row, value: cellValue(row, column) }));
    rows.sort((a, b) => compare(a.value, b.value, sign) || a.row.dataset.place - b.row.dataset.place);
    for (const other of head.parentNode.cells) { other.removeAttribute("aria-sort"); }
    head.setAttribute("aria-sort", direction);
    body.append(...rows.map((item) => item.row));
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    Array.from(table.tBodies[0].rows).forEach((row, place) => { row.dataset.place = place; });
    for (const button of table.tHead.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        const head = button.closest("th"), now = head.getAttribute("aria-sort");
        const first = button.dataset.first || "ascending";
        const next = now === null ? first : now === "ascending" ? "descending" : "ascending";
        sortBy(table, head, next);
      });
    }
  }

  function keeps(row, wanted) {
    const words = (wanted.get("text") || "").toLowerCase().split(/\s+/).filter(Boolean);
    const text = row.textContent.toLowerCase();
    const cost = wanted.get("cost");
    return words.every((word) => text.includes(word))
      && (!wanted.get("family") || row.dataset.family === wanted.get("family"))
      && (!wanted.get("directed") || row.dataset.directed === wanted.get("directed"))
      && (!cost || (row.dataset.cost !== "" && parseFloat(row.dataset.cost) <= parseFloat(cost)));
  }

  for (const form of document.querySelectorAll("form[data-filters]")) {
    const rows = Array.from(document.getElementById(form.dataset.filters).tBodies[0].rows);
    const said = form.querySelector("output"), all = said.textContent;
    const apply = () => {
      const wanted = new FormData(form);
      let shown = 0;
      for (const row of rows) {
        row.hidden = !keeps(row, wanted);
        shown += row.hidden ? 0 : 1;
      }
      said.textContent = shown === rows.length ? all : shown + " of " + all;
    };
    form.addEventListener("input", apply);
    form.addEventListener("reset", () => setTimeout(apply));
    form.addEventListener("submit", (event) => event.preventDefault());
    apply();
  }
})();
