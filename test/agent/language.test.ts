import { describe, expect, it } from 'vitest';
import { languageName } from '../../src/agent/language.js';

describe('languageName', () => {
  it('is English', () => {
    expect(['en-US', 'de-AT', 'ja'].map(languageName)).toEqual(['American English', 'Austrian German', 'Japanese']);
  });

  it('is the code where that is none', () => {
    expect(['multi', 'x_!'].map(languageName)).toEqual(['multi', 'x_!']);
  });
});
