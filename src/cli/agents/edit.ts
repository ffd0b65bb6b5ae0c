import { applyEdits, modify } from 'jsonc-parser';
import { isDeepStrictEqual } from 'node:util';
import { parseDocument, stringify } from 'yaml';
import { type Location, valueAt } from '../../schema/issues.js';
import { jsonSource, type Source } from '../../schema/source.js';
import { yamlSource } from '../../schema/yaml-source.js';

/** A member that gets another value; undefined removes it. */
interface MemberChange {
  path: Location;
  value: unknown;
}

/** Prompts and sentences stay in one line or in a block of lines. */
const YAML_STYLE = { lineWidth: 0, blockQuote: 'literal' } as const;

/** The text of a new file. @param schema address of its JSON Schema; null = none is named */
export function newText(value: object, format: Source['format'], schema: string | null): string {
  if (format === 'yaml') {
    const first = schema === null ? '' : `# yaml-language-server: $schema=${schema}\n`;
    return `${first}${yamlText(value)}`;
  }
  return `${JSON.stringify(schema === null ? value : { $schema: schema, ...value }, null, 2)}\n`;
}

/** A value as people read it best: texts of several lines as such. */
export function yamlText(value: unknown): string {
  return stringify(value, YAML_STYLE);
}

/**
 * The text with other values, and with its comments and its layout where these still have a place.
 * @param before the value that the text stands for
 * @returns null if only a new text can have these values
 */
export function editedText(source: Source, before: unknown, after: unknown): string | null {
  const changes = changesBetween(before, after, []);
  try {
    const text = source.format === 'json' ? editedJson(source.text, changes) : editedYaml(source.text, changes);
    const { value } = source.format === 'json' ? jsonSource(text, source.name) : yamlSource(text, source.name);
    return changes.every(({ path, value: wanted }) => isDeepStrictEqual(valueAt(value, path), wanted)) ? text : null;
  } catch {
    return null; // such as an alias of YAML on the way to a member
  }
}

function editedJson(given: string, changes: readonly MemberChange[]): string {
  const [, indent = '  '] = /\n([ \t]+)\S/.exec(given) ?? [];
  const formattingOptions = {
    insertSpaces: !indent.startsWith('\t'),
    tabSize: indent.length,
    eol: given.includes('\r\n') ? '\r\n' : '\n',
  };
  return changes.reduce(
    (text, { path, value }) => applyEdits(text, modify(text, [...path], value, { formattingOptions })),
    given,
  );
}

function editedYaml(text: string, changes: readonly MemberChange[]): string {
  const document = parseDocument(text);
  for (const { path, value } of changes) {
    if (value === undefined) document.deleteIn(path);
    else document.setIn(path, document.createNode(value));
  }
  return document.toString(YAML_STYLE);
}

/** The changes that make one value of another: member by member, and in lists item by item. */
function changesBetween(before: unknown, after: unknown, path: Location): MemberChange[] {
  if (isDeepStrictEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after)) {
    const kept = before.slice(0, after.length);
    const removed = before
      .slice(after.length)
      .map((_, at) => ({ path: [...path, after.length + at], value: undefined }));
    return [
      ...kept.flatMap((item: unknown, at) => changesBetween(item, after[at], [...path, at])),
      ...removed.toReversed(), // from the end, so that the others keep their index
      ...after.slice(kept.length).map((value: unknown, at) => ({ path: [...path, kept.length + at], value })),
    ];
  }
  if (!isMembers(before) || !isMembers(after)) return [{ path, value: after }];
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].flatMap((name) => changesBetween(before[name], after[name], [...path, name]));
}

function isMembers(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
