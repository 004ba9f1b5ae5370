// A memory's text as it was meant: headings, lists, code, links. Elements are made of it, never markup.
import { h } from "./ui.js";

const INLINE = /(`[^`\n]+`)|(\*\*[^*\n]+\*\*)|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)|(https?:\/\/[^\s<>)\]]+[^\s<>)\].,;:!?'"])/g;
const MOST = 200000;

function link(text, href) {
  return h("a", { href, target: "_blank", rel: "noopener noreferrer" }, text);
}

function inline(text) {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(INLINE)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    const [whole, code, bold, label, target, bare] = match;
    if (code) parts.push(h("code", null, code.slice(1, -1)));
    else if (bold) parts.push(h("strong", null, bold.slice(2, -2)));
    else if (label) parts.push(link(label, target));
    else if (bare) parts.push(link(bare, bare));
    end = match.index + whole.length;
  }
  if (end < text.length) parts.push(text.slice(end));
  return parts;
}

// Blocks of lines: [kind, lines, more].
function blocks(text) {
  const found = [];
  const add = (kind, line, more = null) => {
    const before = found.at(-1);
    if (before && before[0] === kind && kind !== "heading" && !before[3]) before[1].push(line);
    else found.push([kind, [line], more]);
  };
  let fence = null;
  for (const line of text.split("\n")) {
    const opening = /^\s*(`{3,}|~{3,})/.exec(line);
    if (fence) {
      if (opening && line.trim() === opening[1] && opening[1].startsWith(fence)) {
        found.at(-1)[3] = true;
        fence = null;
      } else found.at(-1)[1].push(line);
    } else if (opening) {
      fence = opening[1];
      found.push(["code", []]);
    } else if (!line.trim()) {
      if (found.length) found.at(-1)[3] = true;
    } else if (/^#{1,6}\s/.test(line)) {
      add("heading", line.replace(/^#+\s+/, ""), line.indexOf(" "));
    } else if (/^\s*([-*+]|\d{1,4}[.)])\s/.test(line)) {
      const before = found.at(-1);
      if (before?.[0] === "list") before[3] = false;
      add("list", line);
    } else if (/^\s*>/.test(line)) {
      add("quote", line.replace(/^\s*>\s?/, ""));
    } else if (/^\s*\|/.test(line)) {
      add("table", line);
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      found.push(["rule", [], null, true]);
    } else if (found.at(-1)?.[0] === "list" && !found.at(-1)[3]) {
      const items = found.at(-1)[1];
      items[items.length - 1] += `\n${line.trim()}`;
    } else add("text", line);
  }
  return found;
}

function list(lines) {
  const items = lines.map((line) => {
    const [, indent, mark, text] = /^(\s*)([-*+]|\d{1,4}[.)])\s+([^]*)$/.exec(line) ?? [null, "", "-", line];
    return { depth: Math.min(Math.floor(indent.replace(/\t/g, "  ").length / 2), 4), mark, text };
  });
  const ordered = /\d/.test(items[0].mark);
  return h(ordered ? "ol" : "ul", ordered ? { start: parseInt(items[0].mark, 10) } : null,
    items.map((item) => h("li", { class: item.depth ? `deeper-${item.depth}` : null }, inline(item.text))));
}

// `below`: the level of the heading that the text belongs to.
export function Text({ text, title = "", below = 1 }) {
  const shown = blocks(text.slice(0, MOST));
  // The title stands above already.
  if (shown.length && shown[0][0] === "heading" && shown[0][1][0].trim() === title) shown.shift();
  return h("div", { class: "text" }, shown.map(([kind, lines, more]) => {
    if (kind === "code" || kind === "table") return h("pre", { tabIndex: 0 }, lines.join("\n"));
    if (kind === "heading") return h(`h${Math.min(more + below, 6)}`, null, inline(lines[0]));
    if (kind === "list") return list(lines);
    if (kind === "quote") return h("blockquote", null, inline(lines.join("\n")));
    if (kind === "rule") return h("hr");
    return h("p", null, inline(lines.join("\n")));
  }), text.length > MOST && h("p", { class: "faint" }, "The rest is not shown here."));
}
