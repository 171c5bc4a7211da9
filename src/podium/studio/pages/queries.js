// Queries: the documents of a query under one or two rankings, who moved, and why.

import { get, latest } from "./api.js";
import { field, h, labelClass, labelLegend, levelsOf, s, select, short, signed } from "./dom.js";

const NONE = "";
const DRAWN = 40; // documents in the picture of the two rankings
const ROW = 22; // pixels per document
const COLUMNS = 30; // features in the table of documents
const ORDERS = [["gain", "gain of the second"], ["loss", "loss of the second"], ["disagreement", "disagreement"], ["worst", "worst under the first"], ["best", "best under the first"], ["data", "order of the data"]];

class QueriesPage {
  constructor(studio) {
    this.studio = studio;
    this.offset = 0;
    this.pending = 0;
    const refused = (error) => studio.problem(error);
    this.list = latest(() => this.busy(() => this.loadList()), refused);
    this.detail = latest(() => this.busy(() => this.loadQuery()), refused);
    this.reason = latest(() => this.busy(() => this.loadMove()), refused);
    this.build();
  }

  async busy(work) {
    this.root.dataset.pending = this.pending += 1;
    try {
      return await work();
    } finally {
      this.root.dataset.pending = this.pending -= 1;
    }
  }

  build() {
    const { rankings, metrics } = this.studio.state;
    const again = () => {
      this.offset = 0;
      this.list();
    };
    this.first = select(rankings, rankings[0], { onchange: again });
    this.second = select([[NONE, "none"], ...rankings], rankings.length > 2 ? rankings[1] : NONE, { onchange: again });
    this.metric = h("input", { type: "text", value: "ndcg@10", list: "query-metrics", maxlength: 100, spellcheck: "false", autocomplete: "off", onchange: again });
    this.search = h("input", { type: "search", maxlength: 100, autocomplete: "off", oninput: again });
    this.order = select(ORDERS, "gain", { onchange: again });
    this.body = h("tbody");
    this.means = h("p", { class: "note" });
    this.count = h("p", { class: "note", role: "status" });
    this.back = h("button", { type: "button", onclick: () => this.page(-1) }, "Previous");
    this.forward = h("button", { type: "button", onclick: () => this.page(1) }, "Next");
    this.place = h("section", { class: "panel detail", "aria-label": "Documents of the query" }, h("p", {}, "Choose a query."));
    this.why = h("section", { class: "panel why", "aria-label": "Why it moved" }, h("p", { class: "note" }, "Choose a document to see why it stands where it does."));
    this.root = h("div", { class: "queries", "data-pending": 0 },
      h("h1", {}, "Queries"),
      h("datalist", { id: "query-metrics" }, metrics.map((name) => h("option", { value: name }))),
      h("div", { class: "row" }, field("First ranking", this.first), field("Second ranking", this.second), field("Metric", this.metric), field("Sort by", this.order), field("Search for an id", this.search)),
      h("div", { class: "columns" },
        h("section", { class: "panel list", "aria-label": "List of queries" }, this.means,
          h("div", { class: "scroll tall", tabindex: 0, role: "region", "aria-label": "Queries" },
            h("table", {}, h("thead", {}, h("tr", {}, ["Query", "First", "Second", "Gain", "Differ"].map((title) => h("th", { scope: "col" }, title)))), this.body)),
          h("div", { class: "buttons" }, this.back, this.forward), this.count),
        this.place, this.why));
  }

  show() {
    if (!this.shown) this.list();
  }

  stateChanged() {
    for (const [place, extra] of [[this.first, []], [this.second, [[NONE, "none"]]]]) {
      const chosen = place.value;
      const options = [...extra, ...this.studio.state.rankings.map((name) => [name, name])];
      place.replaceChildren(...options.map(([value, text]) => h("option", { value, selected: value === chosen }, text)));
    }
    this.list();
  }

  choices() {
    const second = this.second.value === this.first.value ? NONE : this.second.value;
    return { first: this.first.value, second, metric: this.metric.value.trim() };
  }

  page(way) {
    this.offset = Math.max(0, this.offset + way * 50);
    this.list();
  }

  async loadList() {
    const found = await get("queries", { ...this.choices(), order: this.order.value, search: this.search.value, offset: this.offset });
    this.studio.problem(null);
    const { second } = this.choices();
    this.means.textContent = `Mean ${found.metric}: ${short(found.first_mean)}${second ? `, and ${short(found.second_mean)} by the second` : ""}.`;
    this.body.replaceChildren(...found.queries.map((query) => this.row(query)));
    const last = Math.min(found.found, found.offset + found.queries.length);
    this.count.textContent = found.found ? `${found.offset + 1} to ${last} of ${found.found} queries` : "No query has such an id.";
    this.back.disabled = found.offset === 0;
    this.forward.disabled = last >= found.found;
    if (!found.queries.length) return;
    if (this.number === undefined) this.number = found.queries[0].number;
    this.shown = true;
    await this.detail();
  }

