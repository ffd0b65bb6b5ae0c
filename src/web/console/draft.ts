import { type OpenApiDocument, resolve, type Schema, withoutNull } from '../docs/document.js';

/** A place in a configuration: names of members and numbers of items. */
export type Path = readonly (string | number)[];

/** What stands at a place; undefined = nothing. */
export function valueAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (isBranch(value) ? value[step] : undefined), root);
}

/**
 * The same with another value at a place; undefined takes it away, with the objects that are empty then. Nothing that was
 * given is changed.
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
 * A configuration without the members that are not set: the daemon answers all of them, as null or []. What has no schema
 * of its own, such as the settings of a voice, stays as it is.
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

/** As one text, for looking up what belongs to a place. */
export function pathText(path: Path): string {
  return path.join('.');
}

function isBranch(value: unknown): value is Record<string | number, unknown> {
  return typeof value === 'object' && value !== null;
}
