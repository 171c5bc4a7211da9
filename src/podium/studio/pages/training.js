// Training: start a ranker on the loaded data and watch the curve and one query while it learns.

import { get, post } from "./api.js";
import { lineChart } from "./charts.js";
import { field, h, labelClass, labelLegend, select, short } from "./dom.js";

const POLL_MS = 250;
const RETRY_MS = 2000; // after an answer that did not come
const ROW = 24; // pixels per document
const DEFAULTS = { n_estimators: 200, epochs: 100 }; // of the form; the rankers' own are for long trainings

class TrainingPage {
  constructor(studio) {
    this.studio = studio;
    this.rows = [];
    this.build();
  }

  build() {
    const { state } = this.studio;
    this.ranker = select(state.rankers.map((each) => each.name), "lambdamart", { onchange: () => this.buildSettings() });
    this.metric = h("input", { type: "text", value: "ndcg@10", list: "training-metrics", maxlength: 100, spellcheck: "false", autocomplete: "off" });
    this.pause = h("input", { type: "number", min: 0, max: 5, step: 0.01, value: 0.05 });
    this.settings = h("div", { class: "settings" });
    this.summary = h("p", { class: "summary" });
    this.startButton = h("button", { type: "submit", class: "primary" }, "Start");
    this.stopButton = h("button", { type: "button", disabled: true, onclick: () => this.stop() }, "Stop");
    this.saveButton = h("button", { type: "button", disabled: true, onclick: () => this.save() }, "Save the model");
    this.status = h("p", { class: "status", role: "status" }, "No training yet.");
    this.saved = h("p", { class: "note", role: "status" });
    this.progress = h("progress", { max: 1, value: 0, "aria-label": "Rounds" });
    this.chart = h("div", { class: "chart-place" });
    this.watched = h("select", { onchange: () => this.poll() });
    this.watchField = field("Watched query", this.watched, "None of the queries listed here is trained on.");
    this.ladder = h("ol", { class: "ladder", "aria-label": "Documents in the order of the model" });
    this.legend = h("div");
    this.root = h("div", { class: "training", "data-state": "idle" },
      h("h1", {}, "Training"),
      h("p", { class: "lead" }, `Four fifths of the queries are trained on, and the rest judges. Saved models go to the folder ${state.folder}.`),
      h("datalist", { id: "training-metrics" }, state.metrics.map((name) => h("option", { value: name }))),
      h("div", { class: "columns" },
        h("form", { class: "panel controls", "aria-label": "Settings", onsubmit: (event) => this.start(event) },
          field("Ranker", this.ranker), this.summary, field("Metric", this.metric),
          h("div", { class: "buttons" }, this.startButton, this.stopButton, this.saveButton), this.saved,
          h("details", { open: innerWidth > 760 }, h("summary", {}, "Settings"), this.settings, field("Pause after each round", this.pause, "in seconds, to watch it"))),
        h("section", { class: "panel", "aria-label": "Course" }, this.status, this.progress, this.chart),
        h("section", { class: "panel", "aria-label": "Watched query" }, this.watchField, this.legend, this.ladder)));
    this.buildSettings();
  }

  show() {
    if (this.id === undefined && this.studio.state.training !== null) this.follow(this.studio.state.training);
  }

  buildSettings() {
    const chosen = this.studio.state.rankers.find((each) => each.name === this.ranker.value);
    this.summary.textContent = chosen.summary;
    const sorted = [...chosen.settings].sort((a, b) => (a.name === "seed") - (b.name === "seed"));
    this.inputs = sorted.map((setting) => ({ setting, control: this.control(setting) }));
    this.settings.replaceChildren(...this.inputs.map(({ setting, control }) => field(setting.name, control, setting.description)));
  }

  control({ name, kind, default: value, choices, description }) {
    const placeholder = /Empty means: ([^.]*)/.exec(description)?.[1];
    if (kind === "flag") return select([["true", "yes"], ["false", "no"]], String(value));
    if (kind === "choice") return select(choices, value);
    const shown = name in DEFAULTS ? Math.min(DEFAULTS[name], value ?? Infinity) : value;
    return h("input", { type: "number", step: kind === "integer" ? 1 : "any", value: shown ?? "", placeholder: placeholder ?? "" });
  }

  async start(event) {
    event.preventDefault();
    this.studio.problem(null);
    const settings = {};
    for (const { setting, control } of this.inputs) {
      if (control.value === "") {
        if (setting.empty_is_none) settings[setting.name] = null;
        continue;
      }
      settings[setting.name] = setting.kind === "choice" ? control.value : setting.kind === "flag" ? control.value === "true" : Number(control.value);
    }
    try {
      const begun = await post("trainings", { ranker: this.ranker.value, metric: this.metric.value.trim(), settings, pause: Number(this.pause.value) || 0 });
      this.follow(begun.id);
    } catch (error) {
      this.studio.problem(error);
    }
  }

  follow(id) {
    this.id = id;
    this.rows = [];
    Object.assign(this.root.dataset, { training: id, state: "running", rounds: 0 });
    this.saved.textContent = "";
    this.watched.replaceChildren();
    this.poll();
  }

