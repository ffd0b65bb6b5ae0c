import { describe, expect, it } from 'vitest';
import { LANGUAGES } from '../../src/agent/language.js';
import { buildSystemPrompt, localTime } from '../../src/agent/prompt.js';
import { resolveAgent } from '../../src/agent/resolve.js';

const AT = Date.UTC(2026, 2, 29, 0, 59);

describe('buildSystemPrompt', () => {
  it('begins with the prompt of the agent, and tells date, time, manner of speaking and language', () => {
    const agent = resolveAgent(
      { prompt: 'You work for {Firm}.', timezone: 'Europe/Berlin', language: 'de' },
      { metadata: { Firm: 'Acme' } },
    );
    const prompt = buildSystemPrompt(agent, AT);
    expect(prompt.startsWith('You work for Acme.\n\nIt is now Sunday, 29 March 2026 at 01:59 (Europe/Berlin).')).toBe(
      true,
    );
    expect(prompt).toContain('no markdown');
    expect(prompt).toContain('"[inaudible]"');
    expect(prompt).toContain('The conversation is in German; answer in it.');
    expect(prompt).not.toContain('JSON');
  });

  it('has the metadata only where it is asked for and there is some', () => {
    const metadata = { Name: 'Ann', order: { id: 7 } };
    const withIt = buildSystemPrompt(resolveAgent({}, { metadata, includeMetadataInPrompt: true }), AT);
    expect(withIt).toContain('as JSON:\n{"Name":"Ann","order":{"id":7}}');
    expect(buildSystemPrompt(resolveAgent({}, { metadata }), AT)).not.toContain('Ann');
    expect(buildSystemPrompt(resolveAgent({}, { includeMetadataInPrompt: true }), AT)).not.toContain('JSON');
  });

  it('leaves no gap where the agent has no prompt', () => {
    expect(buildSystemPrompt(resolveAgent({}), AT)).toMatch(/^It is now /);
  });

  it('can name every language of the interface', () => {
    for (const language of LANGUAGES) {
      const note = buildSystemPrompt(resolveAgent({ language }), AT);
      expect(note).toMatch(language === 'multi' ? /the language that the user speaks\.$/ : /The conversation is in \S/);
    }
  });
});

describe('localTime', () => {
  it('follows the clock changes of the zone', () => {
    expect(localTime(AT + 60_000, 'Europe/Berlin')).toBe('Sunday, 29 March 2026 at 03:00 (Europe/Berlin)');
    expect(localTime(AT, 'Pacific/Kiritimati')).toBe('Sunday, 29 March 2026 at 14:59 (Pacific/Kiritimati)');
    expect(localTime(Date.UTC(2026, 0, 1), 'UTC')).toBe('Thursday, 1 January 2026 at 00:00 (UTC)');
  });
});
