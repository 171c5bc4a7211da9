// The stage: documents as points on a vertical line of score, with an arrow for the force on each.

import { labelClass, levelsOf, s, set, short, signed } from "./dom.js";
import { ticks } from "./charts.js";

const LEFT = 58;
const RIGHT = 14;
const EDGE = 18;
const LONGEST = 80; // pixels of the longest arrow
const MANY = 60; // documents; more are drawn as dots without numbers

/**
 * Documents that can be dragged by mouse, touch and keyboard. Each has a lane of its own, so that arrows do not overlap, and a
 * tick on the common line at the left.
 */
export class Stage {
  /** @param {(document: number, score: number, done: boolean) => void} onMove called while a document is dragged and afterwards. */
  constructor(onMove) {
    this.onMove = onMove;
    this.root = s("svg", { class: "stage", role: "group", "aria-label": "Documents by score. Up and down move a document, left and right go to another." });
    this.dragged = null;
    this.root.addEventListener("keydown", (event) => this.key(event));
    this.root.addEventListener("pointerdown", (event) => this.press(event));
    this.root.addEventListener("pointermove", (event) => this.drag(event));
    for (const name of ["pointerup", "pointercancel"]) this.root.addEventListener(name, (event) => this.release(event));
    new ResizeObserver(() => this.scene && this.resize()).observe(this.root);
  }

  /** Show another query. */
  begin(scene, scores) {
    this.scene = scene;
    this.scores = scores;
    this.force = scores.map(() => 0);
    this.ranks = scores.map(() => null);
    this.levels = levelsOf(scene.labels);
    this.many = scores.length > MANY;
    this.lanes = scores.map((_, k) => k).sort((a, b) => scene.labels[b] - scene.labels[a] || a - b);
    this.fit(true);
    this.axis = s("g", { "aria-hidden": "true" });
    this.marks = scores.map((_, k) => s("line", { class: `mark ${labelClass(scene.labels[k], this.levels)}` }));
    this.documents = scores.map((_, k) => this.document(k));
    this.root.replaceChildren(this.axis, s("g", { "aria-hidden": "true" }, this.marks), ...this.lanes.map((k) => this.documents[k].group).reverse());
    this.focusable = this.lanes[0];
    this.documents[this.focusable].group.setAttribute("tabindex", "0");
    this.resize();
  }

  document(k) {
    const relevant = this.scene.labels[k] > this.levels[0];
    const big = !this.many || relevant;
    const reach = relevant ? s("circle", { class: "reach", r: 18 }) : null;
    const arrow = s("path", { class: "arrow" });
    const point = s("circle", { class: `point ${big ? "" : "small"} ${labelClass(this.scene.labels[k], this.levels)}` });
    const rank = s("text", { class: `rank ${labelClass(this.scene.labels[k], this.levels)}`, "aria-hidden": "true" });
    const group = s("g", { class: "document", role: "slider", tabindex: "-1", "aria-orientation": "vertical", "data-document": k }, reach, arrow, point, big ? rank : null);
    return { group, reach, arrow, point, rank, big, relevant };
  }

  /** Choose the scores at the edges; while documents move, the edges only ever widen. */
  fit(anew) {
    const low = Math.min(...this.scores);
    const high = Math.max(...this.scores);
    const room = Math.max(0.5, (high - low) * 0.08);
    if (anew || !this.edges) this.edges = [low - room, high + room];
    else if (low < this.edges[0] || high > this.edges[1]) this.edges = [Math.min(this.edges[0], low - 2 * room), Math.max(this.edges[1], high + 2 * room)];
    else return false;
    return true;
  }

  resize() {
    const box = this.root.getBoundingClientRect();
    this.width = Math.max(280, box.width);
    this.height = Math.max(240, box.height);
    this.root.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.drawAxis();
    this.draw();
  }

  y(score) {
    return EDGE + ((this.edges[1] - score) / (this.edges[1] - this.edges[0])) * (this.height - 2 * EDGE);
  }

  score(y) {
    return this.edges[1] - ((y - EDGE) / (this.height - 2 * EDGE)) * (this.edges[1] - this.edges[0]);
  }

  drawAxis() {
    const parts = ticks(this.edges[0], this.edges[1], 8).map((value) => [
      s("line", { x1: LEFT, x2: this.width - RIGHT, y1: this.y(value), y2: this.y(value), class: "grid" }),
      s("text", { x: LEFT - 20, y: this.y(value) + 4, class: "tick end" }, short(value, 1)),
    ]);
    this.axis.replaceChildren(...parts.flat(), s("line", { x1: LEFT - 8, x2: LEFT - 8, y1: EDGE / 2, y2: this.height - EDGE / 2, class: "axis" }), s("text", { x: 4, y: 12, class: "tick" }, "score"));
  }

  /** Take over what the studio has computed, and draw it. */
  update({ scores, force, ranks }) {
    Object.assign(this, { scores: [...scores], force, ranks });
    if (this.dragged === null && this.fit(false)) this.drawAxis();
    this.draw();
  }

