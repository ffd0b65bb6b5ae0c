import { describe, expect, it } from 'vitest';
import { loadAgentFile } from '../../src/agent/agent-file.js';
import { parseAgentExtensions } from '../../src/agent/extensions/extensions.js';
import type { FlowStep } from '../../src/agent/flow/steps.js';
import { packageFile } from '../../src/package-files.js';
import { InvalidConfigError } from '../../src/schema/issues.js';
import { fileURLToPath } from 'node:url';

const HANG_UP = { action: 'hang_up' } as const;
const END: FlowStep = { id: 'end', end: HANG_UP };

/** Place and sentence of each fault, as `place: sentence`. */
function faultsOf(flow: unknown): string[] {
  try {
    parseAgentExtensions({ flow }, ['extensions']);
    return [];
  } catch (error) {
    if (!(error instanceof InvalidConfigError)) throw error;
    return error.issues.map(({ loc, msg }) => `${loc.slice(2).join('.')}: ${msg}`);
  }
}

describe('a flow', () => {
  it('is taken as the example has it', async () => {
    const { extensions } = await loadAgentFile(fileURLToPath(packageFile('examples/repairs/agent.json')));
    expect(extensions?.flow?.steps.map(({ id }) => id)).toEqual(['welcome', 'details', 'booked', 'status', 'nobody']);
  });

  it.each([
    [[{ id: 'a', transitions: [{ to: 'b' }] }], 'steps.0.transitions.0.to: There is no step b'],
    [[END, END], 'steps.1.id: Another step has the id end'],
    [[{ id: 'a', end: HANG_UP }, END], 'steps.1.id: No step leads to end: it can never be reached'],
    [[{ id: 'a' }], 'steps.0.transitions: a is a dead end: it has neither transitions nor `end`'],
    [
      [
        { id: 'a', transitions: [{ to: 'b' }] },
        { id: 'b', transitions: [{ to: 'a' }] },
      ],
      'steps.0.transitions: These steps lead to each other and never wait: a, b, a',
    ],
    [
      [{ id: 'a', transitions: [{ to: 'end', when: [{ data: 'age', at_least: 18 }] }] }, END],
      'steps.0.transitions.0.when.0.data: No step before a collects age',
    ],
    [
      [{ id: 'a', call: { tool: 'find', arguments: { id: '{order}' } }, transitions: [{ to: 'end' }] }, END],
      'steps.0.call.arguments.id: No step before a collects order',
    ],
    [
      [{ id: 'a', end: { action: 'return' } }],
      'steps.0.end.action: Only global steps can return: a has nowhere to go back to',
    ],
    [
      [{ id: 'a', collect: [{ name: 'x', type: 'choice' }], transitions: [{ to: 'end' }] }, END],
      'steps.0.collect.0.choices: The type choice needs choices',
    ],
    [
      [{ id: 'a', collect: [{ name: 'x', type: 'text', failed: 'gone' }], transitions: [{ to: 'end' }] }, END],
      'steps.0.collect.0.failed: There is no step gone',
    ],
    [
      [{ id: 'a', end: HANG_UP, transitions: [{ to: 'a' }] }],
      'steps.0.transitions.0: a has ended by then: a transition can only follow a failed transfer (tool transfer_call)',
    ],
    [
      [
        { id: 'a', collect: [{ name: 'x', type: 'text' }], transitions: [{ to: 'b' }] },
        { id: 'b', collect: [{ name: 'x', type: 'date' }], transitions: [{ to: 'end' }] },
        END,
      ],
      'steps.1.collect.0.type: Another step collects x as text',
    ],
    [[{ ...END, collekt: [] }], 'steps.0.collekt: Unknown field: collekt. Did you mean collect?'],
  ])('with the steps %j is refused', (steps, fault) => {
    expect(faultsOf({ steps })).toContain(fault);
  });

  it('may use data that a step before has collected, also by a long way, and data of global steps', () => {
    const steps = [
      { id: 'a', collect: [{ name: 'age', type: 'number' }], transitions: [{ to: 'b' }] },
      { id: 'b', transitions: [{ to: 'end', when: [{ data: 'age' }, { data: 'city' }] }] },
      END,
    ];
    const city = {
      id: 'city',
      choice: 'The user names a city.',
      collect: [{ name: 'city', type: 'text' }],
      transitions: [{ to: 'a' }],
    };
    expect(faultsOf({ steps, global: [city] })).toEqual([]);
    expect(faultsOf({ steps, start: 'city', global: [city] })).toEqual([
      'start: city is a global step: a flow begins with one of its steps',
    ]);
    expect(faultsOf({ steps, start: 'b', global: [city] })).toEqual([]);
  });
});
