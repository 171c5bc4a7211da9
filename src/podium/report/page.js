// The interactive parts of a report: tables that can be sorted, and queries that open. Text from the data is only ever set as
// text, never as markup.

const report = JSON.parse(document.getElementById("report-data").textContent);
const PAGE_SIZE = 50;
const COLLATOR = new Intl.Collator(undefined, { numeric: true });

function node(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value !== null && value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const isolated = (text) => node("bdi", {}, text);
const fixed = (value) => (value === null ? "–" : value.toFixed(4).replace("-", "−"));
const plain = (value) => (value === null ? "missing" : String(value).replace("-", "−"));

function signed(value, format = fixed) {
  if (value === null) return "–";
  return value < 0 ? format(value) : "+" + format(value);
}

function outcome(value) {
  if (value === null || value === 0) return null;
  return value > 0 === report.higherIsBetter ? "gain" : "loss";
}

function compareValues(a, b) {
  if (a === null || b === null) return (a === null) - (b === null);
  return typeof a === "string" ? COLLATOR.compare(a, b) : a - b;
}

// A table whose headings are buttons that sort it. A column has: title, key(row), cell(row), and perhaps number and rowHeader.
// Unknown values come last in either direction.
class SortableTable {
  constructor(caption, columns, rows, { sort = 0, descending = false, open = null, opens = () => true } = {}) {
    Object.assign(this, { columns, rows, open, opens, sort, descending, shown: PAGE_SIZE, filter: () => true });
    this.body = node("tbody");
    this.heads = columns.map((column, place) => {
      const button = node("button", { type: "button", class: "sort" }, column.title);
      button.addEventListener("click", () => this.sortBy(place));
      return node("th", { scope: "col", class: column.number ? "number" : null }, button);
    });
    const table = node("table", {}, node("caption", {}, caption), node("thead", {}, node("tr", {}, ...this.heads)), this.body);
    const scroll = node("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, table);
    this.status = node("span", { role: "status", class: "soft" });
    this.more = node("button", { type: "button", class: "plain" }, "Show more");
    this.more.addEventListener("click", () => { this.shown += 10 * PAGE_SIZE; this.draw(); });
    this.element = node("div", {}, scroll, node("div", { class: "tools" }, this.status, this.more));
    this.draw();
  }

  sortBy(place) {
    this.descending = place === this.sort ? !this.descending : Boolean(this.columns[place].number);
    this.sort = place;
    this.shown = PAGE_SIZE;
    this.draw();
  }

  draw() {
    const { key } = this.columns[this.sort];
    const way = this.descending ? -1 : 1;
    const kept = this.rows.filter(this.filter);
    kept.sort((a, b) => {
      const [x, y] = [key(a), key(b)];
      return x === null || y === null ? compareValues(x, y) : way * compareValues(x, y);
    });
    this.heads.forEach((head, place) => {
      if (place === this.sort) head.setAttribute("aria-sort", this.descending ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    this.body.replaceChildren(...kept.slice(0, this.shown).map((row) => this.line(row)));
    const count = Math.min(this.shown, kept.length);
    this.status.textContent = `${count.toLocaleString("en")} of ${kept.length.toLocaleString("en")} rows shown`;
    this.more.hidden = kept.length <= this.shown;
    this.status.hidden = this.rows.length <= PAGE_SIZE && kept.length === this.rows.length;
  }

  line(row) {
    const opens = this.open !== null && this.opens(row);
    const cells = this.columns.map((column) => {
      let content = column.cell(row);
      if (column.rowHeader && opens) {
        const button = node("button", { type: "button", class: "link" }, content);
        button.addEventListener("click", (event) => { event.stopPropagation(); this.open(row, button); });
        content = button;
      }
      const attributes = { class: column.number ? "number" : null, scope: column.rowHeader ? "row" : null };
      return node(column.rowHeader ? "th" : "td", attributes, content);
    });
    const line = node("tr", { class: opens ? "opens" : null }, ...cells);
    if (opens) line.addEventListener("click", () => this.open(row, line.querySelector("button")));
    return line;
  }
}

const queries = report.rows.map(([number, id, documents, relevant, values, difference]) => (
  { number, id, documents, relevant, values, difference }));
const byNumber = new Map(queries.map((query) => [query.number, query]));

function differenceCell(value) {
  return node("span", { class: outcome(value) }, signed(value));
}

function valueLine(query) {
  const parts = report.models.map((name, k) => node("span", {}, isolated(name), ` ${fixed(query.values[k])}`));
  const joined = parts.flatMap((part, k) => (k ? [", ", part] : [part]));
  const change = query.difference === null ? [] : [`; ${report.difference.toLowerCase()} `, differenceCell(query.difference)];
  return node("p", {}, `${report.metric}: `, ...joined, ...change, `. ${query.documents} documents, ${query.relevant} relevant.`);
}

function reasonList(reasons) {
  if (!reasons) return "–";
  const items = reasons.map(([feature, value, adds]) =>
    node("li", {}, isolated(report.features[feature]), " = ", typeof value === "string" ? isolated(value) : plain(value), ": ",
      node("span", { class: adds < 0 ? "loss" : "gain" }, signed(adds, plain))));
  return node("ul", { class: "reasons" }, ...items);
}

function documentColumns(details) {
  const several = report.models.length > 1;
  const of = (name, k) => (several ? `${name} of ${report.models[k]}` : name);
  const columns = [
    { title: "Document", rowHeader: true, key: (row) => row[0], cell: (row) => isolated(row[0]) },
    { title: "Label", number: true, key: (row) => row[1], cell: (row) => plain(row[1]) },
  ];
  report.models.forEach((_, k) => columns.push(
    { title: of("Rank", k), number: true, key: (row) => row[2][k], cell: (row) => String(row[2][k]) }));
  report.models.forEach((_, k) => columns.push(
    { title: of("Score", k), number: true, key: (row) => row[3][k], cell: (row) => plain(row[3][k]) }));
  report.models.forEach((_, k) => {
    if (!details.some((row) => row[4][k])) return;
    const strongest = (row) => (row[4][k] && row[4][k].length ? row[4][k][0][2] : null);
    columns.push({ title: of("Contributions to the score", k), key: strongest, cell: (row) => reasonList(row[4][k]) });
  });
  return columns;
}

function documentsOf(query) {
  const details = report.details[query.number];
  const parts = [valueLine(query)];
  const table = new SortableTable(`Documents of query ${query.id}`, documentColumns(details), details, { sort: 2 });
  parts.push(table.element);
  if (details.length < query.documents) {
    parts.push(node("p", { class: "soft" }, `${details.length} of ${query.documents} documents are shown: ${report.documentRule}.`));
  }
  report.models.forEach((_, k) => {
    const explained = details.some((row) => row[4][k]);
    const why = report.noReasons[k] || (explained ? "" : report.unexplained);
    if (why) parts.push(node("p", { class: "reason" }, why));
  });
  return parts;
}

const dialog = document.getElementById("query-dialog");

function openQuery(query, opener) {
  document.getElementById("query-title").replaceChildren(/^query\b/i.test(query.id) ? "" : "Query ", isolated(query.id));
  document.getElementById("query-documents").replaceChildren(...documentsOf(query));
  dialog.addEventListener("close", () => opener?.focus(), { once: true });
  dialog.showModal();
  dialog.scrollTop = 0;
}

dialog.querySelector("button").addEventListener("click", () => dialog.close());
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

function drawQueries(place) {
  const columns = [{ title: "Query", rowHeader: true, key: (row) => row.id, cell: (row) => isolated(row.id) }];
  report.models.forEach((name, k) => columns.push(
    { title: `${report.metric} of ${name}`, number: true, key: (row) => row.values[k], cell: (row) => fixed(row.values[k]) }));
  if (report.models.length > 1) {
    columns.push({ title: report.difference, number: true, key: (row) => row.difference, cell: (row) => differenceCell(row.difference) });
  }
  const last = columns.length - 1;
  for (const [title, name] of [["Documents", "documents"], ["Relevant", "relevant"]]) {
    columns.push({ title, number: true, key: (row) => row[name], cell: (row) => row[name].toLocaleString("en") });
  }
  const table = new SortableTable("Values of every query", columns, queries, {
    sort: last, descending: false, open: openQuery, opens: (row) => row.number in report.details,
  });
  const search = node("input", { type: "search", id: "find-query", autocomplete: "off" });
  search.addEventListener("input", () => {
    const wanted = search.value.trim().toLowerCase();
    table.filter = (row) => row.id.toLowerCase().includes(wanted);
    table.draw();
  });
  place.replaceChildren(node("div", { class: "tools" }, node("label", { for: "find-query" }, "Find a query"), search), table.element);
}

drawQueries(document.getElementById("query-table"));

for (const example of document.querySelectorAll("details[data-query]")) {
  example.addEventListener("toggle", () => {
    const place = example.querySelector("div");
    if (example.open && !place.hasChildNodes()) place.append(...documentsOf(byNumber.get(Number(example.dataset.query))));
  });
}
