import { describe, expect, it } from 'vitest';
import { resolveAgent } from '../../src/agent/resolve.js';
import { speechHints } from '../../src/engine/session-factory.js';

const agent = resolveAgent({
  flow: { voicemail: { action: 'hangup', detection_phrases: ['the office is closed for {Season}'] } },
  first_message: 'Hello, this is the desk.',
  custom_vocabulary: { keywords: { Crookedfork: 5 } },
});
const script = { phrases: ['a table for four'], texts: [], keywords: new Map([['Crookedfork', 1]]) };

describe('the hints for the recogniser', () => {
  it('on an outbound call holds what machines say, the configured phrases first', () => {
    const { phrases } = speechHints(agent, script, 'outbound');
    expect(phrases.slice(0, 2)).toEqual(['a table for four', 'the office is closed for {Season}']);
    expect(phrases).toContain('please leave a message after the tone');
  });

  it('holds no machines on an inbound call, nor where nobody looks for them', () => {
    expect(speechHints(agent, script).phrases).toEqual(['a table for four']);
    expect(speechHints(resolveAgent({}), null, 'outbound').phrases).toEqual([]);
  });

  it('holds how to ask for another language, in the one that is spoken, where the agent may change to it', () => {
    const bilingual = resolveAgent({ switch_language: { languages: ['fr-CA', 'de', 'multi'] } });
    const english = speechHints(bilingual, script).phrases;
    expect(english).toContain('a table for four');
    expect(english).toContain('can we speak French please');
    expect(english).toContain('do you speak German');
    expect(english.join(' ')).not.toMatch(/English|multi/i);
    const french = speechHints(bilingual, script, 'inbound', 'fr-CA').phrases;
    expect(french).toContain('on peut continuer en anglais');
    expect(french).not.toContain('a table for four');
    const swahili = speechHints(bilingual, null, 'inbound', 'sw').phrases;
    expect(swahili).toEqual(['Kiingereza', 'Kifaransa', 'Kijerumani']);
    expect(speechHints(resolveAgent({ language: 'multi' }), script, 'inbound', 'en-US').phrases).toEqual(
      script.phrases,
    );
  });

  it('holds the agent’s texts, and its own weights before those of the script', () => {
    const { texts, keywords } = speechHints(agent, script);
    expect(texts).toEqual(['Hello, this is the desk.']);
    expect([...keywords]).toEqual([['Crookedfork', 5]]);
  });
});
