import { type OpenApiDocument, resolve, type Schema, withoutNull } from '../docs/document.js';

/** A place in a configuration: member names and item numbers. */
export type Path = readonly (string | number)[];

/** The value at a place; undefined = none. */
export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (isBranch(value) ? value[step] : undefined), root);
}

/**
 * A copy with another value at a place; undefined removes it, with objects that become empty. The input is not changed.
 */
export function withValue(root: unknown, path: Path, value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof step === 'number') {
    const items = Array.isArray(root) ? [...(root as unknown[])] : [];
    const item = withValue(items[step], rest, value);
    if (rest.length === 0 && value === undefined) items.splice(step, 1);
    else items[step] = item ?? {};
    return items;
  }
  const members: Record<string, unknown> = isBranch(root) && !Array.isArray(root) ? { ...root } : {};
  const member = withValue(members[step], rest, value);
  if (member === undefined) delete members[step];
  else members[step] = member;
  return Object.keys(members).length === 0 && value === undefined ? undefined : members;
}

/**
 * A configuration without unset members, which the daemon returns as null or []. Parts without a schema, such as a
 * voice's settings, are not changed.
 */
export function withoutUnset(value: unknown, raw: Schema, document: OpenApiDocument): unknown {
  if (!isBranch(value)) return value;
  const schema = resolve(withoutNull(resolve(raw, document)).schema, document);
  const choices = (schema.anyOf ?? schema.oneOf ?? []).map((choice) => resolve(choice, document));
  const type = Array.isArray(value) ? 'array' : 'object';
  const { items, properties = {}, required = [] } = choices.find((choice) => choice.type === type) ?? schema;
  if (Array.isArray(value)) {
    return items === undefined ? value : value.map((item) => withoutUnset(item, items, document));
  }
  const isUnset = (name: string, member: unknown): boolean =>
    properties[name] !== undefined &&
    !required.includes(name) &&
    (member === null || (Array.isArray(member) && member.length === 0));
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]) =>
      isUnset(name, member) ? [] : [[name, withoutUnset(member, properties[name] ?? {}, document)]],
    ),
  );
}

/** As one text, to look up a place. */
export function pathText(path: Path): string {
  return path.join('.');
}

function isBranch(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}
