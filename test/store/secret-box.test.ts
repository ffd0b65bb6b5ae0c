import { describe, expect, it } from 'vitest';
import { SecretBox } from '../../src/store/secret-box.js';

const KEY_A = Buffer.alloc(32, 1);
const KEY_B = Buffer.alloc(32, 2);

describe('SecretBox', () => {
  it('opens what it has sealed, each time sealed differently', () => {
    const box = new SecretBox(KEY_A);
    const sealed = box.seal('grüße', 'column');
    expect(sealed).toMatch(/^v1\.[0-9a-f]{8}\.[\w-]+$/);
    expect(sealed).not.toBe(box.seal('grüße', 'column'));
    expect(box.open(sealed, 'column')).toBe('grüße');
    expect(box.open('{"never":"sealed"}', 'column')).toBe('{"never":"sealed"}');
  });

  it('opens what an earlier key has sealed, and seals with the current one', () => {
    const sealed = new SecretBox(KEY_A).seal('x', 'column');
    const box = new SecretBox(KEY_B, [KEY_A]);
    expect(box.open(sealed, 'column')).toBe('x');
    expect(sealed.startsWith(box.prefix)).toBe(false);
    expect(box.seal('x', 'column').startsWith(box.prefix)).toBe(true);
  });

  it('opens nothing that was changed, is for another purpose, another key or another version', () => {
    const box = new SecretBox(KEY_A);
    const sealed = box.seal('secret', 'column');
    const flipped = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    for (const [text, purpose, reason] of [
      [flipped, 'column', 'it has been changed'],
      [sealed.slice(0, 20), 'column', 'it has been changed'],
      [sealed, 'other', 'it has been changed'],
      [new SecretBox(KEY_B).seal('x', 'column'), 'column', 'another key'],
      [sealed.replace('v1', 'v2'), 'column', 'a later version'],
    ] as const) {
      expect(() => box.open(text, purpose), text).toThrow(reason);
    }
    expect(() => new SecretBox(Buffer.alloc(31))).toThrow(RangeError);
  });
});
