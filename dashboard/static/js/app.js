// The frame: who is here, which page, the keys, and what the daemon tells by itself.
import { ask, listen, signIn, whenSignedOut } from "./api.js";
import { Documents, Patterns, Trash } from "./collections.js";
import { Conflicts } from "./conflicts.js";
import { Graph } from "./graph.js";
import { Growth } from "./growth.js";
import { Memories } from "./memories.js";
import { current, follow, go } from "./route.js";
import { inWords, Sync } from "./sync.js";
import { Dialog, html, render, Toast, useEffect, useErrorBoundary, useState } from "./ui.js";

const PAGES = {
  memories: ["Memories", Memories], conflicts: ["Conflicts", Conflicts], graph: ["Links", Graph], growth: ["Growth", Growth],
  documents: ["Documents", Documents], patterns: ["Patterns", Patterns], trash: ["Trash", Trash], sync: ["Sync", Sync],
};
const KEYS = [
  ["/", "search"], ["j  k", "next, previous memory"], ["Enter", "open it"], ["e", "edit the open memory"],
  ["Ctrl S", "save"], ["Esc", "cancel, close"], ["g then m c l g d p t s", "go to a page"], ["?", "these keys"],
];
const GO = { m: "memories", c: "conflicts", l: "graph", g: "growth", d: "documents", p: "patterns", t: "trash", s: "sync" };

const typing = (element) => element?.matches?.("input, textarea, select, [contenteditable]");

function step(by) {
  const links = [...document.querySelectorAll(".hits a")];
  if (!links.length) return;
  const at = links.findIndex((each) => each === document.activeElement);
  const open = links.findIndex((each) => each.getAttribute("aria-current"));
  const from = at >= 0 ? at : open;
  links[Math.max(0, Math.min(links.length - 1, from + by))].focus();
}

function useKeys(setHelp) {
  useEffect(() => {
    let pending = 0;
    const down = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
      if (typing(event.target)) {
        if (event.key === "Escape" && event.target.id === "search") event.target.blur();
        return;
      }
      const page = Date.now() - pending < 1500 ? GO[event.key] : null;
      pending = 0;
      if (page) go(page === "memories" ? "#/" : `#/${page}`);
      else if (event.key === "/") document.querySelector("#search")?.focus();
      else if (event.key === "j" || (event.key === "ArrowDown" && event.target.closest?.(".hits"))) step(1);
      else if (event.key === "k" || (event.key === "ArrowUp" && event.target.closest?.(".hits"))) step(-1);
      else if (event.key === "e") dispatchEvent(new CustomEvent("command", { detail: "edit" }));
      else if (event.key === "g") pending = Date.now();
      else if (event.key === "?") setHelp(true);
      else return;
      event.preventDefault();
    };
    addEventListener("keydown", down);
    return () => removeEventListener("keydown", down);
  }, []);
}

// A fault of one page is told, and the others still work.
function Safe({ children }) {
  const [fault] = useErrorBoundary((error) => console.error(error));
  return fault ? html`<div class="page"><div class="notice bad" role="alert"><strong>This page has a fault.</strong> ${String(fault)}</div></div>` : children;
}

function Frame() {
  const [asked, setRoute] = useState(current);
  const route = PAGES[asked.page] ? asked : { page: "memories", id: "", query: new URLSearchParams() };
  const [live, setLive] = useState({ connected: true, state: null, changes: 0 });
  const [help, setHelp] = useState(false);
  useEffect(() => {
    follow(() => setRoute(current()));
    listen((name, data) => setLive((old) => {
      if (name === "state") return { ...old, state: data, connected: true, changes: old.connected ? old.changes : old.changes + 1 };
      if (name === "changed") return { ...old, connected: true, changes: old.changes + 1 };
      return { ...old, connected: false };
    }));
  }, []);
  useKeys(setHelp);
  const [, Page] = PAGES[route.page];
  const [words, kind] = live.state || !live.connected ? inWords(live) : ["…", ""];
  const badge = { conflicts: live.state?.conflicts, trash: null };
  return html`
    <a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.querySelector("#main").focus(); }}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="#/">Claude memory</a>
      <nav aria-label="Pages"><ul>${Object.entries(PAGES).filter(([name]) => name !== "sync").map(([name, [title]]) => html`<li key=${name}>
        <a href=${name === "memories" ? "#/" : `#/${name}`} aria-current=${route.page === name ? "page" : null}>${title}${badge[name] > 0
          && html` <span class="badge bad">${badge[name]}<span class="unseen"> open</span></span>`}</a></li>`)}</ul></nav>
      <a class=${`chip ${kind}`} href="#/sync" aria-current=${route.page === "sync" ? "page" : null}><span class="dot"></span><span class="unseen">Sync: </span>${words}</a>
    </header>
    ${!live.connected && html`<div class="notice bad strip" role="alert">The daemon does not answer; it is tried again. If it has ended,
      <code>claude-memory dashboard</code> starts it.</div>`}
    <main id="main" tabIndex="-1"><${Safe} key=${route.page}><${Page} route=${route} live=${live} /><//></main>
    <${Toast} />
    ${help && html`<${Dialog} title="Keys" close=${() => setHelp(false)}><dl class="keys">${KEYS.map(([key, what]) => html`<div>
      <dt>${key.split(" ").filter(Boolean).map((each) => (each === "then" ? " then " : html`<kbd>${each}</kbd> `))}</dt><dd>${what}</dd></div>`)}</dl>
      <p><button type="button" onClick=${() => setHelp(false)}>Close</button>
        <button type="button" class="quiet" onClick=${() => ask("POST", "/api/logout", {}).finally(() => location.reload())}>Sign out</button></p><//>`}`;
}

function Lone({ failure }) {
  return html`<header class="bar"><span class="brand">Claude memory</span></header>
    <main class="lone"><h1>${failure?.title ?? "Not signed in"}</h1>
      <p>${failure?.message ?? "This page is opened by a link that works once."}</p>
      <p>Run this in a terminal for a new one:</p><pre tabIndex="0">claude-memory dashboard</pre></main>`;
}

const root = document.querySelector("#app");
const show = (what) => { render(null, root); root.replaceChildren(); render(what, root); };
whenSignedOut(() => show(html`<${Lone} />`));
signIn().then((known) => show(known ? html`<${Frame} />` : html`<${Lone} />`), (failure) => show(html`<${Lone} failure=${failure} />`));
addEventListener("hashchange", () => { if (/^#token=/.test(location.hash)) location.reload(); });
