// Queries: the documents of a query under one or two rankings, who moved, and why.

import { get, latest } from "./api.js";
import { capital, field, fit, h, labelClass, labelLegend, levelsOf, queryTitle, s, select, short, signed, textWidth, valueText } from "./dom.js";

const NONE = "";
const DRAWN = 40; // documents in the picture of the two rankings
const ROW = 22; // pixels per document
const [NARROWEST, WIDEST] = [300, 620]; // pixels of the picture
const BESIDE = 40; // pixels between a point and a name; the rank is there
const NAME_SHARE = 0.33; // of the picture that the names on each side may take
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
    this.offset = Math.max(0, this.offset + way * this.pageLength);
    this.turned = true;
    this.list();
  }

  async loadList() {
    const found = await get("queries", { ...this.choices(), order: this.order.value, search: this.search.value, offset: this.offset });
    this.studio.problem(null);
    const { second } = this.choices();
    const means = `${short(found.first_mean)}${second ? ` by the first ranking, ${short(found.second_mean)} by the second` : ""}`;
    this.means.textContent = `Mean ${found.metric}${found.over ? ` ${found.over}` : ""}: ${means}.${found.queries.some((query) => query.trained_on) ? " An asterisk marks queries that were trained on." : ""}`;
    this.pageLength = found.page_length;
    const { turned } = this;
    this.turned = false;
    if (found.queries.length && !turned && !found.queries.some((query) => query.number === this.number)) [this.number, this.document] = [found.queries[0].number, undefined];
    this.body.replaceChildren(...found.queries.map((query) => this.row(query)));
    const last = Math.min(found.found, found.offset + found.queries.length);
    this.count.textContent = found.found ? `${found.offset + 1} to ${last} of ${found.found} queries` : "No query has such an id.";
    this.back.disabled = found.offset === 0;
    this.forward.disabled = last >= found.found;
    if (!found.queries.length) return;
    this.shown = true;
    this.showChosen();
    await this.detail();
  }

  /** Scroll the list, and nothing else, to the query that is shown. */
  showChosen() {
    const row = this.body.querySelector("tr.chosen");
    const place = this.body.closest(".scroll");
    if (!row || !place) return;
    const [inner, outer] = [row.getBoundingClientRect(), place.getBoundingClientRect()];
    const head = this.body.previousSibling.getBoundingClientRect().height;
    if (inner.top < outer.top + head) place.scrollTop -= outer.top + head - inner.top;
    else if (inner.bottom > outer.bottom) place.scrollTop += inner.bottom - outer.bottom;
  }

  row(query) {
    const chosen = query.number === this.number;
    const button = h("button", { type: "button", class: "link", "data-query": query.number, "aria-current": chosen ? "true" : null, onclick: () => this.choose(query.number) }, query.id, query.trained_on ? h("span", { title: "trained on" }, " *", h("span", { class: "unseen" }, " trained on")) : null);
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
      h("h2", {}, capital(queryTitle(query.id))),
      h("p", {}, `${values}, ${query.n_documents} documents. `, h("a", { href: link }, "Move them by forces")),
      query.trained_on.length ? h("p", { class: "note" }, `${query.trained_on.join(" and ")} ${query.trained_on.length > 1 ? "were" : "was"} trained on this query.`) : "",
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
    const rows = query.documents.map((each) => h("tr", {}, h("th", { scope: "row" }, h("button", { type: "button", class: "link", onclick: () => this.pick(each.document) }, each.name)), h("td", {}, short(each.label, 2)), h("td", {}, each.first_rank), h("td", {}, short(each.first_score)), two ? [h("td", {}, each.second_rank), h("td", {}, short(each.second_score))] : null, shownNames.map((_, k) => h("td", {}, valueText(each.features[k], 3)))));
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Table of documents" }, h("table", {}, h("thead", {}, h("tr", {}, titles.map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)));
  }

  /** The two rankings side by side, with a line for each document. */
  picture(query, levels, two) {
    const shown = query.documents.filter(isDrawn);
    const width = Math.max(NARROWEST, Math.min(WIDEST, this.place.clientWidth - 30));
    const last = Math.min(DRAWN, query.n_documents);
    const height = ROW * (last + 1) + 26;
    const y = (rank) => 34 + ROW * (Math.min(rank, last + 1) - 1);
    const room = Math.min(NAME_SHARE * width - BESIDE, Math.max(20, ...shown.map((each) => textWidth(each.name, 12, 700))));
    const [x1, x2] = [room + BESIDE, two ? width - room - BESIDE : room + BESIDE];
    const drawn = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "slopes", role: "group", "aria-label": "Ranks under the first and the second ranking" });
    const title = (text, x, kind) => s("text", { x, y: 14, class: `tick ${kind}` }, fit(text, width / 2 - 8), s("title", {}, text));
    drawn.append(title(this.first.value, 0, ""));
    if (two) drawn.append(title(this.second.value, width, "end"));
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
      const write = (rank, x, way, kind) => {
        const text = (content, distance, extra) => s("text", { x: x + way * distance, y: y(rank) + 4, class: `tick ${kind} ${extra}`, "data-document": each.document, onclick: choose }, content);
        const name = text(fit(each.name, room, 12, 700), BESIDE, "name");
        name.append(s("title", {}, each.name));
        names.append(text(rank, 12, "rank-of"), name);
      };
      if (each.first_rank <= last) write(each.first_rank, x1, -1, "end");
      if (two) {
        group.append(s("circle", { cx: x2, cy: y(each.second_rank), r: 6.5, class: `point ${color}` }));
        if (each.second_rank <= last) write(each.second_rank, x2, 1, "");
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
      h("details", { hidden: move.reasons.length >= this.query.n_features }, h("summary", {}, this.query.n_features > features.length ? `${features.length} of ${this.query.n_features} features` : `All ${this.query.n_features} features`),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Features" }, h("table", {}, h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Feature"), h("th", { scope: "col" }, "Value"))), h("tbody", {}, features.map((value, k) => h("tr", {}, h("th", { scope: "row" }, this.query.feature_names[k]), h("td", {}, valueText(value)))))))));
  }

  reasons(move, two, largest) {
    const bar = (value) => {
      const length = (60 * Math.abs(value)) / largest;
      return s("svg", { viewBox: "0 0 124 12", width: 124, height: 12, class: "bar", "aria-hidden": "true" }, s("rect", { x: value < 0 ? 62 - length : 62, y: 1, width: Math.max(0.5, length), height: 10, class: value < 0 ? "down" : "up" }), s("line", { x1: 62, x2: 62, y1: 0, y2: 12, class: "axis" }));
    };
    const rows = move.reasons.map((each) => h("tr", { "data-feature": each.feature, "data-difference": each.difference }, h("th", { scope: "row" }, each.feature), h("td", {}, valueText(each.value, 3)), h("td", {}, signed(each.difference, 3)), h("td", {}, bar(each.difference))));
    const total = two ? move.second_standing - move.first_standing : move.first_standing;
    const rest = move.others ? `${move.others} other features` : "not in the sample";
    if (move.others || Math.abs(move.rest) > 0.0005) rows.push(h("tr", {}, h("th", { scope: "row" }, rest), h("td", {}), h("td", {}, signed(move.rest, 3)), h("td", {})));
    rows.push(h("tr", { class: "sum" }, h("th", { scope: "row" }, "sum"), h("td", {}), h("td", {}, signed(total, 3)), h("td", {})));
    return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Reasons" }, h("table", {}, h("thead", {}, h("tr", {}, ["Feature", "Value", "Adds", "Picture"].map((title) => h("th", { scope: "col" }, title)))), h("tbody", {}, rows)));
  }
}

/** Whether a document is among the best of either ranking. */
function isDrawn({ first_rank: first, second_rank: second }) {
  return first <= DRAWN || (second ?? Infinity) <= DRAWN;
}

/** Make the page. */
export function queriesPage(studio) {
  return new QueriesPage(studio);
}
