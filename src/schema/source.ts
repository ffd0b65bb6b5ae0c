import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser';
import * as z from 'zod';
import { InvalidConfigError, type Location } from './issues.js';

/** A text that people write: JSON with comments and trailing commas, or YAML. */
export interface Source {
  /** What faults call it, such as its path. */
  readonly name: string;
  readonly text: string;
  readonly format: 'json' | 'yaml';
  readonly value: unknown;
  /** Where a member begins, or the nearest one around it that exists. */
  readonly offset: (loc: Location) => number;
}

/** Whether a text is JSON and not YAML: by the ending of its name, or else by how it begins. */
export function isJson(text: string, name: string): boolean {
  const [, ending] = /\.(jsonc?|ya?ml)$/i.exec(name) ?? [];
  return ending === undefined ? /^\uFEFF?\s*[[{/]/.test(text) : /^json/i.test(ending);
}

/** A place in a text, as compilers name it: `baker.json:4:7`. Lines and columns count from 1. */
export function placeAt(name: string, text: string, offset: number): string {
  const before = text.slice(0, offset);
  const line = before.split('\n').length;
  return `${name}:${String(line)}:${String(offset - before.lastIndexOf('\n'))}`;
}

/** Runs `work`, and puts the line and column in front of the locations of faults that it throws, in the order of the text. */
export function placedIn<T>(source: Source, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    const issues = error.issues.toSorted((a, b) => source.offset(a.loc) - source.offset(b.loc));
    throw new InvalidConfigError(
      issues.map((issue) => ({ ...issue, loc: [placeIn(source, issue.loc), ...issue.loc] })),
      error,
    );
  }
}

/** The place of a member, such as `baker.json:4:7`. */
export function placeIn({ name, text, offset }: Source, loc: Location): string {
  return placeAt(name, text, offset(loc));
}

/** What is wrong at the place of a fault. */
const FAULTS: Readonly<Record<ReturnType<typeof printParseErrorCode>, string>> = {
  InvalidSymbol: 'this is not a value; texts stand in double quotes',
  InvalidNumberFormat: 'this is not a number',
  PropertyNameExpected: 'the name of a member is expected, in double quotes',
  ValueExpected: 'a value is expected',
  ColonExpected: 'a colon is expected',
  CommaExpected: 'a comma is expected',
  CloseBraceExpected: 'a closing brace is expected',
  CloseBracketExpected: 'a closing bracket is expected',
  EndOfFileExpected: 'nothing may follow the value',
  InvalidCommentToken: 'a comment is not allowed here',
  UnexpectedEndOfComment: 'the comment has no end',
  UnexpectedEndOfString: 'the text has no closing quote',
  UnexpectedEndOfNumber: 'the number is not complete',
  InvalidUnicode: 'a Unicode escape has four hexadecimal digits',
  InvalidEscapeCharacter: 'there is no such escape',
  InvalidCharacter: 'control characters in texts are written as escapes, such as \\n',
  '<unknown ParseErrorCode>': 'this cannot be read',
};

/**
 * The value of JSON with comments and trailing commas.
 * @throws InvalidConfigError with the line and column of each fault
 */
export function jsonSource(given: string, name: string): Source {
  const text = given.replace(/^\uFEFF/, '');
  const { root, faults } = treeOf(text);
  if (root === undefined || faults.length > 0) {
    // What follows the first fault of a line is mostly its consequence.
    const first = faults.filter(({ at }, index) => index === 0 || text.slice(faults[index - 1]?.at, at).includes('\n'));
    throw new InvalidConfigError(
      first.map(({ msg, at }) => ({
        loc: [placeAt(name, text, at)],
        msg: `not JSON: ${msg}`,
        type: 'syntax_error',
      })),
    );
  }
  return { name, text, format: 'json', value: valueOf(root), offset: (loc) => nodeAt(root, loc).offset };
}

function treeOf(text: string): { root: Node | undefined; faults: readonly { msg: string; at: number }[] } {
  const errors: ParseError[] = [];
  try {
    const root = parseTree(text, errors, { allowTrailingComma: true });
    return { root, faults: errors.map(({ error, offset: at }) => ({ msg: FAULTS[printParseErrorCode(error)], at })) };
  } catch (error) {
    // The parser calls itself for each level.
    if (!(error instanceof RangeError)) throw error;
    return { root: undefined, faults: [{ msg: 'it is nested too deeply', at: 0 }] };
  }
}

/** As JSON.parse makes it: `__proto__` is a member like any other, and the last one of a name counts. */
function valueOf(node: Node): unknown {
  const { type, children = [] } = node;
  if (type === 'array') return children.map(valueOf);
  if (type !== 'object') return node.value as unknown;
  return Object.fromEntries(
    children.flatMap(({ children: [key, value] = [] }) =>
      key === undefined || value === undefined ? [] : [[key.value as string, valueOf(value)]],
    ),
  );
}

/** The name of the member at a location, or of the nearest one around it that exists. */
function nodeAt(root: Node, loc: Location): Node {
  let found = root;
  let value = root;
  for (const part of loc) {
    const children: readonly Node[] = value.children ?? [];
    const inner =
      value.type === 'object'
        ? children.findLast(({ children: [key] = [] }) => key?.value === part)
        : typeof part === 'number'
          ? children[part]
          : undefined;
    if (inner === undefined) break;
    found = inner;
    value = inner.type === 'property' ? (inner.children?.[1] ?? inner) : inner;
  }
  return found;
}

/**
 * JSON Schema (draft 2020-12) of files of a kind, for editors. It leaves out what JSON Schema cannot say, such as that no two
 * tools share a name: the command that reads the file says that.
 * @param title of the kind of file
 */
export function fileJsonSchema(schema: z.ZodType, title: string, description: string): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, {
    io: 'input',
    unrepresentable: 'any',
    target: 'draft-2020-12',
  });
  return { $schema, title, description, ...rest };
}
