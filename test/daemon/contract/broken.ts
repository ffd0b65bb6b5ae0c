import fc from 'fast-check';

type Path = readonly (string | number)[];

/** Values that are hardly ever meant. */
const STRANGE = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e308, '', ' ', '\u0000', '\ud800', [], {}, [[]], 'x'.repeat(5_000)),
  fc.constantFrom<unknown>(
    'a\udfff',
    { '\ud800': 1 },
    NaN,
    -0,
    2 ** 53,
    '\u202e',
    '../../etc/passwd',
    '{{}}',
    '{\ud83d}',
  ),
  fc.jsonValue({ maxDepth: 3 }),
);

/** A value with one thing wrong, or at least strange, somewhere in it. */
export function brokenOf(values: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return values.chain((value) => {
    const paths = pathsOf(value);
    return fc.oneof(
      STRANGE,
      fc.tuple(fc.constantFrom(...paths), STRANGE).map(([path, strange]) => changed(value, path, () => strange)),
      fc.constantFrom(...paths).map((path) => changed(value, path, () => undefined)),
      fc
        .tuple(
          fc.constantFrom(...paths),
          fc.constantFrom('unknown', 'constructor', 'prototype', 'toString', 'toJSON', ''),
          fc.jsonValue(),
        )
        .map(([path, name, more]) => changed(value, path, (inner) => withMember(inner, name, more))),
      fc.constant(nested(value, 40)),
    );
  });
}

function withMember(value: unknown, name: string, more: unknown): unknown {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value, [name]: more } : more;
}

function nested(value: unknown, depth: number): unknown {
  return depth === 0 ? value : { inner: nested(value, depth - 1) };
}

function pathsOf(value: unknown, path: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  const inner = Array.isArray(value) ? value.map((each, at) => [at, each] as const) : Object.entries(value);
  return [path, ...inner.flatMap(([name, each]) => pathsOf(each, [...path, name]))];
}

/** `undefined` takes the member away. */
function changed(value: unknown, [first, ...rest]: Path, change: (value: unknown) => unknown): unknown {
  if (first === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.flatMap((each, at) => {
      const result: unknown = at === first ? changed(each, rest, change) : each;
      return result === undefined ? [] : [result];
    });
  }
  const copy = { ...(value as Record<string, unknown>) };
  const result = changed(copy[first], rest, change);
  if (result === undefined) delete copy[first];
  else copy[first] = result;
  return copy;
}
