import { type MeasuredTurn, type LatencyStage, STAGES } from './measured-turn.js';
import {
  type BenchmarkReport,
  kindRows,
  type NamedRun,
  reportRows,
  short,
  stageDetailRows,
  stageRows,
} from './report.js';

/** Colours for colour-blind readers (Okabe and Ito, 2008). */
const COLOURS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9', '#808080', '#8a2be2', '#7a5230'];
/** Stages that add up to the response time; `sttFinal` lies within `endOfTurn`. */
const PARTS: readonly LatencyStage[] = STAGES.filter((stage) => stage !== 'sttFinal');
const NAMES: Readonly<Record<LatencyStage, string>> = {
  endOfTurn: 'end of turn',
  sttFinal: 'final transcript (within the end of turn)',
  llm: 'model, first piece',
  sentence: 'first sentence',
  tts: 'voice, first audio',
  playout: 'line',
};
const WIDTH = 860;
const LEFT = 190;
/** Waterfalls per run. */
const WATERFALLS = 12;

/** The report as a self-contained page: tables, waterfalls, distributions, latency against cut-offs. */
export function reportPage(report: BenchmarkReport): string {
  const { title, time, machine, runs } = report;
  return page(title, `<p class="note">${escape(time)}. ${escape(machine)}.</p>\n${latencySections(runs)}`);
}

/** The results of runs, as a part of a page. */
export function latencySections(runs: readonly NamedRun[]): string {
  return `<p>All times are milliseconds from the labelled end of the user's speech to the answer's first frame at the far end
of the line. They include the wait for the end of the turn and the line. “Cut off”: the agent spoke before the user had
finished. “After the decision”: from the decision that the turn is over to that frame.</p>
<h2>Response time</h2>
${table(reportRows(runs))}
${runs.map(({ name, about }) => `<p class="note"><b>${escape(name)}</b>: ${escape(about)}</p>`).join('\n')}
<h3>First turns, later turns, turns with a tool</h3>
${table(kindRows(runs))}
<h2>By stage</h2>
${table(stageRows(runs))}
<details><summary>All percentiles</summary>${table(stageDetailRows(runs))}</details>
${key(PARTS.map((stage) => NAMES[stage]))}
${medians(runs)}
<h2>Distribution of response times</h2>
<p class="note">Share of answers (vertical) within a response time (horizontal).</p>
${distributions(runs)}
<h2>Response time against cut-offs</h2>
<p class="note">Each point is a run. Lower and further left is better.</p>
${tradeOff(runs)}
<h2>Waterfalls</h2>
${key(PARTS.map((stage) => NAMES[stage]))}
${runs.map((run) => `<h3>${escape(run.name)}</h3>\n${waterfalls(run)}`).join('\n')}
`;
}

function key(names: readonly string[]): string {
  const items = names.map((name, at) => `<span style="background:${colour(at)}"></span>${escape(name)}`);
  return `<p class="key note">${items.join('')}</p>`;
}

/** One bar per run: the median of each stage. */
function medians(runs: readonly NamedRun[]): string {
  return bars(
    runs.map(({ name, summary }) => ({ name, parts: PARTS.map((stage) => summary.stages[stage]?.p50 ?? 0) })),
  );
}

/** Waterfalls of turns at even ranks from the fastest to the slowest. */
function waterfalls({ turns }: NamedRun): string {
  const answered = turns
    .filter((turn): turn is MeasuredTurn & { responseMs: number } => turn.responseMs !== null)
    .sort((a, b) => a.responseMs - b.responseMs);
  const step = Math.max(1, (answered.length - 1) / (WATERFALLS - 1));
  const chosen = new Set(Array.from({ length: WATERFALLS }, (_, at) => answered[Math.round(at * step)]));
  return bars(
    [...chosen].flatMap((turn) =>
      turn === undefined
        ? []
        : [
            {
              name: `${turn.recording} ${String(turn.index + 1)}`,
              parts: PARTS.map((stage) => turn.stages[stage] ?? 0),
            },
          ],
    ),
  );
}

function bars(rows: readonly { name: string; parts: readonly number[] }[]): string {
  const longest = Math.max(1, ...rows.map(({ parts }) => sum(parts)));
  const x = (ms: number): number => LEFT + (ms / longest) * (WIDTH - LEFT - 60);
  const height = rows.length * 24 + 6;
  const drawn = rows.map(({ name, parts }, row) => {
    const y = row * 24 + 4;
    let at = 0;
    const rects = parts.map((ms, part) => {
      const from = at;
      at += Math.max(0, ms);
      return `<rect x="${fixed(x(from))}" y="${String(y)}" width="${fixed(x(at) - x(from))}" height="16" fill="${colour(part)}"><title>${escape(NAMES[PARTS[part] as LatencyStage])}: ${fixed(ms)} ms</title></rect>`;
    });
    const label = `<text x="${String(LEFT - 8)}" y="${String(y + 13)}" text-anchor="end">${escape(name.slice(-28))}</text>`;
    return `${label}${rects.join('')}<text x="${fixed(x(at) + 5)}" y="${String(y + 13)}">${at.toFixed(0)}</text>`;
  });
  return svg(height, drawn.join(''));
}

