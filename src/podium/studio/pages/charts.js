// Line charts as SVG.

import { capital, h, s, short } from "./dom.js";

const LEFT = 46;
const RIGHT = 12;
const TOP = 24;
const BOTTOM = 38;

/** Round steps for an axis. */
export function ticks(low, high, count) {
  const span = high - low || 1;
  const raw = span / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step) found.push(Math.abs(value) < step * 1e-9 ? 0 : value);
  return found;
}

/**
 * Draw lines into an element.
 * @param {Element} place where to draw; what is there is replaced.
 * @param {{name: string, kind: string, points: [number, number][]}[]} series lines by name, with the class of their color.
 * @param {{title: string, x: string, y: string, mark?: {x: number, words: string}, low?: number, high?: number, width: number, height: number}} options
 *   `mark` is a place on the x axis whose values the legend shows; without it, those are the last ones.
 */
export function lineChart(place, series, { title, x, y, mark, low, high, width, height }) {
  const all = series.flatMap((each) => each.points);
  const xs = all.map((point) => point[0]);
  const ys = all.map((point) => point[1]);
  const [x0, x1] = [Math.min(0, ...xs), Math.max(1, ...xs)];
  let [y0, y1] = [low ?? Math.min(...ys), high ?? Math.max(...ys)];
  if (!Number.isFinite(y0) || !Number.isFinite(y1)) [y0, y1] = [0, 1];
  if (low === undefined) [y0, y1] = [y0 - (y1 - y0) * 0.05 - 1e-6, y1 + (y1 - y0) * 0.05 + 1e-6];
  const at = (point) => [LEFT + ((point[0] - x0) / (x1 - x0)) * (width - LEFT - RIGHT), TOP + ((y1 - point[1]) / (y1 - y0)) * (height - TOP - BOTTOM)];
  const shown = (each) => (mark ? each.points.find((point) => point[0] === mark.x) : each.points.at(-1))?.[1] ?? null;
  const values = series.map((each) => `${each.name} ${short(shown(each))}`);
  const drawn = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `${title}. ${mark ? capital(mark.words) : "Last values"}: ${values.join(", ")}` });
  const digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10((y1 - y0) / 4))));
  for (const value of ticks(y0, y1, 4)) {
    const [, top] = at([x0, value]);
    drawn.append(s("line", { x1: LEFT, x2: width - RIGHT, y1: top, y2: top, class: "grid" }), s("text", { x: LEFT - 6, y: top + 4, class: "tick end" }, short(value, digits)));
  }
  for (const value of ticks(x0, x1, width > 420 ? 8 : 4)) {
    if (!Number.isInteger(value)) continue;
    const [at0] = at([value, y0]);
    drawn.append(s("text", { x: at0, y: height - BOTTOM + 16, class: "tick middle" }, short(value)));
  }
  drawn.append(s("text", { x: width - RIGHT, y: height - 3, class: "tick end" }, x), s("text", { x: 2, y: 12, class: "tick" }, y));
  if (mark) {
    const [across] = at([mark.x, y0]);
    drawn.append(s("line", { x1: across, x2: across, y1: TOP, y2: height - BOTTOM, class: "mark-line" }), s("text", { x: across, y: 12, class: `tick ${across > width / 2 ? "end" : ""}` }, mark.words));
  }
  for (const each of series) {
    if (!each.points.length) continue;
    const places = each.points.map(at);
    drawn.append(s("polyline", { points: places.map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" "), class: `line ${each.kind}` }));
    const dot = mark ? each.points.find((point) => point[0] === mark.x) : each.points.at(-1);
    if (dot) drawn.append(s("circle", { cx: at(dot)[0], cy: at(dot)[1], r: 3.5, class: `end-dot ${each.kind}` }));
  }
  const legend = h("ul", { class: "legend", "aria-hidden": "true" },
    series.map((each, k) => h("li", {}, h("span", { class: `stroke ${each.kind}` }), values[k])), mark ? h("li", {}, mark.words) : null);
  place.replaceChildren(drawn, legend);
}
