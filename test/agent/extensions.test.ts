import { describe, expect, it } from 'vitest';
import { parseAgentFile } from '../../src/agent/agent-file.js';
import { type AgentExtensions, overriddenExtensions } from '../../src/agent/extensions/extensions.js';
import { movedParts } from '../../src/agent/extensions/old-place.js';
import { InvalidConfigError, type ValidationIssue } from '../../src/schema/issues.js';

const ASKED = { enabled: true, ring_timeout: 12 };
const EXTENSIONS = { transfer: { attended: ASKED } };
const OLD = { prompt: 'Hi.', flow: { call_transfer: { phone: '+12025550123', attended: ASKED } } };

function faultsOf(file: unknown): readonly ValidationIssue[] {
  try {
    parseAgentFile(file);
    return [];
  } catch (error) {
    if (error instanceof InvalidConfigError) return error.issues;
    throw error;
  }
}

describe('the extensions of an agent', () => {
  it('stand beside its configuration in an agent file', () => {
    const file = { name: 'Desk', config: { prompt: 'Hi.' }, extensions: EXTENSIONS };
    expect(parseAgentFile(file)).toEqual(file);
  });

  it.each([
    [{ analysis: {} }, 'analysis'],
    [{ transfer: { warm: true } }, 'transfer', 'warm'],
    [{ transfer: { attended: { shout: 1 } } }, 'transfer', 'attended', 'shout'],
  ])('refuse unknown members in %j at their place', (extensions, ...place) => {
    expect(faultsOf({ name: 'Desk', config: {}, extensions })).toMatchObject([
      { loc: ['extensions', ...place], type: 'extra_forbidden' },
    ]);
  });

  it('are replaced member by member', () => {
    const other: AgentExtensions = { transfer: { attended: { enabled: false } } };
    expect(overriddenExtensions(EXTENSIONS, null)).toEqual(EXTENSIONS);
    expect(overriddenExtensions(EXTENSIONS, { transfer: null })).toEqual(EXTENSIONS);
    expect(overriddenExtensions(EXTENSIONS, other)).toEqual(other);
    expect(overriddenExtensions(undefined, undefined)).toBeNull();
  });
});

describe('attended of flow.call_transfer', () => {
  it('moves to the extensions, with a warning', () => {
    const { config, extensions, warnings } = parseAgentFile({ name: 'Desk', config: OLD }, { location: ['desk.json'] });
    expect(config).toEqual({ prompt: 'Hi.', flow: { call_transfer: { phone: '+12025550123' } } });
    expect(extensions).toEqual(EXTENSIONS);
    expect(warnings).toMatchObject([{ loc: ['desk.json', 'config', 'flow', 'call_transfer', 'attended'] }]);
  });

  it('gives way to what the extensions have', () => {
    const own = { transfer: { attended: { enabled: false } } };
    expect(movedParts(OLD, own).extensions).toEqual(own);
    expect(movedParts(OLD, { transfer: { attended: null } }).extensions).toEqual(EXTENSIONS);
  });

  it('moves nothing where it is null', () => {
    const file = { name: 'Desk', config: { flow: { call_transfer: { attended: null } } } };
    expect(parseAgentFile(file)).toMatchObject({ config: { flow: { call_transfer: {} } } });
    expect(parseAgentFile(file)).not.toHaveProperty('extensions');
  });

  it.each([
    [{ flow: { call_transfer: { attended: 5 } } }, ['config', 'flow', 'call_transfer', 'attended'], 'dict_type'],
    [
      { flow: { call_transfer: { attended: ASKED, warm: 1 } } },
      ['config', 'flow', 'call_transfer', 'warm'],
      'extra_forbidden',
    ],
    [{ flow: 5 }, ['config', 'flow'], 'dict_type'],
  ])('does not hide the fault of %j', (config, loc, type) => {
    expect(faultsOf({ name: 'Desk', config })).toMatchObject([{ loc, type }]);
  });
});
