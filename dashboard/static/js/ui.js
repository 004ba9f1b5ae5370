// What all pages share: elements, dates, small components. Text becomes text nodes; nothing here makes markup of it.
import { Fragment, h, render } from "../vendor/preact.js";
import { useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
import htm from "../vendor/htm.js";

export const html = htm.bind(h);
export { Fragment, h, render, useCallback, useEffect, useErrorBoundary, useLayoutEffect, useMemo, useRef, useState };

const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const MOMENT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const AGO = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const NUMBER = new Intl.NumberFormat();

export const number = (value) => NUMBER.format(value);
export const plural = (count, one, many) => `${number(count)} ${count === 1 ? one : many ?? `${one}s`}`;

export function Time({ at, ago = false }) {
  const moment = new Date(at);
  if (Number.isNaN(moment.getTime())) return null;
  const days = (moment - Date.now()) / 86400000;
  let text = DAY.format(moment);
  if (ago && Math.abs(days) < 1 / 24) text = AGO.format(Math.round(days * 1440), "minute");
  else if (ago && Math.abs(days) < 1) text = AGO.format(Math.round(days * 24), "hour");
  else if (ago && Math.abs(days) < 7) text = AGO.format(Math.round(days), "day");
  return html`<time dateTime=${at} title=${MOMENT.format(moment)}>${text}</time>`;
}

export function bytes(count) {
  for (const [unit, size] of [["MB", 1e6], ["kB", 1e3]]) {
    if (count >= size) return `${(count / size).toFixed(count < 10 * size ? 1 : 0)} ${unit}`;
  }
  return `${count} bytes`;
}

// The text with the words that were asked for marked.
export function Marked({ text, words }) {
  if (!words.length) return text;
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const parts = text.split(new RegExp(`(${escaped.join("|")})`, "iu"));
  return parts.map((part, index) => (index % 2 ? html`<mark>${part}</mark>` : part));
}

export function Failed({ error, retry }) {
  return html`<div class="notice bad" role="alert">
    <strong>${error.title}</strong> ${error.message} ${error.hint}
    ${retry && html` <button type="button" onClick=${retry}>Try again</button>`}
  </div>`;
}

export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

// Loads when `key` changes; keeps what it has while it loads again. Answers that come late are dropped.
// `put` takes what the daemon has just answered to a change: it is newer than any answer that is still on its way.
export function useLoaded(load, key) {
  const [state, set] = useState({ data: null, error: null, loading: true });
  const turn = useRef(0);
  const waiting = useRef(false);
  const again = useCallback(() => {
    const mine = ++turn.current;
    waiting.current = true;
    set((old) => ({ ...old, loading: true }));
    const end = (next) => {
      if (mine !== turn.current) return;
      waiting.current = false;
      set(next);
    };
    load().then(
      (data) => end({ data, error: null, loading: false }),
      (error) => end((old) => ({ data: old.data, error, loading: false })),
    );
  }, [key]);
  const put = useCallback((data) => {
    set({ data, error: null, loading: false });
    if (waiting.current) again();
  }, [again]);
  useEffect(() => {
    again();
    return () => { turn.current++; };
  }, [again]);
  return { ...state, again, put };
}

// Runs at every change that is told, and not at the first time.
export function useOnChange(value, run) {
  const first = useRef(true);
  useEffect(() => {
    if (first.current) first.current = false;
    else run();
  }, [value]);
}

// The heading of a page; it takes the focus when the page is new, so that a screen reader tells where one is.
export function Heading({ children, aside, level = 1 }) {
  const place = useRef(null);
  useLayoutEffect(() => {
    if (level > 1) return;
    document.title = `${children} · Claude memory`;
    if (document.activeElement === document.body || document.activeElement?.closest("nav")) {
      place.current.focus({ preventScroll: true });
    }
  }, [children, level]);
  return html`<div class="heading"><${`h${level}`} ref=${place} tabIndex="-1">${children}<//>${aside}</div>`;
}

export function Dialog({ title, close, children }) {
  const place = useRef(null);
  useEffect(() => {
    const before = document.activeElement;
    place.current.showModal();
    return () => before?.focus?.();
  }, []);
  return html`<dialog ref=${place} aria-label=${title} onClose=${close}
      onClick=${(event) => event.target === place.current && close()}>
    <div class="dialog"><h2>${title}</h2>${children}</div>
  </dialog>`;
}

// One short message at the bottom, perhaps with something to do about it.
let tell = () => {};
export const toast = (text, action) => tell({ text, action, at: Date.now() });
export function Toast() {
  const [message, set] = useState(null);
  useEffect(() => { tell = set; }, []);
  useEffect(() => {
    if (!message) return undefined;
    const timer = setTimeout(() => set(null), message.action ? 10000 : 5000);
    return () => clearTimeout(timer);
  }, [message]);
  return html`<div class="toast" role="status" aria-live="polite">
    ${message && html`<div><span>${message.text}</span>${message.action && html`<button type="button"
      onClick=${() => { set(null); message.action.run(); }}>${message.action.label}</button>`}</div>`}
  </div>`;
}
