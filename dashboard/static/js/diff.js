// Which lines differ. Plain functions, no elements.

const MOST_CELLS = 4000000;

// Runs of equal lines, as [start in a, start in b, length], in order. Longest common subsequence between the ends
// that are equal; two long texts without anything in common count as different as a whole.
export function matches(a, b) {
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const n = a.length - head - tail;
  const m = b.length - head - tail;
  const found = head ? [[0, 0, head]] : [];
  if (n && m && n * m <= MOST_CELLS) {
    const width = m + 1;
    const length = new Uint32Array((n + 1) * width);
    for (let i = n - 1; i >= 0; i--) {
      for (let j = m - 1; j >= 0; j--) {
        length[i * width + j] = a[head + i] === b[head + j]
          ? length[(i + 1) * width + j + 1] + 1
          : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
      }
    }
    for (let i = 0, j = 0; i < n && j < m;) {
      if (a[head + i] === b[head + j]) {
        const last = found.at(-1);
        if (last && last[0] + last[2] === head + i && last[1] + last[2] === head + j) last[2]++;
        else found.push([head + i, head + j, 1]);
        i++;
        j++;
      } else if (length[(i + 1) * width + j] >= length[i * width + j + 1]) i++;
      else j++;
    }
  }
  if (tail) found.push([a.length - tail, b.length - tail, tail]);
  return found;
}

// The texts cut where they agree: chunks of { base, mine, theirs } (lines), `same` where all three are equal, `by` who
// changed it: mine, theirs, same (both alike) or both (they disagree).
export function threeWay(base, mine, theirs) {
  const partner = (other) => {
    const map = new Map();
    for (const [i, j, length] of matches(base, other)) for (let k = 0; k < length; k++) map.set(i + k, j + k);
    return map;
  };
  const left = partner(mine);
  const right = partner(theirs);
  const chunks = [];
  let [i, j, k] = [0, 0, 0];
  const close = (toBase, toMine, toTheirs) => {
    const part = { base: base.slice(i, toBase), mine: mine.slice(j, toMine), theirs: theirs.slice(k, toTheirs) };
    [i, j, k] = [toBase, toMine, toTheirs];
    if (!part.base.length && !part.mine.length && !part.theirs.length) return;
    const equal = (one, other) => one.length === other.length && one.every((line, at) => line === other[at]);
    let by = "both";
    if (equal(part.mine, part.theirs)) by = "same";
    else if (equal(part.base, part.theirs)) by = "mine";
    else if (equal(part.base, part.mine)) by = "theirs";
    chunks.push({ ...part, same: false, by });
  };
  while (i < base.length) {
    let at = i;
    while (at < base.length && !(left.has(at) && right.has(at))) at++;
    if (at === base.length) break;
    close(at, left.get(at), right.get(at));
    const lines = [];
    while (i < base.length && left.get(i) === j && right.get(i) === k) {
      lines.push(base[i]);
      i++;
      j++;
      k++;
    }
    chunks.push({ base: lines, mine: lines, theirs: lines, same: true, by: "" });
  }
  close(base.length, mine.length, theirs.length);
  return chunks;
}

// As above without a common ancestor: what differs is disagreed upon.
export function twoWay(mine, theirs) {
  const chunks = [];
  let [i, j] = [0, 0];
  for (const [a, b, length] of [...matches(mine, theirs), [mine.length, theirs.length, 0]]) {
    if (a > i || b > j) chunks.push({ base: null, mine: mine.slice(i, a), theirs: theirs.slice(j, b), same: false, by: "both" });
    const lines = mine.slice(a, a + length);
    if (length) chunks.push({ base: lines, mine: lines, theirs: lines, same: true, by: "" });
    [i, j] = [a + length, b + length];
  }
  return chunks;
}

// The merged text, given for each chunk that is disagreed upon what to take: mine, theirs or both.
export function merged(chunks, choices) {
  const lines = [];
  chunks.forEach((chunk, at) => {
    const choice = chunk.same || chunk.by !== "both" ? chunk.by : choices[at] ?? "mine";
    if (choice === "theirs") lines.push(...chunk.theirs);
    else if (choice === "both") lines.push(...chunk.mine, ...chunk.theirs);
    else lines.push(...chunk.mine);
  });
  return lines.join("\n");
}
