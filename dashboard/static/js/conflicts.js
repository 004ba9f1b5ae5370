// Two versions of one memory side by side, with their common ancestor, and settled with one click or line by line.
import { ask, get } from "./api.js";
import { merged, threeWay, twoWay } from "./diff.js";
import { address, go } from "./route.js";
import { Empty, Failed, Heading, html, Time, toast, useLoaded, useMemo, useOnChange, useState } from "./ui.js";

const CONTEXT = 2;
const lines = (text) => text.replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n");

// When a version was written says nothing about what it says: no difference is made of it.
function undated(text, like) {
  const wanted = like.find((line) => line.startsWith("updated:"));
  const end = text.indexOf("---", 1);
  return wanted ? text.map((line, at) => (at < end && line.startsWith("updated:") ? wanted : line)) : text;
}

function chunksOf(conflict) {
  const mine = lines(conflict.mine);
  const theirs = undated(lines(conflict.theirs), mine);
  return conflict.base === null ? twoWay(mine, theirs) : threeWay(undated(lines(conflict.base), mine), mine, theirs);
}

function Lines({ text, change }) {
  return html`<pre class=${change ?? ""}>${text.length ? text.join("\n") : html`<span class="faint">(nothing)</span>`}</pre>`;
}

// Equal lines are shown as far as they explain the others.
function Same({ chunk, first, last }) {
  const [open, setOpen] = useState(false);
  const text = chunk.mine;
  const head = first ? [] : text.slice(0, CONTEXT);
  const tail = last ? [] : text.slice(Math.max(head.length, text.length - CONTEXT));
  const hidden = text.length - head.length - tail.length;
  if (open || hidden <= 1) return html`<div class="same"><${Lines} text=${text} /></div>`;
  return html`<div class="same">${head.length > 0 && html`<${Lines} text=${head} />`}
    <button type="button" class="quiet" onClick=${() => setOpen(true)}>${hidden} equal lines</button>
    ${tail.length > 0 && html`<${Lines} text=${tail} />`}</div>`;
}

function Chunk({ chunk, names, choice, choose, index, group }) {
  const open = chunk.by === "both";
  const cell = (side) => html`<div class=${`cell ${side} ${open && (choice === side || choice === "both") ? "taken" : ""}`}>
    <h3>${names[side]}${!open && chunk.by === side && html` <span class="badge">changed</span>`}</h3>
    <${Lines} text=${chunk[side]} change=${chunk.by === side || open ? side : ""} />
  </div>`;
  return html`<div class="chunk" role="group" aria-label=${`Difference ${index}`}>
    <div class="cells">${cell("mine")}${chunk.base && html`<div class="cell base"><h3>${names.base}</h3><${Lines} text=${chunk.base} /></div>`}${cell("theirs")}</div>
    ${open && html`<fieldset class="choices"><legend class="unseen">Take for difference ${index}</legend>
      ${["mine", "theirs", "both"].map((each) => html`<label><input type="radio" name=${group} checked=${choice === each}
        onChange=${() => choose(each)} /> ${each}</label>`)}</fieldset>`}
  </div>`;
}

function Conflict({ conflict, settled }) {
  const chunks = useMemo(() => chunksOf(conflict), [conflict.version]);
  // What was chosen belongs to the texts that were seen; what was typed stays when they change.
  const [picked, setPicked] = useState({ version: "", choices: {} });
  const [typed, setTyped] = useState({ version: "", text: null });
  const choices = picked.version === conflict.version ? picked.choices : {};
  const { text } = typed;
  const overtaken = text !== null && typed.version !== conflict.version;
  const [failure, setFailure] = useState(null);
  const [busy, setBusy] = useState(false);
  const gone = conflict.mine === "";
  const settle = async (how) => {
    setBusy(true);
    try {
      const memory = await ask("POST", `/api/conflicts/${encodeURIComponent(conflict.id)}`, { version: conflict.version, ...how });
      toast(`“${memory.title}” is settled. Both texts stay in its history.`, { label: "Open", run: () => go(address("memories", memory.id)) });
      settled();
    } catch (problem) {
      setFailure(problem);
      if (problem.status === 409) settled();
    }
    setBusy(false);
  };
  const names = { mine: "Mine (in the memory now)", base: "Before both", theirs: `Theirs${conflict.device ? ` (${conflict.device})` : ""}` };
  const whole = merged(chunks, choices);
  return html`<article class="conflict" aria-labelledby=${`title-${conflict.id}`}>
    <header><h2 id=${`title-${conflict.id}`}>${gone ? conflict.title : html`<a href=${address("memories", conflict.memory_id)}>${conflict.title}</a>`}</h2>
      <p class="faint">${conflict.device && html`Other version from ${conflict.device}, `}met <${Time} at=${conflict.at} ago /></p></header>
    ${failure && html`<${Failed} error=${failure} />`}
    ${gone && html`<div class="notice warn">The memory was deleted here; the other device had changed it. Keep theirs to bring it back.</div>`}
    <div class="actions">
      ${!gone && html`<button type="button" disabled=${busy} onClick=${() => settle({ keep: "mine" })}>Keep mine</button>`}
      <button type="button" disabled=${busy} onClick=${() => settle({ keep: "theirs" })}>Keep theirs</button>
      ${!gone && html`<button type="button" disabled=${busy} onClick=${() => settle({ keep: "both" })}>Keep both texts</button>`}
    </div>
    <div class="chunks">${chunks.map((chunk, at) => (chunk.same
      ? html`<${Same} key=${at} chunk=${chunk} first=${at === 0} last=${at === chunks.length - 1} />`
      : html`<${Chunk} key=${at} chunk=${chunk} names=${names} index=${chunks.slice(0, at + 1).filter((each) => !each.same).length} choice=${choices[at] ?? "mine"}
          group=${`${conflict.id}-${at}`} choose=${(side) => { setPicked({ version: conflict.version, choices: { ...choices, [at]: side } }); setTyped({ version: "", text: null }); }} />`))}</div>
    ${!gone && html`<details class="by-hand"><summary>Merge by hand</summary>
      <label for=${`text-${conflict.id}`}>The merged file. What only one side changed is in it; where both differ, it follows what is chosen above.</label>
      <textarea id=${`text-${conflict.id}`} rows="14" value=${text ?? whole} onInput=${(event) => setTyped({ version: conflict.version, text: event.target.value })}></textarea>
      ${overtaken && html`<div class="notice warn" role="alert">The memory was changed after you typed this. Your text is still here; look at the versions above again.</div>`}
      <button type="button" class="main" disabled=${busy} onClick=${() => settle({ content: text ?? whole })}>Save the merged text</button>
    </details>`}
  </article>`;
}

export function Conflicts({ live }) {
  const { data, error, again } = useLoaded(() => get("/api/conflicts"), "");
  useOnChange(live.changes, again);
  return html`<div class="page wide"><${Heading}>Conflicts<//>
    ${error && html`<${Failed} error=${error} retry=${again} />`}
    ${data && !data.conflicts.length && html`<${Empty}>No open conflicts. <span class="faint">When two devices change the same lines, both versions wait here.</span><//>`}
    ${(data?.conflicts ?? []).map((each) => html`<${Conflict} key=${each.id} conflict=${each} settled=${again} />`)}
  </div>`;
}