  row(query) {
    const chosen = query.number === this.number;
    const button = h("button", { type: "button", class: "link", "data-query": query.number, "aria-current": chosen ? "true" : null, onclick: () => this.choose(query.number) }, query.id);
    const kind = query.gain > 0 ? "better" : query.gain < 0 ? "worse" : "";
    return h("tr", { class: chosen ? "chosen" : null }, h("th", { scope: "row" }, button), h("td", {}, short(query.first, 3)), h("td", {}, short(query.second, 3)), h("td", { class: kind }, signed(query.gain, 3)), h("td", {}, query.disagreement === null ? "–" : `${Math.round(100 * query.disagreement)} %`));
  }

  choose(number) {
    this.number = number;
    this.document = undefined;
    for (const button of this.body.querySelectorAll("button")) {
      const chosen = Number(button.dataset.query) === number;
      button.closest("tr").classList.toggle("chosen", chosen);
      if (chosen) button.setAttribute("aria-current", "true");
      else button.removeAttribute("aria-current");
    }
    this.detail();
  }

  async loadQuery() {
    const query = await get(`queries/${this.number}`, this.choices());
    this.query = query;
    const two = query.documents.length > 0 && query.documents[0].second_rank !== null;
    const values = `${query.metric} ${short(query.first_value)}${two ? ` → ${short(query.second_value)}` : ""}`;
    const levels = levelsOf(query.documents.map((each) => each.label));
    const drawn = query.documents.filter(isDrawn).length;
    const link = `#/forces?${new URLSearchParams({ query: query.number, ranking: this.first.value })}`;
    this.place.replaceChildren(
      h("h2", {}, `Query ${query.id}`),
      h("p", {}, `${values}, ${query.n_documents} documents. `, h("a", { href: link }, "Move them by forces")),
      labelLegend(levels),
      this.picture(query, levels, two),
      h("p", { class: "note", hidden: drawn >= query.n_documents }, `The picture shows the best ${DRAWN}${two ? " of each ranking" : ""}: ${drawn} of ${query.n_documents} documents.`),
      h("details", {}, h("summary", {}, "Documents as a table"), this.table(query, two)));
    const way = (each) => Math.abs((each.second_rank ?? each.first_rank) - each.first_rank);
    const moved = query.documents.filter(isDrawn).sort((a, b) => way(b) - way(a));
    if (!query.documents.some((each) => each.document === this.document)) this.document = moved[0]?.document;
    if (this.document !== undefined) await this.reason();
  }

