// One memory: read, edit, tag, link, history, trash.
import { ask, get, memoryPath } from "./api.js";
import { Editor } from "./editor.js";
import { address, go } from "./route.js";
import { Text } from "./text.js";
import { Empty, Failed, html, plural, Time, toast, useEffect, useLayoutEffect, useLoaded, useOnChange, useRef, useState } from "./ui.js";

function Facts({ memory }) {
  return html`<dl class="facts">
    <div><dt>Category</dt><dd><a class="category" href=${`#/?category=${encodeURIComponent(memory.category)}`}>${memory.category}</a></dd></div>
    <div><dt>Project</dt><dd>${memory.projectName ?? memory.projectId ?? "global"}</dd></div>
    <div><dt>Updated</dt><dd><${Time} at=${memory.updated} ago /></dd></div>
    <div><dt>Created</dt><dd><${Time} at=${memory.created} /></dd></div>
    ${memory.priority !== "normal" && html`<div><dt>Priority</dt><dd>${memory.priority}</dd></div>`}
    ${memory.expiresAt && html`<div><dt>${memory.expired ? "Expired" : "Expires"}</dt><dd><${Time} at=${memory.expiresAt} /></dd></div>`}
  </dl>`;
}

function Tags({ memory, save }) {
  const [adding, setAdding] = useState(false);
  const place = useRef(null);
  useEffect(() => { if (adding) place.current?.focus(); }, [adding]);
  const add = (event) => {
    event.preventDefault();
    const tag = place.current.value.trim();
    setAdding(false);
    if (tag) save({ tags: [...memory.tags, tag] });
  };
  return html`<div class="tags" role="group" aria-label="Tags">
    ${memory.tags.map((tag) => html`<span class="tag" key=${tag}><a href=${`#/?tag=${encodeURIComponent(tag)}`}>${tag}</a>
      ${!memory.readOnly && html`<button type="button" aria-label=${`Remove the tag ${tag}`}
        onClick=${() => save({ tags: memory.tags.filter((other) => other !== tag) })}>×</button>`}</span>`)}
    ${!memory.readOnly && (adding
      ? html`<form onSubmit=${add}><label class="unseen" for="tag">New tag</label>
          <input id="tag" ref=${place} size="12" onKeyDown=${(event) => event.key === "Escape" && setAdding(false)} /></form>`
      : html`<button type="button" class="quiet" onClick=${() => setAdding(true)}>+ Tag</button>`)}
  </div>`;
}

function LinkSearch({ memory, choose }) {
  const [typed, set] = useState("");
  const { data } = useLoaded(() => (typed.trim() ? get("/api/memories", { q: typed, limit: 8 }) : Promise.resolve(null)), typed);
  const known = new Set([memory.id, ...memory.related.map((each) => each.id)]);
  const found = (data?.memories ?? []).filter((each) => !known.has(each.id)).slice(0, 6);
  return html`<div class="link-search">
    <label for="link">Link to</label>
    <input id="link" type="search" value=${typed} onInput=${(event) => set(event.target.value)} autocomplete="off"
      placeholder="Words of the other memory" />
    <ul>${found.map((each) => html`<li key=${each.id}><button type="button" onClick=${() => { set(""); choose(each); }}>
      ${each.title} <span class="faint">${each.category}</span></button></li>`)}</ul>
    ${data && !found.length && html`<p class="faint" role="status">Nothing to link to.</p>`}
  </div>`;
}

function Related({ memory, link, query }) {
  const [open, setOpen] = useState(false);
  return html`<section class="related" aria-labelledby="related"><h2 id="related">Linked memories</h2>
    ${memory.related.length === 0 && html`<p class="faint">None yet.</p>`}
    <ul>${memory.related.map((other) => html`<li key=${other.id}>
      <a href=${address("memories", other.id, query)}>${other.title}</a> <span class="faint">${other.category}</span>
      <button type="button" class="quiet" aria-label=${`End the link to ${other.title}`} onClick=${() => link(other, true)}>×</button>
    </li>`)}</ul>
    ${!memory.readOnly && html`<button type="button" class="quiet" aria-expanded=${open} onClick=${() => setOpen(!open)}>+ Link</button>`}
    ${memory.related.length > 0 && html` <a class="button quiet" href=${address("graph", memory.id)}>Show as a picture</a>`}
    ${open && html`<${LinkSearch} memory=${memory} choose=${(other) => link(other, false)} />`}
  </section>`;
}

function History({ memory, restore }) {
  const { data, error } = useLoaded(() => get(memoryPath(memory.id, "/history")), memory.version);
  if (error) return html`<${Failed} error=${error} />`;
  return html`<ol class="history">${(data?.revisions ?? []).map((each) => html`<li key=${each.revision}><details>
    <summary>${each.title} <span class="faint">replaced <${Time} at=${each.replacedAt} ago /> (${each.reason})</span></summary>
    <pre tabIndex="0">${each.content}</pre>
    <button type="button" onClick=${() => restore(each.revision)}>Bring this text back</button>
  </details></li>`)}</ol>`;
}

export function Memory({ id, query, live }) {
  const { data: memory, error, loading, again, put } = useLoaded(() => get(memoryPath(id)), id);
  const [editing, setEditing] = useState(false);
  const [failure, setFailure] = useState(null);
  const place = useRef(null);
  const title = useRef(null);
  useOnChange(live.changes, again);
  useLayoutEffect(() => {  // before anybody can type elsewhere
    if (!memory) return;
    document.title = `${memory.title} · Claude memory`;
    place.current?.closest(".pane")?.scrollTo?.(0, 0);
    if (!document.activeElement?.closest(".side") || matchMedia("(max-width: 899px)").matches) title.current?.focus({ preventScroll: true });
  }, [memory?.id]);
  useLayoutEffect(() => {
    const run = (event) => {
      if (event.detail === "edit" && memory && !memory.readOnly) setEditing(true);
    };
    addEventListener("command", run);
    return () => removeEventListener("command", run);
  }, [memory]);

  const attempt = async (work) => {
    try {
      const done = await work();
      setFailure(null);
      return done;
    } catch (problem) {
      setFailure(problem);
      if (problem.status === 409) again();
      return null;
    }
  };
  const save = (change) => attempt(async () => put(await ask("PATCH", memoryPath(id), { version: memory.version, ...change })));
  const link = (other, unlink) => attempt(async () =>
    put(await ask("POST", memoryPath(id, "/link"), { version: memory.version, other: other.id, unlink })));
  const restore = (revision) => attempt(async () => {
    put(await ask("POST", memoryPath(id, "/restore"), { version: memory.version, revision }));
    toast("The earlier text is back.");
  });
  const forget = () => attempt(async () => {
    await ask("DELETE", memoryPath(id), { version: memory.version });
    go(address("memories", "", query));
    toast(`“${memory.title}” is in the trash.`, {
      label: "Undo", run: () => ask("POST", memoryPath(id, "/restore"), {}).then(() => go(address("memories", id, query)), (problem) => toast(problem.message)),
    });
  });

  const back = html`<a class="back narrow-only" href=${address("memories", "", query)}>‹ All memories</a>`;
  if (!memory && error) {
    return html`<div>${back}${error.status === 404
      ? html`<h1 ref=${title} tabIndex="-1">Not found</h1><${Empty}>This memory is not there any more. <a href="#/trash">Look in the trash</a><//>`
      : html`<h1 ref=${title} tabIndex="-1">Not shown</h1><${Failed} error=${error} retry=${again} />`}</div>`;
  }
  if (!memory) return html`<div>${back}${loading && html`<p class="unseen">Loading</p>`}</div>`;
  if (editing) {
    return html`<${Editor} memory=${memory} close=${(saved) => { setEditing(false); if (saved) put(saved); }} />`;
  }
  return html`<article class="memory" ref=${place} aria-labelledby="title">
    ${back}
    ${error?.status === 404 && html`<div class="notice bad" role="alert">This memory was deleted meanwhile. <a href="#/trash">Look in the trash</a></div>`}
    ${failure && html`<${Failed} error=${failure} />`}
    ${memory.conflicts.length > 0 && html`<div class="notice warn">Two versions of this memory are in conflict. <a href="#/conflicts">Settle it</a></div>`}
    ${memory.readOnly && html`<div class="notice warn">This file is shown and never rewritten: ${memory.readOnly}. <code>${memory.path}</code></div>`}
    <header>
      <h1 id="title" ref=${title} tabIndex="-1">${memory.title}</h1>
      <div class="actions">
        ${!memory.readOnly && html`<button type="button" onClick=${() => setEditing(true)} aria-keyshortcuts="e">Edit</button>`}
        <button type="button" class="danger" onClick=${forget}>Trash</button>
      </div>
    </header>
    <${Facts} memory=${memory} />
    <${Tags} memory=${memory} save=${save} />
    <${Text} text=${memory.content} title=${memory.title} />
    <${Related} memory=${memory} link=${link} query=${query} />
    ${memory.revisions > 0 && html`<details class="earlier"><summary>${plural(memory.revisions, "earlier text")}</summary>
      <${History} memory=${memory} restore=${restore} /></details>`}
    <p class="faint id">ID <code>${memory.id}</code></p>
  </article>`;
}
