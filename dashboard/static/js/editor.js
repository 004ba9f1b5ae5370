// The form of one memory. What was typed is never lost: somebody else's change is told, and both texts are there.
import { ask, memoryPath } from "./api.js";
import { guard } from "./route.js";
import { Failed, html, toast, useEffect, useRef, useState } from "./ui.js";

const LIFE = [["", "as it is"], ["none", "for ever"], ["7d", "7 days"], ["1m", "30 days"], ["1y", "a year"]];
const list = (text) => text.split(",").map((tag) => tag.trim()).filter(Boolean);

// `memory` follows what is stored; the form began with what it was then.
export function Editor({ memory, close }) {
  const [start] = useState(memory);
  const [version, setVersion] = useState(memory.version);
  const [form, set] = useState({
    content: memory.content, tags: memory.tags.join(", "), category: memory.category, priority: memory.priority, ttl: "",
  });
  const [failure, setFailure] = useState(null);
  const [saving, setSaving] = useState(false);
  const place = useRef(null);
  const text = useRef(null);
  const field = (name) => ({ value: form[name], onInput: (event) => set({ ...form, [name]: event.target.value }) });

  const change = {};
  if (form.content !== start.content) change.content = form.content;
  if (form.tags !== start.tags.join(", ")) change.tags = list(form.tags);
  for (const name of ["category", "priority"]) if (form[name] !== start[name]) change[name] = form[name];
  if (form.ttl) change.ttl = form.ttl;
  const changed = Object.keys(change).length > 0;
  const overtaken = memory.version !== version && !saving;

  useEffect(() => { text.current.focus(); text.current.setSelectionRange(0, 0); }, []);
  useEffect(() => { guard(() => changed && !saving); return () => guard(() => false); }, [changed, saving]);

  const save = async (event) => {
    event?.preventDefault();
    if (!changed) return close(null);
    setSaving(true);
    try {
      const saved = await ask("PATCH", memoryPath(memory.id), { version, ...change });
      guard(() => false);
      toast("Saved.");
      return close(saved);
    } catch (problem) {
      setSaving(false);
      return setFailure(problem);
    }
  };
  const cancel = () => { if (!changed || confirm("Drop what you have changed?")) close(null); };
  const key = (event) => {
    if ((event.ctrlKey || event.metaKey) && (event.key === "s" || event.key === "Enter")) save(event);
    else if (event.key === "Escape") { event.stopPropagation(); cancel(); }
  };

  return html`<form class="editor" ref=${place} onSubmit=${save} onKeyDown=${key} aria-label=${`Edit ${memory.title}`}>
    <header><h1>Edit</h1><div class="actions">
      <button type="submit" class="main" disabled=${saving} aria-keyshortcuts="Control+S">Save</button>
      <button type="button" onClick=${cancel}>Cancel</button></div></header>
    ${failure && failure.status !== 409 && html`<${Failed} error=${failure} />`}
    ${overtaken && html`<div class="notice warn" role="alert"><strong>Changed meanwhile.</strong> Somebody changed this memory
      after you began. Your text is still here; theirs stands below it. <button type="button" onClick=${() => { setVersion(memory.version); setFailure(null); }}>
      I have taken over what matters</button></div>`}
    <label for="content">Text <span class="faint">(markdown; the first line is the title)</span></label>
    <textarea id="content" ref=${text} rows="18" ...${field("content")} spellcheck=${true}></textarea>
    ${overtaken && html`<label for="theirs">As it is now</label><textarea id="theirs" rows="8" readOnly value=${memory.content}></textarea>`}
    <div class="fields">
      <div><label for="tags">Tags</label><input id="tags" ...${field("tags")} placeholder="comma, separated" /></div>
      <div><label for="category">Category</label><input id="category" ...${field("category")} /></div>
      <div><label for="priority">Priority</label><select id="priority" ...${field("priority")}>
        ${["high", "normal", "low"].map((each) => html`<option value=${each}>${each}</option>`)}</select></div>
      <div><label for="ttl">Keep</label><select id="ttl" ...${field("ttl")}>
        ${LIFE.map(([value, label]) => html`<option value=${value}>${label}</option>`)}</select></div>
    </div>
  </form>`;
}
