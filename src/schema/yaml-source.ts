import { type Document, isMap, isNode, isScalar, parseDocument } from 'yaml';
import { reasonOf } from '../base/errors.js';
import { InvalidConfigError, type Location } from './issues.js';
import { placeAt, type Source } from './source.js';

/**
 * The value of YAML text.
 * @throws InvalidConfigError with the line and column of each fault
 */
export function yamlSource(given: string, name: string): Source {
  const text = given.replace(/^\uFEFF/, '');
  const document = parseDocument(text, { prettyErrors: false });
  const fault = (msg: string, offset: number) => ({ loc: [placeAt(name, text, offset)], msg, type: 'syntax_error' });
  if (document.errors.length > 0) {
    throw new InvalidConfigError(document.errors.map(({ message, pos: [offset] }) => fault(message, offset)));
  }
  try {
    const value: unknown = document.toJS({ maxAliasCount: 100 });
    return { name, text, format: 'yaml', value, offset: (loc) => yamlOffset(document, loc) };
  } catch (error) {
    // Too many aliases: a small text could become a huge value.
    throw new InvalidConfigError([fault(reasonOf(error), 0)]);
  }
}

/** Where a member begins, or the nearest one around it that exists. */
export function yamlOffset(document: Document.Parsed, loc: Location): number {
  for (let length = loc.length; length > 0; length--) {
    const parent = document.getIn(loc.slice(0, length - 1), true);
    const name = loc[length - 1];
    const pair = isMap(parent)
      ? parent.items.find(({ key }) => isScalar(key) && String(key.value) === name)
      : undefined;
    const node = pair === undefined ? document.getIn(loc.slice(0, length), true) : pair.key;
    if (isNode(node) && node.range != null) return node.range[0];
  }
  return 0;
}
