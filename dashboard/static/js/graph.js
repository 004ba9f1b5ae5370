// The links between memories as a picture, and the same as a list.
import { get } from "./api.js";
import { layout } from "./layout.js";
import { address, go } from "./route.js";
import { Empty, Failed, Heading, html, plural, useLoaded, useMemo, useOnChange, useState } from "./ui.js";

const COLOURS = 8;

// What the picture is made of: points in the order of their links, pairs of their places.
function chosen({ memories, links, left }) {
  const place = new Map(memories.map((each, index) => [each.id, index]));
  const pairs = links.map(([a, b]) => [place.get(a), place.get(b)]);
  const degree = new Array(memories.length).fill(0);
  for (const end of pairs.flat()) degree[end]++;
  const categories = [...new Set(memories.map((each) => each.category))].sort();
  return { nodes: memories.map((each, index) => ({ ...each, degree: degree[index] })), pairs, categories, left };
}

const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1).trimEnd()}…` : text);

// Where names fit: the most linked memory first, above its point or else below it; none lies over another.
function labels(nodes, points, size, most) {
  const taken = [];
  const found = new Map();
  for (let at = 0; at < nodes.length; at++) {
    const text = short(nodes[at].title, most);
    const half = text.length * 3.7 + 4;
    const { x, y } = points[at];
    const middle = Math.min(Math.max(x, half), size.width - half);
    const rise = radius(nodes[at]) + 6;
    for (const base of [y - rise, y + rise + 11]) {
      const box = [middle - half, base - 12, middle + half, base + 4];
      const free = taken.every(([left, top, right, bottom]) => box[2] < left || box[0] > right || box[3] < top || box[1] > bottom)
        && points.every((other, index) => index === at || other.x < box[0] || other.x > box[2] || other.y < box[1] - 4 || other.y > box[3] + 4);
      if (!free) continue;
      taken.push(box);
      found.set(at, { text, x: middle, y: base });
      break;
    }
  }
  return found;
}

const radius = (node) => 4.5 + Math.min(Math.sqrt(node.degree) * 2, 9);

function Picture({ nodes, pairs, categories, start }) {
  const narrow = matchMedia("(max-width: 700px)").matches;
  const size = narrow ? { width: 360, height: 460 } : { width: 1000, height: 640 };
  const points = useMemo(() => layout(nodes.length, pairs, size), [nodes, narrow]);
  const [near, setNear] = useState(null);
  const lit = useMemo(() => {
    if (near === null) return null;
    return new Set([near, ...pairs.filter((pair) => pair.includes(near)).flat()]);
  }, [near, pairs]);
  const most = narrow ? 22 : 32;
  const names = useMemo(() => labels(nodes, points, size, most), [points]);
  const shown = lit === null ? names : new Map([...lit].map((at) => [at, names.get(at)
    ?? { text: short(nodes[at].title, most), x: points[at].x, y: points[at].y - radius(nodes[at]) - 6 }]));
  const open = (event, node) => { event.preventDefault(); go(address("memories", node.id)); };
  return html`<svg class="graph" viewBox=${`0 0 ${size.width} ${size.height}`} role="group" aria-label="Memories and their links">
    <g aria-hidden="true">${pairs.map(([a, b], at) => html`<line key=${at} x1=${points[a].x} y1=${points[a].y} x2=${points[b].x} y2=${points[b].y}
      class=${near !== null && (a === near || b === near) ? "lit" : ""} />`)}</g>
    ${nodes.map((node, at) => html`<a key=${node.id} href=${address("memories", node.id)} onClick=${(event) => open(event, node)}
        aria-label=${`${node.title}, ${node.category}, ${plural(node.degree, "link")}`} class=${lit && !lit.has(at) ? "dim" : ""}
        onMouseEnter=${() => setNear(at)} onMouseLeave=${() => setNear(null)} onFocus=${() => setNear(at)} onBlur=${() => setNear(null)}>
      <title>${node.title}</title>
      <circle cx=${points[at].x} cy=${points[at].y} r="13" class="reach" />
      <circle cx=${points[at].x} cy=${points[at].y} r=${radius(node)}
        class=${`dot c${categories.indexOf(node.category) % COLOURS} ${node.id === start ? "start" : ""}`} />
    </a>`)}
    <g aria-hidden="true" class="labels">${[...shown].map(([at, label]) => html`<text key=${at} x=${label.x} y=${label.y}
      text-anchor="middle">${label.text}</text>`)}</g>
  </svg>`;
}

export function Graph({ route, live }) {
  const start = route.id;
  const { data, error, again } = useLoaded(() => get("/api/graph", { from: start || null }), start);
  useOnChange(live.changes, again);
  const known = JSON.stringify(data);
  const picture = useMemo(() => data && chosen(data), [known]);
  return html`<div class="page wide"><${Heading}>Links<//>
    ${start && html`<p><a class="back" href="#/graph">‹ All links</a></p>`}
    ${error && html`<${Failed} error=${error} retry=${again} />`}
    ${picture && !picture.nodes.length && html`<${Empty}>No memories are linked yet. <span class="faint">Open one and choose “+ Link”.</span><//>`}
    ${picture && picture.nodes.length > 0 && html`
      <p class="faint">${plural(picture.nodes.length, "memory", "memories")}, ${plural(picture.pairs.length, "link")}.
        ${picture.left > 0 && ` ${plural(picture.left, "memory", "memories")} with fewer links are left out.`} Choose a point to open it.</p>
      <ul class="legend" aria-label="Categories">${picture.categories.map((each, at) => html`<li><span class=${`swatch c${at % COLOURS}`}></span>${each}</li>`)}</ul>
      <${Picture} ...${picture} start=${start} />
      <details><summary>As a list</summary><ul class="graph-list">${picture.nodes.map((node, at) => html`<li key=${node.id}>
        <a href=${address("memories", node.id)}>${node.title}</a><span class="faint"> — ${picture.pairs.filter((pair) => pair.includes(at))
          .map(([a, b]) => picture.nodes[a === at ? b : a].title).join("; ") || "no link shown"}</span></li>`)}</ul></details>`}
  </div>`;
}
