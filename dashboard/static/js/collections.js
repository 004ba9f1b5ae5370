// The trash, documents and patterns.
import { ask, get, memoryPath } from "./api.js";
import { address, go } from "./route.js";
import { Text } from "./text.js";
import { bytes, Empty, Failed, Heading, html, number, plural, Time, toast, useEffect, useLoaded, useOnChange, useState } from "./ui.js";

export function Trash({ live }) {
  const { data, error, again } = useLoaded(() => get("/api/trash", { limit: 200 }), "");
  useOnChange(live.changes, again);
  const restore = async (entry) => {
    try {
      const memory = await ask("POST", memoryPath(entry.id, "/restore"), {});
      toast(`“${memory.title}” is back.`, { label: "Open", run: () => go(address("memories", memory.id)) });
      again();
    } catch (problem) {
      toast(`${problem.message} ${problem.hint}`);
    }
  };
  return html`<div class="page"><${Heading}>Trash<//>
    ${error && html`<${Failed} error=${error} retry=${again} />`}
    ${data && !data.trash.length && html`<${Empty}>The trash is empty.<//>`}
    <ul class="cards">${(data?.trash ?? []).map((entry) => html`<li key=${`${entry.id} ${entry.deletedAt}`}>
      <header><h2>${entry.title}</h2><button type="button" aria-label=${`Restore ${entry.title}`} onClick=${() => restore(entry)}>Restore</button></header>
      <p class="faint"><span class="category">${entry.category}</span> deleted <${Time} at=${entry.deletedAt} ago /> (${entry.reason})</p>
      <details><summary>Text</summary><${Text} text=${entry.content} title=${entry.title} below=${2} /></details>
    </li>`)}</ul>
    ${data?.more > 0 && html`<p class="faint">${plural(data.more, "older entry", "older entries")}: <code>claude-memory trash</code> lists them.</p>`}
  </div>`;
}

function Document({ id }) {
  const { data, error } = useLoaded(() => get(`/api/documents/${encodeURIComponent(id)}`), id);
  const safe = data && /^https?:\/\//.test(data.source);
  return html`<div class="page"><a class="back" href="#/documents">‹ All documents</a>
    ${error && html`<${Failed} error=${error} />`}
    ${data && html`<${Heading}>${data.title}<//>
      <dl class="facts">
        <div><dt>Source</dt><dd>${safe ? html`<a href=${data.source} target="_blank" rel="noopener noreferrer">${data.source}</a>` : data.source || "unknown"}</dd></div>
        <div><dt>Tool</dt><dd>${data.sourceTool || "unknown"}</dd></div>
        <div><dt>Fetched</dt><dd><${Time} at=${data.updated} ago /></dd></div>
        <div><dt>Size</dt><dd>${bytes(data.bytes)}</dd></div>
        <div><dt>Kept</dt><dd>${data.synced ? "on all devices" : "on this device"}</dd></div>
      </dl>
      <${Text} text=${data.content} title=${data.title} />`}
  </div>`;
}

export function Documents({ route, live }) {
  const query = route.query.get("q") ?? "";
  const [typed, setTyped] = useState(query);
  const { data, error, again } = useLoaded(() => get("/api/documents", { q: query || null, limit: 100 }), query);
  // A search counts as reading, which is a change itself: only the plain list follows changes.
  useOnChange(live.changes, () => { if (!query) again(); });
  useEffect(() => {
    const timer = setTimeout(() => {
      const wanted = typed.trim() ? new URLSearchParams({ q: typed.trim() }) : new URLSearchParams();
      if (!route.id) go(address("documents", "", wanted), { replace: true });
    }, 400);
    return () => clearTimeout(timer);
  }, [typed]);
  if (route.id) return html`<${Document} key=${route.id} id=${route.id} />`;
  return html`<div class="page"><${Heading}>Documents<//>
    <p class="faint">What tools fetched before, kept so that it need not be fetched again.</p>
    <div class="search" role="search"><label class="unseen" for="search">Search documents</label>
      <input id="search" type="search" value=${typed} onInput=${(event) => setTyped(event.target.value)} placeholder="Search documents" autocomplete="off" /></div>
    ${error && html`<${Failed} error=${error} retry=${again} />`}
    ${data && !data.documents.length && html`<${Empty}>${query ? "Nothing fits." : "No documents are kept."}<//>`}
    <ul class="cards">${(data?.documents ?? []).map((each) => html`<li key=${each.id}>
      <h2><a href=${address("documents", each.id)}>${each.title}</a></h2>
      <p class="faint">${each.sourceTool || "unknown tool"} · ${bytes(each.bytes)} · <${Time} at=${each.updated} ago />${each.accessCount > 0 && ` · read ${plural(each.accessCount, "time")}`}</p>
      ${each.source && html`<p class="faint source">${each.source}</p>`}
      ${each.snippet && html`<p class="snippet">${each.snippet}</p>`}
    </li>`)}</ul>
    ${data?.more > 0 && html`<p class="faint">${plural(data.more, "more document")}.</p>`}
  </div>`;
}

export function Patterns({ live }) {
  const { data, error, again } = useLoaded(() => get("/api/patterns"), "");
  useOnChange(live.changes, again);
  return html`<div class="page"><${Heading}>Patterns<//>
    <p class="faint">Ways of working that were seen again and again. Three times is enough to make a skill of
      one: <code>claude-memory patterns mark ID</code>.</p>
    ${error && html`<${Failed} error=${error} retry=${again} />`}
    ${data && !data.patterns.length && html`<${Empty}>No patterns were noted yet.<//>`}
    <ul class="cards">${(data?.patterns ?? []).map((each) => html`<li key=${each.id}>
      <header><h2>${each.description}</h2><span class="times">${number(each.count)}×</span></header>
      <p class="faint"><span class="category">${each.category}</span> ${each.projectId ?? "global"} · last seen <${Time} at=${each.lastSeen} ago />
        ${each.devices > 1 && ` · on ${each.devices} devices`}${" "}
        ${each.skillAt ? html`<span class="badge">skill</span>` : each.mature && html`<span class="badge good">ready to become a skill</span>`}</p>
      ${each.examples.length > 0 && html`<details><summary>${plural(each.examples.length, "example")}</summary>
        <ul>${each.examples.map((text) => html`<li class="snippet">${text}</li>`)}</ul></details>`}
      <p class="faint id">ID <code>${each.id}</code></p>
    </li>`)}</ul></div>`;
}
