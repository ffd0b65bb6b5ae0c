import { ParleyError } from '../base/errors.js';

/** What people name an agent by. */
interface Named {
  readonly id: string;
  readonly name: string;
}

/** The ways to name an agent; the first that fits any agent decides. */
const FORMS: readonly ((agent: Named, named: string) => boolean)[] = [
  ({ id }, named) => id === named,
  ({ name }, named) => name === named,
  ({ name }, named) => name.toLowerCase() === named.toLowerCase(),
  ({ name }, named) => slugOf(name) === named.toLowerCase(),
];

/**
 * The agent of an id, a name, a name in other letters, or a name's slug (`The Crooked Fork`: `the-crooked-fork`).
 * Undefined = there is none.
 * @throws ParleyError AGENT_AMBIGUOUS if there are several
 */
export function findAgent<T extends Named>(agents: readonly T[], named: string): T | undefined {
  for (const fits of FORMS) {
    const found = agents.filter((agent) => fits(agent, named));
    if (found.length === 1) return found[0];
    if (found.length > 1) {
      const ids = found.map(({ id }) => id).join(', ');
      throw new ParleyError('AGENT_AMBIGUOUS', { count: found.length, name: named, ids });
    }
  }
  return undefined;
}

/** As `findAgent`. @throws ParleyError NOT_FOUND, AGENT_AMBIGUOUS */
export function agentNamed<T extends Named>(agents: readonly T[], named: string): T {
  const found = findAgent(agents, named);
  if (found !== undefined) return found;
  const known = agents.flatMap(({ id, name }) => [id, name]).join(', ');
  throw new ParleyError('NOT_FOUND', { what: 'agent', id: named, known });
}

function slugOf(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
    .replaceAll(/^-|-$/g, '');
}
