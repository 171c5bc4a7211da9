// Forces: one query whose documents are dragged, or moved by gradient descent. All numbers come from the studio.

import { get, latest, post } from "./api.js";
import { lineChart } from "./charts.js";
import { field, h, labelLegend, levelsOf, select, short, signed } from "./dom.js";
import { Stage } from "./stage.js";

const PAUSE_MS = 90; // between two steps while descent is played
const MOST_STEPS = 2000;
const LONGEST_WORDS = 160; // of a counterexample that is shown
const ROUNDING = 1e-9; // a sum of forces below this share of the largest is shown as 0
const STILL = 1e-6; // movements below this end the play
const VALUES = [["cost", "Cost"], ["value", "Metric"], ["wta", "WTA"], ["ndcg", "NDCG"], ["pairwise_error", "Pairwise error"], ["sum_of_forces", "Sum of forces"]];
const LINES = [["wta", "WTA", "series-0"], ["ndcg", "NDCG", "series-1"], ["pairwise_error", "pairwise error", "series-2"]];

class ForcesPage {
  constructor(studio) {
    this.studio = studio;
    this.playing = null; // the loop that plays, an object of its own
    this.pending = 0;
    this.visits = 0; // of queries that were asked for
    this.taken = 0; // how often the page took over scores: of a query, or of a step
    this.edits = 0; // how often people moved a document or changed the force
    this.turn = Promise.resolve(); // steps are made one after the other
    this.stage = new Stage((k, score, done) => this.moved(k, score, done));
    this.examine = latest(() => this.busy(() => this.examineScores()), (error) => studio.problem(error));
    this.judge = latest(() => this.busy(() => this.laws()), (error) => studio.problem(error));
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
    const { state } = this.studio;
    const scenes = [...state.presets.map((each) => [`preset:${each.name}`, each.title]), ["query", "a query of the data"]];
    this.sceneSelect = select(scenes, "preset:winner-takes-all", { onchange: () => this.begin() });
    this.queryInput = h("input", { type: "number", min: 0, max: state.queries - 1, value: 0, onchange: () => this.begin() });
    this.rankingSelect = select(state.rankings, state.rankings[0], { onchange: () => this.begin() });
    this.queryFields = h("div", { class: "row" }, field(`Query, from 0 to ${state.queries - 1}`, this.queryInput), field("Starting scores", this.rankingSelect));
    this.forceSelect = select(state.forces.map((each) => each.name), "ranknet", { onchange: () => this.forceChosen() });
    this.innerSelect = h("select", { onchange: () => this.forceChosen(true) });
    this.innerField = field("Force inside", this.innerSelect);
    this.metricInput = h("input", { type: "text", value: "ndcg@10", list: "metrics", maxlength: 100, spellcheck: "false", autocomplete: "off", onchange: () => this.changed() });
    this.settings = h("div", { class: "settings" });
    this.forceName = h("output", { class: "force-name" });
    this.summary = h("p", { class: "summary" });
    this.movement = select([["free", "each document on its own"], ["linear", "through a linear model"]], "linear");
    this.rate = h("input", { type: "number", min: 0.000001, max: 10000, step: "any", value: 0.02 });
    this.playButton = h("button", { type: "button", class: "primary", onclick: () => this.play() }, "Play");
    this.stepButton = h("button", { type: "button", onclick: () => this.stepOnce() }, "Step");
    this.resetButton = h("button", { type: "button", onclick: () => this.begin() }, "Reset");
    this.words = h("p", { class: "words" });
    this.status = h("p", { class: "status", role: "status" });
    this.scale = h("p", { class: "note" });
    this.readings = Object.fromEntries(VALUES.map(([name]) => [name, h("dd", { "data-value-of": name })]));
    this.metricTitle = h("dt", {}, "Metric");
    this.chart = h("div", { class: "chart-place" });
    this.lawList = h("ul", { class: "laws" });
    this.table = h("tbody");
    this.legend = h("div");
    const metrics = h("datalist", { id: "metrics" }, state.metrics.map((name) => h("option", { value: name })));
    const terms = VALUES.map(([name, title]) => h("div", {}, name === "value" ? this.metricTitle : h("dt", {}, title), this.readings[name]));
    this.root = h("div", { class: "forces", "data-pending": 0 },
      h("h1", {}, "Forces"),
      h("p", { class: "lead" }, "The force on a document is the negative slope of the cost by its score: up means that it should rise. Drag a document, or let all of them follow their forces."),
      metrics,
      h("div", { class: "columns" },
        h("section", { class: "panel controls", "aria-label": "Choices" },
          field("Query", this.sceneSelect), this.queryFields,
          field("Force", this.forceSelect), this.innerField, this.summary,
          field("Metric", this.metricInput, "of the force, if it has one, and of the readings"),
          h("details", {}, h("summary", {}, "Parameters of the force"), this.settings),
          h("p", { class: "note" }, "Force: ", this.forceName),
          field("Documents move", this.movement), field("Step size", this.rate)),
        h("section", { class: "panel", "aria-label": "Documents" },
          this.words,
          h("div", { class: "buttons" }, this.playButton, this.stepButton, this.resetButton),
          this.stage.root, this.legend, this.scale, this.status),
        h("section", { class: "panel readings", "aria-label": "Readings" },
          h("dl", { class: "values" }, terms),
          h("h2", {}, "While they move"), this.chart,
          h("h2", {}, "Laws"), h("p", { class: "note" }, "At these scores, and at 100 random lists."), this.lawList)),
      h("details", { class: "panel" }, h("summary", {}, "All documents as a table"),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Documents" },
          h("table", {}, h("thead", {}, h("tr", {}, ["Rank", "Document", "Label", "Score", "Force"].map((title) => h("th", { scope: "col" }, title)))), this.table))));
  }

  show(parameters) {
    if (parameters.has("query")) {
      this.sceneSelect.value = "query";
      this.queryInput.value = parameters.get("query");
      if (parameters.has("ranking")) this.rankingSelect.value = parameters.get("ranking");
      history.replaceState(null, "", "#/forces");
      this.begin();
    } else if (!this.scene) this.begin();
  }

  hide() {
    this.pause();
  }

  stateChanged() {
    const chosen = this.rankingSelect.value;
    this.rankingSelect.replaceChildren(...this.studio.state.rankings.map((name) => h("option", { value: name, selected: name === chosen }, name)));
  }

  /** Which query is moved, as requests say it. */
  source() {
    const chosen = this.sceneSelect.value;
    if (chosen.startsWith("preset:")) return { preset: chosen.slice(7) };
    return { query: Number(this.queryInput.value) || 0, ranking: this.rankingSelect.value };
  }

  async begin() {
    this.pause();
    const visit = (this.visits += 1);
    const source = this.source();
    await this.busy(async () => {
      try {
        this.studio.problem(null);
        const scene = await get("scene", source);
        if (visit !== this.visits) return;
        const example = source.preset ?? "query";
        const other = example !== this.example; // from one query of the data to another, the choices stay
        Object.assign(this, { scene, example, shownSource: source, current: null });
        if (other) this.suggest(scene);
      } catch (error) {
        if (visit === this.visits) this.studio.problem(error);
        return;
      }
      this.taken += 1;
      this.queryFields.hidden = this.sceneSelect.value !== "query";
      this.scores = [...this.scene.scores];
      this.round = 0;
      this.history = [];
      this.words.textContent = this.scene.words;
      this.status.textContent = "";
      this.legend.replaceChildren(labelLegend(levelsOf(this.scene.labels)));
      this.stage.begin(this.scene, [...this.scores]);
      await this.changed();
    });
  }

  /** Take over the choices that an example is made for. */
  suggest({ force, metric, movement, rate }) {
    this.forceSelect.value = force;
    this.metricInput.value = metric;
    this.movement.value = movement;
    this.rate.value = rate;
    this.buildSettings();
  }

  definition(name) {
    return this.studio.state.forces.find((each) => each.name === name);
  }

  forceChosen(inner = false) {
    this.buildSettings(inner);
    this.changed();
  }

  buildSettings(inner = false) {
    const outer = this.definition(this.forceSelect.value);
    this.innerField.hidden = outer.takes !== "force";
    if (!inner) this.innerSelect.replaceChildren(...outer.accepts.map((name) => h("option", { value: name }, name)));
    this.summary.textContent = outer.summary;
    const owners = outer.takes === "force" ? [outer, this.definition(this.innerSelect.value)] : [outer];
    this.inputs = owners.map((owner) => owner.settings.map((setting) => ({ setting, control: this.control(setting) })));
    const rows = this.inputs.flat().map(({ setting, control }) => field(setting.name, control, setting.description));
    this.settings.replaceChildren(...(rows.length ? rows : [h("p", { class: "note" }, "It has none.")]));
  }

  control({ kind, default: value, choices }) {
    const onchange = () => this.changed();
    if (kind === "flag") return select([["True", "yes"], ["False", "no"]], value ? "True" : "False", { onchange });
    if (kind === "choice") return select(choices, value, { onchange });
    return h("input", { type: "number", step: kind === "integer" ? 1 : "any", value: value ?? "", onchange });
  }

  /** The printable name of the force that is chosen, as in regularized(lambdarank(ndcg@10), alpha=0.1). */
  force() {
    const outer = this.definition(this.forceSelect.value);
    const chain = outer.takes === "force" ? [outer, this.definition(this.innerSelect.value)] : [outer];
    let name = "";
    for (const [place, owner] of [...chain.entries()].reverse()) {
      const first = owner.takes === "metric" ? [this.metricInput.value.trim()] : owner.takes === "force" ? [name] : [];
      const given = this.inputs[place].filter(({ setting, control }) => control.value !== "" && spelled(setting, control.value) !== spelled(setting, defaultText(setting)));
      const inside = [...first, ...given.map(({ setting, control }) => `${setting.name}=${spelled(setting, control.value)}`)];
      name = inside.length ? `${owner.name}(${inside.join(", ")})` : owner.name;
    }
    return name;
  }

  point() {
    return { scores: this.scores, force: this.force(), metric: this.metricInput.value.trim(), round: this.round, ...this.shownSource };
  }

  async changed() {
    this.edits += 1;
    this.forceName.textContent = this.force();
    this.history = this.history.slice(-1);
    this.lawList.replaceChildren();
    await this.examine();
    await this.judge();
  }

  moved(k, score, done) {
    this.pause();
    this.edits += 1;
    this.scores[k] = score;
    this.examine().then(() => done && this.judge());
  }

  /** Ask for the forces at the scores of the page. Answers about a query or a step that is no longer shown are left out. */
  async examineScores() {
    const { taken } = this;
    const point = await post("examine", this.point());
    if (taken === this.taken) this.take(point);
  }

  /** Show what the studio has computed. The scores are those of the page, which may have been moved since it asked. */
  take(point) {
    this.studio.problem(null);
    this.current = point;
    this.stage.update({ ...point, scores: this.scores });
    this.metricTitle.textContent = point.metric;
    const longest = Math.max(...point.force.map(Math.abs));
    for (const [name] of VALUES) {
      const place = this.readings[name];
      place.textContent = name === "cost" && point.cost === null ? "none" : short(name === "sum_of_forces" && Math.abs(point[name]) < ROUNDING * longest ? 0 : point[name]);
      place.dataset.value = point[name] ?? "";
    }
    this.scale.textContent = `The longest arrow is a force of ${short(longest, 3)}. Numbers in the points are ranks.`;
    if (!this.history.length) this.history = [{ round: this.round, ...point }];
    this.drawChart();
    this.drawTable(point);
  }

  drawChart() {
    const width = Math.max(260, Math.min(560, this.chart.clientWidth || 340));
    const series = LINES.map(([key, name, kind]) => ({ name, kind, points: this.history.filter((each) => each[key] !== null).map((each) => [each.round, each[key]]) }));
    lineChart(this.chart, series, { title: "WTA, NDCG and pairwise error by step", x: "step", y: "", low: 0, high: 1, width, height: 190 });
  }

  drawTable(point) {
    const order = point.ranks.map((rank, k) => [rank, k]).sort((a, b) => a[0] - b[0]).slice(0, 200);
    this.table.replaceChildren(...order.map(([rank, k]) => h("tr", {}, h("td", {}, rank), h("th", { scope: "row" }, this.scene.names[k]), h("td", {}, short(this.scene.labels[k], 2)), h("td", {}, short(point.scores[k])), h("td", {}, signed(point.force[k])))));
  }

  async laws() {
    const { taken, edits } = this;
    const { here, anywhere } = await post("laws", this.point());
    if (taken !== this.taken || edits !== this.edits) return; // they are judged again
    this.lawList.replaceChildren(...Object.entries(anywhere.laws).map(([name, general]) => {
      const local = here?.laws[name];
      const title = name === "action_reaction" ? "action = reaction" : name === "consistent" ? `consistent with ${anywhere.metric}` : name;
      const words = local?.counterexample?.words ?? "";
      const example = words.length < LONGEST_WORDS ? words : ""; // others hold long rows of numbers
      return h("li", { "data-law": name },
        h("strong", {}, title), " ",
        local ? verdict("here", local.holds, "holds") : null, " ", verdict("random lists", general.holds, "no violation"),
        h("small", {}, `${general.statement}.${example ? ` Here: ${example}.` : ""}`));
    }));
    if (!here) this.lawList.prepend(h("li", {}, h("small", {}, "This query is too long to test the laws at its own scores.")));
  }

  /** Make a step after those that are under way, and return how far the documents moved. */
  step() {
    const { scene } = this;
    const made = this.turn.then(() => (scene && scene === this.scene ? this.descend() : Infinity));
    this.turn = made.catch(() => {});
    return made;
  }

  /** Ask for one step. It is left out if the query, the scores or the force have been changed meanwhile. */
  async descend() {
    const { current: before, scores, taken, edits } = this;
    const body = { ...this.point(), movement: this.movement.value, rate: Number(this.rate.value), steps: 1 };
    const { points } = await this.busy(() => post("descend", body));
    if (taken !== this.taken || edits !== this.edits) return Infinity;
    this.taken += 1;
    this.round += 1;
    this.history.push({ round: this.round, ...points[0] });
    this.scores = [...points[0].scores];
    this.take(points[0]);
    if (before) this.tellPassing(before, points[0]);
    return Math.max(...this.scores.map((score, k) => Math.abs(score - scores[k])));
  }

  tellPassing(before, after) {
    const passed = after.ranks.map((rank, k) => [before.ranks[k] - rank, k]).filter(([up]) => up > 0).sort((a, b) => b[0] - a[0]);
    const said = passed.slice(0, 2).map(([up, k]) => `${this.scene.names[k]} passed ${up} document${up > 1 ? "s" : ""}`);
    this.status.textContent = `Step ${this.round}${said.length ? `: ${said.join(", ")}` : ""}.`;
  }

  async stepOnce() {
    this.pause();
    try {
      await this.step();
    } catch (error) {
      this.studio.problem(error);
      return;
    }
    this.judge();
  }

  pause() {
    this.playing = null;
    this.playButton.textContent = "Play";
  }

  async play() {
    if (this.playing) {
      this.pause();
      return;
    }
    const loop = (this.playing = {});
    this.playButton.textContent = "Pause";
    try {
      for (let count = 0; this.playing === loop && count < MOST_STEPS; count += 1) {
        if ((await this.step()) < STILL) break;
        if (this.playing === loop) await new Promise((done) => setTimeout(done, PAUSE_MS));
      }
    } catch (error) {
      this.studio.problem(error);
    }
    if (this.playing === loop) this.pause();
    if (!this.playing) this.judge(); // else another loop has begun
  }
}

function verdict(where, holds, words) {
  return h("span", { class: `verdict ${holds ? "holds" : "broken"}` }, `${where}: ${holds ? words : "broken"}`);
}

function defaultText({ kind, default: value }) {
  return kind === "flag" ? (value ? "True" : "False") : String(value ?? "");
}

function spelled({ kind }, text) {
  if (kind === "choice") return `'${text}'`;
  return kind === "flag" || text === "" ? text : String(Number(text));
}

/** Make the page. */
export function forcesPage(studio) {
  return new ForcesPage(studio);
}
