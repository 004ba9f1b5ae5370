// Where the points of a graph lie: points push each other away, links pull. The same graph always looks the same.

export function layout(count, links, { width = 1000, height = 700, rounds = 220 } = {}) {
  const x = new Float64Array(count);
  const y = new Float64Array(count);
  // A spiral as the start: no two points in one place, no chance in it.
  for (let i = 0; i < count; i++) {
    const radius = 18 * Math.sqrt(i + 0.5);
    x[i] = radius * Math.cos(i * 2.39996);
    y[i] = radius * Math.sin(i * 2.39996);
  }
  const ideal = 60;
  const dx = new Float64Array(count);
  const dy = new Float64Array(count);
  for (let round = 0; round < rounds; round++) {
    dx.fill(0);
    dy.fill(0);
    for (let i = 0; i < count; i++) {
      for (let j = i + 1; j < count; j++) {
        const a = x[i] - x[j];
        const b = y[i] - y[j];
        const square = Math.max(a * a + b * b, 1);
        if (square > 160000) continue;
        const push = (ideal * ideal) / square;
        dx[i] += a * push;
        dy[i] += b * push;
        dx[j] -= a * push;
        dy[j] -= b * push;
      }
      // A weak pull to the middle keeps parts that are not linked together in one picture.
      dx[i] -= x[i] * 0.12;
      dy[i] -= y[i] * 0.12 * (width / height);
    }
    for (const [i, j] of links) {
      const a = x[i] - x[j];
      const b = y[i] - y[j];
      const pull = Math.hypot(a, b) / ideal;
      dx[i] -= a * pull;
      dy[i] -= b * pull;
      dx[j] += a * pull;
      dy[j] += b * pull;
    }
    const heat = 30 * (1 - round / rounds) + 0.5;
    for (let i = 0; i < count; i++) {
      const size = Math.hypot(dx[i], dy[i]) || 1;
      const step = Math.min(size, heat) / size;
      x[i] += dx[i] * step;
      y[i] += dy[i] * step;
    }
  }
  return fitted(x, y, width, height);
}

function fitted(x, y, width, height) {
  const margin = 40;
  const [left, right] = [Math.min(...x), Math.max(...x)];
  const [top, bottom] = [Math.min(...y), Math.max(...y)];
  const scale = Math.min((width - 2 * margin) / Math.max(right - left, 1), (height - 2 * margin) / Math.max(bottom - top, 1), 3);
  return Array.from(x, (value, i) => ({
    x: width / 2 + (value - (left + right) / 2) * scale,
    y: height / 2 + (y[i] - (top + bottom) / 2) * scale,
  }));
}