function distributions(runs: readonly NamedRun[]): string {
  const all = runs.map(({ turns }) => turns.flatMap(({ responseMs }) => responseMs ?? []).sort((a, b) => a - b));
  // A few slow answers would compress the rest.
  const most = Math.max(100, ...all.map((times) => times[Math.ceil(times.length * 0.98) - 1] ?? 0));
  const [bottom, top] = [260, 16];
  const x = (ms: number): number => 50 + (Math.min(ms, most) / most) * (WIDTH - 70);
  const y = (share: number): number => bottom - share * (bottom - top);
  const lines = all.map((times, run) => {
    const points = times.map((ms, at) => `${fixed(x(ms))},${fixed(y((at + 1) / times.length))}`);
    return `<polyline points="${points.join(' ')}" fill="none" stroke="${colour(run)}" stroke-width="2"/>`;
  });
  const grid = [0, 0.5, 0.9, 1].map(
    (share) =>
      `<line x1="50" x2="${String(WIDTH - 20)}" y1="${fixed(y(share))}" y2="${fixed(y(share))}" stroke="#8884"/><text x="44" y="${fixed(y(share) + 4)}" text-anchor="end">${(share * 100).toFixed(0)} %</text>`,
  );
  return `${key(runs.map(({ name }) => name))}${svg(300, `${grid.join('')}${scale(x, most, bottom)}${lines.join('')}`)}`;
}

function tradeOff(runs: readonly NamedRun[]): string {
  const points = runs.flatMap(({ name, summary }) =>
    summary.response === null
      ? []
      : [{ name, ms: summary.response.p50, cut: summary.turns === 0 ? 0 : summary.cutOff / summary.turns }],
  );
  const most = Math.max(100, ...points.map(({ ms }) => ms * 1.15));
  const mostCut = Math.max(0.05, ...points.map(({ cut }) => cut * 1.15));
  const [bottom, top] = [260, 16];
  const x = (ms: number): number => 50 + (ms / most) * (WIDTH - 240);
  const y = (cut: number): number => bottom - (cut / mostCut) * (bottom - top);
  const labels = apart(points.map(({ ms, cut }) => ({ x: x(ms) + 9, y: y(cut) + 4 })));
  const marks = points.map(
    ({ name, ms, cut }, at) =>
      `<circle cx="${fixed(x(ms))}" cy="${fixed(y(cut))}" r="5" fill="${colour(at)}"/><text x="${fixed(labels[at]?.x ?? 0)}" y="${fixed(labels[at]?.y ?? 0)}">${escape(name)}</text>`,
  );
  const grid = [0, mostCut / 2, mostCut].map(
    (cut) =>
      `<line x1="50" x2="${String(WIDTH - 180)}" y1="${fixed(y(cut))}" y2="${fixed(y(cut))}" stroke="#8884"/><text x="44" y="${fixed(y(cut) + 4)}" text-anchor="end">${(cut * 100).toFixed(0)} %</text>`,
  );
  return svg(300, `${grid.join('')}${scale(x, most, bottom)}${marks.join('')}`);
}

/** Moves labels up until none overlaps another; the lowest stay in place. */
function apart(places: readonly { x: number; y: number }[]): { x: number; y: number }[] {
  const [wordWidth, lineHeight] = [150, 13];
  const moved: { x: number; y: number }[] = [];
  const order = places.map((_, at) => at).sort((a, b) => (places[b]?.y ?? 0) - (places[a]?.y ?? 0));
  for (const at of order) {
    const place = { x: 0, y: 0, ...places[at] };
    const near = (): boolean =>
      moved.some((other) => Math.abs(other.x - place.x) < wordWidth && Math.abs(other.y - place.y) < lineHeight);
    while (near()) place.y -= 1;
    moved[at] = place;
  }
  return moved;
}

/** A scale of milliseconds below a drawing. */
function scale(x: (ms: number) => number, most: number, bottom: number): string {
  const step = [50, 100, 200, 250, 500, 1000, 2000, 5000].find((ms) => most / ms <= 8) ?? 10_000;
  const marks = Array.from({ length: Math.floor(most / step) + 1 }, (_, at) => at * step);
  return marks
    .map((ms) => `<text x="${fixed(x(ms))}" y="${String(bottom + 20)}" text-anchor="middle">${String(ms)}</text>`)
    .join('');
}

function svg(height: number, inside: string): string {
  return `<svg viewBox="0 0 ${String(WIDTH)} ${String(height)}" width="${String(WIDTH)}" role="img">${inside}</svg>`;
}

function colour(at: number): string {
  return COLOURS[at % COLOURS.length] as string;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + Math.max(0, value), 0);
}

function fixed(value: number): string {
  return value.toFixed(1);
}

/** A page without external resources, for light and dark mode. */
export function page(title: string, body: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${escape(title)}</title>
<style>
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}h3{font-size:1rem;margin:1.2rem 0 .3rem}
table{border-collapse:collapse;display:block;overflow-x:auto;font-variant-numeric:tabular-nums;margin:.6rem 0}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #ddd;vertical-align:bottom}
th:first-child,td:first-child{text-align:left;white-space:nowrap}
svg{max-width:100%;height:auto}.note{color:#555}.key span{display:inline-block;width:.8em;height:.8em;margin:0 .3em 0 1em}
text{font:12px system-ui,sans-serif;fill:#1b1b1b}nav a{margin-right:1em}summary{cursor:pointer;color:#555}
a{color:#0060a0}
@media (prefers-color-scheme:dark){body{color:#eee;background:#16181c}th,td{border-color:#3a3d44}
.note,summary{color:#aaa}text{fill:#eee}a{color:#7cc4ff}}
</style></head><body>
<h1>${escape(title)}</h1>
${body}</body></html>
`;
}

/** @param rows headings first; numbers are formatted by `short` */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const [head = [], ...body] = rows;
  const row = (cells: readonly (string | number)[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escape(typeof cell === 'number' ? short(cell) : cell)}</${tag}>`).join('')}</tr>`;
  return `<table>${row(head, 'th')}${body.map((cells) => row(cells, 'td')).join('')}</table>`;
}

/** Escapes text for HTML, including attributes. */
export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${String(char.charCodeAt(0))};`);
}
