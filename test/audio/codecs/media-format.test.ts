import { describe, expect, it } from 'vitest';
import { mediaFormat } from '../../../src/audio/files/decode.js';
import { encodeWav } from '../../../src/audio/files/wav.js';

const bytes = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0));

describe('what a file is', () => {
  it('is detected by its bytes', () => {
    expect(mediaFormat(encodeWav(new Int16Array(10), 8000))).toBe('wav');
    expect(mediaFormat(bytes('OggS\0\x02'))).toBe('ogg');
    expect(mediaFormat(bytes('\0\0\0\x20ftypM4A '))).toBe('mov');
    expect(mediaFormat(bytes('FORM\0\0\0\x10AIFFCOMM'))).toBe('aiff');
    expect(mediaFormat(bytes('ID3\x04\0\0'))).toBe('mp3');
    expect(mediaFormat(bytes('\xff\xfb\x90\x64'))).toBe('mp3');
    expect(mediaFormat(bytes('\xff\xf1\x50\x80'))).toBe('aac');
  });

  it('is nothing where it could name other files, or is none', () => {
    for (const text of [
      '#EXTM3U\nfile:///etc/passwd',
      'ffconcat version 1.0',
      '<html>',
      '',
      '\xff\xff\xff\xff',
      '\xff',
    ]) {
      expect(mediaFormat(bytes(text))).toBeNull();
    }
  });
});
