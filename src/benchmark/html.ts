import { short } from './markdown-table.js';

/** A page that loads nothing, for light and dark screens. */
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

/** The first row holds the headings; numbers are made `short`. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  const [head = [], ...body] = rows;
  const row = (cells: readonly (string | number)[], tag: string): string =>
    `<tr>${cells.map((cell) => `<${tag}>${escape(typeof cell === 'number' ? short(cell) : cell)}</${tag}>`).join('')}</tr>`;
  return `<table>${row(head, 'th')}${body.map((cells) => row(cells, 'td')).join('')}</table>`;
}

/** Text as text in HTML, in attributes too. */
export function escape(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${String(char.charCodeAt(0))};`);
}