  draw() {
    const lane = (this.width - LEFT - RIGHT) / this.lanes.length;
    const largest = Math.max(...this.force.map(Math.abs)) || 1;
    this.lanes.forEach((k, place) => {
      const { group, reach, arrow, point, rank, big, relevant } = this.documents[k];
      const radius = big ? Math.min(12, Math.max(relevant && this.levels.length < 3 ? 9 : 5, lane * 0.48)) : 2.5;
      const x = LEFT + (place + 0.5) * lane;
      const y = this.y(this.scores[k]);
      set(point, { cx: x, cy: y, r: radius });
      if (reach) set(reach, { cx: x, cy: y });
      set(rank, { x, y: y + 0.36 * radius, "font-size": radius < 7 ? 0 : radius * 1.05 });
      rank.textContent = this.ranks[k] ?? "";
      set(this.marks[k], { x1: LEFT - 14, x2: LEFT - 2, y1: y, y2: y });
      arrow.setAttribute("d", arrowPath(x, y, (-this.force[k] / largest) * LONGEST, this.many && lane < 4));
      arrow.setAttribute("class", `arrow ${this.force[k] >= 0 ? "up" : "down"}`);
      set(group, {
        "aria-label": `document ${this.scene.names[k]}`,
        "aria-valuemin": this.edges[0].toFixed(2),
        "aria-valuemax": this.edges[1].toFixed(2),
        "aria-valuenow": this.scores[k].toFixed(4),
        "aria-valuetext": `score ${short(this.scores[k], 2)}, rank ${this.ranks[k] ?? "unknown"} of ${this.scores.length}, label ${short(this.scene.labels[k], 2)}, force ${signed(this.force[k], 3)}`,
        "data-score": this.scores[k],
        "data-force": this.force[k],
        "data-rank": this.ranks[k] ?? "",
      });
    });
  }

  move(k, score, done) {
    this.scores[k] = score;
    this.draw();
    this.onMove(k, score, done);
  }

  press(event) {
    const group = event.target.closest?.("g.document");
    if (!group) return;
    const k = Number(group.dataset.document);
    this.dragged = { k, offset: this.y(this.scores[k]) - this.pointerY(event) };
    this.root.setPointerCapture(event.pointerId);
    this.root.classList.add("dragging");
    this.focus(k);
    event.preventDefault();
  }

  drag(event) {
    if (this.dragged === null) return;
    const y = Math.min(this.height - 4, Math.max(4, this.pointerY(event) + this.dragged.offset));
    this.move(this.dragged.k, this.score(y), false);
  }

  release() {
    if (this.dragged === null) return;
    const { k } = this.dragged;
    this.dragged = null;
    this.root.classList.remove("dragging");
    this.move(k, this.scores[k], true);
  }

  pointerY(event) {
    const box = this.root.getBoundingClientRect();
    return ((event.clientY - box.top) / box.height) * this.height;
  }

  key(event) {
    const group = event.target.closest?.("g.document");
    if (!group || event.altKey || event.ctrlKey || event.metaKey) return;
    const k = Number(group.dataset.document);
    const unit = (this.edges[1] - this.edges[0]) / 100;
    const others = this.scores.filter((_, other) => other !== k);
    const ways = {
      ArrowUp: () => this.move(k, this.scores[k] + unit, true),
      ArrowDown: () => this.move(k, this.scores[k] - unit, true),
      PageUp: () => this.move(k, this.scores[k] + 10 * unit, true),
      PageDown: () => this.move(k, this.scores[k] - 10 * unit, true),
      Home: () => this.move(k, Math.max(...others) + unit, true),
      End: () => this.move(k, Math.min(...others) - unit, true),
      ArrowLeft: () => this.focus(this.beside(k, -1)),
      ArrowRight: () => this.focus(this.beside(k, 1)),
    };
    if (!(event.key in ways)) return;
    event.preventDefault();
    if (!others.length && (event.key === "Home" || event.key === "End")) return; // there is nothing to pass
    ways[event.key]();
  }

  beside(k, way) {
    return this.lanes[(this.lanes.indexOf(k) + way + this.lanes.length) % this.lanes.length];
  }

  focus(k) {
    this.documents[this.focusable].group.setAttribute("tabindex", "-1");
    this.focusable = k;
    this.documents[k].group.setAttribute("tabindex", "0");
    this.documents[k].group.focus({ preventScroll: true });
  }
}

function arrowPath(x, y, length, thin) {
  if (Math.abs(length) < 1.5) return "";
  const tip = y + length;
  const head = Math.min(thin ? 3 : 7, Math.abs(length)) * Math.sign(length);
  const half = Math.abs(head) * 0.6;
  return `M${x} ${y}V${tip - head}M${x - half} ${tip - head}H${x + half}L${x} ${tip}Z`;
}
