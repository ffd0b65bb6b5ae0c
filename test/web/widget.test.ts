import { describe, expect, it } from 'vitest';
import {
  buttonName,
  buttonTitle,
  DEFAULT_LOOKS,
  displayOf,
  inkOn,
  pictureAddress,
} from '../../src/web/widget/looks.js';
import { readOptions, type WidgetOptions } from '../../src/web/widget/options.js';
import { problemWords } from '../../src/web/widget/problems.js';

describe('options of a widget', () => {
  const read = (attributes: Record<string, string>): WidgetOptions =>
    readOptions((name) => attributes[name] ?? null, 'https://voice.example/');
  const NEEDED = { 'agent-id': 'a1', 'public-key': 'pk_1' };

  it('are those of the page, else what the widget has by itself', () => {
    expect(read(NEEDED)).toEqual({
      server: 'https://voice.example',
      agentId: 'a1',
      publicKey: 'pk_1',
      position: 'bottom-right',
      theme: 'auto',
      name: null,
      consent: null,
      consentUrl: null,
      metadata: {},
      fault: null,
    });
    const attributes = {
      server: 'https://eu.example/parley//',
      position: 'bottom-left',
      theme: 'dark',
      name: ' Olive ',
      consent: 'May we?',
      'consent-url': 'https://shop.example/privacy',
      metadata: '{"customer":{"id":7}}',
    };
    expect(read({ ...NEEDED, ...attributes })).toEqual({
      server: 'https://eu.example/parley',
      agentId: 'a1',
      publicKey: 'pk_1',
      position: 'bottom-left',
      theme: 'dark',
      name: 'Olive',
      consent: 'May we?',
      consentUrl: 'https://shop.example/privacy',
      metadata: { customer: { id: 7 } },
      fault: null,
    });
  });

  it.each([
    [{}, 'agent-id and a public-key'],
    [{ 'agent-id': 'a1', 'public-key': '  ' }, 'agent-id and a public-key'],
    [{ ...NEEDED, metadata: '{"customer":' }, 'no JSON object'],
    [{ ...NEEDED, metadata: '[1]' }, 'no JSON object'],
    [{ ...NEEDED, metadata: 'null' }, 'no JSON object'],
  ])('%j have a fault: %s', (attributes, fault) => {
    expect(read(attributes).fault).toContain(fault);
  });

  it.each(['javascript:alert(1)', 'data:text/html,x', '/privacy', 'https://', 'nonsense'])(
    'have no link to %j',
    (address) => {
      expect(read({ ...NEEDED, 'consent-url': address }).consentUrl).toBeNull();
    },
  );

  it('that are none of the known are the first of them', () => {
    expect(read({ ...NEEDED, position: 'top', theme: 'pink' })).toMatchObject({
      position: 'bottom-right',
      theme: 'auto',
    });
  });
});

describe('the button', () => {
  it.each([
    ['idle', 'idle'],
    ['connecting', 'connecting'],
    ['listening', 'running'],
    ['thinking', 'running'],
    ['speaking', 'running'],
    ['interrupted', 'running'],
  ] as const)('shows in the phase %s that it is %s', (phase, display) => {
    expect(displayOf(phase)).toBe(display);
  });

  it.each([
    [null, null],
    ['', null],
    ['https://shop.example/bell.svg', 'https://shop.example/bell.svg'],
    ['data:image/png;base64,AAAA', 'data:image/png;base64,AAAA'],
    ['tabler:dots', 'https://api.iconify.design/tabler/dots.svg'],
    ['material-symbols:call-end-outline', 'https://api.iconify.design/material-symbols/call-end-outline.svg'],
    ['tabler:dots/../x', 'tabler:dots/../x'],
  ])('has the picture of %j at %j', (icon, address) => {
    expect(pictureAddress(icon)).toBe(address);
  });

  it('says what is configured, else how things stand', () => {
    const titles = { idle: 'Book a table', connecting: null, running: ' ' };
    const words = (['idle', 'connecting', 'running'] as const).map((display) => buttonTitle({ titles }, display));
    expect(words).toEqual(['Book a table', 'Connecting …', '']);
    expect(buttonTitle(DEFAULT_LOOKS, 'idle')).toBe('Talk to us');
  });

  it('has a name with its words, its state and what it does', () => {
    expect(buttonName('Book a table', 'idle')).toBe('Book a table. Start a voice call');
    expect(buttonName('', 'running')).toBe('On the line, press to hang up');
  });
});

describe('words on a background', () => {
  it.each([
    ['#ffffff', '#1a1a1a'],
    ['#ffd400', '#1a1a1a'],
    ['#5b21b6', '#ffffff'],
    ['#000000', '#ffffff'],
    ['linear-gradient(red, blue)', '#ffffff'],
    ['', '#ffffff'],
  ])('%s are %s', (background, ink) => {
    expect(inkOn(background)).toBe(ink);
  });
});

describe('why there is no call', () => {
  it.each([
    [null, 'does not answer'],
    [401, 'its key is not known'],
    [403, 'may not be used on this page. It is so.'],
    [404, 'no such voice agent'],
    [409, 'switched off'],
    [429, 'is busy'],
    [503, 'is restarting'],
    [500, 'has a problem'],
  ])('%s: %s', (status, sentence) => {
    expect(problemWords({ message: 'It is so', status })).toContain(sentence);
  });

  it('is the browser otherwise', () => {
    expect(problemWords(null)).toBe('The sound could not be started in this browser.');
  });
});
