// How the memory grew, as a plot and as a table; and what it consists of.
import { get } from "./api.js";
import { bytes, Empty, Failed, Heading, html, number, Time, useLoaded, useMemo, useOnChange } from "./ui.js";

const MONTH = new Intl.DateTimeFormat(undefined, { month: "short", year: "numeric", timeZone: "UTC" });
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric", timeZone: "UTC" });
const MS = 86400000;

const sum = (made) => Object.values(made).reduce((all, each) => all + each, 0);

// Round numbers for the axis.
function ticks(most, wanted) {
  const rough = most / wanted;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const step = Math.max([1, 2, 5, 10].find((each) => each * power >= rough) * power, 1);
  const found = [];
  for (let value = 0; value <= most; value += step) found.push(value);
  return found;
}

function Plot({ days }) {
  const narrow = matchMedia("(max-width: 700px)").matches;
  const [width, height] = narrow ? [420, 300] : [960, 340];
  const box = { left: 52, right: 14, top: 14, bottom: 30 };
  const first = Date.parse(days[0].day);
  const last = Math.max(Date.now(), Date.parse(days.at(-1).day) + MS);
  let total = 0;
  const points = days.map((each) => ({ day: each.day, at: Date.parse(each.day), total: (total += sum(each.made)) }));
  const x = (at) => box.left + ((at - first) / Math.max(last - first, MS)) * (width - box.left - box.right);
  const y = (value) => height - box.bottom - (value / Math.max(total, 1)) * (height - box.top - box.bottom);
  let path = `M${x(first)},${y(0)}`;
  for (const point of points) path += `H${x(point.at).toFixed(1)}V${y(point.total).toFixed(1)}`;
  path += `H${x(last)}`;
  const marks = [0, 1, 2, 3].map((part) => first + ((last - first) * part) / 3).filter((_, at) => !narrow || at !== 1 );
  const label = (at) => (last - first > 120 * MS ? MONTH : DAY).format(at);
  const told = `${number(total)} memories, the first made on ${DAY.format(first)}, the latest on ${DAY.format(points.at(-1).at)}.`;
  return html`<figure><svg class="plot" viewBox=${`0 0 ${width} ${height}`} role="img" aria-label=${`Growth: ${told}`}>
    ${ticks(total, 4).map((value) => html`<g class="grid"><line x1=${box.left} x2=${width - box.right} y1=${y(value)} y2=${y(value)} />
      <text x=${box.left - 8} y=${y(value) + 4} text-anchor="end">${number(value)}</text></g>`)}
    <path class="area" d=${`${path}V${y(0)}Z`} /><path class="line" d=${path} />
    ${marks.map((at, index) => html`<text class="axis" x=${x(at)} y=${height - 8}
      text-anchor=${index === 0 ? "start" : index === marks.length - 1 ? "end" : "middle"}>${label(at)}</text>`)}
    <circle class="end" cx=${x(points.at(-1).at)} cy=${y(total)} r="4" />
  </svg><figcaption class="faint">Memories that exist today, by the day they were made. ${told}</figcaption></figure>`;
}

function Table({ days }) {
  const months = new Map();
  for (const { day, made } of days) months.set(day.slice(0, 7), (months.get(day.slice(0, 7)) ?? 0) + sum(made));
  let total = 0;
  const rows = [...months].map(([month, made]) => [month, made, (total += made)]).reverse();
  return html`<details><summary>As a table</summary><table><thead><tr><th scope="col">Month</th><th scope="col">Made</th><th scope="col">In all</th></tr></thead>
    <tbody>${rows.map(([month, made, all]) => html`<tr><th scope="row">${MONTH.format(Date.parse(`${month}-01`))}</th><td>${number(made)}</td><td>${number(all)}</td></tr>`)}</tbody></table></details>`;
}

function Bars({ title, counts, link, most = 8 }) {
  const entries = Object.entries(counts).slice(0, most);
  if (!entries.length) return null;
  const largest = Math.max(...entries.map(([, value]) => value));
  const left = Object.keys(counts).length - entries.length;
  return html`<section class="bars"><h2>${title}</h2><ul>${entries.map(([name, value]) => html`<li>
    <span class="name">${link && name ? html`<a href=${link(name)}>${name}</a>` : name || "global"}</span><span class="value">${number(value)}</span>
    <svg aria-hidden="true" viewBox="0 0 100 4" preserveAspectRatio="none"><rect class="rail" width="100" height="4" /><rect class="fill" width=${(100 * value) / largest} height="4" /></svg>
  </li>`)}</ul>${left > 0 && html`<p class="faint">and ${number(left)} more</p>`}</section>`;
}

export function Growth({ live }) {
  const { data, error, again } = useLoaded(() => get("/api/growth"), "");
  useOnChange(live.changes, again);
  const counts = data?.counts;
  const facts = useMemo(() => counts && [
    ["Memories", number(counts.memories)], ["Updated within 30 days", number(counts.updated_within["30"] ?? 0)],
    ["Links", number(counts.links)], ["Not touched for long", number(counts.stale)], ["Expired", number(counts.expired)],
    ["Size of all texts", bytes(counts.content_bytes)],
  ], [counts]);
  return html`<div class="page wide"><${Heading}>Growth<//>
    ${error && html`<${Failed} error=${error} retry=${again} />`}
    ${data && !data.days.length && html`<${Empty}>There are no memories yet.<//>`}
    ${data && data.days.length > 0 && html`<${Plot} days=${data.days} /><${Table} days=${data.days} />`}
    ${facts && html`<dl class="figures">${facts.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}
      ${counts.last_update && html`<div><dt>Last change</dt><dd><${Time} at=${counts.last_update} ago /></dd></div>`}</dl>
      <div class="columns">
        <${Bars} title="Categories" counts=${counts.by_category} link=${(name) => `#/?category=${encodeURIComponent(name)}`} />
        <${Bars} title="Projects" counts=${counts.by_project} />
        <${Bars} title="Tags" counts=${counts.by_tag} link=${(name) => `#/?tag=${encodeURIComponent(name)}`} />
      </div>`}
  </div>`;
}