  async poll() {
    const id = this.id;
    if (id === undefined || this.polling) return;
    this.polling = true;
    try {
      let shown;
      do {
        shown = await this.ask(id);
        if (id !== this.id) break;
        this.take(shown);
        if (shown.state === "running") await new Promise((done) => setTimeout(done, POLL_MS));
      } while (shown.state === "running" && id === this.id);
      if (shown.model && !this.studio.state.rankings.includes(shown.model)) await this.studio.reload();
    } catch (error) {
      this.studio.problem(error);
    }
    this.polling = false;
    if (id !== this.id) this.poll();
  }

  /** Ask how a training stands; a studio that is busy or does not answer is asked again, unless another one is followed. */
  async ask(id) {
    for (;;) {
      try {
        const shown = await get(`trainings/${id}`, { since: this.rows.length, query: this.watched.value });
        if (this.waiting) this.studio.problem(null);
        this.waiting = false;
        return shown;
      } catch (error) {
        if (id !== this.id || (error.status !== 0 && error.status !== 503)) throw error;
        this.waiting = true;
        this.studio.problem(error);
        await new Promise((done) => setTimeout(done, RETRY_MS));
      }
    }
  }

  take(shown) {
    this.rows.push(...shown.rows);
    const running = shown.state === "running";
    this.root.dataset.state = shown.state;
    this.root.dataset.rounds = this.rows.length;
    this.startButton.disabled = running;
    this.stopButton.disabled = !running;
    this.saveButton.disabled = shown.model === null;
    this.progress.max = shown.max_rounds;
    this.progress.value = shown.rounds;
    const best = shown.best_round === null ? "" : ` ${running ? "Best so far" : "Kept"}: ${shown.unit} ${shown.best_round}.`;
    const states = { running: "is training", stopped: "was stopped", finished: "has finished", failed: "failed" };
    this.status.textContent = `${shown.ranker} ${states[shown.state]}: ${shown.unit} ${shown.rounds} of at most ${shown.max_rounds}, ${shown.train_queries} queries, judged by ${shown.valid_queries}.${best} ${shown.message}`;
    if (shown.saved_as) this.tellSaved(shown.saved_as);
    this.drawChart(shown);
    this.drawLadder(shown);
  }

  drawChart(shown) {
    const width = Math.max(260, Math.min(640, this.chart.clientWidth || 420));
    const points = (key) => this.rows.filter((row) => row[key] !== null).map((row) => [row.round, row[key]]);
    const mark = shown.best_round === null ? null : { x: shown.best_round, words: `${shown.state === "running" ? "best so far" : "kept"}: ${shown.unit} ${shown.best_round}` };
    lineChart(this.chart, [{ name: "training", kind: "series-0", points: points("train") }, { name: "validation", kind: "series-1", points: points("valid") }], { title: `${shown.metric} by ${shown.unit}`, x: shown.unit, y: shown.metric, mark, width, height: 270 });
  }

  drawLadder({ ranking, watchable }) {
    this.watchField.hidden = ranking === null;
    if (ranking === null) return;
    if (!this.watched.options.length) this.watched.replaceChildren(...watchable.map(({ number, title }) => h("option", { value: number }, title)));
    const { levels } = ranking;
    if (this.ladder.dataset.query !== String(ranking.query)) {
      this.ladder.dataset.query = ranking.query;
      this.legend.replaceChildren(labelLegend(levels));
      this.ladder.replaceChildren();
      this.rungs = new Map();
    }
    const before = this.rungs;
    this.rungs = new Map(ranking.documents.map((document, k) => [document, before.get(document) ?? rung(ranking.names[k], ranking.labels[k], levels)]));
    for (const [document, left] of before) if (!this.rungs.has(document)) left.remove();
    this.ladder.style.height = `${ROW * ranking.documents.length}px`;
    [...this.rungs.values()].forEach((each, k) => {
      if (!each.parentNode) this.ladder.append(each);
      each.style.transform = `translateY(${ROW * (ranking.ranks[k] - 1)}px)`;
      each.dataset.rank = ranking.ranks[k];
      each.firstChild.textContent = ranking.ranks[k];
      each.lastChild.textContent = short(ranking.scores[k], 3);
    });
  }

  async stop() {
    this.stopButton.disabled = true;
    try {
      await post(`trainings/${this.id}/stop`);
    } catch (error) {
      this.studio.problem(error);
    }
  }

  async save() {
    try {
      const { saved_as: name } = await post(`trainings/${this.id}/save`);
      this.tellSaved(name);
    } catch (error) {
      this.studio.problem(error);
    }
  }

  tellSaved(name) {
    this.saved.textContent = `Saved as ${name} in ${this.studio.state.folder}.`;
  }
}

/** Make the row of one document of the watched query. */
function rung(name, label, levels) {
  return h("li", {}, h("span", { class: "place" }), h("span", { class: `chip ${labelClass(label, levels)}`, "aria-hidden": "true" }), h("span", { class: "name" }, name), h("span", { class: "label" }, `label ${short(label, 2)}`), h("span", { class: "score" }));
}

/** Make the page. */
export function trainingPage(studio) {
  return new TrainingPage(studio);
}
