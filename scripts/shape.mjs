/**
 * The shape of `src`: sizes, cycles, names. `npm run shape` prints the figures and where they come from, and fails where
 * one is above shape-budget.json. Where one is below, it asks for a lower budget: `npm run shape -- --write` writes it.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync, visitorKeys } from 'oxc-parser';
import { importsOf } from './import-rules.mjs';

const MAX_FUNCTION_LINES = 80;
const BUDGET = new URL('shape-budget.json', import.meta.url);

/** Names of types and files that gave way to the field's terms, in lower case without hyphens. */
const OLD_NAMES = new Set([
  'acting',
  'aftermath',
  'audience',
  'bed',
  'callstory',
  'calling',
  'carrierdoor',
  'conversing',
  'detours',
  'door',
  'doors',
  'earlier',
  'finishing',
  'journal',
  'ledger',
  'lendingdesk',
  'mind',
  'ownspeech',
  'planner',
  'standins',
  'storyline',
  'teller',
  'thinking',
  'told',
  'tongue',
  'unlessaborted',
  'visitors',
  'workshop',
]);
/** Part of names of types and functions: a `LineElsewhere` is a remote line. */
const OLD_PART = /elsewhere/i;

/**
 * @typedef {{ type: string, start: number, end: number }} Node
 * @typedef {{ figures: Record<string, number>, findings: Record<string, string[]> }} Shape
 *   `findings` has the places behind those figures that have a budget, one line each.
 */

/**
 * @param {Map<string, string>} sources by path below `src`, with forward slashes
 * @returns {Shape}
 */
export function shapeOf(sources) {
  const lengths = [...sources.values()].map(lineCount).toSorted((one, other) => one - other);
  /** @type {string[]} */
  const longFunctions = [];
  /** @type {string[]} */
  const spreads = [];
  /** @type {string[]} */
  const oldNames = [];
  /** @type {Map<string, Set<string>>} */
  const exported = new Map();
  for (const [path, source] of sources) {
    const { program } = parseSync(path, source);
    const lineOf = lineFinder(source);
    if (isOld(basename(path, '.ts'))) oldNames.push(path);
    walk(program, (node) => {
      const at = `${path}:${lineOf(node.start)}`;
      const lines = lineOf(node.end) - lineOf(node.start) + 1;
      if (isFunction(node) && lines > MAX_FUNCTION_LINES) longFunctions.push(`${at} ${lines} lines`);
      if (isLiteralSpread(node)) spreads.push(at);
      const name = declaredName(node);
      if (name !== null && isOld(name)) oldNames.push(`${at} ${name}`);
    });
    for (const name of exportedTypes(program)) exported.set(name, (exported.get(name) ?? new Set()).add(path));
  }
  const imports = importGraph(sources);
  const findings = {
    [`functions over ${MAX_FUNCTION_LINES} lines`]: longFunctions,
    'literal spreads': spreads,
    'files in import cycles': cycles(imports).flatMap(members),
    'folders in import cycles': folderGraphs(imports).flatMap((graph) => cycles(graph).flatMap(members)),
    'type names exported twice': [...exported].flatMap(([name, paths]) =>
      paths.size > 1 ? [`${name}: ${[...paths].join(', ')}`] : [],
    ),
    'old names': oldNames,
  };
  const figures = {
    files: lengths.length,
    'lines, median': percentile(lengths, 0.5),
    'lines, p90': percentile(lengths, 0.9),
    'lines, longest': lengths.at(-1) ?? 0,
    ...Object.fromEntries(Object.entries(findings).map(([measure, places]) => [measure, places.length])),
  };
  return { figures, findings };
}

/** @param {string} source */
function lineCount(source) {
  return source.split('\n').length - (source.endsWith('\n') ? 1 : 0);
}

/**
 * @param {readonly number[]} sorted
 * @param {number} share
 */
function percentile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

/**
 * @param {string} source
 * @returns {(offset: number) => number} the line of an offset, from 1
 */
