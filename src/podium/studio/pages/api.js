// The studio's JSON interface. The key is in the fragment of the printed address, which browsers never send, and then in this tab only.

const KEPT = "podium-studio-key";

/** A request that was refused, with the sentence of the studio. */
export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    Object.assign(this, { status, code });
  }
}

/** Take the key out of the address, if it is there. */
export function takeKey() {
  const found = /^#key=([\w-]+)$/.exec(location.hash);
  if (found) {
    sessionStorage.setItem(KEPT, found[1]);
    history.replaceState(null, "", location.pathname);
  }
  return sessionStorage.getItem(KEPT) !== null;
}

async function call(path, options) {
  const key = sessionStorage.getItem(KEPT) ?? "";
  let answer;
  try {
    answer = await fetch(`api/${path}`, { ...options, headers: { ...options.headers, Authorization: `Bearer ${key}` } });
  } catch {
    throw new Refused(0, "unreachable", "The studio does not answer. Is it still running?");
  }
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, body.error?.code ?? "", body.error?.message ?? `The studio answered ${answer.status}.`);
  return body;
}

/** Ask for something; parameters that are empty are left out. */
export function get(path, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return call(given.length ? `${path}?${new URLSearchParams(given)}` : path, {});
}

/** Send something. */
export function post(path, body = {}) {
  return call(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
}

/**
 * Return a function that runs `work` again whenever it is called, but never twice at the same time: calls that come while it
 * runs are answered by one more run afterwards, so that the last state is always the one that is shown.
 */
export function latest(work, onProblem) {
  let running = false;
  let again = false;
  return async function run() {
    if (running) {
      again = true;
      return;
    }
    running = true;
    do {
      again = false;
      try {
        await work();
      } catch (problem) {
        onProblem(problem);
      }
    } while (again);
    running = false;
  };
}
