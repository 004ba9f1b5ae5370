// How this device and its storage stand to each other, right now.
import { ask, get } from "./api.js";
import { bytes, Failed, Heading, html, number, plural, Time, toast, useLoaded, useOnChange } from "./ui.js";

const WORDS = {
  ok: "in step", never: "not looked at yet", unreachable: "storage not reachable", "needs-login": "login needed",
  throttled: "paused by the storage", full: "storage is full", held: "deletes held back", emptied: "storage is suddenly empty",
};

// [words, kind] of the sync: what the chip in the bar and the page say.
export function inWords(live) {
  if (!live.connected) return ["no connection", "bad"];
  const { state, syncing, pending, conflicts } = live.state;
  if (syncing) return ["syncing …", "busy"];
  if (state !== "ok") return [WORDS[state] ?? state, state === "never" ? "warn" : "bad"];
  if (pending) return [`${number(pending)} waiting`, "warn"];
  return [conflicts ? "in step, conflicts" : "in step", "good"];
}

export function Sync({ live }) {
  const { data, error, again } = useLoaded(() => get("/api/status"), "");
  useOnChange(`${live.changes} ${live.connected} ${JSON.stringify(live.state)}`, again);
  const now = async () => {
    try {
      await ask("POST", "/api/sync", {});
      toast("A round begins.");
    } catch (problem) {
      toast(problem.message);
    }
  };
  const state = live.state;
  const [words, kind] = inWords(live);
  return html`<div class="page"><${Heading}>Sync<//>
    <div class=${`state ${kind}`} role="status"><span class="dot"></span><div><strong>${words}</strong>
      ${state?.message && html`<p>${state.message} ${state.hint}</p>`}</div>
      <button type="button" onClick=${now} disabled=${!live.connected || state?.syncing}>Sync now</button></div>
    ${error && html`<${Failed} error=${error} retry=${again} />`}
    ${state && html`<dl class="figures">
      <div><dt>Memories</dt><dd>${number(state.memories)}</dd></div>
      <div><dt>Waiting to be sent</dt><dd>${number(state.pending)}</dd></div>
      <div><dt>Deletes held back</dt><dd>${number(state.held)}</dd></div>
      <div><dt>Open conflicts</dt><dd>${number(state.conflicts)}</dd></div>
      <div><dt>In the trash</dt><dd>${number(state.trash)}</dd></div>
      <div><dt>Last round</dt><dd>${state.lastRound ? html`<${Time} at=${state.lastRound} ago />` : "not yet"}</dd></div></dl>`}
    ${data && html`
      <h2>Storage</h2><dl class="facts"><div><dt>Kind</dt><dd>${data.storage.backend}</dd></div><div><dt>Place</dt><dd><code>${data.storage.root || "not chosen"}</code></dd></div></dl>
      <h2>Devices</h2><div class="scroll" tabIndex="0" role="region" aria-label="Devices"><table><thead><tr><th scope="col">Name</th><th scope="col">Last told</th><th scope="col">Waiting</th><th scope="col">Conflicts</th></tr></thead>
        <tbody>${data.devices.map((each) => html`<tr key=${each.id}><th scope="row">${each.name}${each.id === data.device.id && " (this one)"}</th>
          <td>${each.last_round && html`<${Time} at=${each.last_round} ago />`}</td><td>${number(each.pending ?? 0)}</td><td>${number(each.conflicts ?? 0)}</td></tr>`)}</tbody></table></div>
      ${data.problemFiles.length > 0 && html`<h2>${plural(data.problemFiles.length, "file needs", "files need")} a look</h2>
        <ul class="problems">${data.problemFiles.map((each) => html`<li><code>${each.path}</code> ${each.message}</li>`)}</ul>`}
      <h2>Daemon</h2><dl class="facts"><div><dt>Version</dt><dd>${data.version}</dd></div><div><dt>Process</dt><dd>${data.daemon.pid}</dd></div>
        <div><dt>Since</dt><dd><${Time} at=${data.daemon.since} ago /></dd></div><div><dt>Sessions</dt><dd>${data.daemon.sessions}</dd></div>
        <div><dt>Cache</dt><dd>${bytes(data.cache.bytes)}</dd></div><div><dt>Home</dt><dd><code>${data.home}</code></dd></div></dl>`}
  </div>`;
}