function lineFinder(source) {
  const starts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

/**
 * @param {any} node of the syntax tree
 * @param {(node: any) => void} visit
 */
function walk(node, visit) {
  visit(node);
  for (const key of visitorKeys[node.type] ?? []) {
    for (const child of [node[key]].flat()) if (child != null) walk(child, visit);
  }
}

/** @param {Node} node */
function isFunction({ type }) {
  return type === 'FunctionDeclaration' || type === 'FunctionExpression' || type === 'ArrowFunctionExpression';
}

/** @param {any} node */
function isLiteralSpread(node) {
  if (node.type !== 'SpreadElement') return false;
  let spread = node.argument;
  while (spread.type === 'ParenthesizedExpression') spread = spread.expression;
  return spread.type === 'ObjectExpression' || spread.type === 'ArrayExpression';
}

const TYPES = ['TSInterfaceDeclaration', 'TSTypeAliasDeclaration', 'TSEnumDeclaration', 'ClassDeclaration'];

/**
 * @param {any} node
 * @returns {string | null} the name, for a declaration of a type or a function
 */
function declaredName(node) {
  return TYPES.includes(node.type) || node.type === 'FunctionDeclaration' ? (node.id?.name ?? null) : null;
}

/** @param {string} name */
function isOld(name) {
  return OLD_NAMES.has(name.replaceAll('-', '').toLowerCase()) || OLD_PART.test(name);
}

/**
 * Types that a file declares and exports; not those that it passes on.
 * @param {any} program
 * @returns {string[]}
 */
function exportedTypes(program) {
  /** @type {Set<string>} */
  const declared = new Set();
  /** @type {Set<string>} */
  const names = new Set();
  for (const statement of program.body) {
    const declaration = statement.declaration ?? statement;
    if (TYPES.includes(declaration.type)) {
      declared.add(declaration.id.name);
      if (statement.type === 'ExportNamedDeclaration') names.add(declaration.id.name);
    }
  }
  for (const statement of program.body) {
    if (statement.type !== 'ExportNamedDeclaration' || statement.source !== null) continue;
    for (const { local } of statement.specifiers) if (declared.has(local.name)) names.add(local.name);
  }
  return [...names];
}

/**
 * Who imports whom, types too.
 * @param {Map<string, string>} sources
 * @returns {Map<string, Set<string>>}
 */
function importGraph(sources) {
  return new Map(
    [...sources].map(([path, source]) => {
      const targets = importsOf(source)
        .filter(({ specifier }) => specifier.startsWith('.'))
        .map(({ specifier }) => posix.join(dirname(path), specifier).replace(/\.js$/, '.ts'));
      return [path, new Set(targets.filter((target) => target !== path && sources.has(target)))];
    }),
  );
}

/**
 * For each folder, who of its folders imports whom. What lies in the folder itself composes them and may be imported by
 * them, so it is not part of the graph.
 * @param {Map<string, Set<string>>} imports of files
 * @returns {Map<string, Set<string>>[]}
 */
function folderGraphs(imports) {
  /** @type {Map<string, Map<string, Set<string>>>} */
  const graphs = new Map();
  for (const [from, targets] of imports) {
    for (const to of targets) {
      const [one, other] = [from.split('/'), to.split('/')];
      let depth = 0;
      while (one[depth] === other[depth]) depth++;
      if (one.length - depth < 2 || other.length - depth < 2) continue;
      const parent = one.slice(0, depth).join('/');
      const graph = graphs.get(parent) ?? new Map();
      graphs.set(parent, graph);
      const [folder, target] = [one.slice(0, depth + 1).join('/'), other.slice(0, depth + 1).join('/')];
      graph.set(folder, (graph.get(folder) ?? new Set()).add(target));
    }
  }
  return [...graphs.values()];
}

/**
 * The strongly connected components of more than one node (Tarjan's algorithm).
 * @param {Map<string, Set<string>>} graph
 * @returns {string[][]}
 */
function cycles(graph) {
  /** @type {Map<string, { index: number, low: number, open: boolean }>} */
  const seen = new Map();
  /** @type {string[]} */
  const stack = [];
  /** @type {string[][]} */
  const components = [];
  /** @param {string} name */
  const visit = (name) => {
    const own = { index: seen.size, low: seen.size, open: true };
    seen.set(name, own);
    stack.push(name);
    for (const next of graph.get(name) ?? []) {
      const known = seen.get(next);
      if (known === undefined) own.low = Math.min(own.low, visit(next).low);
      else if (known.open) own.low = Math.min(own.low, known.index);
    }
    if (own.low === own.index) {
      const component = stack.splice(stack.indexOf(name));
      for (const member of component) /** @type {{ open: boolean }} */ (seen.get(member)).open = false;
      if (component.length > 1) components.push(component.toSorted());
    }
    return own;
  };
  for (const name of graph.keys()) if (!seen.has(name)) visit(name);
  return components;
}

/** @param {readonly string[]} cycle */
function members(cycle) {
  return cycle.map((name) => `${name} with ${cycle.filter((other) => other !== name).join(', ')}`);
}

/**
 * @param {Record<string, number>} figures
 * @param {Record<string, number>} budget
 * @returns {{ over: string[], under: string[] }} measures
 */
export function compare(figures, budget) {
  const limited = Object.entries(figures).filter(([measure]) => measure in budget);
  return {
    over: limited.flatMap(([measure, figure]) => (figure > (budget[measure] ?? 0) ? [measure] : [])),
    under: limited.flatMap(([measure, figure]) => (figure < (budget[measure] ?? 0) ? [measure] : [])),
  };
}

function readSources() {
  const src = fileURLToPath(new URL('../src/', import.meta.url));
  const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return new Map(files.toSorted().map((file) => [file.replaceAll('\\', '/'), readFileSync(src + file, 'utf8')]));
}

function main() {
  const { figures, findings } = shapeOf(readSources());
  /** @type {Record<string, number>} */
  const budget = JSON.parse(readFileSync(BUDGET, 'utf8'));
  const { over, under } = compare(figures, budget);
  for (const [measure, places] of Object.entries(findings)) {
    if (places.length > 0) console.log(`${measure}:\n${places.map((place) => `  ${place}\n`).join('')}`);
  }
  for (const [measure, figure] of Object.entries(figures)) {
    const limit = budget[measure];
    const note = over.includes(measure) ? '  OVER' : under.includes(measure) ? '  lower the budget' : '';
    console.log(`${measure}: ${figure}${limit === undefined ? '' : ` (budget ${limit})${note}`}`);
  }
  if (process.argv.includes('--write')) {
    const lowered = Object.keys(budget).map((measure) => [
      measure,
      Math.min(figures[measure] ?? 0, budget[measure] ?? 0),
    ]);
    writeFileSync(BUDGET, `${JSON.stringify(Object.fromEntries(lowered), null, 2)}\n`);
  } else if (over.length > 0) process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) main();
