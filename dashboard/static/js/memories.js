// Search as you type, and the list; beside it the memory that is open.
import { get } from "./api.js";
import { Memory } from "./memory.js";
import { address, go } from "./route.js";
import { Empty, Failed, Heading, html, Marked, number, plural, Time, useEffect, useLoaded, useOnChange, useRef, useState } from "./ui.js";

const PAGE = 40;
const BEST = 20; // of a search: more words help more than more hits
const MOST = 200;

function parameters(query) {
  const asked = { limit: query.has("q") ? BEST : PAGE };
  for (const name of ["q", "category", "project", "tag"]) if (query.has(name)) asked[name] = query.get(name);
  return asked;
}

function Choice({ label, name, query, options, all }) {
  const change = (event) => {
    const next = new URLSearchParams(query);
    if (event.target.value === "*") next.delete(name);
    else next.set(name, event.target.value);
    go(address("memories", "", next), { replace: true });
  };
  return html`<label class="choice"><span class="unseen">${label}</span>
    <select value=${query.get(name) ?? "*"} onChange=${change} class=${query.has(name) ? "set" : ""}>
      <option value="*">${all}</option>
      ${options.map(([value, text]) => html`<option value=${value}>${text}</option>`)}
    </select></label>`;
}

function Filters({ query, changes }) {
  const { data, again } = useLoaded(() => get("/api/filed"), "");
  useOnChange(changes, again);
  const { categories = [], projects = [], tags = [] } = data ?? {};
  const tag = query.get("tag");
  const known = tag && !tags.includes(tag) ? [tag, ...tags] : tags;
  return html`<div class="filters" role="group" aria-label="Filters">
    <${Choice} label="Project" name="project" query=${query} all="All projects"
      options=${[["", "Global"], ...projects.map((each) => [each.key, each.name])]} />
    <${Choice} label="Category" name="category" query=${query} all="All categories"
      options=${categories.map((each) => [each, each])} />
    <${Choice} label="Tag" name="tag" query=${query} all="All tags" options=${known.map((each) => [each, each])} />
  </div>`;
}

function Search({ query, typed }) {
  const place = useRef(null);
  const type = (event) => {
    const next = new URLSearchParams(query);
    if (event.target.value.trim()) next.set("q", event.target.value);
    else next.delete("q");
    go(address("memories", "", next), { replace: true });
  };
  const down = (event) => {
    if (event.key !== "ArrowDown" && event.key !== "Enter") return;
    event.preventDefault();
    const first = document.querySelector(".hits a");
    if (event.key === "Enter") first?.click();
    first?.focus();
  };
  return html`<div class="search" role="search">
    <label class="unseen" for="search">Search memories</label>
    <input id="search" type="search" ref=${place} value=${typed} onInput=${type} onKeyDown=${down} autocomplete="off"
      spellcheck=${false} enterkeyhint="search" placeholder="Search memories" aria-keyshortcuts="/" />
    <kbd aria-hidden="true">/</kbd>
  </div>`;
}

function Hit({ memory, words, open, query }) {
  return html`<li>
    <a href=${address("memories", memory.id, query)} aria-current=${open ? "true" : null} data-id=${memory.id}>
      <span class="hit-title">${memory.priority === "high" && html`<span class="high" title="High priority">!<span
        class="unseen"> high priority </span></span>`}<${Marked} text=${memory.title} words=${words} /></span>
      <span class="hit-facts"><span class="category">${memory.category}</span>
        <span>${memory.projectName ?? memory.projectId ?? "global"}</span><${Time} at=${memory.updated} ago /></span>
      ${memory.excerpt && html`<span class="hit-text"><${Marked} text=${memory.excerpt} words=${words} /></span>`}
      ${memory.tags.length > 0 && html`<span class="hit-tags">${memory.tags.slice(0, 6).map((tag) =>
        html`<span class="tag">${tag}</span>`)}</span>`}
    </a></li>`;
}

// The list of what is asked; the next pages are added below.
function useList(query, changes) {
  const asked = parameters(query);
  const key = JSON.stringify(asked);
  const control = useRef(null);
  const shown = useRef({ key, count: 0 });
  const length = () => Math.max(asked.limit, shown.current.key === key ? shown.current.count : 0);
  const load = async () => {
    control.current?.abort();
    const { signal } = (control.current = new AbortController());
    // Loaded again because something changed, it is as long as it was: nobody loses the place where they read. More may
    // have been asked for meanwhile.
    let limit, page;
    do {
      limit = length();
      page = await get("/api/memories", { ...asked, limit }, { signal });
    } while (page.cursor && limit < length());
    return page;
  };
  const found = useLoaded(load, key);
  const [more, setMore] = useState({ key: "", memories: [], cursor: null, left: 0 });
  useEffect(() => setMore({ key: "", memories: [], cursor: null, left: 0 }), [key, found.data]);
  useOnChange(changes, () => { if (shown.current.count <= MOST) found.again(); });
  const own = more.key === key;
  const cursor = own ? more.cursor : found.data?.cursor;
  const next = async () => {
    const page = await get("/api/memories", { ...asked, cursor });
    setMore((old) => ({
      key, cursor: page.cursor, left: page.more,
      memories: [...(old.key === key ? old.memories : []), ...page.memories],
    }));
  };
  const memories = [...(found.data?.memories ?? []), ...(own ? more.memories : [])];
  shown.current = { key, count: memories.length };
  return {
    ...found,
    memories,
    left: own ? more.left : found.data?.more ?? 0,
    next: cursor ? next : null,
  };
}

export function Memories({ route, live }) {
  const { id, query } = route;
  const list = useList(query, live.changes);
  const words = (query.get("q") ?? "").split(/\s+/).filter(Boolean);
  const total = list.memories.length + list.left;
  const told = list.data ? (words.length ? plural(total, "memory found", "memories found") : plural(total, "memory", "memories")) : "";
  const filtered = ["q", "category", "project", "tag"].some((name) => query.has(name));
  return html`<div class=${`two ${id ? "opened" : ""}`}>
    <section class="side" aria-label="Memories">
      <${Heading} level=${id ? 2 : 1} aside=${html`<span class="count" role="status">${told}</span>`}>Memories<//>
      <${Search} query=${query} typed=${query.get("q") ?? ""} />
      <${Filters} query=${query} changes=${live.changes} />
      ${list.error && list.error.name !== "AbortError" && html`<${Failed} error=${list.error} retry=${list.again} />`}
      <ul class="hits" aria-busy=${list.loading}>
        ${list.memories.map((memory) => html`<${Hit} key=${memory.id} memory=${memory} words=${words}
          open=${memory.id === id} query=${query} />`)}
      </ul>
      ${list.data && !total && html`<${Empty}>${filtered ? "Nothing fits." : "There are no memories yet."}
        ${filtered && html` <a href="#/">Show all</a>`}<//>`}
      ${list.next && html`<button type="button" class="more" onClick=${list.next}>Show more (${number(list.left)})</button>`}
      ${!list.next && list.left > 0 && html`<p class="faint more">${number(list.left)} more fit less well. Type more words to narrow it down.</p>`}
    </section>
    <section class="pane" aria-label="Open memory">
      ${id ? html`<${Memory} key=${id} id=${id} query=${query} live=${live} />`
        : html`<p class="empty wide-only">Choose a memory to read it.<br /><span class="faint">
          <kbd>/</kbd> searches, <kbd>j</kbd> and <kbd>k</kbd> move, <kbd>?</kbd> shows all keys.</span></p>`}
    </section>
  </div>`;
}
