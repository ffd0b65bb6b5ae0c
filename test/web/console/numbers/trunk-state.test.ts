import { describe, expect, it } from 'vitest';
import { type TrunkAnswer, trunkState } from '../../../../src/web/console/numbers/trunk-state.js';

type Server = TrunkAnswer['servers'][number];

const server = (answers: boolean | null): Server => ({
  address: 'UDP 192.0.2.7:5060',
  answers,
  last_answer_at: null,
  last_status: null,
});
const state = (registration: TrunkAnswer['registration'], ...answers: (boolean | null)[]): string =>
  trunkState({ registration, servers: answers.map(server) })[0];
const registered = { state: 'registered', reason: null } as const;

describe('the state of a trunk in the console', () => {
  it('is that of its registration', () => {
    expect(state(registered, true)).toBe('registered');
    expect(state(registered, null)).toBe('registered');
    expect(state({ state: 'registering', reason: null }, null)).toBe('registering');
    expect(state({ state: 'failed', reason: '403 Forbidden' }, true)).toBe('not registered');
    expect(state({ state: 'ended', reason: null }, true)).toBe('registration ended');
  });

  it('is "no answer" where no server answers, registered or not', () => {
    expect(state(registered, false, false)).toBe('no answer');
    expect(state(null, false)).toBe('no answer');
  });

  it('is that of the best server without a registration', () => {
    expect(state(null, false, true)).toBe('answers');
    expect(state(null, false, null)).toBe('not checked yet');
    expect(state(null)).toBe('not checked yet');
  });
});
