// The daemon: questions, answers, and what it tells by itself.

export class Failure extends Error {
  constructor(status, { title, message, hint = "" }) {
    super(message);
    Object.assign(this, { status, title, hint });
  }
}

// Belongs to this address and port alone; the cookie that goes with it is seen by no script.
const PLACE = "memory-key";
let key = localStorage.getItem(PLACE) ?? "";
let onSignedOut = () => {};

export const whenSignedOut = (run) => { onSignedOut = run; };

function headers(body) {
  return { "x-memory-key": key, ...(body === undefined ? {} : { "content-type": "application/json" }) };
}

async function answered(response) {
  const data = await response.json().catch(() => ({}));
  if (response.ok) return data;
  if (response.status === 401) {
    localStorage.removeItem(PLACE);
    onSignedOut();
  }
  throw new Failure(response.status, data.error ?? { title: "Failed", message: `Status ${response.status}.` });
}

export async function ask(method, path, body, options = {}) {
  const sent = { method, headers: headers(body), credentials: "same-origin", ...options };
  if (body !== undefined) sent.body = JSON.stringify(body);
  let response;
  try {
    response = await fetch(path, sent);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure(0, {
      title: "No answer", message: "The daemon does not answer.", hint: "Run `claude-memory dashboard` again.",
    });
  }
  return answered(response);
}

export const get = (path, parameters = {}, options) => {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null) query.append(name, value);
  }
  const text = query.toString();
  return ask("GET", text ? `${path}?${text}` : path, undefined, options);
};
export const memoryPath = (id, more = "") => `/api/memories/${encodeURIComponent(id)}${more}`;

// A token in the address is taken out of it at once, and exchanged.
export async function signIn() {
  const token = /^#token=([\w-]+)/.exec(location.hash)?.[1];
  if (token) {
    history.replaceState(null, "", "/#/");
    const { key: found } = await ask("POST", "/api/login", { token });
    key = found;
    localStorage.setItem(PLACE, key);
  }
  return key !== "";
}

// Server-sent events, read with fetch: EventSource sends no headers. `tell(name, data)`; `null` when the line is down.
export function listen(tell) {
  let control = null;
  let wait = 500;
  async function follow() {
    const mine = new AbortController();
    control = mine;
    while (!mine.signal.aborted) {
      try {
        const response = await fetch("/api/events", { headers: headers(), signal: mine.signal });
        if (response.status === 401) return answered(response).catch(() => {});
        if (!response.ok) throw new Error("refused");
        wait = 500;
        await read(response.body.getReader(), tell);
      } catch (error) {
        if (mine.signal.aborted) return undefined;
      }
      tell(null);
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 10000);
    }
    return undefined;
  }
  // Browsers allow six connections to one server: a page that nobody sees needs none.
  function seen() {
    if (document.hidden) control?.abort();
    else if (!control || control.signal.aborted) follow();
  }
  document.addEventListener("visibilitychange", seen);
  seen();
}

async function read(reader, tell) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const blocks = (rest + decoder.decode(value, { stream: true })).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      if (name) tell(name, JSON.parse(data ?? "{}"));
    }
  }
}
