import { escape, latencySections, page, table } from '../../dist/benchmark/report-page.js';
import { cellIn } from './printed-tables.js';
import { PARTS } from './suite-parts.js';
import type { PartResult, SuiteReport } from './suite-run.js';

/** The figures that matter most, a row each. */
export function headlineRows({ parts }: SuiteReport): string[][] {
  const rows = parts.flatMap(({ name, title, tables }) =>
    (PARTS.find((part) => part.name === name)?.headlines ?? []).flatMap(({ figure, row, column }) => {
      const cell = cellIn(tables, row, column);
      return cell === null ? [] : [[figure, cell, title]];
    }),
  );
  return [['figure', 'value', 'of'], ...rows];
}

/** The whole run as one page that loads nothing. */
export function suitePage(report: SuiteReport): string {
  const { time, began, ended, versions, parts, quick } = report;
  const listed = Object.entries(versions).map((entry) => entry.join(' '));
  const links = parts.map(({ name, title }) => `<a href="#${escape(name)}">${escape(title)}</a>`);
  return page(
    `parley: benchmarks${quick ? ', the quick set' : ''}`,
    `<p class="note">${escape(time)}. Began: ${escape(began)}. Ended: ${escape(ended)}. ${escape(listed.join(', '))}.</p>
<nav>${links.join('\n')}</nav>
${table(headlineRows(report))}
${parts.map(section).join('\n')}
`,
  );
}

function section({ name, title, args, real, seconds, machine, tables, runs, error }: PartResult): string {
  const heading = (text: string): string => (/load average/.test(text) ? '' : `<h3>${escape(text)}</h3>`);
  const shown = tables.map((one) => `${heading(one.title)}${table(one.rows)}`).join('\n');
  return `<section id="${escape(name)}"><h1>${escape(title)}</h1>
<p>${escape(real)}</p>
<p class="note"><code>node bench/run.mjs ${escape(args.join(' '))}</code>, ${String(seconds)} s; ${escape(machine)}.</p>
${error === null ? '' : `<p><b>It failed: ${escape(error)}</b></p>`}
${runs.length > 0 ? latencySections(runs) : shown}
</section>`;
}
