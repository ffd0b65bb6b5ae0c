import { Parser } from 'htmlparser2';

/** A verb of a document that tells a carrier what to do, or a noun in one. */
export interface Verb {
  name: string;
  attributes: Record<string, string>;
  text: string;
  nouns: Verb[];
}

/** What may be where, of the verbs that a double does. */
export type KnownVerbs = Readonly<Record<string, { attributes: readonly string[]; nouns: readonly string[] }>>;

/** The verbs of a `<Response>`. Throws for what is no XML, and for verbs, attributes and nouns that are none. */
export function readResponse(text: string, known: KnownVerbs): Verb[] {
  const stack: Verb[] = [];
  let root: Verb | null = null;
  const parser = new Parser(
    {
      onopentag: (name, attributes) => {
        const verb: Verb = { name, attributes, text: '', nouns: [] };
        if (stack.length === 0) root = verb;
        else stack.at(-1)?.nouns.push(verb);
        stack.push(verb);
      },
      ontext: (data) => {
        const verb = stack.at(-1);
        if (verb !== undefined) verb.text += data;
      },
      onclosetag: () => void stack.pop(),
    },
    { xmlMode: true, decodeEntities: true },
  );
  parser.end(text);
  const response = root as Verb | null;
  if (response?.name !== 'Response') throw new Error('document parse failure');
  for (const verb of response.nouns) check(verb, known);
  return response.nouns;
}

function check({ name, attributes, nouns }: Verb, all: KnownVerbs): void {
  const known = all[name];
  if (known === undefined) throw new Error(`${name} is no verb`);
  for (const attribute of Object.keys(attributes)) {
    if (!known.attributes.includes(attribute)) throw new Error(`${name} has no attribute ${attribute}`);
  }
  for (const noun of nouns) {
    if (!known.nouns.includes(noun.name)) throw new Error(`${noun.name} cannot be in ${name}`);
    check(noun, all);
  }
}
