// Elements are made from names and text, never from HTML, so ids and names of the data are always shown as text.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Make an HTML element: attributes, listeners as `onclick`, and children that are elements or text. */
export function h(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** Make an SVG element. */
export function s(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Set attributes of an element that is there already. */
export function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}

/** Write a number with a few digits; nothing for null. */
export function short(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e9) return String(value).replace("-", "−");
  const size = Math.abs(value);
  const text = size >= 1e5 || (size > 0 && size < 1e-4) ? value.toExponential(2) : value.toFixed(digits);
  return text.replace("-", "−");
}

/** Write a number with its sign. */
export function signed(value, digits = 4) {
  if (value === null || value === undefined) return "–";
  return value > 0 ? `+${short(value, digits)}` : short(value, digits);
}

/** Write the value of a feature: a number, the name of a category, or that it is missing. */
export function valueText(value, digits = 4) {
  if (value === null || value === undefined) return "missing";
  return typeof value === "string" ? value : short(value, digits);
}

/** What a query is called: its id, with the word before it unless the id begins with it. */
export function queryTitle(id) {
  return /^query\b/i.test(id) ? id : `query ${id}`;
}

/** A text that begins with a capital letter. */
export function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

const ruler = document.createElement("canvas").getContext("2d");

/** How many pixels wide a text is drawn. */
export function textWidth(text, size = 12, weight = 400) {
  ruler.font = `${weight} ${size}px ${getComputedStyle(document.documentElement).fontFamily}`;
  return ruler.measureText(text).width;
}

/** Shorten a text to a width by leaving out its middle, because ids often differ at their ends. */
export function fit(text, room, size = 12, weight = 400) {
  if (textWidth(text, size, weight) <= room) return text;
  const letters = [...text];
  for (let kept = letters.length - 1; kept > 1; kept -= 1) {
    const shorter = `${letters.slice(0, Math.ceil(kept / 2)).join("")}…${letters.slice(letters.length - Math.floor(kept / 2)).join("")}`;
    if (textWidth(shorter, size, weight) <= room) return shorter;
  }
  return "…";
}

let lastId = 0;

/** Make a labeled control: the label, the control, and a sentence that describes it. */
export function field(label, control, description) {
  control.id ||= `control-${(lastId += 1)}`;
  const hint = description ? h("small", { id: `${control.id}-hint` }, description) : null;
  if (hint) control.setAttribute("aria-describedby", hint.id);
  return h("div", { class: "field" }, h("label", { for: control.id }, label), control, hint);
}

/** Make a select of options, each a text or [value, text], the chosen one given by its value. */
export function select(options, chosen, attributes) {
  const made = options.map((option) => {
    const [value, text] = Array.isArray(option) ? option : [option, option];
    return h("option", { value, selected: value === chosen }, text);
  });
  return h("select", attributes, made);
}

/** The class of a label's color: levels beyond the last color share it. */
export function labelClass(label, levels) {
  const place = levels.indexOf(label);
  return `label-${levels.length <= 2 ? place * 4 : Math.min(5, Math.round((place * 5) / Math.max(1, levels.length - 1)))}`;
}

/** The different labels, lowest first. */
export function levelsOf(labels) {
  return [...new Set(labels)].sort((a, b) => a - b);
}

/** Make a legend of the labels' colors. */
export function labelLegend(levels) {
  const shown = levels.length > 8 ? [levels[0], levels[levels.length - 1]] : levels;
  return h("ul", { class: "legend", "aria-label": "Colors of labels" },
    shown.map((label) => h("li", {}, h("span", { class: `chip ${labelClass(label, levels)}`, "aria-hidden": "true" }), `label ${short(label, 2)}`)));
}