  table(query, two) {
    const shownNames = query.feature_names.slice(0, COLUMNS);
    const titles = ["Document", "Label", "Rank", "Score", ...(two ? ["Rank by second", "Score by second"] : []), ...shownNames];
    const rows = query.documents.map((each) => h("tr", {}, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => this.pick(each.document) }, each.name)), h("td", {}, short(each.label, 2)), h("td", {}, each.first_rank), h("td", {}, short(each.first_score)), two ? [h("td", {}, each.second_rank), h("td", {}, short(each.second_score))] : null, shownNames.map((_, k) => h("td", {}, each.features[k] === null ? "missing" : short(each.features[k], 3)))));
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of documents" }, h("table", {}, h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)));
  }

  /** The two rankings side by side, with a line for each document. */
  picture(query, levels, two) {
    const shown = query.documents.filter(isDrawn);
    const width = 420;
    const last = Math.min(DRAWN, query.n_documents);
    const height = ROW * (last + 1) + 26;
    const y = (rank) => 34 + ROW * (Math.min(rank, last + 1) - 1);
    const [x1, x2] = [84, width - 84];
    const drawn = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "slopes", role: "group", "aria-label": "Ranks under the first and the second ranking" });
    drawn.append(s("text", { x: x1, y: 14, class: "tick middle" }, cut(this.first.value)));
    if (two) drawn.append(s("text", { x: x2, y: 14, class: "tick middle" }, cut(this.second.value)));
    const names = s("g", { class: "names", "aria-hidden": "true" });
    for (const each of shown) {
      const way = two ? each.first_rank - each.second_rank : 0;
      const words = two ? `rank ${each.first_rank}, then ${each.second_rank}` : `rank ${each.first_rank}`;
      const color = labelClass(each.label, levels);
      const choose = () => this.pick(each.document);
      const group = s("g", {
        class: "document", role: "button", tabindex: 0, "data-document": each.document, "aria-pressed": "false", "aria-label": `document ${each.name}, label ${short(each.label, 2)}, ${words}`,
        onclick: choose,
        onkeydown: (event) => {
          if (event.key !== "Enter" && event.key !== " ") return;
          event.preventDefault();
          choose();
        },
      });
      if (two) group.append(s("path", { d: `M${x1} ${y(each.first_rank)}C${width / 2} ${y(each.first_rank)} ${width / 2} ${y(each.second_rank)} ${x2} ${y(each.second_rank)}`, class: `slope ${way > 0 ? "up" : way < 0 ? "down" : "same"}` }));
      group.append(s("circle", { cx: x1, cy: y(each.first_rank), r: 6.5, class: `point ${color}` }));
      const name = (x, rank, kind) => s("text", { x, y: y(rank) + 4, class: kind, "data-document": each.document, onclick: choose }, `${rank}. ${cut(each.name, 8)}`);
      if (each.first_rank <= last) names.append(name(x1 - 12, each.first_rank, "tick end"));
      if (two) {
        group.append(s("circle", { cx: x2, cy: y(each.second_rank), r: 6.5, class: `point ${color}` }));
        if (each.second_rank <= last) names.append(name(x2 + 12, each.second_rank, "tick"));
      }
      drawn.append(group);
    }
    drawn.append(names);
    this.slopes = drawn;
    return h("div", { class: "slopes-place" }, drawn);
  }

  pick(document) {
    this.document = document;
    this.reason();
  }

  async loadMove() {
    const move = await get(`queries/${this.number}/move`, { ...this.choices(), document: this.document });
    for (const group of this.slopes.querySelectorAll("g.document")) group.setAttribute("aria-pressed", String(Number(group.dataset.document) === this.document));
    for (const name of this.slopes.querySelectorAll(".names text")) name.classList.toggle("chosen", Number(name.dataset.document) === this.document);
    const two = move.second_rank !== null;
    const largest = Math.max(1e-12, ...move.reasons.map((each) => Math.abs(each.difference)));
    const places = two ? `rank ${move.first_rank} → ${move.second_rank}` : `rank ${move.first_rank}`;
    const standing = two ? `${signed(move.first_standing, 2)} → ${signed(move.second_standing, 2)}` : signed(move.first_standing, 2);
    const features = this.query.documents.find((each) => each.document === this.document)?.features ?? [];
    this.why.replaceChildren(
      h("h2", {}, `Document ${move.name}`),
      h("p", {}, `Label ${short(move.label, 2)}, ${places}.`),
      h("p", { class: "note" }, `Its standing, the score in standard deviations from the mean of the query, is ${standing}. ${two ? "What each feature adds to the difference:" : "What each feature adds to it:"}`),
      h("div", {}, move.note ? h("p", { class: "note" }, move.note) : null, move.reasons.length || !move.note ? this.reasons(move, two, largest) : null),
      h("details", {}, h("summary", {}, `All ${this.query.n_features} features`),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Features" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Feature"), h("th", { scope: "col" }, "Value"))), h("tbody", {}, features.map((value, k) => h("tr", {}, h("th", { scope: "row" }, this.query.feature_names[k]), h("td", {}, value === null ? "missing" : short(value)))))))));
  }

  reasons(move, two, largest) {
    const bar = (value) => {
      const length = (60 * Math.abs(value)) / largest;
      return s("svg", { viewBox: "0 0 124 12", width: 124, height: 12, class: "bar", "aria-hidden": "true" }, s("rect", { x: value < 0 ? 62 - length : 62, y: 1, width: Math.max(0.5, length), height: 10, class: value < 0 ? "down" : "up" }), s("line", { x1: 62, x2: 62, y1: 0, y2: 12, class: "axis" }));
    };
    const rows = move.reasons.map((each) => h("tr", { "data-feature": each.feature, "data-difference": each.difference }, h("th", { scope: "row" }, each.feature), h("td", {}, each.value === null ? "missing" : short(each.value, 3)), h("td", {}, signed(each.difference, 3)), h("td", {}, bar(each.difference))));
    const total = two ? move.second_standing - move.first_standing : move.first_standing;
    rows.push(h("tr", {}, h("th", { scope: "row" }, "all others"), h("td", {}), h("td", {}, signed(move.rest, 3)), h("td", {})));
    rows.push(h("tr", { class: "sum" }, h("th", { scope: "row" }, "sum"), h("td", {}), h("td", {}, signed(total, 3)), h("td", {})));
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Reasons" }, h("table", {}, h("thead", {}, h("tr", {}, ["Feature", "Value", "Adds", "Picture"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)));
  }
}

/** Whether a document is among the best of either ranking. */
function isDrawn({ first_rank: first, second_rank: second }) {
  return first <= DRAWN || (second ?? Infinity) <= DRAWN;
}

function cut(text, most = 14) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** Make the page. */
export function queriesPage(studio) {
  return new QueriesPage(studio);
}
