import { describe, expect, it } from 'vitest';
import { classifyOverlap, holdsFarewell } from '../../../src/conversation/turn/acknowledgements.js';

const classify = (text: string, language = 'en-US', more: { part?: 'opening' | 'ending'; goesOn?: boolean } = {}) =>
  classifyOverlap(text, { language, part: 'middle', goesOn: false, ...more });

describe('classifyOverlap', () => {
  it.each(['', '  ', '…', '?!'])('nothing: %j', (text) => {
    expect(classify(text)).toBe('none');
  });

  it.each(['Mm-hm.', 'uh huh', 'Yeah, okay, I see!', 'all right', 'OH', 'Go on'])('acknowledgement: %s', (text) => {
    expect(classify(text)).toBe('acknowledgement');
  });

  it.each(['no', 'stop', 'wait', 'I', 'yes but', 'okay, so when', 'what'])('real: %s', (text) => {
    expect(classify(text)).toBe('real');
  });

  it('half a phrase may still become one', () => {
    expect(classify('I', 'en-US', { goesOn: true })).toBe('acknowledgement');
    expect(classify('yeah I', 'en-US', { goesOn: true })).toBe('acknowledgement');
    expect(classify('In', 'en-US', { goesOn: true })).toBe('real');
    expect(classify('no', 'en-US', { goesOn: true })).toBe('real');
  });

  it('every language has words of its own, and no other', () => {
    expect(classify('ja genau', 'de-DE')).toBe('acknowledgement');
    expect(classify('nein', 'de-DE')).toBe('real');
    expect(classify('हाँ ठीक है', 'hi-IN')).toBe('acknowledgement');
    expect(classify('うんうん、なるほど', 'ja-JP')).toBe('acknowledgement');
    expect(classify('ちょっと待って', 'ja-JP')).toBe('real');
    expect(classify('yeah', 'xx-XX')).toBe('acknowledgement');
    expect(classify('yeah', 'constructor')).toBe('acknowledgement');
  });

  it('farewells count as such only at the end', () => {
    expect(classify('thank you so much, bye')).toBe('real');
    expect(classify('thank you so much, bye', 'en-US', { part: 'ending' })).toBe('acknowledgement');
    expect(classify('danke, tschüss', 'de-DE', { part: 'ending' })).toBe('acknowledgement');
    expect(classify('谢谢，再见', 'zh-CN', { part: 'ending' })).toBe('acknowledgement');
    expect(classify('thanks, but one more thing', 'en-US', { part: 'ending' })).toBe('real');
  });

  it('knows every list where the language is open', () => {
    for (const words of ['mm-hm', 'ja genau', "d'accord", 'vale', 'はい', '嗯']) {
      expect(classify(words, 'multi'), words).toBe('acknowledgement');
    }
    expect(classify('danke, tschüss', 'multi', { part: 'ending' })).toBe('acknowledgement');
    for (const words of ['nein', 'stop', 'espera', 'basta']) expect(classify(words, 'multi'), words).toBe('real');
  });

  it('takes no time over hostile input', () => {
    expect(classify('うん'.repeat(20_000) + 'x', 'ja-JP')).toBe('real');
    expect(classify('mm '.repeat(20_000), 'en-US')).toBe('acknowledgement');
  });
});

describe('holdsFarewell', () => {
  it('finds one anywhere', () => {
    expect(holdsFarewell('Your table is booked. Goodbye, sir!', 'en-US')).toBe(true);
    expect(holdsFarewell('Your table is booked.', 'en-US')).toBe(false);
    expect(holdsFarewell('それでは失礼します', 'ja-JP')).toBe(true);
  });
});
