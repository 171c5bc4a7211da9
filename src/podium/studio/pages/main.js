// The frame: which page is shown, and what all pages share.

import { get, takeKey } from "./api.js";
import { h } from "./dom.js";
import { forcesPage } from "./forces.js";
import { queriesPage } from "./queries.js";
import { trainingPage } from "./training.js";

const PAGES = { queries: queriesPage, forces: forcesPage, training: trainingPage };
const made = new Map();
const studio = {
  state: null,
  /** Show what went wrong, or nothing. */
  problem(error) {
    const place = document.getElementById("problem");
    place.hidden = !error;
    place.textContent = error ? error.message : "";
    if (error && !("status" in error)) throw error;
  },
  /** Ask again which rankings there are. */
  async reload() {
    studio.state = await get("state");
    for (const page of made.values()) page.stateChanged?.();
  },
};

function asked() {
  const [, name, words] = /^#\/(\w+)(?:\?(.*))?$/.exec(location.hash) ?? [];
  return { name: name in PAGES ? name : studio.state.start, parameters: new URLSearchParams(words ?? "") };
}

function show() {
  const { name, parameters } = asked();
  studio.problem(null);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${name[0].toUpperCase()}${name.slice(1)} · Podium studio`;
  for (const [other, page] of made) if (other !== name) page.hide?.();
  if (!made.has(name)) made.set(name, PAGES[name](studio));
  const page = made.get(name);
  document.getElementById("page").replaceChildren(page.root);
  page.show(parameters);
}

async function begin() {
  if (!takeKey()) {
    document.getElementById("page").replaceChildren(h("p", {}, "This page needs the key of the studio. Open the address that podium studio printed."));
    return;
  }
  try {
    studio.state = await get("state");
  } catch (error) {
    document.getElementById("page").replaceChildren();
    studio.problem(error);
    return;
  }
  const { title, queries, documents, features } = studio.state;
  document.getElementById("about").textContent = `${title}: ${queries.toLocaleString("en")} queries, ${documents.toLocaleString("en")} documents, ${features} features`;
  window.addEventListener("hashchange", show);
  show();
}

begin();
