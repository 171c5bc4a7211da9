// Line charts as SVG.

import { h, s, short } from "./dom.js";

const LEFT = 46;
const RIGHT = 12;
const TOP = 10;
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
 * @param {{title: string, x: string, low?: number, high?: number, width: number, height: number}} options
 */
export function lineChart(place, series, { title, x, low, high, width, height }) {
  const all = series.flatMap((each) => each.points);
  const xs = all.map((point) => point[0]);
  const ys = all.map((point) => point[1]);
  const [x0, x1] = [Math.min(0, ...xs), Math.max(1, ...xs)];
  let [y0, y1] = [low ?? Math.min(...ys), high ?? Math.max(...ys)];
  if (!Number.isFinite(y0) || !Number.isFinite(y1)) [y0, y1] = [0, 1];
  if (low === undefined) [y0, y1] = [y0 - (y1 - y0) * 0.05 - 1e-6, y1 + (y1 - y0) * 0.05 + 1e-6];
  const at = (point) => [LEFT + ((point[0] - x0) / (x1 - x0)) * (width - LEFT - RIGHT), TOP + ((y1 - point[1]) / (y1 - y0)) * (height - TOP - BOTTOM)];
  const ends = series.map((each) => `${each.name} ${short(each.points.at(-1)?.[1] ?? null)}`).join(", ");
  const drawn = s("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `${title}. Last values: ${ends}` });
  const digits = Math.max(0, Math.min(4, 1 - Math.floor(Math.log10((y1 - y0) / 4))));
  for (const value of ticks(y0, y1, 4)) {
    const [, y] = at([x0, value]);
    drawn.append(s("line", { x1: LEFT, x2: width - RIGHT, y1: y, y2: y, class: "grid" }), s("text", { x: LEFT - 6, y: y + 4, class: "tick end" }, short(value, digits)));
  }
  for (const value of ticks(x0, x1, width > 420 ? 8 : 4)) {
    if (!Number.isInteger(value)) continue;
    const [at0] = at([value, y0]);
    drawn.append(s("text", { x: at0, y: height - BOTTOM + 16, class: "tick middle" }, short(value)));
  }
  drawn.append(s("text", { x: width - RIGHT, y: height - 3, class: "tick end" }, x));
  for (const each of series) {
    if (!each.points.length) continue;
    const places = each.points.map(at);
    drawn.append(s("polyline", { points: places.map((point) => point.map((value) => value.toFixed(1)).join(",")).join(" "), class: `line ${each.kind}` }));
    drawn.append(s("circle", { cx: places.at(-1)[0], cy: places.at(-1)[1], r: 3.5, class: `end-dot ${each.kind}` }));
  }
  const legend = h("ul", { class: "legend", "aria-hidden": "true" },
    series.map((each) => h("li", {}, h("span", { class: `stroke ${each.kind}` }), `${each.name} ${short(each.points.at(-1)?.[1] ?? null)}`)));
  place.replaceChildren(drawn, legend);
}
