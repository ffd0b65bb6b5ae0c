import { expect, it } from 'vitest';
import { baseLanguage } from '../../src/base/language.js';

it.each([
  ['en', 'en'],
  ['en-US', 'en'],
  ['zh-Hant-TW', 'zh'],
  ['pt_BR', 'pt'],
  ['EN-us', 'en'],
  ['multi', 'multi'],
  ['', ''],
])('the base language of "%s" is "%s"', (tag, base) => {
  expect(baseLanguage(tag)).toBe(base);
});
